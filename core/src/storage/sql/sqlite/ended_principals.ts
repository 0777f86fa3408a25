import type { Principal, TokenRecord } from '../../../protocol/records.ts';

/** Principals whose tokens have ended, or stand otherwise than before, and the last event that tells so. */
export class EndedPrincipals {
  readonly #events: Readonly<Record<Principal, Map<string, number>>> = {
    client: new Map(),
    subject: new Map(),
    session: new Map(),
    grant: new Map(),
  };

  get size(): number {
    const { client, subject, session, grant } = this.#events;
    return client.size + subject.size + session.size + grant.size;
  }

  /** @param event its number */
  add(principal: Principal, id: string, event: number): void {
    this.#events[principal].set(id, event);
  }

  clear(): void {
    for (const ended of Object.values(this.#events)) ended.clear();
  }

  /** Whether a token depends on one of which an event tells that came after this one. */
  hasEndedSince(event: number, { clientId, subject, sessionId, grantId }: TokenRecord): boolean {
    return (
      this.#lastOf('client', clientId) > event ||
      this.#lastOf('subject', subject) > event ||
      this.#lastOf('session', sessionId) > event ||
      this.#lastOf('grant', grantId) > event
    );
  }

  /** @returns 0 where there was none */
  #lastOf(principal: Principal, id: string | undefined): number {
    const ended = this.#events[principal];
    // Without the look-up where there is nothing to be found: it costs more than all the rest here.
    if (id === undefined || ended.size === 0) return 0;
    return ended.get(id) ?? 0;
  }
}
