import { ConfigurationError } from '@grantd/core/internal/http/errors';
import { anyTexts, anyValue, type KindsOf, requireKinds } from '@grantd/core/internal/option_kinds';
import type { Claims } from '@grantd/core/internal/protocol/claims';
import { requireAudience } from './issuer_metadata.ts';
import {
  type AccessTokens,
  answerOf,
  isMeantFor,
  refusedToken,
  requireTokenLength,
  type VerifiedAccessToken,
  verifiedAccessToken,
} from './verified_access_token.ts';

/** What is used of an `AuthorizationServer`. */
export interface EmbeddedServer {
  readonly accessTokens: {
    verify(token: string): Promise<{
      readonly record: {
        readonly clientId: string;
        readonly scopes: readonly string[];
        /** Seconds. */
        readonly expiresAt: number;
      };
      readonly claims: Claims;
    }>;
  };
}

export interface EmbeddedAccessTokensOptions {
  /** The authorization server, where it is in the same process. */
  readonly server: EmbeddedServer;
  /** What tokens for this API have in `aud`; of several, one has to be there. */
  readonly audience: string | readonly string[];
}

const EMBEDDED_OPTIONS: KindsOf<EmbeddedAccessTokensOptions> = { server: anyValue, audience: anyTexts };

/**
 * Checks access tokens of any format by the authorization server itself, where the API is in its process: no request is
 * sent, no credentials are needed, and a revocation is seen by the next request.
 */
export class EmbeddedAccessTokens implements AccessTokens {
  readonly #server: EmbeddedServer;
  readonly #audience: readonly string[];

  /** @throws {ConfigurationError} an option does not fit */
  constructor(options: EmbeddedAccessTokensOptions) {
    requireKinds(options, EMBEDDED_OPTIONS);
    if (typeof options.server?.accessTokens?.verify !== 'function')
      throw new ConfigurationError('server', 'an AuthorizationServer');
    this.#server = options.server;
    this.#audience = requireAudience(options.audience);
  }

  async verify(token: string): Promise<VerifiedAccessToken> {
    requireTokenLength(token);
    const { record, claims } = await answerOf(this.#server.accessTokens.verify(token));
    if (!isMeantFor(this.#audience, claims.aud)) throw refusedToken('audience_wrong');
    // It is bound to a key (RFC 7800 §3.1): whoever merely bears it has shown nothing.
    if (claims.cnf !== undefined) throw refusedToken('wrong_type');
    const { clientId, scopes, expiresAt } = record;
    const scope = scopes.length > 0 && { scope: scopes.join(' ') };
    // A copy, since it is frozen, and storage may keep what the claims hold.
    return verifiedAccessToken(structuredClone({ ...claims, client_id: clientId, ...scope, exp: expiresAt }));
  }
}
