import {
  type AdministrableStorage,
  type AuthorizationClient,
  type AuthorizationRequest,
  type ClientRecord,
  isConfidential,
  isUnchecked,
} from '@grantd/core';
import { type Asked, type Consent, type Consents, comparedWith, type Parties } from '../data/consents.ts';
import { askStorage } from '../data/tables.ts';

/** What a request wants a person to agree to. */
export function askedBy({ scopes, resources = [], claims = {}, client }: AuthorizationRequest): Asked {
  const names = [claims.userinfo, claims.id_token].flatMap((of) => Object.keys(of ?? {}));
  const asked = [...new Set(names)].filter((name) => !ABOUT_THE_SIGN_IN.has(name)).sort();
  return { scopes, resources, claims: asked, ...asItIs(client) };
}

/** Claims that say who signed in, and how: every ID token has them, or may have them. */
const ABOUT_THE_SIGN_IN: ReadonlySet<string> = new Set(['sub', 'acr', 'amr', 'auth_time', 'sid']);

/** Whether the operator has exempted the client. One that registered itself can be another one at its next change. */
export function isExempt(client: AuthorizationClient): boolean {
  return client.metadata?.consent_required === false && !isUnchecked(client);
}

/** Whether a consent is with the client as it is now. */
export function counts(consent: Consent, client: AuthorizationClient | undefined | null): boolean {
  return !!client && comparedWith(consent, asItIs(client)) === 0;
}

function asItIs({ generation = 0, registrationRevision = 0, registeredAt }: AuthorizationClient) {
  return {
    clientGeneration: generation,
    clientRevision: registeredAt === undefined ? 0 : registrationRevision,
  };
}

/**
 * Whether an answer at this redirect URI reaches nobody but the client, so that what was agreed with it before can be
 * taken for agreed again without asking (RFC 8252 §8.6, RFC 9700 §4.13). Any program on a person's machine can take a
 * scheme of its own, or listen on loopback, in the name of a public client. A client that is registered as a
 * `web` application on loopback is a page that somebody is developing.
 */
export function isReachedAlone(client: ClientRecord, redirectUri: string): boolean {
  const { protocol } = new URL(redirectUri);
  if (protocol === 'https:') return true;
  return isConfidential(client) || (protocol === 'http:' && client.metadata?.application_type === 'web');
}

/** After which whoever has begun a withdrawal is taken for dead. */
const LONGEST_WITHDRAWAL_MS = 30_000;

const MOST_AT_ONCE = 50;

/**
 * Ends what a person lets a client have: first the consent counts no more, then all that was granted is revoked, then
 * the consent goes. In this order nothing that is issued at the same time stays alive: it was issued before the
 * revocation, or sees afterwards that the consent is gone. What a process leaves half-done when it dies is finished by
 * the next one.
 */
export class ConsentWithdrawal {
  readonly #consents: Consents;
  readonly #storage: Pick<AdministrableStorage, 'revokeGrants'>;
  readonly #clock: () => number;

  constructor(parts: {
    readonly consents: Consents;
    readonly storage: Pick<AdministrableStorage, 'revokeGrants'>;
    readonly clock?: () => number;
  }) {
    this.#consents = parts.consents;
    this.#storage = parts.storage;
    this.#clock = parts.clock ?? Date.now;
  }

  /**
   * @returns how many grants were ended
   * @throws {StorageFault} the tokens may or may not be revoked
   */
  async withdraw(parties: Parties): Promise<number> {
    await this.#consents.beginWithdrawal(parties, this.#clock());
    return this.#finish(parties);
  }

  /** Finishes what others have begun, and never finished. @returns how many withdrawals those were */
  async finishHalfWithdrawn(): Promise<number> {
    const beforeMs = this.#clock() - LONGEST_WITHDRAWAL_MS;
    const half = await this.#consents.halfWithdrawn(beforeMs, MOST_AT_ONCE);
    for (const parties of half) await this.#finish(parties);
    return half.length;
  }

  async #finish(parties: Parties): Promise<number> {
    const { subject, clientId } = parties;
    const grants = await askStorage(() => this.#storage.revokeGrants(subject, clientId));
    await this.#consents.finishWithdrawal(parties);
    return grants;
  }
}
