import type { AuthorizationRequest, ServerSecret } from '@grantd/core';
import { isBlock } from '../config/kinds.ts';
import type { BrowserSession } from './browser_sessions.ts';
import { SignedValues } from './signed_values.ts';

/** How long a person may take for signing in and consenting. */
const LONGEST_MS = 60 * 60 * 1000;

/** An authorization request on its way through the pages. */
export interface PendingRequest {
  /** Its parameters, as a query. */
  readonly query: string;
  readonly begunAtMs: number;
}

/** Keeps requests in the address of the pages, signed, so that their beginning cannot be made up. */
export class PendingRequests {
  readonly #values: SignedValues;

  constructor(secret: ServerSecret) {
    this.#values = new SignedValues(secret, 'pending_authorization_request');
  }

  seal(pending: PendingRequest): Promise<string> {
    return this.#values.seal(pending);
  }

  /** @returns `undefined` where the request was not begun here, or too long ago */
  async open(sealed: string | undefined): Promise<PendingRequest | undefined> {
    const pending = sealed === undefined ? undefined : await this.#values.open(sealed);
    if (!isBlock(pending)) return undefined;
    const { query, begunAtMs } = pending;
    if (typeof query !== 'string' || typeof begunAtMs !== 'number') return undefined;
    return begunAtMs + LONGEST_MS > Date.now() ? { query, begunAtMs } : undefined;
  }
}

/**
 * Whether a session is recent enough for what the client asked (OpenID Connect Core §3.1.2.1, `prompt` and `max_age`).
 * Counted from the beginning of the request: with `max_age=0`, time spent on the pages would never end.
 */
export function isRecentEnough(
  { signedInAtMs }: BrowserSession,
  { prompt, maxAge }: AuthorizationRequest,
  { begunAtMs }: PendingRequest,
): boolean {
  if (prompt.includes('login') || prompt.includes('select_account')) return signedInAtMs >= begunAtMs;
  return maxAge === undefined || signedInAtMs >= begunAtMs - maxAge * 1000;
}
