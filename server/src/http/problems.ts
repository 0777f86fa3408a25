// How the admin API refuses requests (RFC 9457).
import type { ValueProblem } from '../admin/operation_refused.ts';

/** Every problem, by its code. */
export const PROBLEMS = {
  invalid_request: { status: 400, title: 'The request is malformed.' },
  invalid_token: { status: 401, title: 'The access token is missing, invalid or not for this API.' },
  insufficient_user_authentication: {
    status: 401,
    title: 'The user of the token must sign in with another factor.',
  },
  insufficient_scope: { status: 403, title: 'The token does not permit this operation.' },
  not_found: { status: 404, title: 'The requested object does not exist.' },
  method_not_allowed: { status: 405, title: 'The path does not support this method.' },
  conflict: { status: 409, title: 'The operation conflicts with stored data.' },
  request_pending: { status: 409, title: 'A request with this Idempotency-Key is still pending.' },
  outcome_unknown: {
    status: 409,
    title: 'It is unknown whether the request with this Idempotency-Key made its change.',
  },
  version_mismatch: { status: 412, title: 'The object has changed since the version in If-Match.' },
  body_too_large: { status: 413, title: 'The body is too large.' },
  unsupported_media_type: {
    status: 415,
    title: 'The body has another media type or content encoding than expected.',
  },
  invalid_input: { status: 422, title: 'A value is invalid.' },
  idempotency_key_reused: { status: 422, title: 'The Idempotency-Key belongs to another request.' },
  version_required: { status: 428, title: 'The header If-Match is required.' },
  too_many_requests: { status: 429, title: 'There were too many requests.' },
  internal: { status: 500, title: 'The server failed. Its log says why.' },
  unavailable: { status: 503, title: 'The database does not answer.' },
} as const;

export type ProblemCode = keyof typeof PROBLEMS;

export interface ProblemDetails {
  readonly detail?: string;
  /** What to do on the command line. */
  readonly advice?: string | undefined;
  readonly errors?: readonly ValueProblem[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** A refused request. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly errors: readonly ValueProblem[] | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly detail: string | undefined;
  readonly advice: string | undefined;

  constructor(code: ProblemCode, { detail, advice, errors, headers = {} }: ProblemDetails = {}) {
    super(detail ?? PROBLEMS[code].title);
    this.code = code;
    this.detail = detail;
    this.advice = advice;
    this.errors = errors;
    this.headers = headers;
  }

  /** The same problem, with another sentence. */
  with(sentence: string): Problem {
    const detail = `${this.message.replace(/\.$/, '')}. ${sentence}`;
    return new Problem(this.code, {
      ...{ detail, advice: this.advice, headers: this.headers },
      ...(this.errors !== undefined && { errors: this.errors }),
    });
  }

  /** @param base URL of the admin API, whose description lists the problems */
  body(base: string): Readonly<Record<string, unknown>> {
    const { status, title } = PROBLEMS[this.code];
    return {
      type: `${base}/openapi.json#/components/x-problems/${this.code}`,
      title,
      status,
      code: this.code,
      ...(this.detail !== undefined && { detail: this.detail }),
      ...(this.advice !== undefined && { advice: this.advice }),
      ...(this.errors !== undefined && {
        errors: this.errors.map(({ said: _, ...shown }) => shown),
      }),
    };
  }
}
