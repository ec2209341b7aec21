import type { CallOptions } from "../connection.ts";
import { insert, modify, remove } from "../entities.ts";
import type { ActionCall } from "./actions.ts";
import type { BoundClient } from "./client.ts";

/** The members of an action profile (9.2.1): actions with arguments that entries refer to by number. */
export interface Profile<A extends ActionCall> {
  insertMember(member: number, action: A, options?: CallOptions): Promise<void>;
  modifyMember(member: number, action: A, options?: CallOptions): Promise<void>;
  deleteMember(member: number, options?: CallOptions): Promise<void>;
}

/** Weights by member number: `{ 1: 1, 2: 3 }` takes member 2 three times as often. */
export type Weights = Readonly<Record<number, number>>;

export interface GroupOptions extends CallOptions {
  readonly maxSize?: number;
}

/** The members and groups of an action selector (9.2.2). A member must be there before a group that has it. */
export interface Selector<A extends ActionCall> extends Profile<A> {
  /** With `maxSize` the group has room for so many members, else for as many as the program allows. */
  insertGroup(group: number, weights: Weights, options?: GroupOptions): Promise<void>;
  /** `maxSize` must be what it was at the insertion (9.2.2). */
  modifyGroup(group: number, weights: Weights, options?: GroupOptions): Promise<void>;
  deleteGroup(group: number, options?: CallOptions): Promise<void>;
}

export function bindProfile<A extends ActionCall>(client: BoundClient, name: string): Profile<A> {
  const member = (id: number, call?: A) => client.entities.member(name, id, call?.action, call?.params);
  return {
    insertMember: async (id, call, options) => client.write([insert(member(id, call))], options),
    modifyMember: async (id, call, options) => client.write([modify(member(id, call))], options),
    deleteMember: async (id, options) => client.write([remove(member(id))], options),
  };
}

export function bindSelector<A extends ActionCall>(client: BoundClient, name: string): Selector<A> {
  const group = (id: number, weights?: Weights, maxSize?: number) =>
    client.entities.group(name, id, weights, maxSize);
  return {
    ...bindProfile<A>(client, name),
    insertGroup: async (id, weights, options) =>
      client.write([insert(group(id, weights, options?.maxSize))], options),
    modifyGroup: async (id, weights, options) =>
      client.write([modify(group(id, weights, options?.maxSize))], options),
    deleteGroup: async (id, options) => client.write([remove(group(id))], options),
  };
}
