/**
 * Control plane of allreduce, with types.
 * All-reduce in the switch, without a parameter server (SwitchML, NSDI'21).
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
  bindRegister,
  type LpmInput,
  type NoParams,
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

/** Action admission.is_contribution with its arguments. */
export type AdmissionIsContributionCall = ActionCall<"admission.is_contribution", NoParams>;

/** Action admission.is_null with its arguments. */
export type AdmissionIsNullCall = ActionCall<"admission.is_null", NoParams>;

/** Action admission.is_collect with its arguments. */
export type AdmissionIsCollectCall = ActionCall<"admission.is_collect", NoParams>;

/** Action admission.is_reset with its arguments. */
export type AdmissionIsResetCall = ActionCall<"admission.is_reset", NoParams>;

/** Action admission.malformed with its arguments. */
export type AdmissionMalformedCall = ActionCall<"admission.malformed", NoParams>;

/** Parameters of action admission.admit. */
export type AdmissionAdmitParams = {
  /** bit<32> */
  readonly worker_bit: Value;
  /** bit<32> */
  readonly full_mask: Value;
  /** bit<16> */
  readonly generation: Value;
  /** bit<8> */
  readonly scale: Value;
  /** bit<16> */
  readonly workers_group: Value;
};

/**
 * Action admission.admit with its arguments.
 * a member of the job, with the job's data
 */
export type AdmissionAdmitCall = ActionCall<"admission.admit", AdmissionAdmitParams>;

/** Action admission.refuse_unknown with its arguments. */
export type AdmissionRefuseUnknownCall = ActionCall<"admission.refuse_unknown", NoParams>;

/**
 * Action grid.add_row with its arguments.
 * a new round restarts the row
 */
export type GridAddRowCall = ActionCall<"grid.add_row", NoParams>;

/**
 * Action grid.read_row with its arguments.
 * for a worker that has been counted, and may have missed the RESULT
 */
export type GridReadRowCall = ActionCall<"grid.read_row", NoParams>;

/**
 * Action slot.advance_round with its arguments.
 * serial comparison (RFC 1982); a newer round takes the slot
 */
export type SlotAdvanceRoundCall = ActionCall<"slot.advance_round", NoParams>;

/** Action slot.peek_round with its arguments. */
export type SlotPeekRoundCall = ActionCall<"slot.peek_round", NoParams>;

/** Action slot.reset_round with its arguments. */
export type SlotResetRoundCall = ActionCall<"slot.reset_round", NoParams>;

/** Action slot.empty_row with its arguments. */
export type SlotEmptyRowCall = ActionCall<"slot.empty_row", NoParams>;

/**
 * Action bitmap.count_worker with its arguments.
 * a new round forgets who was counted
 */
export type BitmapCountWorkerCall = ActionCall<"bitmap.count_worker", NoParams>;

/** Parameters of action answer.acknowledge. */
export type AnswerAcknowledgeParams = {
  /** bit<8> */
  readonly flags: Value;
};

/**
 * Action answer.acknowledge with its arguments.
 * back to the sender, without the lanes
 */
export type AnswerAcknowledgeCall = ActionCall<"answer.acknowledge", AnswerAcknowledgeParams>;

/**
 * Action answer.to_workers with its arguments.
 * the completed row goes to all workers, and acknowledges their contributions
 */
export type AnswerToWorkersCall = ActionCall<"answer.to_workers", NoParams>;

/**
 * Action answer.result with its arguments.
 * the completed row, to who asked for it
 */
export type AnswerResultCall = ActionCall<"answer.result", NoParams>;

/** Action answer.pending with its arguments. */
export type AnswerPendingCall = ActionCall<"answer.pending", NoParams>;

/**
 * Action answer.confirm_reset with its arguments.
 * as it came, to the controller
 */
export type AnswerConfirmResetCall = ActionCall<"answer.confirm_reset", NoParams>;

/** Parameters of action copies.to_worker. */
export type CopiesToWorkerParams = {
  /** bit<48> */
  readonly worker_mac: Value;
  /** bit<32> */
  readonly worker_addr: Value;
};

/**
 * Action copies.to_worker with its arguments.
 * ingress did the rest
 */
export type CopiesToWorkerCall = ActionCall<"copies.to_worker", CopiesToWorkerParams>;

/** Match of table forwarding.route. */
export type ForwardingRouteMatch = {
  /** bit<32>, LPM */
  readonly dst_addr?: LpmInput | undefined;
};

/** What an entry of table forwarding.route does. */
export type ForwardingRouteAction = ForwardingToPortCall | ForwardingToLocalCall | ForwardingNoRouteCall;

/** Match of table admission.shape. */
export type AdmissionShapeMatch = {
  /** bit<4>, EXACT */
  readonly version: Value;
  /** bit<4>, EXACT */
  readonly kind: Value;
  /** bit<8>, EXACT */
  readonly mode: Value;
  /** bit<8>, EXACT */
  readonly lanes: Value;
  /** bit<1>, EXACT */
  readonly has_lanes: Value;
  /** bit<16>, EXACT */
  readonly total_len: Value;
  /** bit<16>, EXACT */
  readonly udp_length: Value;
};

/** What an entry of table admission.shape does. */
export type AdmissionShapeAction =
  | AdmissionIsContributionCall
  | AdmissionIsNullCall
  | AdmissionIsCollectCall
  | AdmissionIsResetCall
  | AdmissionMalformedCall;

/** Match of table admission.member. */
export type AdmissionMemberMatch = {
  /** bit<16>, EXACT */
  readonly job: Value;
  /** bit<8>, EXACT */
  readonly member: Value;
  /** bit<12>, EXACT */
  readonly chunk: Value;
};

/** What an entry of table admission.member does. */
export type AdmissionMemberAction = AdmissionAdmitCall | AdmissionRefuseUnknownCall;

/** Match of table slot.meet. */
export type SlotMeetMatch = {
  /** bit<8>, EXACT */
  readonly request: Value;
};

/** What an entry of table slot.meet does. */
export type SlotMeetAction = SlotAdvanceRoundCall | SlotPeekRoundCall | SlotResetRoundCall;

/** Match of table answer.reply. */
export type AnswerReplyMatch = {
  /** bit<8>, EXACT */
  readonly event: Value;
};

/** What an entry of table answer.reply does. */
export type AnswerReplyAction =
  | AnswerAcknowledgeCall
  | AnswerToWorkersCall
  | AnswerResultCall
  | AnswerPendingCall
  | AnswerConfirmResetCall;

/** Match of table copies.worker. */
export type CopiesWorkerMatch = {
  /** bit<16>, EXACT */
  readonly group: Value;
  /** bit<16>, EXACT */
  readonly replica: Value;
};

/** What an entry of table copies.worker does. */
export type CopiesWorkerAction = CopiesToWorkerCall;

/** What table copies.worker does when no entry matches. */
export type CopiesWorkerDefaultAction = CopiesToWorkerCall | NoActionCall;

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
  },
  admission: {
    is_contribution: (): AdmissionIsContributionCall => ({
      action: "admission.is_contribution",
      params: {},
    }),
    is_null: (): AdmissionIsNullCall => ({
      action: "admission.is_null",
      params: {},
    }),
    is_collect: (): AdmissionIsCollectCall => ({
      action: "admission.is_collect",
      params: {},
    }),
    is_reset: (): AdmissionIsResetCall => ({
      action: "admission.is_reset",
      params: {},
    }),
    malformed: (): AdmissionMalformedCall => ({
      action: "admission.malformed",
      params: {},
    }),
    /** a member of the job, with the job's data */
    admit: (params: AdmissionAdmitParams): AdmissionAdmitCall => ({
      action: "admission.admit",
      params,
    }),
    refuse_unknown: (): AdmissionRefuseUnknownCall => ({
      action: "admission.refuse_unknown",
      params: {},
    }),
  },
  grid: {
    /** a new round restarts the row */
    add_row: (): GridAddRowCall => ({
      action: "grid.add_row",
      params: {},
    }),
    /** for a worker that has been counted, and may have missed the RESULT */
    read_row: (): GridReadRowCall => ({
      action: "grid.read_row",
      params: {},
    }),
  },
  slot: {
    /** serial comparison (RFC 1982); a newer round takes the slot */
    advance_round: (): SlotAdvanceRoundCall => ({
      action: "slot.advance_round",
      params: {},
    }),
    peek_round: (): SlotPeekRoundCall => ({
      action: "slot.peek_round",
      params: {},
    }),
    reset_round: (): SlotResetRoundCall => ({
      action: "slot.reset_round",
      params: {},
    }),
    empty_row: (): SlotEmptyRowCall => ({
      action: "slot.empty_row",
      params: {},
    }),
  },
  bitmap: {
    /** a new round forgets who was counted */
    count_worker: (): BitmapCountWorkerCall => ({
      action: "bitmap.count_worker",
      params: {},
    }),
  },
  answer: {
    /** back to the sender, without the lanes */
    acknowledge: (params: AnswerAcknowledgeParams): AnswerAcknowledgeCall => ({
      action: "answer.acknowledge",
      params,
    }),
    /** the completed row goes to all workers, and acknowledges their contributions */
    to_workers: (): AnswerToWorkersCall => ({
      action: "answer.to_workers",
      params: {},
    }),
    /** the completed row, to who asked for it */
    result: (): AnswerResultCall => ({
      action: "answer.result",
      params: {},
    }),
    pending: (): AnswerPendingCall => ({
      action: "answer.pending",
      params: {},
    }),
    /** as it came, to the controller */
    confirm_reset: (): AnswerConfirmResetCall => ({
      action: "answer.confirm_reset",
      params: {},
    }),
  },
  copies: {
    /** ingress did the rest */
    to_worker: (params: CopiesToWorkerParams): CopiesToWorkerCall => ({
      action: "copies.to_worker",
      params,
    }),
  },
};

/**
 * Put the names of allreduce on a client of a switch that runs it.
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
      admission: {
        /**
         * requests by kind; everything about their form is fixed by the program
         * Its entries are constant.
         */
        shape: {
          ...bindReadableEntries<AdmissionShapeMatch, AdmissionShapeAction>(client, "admission.shape"),
        },
        /**
         * members of jobs by job, member and chunk of slots; bounds each job to its own slots
         * Room for 4224 entries.
         */
        member: {
          ...bindEntries<AdmissionMemberMatch, AdmissionMemberAction, "no priority">(
            client,
            "admission.member",
          ),
          counter: bindDirectCounter<AdmissionMemberMatch, "no priority", "BOTH">(client, "admission.member"),
        },
      },
      slot: {
        /**
         * what each request does to the round of its slot
         * Its entries are constant.
         */
        meet: {
          ...bindReadableEntries<SlotMeetMatch, SlotMeetAction>(client, "slot.meet"),
        },
      },
      answer: {
        /**
         * the answer to each outcome; what is refused has none, nor what waits for others
         * Its entries are constant.
         */
        reply: {
          ...bindReadableEntries<AnswerReplyMatch, AnswerReplyAction>(client, "answer.reply"),
        },
      },
      copies: {
        /**
         * workers by group and replica
         * Room for 128 entries.
         */
        worker: {
          ...bindEntries<CopiesWorkerMatch, CopiesWorkerAction, "no priority">(client, "copies.worker"),
          ...bindDefaultEntry<CopiesWorkerDefaultAction>(client, "copies.worker"),
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
      answer: {
        /**
         * what aggregation did with its packets
         * 0: contribution, 1: null, 2: complete, 3: duplicate, 4: result_again, 5: stale, 6: refused_unknown, 7: refused_generation, 8: refused_scale, 9: refused_reset, 10: malformed, 11: collect_result, 12: collect_pending, 13: reset
         * Counts packets in 14 cells.
         */
        events: bindCounter<"PACKETS">(client, "answer.events"),
      },
    },
    registers: {
      grid: {
        /**
         * not 0: the row has a value outside the window
         * 1024 cells of bit<8>.
         */
        mark: bindRegister(client, "grid.mark"),
        /** 1024 cells of bit<32>. */
        sum_00: bindRegister(client, "grid.sum_00"),
        /** 1024 cells of bit<32>. */
        sum_01: bindRegister(client, "grid.sum_01"),
        /** 1024 cells of bit<32>. */
        sum_02: bindRegister(client, "grid.sum_02"),
        /** 1024 cells of bit<32>. */
        sum_03: bindRegister(client, "grid.sum_03"),
        /** 1024 cells of bit<32>. */
        sum_04: bindRegister(client, "grid.sum_04"),
        /** 1024 cells of bit<32>. */
        sum_05: bindRegister(client, "grid.sum_05"),
        /** 1024 cells of bit<32>. */
        sum_06: bindRegister(client, "grid.sum_06"),
        /** 1024 cells of bit<32>. */
        sum_07: bindRegister(client, "grid.sum_07"),
        /** 1024 cells of bit<32>. */
        sum_08: bindRegister(client, "grid.sum_08"),
        /** 1024 cells of bit<32>. */
        sum_09: bindRegister(client, "grid.sum_09"),
        /** 1024 cells of bit<32>. */
        sum_10: bindRegister(client, "grid.sum_10"),
        /** 1024 cells of bit<32>. */
        sum_11: bindRegister(client, "grid.sum_11"),
        /** 1024 cells of bit<32>. */
        sum_12: bindRegister(client, "grid.sum_12"),
        /** 1024 cells of bit<32>. */
        sum_13: bindRegister(client, "grid.sum_13"),
        /** 1024 cells of bit<32>. */
        sum_14: bindRegister(client, "grid.sum_14"),
        /** 1024 cells of bit<32>. */
        sum_15: bindRegister(client, "grid.sum_15"),
        /** 1024 cells of bit<32>. */
        sum_16: bindRegister(client, "grid.sum_16"),
        /** 1024 cells of bit<32>. */
        sum_17: bindRegister(client, "grid.sum_17"),
        /** 1024 cells of bit<32>. */
        sum_18: bindRegister(client, "grid.sum_18"),
        /** 1024 cells of bit<32>. */
        sum_19: bindRegister(client, "grid.sum_19"),
        /** 1024 cells of bit<32>. */
        sum_20: bindRegister(client, "grid.sum_20"),
        /** 1024 cells of bit<32>. */
        sum_21: bindRegister(client, "grid.sum_21"),
        /** 1024 cells of bit<32>. */
        sum_22: bindRegister(client, "grid.sum_22"),
        /** 1024 cells of bit<32>. */
        sum_23: bindRegister(client, "grid.sum_23"),
        /** 1024 cells of bit<32>. */
        sum_24: bindRegister(client, "grid.sum_24"),
        /** 1024 cells of bit<32>. */
        sum_25: bindRegister(client, "grid.sum_25"),
        /** 1024 cells of bit<32>. */
        sum_26: bindRegister(client, "grid.sum_26"),
        /** 1024 cells of bit<32>. */
        sum_27: bindRegister(client, "grid.sum_27"),
        /** 1024 cells of bit<32>. */
        sum_28: bindRegister(client, "grid.sum_28"),
        /** 1024 cells of bit<32>. */
        sum_29: bindRegister(client, "grid.sum_29"),
        /** 1024 cells of bit<32>. */
        sum_30: bindRegister(client, "grid.sum_30"),
        /** 1024 cells of bit<32>. */
        sum_31: bindRegister(client, "grid.sum_31"),
      },
      slot: {
        /**
         * round that the slot holds
         * 1024 cells of bit<32>.
         */
        round: bindRegister(client, "slot.round"),
      },
      bitmap: {
        /**
         * bitmap of workers that were counted in the round
         * 1024 cells of bit<32>.
         */
        seen: bindRegister(client, "bitmap.seen"),
        /**
         * the same bitmap, read after the update
         * 1024 cells of bit<32>.
         */
        arrived: bindRegister(client, "bitmap.arrived"),
      },
    },
    /** Packets from the switch. */
    packets: bindPacketIn<PacketInMetadata>(client),
    /** Send a packet through the switch. */
    sendPacket: bindPacketOut<PacketOutMetadata>(client),
  };
}

/** A client with the names of the program. */
export type Allreduce = ReturnType<typeof bind>;
