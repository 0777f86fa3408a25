// What events end, in the form in which followers learn it (ADR 175).
import { createHash } from 'node:crypto';
import type { AdministrableStorage, AuthorizationServer, ClientRecord, EventRecord } from '@grantd/core';

/** About whose tokens followers have to ask again. */
type Concern =
  | { readonly of: 'all' }
  | { readonly of: 'client'; readonly id: string }
  | { readonly of: 'subject'; readonly sub: string }
  /** The tokens of one client for one user, or for itself. */
  | { readonly of: 'grant'; readonly clientId: string; readonly sub: string };

/** Keys of one message. More are replaced by that of all tokens. */
export const MAX_KEYS = 10_000;

/** What followers have to ask about again after some events, and whose rights may have changed. */
export interface Endings {
  readonly keys: readonly string[];
  readonly changedClients: readonly string[];
}

/**
 * The key of a concern: 48 bits of a digest, in base64url. The holder of a token can compute its keys. No one can read names
 * of clients or users from them. Two concerns with one key do no harm: followers ask about both.
 */
export function keyOf(concern: Concern): string {
  const hash = createHash('sha256').update(textOf(concern)).digest('base64url');
  return hash.slice(0, 8);
}

function textOf(concern: Concern): string {
  switch (concern.of) {
    case 'all':
      return 'all';
    case 'client':
      return `client\n${concern.id}`;
    case 'subject':
      return `subject\n${concern.sub}`;
    case 'grant':
      return `grant\n${concern.clientId}\n${concern.sub}`;
  }
}

const EVERYTHING = [{ of: 'all' }] as const;

/** Translates events. Users are known to followers by what is in their tokens, which differs between pairwise clients. */
export class EndingReader {
  readonly #storage: Pick<AdministrableStorage, 'clients'>;
  readonly #server: Pick<AuthorizationServer, 'subjectIdentifier'>;
  /** Clients with pairwise subjects, until an event tells that a client has changed. */
  #pairwise: Promise<readonly ClientRecord[]> | undefined;

  constructor(
    storage: Pick<AdministrableStorage, 'clients'>,
    server: Pick<AuthorizationServer, 'subjectIdentifier'>,
  ) {
    this.#storage = storage;
    this.#server = server;
  }

  /** @throws {StorageFault} storage is unavailable */
  async read(events: readonly EventRecord[]): Promise<Endings> {
    const keys = new Set<string>();
    const changedClients = new Set<string>();
    for (const event of events) {
      if (event.type.startsWith('client_')) {
        changedClients.add(event.target);
        this.#pairwise = undefined;
      }
      for (const concern of await this.#concernsOf(event)) keys.add(keyOf(concern));
    }
    return {
      keys: keys.size > MAX_KEYS ? [keyOf({ of: 'all' })] : [...keys],
      changedClients: [...changedClients],
    };
  }

  async #concernsOf({ type, target, clientId, subject }: EventRecord): Promise<readonly Concern[]> {
    switch (type) {
      case 'token_revoked':
      case 'family_revoked':
      case 'code_revoked':
      case 'grant_revoked':
        return clientId === undefined ? EVERYTHING : this.#grant(clientId, subject);
      case 'session_revoked':
        return subject === undefined ? EVERYTHING : this.#subject(subject);
      case 'subject_revoked':
      case 'subject_disabled':
      case 'subject_enabled':
        return this.#subject(target);
      case 'client_revoked':
      case 'client_disabled':
      case 'client_enabled':
        return [{ of: 'client', id: target }];
      case 'issued_before_revoked':
        return EVERYTHING;
      default:
        return [];
    }
  }

  async #grant(clientId: string, subject = clientId): Promise<readonly Concern[]> {
    const grant: Concern = { of: 'grant', clientId, sub: subject };
    if (subject === clientId) return [grant];
    const client = await this.#storage.clients.get(clientId);
    // Of a client that is gone, nothing tells whether its subjects were pairwise.
    const sub = client ? await this.#subFor(client, subject) : undefined;
    if (sub === undefined) return [{ of: 'client', id: clientId }];
    // The client may have had public subjects when the token was issued.
    return sub === subject ? [grant] : [grant, { of: 'grant', clientId, sub }];
  }

  async #subject(subject: string): Promise<readonly Concern[]> {
    const concerns: Concern[] = [{ of: 'subject', sub: subject }];
    for (const client of await this.#pairwiseClients()) {
      const sub = await this.#subFor(client, subject);
      concerns.push(sub === undefined ? { of: 'client', id: client.id } : { of: 'subject', sub });
    }
    return concerns;
  }

  /** @returns `undefined` for a pairwise client that can have no tokens at present, because it or the server is misconfigured */
  async #subFor(client: ClientRecord, subject: string): Promise<string | undefined> {
    try {
      return await this.#server.subjectIdentifier(client, subject);
    } catch {
      return undefined; // nothing is read or fetched, so only the configuration can be wrong
    }
  }

  async #pairwiseClients(): Promise<readonly ClientRecord[]> {
    this.#pairwise ??= this.#listPairwise();
    try {
      return await this.#pairwise;
    } catch (error) {
      this.#pairwise = undefined;
      throw error;
    }
  }

  async #listPairwise(): Promise<readonly ClientRecord[]> {
    const clients = await this.#storage.clients.list();
    return clients.filter(({ metadata }) => metadata?.subject_type === 'pairwise');
  }
}
