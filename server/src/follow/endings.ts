// What events end, in the form in which followers learn it (ADR 175).
import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import {
  type AdministrableStorage,
  type AuthorizationServer,
  type ClientRecord,
  type EndingConcern,
  type EventRecord,
  endingKey,
  endingText,
  type ServerSecret,
} from '@grantd/core';

/** Keys of one message. More are replaced by that of all tokens. */
export const MAX_KEYS = 10_000;

/** What followers have to ask about again after some events, and whose rights may have changed. */
export interface Endings {
  readonly keys: readonly string[];
  readonly changedClients: readonly string[];
}

/**
 * The key that the holder of a token computes: 48 bits. No one can read names of clients or users from it. Two concerns
 * with one key do no harm: followers ask about both.
 */
export function keyOf(concern: EndingConcern): string {
  return keyWith(createHash('sha256'), concern);
}

function keyWith(hash: Hash | Hmac, concern: EndingConcern): string {
  return endingKey(hash.update(endingText(concern)).digest('base64url'));
}

const EVERYTHING = [['all']] as const;

/** Translates events. Users are known to followers by what is in their tokens, which differs between pairwise clients. */
export class EndingReader {
  readonly #storage: Pick<AdministrableStorage, 'clients'>;
  readonly #server: Pick<AuthorizationServer, 'subjectIdentifier'>;
  readonly #secret: Pick<ServerSecret<'ending_key'>, 'keys'>;
  /** Clients with pairwise subjects, until an event tells that a client has changed. */
  #pairwise: Promise<readonly ClientRecord[]> | undefined;

  constructor(
    storage: Pick<AdministrableStorage, 'clients'>,
    server: Pick<AuthorizationServer, 'subjectIdentifier'>,
    secret: Pick<ServerSecret<'ending_key'>, 'keys'>,
  ) {
    this.#storage = storage;
    this.#server = server;
    this.#secret = secret;
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
      for (const concern of await this.#concernsOf(event))
        for (const key of await this.#keysOf(concern)) keys.add(key);
    }
    return {
      keys: keys.size > MAX_KEYS ? await this.#keysOf(['all']) : [...keys].sort(),
      changedClients: [...changedClients],
    };
  }

  /** With those of tokens that were obtained by an exchange, one for each secret of the server. */
  async #keysOf(concern: EndingConcern): Promise<readonly string[]> {
    const secrets = await this.#secret.keys('ending_key');
    return [keyOf(concern), ...secrets.map((key) => keyWith(createHmac('sha256', key), concern))];
  }

  async #concernsOf({ type, target, clientId, subject }: EventRecord): Promise<readonly EndingConcern[]> {
    switch (type) {
      case 'token_revoked':
      case 'family_revoked':
      case 'exchanges_revoked':
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
        return [['client', target]];
      case 'issued_before_revoked':
        return EVERYTHING;
      default:
        return [];
    }
  }

  async #grant(clientId: string, subject = clientId): Promise<readonly EndingConcern[]> {
    const grant: EndingConcern = ['grant', clientId, subject];
    if (subject === clientId) return [grant];
    const client = await this.#storage.clients.get(clientId);
    // Of a client that is gone, nothing tells whether its subjects were pairwise.
    const sub = client ? await this.#subFor(client, subject) : undefined;
    if (sub === undefined) return [['client', clientId]];
    // The client may have had public subjects when the token was issued.
    return sub === subject ? [grant] : [grant, ['grant', clientId, sub]];
  }

  async #subject(subject: string): Promise<readonly EndingConcern[]> {
    const concerns: EndingConcern[] = [['subject', subject]];
    for (const client of await this.#pairwiseClients()) {
      const sub = await this.#subFor(client, subject);
      concerns.push(sub === undefined ? ['client', client.id] : ['subject', sub]);
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
