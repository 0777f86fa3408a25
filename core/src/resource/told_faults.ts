import { RecentlyUsed } from '../memories/recently_used.ts';
import type { Clock } from '../protocol/environment.ts';
import { observe } from '../protocol/observe.ts';
import type { AuthorizationServerFault } from './authorization_server_fault.ts';

/**
 * Milliseconds in which a reason is told once. In an outage every request has a fault, and none says more than the
 * first; once a minute shows how long it lasts, also where each of many routes has a protection of its own.
 */
const TOLD_AGAIN_AFTER = 60 * 1000;

/** Reasons that are remembered as told, within a factor of two; the library itself has a dozen. */
const MOST_REASONS = 50;

/** Tells the host why nothing could be found out about tokens. */
export class ToldFaults {
  readonly #onFault: (fault: AuthorizationServerFault) => void;
  readonly #clock: Clock;
  readonly #toldAtMs = new RecentlyUsed<number>(MOST_REASONS);

  constructor(onFault: (fault: AuthorizationServerFault) => void, clock: Clock) {
    this.#onFault = onFault;
    this.#clock = clock;
  }

  tell(fault: AuthorizationServerFault): void {
    const reason = reasonOf(fault);
    const nowMs = this.#clock();
    if (nowMs - (this.#toldAtMs.get(reason) ?? -Infinity) < TOLD_AGAIN_AFTER) return;
    this.#toldAtMs.set(reason, nowMs);
    observe('onFault', this.#onFault, fault);
  }
}

/** A host that listens to nothing still learns why its API answers 503. */
export function reportFault(fault: AuthorizationServerFault): void {
  console.error(`grantd: ${reasonOf(fault)}`);
}

/**
 * Two messages that hold nothing of a request, and the code of the runtime's own failure, such as `ECONNREFUSED`, whose
 * message may quote what it was given.
 */
function reasonOf({ message, cause }: AuthorizationServerFault): string {
  if (!(cause instanceof Error)) return message;
  const code = codeBelow(cause);
  return `${message}: ${cause.message}${code === undefined ? '' : ` (${code})`}`;
}

/** Of the first failure below that has one; a runtime wraps them a few times at most. */
function codeBelow(error: Error, depth = 4): string | undefined {
  const { cause } = error;
  if (!(cause instanceof Error) || depth === 0) return undefined;
  const code: unknown = 'code' in cause ? cause.code : undefined;
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(code)) return code;
  return codeBelow(cause, depth - 1);
}
