// Looks up clients, and checks and stores their secrets.
import { hmacSha256, sha256 } from '#crypto';
import type { EndpointPaths } from '../http/endpoint_names.ts';
import {
  invalidRequest,
  type OAuthError,
  type OAuthErrorDetails,
  type ReasonCode,
  type RefusalReason,
  StorageFault,
} from '../http/errors.ts';
import type { ServerEvent } from '../http/events.ts';
import type { Form } from '../http/form.ts';
import { RecentlyUsed } from '../platform/cache.ts';
import { type Clock, defined, equalInConstantTime } from '../platform/environment.ts';
import type { Confirmation } from '../protocol/claims.ts';
import type { AssertionAlgorithm, ClientAlgorithm, FurtherGrants } from '../protocol/client_metadata.ts';
import { underProfile } from '../protocol/profile.ts';
import { isLiveSecret, MOST_LIVE_SECRETS } from '../protocol/record_rules.ts';
import type { Ancestor, ClientRecord, ClientSecretRecord, NewToken } from '../protocol/records.ts';
import type { Awaitable } from '../storage/contract.ts';
import { noBoolean } from '../storage/host_records.ts';
import type { ReadableStorage } from '../storage/host_storage.ts';
import type { ClientKeys } from '../tokens/client_keys.ts';
import type { FoundToken, TokenContext } from '../tokens/context.ts';
import type { ServerSecret } from '../tokens/server_secret.ts';
import type { CertificateReader } from './distinguished_name.ts';

/** Public URLs of each endpoint: below the issuer, and at the origin for client certificates if there is one. */
export type EndpointUrls = Readonly<Record<keyof EndpointPaths, readonly string[]>>;

/** Whether DPoP proofs may or must have a nonce of the server. */
export type DpopNonces = 'offered' | 'required';

/** Finds client assertions of issuers that the operator trusts. */
export interface ForeignAssertions {
  /** @returns `FoundCredentials`; `undefined` if the issuer of the assertion is the client itself */
  find(form: Form): object | undefined;
  /** For the token endpoint. */
  readonly grants: FurtherGrants;
  readonly acceptsIdentityAssertions: boolean;
  /** The session of everything that is obtained by JWTs about a subject of an issuer. */
  sessionOf(issuer: string, sub: string): Promise<string>;
  /** Identifier of the row of a JWT, which is not verified; `undefined` if it names no issuer for a grant. */
  rowOf(assertion: string): Promise<string | undefined>;
  /** The row that an unused JWT would leave, or why it is refused. @throws {DocumentError} its keys cannot be fetched at the moment */
  unusedRow(context: ClientContext, assertion: string): Promise<NewToken | UnfitJwt>;
  /**
   * Reads a JWT that a client wants to exchange. Policy is the same as for the grant.
   * @returns `undefined` if no trusted issuer for a grant is named
   * @throws {OAuthError} `invalid_grant`
   */
  subjectOf(
    context: ClientContext,
    client: ClientRecord,
    token: string,
    proven: Confirmation | undefined,
  ): Promise<ForeignSubject | undefined>;
}

/** Why a JWT is refused. */
export interface UnfitJwt {
  readonly reason: ReasonCode;
  /** Its issuer and subject, for logs. Absent unless its signature has verified. */
  readonly named?: string | undefined;
  readonly cause?: unknown;
}

/** A JWT of a trusted issuer, as the token that it stands for: its scopes and end are what policy allows. */
export interface ForeignSubject extends FoundToken {
  /** The JWT, as what is obtained from it names it. */
  readonly ancestor: Ancestor;
  /** APIs that it is for, if the request names none. */
  readonly resources: readonly string[] | undefined;
  /** @throws {OAuthError} `invalid_target`: what is obtained may not be for these APIs */
  requireFor(audience: string | readonly string[]): void;
  /** Stores the row of the JWT, from which something is obtained. @throws {OAuthError} `invalid_grant`: it has ended */
  keep(): Promise<void>;
}

/**
 * Decides whether a user may use a client.
 * @param amr how the user has signed in, as in the approval; empty without a sign-in, or one that says nothing of it
 * @returns `acr_unmet` if the user may, but not by this sign-in
 */
export type MayUseClient = (
  subject: string,
  client: AuthorizationClient,
  amr: readonly string[],
) => Awaitable<boolean | 'acr_unmet'>;

/** Adds a client that is known by its metadata document to the store, before something is issued to it. */
export interface KeptClients {
  /**
   * @param subject the user who approved it. Each user can add only some clients.
   * @returns the stored client
   * @throws {OAuthError} `temporarily_unavailable`: the limit is reached
   */
  keep(client: AuthorizationClient, subject: string): Promise<AuthorizationClient>;
}

/** What client authentication and authorization need. */
export interface ClientContext extends TokenContext {
  readonly clientKeys: ClientKeys;
  readonly clientSecrets: ClientSecrets;
  readonly clientSecretUses: ClientSecretUses;
  readonly paths: EndpointPaths;
  readonly endpointUrls: EndpointUrls;
  /** Algorithms with which clients may sign assertions. */
  readonly clientAssertionAlgorithms: readonly AssertionAlgorithm[];
  /** Maximum lifetime of assertions, in seconds. */
  readonly clientAssertionLifetime: number;
  /** Algorithms of DPoP proofs. Empty if DPoP is off. */
  readonly dpopAlgorithms: readonly ClientAlgorithm[];
  readonly dpopNonces: DpopNonces;
  /** Seconds for which a proof is accepted after its `iat`. */
  readonly dpopProofLifetime: number;
  /** Whether requests carry certificates, and what reads names in them. If not, those of a request do not count. */
  readonly clientCertificates: boolean | CertificateReader;
  /** `undefined` if the host trusts no issuers of JWTs. */
  readonly trustedIssuers: ForeignAssertions | undefined;
  /** Origin at which clients present certificates, if it is not the issuer’s (RFC 8705 §5). */
  readonly mtlsOrigin: string | undefined;
  /** Whether the host's `verifySecret` is also called for unknown clients. */
  readonly verifySecretForUnknownClients: boolean;
  /** `undefined` if the host restricts no client to some of its users. */
  readonly mayUseClient: MayUseClient | undefined;
  /** Authentication methods (`amr`) that the host can take from users. */
  readonly recheckedAmr: readonly string[];
  /** `undefined` if clients cannot identify themselves by a document. */
  readonly documents: KeptClients | undefined;
  readonly onEvent: (event: ServerEvent) => void;
}

/** A client's record without its credentials, and without its use, which is no part of its registration. */
export type AuthorizationClient = Omit<ClientRecord, 'secrets' | 'registrationTokenDigest' | 'usedUntil'>;

/** VSCHAR (RFC 6749 Appendix A.1). Identifiers with other characters do not exist and are not looked up. */
const CLIENT_ID = /^[\x20-\x7E]+$/;

/** Looks up a client by an identifier from a request. */
export function findNamedClient(
  { storage }: TokenContext,
  clientId: string,
): Awaitable<ClientRecord | undefined> {
  return CLIENT_ID.test(clientId) ? storage.clients.get(clientId) : undefined;
}

/**
 * Returns the client that a browser request names. It is not authenticated.
 * @throws {OAuthError} unknown or disabled client. The browser must not be redirected (RFC 6749 §4.1.2.1).
 */
export async function requireNamedClient(context: TokenContext, clientId: string): Promise<ClientRecord> {
  const client = await findNamedClient(context, clientId);
  if (!client) throw untrusted('the client is unknown', 'client_unknown', { value: clientId });
  if (client.disabledAtMs !== undefined)
    throw untrusted('the client is disabled', 'client_disabled', { clientId });
  return underProfile(context, client);
}

/** The most that `usedUntil` is ahead of the use, so that each client costs at most one write a day. */
const USE_AHEAD = 24 * 60 * 60;

/**
 * Notes that a client is in use, so that its registration is not removed as unused. Only of clients that registered
 * themselves (ADR 42).
 * @param until seconds since 1970
 * @throws {StorageFault} storage is unavailable
 */
export async function noteUse({ storage }: TokenContext, client: ClientRecord, until: number): Promise<void> {
  const { id, registeredAt, usedUntil = registeredAt } = client;
  if (usedUntil === undefined || registeredAt === undefined || usedUntil >= until) return;
  await storage.clients.noteUse?.(id, until + USE_AHEAD);
}

export function withoutSecrets(client: ClientRecord): AuthorizationClient {
  const { secrets: _, registrationTokenDigest: __, usedUntil: ___, ...known } = client;
  return known;
}

/**
 * Makes an error that is shown on this server. The browser must not go to an unregistered URI (RFC 6749 §3.1.2.4), and
 * after a failed logout not to any client (RP-Initiated Logout §4).
 */
export function untrusted(
  description: string,
  reason: RefusalReason,
  about: Pick<OAuthErrorDetails, 'clientId' | 'value'> = {},
): OAuthError {
  return invalidRequest(description, reason, about);
}

/**
 * Marks a one-time identifier as used (ADR 117).
 * @param expiresAt seconds since 1970 until which it is remembered
 * @returns `false` if it was used before
 * @throws {StorageFault} storage is unavailable
 */
export async function takeOnce(
  { storage }: Pick<TokenContext, 'storage'>,
  id: string,
  expiresAt: number,
): Promise<boolean> {
  if (storage.oneTimeIdentifiers === undefined)
    throw new TypeError('one-time identifiers need storage.oneTimeIdentifiers');
  const isTaken: unknown = await storage.oneTimeIdentifiers.take(id, expiresAt);
  if (typeof isTaken === 'boolean') return isTaken;
  throw new StorageFault(noBoolean('storage.oneTimeIdentifiers.take', isTaken));
}

/** Replaces the hash of a client that does not exist. It has the length of a hash, but never equals one. */
const NO_HASH = '-'.repeat(42).concat('~');

/** About 200 bytes each. Only registered secrets match, so their number does not grow with traffic. */
const MAX_MATCHED = 20_000;

/** A candidate that matched one of the client's secrets. */
interface SecretMatch {
  /** Position of the candidate in the list. */
  readonly index: number;
  readonly candidate: string;
  readonly secret: ClientSecretRecord;
  /** Whether the hash was made with the newest server secret. */
  readonly isCurrent: boolean;
  readonly usedAtMs: number;
}

/** Sealed like a client secret, so that clients that do not exist cost as much. No client has it. */
const STAND_IN_SECRET = '-'.repeat(64);

/**
 * Hashes and checks client secrets. Hashes are HMAC-SHA-256 (base64url) under a key derived from the server's secret.
 * Secrets of clients that sign assertions with them are also sealed.
 */
export class ClientSecrets {
  readonly #secret: ServerSecret;
  readonly #clock: Clock;
  #standIn: Promise<ClientSecretRecord> | undefined;
  /** Fingerprint of the newest server secret. */
  #fingerprint: string | undefined;
  /** Matched hashes by digest of the secret. Whether the secret is still live has to be checked each time. */
  readonly #matched = new RecentlyUsed<string>(MAX_MATCHED);

  constructor(secret: ServerSecret, clock: Clock) {
    this.#secret = secret;
    this.#clock = clock;
  }

  forgetCached(): void {
    this.#matched.clear();
  }

  /**
   * Returns the record of a new secret.
   * @param isSealed whether the server must be able to read it
   */
  async hash(clientSecret: string, isSealed = false): Promise<ClientSecretRecord> {
    const [serverSecret] = await this.#secret.fingerprints();
    const hash = await hmacSha256(await this.#secret.key('client_secret'), clientSecret);
    const sealed = isSealed ? await this.#secret.seal('client_secret_seal', hash, clientSecret) : undefined;
    return {
      hash,
      ...defined({ sealed, serverSecret }),
      createdAtMs: this.#clock(),
    };
  }

  /**
   * Returns the first candidate that is a live secret. Without a match it takes the same time whether the client has
   * two secrets, one or none.
   */
  async match(
    candidates: readonly string[],
    stored: readonly ClientSecretRecord[] = [],
  ): Promise<SecretMatch | undefined> {
    const nowMs = this.#clock();
    this.#fingerprint ??= (await this.#secret.fingerprints())[0];
    for (const [index, candidate] of candidates.entries()) {
      const digest = await sha256(candidate);
      const secret =
        this.#remembered(digest, stored, nowMs) ?? (await this.#matching(candidate, digest, stored, nowMs));
      if (secret === undefined) continue;
      const isCurrent = secret.serverSecret === this.#fingerprint;
      return { index, candidate, secret, isCurrent, usedAtMs: nowMs };
    }
    return undefined;
  }

  /**
   * Returns the first live secret that fits, by its text. Opens and tries as many secrets whether the client has two,
   * one or none.
   */
  async matchSealed(
    stored: readonly ClientSecretRecord[] = [],
    fits: (secret: string) => Promise<boolean>,
  ): Promise<SecretMatch | undefined> {
    const nowMs = this.#clock();
    this.#standIn ??= this.hash(STAND_IN_SECRET, true);
    const [fingerprint] = await this.#secret.fingerprints();
    const live = stored.filter((secret) => isLiveSecret(secret, nowMs) && secret.sealed !== undefined);
    let match: SecretMatch | undefined;
    for (let index = 0; index < Math.max(MOST_LIVE_SECRETS, live.length); index++) {
      const { hash, sealed = '' } = live[index] ?? (await this.#standIn);
      const { text } = (await this.#secret.unseal('client_secret_seal', hash, sealed)) ?? {};
      const isFitting = await fits(text ?? STAND_IN_SECRET);
      const secret = live[index];
      if (!isFitting || text === undefined || secret === undefined) continue;
      const isCurrent = secret.serverSecret === fingerprint;
      match ??= { index: 0, candidate: text, secret, isCurrent, usedAtMs: nowMs };
    }
    return match;
  }

  /** Avoids the HMAC for secrets that have matched before. */
  #remembered(
    digest: string,
    stored: readonly ClientSecretRecord[],
    nowMs: number,
  ): ClientSecretRecord | undefined {
    const matched = this.#matched.get(digest);
    if (matched === undefined) return undefined;
    for (const secret of stored)
      if (equalInConstantTime(matched, secret.hash) && isLiveSecret(secret, nowMs)) return secret;
    return undefined;
  }

  async #matching(
    candidate: string,
    digest: string,
    stored: readonly ClientSecretRecord[],
    nowMs: number,
  ): Promise<ClientSecretRecord | undefined> {
    const live = stored.filter((secret) => isLiveSecret(secret, nowMs));
    const compared = Math.max(MOST_LIVE_SECRETS, live.length);
    for (const key of await this.#secret.keys('client_secret')) {
      const hash = await hmacSha256(key, candidate);
      let match: ClientSecretRecord | undefined;
      for (let index = 0; index < compared; index++)
        if (equalInConstantTime(hash, live[index]?.hash ?? NO_HASH)) match ??= live[index];
      if (match === undefined) continue;
      this.#matched.set(digest, hash);
      return match;
    }
    return undefined;
  }
}

/** Milliseconds for which a recorded use counts as recent. Each secret causes at most one write in this time. */
const WRITE_INTERVAL_MS = 60 * 60 * 1000;

/** A shorter interval for hashes under an old secret. Processes may disagree about the newest secret for a while. */
const REHASH_INTERVAL_MS = 60_000;

/** Maximum uses that wait to be written. Further ones are dropped, and recorded at the next authentication. */
const MAX_WAITING = 1000;

/** Delay in milliseconds, so that the response goes out first. */
const WRITE_DELAY_MS = 250;

/**
 * Pause in milliseconds after an outage. After this time, a timer that has not fired counts as lost with its isolate.
 */
const PAUSE_MS = 60_000;

/** Retries, because the client can change between lookup and write. */
const MAX_ATTEMPTS = 3;

/** A use of a secret to be written. */
interface Use {
  readonly clientId: string;
  readonly hash: string;
  readonly usedAtMs: number;
  /** The secret hashed under the newest server secret, if it was under another one. */
  readonly rehashed: Promise<ClientSecretRecord> | undefined;
}

/**
 * Writes the last use of client secrets, and hashes under a new server secret. It works in the background, so requests
 * neither wait for it nor fail by it. Each secret is written at most once an hour, or when its hash changes.
 */
export class ClientSecretUses {
  readonly #clients: ReadableStorage['clients'];
  readonly #secrets: ClientSecrets;
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Use>();
  #writing: Promise<void> | undefined;
  #timerSetAtMs = Number.NEGATIVE_INFINITY;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(clients: ReadableStorage['clients'], secrets: ClientSecrets, clock: Clock) {
    this.#clients = clients;
    this.#secrets = secrets;
    this.#clock = clock;
  }

  /**
   * Records a use. Cheap if there is nothing to write.
   * @returns milliseconds since 1970 until which the secret is live and further uses are not recorded; `undefined` if this one is
   */
  note(clientId: string, { candidate, secret, isCurrent, usedAtMs }: SecretMatch): number | undefined {
    const untilMs = recentUntilMs(secret, isCurrent);
    if (usedAtMs < untilMs) return Math.min(untilMs, (secret.expiresAt ?? Number.POSITIVE_INFINITY) * 1000);
    if (this.#clients.replaceSecrets === undefined || usedAtMs < this.#pausedUntilMs) return undefined;
    const { hash } = secret;
    const key = `${clientId} ${hash}`;
    if (this.#waiting.size >= MAX_WAITING || this.#waiting.has(key)) return undefined;
    const rehashed = isCurrent ? undefined : this.#secrets.hash(candidate, secret.sealed !== undefined);
    this.#waiting.set(key, { clientId, hash, usedAtMs, rehashed });
    if (usedAtMs - this.#timerSetAtMs < PAUSE_MS) return undefined;
    this.#timerSetAtMs = usedAtMs;
    setTimeout(() => {
      this.#timerSetAtMs = Number.NEGATIVE_INFINITY;
      this.flush().catch((error: unknown) => console.error('client secret uses could not be written', error));
    }, WRITE_DELAY_MS);
    return undefined;
  }

  /**
   * Writes pending uses. Later callers wait for a write that is under way: it includes what was recorded since it began.
   * A storage fault drops the uses, and the next authentication records them again.
   */
  async flush(): Promise<void> {
    if (this.#waiting.size > 0) this.#writing ??= this.#writeAll();
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    try {
      for (const [key, use] of this.#waiting) {
        this.#waiting.delete(key);
        await this.#write(use);
      }
    } catch (error) {
      if (!(error instanceof StorageFault)) throw error;
      this.#pausedUntilMs = this.#clock() + PAUSE_MS;
      this.#waiting.clear();
    } finally {
      this.#writing = undefined;
    }
  }

  /** Compare-and-set: replaces a hash only if storage still has the same one. */
  async #write({ clientId, hash, usedAtMs, rehashed }: Use): Promise<void> {
    const underNewSecret = await rehashed;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const client = await this.#clients.get(clientId);
      const secret = client?.secrets?.find((secret) => secret.hash === hash);
      if (client?.secrets === undefined || secret === undefined) return;
      if (usedAtMs < recentUntilMs(secret, underNewSecret === undefined)) return;
      const replacement = {
        ...secret,
        ...(underNewSecret && withoutTime(underNewSecret)),
        lastUsedAtMs: usedAtMs,
      };
      const secrets = client.secrets.map((item) => (item === secret ? replacement : item));
      if (await this.#clients.replaceSecrets?.(clientId, secrets, client)) return;
    }
  }
}

function withoutTime({ createdAtMs: _, ...secret }: ClientSecretRecord): ClientSecretRecord {
  return secret;
}

/** Milliseconds since 1970 until which the last use that was written is recent. */
function recentUntilMs({ lastUsedAtMs = Number.NEGATIVE_INFINITY }: ClientSecretRecord, isCurrent: boolean) {
  return lastUsedAtMs + (isCurrent ? WRITE_INTERVAL_MS : REHASH_INTERVAL_MS);
}

/**
 * Whether no operator has added the client: it registered itself or has a document, so that only its own word says who it
 * is. After an error or a logout, the
 * browser must not go to it without a question, or the server would redirect users to any site (RFC 9700 §4.11.2).
 * See ADR 19.
 */
export function isUnchecked({ registeredAt }: Pick<ClientRecord, 'registeredAt'>): boolean {
  return registeredAt !== undefined;
}
