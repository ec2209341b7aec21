import type { Init } from "../../p4info/message/descriptor.ts";
import { Code } from "../../p4runtime/code.ts";
import type {
  ActionProfileActionSet,
  ActionProfileGroup,
  ActionProfileMember,
  Update_Type,
} from "../../p4runtime/proto/generated/p4runtime.ts";
import type { ActionProfileSchema, Schema, TableSchema } from "../../p4runtime/schema.ts";
import { actionMessage, type BoundAction, bindAction, targetAction } from "./action-spec.ts";
import { portOf } from "./port.ts";
import { invalidArgument, notFound, StatusError, unimplemented } from "./status.ts";
import type { GroupMember, TargetProgram } from "./target.ts";

/** Ids that the server gives to the members and groups of one-shot action sets; clients' ids have 32 bits. */
const FIRST_HIDDEN_ID = 2 ** 32;

interface Member {
  readonly action: BoundAction;
  /** Groups and entries that refer to it. */
  uses: number;
}

interface Group {
  readonly message: ActionProfileGroup;
  uses: number;
}

interface Profile {
  readonly schema: ActionProfileSchema;
  /** A table that the profile implements; all of them have the same actions. */
  readonly table: TableSchema;
  readonly members: Map<number, Member>;
  readonly groups: Map<number, Group>;
  /** Members of one-shot action sets. */
  hiddenMembers: number;
  nextHiddenId: number;
}

/** A one-shot action set that is installed. */
export interface OneShot {
  readonly groupId: number;
  readonly memberIds: readonly number[];
}

/**
 * Action profile members and groups (P4Runtime specification 9.2), and the one-shot action sets that are made of hidden ones. The target
 * is told only what is checked.
 */
export class ProfileStore {
  readonly #program: TargetProgram;
  readonly #hasPort: (port: number) => boolean;
  readonly #profiles = new Map<number, Profile>();

  constructor(schema: Schema, program: TargetProgram, hasPort: (port: number) => boolean) {
    this.#program = program;
    this.#hasPort = hasPort;
    for (const profile of schema.actionProfiles.all) {
      const table = schema.tables.all.find((candidate) => candidate.implementation?.id === profile.id);
      if (table === undefined) continue;
      this.#profiles.set(profile.id, {
        schema: profile,
        table,
        members: new Map(),
        groups: new Map(),
        hiddenMembers: 0,
        nextHiddenId: FIRST_HIDDEN_ID,
      });
    }
  }

  writeMember(type: Update_Type, message: ActionProfileMember): void {
    const profile = this.#profile(message.actionProfileId);
    const { memberId } = message;
    if (memberId === 0) throw invalidArgument(`${nameOf(profile)}: member id 0 is not valid`);
    const before = profile.members.get(memberId);
    if (type === "DELETE") {
      if (before === undefined) throw noMember(profile, memberId);
      if (before.uses > 0) throw inUse(`${nameOf(profile)}: member ${memberId} is in a group or an entry`);
      this.#program.setMember(profile.schema, memberId, undefined);
      profile.members.delete(memberId);
      return;
    }
    if (type === "INSERT" && before !== undefined)
      throw new StatusError(Code.ALREADY_EXISTS, `${nameOf(profile)}: member ${memberId} exists already`);
    if (type === "MODIFY" && before === undefined) throw noMember(profile, memberId);
    if (message.action === undefined) throw invalidArgument(`${nameOf(profile)}: a member needs an action`);
    const action = bindAction(profile.table, message.action, "entry");
    if (type === "INSERT") this.#checkRoom(profile, 1);
    this.#program.setMember(profile.schema, memberId, targetAction(action));
    profile.members.set(memberId, { action, uses: before?.uses ?? 0 });
  }

  writeGroup(type: Update_Type, message: ActionProfileGroup): void {
    const profile = this.#profile(message.actionProfileId);
    if (!profile.schema.withSelector)
      throw invalidArgument(`${nameOf(profile)} has no selector, so it has no groups`);
    const { groupId } = message;
    if (groupId === 0) throw invalidArgument(`${nameOf(profile)}: group id 0 is not valid`);
    const before = profile.groups.get(groupId);
    if (type === "DELETE") {
      if (before === undefined) throw noGroup(profile, groupId);
      if (before.uses > 0) throw inUse(`${nameOf(profile)}: group ${groupId} is in an entry`);
      this.#program.setGroup(profile.schema, groupId, undefined);
      this.#useMembers(profile, before.message, -1);
      profile.groups.delete(groupId);
      return;
    }
    if (type === "INSERT" && before !== undefined)
      throw new StatusError(Code.ALREADY_EXISTS, `${nameOf(profile)}: group ${groupId} exists already`);
    if (type === "MODIFY" && before === undefined) throw noGroup(profile, groupId);
    if (before !== undefined && before.message.maxSize !== message.maxSize)
      throw invalidArgument(`${nameOf(profile)}: the max_size of group ${groupId} cannot be changed`);
    const members = this.#checkGroup(profile, message);
    this.#program.setGroup(profile.schema, groupId, members);
    if (before !== undefined) this.#useMembers(profile, before.message, -1);
    this.#useMembers(profile, message, 1);
    profile.groups.set(groupId, { message, uses: before?.uses ?? 0 });
  }

  /** Members and groups of a profile, as messages that write them again. */
  entries(): { readonly members: Init<ActionProfileMember>[]; readonly groups: ActionProfileGroup[] } {
    const all = { actionProfileId: 0, memberId: 0, groupId: 0, members: [], maxSize: 0 };
    return { members: this.readMembers(all), groups: this.readGroups(all) };
  }

  readMembers(message: ActionProfileMember): Init<ActionProfileMember>[] {
    return this.#selected(message.actionProfileId).flatMap((profile) =>
      [...profile.members]
        .filter(([id]) => message.memberId === 0 || message.memberId === id)
        .map(([memberId, member]) => ({
          actionProfileId: profile.schema.id,
          memberId,
          action: actionMessage(member.action),
        })),
    );
  }

  readGroups(message: ActionProfileGroup): ActionProfileGroup[] {
    return this.#selected(message.actionProfileId).flatMap((profile) =>
      [...profile.groups.values()]
        .map((group) => group.message)
        .filter((group) => message.groupId === 0 || message.groupId === group.groupId),
    );
  }

  /** Count one more (`+1`) or less (`-1`) entry that refers to a member. @throws StatusError NOT_FOUND */
  useMember(table: TableSchema, memberId: number, by: 1 | -1): void {
    const profile = this.#profileOf(table);
    const member = profile.members.get(memberId);
    if (member === undefined) throw noMember(profile, memberId);
    member.uses += by;
  }

  /** Count one more or less entry that refers to a group. @throws StatusError NOT_FOUND */
  useGroup(table: TableSchema, groupId: number, by: 1 | -1): void {
    const profile = this.#profileOf(table);
    const group = profile.groups.get(groupId);
    if (group === undefined) throw noGroup(profile, groupId);
    group.uses += by;
  }

  /** Install the members and the group of a one-shot action set. @throws StatusError */
  installOneShot(table: TableSchema, message: ActionProfileActionSet): OneShot {
    const profile = this.#profileOf(table);
    if (message.groupAction !== undefined)
      throw unimplemented(`table ${table.name}: group actions of one-shot sets are not supported`);
    if (typeof message.actionSelectionMode === "number" || typeof message.sizeSemantics === "number")
      throw invalidArgument(
        `table ${table.name}: the selection mode or size semantics of the action set is unknown`,
      );
    if (message.actionSelectionMode === "RANDOM")
      throw unimplemented(`table ${table.name}: random selection in an action set is not supported`);
    const bound = message.actionProfileActions.map((member) => {
      if (member.action === undefined)
        throw invalidArgument(`table ${table.name}: a one-shot member needs an action`);
      return {
        action: bindAction(table, member.action, "entry"),
        weight: this.#checkWeight(profile, member.weight),
        watchPort: this.#watchPort(profile, member.watchKind),
      };
    });
    this.#checkSize(
      profile,
      bound.map((member) => member.weight),
      0,
    );
    this.#checkRoom(profile, bound.length);
    const groupId = profile.nextHiddenId++;
    const memberIds: number[] = [];
    const members: GroupMember[] = [];
    try {
      for (const { action, weight, watchPort } of bound) {
        const memberId = profile.nextHiddenId++;
        this.#program.setMember(profile.schema, memberId, targetAction(action));
        memberIds.push(memberId);
        members.push({ memberId, weight, watchPort });
      }
      this.#program.setGroup(profile.schema, groupId, members);
    } catch (error) {
      for (const memberId of memberIds) this.#program.setMember(profile.schema, memberId, undefined);
      throw error;
    }
    profile.hiddenMembers += members.length;
    return { groupId, memberIds };
  }

  removeOneShot(table: TableSchema, oneShot: OneShot): void {
    const profile = this.#profileOf(table);
    this.#program.setGroup(profile.schema, oneShot.groupId, undefined);
    for (const memberId of oneShot.memberIds) this.#program.setMember(profile.schema, memberId, undefined);
    profile.hiddenMembers -= oneShot.memberIds.length;
  }

  #profile(id: number): Profile {
    const profile = this.#profiles.get(id);
    if (profile === undefined)
      throw id === 0
        ? invalidArgument("the action profile has no id")
        : notFound(`there is no action profile with id 0x${id.toString(16)}`);
    return profile;
  }

  #profileOf(table: TableSchema): Profile {
    return this.#profile(table.implementation?.id ?? 0);
  }

  #selected(id: number): Profile[] {
    return id === 0 ? [...this.#profiles.values()] : [this.#profile(id)];
  }

  #checkRoom(profile: Profile, more: number): void {
    const used = profile.members.size + profile.hiddenMembers;
    if (profile.schema.size > 0 && used + more > profile.schema.size)
      throw new StatusError(
        Code.RESOURCE_EXHAUSTED,
        `${nameOf(profile)} is full: it has room for ${profile.schema.size} members and ${used} are in`,
      );
  }

  #checkGroup(profile: Profile, message: ActionProfileGroup): GroupMember[] {
    const { maxGroupSize } = profile.schema;
    if (
      message.maxSize < 0 ||
      (maxGroupSize > 0 && (message.maxSize === 0 || message.maxSize > maxGroupSize))
    )
      throw invalidArgument(
        `${nameOf(profile)}: max_size ${message.maxSize} is not from 1 to ${maxGroupSize}`,
      );
    const seen = new Set<number>();
    const members = message.members.map((member): GroupMember => {
      if (seen.has(member.memberId))
        throw invalidArgument(
          `${nameOf(profile)}: member ${member.memberId} is twice in group ${message.groupId}`,
        );
      seen.add(member.memberId);
      if (!profile.members.has(member.memberId)) throw noMember(profile, member.memberId);
      return {
        memberId: member.memberId,
        weight: this.#checkWeight(profile, member.weight),
        watchPort: this.#watchPort(profile, member.watchKind),
      };
    });
    this.#checkSize(
      profile,
      members.map((member) => member.weight),
      message.maxSize,
    );
    return members;
  }

  #checkWeight(profile: Profile, weight: number): number {
    if (profile.schema.weightsDisallowed) {
      if (weight !== 0) throw invalidArgument(`${nameOf(profile)}: weights are not allowed`);
      return 1;
    }
    if (weight <= 0) throw invalidArgument(`${nameOf(profile)}: a weight must be above 0, not ${weight}`);
    return weight;
  }

  #checkSize(profile: Profile, weights: readonly number[], maxSize: number): void {
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    const limit = maxSize > 0 ? maxSize : profile.schema.maxGroupSize;
    if (limit > 0 && total > limit)
      throw new StatusError(
        maxSize > 0 ? Code.RESOURCE_EXHAUSTED : Code.INVALID_ARGUMENT,
        `${nameOf(profile)}: the weights add up to ${total}, but the group holds ${limit}`,
      );
  }

  #watchPort(
    profile: Profile,
    watch: ActionProfileGroup["members"][number]["watchKind"],
  ): number | undefined {
    if (watch === undefined) return undefined;
    if (watch.case === "watch") {
      // The old integer form; 0 was its "no port".
      return watch.value === 0 ? undefined : watch.value;
    }
    if (watch.value.length === 0) return undefined;
    const port = portOf(watch.value);
    if (!this.#hasPort(port)) throw invalidArgument(`${nameOf(profile)}: there is no port ${port} to watch`);
    return port;
  }

  #useMembers(profile: Profile, group: ActionProfileGroup, by: 1 | -1): void {
    for (const { memberId } of group.members) {
      const member = profile.members.get(memberId);
      if (member !== undefined) member.uses += by;
    }
  }
}

function nameOf(profile: Profile): string {
  return `action profile ${profile.schema.name}`;
}

function noMember(profile: Profile, memberId: number): StatusError {
  return notFound(`${nameOf(profile)} has no member ${memberId}`);
}

function noGroup(profile: Profile, groupId: number): StatusError {
  return notFound(`${nameOf(profile)} has no group ${groupId}`);
}

function inUse(text: string): StatusError {
  return new StatusError(Code.FAILED_PRECONDITION, text);
}
