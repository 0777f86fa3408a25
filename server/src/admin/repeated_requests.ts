// Repeated requests with an Idempotency-Key get the response of the first one.
import { createHmac } from 'node:crypto';
import type { ApiRequests } from '../data/api_requests.ts';
import { type ProgramSecret, seal, unseal } from '../data/secrets.ts';
import { Problem } from './problems.ts';

/** A response as it is stored, sealed because it can contain a new client secret. */
export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** After this time, a request whose process died may be repeated. */
const PENDING_MS = 60_000;

/** How long a response is kept. */
const KEPT_MS = 24 * 60 * 60 * 1000;

const KEY = /^[\x21-\x7E]{1,200}$/;

interface Parts {
  readonly apiRequests: ApiRequests;
  readonly secret: ProgramSecret;
  readonly clock?: () => number;
}

/** A request as it must be repeated. */
interface Repeatable {
  /** Who sends it: keys of different callers differ. */
  readonly caller: string;
  /** Method and path with its query. */
  readonly target: string;
  readonly body: string;
  readonly key: string;
}

export class RepeatedRequests {
  readonly #parts: Parts;
  readonly #clock: () => number;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#clock = parts.clock ?? Date.now;
  }

  /**
   * Performs a request once. Failures of the server are not stored, so that the request can be repeated.
   * @throws {Problem} the key belongs to another request, or to one that is pending
   */
  async once(
    { caller, target, body, key }: Repeatable,
    perform: () => Promise<StoredAnswer>,
  ): Promise<{ readonly answer: StoredAnswer; readonly isRepeated: boolean }> {
    if (!KEY.test(key))
      throw new Problem('invalid_request', {
        errors: [{ in: 'Idempotency-Key', detail: 'expected visible ASCII characters, at most 200' }],
      });
    const { apiRequests, secret } = this.#parts;
    const keyDigest = await this.#digest('key', caller, key);
    // Under a key, because the body can contain a password.
    const requestDigest = await this.#digest('request', target, body);
    const nowMs = this.#clock();
    const begun = await apiRequests.begin(keyDigest, requestDigest, nowMs, nowMs + PENDING_MS);
    if ('requestDigest' in begun) {
      if (begun.requestDigest !== requestDigest) throw new Problem('idempotency_key_reused');
      const answer = begun.sealed && (await this.#open(begun.sealed, keyDigest));
      if (!answer) throw new Problem('request_pending', { headers: { 'retry-after': '1' } });
      return { answer, isRepeated: true };
    }
    const { attempt } = begun;
    let answer: StoredAnswer;
    try {
      answer = await perform();
    } catch (error) {
      // A refusal changed nothing. After an outage, the outcome may be unknown.
      await apiRequests.forget(keyDigest, attempt);
      throw error;
    }
    const sealed = seal(await secret.key('api_request'), JSON.stringify(answer), keyDigest);
    await apiRequests.finish(keyDigest, attempt, sealed, this.#clock() + KEPT_MS);
    return { answer, isRepeated: false };
  }

  async #digest(...about: readonly string[]): Promise<string> {
    const key = await this.#parts.secret.key('api_request');
    return createHmac('sha256', key).update(JSON.stringify(about)).digest('base64url');
  }

  async #open(sealed: string, boundTo: string): Promise<StoredAnswer | undefined> {
    for (const key of await this.#parts.secret.keys('api_request')) {
      const text = unseal(key, sealed, boundTo);
      if (text !== undefined) return JSON.parse(text);
    }
    return undefined;
  }
}
