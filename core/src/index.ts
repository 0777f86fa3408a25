/** `@grantd/core`: the public names. Stores, the kit and adapters have entry points of their own. */
export { AuthorizationServer } from './authorization_server.ts';
export type {
  AuthorizationServerOptions,
  OidcOptions,
  RegistrationOptions,
} from './authorization_server_options.ts';
export type { Approval } from './endpoints/authorization/approval.ts';
export type { AuthorizationRequest } from './endpoints/authorization/authorization_request.ts';
export type { AuthorizationRefusal } from './endpoints/authorization/authorization_response.ts';
export type { EndpointPaths, GetUserClaims, IntrospectionPolicy } from './endpoints/context.ts';
export { hostShown } from './endpoints/delivery_pages.ts';
export { errorResponse } from './endpoints/error_response.ts';
export type { Operation, ServerEvent } from './endpoints/events.ts';
export type { Explanation } from './endpoints/explanation.ts';
export { GRANT_TYPES } from './endpoints/grants/grants.ts';
export type { IntrospectionQuery, IntrospectionResult } from './endpoints/introspection.ts';
export { anyClientPolicy, audiencePolicy } from './endpoints/introspection_policy.ts';
export type { LogoutRequest } from './endpoints/logout/logout_request.ts';
export type { EndedSession, LogoutDelivery, LogoutOutcome } from './endpoints/logout/notification.ts';
export type { AuthorizationClient } from './endpoints/named_client.ts';
export { type IssuedByOperator, type OperatorIssue, OperatorIssueError } from './endpoints/operator_issue.ts';
export {
  type ClientDocument,
  type ClientIdentity,
  documentOf,
  type MemberName,
} from './endpoints/registration/client_document.ts';
export {
  ClientMetadataError,
  type ClientMetadataErrorCode,
} from './endpoints/registration/client_metadata_error.ts';
export type { InitialAccessOrder } from './endpoints/registration/initial_access_token.ts';
export type { MetadataKind } from './endpoints/registration/metadata_kinds.ts';
export { METADATA_MEMBERS, type MetadataMember } from './endpoints/registration/metadata_members.ts';
export { FETCHED_MEMBERS, unreadableNameOf } from './endpoints/registration/metadata_rules.ts';
export type { OpenTo } from './endpoints/registration/registration_settings.ts';
export type { RevocationOrder, RevocationResult } from './endpoints/revocation.ts';
export type { TokenTypeHint } from './endpoints/token_type_hint.ts';
export { DEFAULT_PATHS, isIssuer } from './options.ts';
export { authenticationMethodsOf, isConfidential } from './protocol/authentication_method.ts';
export { type Claims, type ClaimsByScope, STANDARD_CLAIMS_BY_SCOPE } from './protocol/claims.ts';
export type { ClaimRequest, ClaimsRequest } from './protocol/claims_request.ts';
export * from './protocol/client_metadata.ts';
export { isLiveSecret, rotatedSecrets, type SecretRotation } from './protocol/client_secrets.ts';
export { unreadableName } from './protocol/display_name.ts';
export type { Clock, RandomSource } from './protocol/environment.ts';
export {
  DOCUMENT_LIMITS,
  DocumentError,
  type DocumentOutcome,
  type FetchDocument,
  type FetchedDocument,
  type OutgoingRequest,
} from './protocol/fetch_document.ts';
export { type Form, readForm } from './protocol/form.ts';
export {
  type BrowserDelivery,
  type HttpConnection,
  type HttpRequest,
  type HttpResponse,
  headerValue,
  type ParsedForm,
  pathOf,
  queryOf,
} from './protocol/http.ts';
export { withoutBearers } from './protocol/loggable.ts';
export {
  ConfigurationError,
  ERROR_STATUS,
  type ErrorCode,
  OAuthError,
  StorageFault,
} from './protocol/oauth_error.ts';
export { type Preference, preferencesOf } from './protocol/preferences.ts';
export { PROMPTS, type Prompt } from './protocol/prompt.ts';
export {
  INACTIVE_REASONS,
  type InactiveReason,
  REFUSAL_REASONS,
  type ReasonCode,
  type RefusalReason,
} from './protocol/reasons.ts';
export * from './protocol/records.ts';
export { isRegistrableRedirectUri, redirectUriMatches } from './protocol/redirect_uri.ts';
export { LONGEST_PARAMETERS, MAX_BODY_BYTES } from './protocol/request_limits.ts';
export { RESPONSE_MODES, type ResponseMode } from './protocol/response_mode.ts';
export { isPersonalScope, isScopeToken } from './protocol/scope.ts';
export {
  ACCEPTED_ALGORITHMS,
  SIGNING_ALGORITHMS,
  type SigningAlgorithm,
} from './protocol/signing_algorithm.ts';
export { requireClientRecord } from './storage/client_record.ts';
export type {
  AdministrableStorage,
  ApiNames,
  AuthorizationCodeRepository,
  Awaitable,
  ClientRegistry,
  ClientRepository,
  Found,
  IssueBasis,
  IssueOutcome,
  KeyRepository,
  MigrationAssumption,
  NewClient,
  OneTimeIdentifiers,
  PrincipalState,
  PushedRequestRepository,
  RevocationTarget,
  Storage,
  TokenRepository,
} from './storage/contract.ts';
export type { FormerToken } from './storage/former_records.ts';
export type { FormerTokenRepository } from './storage/former_tokens.ts';
export { type SweepOptions, sweep } from './storage/sweep.ts';
export type { AccessTokenVerifier } from './tokens/access_token_verifier.ts';
export {
  type ApplicationClaim,
  type ApplicationClaims,
  CLAIM_PLACES,
  type ClaimPlace,
  type ClaimsOccasion,
  PROTECTED_CLAIMS,
} from './tokens/application_claims.ts';
export type { Lifetimes, SubjectState } from './tokens/context.ts';
export type { FoundToken } from './tokens/find.ts';
export type { FormerTokenName } from './tokens/former_jwts.ts';
export type { FormerKey } from './tokens/former_keys.ts';
export type { FormerTokens } from './tokens/former_token_options.ts';
export type { IdTokenHint } from './tokens/id_token_hint.ts';
export type { JwtRefusal, JwtService, JwtSigning, SignedJwt, VerifiedJwt } from './tokens/jwt_service.ts';
export { opaqueKindOf } from './tokens/opaque_token.ts';
export type { DependentsOfSecret, SecretDependents } from './tokens/secret_dependents.ts';
export { type SecretUse, ServerSecret } from './tokens/server_secret.ts';
export { SigningKeyTooYoung } from './tokens/signing_keys.ts';
export { hasPairwiseSubjects, type SubjectAudience, sectorOf } from './tokens/subject_identifier.ts';
