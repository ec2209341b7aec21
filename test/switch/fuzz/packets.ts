import { p4infoFromText } from "../../../src/p4info/index.ts";
import { readProgram, Switch } from "../../../src/switch/index.ts";
import { Dice } from "../../backends/dice.ts";
import { fillRandomly } from "../differential/entries.ts";
import { PacketMaker } from "../differential/packets.ts";

export interface FuzzedProgram {
  readonly name: string;
  readonly json: string;
  readonly p4info: string;
  readonly cpuPort?: number;
}

export interface PacketFuzz {
  readonly packets: number;
  /** Frames that left by a port, or to the controller. */
  readonly sent: number;
  readonly dropped: number;
  /** The longest that one packet took with all that it set off, in milliseconds; of use to see a loop that nearly hangs. */
  readonly longest: number;
}

/** Packets that are made together, and how often each is sent: as it is, and in copies of which some bytes were changed. */
const POOL = 512;
const COPIES = 16;
/** A packet that was changed much fails the first check of every parser: few changes get further. */
const MOST_CHANGES = 4;
/** More frames than this because of one packet are a loop. */
const MOST_ACTIONS = 20_000;

/**
 * Random and mutated packets for one program, its tables full of random entries, some ports so slow that their queues run over. What a
 * packet makes the switch throw goes to the caller.
 */
export class PacketFuzzer {
  readonly switch: Switch;
  readonly #maker: PacketMaker;
  readonly #dice: Dice;
  #now = 0;

  constructor(program: FuzzedProgram, seed: number) {
    this.#dice = new Dice(seed);
    const options = program.cpuPort === undefined ? {} : { cpuPort: program.cpuPort };
    const fresh = () => new Switch(program.json, options);
    this.switch = fresh();
    const known = readProgram(program.json);
    const maker = new PacketMaker(known, [], this.#dice);
    const packets = Array.from({ length: 300 }, () => maker.make());
    // Tables have entries for these packets: others like them come further than any.
    this.#maker = new PacketMaker(known, packets, this.#dice);
    fillRandomly(this.switch, p4infoFromText(program.p4info), packets, fresh, this.#dice);
    for (const port of [1, 3, 5])
      this.switch.trafficManager.setRate(port, { kind: "packetsPerSecond", rate: 2000 * port });
  }

  /** Sends so many packets, about. */
  run(count: number): PacketFuzz {
    const dice = this.#dice;
    const sw = this.switch;
    let [packets, sent, dropped, longest] = [0, 0, 0, 0];
    let actions = 0;
    const sink: Parameters<Switch["handle"]>[2] = ({ kind }) => {
      actions++;
      if (kind === "transmit" || kind === "toCpu") sent++;
      else if (kind === "drop") dropped++;
    };
    while (packets < count) {
      const pool = Array.from({ length: POOL }, () => this.#maker.make());
      for (let round = 0; round < COPIES && packets < count; round++) {
        for (const { port, data: whole } of pool) {
          const data = round === 0 ? whole : this.#mutated(whole);
          actions = 0;
          const start = performance.now();
          // Bursts, so that queues run over and empty again.
          this.#now += dice.below(dice.below(16) === 0 ? 5000 : 50);
          sw.handle({ kind: "packet", port, data }, this.#now, sink);
          longest = Math.max(longest, performance.now() - start);
          if (actions > MOST_ACTIONS) throw new Error(`${actions} actions because of one packet`);
          packets++;
        }
        for (let at = sw.nextWakeup(); at !== undefined && at <= this.#now; at = sw.nextWakeup())
          sw.tick(at, sink);
      }
    }
    return { packets, sent, dropped, longest };
  }

  /** A copy of a packet with some bytes changed, and now and then cut off. */
  #mutated(packet: Uint8Array): Uint8Array {
    const dice = this.#dice;
    const copy = dice.below(8) === 0 ? packet.slice(0, 1 + dice.below(packet.length)) : packet.slice();
    const changes = 1 + dice.below(MOST_CHANGES);
    for (let n = 0; n < changes; n++) {
      const at = dice.below(copy.length);
      copy[at] = dice.below(2) === 0 ? dice.below(256) : (copy[at] ?? 0) ^ (1 << dice.below(8));
    }
    return copy;
  }
}
