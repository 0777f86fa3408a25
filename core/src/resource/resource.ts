/** `@grantd/core/resource`: for APIs that take access tokens. Each framework's `protect` has an entry point of its own. */
export { ConfigurationError, OAuthError } from '../protocol/oauth_error.ts';
export {
  AccessTokenIntrospector,
  type AccessTokenIntrospectorOptions,
} from './access_token_introspector.ts';
export { AccessTokenVerifier, type AccessTokenVerifierOptions } from './access_token_verifier.ts';
export { AuthorizationServerFault } from './authorization_server_fault.ts';
export type { AskingOptions, Fetch } from './guarded_fetch.ts';
export type { IntrospectionCredentials } from './introspection_credentials.ts';
export type { ProtectionOptions } from './protection.ts';
export type { CacheOptions } from './active_tokens.ts';
export type { AccessTokens, VerifiedAccessToken } from './verified_access_token.ts';
