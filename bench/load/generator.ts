/** What the right answer to a request is like. */
export interface Answer {
  readonly name: string;
  readonly status: number;
  /** What is in its body; empty where the body is. */
  readonly contains: string;
}

/** As `wrk.lua` decides it. */
export function isAnswer({ status, contains }: Answer, givenStatus: number, body: string): boolean {
  return givenStatus === status && (contains === '' ? body === '' : body.includes(contains));
}

export interface LoadOrder {
  readonly address: string;
  /** A file of requests that are sent one after the other. */
  readonly requests: string;
  /** How many of them are passed over, since they were sent before. */
  readonly from: number;
  readonly answers: readonly Answer[];
  readonly connections: number;
  /** At most this long. */
  readonly seconds: number;
  /** Ends earlier, after so many answers. */
  readonly count?: number;
}

export interface LoadResult {
  readonly generator: string;
  /** How many requests were begun, also those whose answer nobody waited for. */
  readonly sent: number;
  /** How many right answers of each name there were. */
  readonly right: Readonly<Record<string, number>>;
  readonly wrong: number;
  /** The first of those, without what may be a token. */
  readonly firstWrong?: string;
  /** Connections that failed, and answers that did not come. */
  readonly errors: number;
  readonly seconds: number;
  readonly latencyMs: {
    readonly p50: number;
    readonly p90: number;
    readonly p99: number;
    readonly max: number;
  };
  /** What part of one core the generator was busy: what is close to 1 has measured the generator. */
  readonly generatorCpu: number | undefined;
}

export interface Generator {
  readonly name: string;
  run(order: LoadOrder): Promise<LoadResult>;
}

/** Texts long enough to be a token, a code or a secret. */
const SECRET_LIKE = /[A-Za-z0-9._~+/=-]{24,}/g;

export function withoutTokens(text: string): string {
  return text.replace(SECRET_LIKE, '…');
}
