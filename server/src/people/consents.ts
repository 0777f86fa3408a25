import {
  type AccessRequest,
  type AdministrableStorage,
  type AuthorizationClient,
  type ClientRecord,
  isConfidential,
  isUnchecked,
} from '@grantd/core';
import { type Asked, type Consent, type Consents, compareClients, type Parties } from '../data/consents.ts';
import { askStorage } from '../data/tables.ts';

/** What a request asks the user to consent to (ADR 25, ADR 36). */
export function requiredConsent({
  scopes,
  resources = [],
  claims = {},
  authorizationDetails = [],
  client,
}: AccessRequest): Asked {
  const names = [claims.userinfo, claims.id_token].flatMap((of) => Object.keys(of ?? {}));
  // Without the language, which is a text of the client and makes no other claim (OpenID Connect Core §5.2).
  const bases = new Set(names.map((name) => name.replace(/#.*$/s, '')));
  const requested = [...bases].filter((name) => !ABOUT_THE_SIGN_IN.has(name)).sort();
  const details = authorizationDetails.map((detail) => JSON.stringify(detail));
  return { scopes, resources, claims: requested, details, ...currentState(client) };
}

/** Claims about the sign-in itself, which every ID token may contain. */
const ABOUT_THE_SIGN_IN: ReadonlySet<string> = new Set(['sub', 'acr', 'amr', 'auth_time', 'sid']);

/**
 * Whether the operator has exempted the client. A self-registered client is never exempt, because it can change itself.
 */
export function isExempt(client: AuthorizationClient): boolean {
  return client.metadata?.consent_required === false && !isUnchecked(client);
}

/** Whether a consent is for the client in its present state. */
export function counts(consent: Consent, client: AuthorizationClient | undefined | null): boolean {
  return !!client && compareClients(consent, currentState(client)) === 0;
}

function currentState(client: AuthorizationClient) {
  const { generation = 0, registrationRevision = 0 } = client;
  return {
    clientGeneration: generation,
    clientRevision: isUnchecked(client) ? registrationRevision : 0,
  };
}

/**
 * Whether only the client can receive responses at this redirect URI, so that an earlier consent may be reused without
 * asking (RFC 8252 §8.6, RFC 9700 §4.13). Any program on the user’s machine can claim a custom scheme or a loopback
 * port of a public client. A `web` application on loopback is a page in development.
 */
export function isReachedAlone(client: ClientRecord, redirectUri: string): boolean {
  const { protocol } = new URL(redirectUri);
  if (protocol === 'https:') return true;
  return isConfidential(client) || (protocol === 'http:' && client.metadata?.application_type === 'web');
}

/** After this time, a process that has not finished its withdrawal counts as dead. */
const MAX_WITHDRAWAL_MS = 30_000;

const BATCH_SIZE = 50;

/**
 * Withdraws a user’s consent: invalidates it, revokes all grants, then deletes it. This order leaves no concurrently
 * issued token alive: it is either issued before the revocation, or its issuer sees that the consent is gone. If a
 * process dies midway, another one finishes.
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
   * @returns the number of revoked grants
   * @throws {StorageFault} the tokens may or may not be revoked
   */
  async withdraw(parties: Parties): Promise<number> {
    await this.#consents.beginWithdrawal(parties, this.#clock());
    return this.#finish(parties);
  }

  /** Finishes withdrawals of dead processes. @returns the number of withdrawals */
  async finishHalfWithdrawn(): Promise<number> {
    const beforeMs = this.#clock() - MAX_WITHDRAWAL_MS;
    const half = await this.#consents.halfWithdrawn(beforeMs, BATCH_SIZE);
    for (const parties of half) await this.#finish(parties);
    return half.length;
  }

  async #finish(parties: Parties): Promise<number> {
    const { subject, clientId } = parties;
    const grants = await askStorage(() => this.#storage.revokeGrants(subject, clientId, 'consent_withdrawn'));
    await this.#consents.finishWithdrawal(parties);
    return grants;
  }
}
