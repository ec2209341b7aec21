import type { ActionData } from "./entry-store.ts";
import { SwitchRuntimeError } from "./runtime-error.ts";
import type { ActionCall } from "./table-entry.ts";

/** The actions that may be used in a profile or table. */
export interface ActionResolver {
  /** Checks an action with its arguments. @throws SwitchRuntimeError INVALID_ARGUMENT if it may not be used here */
  resolve(call: ActionCall): { readonly actionIndex: number; readonly data: ActionData };
  /** An action by name; undefined if it may not be used here. */
  find(
    name: string,
  ): { readonly actionIndex: number; readonly parameterWidths: readonly number[] } | undefined;
  /** The name of an action by its index among the program's, and how many parameters it has. */
  nameOf(actionIndex: number): string;
  parametersOf(actionIndex: number): number;
  /** Most parameters that an action has, and whether one has more than 52 bits: then bigints are among the arguments. */
  readonly parameters: number;
  readonly hasWideParameters: boolean;
}

export interface Member {
  readonly isGroup: false;
  readonly id: number;
  call: ActionCall;
  actionIndex: number;
  data: ActionData;
  /** Table entries that point to it, and the groups that contain it. */
  entries: number;
  readonly groups: Set<Group>;
}

export interface GroupMember {
  readonly member: number;
  /** How often the member counts in the choice; at least 1. */
  readonly weight: number;
  /** The member is left out of the choice while this port is down. */
  readonly watchPort?: number;
}

/** A group of members, one of which is chosen per packet by hash. */
export class Group {
  readonly isGroup = true;
  readonly id: number;
  /** 0: only the profile's size limits it. */
  readonly maxSize: number;
  members: readonly GroupMember[] = [];
  entries = 0;
  /** Members that can be chosen now, each as often as its weight. */
  private choices: readonly Member[] = [];

  constructor(id: number, maxSize: number) {
    this.id = id;
    this.maxSize = maxSize;
  }

  /** The member for a hash value; undefined if the group has none (then the table does nothing). */
  choose(hash: number | bigint): Member | undefined {
    const { choices } = this;
    if (choices.length === 0) return undefined;
    return typeof hash === "number"
      ? choices[hash % choices.length]
      : choices[Number(hash % BigInt(choices.length))];
  }

  setChoices(choices: readonly Member[]): void {
    this.choices = choices;
  }
}

/** An action profile, or with `hasSelector` an action selector: members and groups that tables point to. */
export class ActionProfile {
  readonly name: string;
  readonly id: number;
  /** Most members. */
  readonly capacity: number;
  readonly hasSelector: boolean;
  private readonly resolver: ActionResolver;
  private readonly memberMap = new Map<number, Member>();
  private readonly groupMap = new Map<number, Group>();
  private readonly portsDown = new Set<number>();

  constructor(name: string, id: number, capacity: number, hasSelector: boolean, resolver: ActionResolver) {
    this.name = name;
    this.id = id;
    this.capacity = capacity;
    this.hasSelector = hasSelector;
    this.resolver = resolver;
  }

  get members(): readonly Member[] {
    return [...this.memberMap.values()];
  }

  get groups(): readonly Group[] {
    return [...this.groupMap.values()];
  }

  private failure(code: SwitchRuntimeError["code"], problem: string): SwitchRuntimeError {
    return new SwitchRuntimeError(code, this.name, problem);
  }

  private fail(code: SwitchRuntimeError["code"], problem: string): never {
    throw this.failure(code, problem);
  }

  member(id: number): Member {
    return this.memberMap.get(id) ?? this.fail("NOT_FOUND", `there is no member ${id}`);
  }

  group(id: number): Group {
    return this.groupMap.get(id) ?? this.fail("NOT_FOUND", `there is no group ${id}`);
  }

  insertMember(id: number, call: ActionCall): Member {
    if (this.memberMap.has(id)) return this.fail("ALREADY_EXISTS", `member ${id} exists`);
    const resolved = this.resolver.resolve(call);
    if (this.memberMap.size >= this.capacity) {
      return this.fail("RESOURCE_EXHAUSTED", `all ${this.capacity} members are in use`);
    }
    const member: Member = { isGroup: false, id, call, ...resolved, entries: 0, groups: new Set() };
    this.memberMap.set(id, member);
    return member;
  }

  modifyMember(id: number, call: ActionCall): void {
    const member = this.member(id);
    Object.assign(member, { call, ...this.resolver.resolve(call) });
  }

  /** A member that a group or a table entry uses can't be deleted (FAILED_PRECONDITION). */
  deleteMember(id: number): void {
    const member = this.member(id);
    if (member.groups.size > 0) throw this.failure("FAILED_PRECONDITION", `member ${id} is in a group`);
    if (member.entries > 0)
      throw this.failure("FAILED_PRECONDITION", `member ${id} is used by a table entry`);
    this.memberMap.delete(id);
  }

  insertGroup(id: number, members: readonly GroupMember[], maxSize = 0): Group {
    if (!this.hasSelector)
      return this.fail("INVALID_ARGUMENT", "an action profile without selector has no groups");
    if (this.groupMap.has(id)) return this.fail("ALREADY_EXISTS", `group ${id} exists`);
    const group = new Group(id, maxSize);
    this.checkMembers(members, maxSize);
    this.groupMap.set(id, group);
    this.setMembers(group, members);
    return group;
  }

  modifyGroup(id: number, members: readonly GroupMember[]): void {
    const group = this.group(id);
    this.checkMembers(members, group.maxSize);
    this.setMembers(group, members);
  }

  deleteGroup(id: number): void {
    const group = this.group(id);
    if (group.entries > 0) throw this.failure("FAILED_PRECONDITION", `group ${id} is used by a table entry`);
    this.setMembers(group, []);
    this.groupMap.delete(id);
  }

  private checkMembers(members: readonly GroupMember[], maxSize: number): void {
    const ids = new Set<number>();
    let total = 0;
    for (const { member, weight } of members) {
      this.member(member);
      if (ids.has(member)) this.fail("INVALID_ARGUMENT", `member ${member} is given twice`);
      ids.add(member);
      if (!Number.isInteger(weight) || weight < 1) this.fail("INVALID_ARGUMENT", `${weight} is no weight`);
      total += weight;
    }
    if (maxSize > 0 && total > maxSize) {
      this.fail("RESOURCE_EXHAUSTED", `weights add up to ${total}, the group holds ${maxSize}`);
    }
  }

  private setMembers(group: Group, members: readonly GroupMember[]): void {
    for (const { member } of group.members) this.memberMap.get(member)?.groups.delete(group);
    group.members = members;
    for (const { member } of members) this.member(member).groups.add(group);
    this.updateChoices(group);
  }

  private updateChoices(group: Group): void {
    const choices: Member[] = [];
    for (const { member, weight, watchPort } of group.members) {
      if (watchPort !== undefined && this.portsDown.has(watchPort)) continue;
      for (let i = 0; i < weight; i++) choices.push(this.member(member));
    }
    group.setChoices(choices);
  }

  /** Tells the profile that a port went up or down: groups that watch it choose among the rest. */
  setPortUp(port: number, isUp: boolean): void {
    if (isUp) this.portsDown.delete(port);
    else this.portsDown.add(port);
    for (const group of this.groupMap.values()) this.updateChoices(group);
  }
}
