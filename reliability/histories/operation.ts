/** What was asked of a server, when, and what came of it. Times are nanoseconds of one clock (`monotonicNs`). */
interface Timed {
  /** Which server was asked, or which program did it. */
  readonly process: string;
  /** Before the first byte was sent. */
  readonly startNs: number;
  /** After the last byte had arrived. */
  readonly endNs: number;
}

/** A token came into being. Tokens have names that are no secret. */
export interface Issue extends Timed {
  readonly op: 'issue';
  readonly token: string;
  /** Before this it does not end by itself. */
  readonly livesUntilNs: number;
}

/** A look at a token. For refreshing, an answer with tokens is `active`, a refusal `inactive`. */
export interface Read extends Timed {
  readonly op: 'introspect' | 'userinfo' | 'refresh';
  readonly token: string;
  /** `unknown`: 503, or no answer. */
  readonly answer: 'active' | 'inactive' | 'unknown';
}

/** Something that ends tokens. */
export interface Ending extends Timed {
  readonly op: 'revoke' | 'reuse' | 'rotate' | 'mass_revoke';
  /** All that it ends, those included that were heard of only later. */
  readonly tokens: readonly string[];
  /** `unknown`: it may end them, at any time from its start. */
  readonly answer: 'done' | 'unknown';
}

export type Operation = Issue | Read | Ending;

export function isRead(operation: Operation): operation is Read {
  return 'token' in operation && operation.op !== 'issue';
}

export function isEnding(operation: Operation): operation is Ending {
  return 'tokens' in operation;
}
