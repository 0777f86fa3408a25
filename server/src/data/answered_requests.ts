import { createHmac } from 'node:crypto';
import type { ApiRequests } from './api_requests.ts';
import { type ProgramSecret, type ProgramSecretUse, seal, unseal } from './secrets.ts';

interface Parts {
  readonly apiRequests: ApiRequests;
  readonly secret: ProgramSecret;
  /** Keeps the keys and answers of one kind of request apart from all others. */
  readonly use: ProgramSecretUse;
  /** Milliseconds. */
  readonly clock: () => number;
}

/** The only process that performs a request. */
export interface Attempt<Answer> {
  /** Stores the answer for those who repeat the request. */
  finish(answer: Answer, keptMs: number): Promise<void>;
  /** Frees the key, so that the request can be performed again. */
  forget(): Promise<void>;
}

/** A request that was sent before. */
interface Repeated<Answer> {
  /** Whether the earlier request said the same. */
  readonly isSame: boolean;
  /** `undefined` while the request is pending. */
  readonly answer: Answer | undefined;
}

/**
 * Gives repeated requests the answer of the first one, in every process on the database. Answers are sealed, because they
 * can contain secrets. Keys are digests under the server’s secret, because requests can contain passwords. Every method
 * rejects with a `StorageFault` if the database does not answer.
 */
export class AnsweredRequests<Answer> {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async digest(...about: readonly string[]): Promise<string> {
    const { secret, use } = this.#parts;
    const key = await secret.key(use);
    return createHmac('sha256', key).update(JSON.stringify(about)).digest('base64url');
  }

  /**
   * Takes a key for a request. Atomic: of concurrent callers, one gets it.
   * @param pendingMs after this time, the request of a process that died may be performed again
   */
  async begin(
    keyDigest: string,
    requestDigest: string,
    pendingMs: number,
  ): Promise<Attempt<Answer> | Repeated<Answer>> {
    const { apiRequests, secret, use, clock } = this.#parts;
    const nowMs = clock();
    const begun = await apiRequests.begin(keyDigest, requestDigest, nowMs, nowMs + pendingMs);
    if ('requestDigest' in begun) return this.#repeated(begun, keyDigest, requestDigest);
    const { attempt } = begun;
    return {
      async finish(answer, keptMs) {
        const sealed = seal(await secret.key(use), JSON.stringify(answer), keyDigest);
        await apiRequests.finish(keyDigest, attempt, sealed, clock() + keptMs);
      },
      forget: () => apiRequests.forget(keyDigest, attempt),
    };
  }

  /** Looks for the answer without taking the key. @returns `undefined` if the key is free */
  async find(keyDigest: string, requestDigest: string): Promise<Repeated<Answer> | undefined> {
    const { apiRequests, clock } = this.#parts;
    const stored = await apiRequests.find(keyDigest, clock());
    return stored && this.#repeated(stored, keyDigest, requestDigest);
  }

  async #repeated(
    stored: { readonly requestDigest: string; readonly sealed: string | undefined },
    keyDigest: string,
    requestDigest: string,
  ): Promise<Repeated<Answer>> {
    const { sealed } = stored;
    const isSame = stored.requestDigest === requestDigest;
    if (sealed === undefined || !isSame) return { isSame, answer: undefined };
    const { secret, use } = this.#parts;
    for (const key of await secret.keys(use)) {
      const text = unseal(key, sealed, keyDigest);
      if (text !== undefined) return { isSame, answer: JSON.parse(text) };
    }
    return { isSame, answer: undefined };
  }
}
