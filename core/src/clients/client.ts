import { hmacSha256, sha256 } from '#crypto';
import { RecentlyUsed, TextTable } from '../cache.ts';
import { type Clock, equalInConstantTime } from '../environment.ts';
import { OAuthError, type OAuthErrorDetails, type RefusalReason, StorageFault } from '../http/errors.ts';
import type { ServerEvent } from '../http/events.ts';
import {
  type ClientRecord,
  type ClientSecretRecord,
  isLiveSecret,
  MOST_LIVE_SECRETS,
} from '../protocol/records.ts';
import type { Awaitable } from '../storage/contract.ts';
import type { ReadableStorage } from '../storage/host_storage.ts';
import type { ClientKeys } from '../tokens/client_keys.ts';
import type { TokenContext } from '../tokens/context.ts';
import type { ServerSecret } from '../tokens/server_secret.ts';

/** Paths below the issuer, each with a leading slash. */
export interface EndpointPaths {
  readonly token: string;
  readonly introspection: string;
  readonly revocation: string;
  readonly userInfo: string;
  readonly authorization: string;
  readonly endSession: string;
  readonly pushedAuthorizationRequest: string;
  readonly jwks: string;
  /** Of registration; each client's own is below it. */
  readonly registration: string;
}

/** What identifying clients and settling what they may ask for needs. */
export interface ClientContext extends TokenContext {
  readonly clientKeys: ClientKeys;
  readonly clientSecrets: ClientSecrets;
  readonly clientSecretUses: ClientSecretUses;
  readonly paths: EndpointPaths;
  readonly onEvent: (event: ServerEvent) => void;
}

/** A client without what proves that it is one. */
export type AuthorizationClient = Omit<ClientRecord, 'secrets' | 'registrationTokenDigest'>;

/** RFC 6749 Appendix A.1: VSCHAR. What has other characters names nobody, and is not looked up. */
const CLIENT_ID = /^[\x20-\x7E]+$/;

/** The client of an identifier that anyone may have written; `undefined` where there is none. */
export function findNamedClient(
  { storage }: TokenContext,
  clientId: string,
): Awaitable<ClientRecord | undefined> {
  return CLIENT_ID.test(clientId) ? storage.clients.get(clientId) : undefined;
}

/**
 * The client that a request by way of the browser names, without any proof.
 * @throws {OAuthError} there is no such client, or it is disabled: the browser is sent nowhere (RFC 6749 §4.1.2.1)
 */
export async function requireNamedClient(context: TokenContext, clientId: string): Promise<ClientRecord> {
  const client = await findNamedClient(context, clientId);
  if (!client) throw untrusted('the client is unknown', 'client_unknown', { value: clientId });
  if (client.disabledAtMs !== undefined)
    throw untrusted('the client is disabled', 'client_disabled', { clientId });
  return client;
}

export function withoutSecrets(client: ClientRecord): AuthorizationClient {
  const { secrets: _, registrationTokenDigest: __, ...known } = client;
  return known;
}

/**
 * A refusal that stays at this server: the browser must not be sent where the client did not register (RFC 6749
 * §3.1.2.4), nor to any application after a logout that failed (RP-Initiated Logout §4).
 */
export function untrusted(
  description: string,
  reason: RefusalReason,
  about: Pick<OAuthErrorDetails, 'clientId' | 'value'> = {},
): OAuthError {
  return new OAuthError('invalid_request', description, { reason, ...about });
}

/**
 * Takes an identifier that counts once.
 * @param expiresAt seconds until which it stays taken
 * @returns `false` where it was taken before
 * @throws {StorageFault} storage did not say
 */
export async function takeOnce({ storage }: TokenContext, id: string, expiresAt: number): Promise<boolean> {
  if (storage.oneTimeIdentifiers === undefined)
    throw new TypeError('what counts once needs storage.oneTimeIdentifiers');
  const isTaken: unknown = await storage.oneTimeIdentifiers.take(id, expiresAt);
  if (typeof isTaken === 'boolean') return isTaken;
  throw new StorageFault(
    new TypeError('storage must answer true or false to whether an identifier is taken'),
  );
}

/** Stands in for the hash of a client that does not exist: as long as a real one, and never equal to one. */
const NO_HASH = '-'.repeat(42).concat('~');

/** Some 200 bytes each; twice as many at most. */
const MOST_REMEMBERED = 10_000;

/** A candidate that is one of a client's secrets. */
interface SecretMatch {
  /** Of the candidate, among the candidates. */
  readonly index: number;
  readonly candidate: string;
  readonly secret: ClientSecretRecord;
  /** Whether its hash is under the server secret that is used for new ones. */
  readonly isCurrent: boolean;
  readonly usedAtMs: number;
}

/** The secrets of clients, which are stored as HMAC-SHA-256 under a key of the server, base64url. */
export class ClientSecrets {
  readonly #secret: ServerSecret;
  readonly #clock: Clock;
  /** Of the server secret that is used for new hashes. */
  #fingerprint: string | undefined;
  /** The hashes that secrets have matched, by the digests of these. It says nothing about whether they are still live. */
  readonly #matched = new RecentlyUsed<string>(MOST_REMEMBERED, () => new TextTable());

  constructor(secret: ServerSecret, clock: Clock) {
    this.#secret = secret;
    this.#clock = clock;
  }

  /** A new secret as it is stored. */
  async hash(clientSecret: string): Promise<ClientSecretRecord> {
    const [serverSecret] = await this.#secret.fingerprints();
    const hash = await hmacSha256(await this.#secret.key('client_secret'), clientSecret);
    return { hash, ...(serverSecret !== undefined && { serverSecret }), createdAtMs: this.#clock() };
  }

  /**
   * The first of the texts that is a live secret. A text that does not match costs the same whether the client has two
   * secrets, one or none.
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

  /** The hot path: it takes no key. */
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

/** How exact the time of the last use is: a secret causes one write in this time. */
const WRITTEN_EVERY_MS = 60 * 60 * 1000;

/** While processes disagree which server secret is the first, each would hash again what the other has hashed. */
const REHASHED_EVERY_MS = 60_000;

/** Uses that wait to be written. Further ones are dropped; the next authentication notes them again. */
const MOST_WAITING = 1000;

/** The answer goes out before anything is written. */
const WRITTEN_AFTER_MS = 250;

/** After an outage, nothing is written for so long. A timer that has not fired by then is lost, as with its isolate's request. */
const PAUSE_MS = 60_000;

/** The client can change between the lookup and the write. */
const MOST_ATTEMPTS = 3;

/** A secret that authenticated its client. */
interface Use {
  readonly clientId: string;
  readonly hash: string;
  readonly usedAtMs: number;
  /** The same secret under the server secret that is used now, if its hash is under another one. */
  readonly rehashed: Promise<ClientSecretRecord> | undefined;
}

/**
 * Writes what an authentication by secret leaves to be written: when the secret was used, and its hash under the new
 * server secret. No request waits for that or fails by it. Each secret is written once an hour, or when its hash changes.
 */
export class ClientSecretUses {
  readonly #clients: ReadableStorage['clients'];
  readonly #secrets: ClientSecrets;
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Use>();
  readonly #writing = new Set<Promise<void>>();
  #timerSetAtMs = Number.NEGATIVE_INFINITY;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(clients: ReadableStorage['clients'], secrets: ClientSecrets, clock: Clock) {
    this.#clients = clients;
    this.#secrets = secrets;
    this.#clock = clock;
  }

  /** Takes note of a use. It costs nothing if there is nothing to write. */
  note(clientId: string, { candidate, secret, isCurrent, usedAtMs }: SecretMatch): void {
    if (isRecent(secret, usedAtMs, isCurrent)) return;
    if (this.#clients.replaceSecrets === undefined || usedAtMs < this.#pausedUntilMs) return;
    const { hash } = secret;
    const key = `${clientId} ${hash}`;
    if (this.#waiting.size >= MOST_WAITING || this.#waiting.has(key)) return;
    const rehashed = isCurrent ? undefined : this.#secrets.hash(candidate);
    this.#waiting.set(key, { clientId, hash, usedAtMs, rehashed });
    if (usedAtMs - this.#timerSetAtMs < PAUSE_MS) return;
    this.#timerSetAtMs = usedAtMs;
    setTimeout(() => {
      this.#timerSetAtMs = Number.NEGATIVE_INFINITY;
      this.flush().catch((error: unknown) => console.error('uses of client secrets were not written', error));
    }, WRITTEN_AFTER_MS);
  }

  /** Writes what waits, one after another. A storage fault drops it: the next authentication notes it again. */
  async flush(): Promise<void> {
    const writing = this.#writeAll().finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
    await Promise.all(this.#writing);
  }

  async #writeAll(): Promise<void> {
    for (const [key, use] of this.#waiting) {
      this.#waiting.delete(key);
      try {
        await this.#write(use);
      } catch (error) {
        if (!(error instanceof StorageFault)) throw error;
        this.#pausedUntilMs = this.#clock() + PAUSE_MS;
        this.#waiting.clear();
      }
    }
  }

  /** Compare-and-set: the hash of a secret is replaced only if that very hash is still stored. */
  async #write({ clientId, hash, usedAtMs, rehashed }: Use): Promise<void> {
    const underNewSecret = await rehashed;
    for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
      const client = await this.#clients.get(clientId);
      const secret = client?.secrets?.find((one) => one.hash === hash);
      if (client?.secrets === undefined || secret === undefined) return;
      if (isRecent(secret, usedAtMs, underNewSecret === undefined)) return;
      const replacement = {
        ...secret,
        ...(underNewSecret && { hash: underNewSecret.hash, serverSecret: underNewSecret.serverSecret }),
        lastUsedAtMs: usedAtMs,
      };
      const secrets = client.secrets.map((one) => (one === secret ? replacement : one));
      if (await this.#clients.replaceSecrets?.(clientId, secrets, client)) return;
    }
  }
}

/** Whether a use was written a short time ago. */
function isRecent({ lastUsedAtMs }: ClientSecretRecord, nowMs: number, isCurrent: boolean): boolean {
  const every = isCurrent ? WRITTEN_EVERY_MS : REHASHED_EVERY_MS;
  return lastUsedAtMs !== undefined && nowMs - lastUsedAtMs < every;
}
