/** How to recognise the right response to a request. */
export interface Answer {
  readonly name: string;
  readonly status: number;
  /** A part of its body; empty if the body is empty. */
  readonly contains: string;
}

/** As in `wrk.lua`. */
export function isAnswer({ status, contains }: Answer, givenStatus: number, body: string): boolean {
  return givenStatus === status && (contains === '' ? body === '' : body.includes(contains));
}

export interface LoadOrder {
  readonly address: string;
  /** A file of requests to send in order. */
  readonly requests: string;
  /** The number of requests to skip because they were sent before. */
  readonly from: number;
  readonly answers: readonly Answer[];
  readonly connections: number;
  /** Maximum duration. */
  readonly seconds: number;
  /** Ends earlier, after this number of responses. */
  readonly count?: number;
}

export interface LoadResult {
  readonly generator: string;
  /** Started requests, including those that the generator abandoned at the end. */
  readonly sent: number;
  /** Right responses by name. */
  readonly right: Readonly<Record<string, number>>;
  readonly wrong: number;
  /** The first wrong response, without anything that may be a token. */
  readonly firstWrong?: string;
  /** Connections that failed, and missing responses. */
  readonly errors: number;
  readonly seconds: number;
  readonly latencyMs: {
    readonly p50: number;
    readonly p90: number;
    readonly p99: number;
    readonly max: number;
  };
  /** The share of one core that the generator used. If it is close to 1, the generator was the bottleneck. */
  readonly generatorCpu: number | undefined;
}

export interface Generator {
  readonly name: string;
  run(order: LoadOrder): Promise<LoadResult>;
}

/** Texts that are long enough to be a token, a code or a secret. */
const SECRET_LIKE = /[A-Za-z0-9._~+/=-]{24,}/g;

export function withoutTokens(text: string): string {
  return text.replace(SECRET_LIKE, '…');
}
