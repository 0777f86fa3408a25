import { hmacSha256, sha256 } from '#hashing';
import { RecentlyUsed } from '../../memories/recently_used.ts';
import { TextTable } from '../../memories/text_table.ts';
import { equalInConstantTime } from '../../protocol/hashing/constant_time.ts';
import type { ServerSecret } from '../../tokens/server_secret.ts';

/** Stands in for the hash of a client that does not exist: as long as a real one, and never equal to one. */
const NO_HASH = '-'.repeat(42).concat('~');

/** Some 200 bytes each; twice as many at most. */
const MOST_REMEMBERED = 10_000;

/** The secrets of clients, which are stored as HMAC-SHA-256 under a key of the server, base64url. */
export class ClientSecrets {
  readonly #secret: ServerSecret;
  /** The hashes that secrets have matched, by the digests of these. */
  readonly #matched = new RecentlyUsed<string>(MOST_REMEMBERED, () => new TextTable());

  constructor(secret: ServerSecret) {
    this.#secret = secret;
  }

  /** A secret as it is stored. */
  async hash(clientSecret: string): Promise<string> {
    return hmacSha256(await this.#secret.key('client_secret'), clientSecret);
  }

  /**
   * Which of the texts is the secret; `-1` for none. What does not match costs the same whether or not there is a hash to
   * compare with.
   */
  async indexOfMatch(candidates: readonly string[], storedHash = NO_HASH): Promise<number> {
    for (const [index, candidate] of candidates.entries()) {
      const digest = await sha256(candidate);
      const matched = this.#matched.get(digest);
      if (matched !== undefined && equalInConstantTime(matched, storedHash)) return index;
      if (await this.#matches(candidate, digest, storedHash)) return index;
    }
    return -1;
  }

  async #matches(candidate: string, digest: string, storedHash: string): Promise<boolean> {
    for (const key of await this.#secret.keys('client_secret')) {
      const hash = await hmacSha256(key, candidate);
      if (!equalInConstantTime(hash, storedHash)) continue;
      this.#matched.set(digest, hash);
      return true;
    }
    return false;
  }
}
