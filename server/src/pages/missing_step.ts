import type { AuthorizationRequest } from '@grantd/core';
import { type Level, MULTI_FACTOR, PHISHING_RESISTANT, strictestOf } from '../config/acr.ts';
import type { Person } from '../data/people.ts';
import {
  type AccountChange,
  type MissingForChange,
  missingForChange,
  RECENT_MS,
} from '../people/account_changes.ts';
import {
  type AcrRequest,
  type FactorsNow,
  factorsNow,
  levelOf,
  type MissingStep,
  missingStep,
  NO_ACR,
  reachableLevel,
} from '../people/acr.ts';
import type { BrowserSession } from './browser_sessions.ts';
import type { PendingAccount } from './browser_state.ts';
import type { PageParts } from './page_parts.ts';

export function isFresh(
  { clock }: PageParts,
  { signedInAtMs }: Pick<BrowserSession, 'signedInAtMs'>,
): boolean {
  return clock() - signedInAtMs <= RECENT_MS;
}

/** What the user of a session has now. */
async function factorsOf({ factors, passkeys, clock }: PageParts, { subject }: Person): Promise<FactorsNow> {
  return factorsNow(await factors.of(subject), passkeys !== undefined, clock());
}

/**
 * What a change of the account lacks; `undefined` if the user may make it now.
 * @param atMs when the change began, if it has led through another site since
 */
export async function missingOfChange(
  parts: PageParts,
  { person, amr, signedInAtMs }: Pick<BrowserSession, 'person' | 'amr' | 'signedInAtMs'>,
  change: AccountChange,
  atMs = parts.clock(),
): Promise<MissingForChange | undefined> {
  const has = { ...(await factorsOf(parts, person)), hasPassword: parts.passwords.has(person) };
  return missingForChange(change, has, { amr, ageMs: atMs - signedInAtMs });
}

/** Whether a visit to an account page needs another sign-in, and not only a further step. */
export async function needsSignIn(
  parts: PageParts,
  session: BrowserSession,
  { isFresh: isFreshNeeded, change }: PendingAccount,
): Promise<boolean> {
  if (isFreshNeeded === true && !isFresh(parts, session)) return true;
  return change !== undefined && (await missingOfChange(parts, session, change))?.step === 'sign_in';
}

/** What a sign-in is for: an application, or a page of this server. */
type Purpose =
  | { readonly authorization: AuthorizationRequest }
  | { readonly pending: Pick<PendingAccount, 'page' | 'change'> };

/**
 * What a sign-in lacks, by its purpose and the strictest policy of this server, the client or console, and the user’s
 * groups; `undefined` if it lacks nothing. Reads the groups each time, so that a new policy holds for existing sessions.
 * A user who wants to change their account also owes what the change needs.
 * @param amr what the user has done so far
 */
export async function missingOf(
  parts: PageParts,
  person: Person,
  amr: readonly string[],
  purpose: Purpose,
): Promise<MissingStep | undefined> {
  if (levelOf(amr) === PHISHING_RESISTANT) return undefined;
  const ofPolicy = await missingOfPolicy(parts, person, amr, purpose);
  const change = 'pending' in purpose ? purpose.pending.change : undefined;
  if (change === undefined) return ofPolicy;
  const signedIn = { person, amr, signedInAtMs: parts.clock() };
  const ofChange = await missingOfChange(parts, signedIn, change);
  if (ofChange?.step !== 'second') return ofPolicy;
  if (ofPolicy?.step !== 'second') return ofChange;
  const level = Math.max(ofPolicy.level, ofChange.level) as Level;
  return { step: 'second', level, takesRecovery: ofPolicy.takesRecovery && ofChange.takesRecovery };
}

async function missingOfPolicy(
  parts: PageParts,
  person: Person,
  amr: readonly string[],
  purpose: Purpose,
): Promise<MissingStep | undefined> {
  const { signInPolicy, consoleSignInPolicy, groups, passkeys } = parts;
  const level = levelOf(amr);
  const [has, ofGroups] = await Promise.all([factorsOf(parts, person), groups.policiesOf(person.subject)]);
  const reachable = reachableLevel(has);
  // A further passkey would not count either, as long as those that the user has do not.
  const isWaiting = has.passkeys > 0 && !has.passkeyCounts;
  const highest = passkeys === undefined || isWaiting ? MULTI_FACTOR : PHISHING_RESISTANT;
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
