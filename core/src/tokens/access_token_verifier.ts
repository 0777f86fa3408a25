import { OAuthError } from '../protocol/oauth_error.ts';
import type { InactiveReason } from '../protocol/reasons.ts';
import type { TokenContext } from './context.ts';
import { type FoundToken, findToken } from './find.ts';
import { lifeOf } from './state.ts';

/**
 * Verifies access tokens that this server issued: signature by the pinned algorithm, `typ`, issuer, record, life.
 * There is no audience check: every access token of this issuer is accepted.
 */
export class AccessTokenVerifier {
  readonly #context: TokenContext;

  constructor(context: TokenContext) {
    this.#context = context;
  }

  /**
   * @returns the token's record and verified claims
   * @throws {OAuthError} `invalid_token` (RFC 6750 §3.1)
   */
  async verify(token: string): Promise<FoundToken> {
    const found = await findToken(this.#context, token);
    if (found.isPlainJwt) throw refused('wrong_type'); // the typ header must be at+jwt
    if ('reason' in found) throw refused(found.reason);
    if (found.record.kind !== 'access_token') throw refused('wrong_type');
    if (found.claims.exp === undefined) throw refused('malformed'); // RFC 9068 §2.2; a host's own JWT
    const life = await lifeOf(this.#context, found.record, found.claims);
    if (!life.alive) throw refused(life.reason);
    return found;
  }
}

/** What the bearer may know; everything else is one answer. */
function refused(reason: InactiveReason): OAuthError {
  return new OAuthError('invalid_token', DESCRIPTIONS[reason] ?? 'the access token is not valid', { reason });
}

const DESCRIPTIONS: Partial<Record<InactiveReason, string>> = {
  malformed: 'the access token is malformed',
  wrong_type: 'the token is not an access token',
  wrong_issuer: 'the access token is from another issuer',
  expired: 'the access token is expired',
  revoked: 'the access token is revoked',
  grant_revoked: 'the access token is revoked',
  session_revoked: 'the access token is revoked',
  subject_revoked: 'the access token is revoked',
  subject_disabled: 'the access token is revoked',
  client_revoked: 'the access token is revoked',
  client_disabled: 'the access token is revoked',
  client_gone: 'the access token is revoked',
  issued_before_cutoff: 'the access token is revoked',
  no_record: 'the access token is revoked or unknown',
};
