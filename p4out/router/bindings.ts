/**
 * Control plane of router, with types.
 * A plain IPv4 router with an access list.
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
  type LpmInput,
  type NoParams,
  type RangeInput,
  type TernaryInput,
  type Value,
} from "gradplane/p4runtime";

/** Action NoAction with its arguments. */
export type NoActionCall = ActionCall<"NoAction", NoParams>;

/** Action access_list.permit with its arguments. */
export type AccessListPermitCall = ActionCall<"access_list.permit", NoParams>;

/** Action access_list.deny with its arguments. */
export type AccessListDenyCall = ActionCall<"access_list.deny", NoParams>;

/** Parameters of action routing.via. */
export type RoutingViaParams = {
  /** bit<16> */
  readonly next_hop: Value;
};

/** Action routing.via with its arguments. */
export type RoutingViaCall = ActionCall<"routing.via", RoutingViaParams>;

/**
 * Action routing.to_self with its arguments.
 * for an address of the router: the controller answers
 */
export type RoutingToSelfCall = ActionCall<"routing.to_self", NoParams>;

/** Action routing.no_route with its arguments. */
export type RoutingNoRouteCall = ActionCall<"routing.no_route", NoParams>;

/** Parameters of action routing.forward. */
export type RoutingForwardParams = {
  /** bit<9> */
  readonly port: Value;
  /** bit<48> */
  readonly dst_mac: Value;
};

/** Action routing.forward with its arguments. */
export type RoutingForwardCall = ActionCall<"routing.forward", RoutingForwardParams>;

/** Parameters of action departure.from. */
export type DepartureFromParams = {
  /** bit<48> */
  readonly src_mac: Value;
};

/** Action departure.from with its arguments. */
export type DepartureFromCall = ActionCall<"departure.from", DepartureFromParams>;

/** Match of table access_list.rules. */
export type AccessListRulesMatch = {
  /** bit<32>, TERNARY */
  readonly src_addr?: TernaryInput | undefined;
  /** bit<32>, TERNARY */
  readonly dst_addr?: TernaryInput | undefined;
  /** bit<8>, TERNARY */
  readonly protocol?: TernaryInput | undefined;
  /** bit<16>, RANGE */
  readonly dst_port?: RangeInput | undefined;
};

/** What an entry of table access_list.rules does. */
export type AccessListRulesAction = AccessListPermitCall | AccessListDenyCall;

/** Match of table routing.routes. */
export type RoutingRoutesMatch = {
  /** bit<32>, LPM */
  readonly dst_addr?: LpmInput | undefined;
};

/** What an entry of table routing.routes does. */
export type RoutingRoutesAction = RoutingViaCall | RoutingToSelfCall | RoutingNoRouteCall;

/** Match of table routing.next_hops. */
export type RoutingNextHopsMatch = {
  /** bit<16>, EXACT */
  readonly next_hop: Value;
};

/** What an entry of table routing.next_hops does. */
export type RoutingNextHopsAction = RoutingForwardCall;

/** What table routing.next_hops does when no entry matches. */
export type RoutingNextHopsDefaultAction = RoutingForwardCall | NoActionCall;

/** Match of table departure.interfaces. */
export type DepartureInterfacesMatch = {
  /** bit<9>, EXACT */
  readonly port: Value;
};

/** What an entry of table departure.interfaces does. */
export type DepartureInterfacesAction = DepartureFromCall;

/** What table departure.interfaces does when no entry matches. */
export type DepartureInterfacesDefaultAction = DepartureFromCall | NoActionCall;

/** What comes with a packet from the switch. */
export type PacketInMetadata = {
  /** bit<9> */
  readonly ingress_port: Value;
  /** bit<7> */
  readonly padding: Value;
  /** bit<8> */
  readonly reason: Value;
};

/** The actions of the program, for the tables that have them. */
export const actions = {
  NoAction: (): NoActionCall => ({
    action: "NoAction",
    params: {},
  }),
  access_list: {
    permit: (): AccessListPermitCall => ({
      action: "access_list.permit",
      params: {},
    }),
    deny: (): AccessListDenyCall => ({
      action: "access_list.deny",
      params: {},
    }),
  },
  routing: {
    via: (params: RoutingViaParams): RoutingViaCall => ({
      action: "routing.via",
      params,
    }),
    /** for an address of the router: the controller answers */
    to_self: (): RoutingToSelfCall => ({
      action: "routing.to_self",
      params: {},
    }),
    no_route: (): RoutingNoRouteCall => ({
      action: "routing.no_route",
      params: {},
    }),
    forward: (params: RoutingForwardParams): RoutingForwardCall => ({
      action: "routing.forward",
      params,
    }),
  },
  departure: {
    from: (params: DepartureFromParams): DepartureFromCall => ({
      action: "departure.from",
      params,
    }),
  },
};

/**
 * Put the names of router on a client of a switch that runs it.
 * What does not fit the program is an EntityError that names the object and the field; nothing is sent then.
 */
export function bind(client: BoundClient) {
  return {
    actions,
    tables: {
      access_list: {
        /**
         * the entry of the highest priority decides; what fits none may pass
         * Room for 512 entries.
         */
        rules: {
          ...bindEntries<AccessListRulesMatch, AccessListRulesAction, "priority">(
            client,
            "access_list.rules",
          ),
          ...bindDefaultEntry<AccessListRulesAction>(client, "access_list.rules"),
          counter: bindDirectCounter<AccessListRulesMatch, "priority", "BOTH">(client, "access_list.rules"),
        },
      },
      routing: {
        /**
         * where addresses are
         * Room for 4096 entries.
         */
        routes: {
          ...bindEntries<RoutingRoutesMatch, RoutingRoutesAction, "no priority">(client, "routing.routes"),
          ...bindDefaultEntry<RoutingRoutesAction>(client, "routing.routes"),
        },
        /**
         * how to reach the next router or host
         * Room for 1024 entries.
         */
        next_hops: {
          ...bindEntries<RoutingNextHopsMatch, RoutingNextHopsAction, "no priority">(
            client,
            "routing.next_hops",
          ),
          ...bindDefaultEntry<RoutingNextHopsDefaultAction>(client, "routing.next_hops"),
          counter: bindDirectCounter<RoutingNextHopsMatch, "no priority", "BOTH">(
            client,
            "routing.next_hops",
          ),
        },
      },
      departure: {
        /**
         * MAC address of each port
         * Room for 32 entries.
         */
        interfaces: {
          ...bindEntries<DepartureInterfacesMatch, DepartureInterfacesAction, "no priority">(
            client,
            "departure.interfaces",
          ),
          ...bindDefaultEntry<DepartureInterfacesDefaultAction>(client, "departure.interfaces"),
        },
      },
    },
    counters: {
      router: {
        /**
         * what became of packets
         * 0: routed, 1: punt_self, 2: punt_ttl, 3: drop_not_ipv4, 4: drop_checksum, 5: drop_denied, 6: drop_no_route
         * Counts packets in 7 cells.
         */
        events: bindCounter<"PACKETS">(client, "router.events"),
      },
    },
    /** Packets from the switch. */
    packets: bindPacketIn<PacketInMetadata>(client),
  };
}

/** A client with the names of the program. */
export type Router = ReturnType<typeof bind>;
