/**
 * Control plane of dlcp, with types.
 * Priority, selective dropping and spray for bounded-loss gradients (DLCP, arXiv 2008.08445).
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

/** Action selective_drop.exempt with its arguments. */
export type SelectiveDropExemptCall = ActionCall<"selective_drop.exempt", NoParams>;

/** Parameters of action selective_drop.keep. */
export type SelectiveDropKeepParams = {
  /** bit<32> */
  readonly packets: Value;
};

/**
 * Action selective_drop.keep with its arguments.
 * how many packets may wait before this one
 */
export type SelectiveDropKeepCall = ActionCall<"selective_drop.keep", SelectiveDropKeepParams>;

/** Parameters of action ecmp.spray. */
export type EcmpSprayParams = {
  /** bit<8> */
  readonly last: Value;
};

/**
 * Action ecmp.spray with its arguments.
 * round robin over members 0 to last
 */
export type EcmpSprayCall = ActionCall<"ecmp.spray", EcmpSprayParams>;

/** Action ecmp.no_group with its arguments. */
export type EcmpNoGroupCall = ActionCall<"ecmp.no_group", NoParams>;

/** Parameters of action ecmp.to_member. */
export type EcmpToMemberParams = {
  /** bit<9> */
  readonly port: Value;
  /** bit<48> */
  readonly dst_mac: Value;
};

/**
 * Action ecmp.to_member with its arguments.
 * to the next hop; its route did the rest
 */
export type EcmpToMemberCall = ActionCall<"ecmp.to_member", EcmpToMemberParams>;

/** Action ecmp.no_member with its arguments. */
export type EcmpNoMemberCall = ActionCall<"ecmp.no_member", NoParams>;

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

/** Match of table selective_drop.threshold. */
export type SelectiveDropThresholdMatch = {
  /** bit<3>, EXACT */
  readonly traffic_class: Value;
};

/** What an entry of table selective_drop.threshold does. */
export type SelectiveDropThresholdAction = SelectiveDropKeepCall | SelectiveDropExemptCall;

/** Match of table ecmp.group. */
export type EcmpGroupMatch = {
  /** bit<6>, EXACT */
  readonly group: Value;
};

/** What an entry of table ecmp.group does. */
export type EcmpGroupAction = EcmpSprayCall | EcmpNoGroupCall;

/** Match of table ecmp.member. */
export type EcmpMemberMatch = {
  /** bit<6>, EXACT */
  readonly group: Value;
  /** bit<8>, EXACT */
  readonly index: Value;
};

/** What an entry of table ecmp.member does. */
export type EcmpMemberAction = EcmpToMemberCall | EcmpNoMemberCall;

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
    /** to a group of next hops */
    to_group: (params: ForwardingToGroupParams): ForwardingToGroupCall => ({
      action: "forwarding.to_group",
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
  selective_drop: {
    exempt: (): SelectiveDropExemptCall => ({
      action: "selective_drop.exempt",
      params: {},
    }),
    /** how many packets may wait before this one */
    keep: (params: SelectiveDropKeepParams): SelectiveDropKeepCall => ({
      action: "selective_drop.keep",
      params,
    }),
  },
  ecmp: {
    /** round robin over members 0 to last */
    spray: (params: EcmpSprayParams): EcmpSprayCall => ({
      action: "ecmp.spray",
      params,
    }),
    no_group: (): EcmpNoGroupCall => ({
      action: "ecmp.no_group",
      params: {},
    }),
    /** to the next hop; its route did the rest */
    to_member: (params: EcmpToMemberParams): EcmpToMemberCall => ({
      action: "ecmp.to_member",
      params,
    }),
    no_member: (): EcmpNoMemberCall => ({
      action: "ecmp.no_member",
      params: {},
    }),
  },
};

/**
 * Put the names of dlcp on a client of a switch that runs it.
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
      selective_drop: {
        /**
         * longest queue for droppable packets, by traffic class
         * Room for 8 entries.
         */
        threshold: {
          ...bindEntries<SelectiveDropThresholdMatch, SelectiveDropThresholdAction, "no priority">(
            client,
            "selective_drop.threshold",
          ),
        },
      },
      ecmp: {
        /**
         * groups of next hops whose packets go round robin
         * Room for 64 entries.
         */
        group: {
          ...bindEntries<EcmpGroupMatch, EcmpGroupAction, "no priority">(client, "ecmp.group"),
        },
        /**
         * next hops by group and number
         * Room for 1024 entries.
         */
        member: {
          ...bindEntries<EcmpMemberMatch, EcmpMemberAction, "no priority">(client, "ecmp.member"),
          counter: bindDirectCounter<EcmpMemberMatch, "no priority", "BOTH">(client, "ecmp.member"),
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
      selective_drop: {
        /**
         * what became of the packet
         * 0: exempt, 1: kept, 2: marked, 3: drop_unimportant
         * Counts packets in 4 cells.
         */
        events: bindCounter<"PACKETS">(client, "selective_drop.events"),
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
    registers: {
      ecmp: {
        /**
         * member that had the last packet
         * 64 cells of bit<8>.
         */
        turn: bindRegister(client, "ecmp.turn"),
      },
    },
  };
}

/** A client with the names of the program. */
export type Dlcp = ReturnType<typeof bind>;
