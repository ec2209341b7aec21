/**
 * Control plane of fabric, with types.
 * Forwarding of IPv4 and IPv6 over equal-cost paths, with probes of links and counted drops.
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
  bindReadableEntries,
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

/** Parameters of action forwarding6.to_port. */
export type Forwarding6ToPortParams = {
  /** bit<9> */
  readonly port: Value;
  /** bit<48> */
  readonly dst_mac: Value;
};

/**
 * Action forwarding6.to_port with its arguments.
 * to the next hop
 */
export type Forwarding6ToPortCall = ActionCall<"forwarding6.to_port", Forwarding6ToPortParams>;

/**
 * Action forwarding6.to_local with its arguments.
 * for an address of the switch
 */
export type Forwarding6ToLocalCall = ActionCall<"forwarding6.to_local", NoParams>;

/** Action forwarding6.no_route with its arguments. */
export type Forwarding6NoRouteCall = ActionCall<"forwarding6.no_route", NoParams>;

/** Parameters of action forwarding6.to_group. */
export type Forwarding6ToGroupParams = {
  /** bit<6> */
  readonly group: Value;
};

/**
 * Action forwarding6.to_group with its arguments.
 * to a group of next hops
 */
export type Forwarding6ToGroupCall = ActionCall<"forwarding6.to_group", Forwarding6ToGroupParams>;

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

/**
 * Action probe.to_controller with its arguments.
 * with the port where it came in
 */
export type ProbeToControllerCall = ActionCall<"probe.to_controller", NoParams>;

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

/** Match of table forwarding6.route. */
export type Forwarding6RouteMatch = {
  /** bit<128>, LPM */
  readonly dst_addr?: LpmInput | undefined;
};

/** What an entry of table forwarding6.route does. */
export type Forwarding6RouteAction =
  | Forwarding6ToPortCall
  | Forwarding6ToGroupCall
  | Forwarding6ToLocalCall
  | Forwarding6NoRouteCall;

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

/** Match of table ecmp.flow. */
export type EcmpFlowMatch = {
  /** bit<6>, EXACT */
  readonly group: Value;
};

/** What an entry of table ecmp.flow does. */
export type EcmpFlowAction = SelectorChoice<EcmpToNextHopCall>;

/** What table ecmp.flow does when no entry matches. */
export type EcmpFlowDefaultAction = EcmpToNextHopCall | NoActionCall;

/** Match of table probe.link. */
export type ProbeLinkMatch = {
  /** bit<9>, EXACT */
  readonly port: Value;
};

/** What an entry of table probe.link does. */
export type ProbeLinkAction = ProbeToControllerCall;

/** What table probe.link does when no entry matches. */
export type ProbeLinkDefaultAction = ProbeToControllerCall | NoActionCall;

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
  forwarding6: {
    /** to the next hop */
    to_port: (params: Forwarding6ToPortParams): Forwarding6ToPortCall => ({
      action: "forwarding6.to_port",
      params,
    }),
    /** for an address of the switch */
    to_local: (): Forwarding6ToLocalCall => ({
      action: "forwarding6.to_local",
      params: {},
    }),
    no_route: (): Forwarding6NoRouteCall => ({
      action: "forwarding6.no_route",
      params: {},
    }),
    /** to a group of next hops */
    to_group: (params: Forwarding6ToGroupParams): Forwarding6ToGroupCall => ({
      action: "forwarding6.to_group",
      params,
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
  ecmp: {
    /** to the next hop; its route did the rest */
    to_next_hop: (params: EcmpToNextHopParams): EcmpToNextHopCall => ({
      action: "ecmp.to_next_hop",
      params,
    }),
  },
  probe: {
    /** with the port where it came in */
    to_controller: (): ProbeToControllerCall => ({
      action: "probe.to_controller",
      params: {},
    }),
  },
};

/**
 * Put the names of fabric on a client of a switch that runs it.
 * What does not fit the program is an EntityError that names the object and the field; nothing is sent then.
 */
export function bind(client: BoundClient) {
  return {
    actions,
    tables: {
      forwarding: {
        /**
         * where IPv4 packets go
         * Room for 2048 entries.
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
      forwarding6: {
        /**
         * where IPv6 packets go
         * Room for 1024 entries.
         */
        route: {
          ...bindEntries<Forwarding6RouteMatch, Forwarding6RouteAction, "no priority">(
            client,
            "forwarding6.route",
          ),
          ...bindDefaultEntry<Forwarding6RouteAction>(client, "forwarding6.route"),
          counter: bindDirectCounter<Forwarding6RouteMatch, "no priority", "BOTH">(
            client,
            "forwarding6.route",
          ),
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
      probe: {
        /**
         * ports at which another switch is
         * Room for 512 entries.
         */
        link: {
          ...bindEntries<ProbeLinkMatch, ProbeLinkAction, "no priority">(client, "probe.link"),
          ...bindDefaultEntry<ProbeLinkDefaultAction>(client, "probe.link"),
          counter: bindDirectCounter<ProbeLinkMatch, "no priority", "BOTH">(client, "probe.link"),
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
      forwarding6: {
        /**
         * what became of the packet
         * 0: forwarded, 1: local, 2: drop_truncated, 3: drop_not_ipv6, 4: drop_scope, 5: drop_hop_limit, 6: drop_no_route
         * Counts packets in 7 cells.
         */
        events: bindCounter<"PACKETS">(client, "forwarding6.events"),
      },
      priority_queue: {
        /**
         * packets that came in, by traffic class
         * 0: best_effort, 1: gradient_1, 2: gradient_2, 3: gradient_3, 4: gradient_4, 5: gradient_5, 6: gradient_6, 7: control
         * Counts packets in 8 cells.
         */
        packets: bindCounter<"PACKETS">(client, "priority_queue.packets"),
      },
      ecmp: {
        /**
         * what became of the packet
         * 0: sprayed, 1: drop_no_group, 2: drop_no_member, 3: by_flow
         * Counts packets in 4 cells.
         */
        events: bindCounter<"PACKETS">(client, "ecmp.events"),
      },
      telemetry: {
        /**
         * what became of packets
         * 0: passed, 1: replicated, 2: forwarding.local, 3: forwarding.no_route, 4: ecmp.no_member, 5: forwarding.truncated, 6: forwarding.not_ipv4, 7: forwarding.checksum, 8: forwarding.ttl, 9: forwarding6.local, 10: forwarding6.no_route, 11: forwarding6.truncated, 12: forwarding6.not_ipv6, 13: forwarding6.scope, 14: forwarding6.hop_limit, 15: ecmp.no_group
         * Counts packets in 16 cells.
         */
        packets: bindCounter<"PACKETS">(client, "telemetry.packets"),
        /**
         * the same by port
         * 16 for each port: 0: passed, 1: replicated, 2: forwarding.local, 3: forwarding.no_route, 4: ecmp.no_member, 5: forwarding.truncated, 6: forwarding.not_ipv4, 7: forwarding.checksum, 8: forwarding.ttl, 9: forwarding6.local, 10: forwarding6.no_route, 11: forwarding6.truncated, 12: forwarding6.not_ipv6, 13: forwarding6.scope, 14: forwarding6.hop_limit, 15: ecmp.no_group
         * Counts packets in 8192 cells.
         */
        by_port: bindCounter<"PACKETS">(client, "telemetry.by_port"),
        /**
         * the same by traffic class
         * 16 for each class: 0: passed, 1: replicated, 2: forwarding.local, 3: forwarding.no_route, 4: ecmp.no_member, 5: forwarding.truncated, 6: forwarding.not_ipv4, 7: forwarding.checksum, 8: forwarding.ttl, 9: forwarding6.local, 10: forwarding6.no_route, 11: forwarding6.truncated, 12: forwarding6.not_ipv6, 13: forwarding6.scope, 14: forwarding6.hop_limit, 15: ecmp.no_group
         * Counts packets in 128 cells.
         */
        by_class: bindCounter<"PACKETS">(client, "telemetry.by_class"),
      },
      queue_losses: {
        /**
         * packets to the queues of a port
         * one for each port
         * Counts packets in 512 cells.
         */
        sent: bindCounter<"PACKETS">(client, "queue_losses.sent"),
      },
      queue_losses_egress: {
        /**
         * packets that came out of the queues of a port
         * one for each port
         * Counts packets in 512 cells.
         */
        arrived: bindCounter<"PACKETS">(client, "queue_losses_egress.arrived"),
      },
    },
    /** Packets from the switch. */
    packets: bindPacketIn<PacketInMetadata>(client),
    /** Send a packet through the switch. */
    sendPacket: bindPacketOut<PacketOutMetadata>(client),
  };
}

/** A client with the names of the program. */
export type Fabric = ReturnType<typeof bind>;
