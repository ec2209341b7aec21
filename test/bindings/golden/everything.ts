/**
 * Control plane of everything, with types.
 * Made from the program's P4Info by gradplane; not to be edited.
 */
import {
  type ActionCall,
  type BoundClient,
  bindCounter,
  bindDefaultEntry,
  bindDigest,
  bindDirectCounter,
  bindDirectMeter,
  bindEntries,
  bindMeter,
  bindPacketIn,
  bindPacketOut,
  bindProfile,
  bindReadableEntries,
  bindRegister,
  bindSelector,
  bindValueSet,
  type LpmInput,
  type MemberChoice,
  type NoParams,
  type RangeInput,
  type SelectorChoice,
  type TernaryInput,
  type Value,
} from "gradplane/p4runtime";

/** Parameters of action MyIngress.ipv4_forward. */
export type MyIngressIpv4ForwardParams = {
  /** bit<48>: MAC of the next hop */
  readonly dstAddr: Value;
  /** bit<9> */
  readonly port: Value;
};

/** Action MyIngress.ipv4_forward with its arguments. */
export type MyIngressIpv4ForwardCall = ActionCall<"MyIngress.ipv4_forward", MyIngressIpv4ForwardParams>;

/** Action MyIngress.drop with its arguments. */
export type MyIngressDropCall = ActionCall<"MyIngress.drop", NoParams>;

/** Action NoAction with its arguments. */
export type NoActionCall = ActionCall<"NoAction", NoParams>;

/** Parameters of action MyIngress.return. */
export type MyIngressReturnParams = {
  /** bit<8> */
  readonly new: Value;
  /** bit<8> */
  readonly __proto__: Value;
  /** text */
  readonly text: string;
};

/** Action MyIngress.return with its arguments. */
export type MyIngressReturnCall = ActionCall<"MyIngress.return", MyIngressReturnParams>;

/** Action MyIngress.__proto__ with its arguments. */
export type MyIngressProtoCall = ActionCall<"MyIngress.__proto__", NoParams>;

/** Action MyEgress.some_control_with_a_long_name.some_action_with_a_long_name with its arguments. */
export type MyEgressSomeControlWithALongNameSomeActionWithALongNameCall = ActionCall<
  "MyEgress.some_control_with_a_long_name.some_action_with_a_long_name",
  NoParams
>;

/** Match of table MyIngress.acl. */
export type MyIngressAclMatch = {
  /** bit<1>, EXACT */
  readonly "hdr.ipv4.$valid$": Value;
  /** bit<32>, LPM */
  readonly "hdr.ipv4.dstAddr"?: LpmInput | undefined;
  /** bit<16>, TERNARY */
  readonly "hdr.ethernet.etherType"?: TernaryInput | undefined;
  /** bit<9>, RANGE */
  readonly "standard_metadata.ingress_port"?: RangeInput | undefined;
  /** bit<20>, OPTIONAL: outermost label */
  readonly "hdr.mpls[0].label"?: Value | undefined;
};

/** What an entry of table MyIngress.acl does. */
export type MyIngressAclAction = MyIngressIpv4ForwardCall | MyIngressDropCall;

/** What table MyIngress.acl does when no entry matches. */
export type MyIngressAclDefaultAction = MyIngressDropCall | NoActionCall;

/** Match of table MyIngress.acl.inner. */
export type MyIngressAclInnerMatch = {
  /** bit<128>, LPM */
  readonly "hdr.ipv6.dstAddr"?: LpmInput | undefined;
};

/** What an entry of table MyIngress.acl.inner does. */
export type MyIngressAclInnerAction = MyIngressDropCall;

/** Match of table MyIngress.class. */
export type MyIngressClassMatch = {
  /** bit<8>, EXACT */
  readonly default: Value;
  /** bit<8>, EXACT */
  readonly __proto__: Value;
  /** text, EXACT */
  readonly "port name": string;
  /** bit<4>, TERNARY */
  readonly "meta.x[3:0]"?: TernaryInput | undefined;
};

/** What an entry of table MyIngress.class does. */
export type MyIngressClassAction = MyIngressReturnCall | MyIngressProtoCall;

/** Match of table MyIngress.fixed. */
export type MyIngressFixedMatch = {
  /** bit<3>, EXACT */
  readonly "meta.class": Value;
};

/** What an entry of table MyIngress.fixed does. */
export type MyIngressFixedAction = MyIngressDropCall;

/** What table MyIngress.keyless does when no entry matches. */
export type MyIngressKeylessDefaultAction = MyIngressIpv4ForwardCall;

/** Match of table MyIngress.ecmp. */
export type MyIngressEcmpMatch = {
  /** bit<16>, EXACT */
  readonly "meta.group": Value;
};

/** What an entry of table MyIngress.ecmp does. */
export type MyIngressEcmpAction = SelectorChoice<MyIngressIpv4ForwardCall | MyIngressDropCall>;

/** What table MyIngress.ecmp does when no entry matches. */
export type MyIngressEcmpDefaultAction = MyIngressIpv4ForwardCall | MyIngressDropCall | NoActionCall;

/** Match of table MyIngress.next_hop. */
export type MyIngressNextHopMatch = {
  /** bit<16>, EXACT */
  readonly "meta.next_hop": Value;
};

/** What an entry of table MyIngress.next_hop does. */
export type MyIngressNextHopAction = MemberChoice;

/** What table MyIngress.next_hop does when no entry matches. */
export type MyIngressNextHopDefaultAction = MyIngressIpv4ForwardCall;

/** Match of table My.ingress_next.hop. */
export type MyIngressNextHopMatch2 = {
  /** bit<1>, EXACT */
  readonly a: Value;
};

/** What an entry of table My.ingress_next.hop does. */
export type MyIngressNextHopAction2 = MyIngressDropCall;

/** Match of table MyEgress.some_control_with_a_long_name.some_table_with_a_long_name. */
export type MyEgressSomeControlWithALongNameSomeTableWithALongNameMatch = {
  /** bit<1>, RANGE */
  readonly a?: RangeInput | undefined;
};

/** What an entry of table MyEgress.some_control_with_a_long_name.some_table_with_a_long_name does. */
export type MyEgressSomeControlWithALongNameSomeTableWithALongNameAction =
  | MyIngressIpv4ForwardCall
  | MyIngressDropCall
  | MyIngressReturnCall
  | MyIngressProtoCall
  | MyEgressSomeControlWithALongNameSomeActionWithALongNameCall;

/** One message of digest learn_t. */
export type LearnTDigest = {
  readonly src: bigint;
  readonly delta: bigint;
  readonly color: "RED" | "GREEN";
  readonly port: string;
  readonly header: { readonly class: bigint } | undefined;
};

/** One message of digest tuple_digest. */
export type TupleDigestDigest = readonly [bigint, boolean];

/** A member of value set MyParser.tunnels. */
export type MyParserTunnelsMember = {
  /** bit<8>, EXACT */
  readonly protocol: Value;
  /** bit<16>, EXACT */
  readonly port: Value;
};

/** What comes with a packet from the switch. */
export type PacketInMetadata = {
  /** bit<9> */
  readonly ingress_port: Value;
  /** bit<7> */
  readonly _pad: Value;
};

/** What goes with a packet to the switch. */
export type PacketOutMetadata = {
  /** bit<9> */
  readonly egress_port: Value;
  /** bit<7> */
  readonly _pad?: Value | undefined;
};

/** The actions of the program, for the tables that have them. */
export const actions = {
  MyIngress: {
    ipv4_forward: (params: MyIngressIpv4ForwardParams): MyIngressIpv4ForwardCall => ({
      action: "MyIngress.ipv4_forward",
      params,
    }),
    drop: (): MyIngressDropCall => ({
      action: "MyIngress.drop",
      params: {},
    }),
    return: (params: MyIngressReturnParams): MyIngressReturnCall => ({
      action: "MyIngress.return",
      params,
    }),
    ["__proto__"]: (): MyIngressProtoCall => ({
      action: "MyIngress.__proto__",
      params: {},
    }),
  },
  NoAction: (): NoActionCall => ({
    action: "NoAction",
    params: {},
  }),
  MyEgress: {
    some_control_with_a_long_name: {
      some_action_with_a_long_name: (): MyEgressSomeControlWithALongNameSomeActionWithALongNameCall => ({
        action: "MyEgress.some_control_with_a_long_name.some_action_with_a_long_name",
        params: {},
      }),
    },
  },
};

/**
 * Put the names of everything on a client of a switch that runs it.
 * What does not fit the program is an EntityError that names the object and the field; nothing is sent then.
 */
export function bind(client: BoundClient) {
  return {
    actions,
    tables: {
      MyIngress: {
        /**
         * ends *\/ a comment
         * \@deprecated is no tag
         * of ours
         * Room for 512 entries.
         */
        acl: {
          ...bindEntries<MyIngressAclMatch, MyIngressAclAction, "priority">(client, "MyIngress.acl"),
          ...bindDefaultEntry<MyIngressAclDefaultAction>(client, "MyIngress.acl"),
          counter: bindDirectCounter<MyIngressAclMatch, "priority", "BYTES">(client, "MyIngress.acl"),
          meter: bindDirectMeter<MyIngressAclMatch, "priority", "SINGLE_RATE_TWO_COLOR">(
            client,
            "MyIngress.acl",
          ),
        },
        /** Room for 16 entries. */
        class: {
          ...bindEntries<MyIngressClassMatch, MyIngressClassAction, "priority">(client, "MyIngress.class"),
          ...bindDefaultEntry<MyIngressClassAction>(client, "MyIngress.class"),
        },
        /** Its entries are constant. */
        fixed: {
          ...bindReadableEntries<MyIngressFixedMatch, MyIngressFixedAction>(client, "MyIngress.fixed"),
        },
        /** Has no key, so only a default action. */
        keyless: {
          ...bindDefaultEntry<MyIngressKeylessDefaultAction>(client, "MyIngress.keyless"),
        },
        /** Has no key, so only a default action. */
        fixed_default: {},
        /** Room for 64 entries. */
        ecmp: {
          ...bindEntries<MyIngressEcmpMatch, MyIngressEcmpAction, "no priority">(client, "MyIngress.ecmp"),
          ...bindDefaultEntry<MyIngressEcmpDefaultAction>(client, "MyIngress.ecmp"),
        },
        /** Room for 64 entries. */
        next_hop: {
          ...bindEntries<MyIngressNextHopMatch, MyIngressNextHopAction, "no priority">(
            client,
            "MyIngress.next_hop",
          ),
          ...bindDefaultEntry<MyIngressNextHopDefaultAction>(client, "MyIngress.next_hop"),
        },
      },
      /** Room for 16 entries. */
      "MyIngress.acl.inner": {
        ...bindEntries<MyIngressAclInnerMatch, MyIngressAclInnerAction, "no priority">(
          client,
          "MyIngress.acl.inner",
        ),
      },
      My: {
        ingress_next: {
          hop: {
            ...bindEntries<MyIngressNextHopMatch2, MyIngressNextHopAction2, "no priority">(
              client,
              "My.ingress_next.hop",
            ),
            ...bindDefaultEntry<MyIngressNextHopAction2>(client, "My.ingress_next.hop"),
          },
        },
      },
      MyEgress: {
        some_control_with_a_long_name: {
          some_table_with_a_long_name: {
            ...bindEntries<
              MyEgressSomeControlWithALongNameSomeTableWithALongNameMatch,
              MyEgressSomeControlWithALongNameSomeTableWithALongNameAction,
              "priority"
            >(client, "MyEgress.some_control_with_a_long_name.some_table_with_a_long_name"),
            ...bindDefaultEntry<MyEgressSomeControlWithALongNameSomeTableWithALongNameAction>(
              client,
              "MyEgress.some_control_with_a_long_name.some_table_with_a_long_name",
            ),
          },
        },
      },
    },
    actionProfiles: {
      MyIngress: {
        /** Room for 8 members. */
        selector: bindSelector<MyIngressIpv4ForwardCall | MyIngressDropCall>(client, "MyIngress.selector"),
        /** Room for 8 members. */
        profile: bindProfile<MyIngressIpv4ForwardCall>(client, "MyIngress.profile"),
      },
    },
    counters: {
      /** Counts packets in 4 cells. */
      packets: bindCounter<"PACKETS">(client, "packets"),
      /** Counts bytes in 4 cells. */
      bytes: bindCounter<"BYTES">(client, "bytes"),
      /** Counts packets and bytes in 4 cells. */
      both: bindCounter<"BOTH">(client, "both"),
    },
    meters: {
      /** Measures bytes in 2 cells. */
      two_rates: bindMeter<"TWO_RATE_THREE_COLOR">(client, "two_rates"),
      /** Measures packets in 2 cells. */
      one_rate: bindMeter<"SINGLE_RATE_THREE_COLOR">(client, "one_rate"),
      /** Measures packets in 2 cells. */
      two_colors: bindMeter<"SINGLE_RATE_TWO_COLOR">(client, "two_colors"),
    },
    /** Left out, as their cells are no integers: pairs. */
    registers: {
      /** 4 cells of bit<128>. */
      sums: bindRegister(client, "sums"),
      /** 4 cells of int<12>. */
      signed: bindRegister(client, "signed"),
    },
    /** Messages of the program to the controller. */
    digests: {
      learn_t: bindDigest<LearnTDigest>(client, "learn_t"),
      tuple_digest: bindDigest<TupleDigestDigest>(client, "tuple_digest"),
    },
    /** What the parser compares with. */
    valueSets: {
      MyParser: {
        /**
         * Ports of tunnels.
         * Room for 4 members.
         */
        tunnels: bindValueSet<MyParserTunnelsMember>(client, "MyParser.tunnels"),
        /** Room for 2 members. */
        kinds: bindValueSet<Value>(client, "MyParser.kinds"),
      },
    },
    /** Packets from the switch. */
    packets: bindPacketIn<PacketInMetadata>(client),
    /** Send a packet through the switch. */
    sendPacket: bindPacketOut<PacketOutMetadata>(client),
  };
}

/** A client with the names of the program. */
export type Everything = ReturnType<typeof bind>;
