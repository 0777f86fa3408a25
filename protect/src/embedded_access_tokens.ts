// Checks access tokens with an authorization server in the same process.
import type { TokenScheme } from '@grantd/core/internal/http/bearer';
import { ConfigurationError } from '@grantd/core/internal/http/errors';
import type { Claims } from '@grantd/core/internal/protocol/claims';
import { anyTexts, anyValue, type KindsOf, requireKinds } from '@grantd/core/internal/protocol/option_kinds';
import { requireAudience } from './issuer_metadata.ts';
import {
  type AccessTokens,
  answerOf,
  isMeantFor,
  refusedToken,
  requireBinding,
  requireTokenLength,
  type VerifiedAccessToken,
  verifiedAccessToken,
} from './verified_access_token.ts';

/** The members of an `AuthorizationServer` that are used. */
export interface EmbeddedServer {
  readonly issuer?: string;
  readonly accessTokens: {
    verify(
      token: string,
      scheme?: TokenScheme,
      certificate?: string,
    ): Promise<{
      readonly record: {
        /** What the token is bound to (RFC 7800 §3.1). */
        readonly confirmation?: object;
        readonly clientId: string;
        readonly scopes: readonly string[];
        /** Seconds since 1970. */
        readonly expiresAt: number;
      };
      readonly claims: Claims;
    }>;
  };
}

export interface EmbeddedAccessTokensOptions {
  /** The authorization server in the same process. */
  readonly server: EmbeddedServer;
  /** Audience (`aud`) of this API. If there are several, a token needs one of them. */
  readonly audience: string | readonly string[];
}

const EMBEDDED_OPTIONS: KindsOf<EmbeddedAccessTokensOptions> = { server: anyValue, audience: anyTexts };

/**
 * Checks access tokens of any format with an authorization server in the same process. It needs no HTTP request and no
 * credentials, and notices revocations at once.
 * @example
 * const tokens = new EmbeddedAccessTokens({ server, audience: 'https://api.example' });
 * app.use(protect({ tokens, scopes: ['read'] }));
 */
export class EmbeddedAccessTokens implements AccessTokens {
  readonly #server: EmbeddedServer;
  readonly #audience: readonly string[];

  /** @throws {ConfigurationError} an option is wrong; the message names it */
  constructor(options: EmbeddedAccessTokensOptions) {
    requireKinds(options, EMBEDDED_OPTIONS);
    if (typeof options.server?.accessTokens?.verify !== 'function')
      throw new ConfigurationError('server', 'an AuthorizationServer');
    this.#server = options.server;
    this.#audience = requireAudience(options.audience);
  }

  get accepts(): NonNullable<AccessTokens['accepts']> {
    return { issuer: this.#server.issuer, audience: this.#audience };
  }

  async verify(
    token: string,
    scheme: TokenScheme = 'Bearer',
    certificate?: string,
  ): Promise<VerifiedAccessToken> {
    requireTokenLength(token);
    const { record, claims } = await answerOf(this.#server.accessTokens.verify(token, scheme, certificate));
    if (!isMeantFor(this.#audience, claims.aud)) throw refusedToken('audience_wrong');
    const { clientId, scopes, expiresAt, confirmation } = record;
    const scope = scopes.length > 0 && { scope: scopes.join(' ') };
    // A copy, because the result is frozen and storage may share the claims.
    const binding = confirmation !== undefined && { cnf: confirmation };
    const copied = structuredClone({ ...claims, client_id: clientId, ...scope, ...binding, exp: expiresAt });
    return requireBinding(verifiedAccessToken(copied), scheme, certificate);
  }
}
