/**
 * Control plane of lp, with types.
 * Forwarding over equal-cost paths, for linear pipelining.
 * Made from the program's P4Info by gradplane; not to be edited.
 */
import {
  type ActionCall,
  type BoundClient,
  bindCounter,
  bindDefaultEntry,
  bindDirectCounter,
  bindEntries,
  bindSelector,
  type LpmInput,
  type NoParams,
  type SelectorChoice,
  type Value,
} from "gradplane/p4runtime";

/** Action NoAction with its arguments. */
export type NoActionCall = ActionCall<"NoAction", NoParams>;

/** Parameters of action forwarding.to_port. */
export type ForwardingToPortParams = {
  /** bit<9> */
  readonly port: Value;
  /** bit<48> */
  readonly dst_mac: Value;
};

/**
 * Action forwarding.to_port with its arguments.
 * to the next hop
 */
export type ForwardingToPortCall = ActionCall<"forwarding.to_port", ForwardingToPortParams>;

/**
 * Action forwarding.to_local with its arguments.
 * for an address of the switch
 */
export type ForwardingToLocalCall = ActionCall<"forwarding.to_local", NoParams>;

/** Action forwarding.no_route with its arguments. */
export type ForwardingNoRouteCall = ActionCall<"forwarding.no_route", NoParams>;

/** Parameters of action forwarding.to_group. */
export type ForwardingToGroupParams = {
  /** bit<6> */
  readonly group: Value;
};

/**
 * Action forwarding.to_group with its arguments.
 * to a group of next hops
 */
export type ForwardingToGroupCall = ActionCall<"forwarding.to_group", ForwardingToGroupParams>;

/** Parameters of action ecmp.to_next_hop. */
export type EcmpToNextHopParams = {
  /** bit<9> */
  readonly port: Value;
  /** bit<48> */
  readonly dst_mac: Value;
};

/**
 * Action ecmp.to_next_hop with its arguments.
 * to the next hop; its route did the rest
 */
export type EcmpToNextHopCall = ActionCall<"ecmp.to_next_hop", EcmpToNextHopParams>;

/** Match of table forwarding.route. */
export type ForwardingRouteMatch = {
  /** bit<32>, LPM */
  readonly dst_addr?: LpmInput | undefined;
};

/** What an entry of table forwarding.route does. */
export type ForwardingRouteAction =
  | ForwardingToPortCall
  | ForwardingToGroupCall
  | ForwardingToLocalCall
  | ForwardingNoRouteCall;

/** Match of table ecmp.flow. */
export type EcmpFlowMatch = {
  /** bit<6>, EXACT */
  readonly group: Value;
};

/** What an entry of table ecmp.flow does. */
export type EcmpFlowAction = SelectorChoice<EcmpToNextHopCall>;

/** What table ecmp.flow does when no entry matches. */
export type EcmpFlowDefaultAction = EcmpToNextHopCall | NoActionCall;

/** The actions of the program, for the tables that have them. */
export const actions = {
  NoAction: (): NoActionCall => ({
    action: "NoAction",
    params: {},
  }),
  forwarding: {
    /** to the next hop */
    to_port: (params: ForwardingToPortParams): ForwardingToPortCall => ({
      action: "forwarding.to_port",
      params,
    }),
    /** for an address of the switch */
    to_local: (): ForwardingToLocalCall => ({
      action: "forwarding.to_local",
      params: {},
    }),
    no_route: (): ForwardingNoRouteCall => ({
      action: "forwarding.no_route",
      params: {},
    }),
    /** to a group of next hops */
    to_group: (params: ForwardingToGroupParams): ForwardingToGroupCall => ({
      action: "forwarding.to_group",
      params,
    }),
  },
  ecmp: {
    /** to the next hop; its route did the rest */
    to_next_hop: (params: EcmpToNextHopParams): EcmpToNextHopCall => ({
      action: "ecmp.to_next_hop",
      params,
    }),
  },
};

/**
 * Put the names of lp on a client of a switch that runs it.
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
      ecmp: {
        /**
         * groups of next hops, one of which a flow keeps
         * Room for 64 entries.
         */
        flow: {
          ...bindEntries<EcmpFlowMatch, EcmpFlowAction, "no priority">(client, "ecmp.flow"),
          ...bindDefaultEntry<EcmpFlowDefaultAction>(client, "ecmp.flow"),
          counter: bindDirectCounter<EcmpFlowMatch, "no priority", "BOTH">(client, "ecmp.flow"),
        },
      },
    },
    actionProfiles: {
      ecmp: {
        /**
         * next hops of flows
         * Room for 1024 members.
         */
        next_hops: bindSelector<EcmpToNextHopCall>(client, "ecmp.next_hops"),
      },
    },
    counters: {
      forwarding: {
        /**
         * what became of the packet
         * 0: forwarded, 1: local, 2: drop_truncated, 3: drop_not_ipv4, 4: drop_checksum, 5: drop_ttl, 6: drop_no_route
         * Counts packets in 7 cells.
         */
        events: bindCounter<"PACKETS">(client, "forwarding.events"),
      },
      ecmp: {
        /**
         * what became of the packet
         * 0: sprayed, 1: drop_no_group, 2: drop_no_member, 3: by_flow
         * Counts packets in 4 cells.
         */
        events: bindCounter<"PACKETS">(client, "ecmp.events"),
      },
    },
  };
}

/** A client with the names of the program. */
export type Lp = ReturnType<typeof bind>;
