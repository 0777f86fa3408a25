/** An operation on a server, with its time and outcome. Times are nanoseconds of one clock (`monotonicNs`). */
interface Timed {
  /** The server, or the program that did it. */
  readonly process: string;
  /** Before the first byte was sent. */
  readonly startNs: number;
  /** After the last byte had arrived. */
  readonly endNs: number;
}

/** A token was issued. Tokens have names that are not secret. */
export interface Issue extends Timed {
  readonly op: 'issue';
  readonly token: string;
  /** The token does not expire before this time. */
  readonly livesUntilNs: number;
}

/** A read of a token. For a refresh or exchange, a response with tokens is `active`, and a refusal is `inactive`. */
export interface Read extends Timed {
  readonly op: 'introspect' | 'userinfo' | 'refresh' | 'exchange';
  readonly token: string;
  /** `unknown`: 503 or no response. */
  readonly answer: 'active' | 'inactive' | 'unknown';
}

/** An operation that ends tokens. */
export interface Ending extends Timed {
  readonly op: 'revoke' | 'reuse' | 'rotate' | 'mass_revoke';
  /** All tokens that it ends, including those that became known later. */
  readonly tokens: readonly string[];
  /** `unknown`: it may end them at any time after its start. */
  readonly answer: 'done' | 'unknown';
}

export type Operation = Issue | Read | Ending;

export function isRead(operation: Operation): operation is Read {
  return 'token' in operation && operation.op !== 'issue';
}

export function isEnding(operation: Operation): operation is Ending {
  return 'tokens' in operation;
}
