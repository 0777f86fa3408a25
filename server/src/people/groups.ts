import { type AdministrableStorage, type ClientRecord, EXCHANGE_GRANT, JWT_BEARER_GRANT } from '@grantd/core';
import { admits, type Groups, type Membership } from '../data/groups.ts';
import type { People } from '../data/people.ts';
import { askStorage } from '../data/tables.ts';
import { MAX_TOKENS } from './acting.ts';

/** After this time, a process that has not finished ending a membership counts as dead. */
const MAX_END_MS = 30_000;

const BATCH_SIZE = 50;

type Client = Pick<ClientRecord, 'id' | 'metadata' | 'grantTypes'>;

interface Parts {
  readonly groups: Pick<Groups, 'beginEnd' | 'finishEnd' | 'halfEnded'>;
  readonly people: Pick<People, 'bySubject' | 'list'>;
  readonly storage: Pick<AdministrableStorage, 'clients' | 'tokens' | 'grantsOf' | 'revokeGrants'>;
  readonly clock?: () => number;
}

/**
 * Ends what users may no longer use. The change comes first, then the revocation: a token that is issued at the same
 * time either belongs to a grant that is revoked here, or its issuer sees the change. If a process dies in between,
 * another one finishes the end of a membership (ADR 82).
 */
export class AccessEnding {
  readonly #parts: Parts;
  readonly #clock: () => number;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#clock = parts.clock ?? Date.now;
  }

  /**
   * Ends a membership, and revokes the user’s tokens for clients that they may no longer use.
   * @param begin makes the write with which it ends, if that depends on something. The rest follows from it
   * @returns `undefined` if the user was not a member. Also then, it revokes what an earlier attempt has left.
   * @throws {StorageFault} the user is no longer a member; a server revokes the rest
   */
  async leaveGroup(
    membership: Membership,
    begin: <T>(work: () => Promise<T>) => Promise<T> = (work) => work(),
  ): Promise<EndedMembership | undefined> {
    const hasLeft = await begin(() => this.#parts.groups.beginEnd(membership, this.#clock()));
    const clientIds = await this.#finish(membership);
    return hasLeft || clientIds.length > 0 ? { clientIds } : undefined;
  }

  /** Finishes what dead processes began. @returns the memberships */
  async finishHalfEnded(): Promise<readonly Membership[]> {
    const half = await this.#parts.groups.halfEnded(this.#clock() - MAX_END_MS, BATCH_SIZE);
    for (const membership of half) await this.#finish(membership);
    return half;
  }

  /**
   * Revokes the tokens of all users who may not use a client, after its groups have changed.
   * @param onUsers receives the number of users looked at so far
   * @returns the number of users whose tokens were revoked
   */
  async leaveClient(client: Client, onUsers: (users: number) => void): Promise<number> {
    let [revoked, users] = [0, 0];
    for (let after: string | undefined = ''; after !== undefined; ) {
      const page = await this.#parts.people.list({ after, limit: USERS_PER_PAGE });
      const others = page.filter(({ groups }) => !admits(client, groups));
      for (let begin = 0; begin < others.length; begin += CONCURRENT_USERS) {
        const some = others.slice(begin, begin + CONCURRENT_USERS);
        const counts = await Promise.all(
          some.map(({ subject }) => this.#revoke(subject, client, NOT_ADMITTED)),
        );
        revoked += counts.filter((grants) => grants > 0).length;
      }
      users += page.length;
      onUsers(users);
      after = page.length < USERS_PER_PAGE ? undefined : page.at(-1)?.name;
    }
    return revoked;
  }

  async #finish(membership: Membership): Promise<readonly string[]> {
    const { subject, group } = membership;
    const clients = await askStorage(() => this.#parts.storage.clients.list());
    const person = await this.#parts.people.bySubject(subject);
    const lost = clients.filter(
      (client) => client.metadata?.allowed_groups?.includes(group) && !admits(client, person?.groups),
    );
    const ended: string[] = [];
    for (const client of lost)
      if ((await this.#revoke(subject, client, `${LEFT_GROUP}${group}`)) > 0) ended.push(client.id);
    await this.#parts.groups.finishEnd(membership);
    return ended;
  }

  /**
   * Reads first, because most users have no grant. A later grant is refused its tokens. A client that acts for users can be
   * about to obtain a token from that of any client, or have more of them than were looked at.
   * @returns what was revoked
   */
  async #revoke(subject: string, { id, grantTypes }: Client, reason: string): Promise<number> {
    const { storage } = this.#parts;
    const held = await Promise.all([
      askStorage(() => storage.grantsOf(subject)),
      askStorage(async () => storage.tokens.exchangedFor?.(subject, MAX_TOKENS) ?? []),
    ]);
    const acts = grantTypes.includes(EXCHANGE_GRANT) || grantTypes.includes(JWT_BEARER_GRANT);
    if (!held.flat().some(({ clientId }) => acts || clientId === id)) return 0;
    return askStorage(() => storage.revokeGrants(subject, id, reason));
  }
}

/** The reason of a grant’s end begins with it if the user left a group. The name of the group follows. */
export const LEFT_GROUP = 'left_group:';

/** The reason if the client no longer admits a group of the user. */
const NOT_ADMITTED = 'groups_changed';

const USERS_PER_PAGE = 1000;
const CONCURRENT_USERS = 8;

/** What ended with a membership. */
export interface EndedMembership {
  /** Clients whose tokens for the user were revoked. */
  readonly clientIds: readonly string[];
}
