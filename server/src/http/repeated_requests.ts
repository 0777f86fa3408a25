// Repeated requests with an Idempotency-Key get the response of the first one.

import type { ApiRequests } from '../data/answered_requests.ts';
import { AnsweredRequests } from '../data/answered_requests.ts';
import type { ProgramSecret } from '../data/secrets.ts';
import { Problem } from './problems.ts';
import { mayRepeat } from './refusals.ts';

/** A response as it is stored. */
export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A request without an answer counts as pending for this time. Then its process must have died. */
const PENDING_MS = 60_000;

/** How long a key stays taken. */
const KEPT_MS = 24 * 60 * 60 * 1000;

/** What is stored of a request that has begun and has no answer. */
interface Begun {
  /** Milliseconds. After them, it is unknown what the request has changed. */
  readonly pendingUntilMs: number;
}

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
  /** Receives failures that do not change the answer. */
  readonly onFailure: (error: unknown) => void;
}

export class RepeatedRequests {
  readonly #answers: AnsweredRequests<StoredAnswer | Begun>;
  readonly #clock: () => number;

  constructor({ clock = Date.now, ...parts }: Parts) {
    this.#answers = new AnsweredRequests({ ...parts, clock, use: 'api_request' });
    this.#clock = clock;
  }

  /**
   * Performs a request at most once while its key is kept, unless it was refused (ADR 162).
   * @throws {Problem} the key belongs to another request, to one that is pending, or to one with an unknown outcome
   */
  async once(
    { caller, target, body, key, onFailure }: Repeatable,
    perform: () => Promise<StoredAnswer>,
  ): Promise<{ readonly answer: StoredAnswer; readonly isRepeated: boolean }> {
    if (!KEY.test(key))
      throw new Problem('invalid_request', {
        errors: [{ in: 'Idempotency-Key', detail: 'expected visible ASCII characters, at most 200' }],
      });
    const answers = this.#answers;
    const keys = await answers.digests('key', caller, key);
    const begun = await answers.begin(keys, await answers.digests('request', target, body), PENDING_MS);
    if ('isSame' in begun) {
      if (!begun.isSame) throw new Problem('idempotency_key_reused');
      return { answer: this.#answerOf(begun.answer), isRepeated: true };
    }
    // From here, the key outlives the process. Before, nothing was performed.
    await begun.finish({ pendingUntilMs: this.#clock() + PENDING_MS }, KEPT_MS);
    let answer: StoredAnswer;
    try {
      answer = await perform();
    } catch (error) {
      await (mayRepeat(error) ? begun.forget() : begun.finish({ pendingUntilMs: 0 }, KEPT_MS)).catch(
        onFailure,
      );
      throw error;
    }
    // Also without a stored answer, the request has been performed.
    await begun.finish(answer, KEPT_MS).catch(onFailure);
    return { answer, isRepeated: false };
  }

  /** @throws {Problem} there is no answer */
  #answerOf(stored: StoredAnswer | Begun | undefined): StoredAnswer {
    if (stored !== undefined && 'status' in stored) return stored;
    if (stored === undefined || this.#clock() < stored.pendingUntilMs)
      throw new Problem('request_pending', { headers: { 'retry-after': '1' } });
    throw new Problem('outcome_unknown', {
      detail:
        'the server failed during this request, which may have made its change. Look for the change, for example with ' +
        'GET /events. If it is missing, send the request with another Idempotency-Key',
    });
  }
}
