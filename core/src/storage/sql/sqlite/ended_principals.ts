import type { Principal, TokenRecord } from '../../../protocol/records.ts';

/** Principals whose tokens have ended, or stand otherwise than before, and what was read of these since. */
export class EndedPrincipals {
  readonly #readSince: Readonly<Record<Principal, Map<string, WeakSet<TokenRecord>>>> = {
    client: new Map(),
    subject: new Map(),
    session: new Map(),
    grant: new Map(),
  };

  get size(): number {
    const { client, subject, session, grant } = this.#readSince;
    return client.size + subject.size + session.size + grant.size;
  }

  add(principal: Principal, id: string): void {
    this.#readSince[principal].set(id, new WeakSet());
  }

  clear(): void {
    for (const ended of Object.values(this.#readSince)) ended.clear();
  }

  /** Takes note that a token has just been read. */
  noteRead(token: TokenRecord): void {
    for (const readSince of this.#readSinceEndsOf(token)) readSince?.add(token);
  }

  /** Whether one of a token's principals has ended since it was read. */
  concern(token: TokenRecord): boolean {
    return this.#readSinceEndsOf(token).some((readSince) => readSince?.has(token) === false);
  }

  #readSinceEndsOf({ clientId, subject, sessionId, grantId }: TokenRecord) {
    const ended = this.#readSince;
    return [
      ended.client.get(clientId),
      subject === undefined ? undefined : ended.subject.get(subject),
      sessionId === undefined ? undefined : ended.session.get(sessionId),
      grantId === undefined ? undefined : ended.grant.get(grantId),
    ];
  }
}
