import type { AuthorizationRequest } from '@grantd/core';
import { MULTI_FACTOR, PHISHING_RESISTANT } from '../config/acr.ts';
import type { Person } from '../data/people.ts';
import {
  type AcrRequest,
  levelOf,
  type MissingStep,
  missingStep,
  NO_ACR,
  reachableLevel,
  stricterPolicy,
} from '../people/acr.ts';
import type { BrowserSession } from './browser_sessions.ts';
import type { PendingAccount } from './browser_state.ts';
import type { PageParts } from './page_parts.ts';

/** How long after a sign-in users may change how they sign in. */
const FRESH_MS = 10 * 60 * 1000;

export function isFresh(
  { clock }: PageParts,
  { signedInAtMs }: Pick<BrowserSession, 'signedInAtMs'>,
): boolean {
  return clock() - signedInAtMs <= FRESH_MS;
}

/** What a sign-in is for: an application, or a page of this server. */
type Purpose =
  | { readonly authorization: AuthorizationRequest }
  | { readonly pending: Pick<PendingAccount, 'page'> };

/**
 * What a sign-in lacks, by the policy of this server and its purpose; `undefined` if it lacks nothing.
 * @param amr what the user has done so far
 */
export async function missingOf(
  { signInPolicy, consoleSignInPolicy, factors, passkeys }: PageParts,
  { subject }: Person,
  amr: readonly string[],
  purpose: Purpose,
): Promise<MissingStep | undefined> {
  const level = levelOf(amr);
  if (level === PHISHING_RESISTANT) return undefined;
  const hasPasskeys = passkeys !== undefined;
  const reachable = reachableLevel(await factors.of(subject), hasPasskeys);
  const highest = hasPasskeys ? PHISHING_RESISTANT : MULTI_FACTOR;
  const reach = { level, reachable, highest };
  if ('authorization' in purpose)
    return missingStep(signInPolicy, acrRequestOf(purpose.authorization), reach);
  const isConsole = purpose.pending.page === 'console';
  const policy = isConsole ? stricterPolicy(signInPolicy, consoleSignInPolicy) : signInPolicy;
  return missingStep(policy, NO_ACR, reach);
}

/** Classes are wishes, unless the claim `acr` is essential (OpenID Connect Core §5.5.1.1). */
function acrRequestOf({ claims, acrValues }: AuthorizationRequest): AcrRequest {
  return claims?.id_token?.acr?.essential === true
    ? { required: acrValues, desired: [] }
    : { required: [], desired: acrValues };
}
