/** `@grantd/protect`: for APIs that accept access tokens. The `protect` of each framework has its own entry point. */
export { ConfigurationError, OAuthError } from '@grantd/core/internal/http/errors';
export {
  AccessTokenFollower,
  type AccessTokenFollowerOptions,
  type FollowerStatus,
} from './access_token_follower.ts';
export type { CacheOptions } from './access_token_introspector.ts';
export {
  AccessTokenIntrospector,
  type AccessTokenIntrospectorOptions,
} from './access_token_introspector.ts';
export { AccessTokenVerifier, type AccessTokenVerifierOptions } from './access_token_verifier.ts';
export type { DpopOptions } from './dpop.ts';
export {
  EmbeddedAccessTokens,
  type EmbeddedAccessTokensOptions,
  type EmbeddedServer,
} from './embedded_access_tokens.ts';
export type { IntrospectionCredentials } from './introspection_credentials.ts';
export type { Fetch, RequestOptions } from './issuer_metadata.ts';
export type { ProtectionOptions } from './protection.ts';
export type { AccessTokens, VerifiedAccessToken } from './verified_access_token.ts';
export { AuthorizationServerFault } from './verified_access_token.ts';
