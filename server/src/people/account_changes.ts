// Which sign-in a change of an account needs (ADR 125, docs/passkeys.md). The one rule for every page and operation with
// which users change how they sign in, or get at what that protects.

import { type FactorsNow, levelOf, restsOnRecovery } from '../access/acr.ts';
import { type Level, MULTI_FACTOR, PASSWORD, PHISHING_RESISTANT } from '../config/acr.ts';

/** Milliseconds for which a sign-in is recent. */
export const RECENT_MS = 10 * 60 * 1000;

/** What users change on the pages of their account. Ending sessions or the access of an application is none of these. */
export const ACCOUNT_CHANGES = {
  /** Adds or removes a passkey or an app, or makes recovery codes. */
  factors: { takesRecovery: true, asksPassword: false },
  password: { takesRecovery: false, asksPassword: true },
  /** Asks for a link to a new address. */
  email_link: { takesRecovery: false, asksPassword: true },
  email: { takesRecovery: false, asksPassword: false },
  /** Adds or removes an account at a provider. */
  links: { takesRecovery: false, asksPassword: false },
  export: { takesRecovery: false, asksPassword: false },
  /** Makes a personal access token, or shows a new one. */
  personal_token: { takesRecovery: false, asksPassword: false },
  removal: { takesRecovery: false, asksPassword: true },
} as const satisfies Record<
  string,
  {
    /** Whether a recovery code counts as much as the factor that it replaces. */
    readonly takesRecovery: boolean;
    /** Whether the form asks for the password, so that the password at least is shown now. */
    readonly asksPassword: boolean;
  }
>;

export type AccountChange = keyof typeof ACCOUNT_CHANGES;

/** What a user has. */
export interface AccountHas extends FactorsNow {
  /** Whether the server has their password. */
  readonly hasPassword: boolean;
}

/** What a user has shown in a session. */
export interface ShownSignIn {
  readonly amr: readonly string[];
  /** Milliseconds since the sign-in. */
  readonly ageMs: number;
}

/** What a change lacks. */
export type MissingForChange =
  /** The sign-in is too old, or of no use for the change. */
  | { readonly step: 'sign_in' }
  | { readonly step: 'second'; readonly level: Level; readonly takesRecovery: boolean }
  /** Nothing that the user has counts yet: they wait, or ask the operator. */
  | { readonly step: 'wait' };

/** The level that a change needs: the highest that the factors reach which count, or reached before a recovery. */
export function neededLevel({ passkeyCounts, totpCounts, heldLevel }: FactorsNow): Level {
  return Math.max(countingLevel({ passkeyCounts, totpCounts }), heldLevel) as Level;
}

/** The highest level that the user can show with factors that count. */
function countingLevel({ passkeyCounts, totpCounts }: Pick<FactorsNow, 'passkeyCounts' | 'totpCounts'>) {
  if (passkeyCounts) return PHISHING_RESISTANT;
  return totpCounts ? MULTI_FACTOR : PASSWORD;
}

/**
 * What a change lacks: a recent sign-in at the highest level that the user’s factors reach (NIST SP 800-63B §4.1.2.1).
 * @returns `undefined` if the user may make the change now
 */
export function missingForChange(
  change: AccountChange,
  has: AccountHas,
  { amr, ageMs }: ShownSignIn,
): MissingForChange | undefined {
  const { takesRecovery, asksPassword } = ACCOUNT_CHANGES[change];
  const needed = neededLevel(has);
  const isRecent = ageMs <= RECENT_MS;
  const isRecovery = restsOnRecovery(amr);
  const isEnough = isRecovery ? takesRecovery : levelOf(amr) >= needed;
  if (isEnough) {
    const isShownNow = asksPassword && has.hasPassword && needed === PASSWORD;
    return isRecent || isShownNow ? undefined : { step: 'sign_in' };
  }
  const counting = countingLevel(has);
  const hasUncounted = (has.passkeys > 0 && !has.passkeyCounts) || (has.hasTotp && !has.totpCounts);
  const canRecover = takesRecovery && (has.recoveryCodes > 0 || hasUncounted);
  if (counting < needed && !canRecover) return { step: 'wait' };
  // Without a factor, only another sign-in does not rest on the recovery code.
  if (!isRecent || needed === PASSWORD) return { step: 'sign_in' };
  return { step: 'second', level: needed, takesRecovery };
}
