// Requirements on how and when the user signed in. § refers to RFC 9470.

import { OAuthError } from '@grantd/core/internal/http/errors';
import { type Clock, secondsOf } from '@grantd/core/internal/platform/environment';
import type { VerifiedAccessToken } from './verified_access_token.ts';

export interface StepUpOptions {
  /**
   * Accepted authentication context classes (`acr`), in order of preference; the sign-in needs one of them (RFC 9470
   * §3). Default: any, or none.
   */
  readonly acr?: readonly string[];
  /**
   * Maximum seconds since the user signed in (`auth_time`), from 1 to ten years (RFC 9470 §3). Default: no limit. Tokens
   * without a sign-in, such as those of `client_credentials`, are refused.
   */
  readonly maxAge?: number;
}

/** Whether a class can be in a challenge, where spaces separate them. */
export function isContextClass(acr: string): boolean {
  return /^[\x21-\x7E]+$/.test(acr);
}

const INSUFFICIENT = 'insufficient_user_authentication';

export class SignInRequirements {
  readonly #acr: readonly string[] | undefined;
  readonly #maxAge: number | undefined;
  readonly #clock: Clock;

  constructor({ acr, maxAge }: StepUpOptions, clock: Clock) {
    this.#acr = acr;
    this.#maxAge = maxAge;
    this.#clock = clock;
  }

  /**
   * Requires that the user of the token has signed in as the API demands (§3).
   * @param missingScope the scope that the token lacks besides, so that the client asks for everything at once
   * @throws {OAuthError} `insufficient_user_authentication`, with all requirements, met or not
   */
  check({ claims, clientId }: VerifiedAccessToken, missingScope: string | undefined): void {
    const requirements = { scope: missingScope, acrValues: this.#acr, maxAge: this.#maxAge, clientId };
    if (!this.#isOfClass(claims.acr))
      throw new OAuthError(INSUFFICIENT, 'a different authentication level is required', {
        reason: 'acr_unmet',
        ...requirements,
      });
    if (!this.#isRecent(claims.auth_time))
      throw new OAuthError(INSUFFICIENT, 'more recent authentication is required', {
        reason: 'sign_in_too_old',
        ...requirements,
      });
  }

  #isOfClass(acr: unknown): boolean {
    return this.#acr?.some((accepted) => accepted === acr) ?? true;
  }

  #isRecent(authTime: unknown): boolean {
    if (this.#maxAge === undefined) return true;
    if (typeof authTime !== 'number' || !Number.isFinite(authTime)) return false;
    return secondsOf(this.#clock()) - authTime <= this.#maxAge;
  }
}
