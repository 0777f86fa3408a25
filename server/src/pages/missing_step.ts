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
} from '../people/acr.ts';
import type { BrowserSession } from './browser_sessions.ts';
import type { PageParts } from './page_parts.ts';

/** How long after a sign-in users may change how they sign in. */
const FRESH_MS = 10 * 60 * 1000;

export function isFresh(
  { clock }: PageParts,
  { signedInAtMs }: Pick<BrowserSession, 'signedInAtMs'>,
): boolean {
  return clock() - signedInAtMs <= FRESH_MS;
}

/**
 * What a sign-in lacks, by the policy of this server and the request; `undefined` if it lacks nothing.
 * @param amr what the user has done so far
 */
export async function missingOf(
  { signInPolicy, factors, passkeys }: PageParts,
  { subject }: Person,
  amr: readonly string[],
  authorization?: AuthorizationRequest,
): Promise<MissingStep | undefined> {
  const level = levelOf(amr);
  if (level === PHISHING_RESISTANT) return undefined;
  const hasPasskeys = passkeys !== undefined;
  const reachable = reachableLevel(await factors.of(subject), hasPasskeys);
  const highest = hasPasskeys ? PHISHING_RESISTANT : MULTI_FACTOR;
  const request = authorization === undefined ? NO_ACR : acrRequestOf(authorization);
  return missingStep(signInPolicy, request, { level, reachable, highest });
}

/** Classes are wishes, unless the claim `acr` is essential (OpenID Connect Core §5.5.1.1). */
function acrRequestOf({ claims, acrValues }: AuthorizationRequest): AcrRequest {
  return claims?.id_token?.acr?.essential === true
    ? { required: acrValues, desired: [] }
    : { required: [], desired: acrValues };
}
