/**
 * Control plane of libra, with types.
 * Hot-parameter aggregation.
 * Made from the program's P4Info by gradplane; not to be edited.
 */
import {
  type ActionCall,
  type BoundClient,
  bindCounter,
  bindDefaultEntry,
  bindDirectCounter,
  bindEntries,
  bindPacketIn,
  bindPacketOut,
  bindRegister,
  type LpmInput,
  type NoParams,
  type Value,
} from "gradplane/p4runtime";

/** Parameters of action forwarding.to_port. */
export type ForwardingToPortParams = {
  /** bit<9>: port to leave by */
  readonly port: Value;
  /** bit<48> */
  readonly dst_mac: Value;
};

/**
 * Action forwarding.to_port with its arguments.
 * to the next hop
 */
export type ForwardingToPortCall = ActionCall<"forwarding.to_port", ForwardingToPortParams>;

/** Action forwarding.no_route with its arguments. */
export type ForwardingNoRouteCall = ActionCall<"forwarding.no_route", NoParams>;

/** Parameters of action admission.admit. */
export type AdmissionAdmitParams = {
  /** bit<16> */
  readonly job: Value;
};

/** Action admission.admit with its arguments. */
export type AdmissionAdmitCall = ActionCall<"admission.admit", AdmissionAdmitParams>;

/** Match of table forwarding.route. */
export type ForwardingRouteMatch = {
  /** bit<32>, LPM */
  readonly dst_addr?: LpmInput | undefined;
};

/** What an entry of table forwarding.route does. */
export type ForwardingRouteAction = ForwardingToPortCall | ForwardingNoRouteCall;

/** What comes with a packet from the switch. */
export type PacketInMetadata = {
  /** bit<9> */
  readonly ingress_port: Value;
  /** bit<7> */
  readonly padding: Value;
};

/** What goes with a packet to the switch. */
export type PacketOutMetadata = {
  /** bit<9> */
  readonly egress_port: Value;
  /** bit<1> */
  readonly submit: Value;
  /** bit<6> */
  readonly padding?: Value | undefined;
};

/** The actions of the program, for the tables that have them. */
export const actions = {
  forwarding: {
    /** to the next hop */
    to_port: (params: ForwardingToPortParams): ForwardingToPortCall => ({
      action: "forwarding.to_port",
      params,
    }),
    no_route: (): ForwardingNoRouteCall => ({
      action: "forwarding.no_route",
      params: {},
    }),
  },
  admission: {
    admit: (params: AdmissionAdmitParams): AdmissionAdmitCall => ({
      action: "admission.admit",
      params,
    }),
  },
};

/**
 * Put the names of libra on a client of a switch that runs it.
 * What does not fit the program is an EntityError that names the object and the field; nothing is sent then.
 */
export function bind(client: BoundClient) {
  return {
    actions,
    tables: {
      forwarding: {
        /**
         * where IPv4 packets go
         * Room for 1024 entries.
         */
        route: {
          ...bindEntries<ForwardingRouteMatch, ForwardingRouteAction, "no priority">(
            client,
            "forwarding.route",
          ),
          ...bindDefaultEntry<ForwardingRouteAction>(client, "forwarding.route"),
          counter: bindDirectCounter<ForwardingRouteMatch, "no priority", "BOTH">(client, "forwarding.route"),
        },
      },
    },
    counters: {
      forwarding: {
        /**
         * what became of the packet
         * 0: forwarded, 1: dropped
         * Counts packets in 2 cells.
         */
        events: bindCounter<"PACKETS">(client, "forwarding.events"),
      },
    },
    registers: {
      lanes: {
        /** 8 cells of bit<32>. */
        lane_00: bindRegister(client, "lanes.lane_00"),
      },
    },
    /** Packets from the switch. */
    packets: bindPacketIn<PacketInMetadata>(client),
    /** Send a packet through the switch. */
    sendPacket: bindPacketOut<PacketOutMetadata>(client),
  };
}

/** A client with the names of the program. */
export type Libra = ReturnType<typeof bind>;
