/**
 * Control plane of own_feature, with types.
 * Forwarding by priority, with a queue watermark of the user's own.
 * Made from the program's P4Info by gradplane; not to be edited.
 */
import {
  type ActionCall,
  type BoundClient,
  bindCounter,
  bindDefaultEntry,
  bindDirectCounter,
  bindEntries,
  bindReadableEntries,
  bindRegister,
  type LpmInput,
  type NoParams,
  type Value,
} from "gradplane/p4runtime";

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

/** Action traffic_class.is_control with its arguments. */
export type TrafficClassIsControlCall = ActionCall<"traffic_class.is_control", NoParams>;

/** Parameters of action traffic_class.is_gradient. */
export type TrafficClassIsGradientParams = {
  /** bit<3> */
  readonly traffic_class: Value;
};

/** Action traffic_class.is_gradient with its arguments. */
export type TrafficClassIsGradientCall = ActionCall<
  "traffic_class.is_gradient",
  TrafficClassIsGradientParams
>;

/** Action traffic_class.is_best_effort with its arguments. */
export type TrafficClassIsBestEffortCall = ActionCall<"traffic_class.is_best_effort", NoParams>;

/** Action queue_watermark.record with its arguments. */
export type QueueWatermarkRecordCall = ActionCall<"queue_watermark.record", NoParams>;

/** Match of table forwarding.route. */
export type ForwardingRouteMatch = {
  /** bit<32>, LPM */
  readonly dst_addr?: LpmInput | undefined;
};

/** What an entry of table forwarding.route does. */
export type ForwardingRouteAction = ForwardingToPortCall | ForwardingToLocalCall | ForwardingNoRouteCall;

/** Match of table traffic_class.classify. */
export type TrafficClassClassifyMatch = {
  /** bit<6>, EXACT */
  readonly dscp: Value;
};

/** What an entry of table traffic_class.classify does. */
export type TrafficClassClassifyAction =
  | TrafficClassIsControlCall
  | TrafficClassIsGradientCall
  | TrafficClassIsBestEffortCall;

/** The actions of the program, for the tables that have them. */
export const actions = {
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
  },
  traffic_class: {
    is_control: (): TrafficClassIsControlCall => ({
      action: "traffic_class.is_control",
      params: {},
    }),
    is_gradient: (params: TrafficClassIsGradientParams): TrafficClassIsGradientCall => ({
      action: "traffic_class.is_gradient",
      params,
    }),
    is_best_effort: (): TrafficClassIsBestEffortCall => ({
      action: "traffic_class.is_best_effort",
      params: {},
    }),
  },
  queue_watermark: {
    record: (): QueueWatermarkRecordCall => ({
      action: "queue_watermark.record",
      params: {},
    }),
  },
};

/**
 * Put the names of own_feature on a client of a switch that runs it.
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
      traffic_class: {
        /**
         * the code points that the hosts write
         * Its entries are constant.
         */
        classify: {
          ...bindReadableEntries<TrafficClassClassifyMatch, TrafficClassClassifyAction>(
            client,
            "traffic_class.classify",
          ),
        },
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
      priority_queue: {
        /**
         * packets that came in, by traffic class
         * 0: best_effort, 1: gradient_1, 2: gradient_2, 3: gradient_3, 4: gradient_4, 5: gradient_5, 6: gradient_6, 7: control
         * Counts packets in 8 cells.
         */
        packets: bindCounter<"PACKETS">(client, "priority_queue.packets"),
      },
      queue_watermark: {
        /**
         * queues that packets met
         * 0: short_queue, 1: long_queue
         * Counts packets in 2 cells.
         */
        met: bindCounter<"PACKETS">(client, "queue_watermark.met"),
      },
    },
    registers: {
      queue_watermark: {
        /**
         * longest queue since the cell was cleared, by port
         * 512 cells of bit<32>.
         */
        longest: bindRegister(client, "queue_watermark.longest"),
      },
    },
  };
}

/** A client with the names of the program. */
export type OwnFeature = ReturnType<typeof bind>;
