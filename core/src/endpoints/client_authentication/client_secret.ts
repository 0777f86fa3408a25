import { hmacSha256, sha256 } from '#hashing';
import { RecentlyUsed } from '../../memories/recently_used.ts';
import { TextTable } from '../../memories/text_table.ts';
import { isLiveSecret, MOST_LIVE_SECRETS } from '../../protocol/client_secrets.ts';
import type { Clock } from '../../protocol/environment.ts';
import { equalInConstantTime } from '../../protocol/hashing/constant_time.ts';
import type { ClientSecretRecord } from '../../protocol/records.ts';
import type { ServerSecret } from '../../tokens/server_secret.ts';

/** Stands in for the hash of a client that does not exist: as long as a real one, and never equal to one. */
const NO_HASH = '-'.repeat(42).concat('~');

/** Some 200 bytes each; twice as many at most. */
const MOST_REMEMBERED = 10_000;

/** A candidate that is one of a client's secrets. */
export interface SecretMatch {
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
