// The group of administrators, in which a member who can sign in always stays.
import type { AdministrableStorage } from '@grantd/core';
import { isNoMember, stays, staysOut, under, unlessBroken, type WriteCondition } from '../data/conditions.ts';
import type { People, Person } from '../data/people.ts';
import { askStorage } from '../data/tables.ts';
import type { UpstreamIdentities } from '../data/upstream_identities.ts';
import type { OpenWays, WaysToSignIn } from '../data/ways_to_sign_in.ts';
import type { AccessEnding, EndedMembership } from './groups.ts';
import { waysOf } from './ways_to_sign_in.ts';

interface Parts {
  readonly issuer: string;
  readonly group: string;
  readonly people: Pick<People, 'bySubject' | 'hasWay' | 'list'>;
  readonly storage: Pick<AdministrableStorage, 'disabledSubjects'>;
  readonly upstreamIdentities: Pick<UpstreamIdentities, 'ofSubject'>;
  readonly openWays: () => OpenWays;
}

/** An administrator with the ways to sign in that count. The administrator has one of them. */
interface Remaining {
  readonly subject: string;
  readonly ways: WaysToSignIn;
}

/** A change would have left no administrator who can sign in. */
export class NoAdministratorLeft extends Error {
  override readonly name = 'NoAdministratorLeft';
}

// ADR 165, ADR 170
export class Administrators {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Whether some administrator can sign in. */
  async canSignIn(): Promise<boolean> {
    return (await this.#remaining()) !== undefined;
  }

  /** Those of the users who are not disabled and have a way to sign in that the configuration opens. */
  async *whoSignIn(users: readonly Person[]): AsyncGenerator<Remaining> {
    const { people, storage, upstreamIdentities, openWays } = this.#parts;
    const disabled = await askStorage(() => storage.disabledSubjects(users.map(({ subject }) => subject)));
    for (const user of users) {
      const { subject } = user;
      if (disabled.has(subject)) continue;
      const ways = await waysOf(openWays(), upstreamIdentities, user);
      if (await people.hasWay(subject, ways)) yield { subject, ways };
    }
  }

  /**
   * Ends the membership of an administrator while another one who can sign in stays, also if two leave at the same time.
   * @param by subject of the administrator who ends it, and must still be one
   * @throws {NoAdministratorLeft} nothing has ended
   * @returns `undefined` if the user was no administrator; `actor_lost_right` if `by` is none
   */
  async leave(
    access: AccessEnding,
    { subject }: Pick<Person, 'subject'>,
    by?: string,
  ): Promise<EndedMembership | 'actor_lost_right' | undefined> {
    const { issuer, group } = this.#parts;
    for (;;) {
      if (by !== undefined && !(await this.#has(by))) return 'actor_lost_right';
      if (!(await this.#has(subject))) return undefined;
      const remaining = await this.#remaining(subject);
      if (remaining === undefined) throw new NoAdministratorLeft();
      const ended = await unlessBroken(() =>
        access.leaveGroup({ subject, group }, (work) => under(stays(issuer, group, remaining, by), work)),
      );
      if (ended !== 'broken') return ended;
    }
  }

  /**
   * Makes a change that takes a user altogether, such as their removal. An administrator leaves first.
   * @param work one write
   * @throws {NoAdministratorLeft} nothing was changed
   */
  async take<T>(access: AccessEnding, user: Pick<Person, 'subject'>, work: () => Promise<T>): Promise<T> {
    const { issuer, group } = this.#parts;
    for (;;) {
      await this.leave(access, user);
      // The user may have joined again meanwhile.
      const outcome = await unlessBroken(() => under(isNoMember(issuer, user.subject, group), work));
      if (outcome !== 'broken') return outcome;
    }
  }

  /**
   * Makes a change that may take ways to sign in from a user, while an administrator who can sign in stays.
   * @param after changes the ways that count to those that count afterwards
   * @param work one write
   * @throws {NoAdministratorLeft} nothing was changed
   */
  async keepOne<T>(
    user: Person,
    after: (ways: WaysToSignIn) => WaysToSignIn,
    work: () => Promise<T>,
  ): Promise<T> {
    for (;;) {
      const condition = await this.#conditionOf(user, after);
      const outcome = await unlessBroken(() => under(condition, work));
      if (outcome !== 'broken') return outcome;
    }
  }

  /** The condition for the change of `keepOne`. @throws {NoAdministratorLeft} the change would leave none */
  async #conditionOf(user: Person, after: (ways: WaysToSignIn) => WaysToSignIn): Promise<WriteCondition> {
    const { issuer, group, people, upstreamIdentities, openWays } = this.#parts;
    const { subject } = user;
    if (!(await this.#has(subject))) return isNoMember(issuer, subject, group);
    const ways = await waysOf(openWays(), upstreamIdentities, user);
    // From a user who cannot sign in, nothing can be taken.
    if ((await this.whoSignIn([user]).next()).done === true)
      return staysOut(issuer, group, { subject, ways });
    const own = { subject, ways: after(ways) };
    const remaining = (await people.hasWay(subject, own.ways)) ? own : await this.#remaining(subject);
    if (remaining === undefined) throw new NoAdministratorLeft();
    return stays(issuer, group, remaining);
  }

  /** An administrator who can sign in. @param except subject of the user who does not count */
  async #remaining(except?: string): Promise<Remaining | undefined> {
    const members = await this.#parts.people.list({ group: this.#parts.group });
    const others = members.filter(({ subject }) => subject !== except);
    return (await this.whoSignIn(others).next()).value;
  }

  async #has(subject: string): Promise<boolean> {
    const { people, group } = this.#parts;
    return (await people.bySubject(subject))?.groups?.includes(group) === true;
  }
}
