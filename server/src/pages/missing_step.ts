import type { AuthorizationRequest } from '@grantd/core';
import { MULTI_FACTOR, PHISHING_RESISTANT, strictestOf } from '../config/acr.ts';
import type { Person } from '../data/people.ts';
import {
  type AcrRequest,
  levelOf,
  type MissingStep,
  missingStep,
  NO_ACR,
  reachableLevel,
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
 * What a sign-in lacks, by its purpose and the strictest policy of this server, the client or console, and the user’s
 * groups; `undefined` if it lacks nothing. Reads the groups each time, so that a new policy holds for existing sessions.
 * @param amr what the user has done so far
 */
export async function missingOf(
  { signInPolicy, consoleSignInPolicy, groups, factors, passkeys }: PageParts,
  { subject }: Person,
  amr: readonly string[],
  purpose: Purpose,
): Promise<MissingStep | undefined> {
  const level = levelOf(amr);
  if (level === PHISHING_RESISTANT) return undefined;
  const hasPasskeys = passkeys !== undefined;
  const [has, ofGroups] = await Promise.all([factors.of(subject), groups.policiesOf(subject)]);
  const reachable = reachableLevel(has, hasPasskeys);
  const highest = hasPasskeys ? PHISHING_RESISTANT : MULTI_FACTOR;
  const [ofPurpose, request] =
    'authorization' in purpose
      ? [purpose.authorization.client.metadata?.sign_in_policy, acrRequestOf(purpose.authorization)]
      : [purpose.pending.page === 'console' ? consoleSignInPolicy : undefined, NO_ACR];
  const policy = strictestOf(signInPolicy, ofPurpose ?? 'password', ...ofGroups);
  return missingStep(policy, request, { level, reachable, highest });
}

/** Classes are wishes, unless the claim `acr` is essential (OpenID Connect Core §5.5.1.1). */
function acrRequestOf({ claims, acrValues }: AuthorizationRequest): AcrRequest {
  return claims?.id_token?.acr?.essential === true
    ? { required: acrValues, desired: [] }
    : { required: [], desired: acrValues };
}
