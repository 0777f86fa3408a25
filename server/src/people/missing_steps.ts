// What a sign-in or a change of the account still lacks, by the policies of this server and the factors of the user.
import type { AccessRequest } from '@grantd/core';
import {
  type AcrRequest,
  type FactorsNow,
  factorsNow,
  levelOf,
  type MissingStep,
  missingStep,
  NO_ACR,
  reachableLevel,
  strictestOf,
  usesEmailCode,
} from '../access/acr.ts';
import { type Level, MULTI_FACTOR, PHISHING_RESISTANT, type SignInPolicy } from '../config/acr.ts';
import type { Factors } from '../data/factors.ts';
import type { Groups } from '../data/groups.ts';
import type { Person } from '../data/people.ts';
import { type AccountChange, type MissingForChange, missingForChange, RECENT_MS } from './account_changes.ts';
import type { OwnPasswords } from './own_passwords.ts';

interface Needs {
  readonly factors: Pick<Factors, 'of'>;
  /** Whether browsers can use passkeys at this server. */
  readonly hasPasskeys: boolean;
  readonly passwords: Pick<OwnPasswords, 'has'>;
  readonly groups: Pick<Groups, 'policiesOf'>;
  /** The policy of the server. Clients and groups can need more. */
  readonly signInPolicy: SignInPolicy;
  /** Applies to the console together with `signInPolicy`. */
  readonly consoleSignInPolicy: SignInPolicy;
  /** Whether a user may have signed in with a code by email. */
  readonly takesEmailCode: (person: Person) => boolean;
  readonly clock: () => number;
}

/** What a user has shown in a session. */
interface SignedIn {
  readonly person: Person;
  readonly amr: readonly string[];
  readonly signedInAtMs: number;
}

/** What a sign-in is for: an application, or a page of this server. */
type Purpose =
  | { readonly authorization: AccessRequest }
  | { readonly pending: { readonly page: string; readonly change?: AccountChange } };

export class MissingSteps {
  readonly #needs: Needs;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  isFresh({ signedInAtMs }: Pick<SignedIn, 'signedInAtMs'>): boolean {
    return this.#needs.clock() - signedInAtMs <= RECENT_MS;
  }

  /**
   * What a change of the account lacks; `undefined` if the user may make it now.
   * @param atMs when the change began, if it has led through another site since
   */
  async ofChange(
    { person, amr, signedInAtMs }: SignedIn,
    change: AccountChange,
    atMs = this.#needs.clock(),
  ): Promise<MissingForChange | undefined> {
    if (!this.takes({ amr, person })) return { step: 'sign_in' };
    const has = { ...(await this.#factorsOf(person)), hasPassword: this.#needs.passwords.has(person) };
    return missingForChange(change, has, { amr, ageMs: atMs - signedInAtMs });
  }

  /** Whether the first step of a sign-in still counts. The user may have lost the right to codes by email since. */
  takes({ amr, person }: Pick<SignedIn, 'amr' | 'person'>): boolean {
    return !usesEmailCode(amr) || this.#needs.takesEmailCode(person);
  }

  /** Whether a visit to an account page needs another sign-in, and not only a further step. */
  async needsSignIn(
    session: SignedIn,
    { isFresh, change }: { readonly isFresh?: true; readonly change?: AccountChange },
  ): Promise<boolean> {
    if ((isFresh === true && !this.isFresh(session)) || !this.takes(session)) return true;
    return change !== undefined && (await this.ofChange(session, change))?.step === 'sign_in';
  }

  /**
   * What a sign-in lacks, by its purpose and the strictest policy of this server, the client or console, and the user’s
   * groups; `undefined` if it lacks nothing. Reads the groups each time, so that a new policy holds for existing sessions.
   * If the user wants to change their account, it must also meet what the change needs. A phishing-resistant sign-in meets
   * every policy.
   * @param amr what the user has done so far
   */
  async of(person: Person, amr: readonly string[], purpose: Purpose): Promise<MissingStep | undefined> {
    const level = levelOf(amr);
    if (level === PHISHING_RESISTANT) return undefined;
    const ofPolicy = await this.#ofPolicy(person, level, purpose);
    const change = 'pending' in purpose ? purpose.pending.change : undefined;
    if (change === undefined) return ofPolicy;
    const ofChange = await this.ofChange({ person, amr, signedInAtMs: this.#needs.clock() }, change);
    if (ofChange?.step !== 'second') return ofPolicy;
    if (ofPolicy?.step !== 'second') return ofChange;
    const owed = Math.max(ofPolicy.level, ofChange.level) as Level;
    return { step: 'second', level: owed, takesRecovery: ofPolicy.takesRecovery && ofChange.takesRecovery };
  }

  async #ofPolicy(person: Person, level: Level, purpose: Purpose): Promise<MissingStep | undefined> {
    const { signInPolicy, consoleSignInPolicy, groups, hasPasskeys } = this.#needs;
    const [has, ofGroups] = await Promise.all([this.#factorsOf(person), groups.policiesOf(person.subject)]);
    const reachable = reachableLevel(has);
    // A further passkey would not count either, as long as those that the user has do not.
    const isWaiting = has.passkeys > 0 && !has.passkeyCounts;
    const highest = !hasPasskeys || isWaiting ? MULTI_FACTOR : PHISHING_RESISTANT;
    const [ofPurpose, request] =
      'authorization' in purpose
        ? [purpose.authorization.client.metadata?.sign_in_policy, acrRequestOf(purpose.authorization)]
        : [purpose.pending.page === 'console' ? consoleSignInPolicy : undefined, NO_ACR];
    const policy = strictestOf(signInPolicy, ofPurpose ?? 'password', ...ofGroups);
    return missingStep(policy, request, { level, reachable, highest });
  }

  /** What a user has now. */
  async #factorsOf({ subject }: Person): Promise<FactorsNow> {
    const { factors, hasPasskeys, clock } = this.#needs;
    return factorsNow(await factors.of(subject), hasPasskeys, clock());
  }
}

/** Classes are wishes, unless the claim `acr` is essential (OpenID Connect Core §5.5.1.1). */
function acrRequestOf({ claims, acrValues }: AccessRequest): AcrRequest {
  return claims?.id_token?.acr?.essential === true
    ? { required: acrValues, desired: [] }
    : { required: [], desired: acrValues };
}
