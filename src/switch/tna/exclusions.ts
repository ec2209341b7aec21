import type { Replica } from "../replication/replication-engine.ts";

/** What ingress says about copies that are not to be made. */
export interface ExclusionIds {
  /** `level1_exclusion_id` */
  readonly level1: number;
  /** `level2_exclusion_id` */
  readonly level2: number;
  /** `rid` */
  readonly rid: number;
}

/**
 * Which copies of a multicast group a packet does not want (the exclusion ids of Tofino's replication engine): copies with a
 * replication id whose exclusion id is the packet's `level1_exclusion_id`, and of those with the packet's own `rid` the ones to ports
 * that its `level2_exclusion_id` names.
 */
export class Exclusions {
  /** Exclusion id by group and replication id. */
  readonly #nodes = new Map<string, number>();
  readonly #ports = new Map<number, ReadonlySet<number>>();

  /** Gives the copies of a group that have this replication id an exclusion id from 1; 0 takes it away. */
  setNode(group: number, instance: number, exclusionId: number): void {
    if (!Number.isInteger(exclusionId) || exclusionId < 0 || exclusionId > 0xffff)
      throw new RangeError(`${exclusionId} is no exclusion id; they have 16 bits`);
    if (exclusionId === 0) this.#nodes.delete(`${group}/${instance}`);
    else this.#nodes.set(`${group}/${instance}`, exclusionId);
  }

  /** Names the ports that packets with this `level2_exclusion_id` are not copied to. */
  setPorts(exclusionId: number, ports: readonly number[]): void {
    if (!Number.isInteger(exclusionId) || exclusionId < 1 || exclusionId > 0x1ff)
      throw new RangeError(`${exclusionId} is no exclusion id of ports; they are from 1 to 511`);
    if (ports.length === 0) this.#ports.delete(exclusionId);
    else this.#ports.set(exclusionId, new Set(ports));
  }

  excludes(group: number, { port, instance }: Replica, { level1, level2, rid }: ExclusionIds): boolean {
    if (level1 !== 0 && this.#nodes.get(`${group}/${instance}`) === level1) return true;
    return level2 !== 0 && rid === instance && (this.#ports.get(level2)?.has(port) ?? false);
  }

  /** What `setNode` was told and counts. */
  nodes(): readonly (readonly [group: number, instance: number, exclusionId: number])[] {
    return [...this.#nodes].map(([node, exclusionId]) => {
      const [group = 0, instance = 0] = node.split("/").map(Number);
      return [group, instance, exclusionId];
    });
  }

  /** What `setPorts` was told and counts. */
  ports(): readonly (readonly [exclusionId: number, ports: readonly number[]])[] {
    return [...this.#ports].map(([exclusionId, ports]) => [exclusionId, [...ports]]);
  }

  clear(): void {
    this.#nodes.clear();
    this.#ports.clear();
  }
}
