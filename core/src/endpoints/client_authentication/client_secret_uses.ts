import type { Clock } from '../../protocol/environment.ts';
import { StorageFault } from '../../protocol/oauth_error.ts';
import type { ClientSecretRecord } from '../../protocol/records.ts';
import type { ReadableStorage } from '../../storage/host_storage.ts';
import type { ClientSecrets, SecretMatch } from './client_secret.ts';

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
