// Repeated requests with an Idempotency-Key get the response of the first one.
import { AnsweredRequests } from '../data/answered_requests.ts';
import type { ApiRequests } from '../data/api_requests.ts';
import type { ProgramSecret } from '../data/secrets.ts';
import { Problem } from './problems.ts';

/** A response as it is stored. */
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
  readonly #answers: AnsweredRequests<StoredAnswer>;

  constructor({ clock = Date.now, ...parts }: Parts) {
    this.#answers = new AnsweredRequests({ ...parts, clock, use: 'api_request' });
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
    const answers = this.#answers;
    const keyDigest = await answers.digest('key', caller, key);
    const begun = await answers.begin(keyDigest, await answers.digest('request', target, body), PENDING_MS);
    if ('isSame' in begun) {
      if (!begun.isSame) throw new Problem('idempotency_key_reused');
      if (!begun.answer) throw new Problem('request_pending', { headers: { 'retry-after': '1' } });
      return { answer: begun.answer, isRepeated: true };
    }
    let answer: StoredAnswer;
    try {
      answer = await perform();
    } catch (error) {
      // A refusal changed nothing. After an outage, the outcome may be unknown.
      await begun.forget();
      throw error;
    }
    await begun.finish(answer, KEPT_MS);
    return { answer, isRepeated: false };
  }
}
