/** `@grantd/core`: the public names. Stores, the kit and adapters have entry points of their own. */

export type { Approval } from './authorization/approval.ts';
export type { AccessRequest, AuthorizationRequest } from './authorization/authorization_request.ts';
export type { AuthorizationRefusal } from './authorization/authorization_response.ts';
export {
  authenticationMethodsOf,
  hasSecret,
  isConfidential,
  usableSecrets,
} from './clients/authentication.ts';
export {
  type AuthorizationClient,
  type DpopNonces,
  isUnchecked,
  type MayUseClient,
} from './clients/client.ts';
export {
  type DeviceAuthorization,
  type DeviceAuthorizationOptions,
  type DeviceOperations,
  type DeviceRequest,
  deviceAuthorization,
} from './device/device_authorization.ts';
export {
  type ExchangeForUser,
  type TokenExchange,
  type TokenExchangeOptions,
  tokenExchange,
} from './exchange/token_exchange.ts';
export type { TokenScheme } from './http/bearer.ts';
export { hostShown } from './http/browser_delivery.ts';
export { DEFAULT_PATHS, type EndpointPaths, type Operation } from './http/endpoint_names.ts';
export { errorResponse } from './http/error_response.ts';
export {
  ConfigurationError,
  type ErrorCode,
  type InactiveReason,
  OAuthError,
  type ReasonCode,
  type RefusalReason,
  StorageFault,
  withoutBearers,
} from './http/errors.ts';
export type { ServerEvent } from './http/events.ts';
export {
  DOCUMENT_LIMITS,
  DocumentError,
  type DocumentOutcome,
  type FetchDocument,
  type FetchedDocument,
  type OutgoingRequest,
} from './http/fetch_document.ts';
export { type Form, readForm } from './http/form.ts';
export {
  type BrowserDelivery,
  type ClientCertificate,
  type HttpRequest,
  type HttpResponse,
  headerValue,
  MAX_BODY_BYTES,
  type ParsedForm,
  type Preference,
  pathOf,
  preferencesOf,
  queryOf,
} from './http/http.ts';
export type { IntrospectionOptions, IntrospectionResult } from './introspection/introspection.ts';
export type { LogoutRequest } from './logout/logout.ts';
export type { EndedSession, LogoutDelivery, LogoutOutcome } from './logout/notification.ts';
export type { Explanation } from './operator/explanation.ts';
export { type IssuedByOperator, type OperatorIssue, OperatorIssueError } from './operator/operator_issue.ts';
export type {
  AuthorizationServerOptions,
  OidcOptions,
  RegistrationOptions,
} from './options/authorization_server_options.generated.ts';
export { isIssuer } from './options/options.ts';
export type { Clock, RandomSource } from './platform/environment.ts';
export {
  type AcceptedServer,
  type PreviousServer,
  type PreviousTokenRepository,
  previousServer,
} from './previous_server/previous_jwts.ts';
export type { PreviousToken } from './previous_server/previous_tokens.ts';
export type {
  AuthorizationDetail,
  AuthorizationDetails,
  NarrowDetail,
} from './protocol/authorization_details.ts';
export type {
  Prompt,
  ResponseMode,
} from './protocol/authorization_parameters.ts';
export {
  type ClaimRequest,
  type Claims,
  type ClaimsByScope,
  type ClaimsRequest,
  type Confirmation,
  type EndingConcern,
  endingKey,
  endingText,
  STANDARD_CLAIMS_BY_SCOPE,
} from './protocol/claims.ts';
export {
  type ClientDocument,
  type ClientMetadata,
  type IdentityAssertionPolicy,
  isFetched,
  isMemberName,
  type LocalizedMember,
  MEMBER_NAMES,
  type MemberName,
  type MetadataKind,
  type MetadataMember,
  memberOf,
  withoutTag,
} from './protocol/client_members.ts';
export {
  type AssertionAlgorithm,
  type AssertionAudience,
  type AuthenticationMethod,
  CLIENT_ALGORITHMS,
  type ClientAlgorithm,
  DEVICE_GRANT,
  type EncryptionAlgorithm,
  EXCHANGE_GRANT,
  GRANT_TYPES,
  type GrantType,
  hasResource,
  isSameResource,
  JWT_BEARER_GRANT,
  lowerCaseSpellings,
  normalResource,
  type ProfileName,
  SIGN_IN_POLICIES,
  SIGNING_ALGORITHMS,
  type SigningAlgorithm,
  type TokenFormat,
} from './protocol/client_metadata.ts';
export {
  type Act,
  type ActType,
  type AuditOptions,
  EVENT_TYPES,
  type EventFacts,
  type EventOrigin,
  type EventRecord,
  type EventType,
} from './protocol/event_records.ts';
export type { NewPendingRow, PendingKind, PendingRow } from './protocol/pending.ts';
export {
  ASSERTED_SESSION,
  isLiveSecret,
  PERSONAL,
  rotatedSecrets,
  type SecretRotation,
  storedLife,
} from './protocol/record_rules.ts';
export type {
  Ancestor,
  ApiRecord,
  AuthorizationCodeRecord,
  ClientRecord,
  ClientSecretRecord,
  GrantRecord,
  KeyRecord,
  NewAuthorizationCode,
  NewToken,
  Principal,
  Standing,
  TokenKind,
  TokenRecord,
  UsableGrant,
} from './protocol/records.ts';
export type { InitialAccessOrder } from './registration/admission.ts';
export {
  type ClientIdentity,
  ClientMetadataError,
  type ClientMetadataErrorCode,
  type DocumentPlace,
  documentOf,
  documentPlace,
  METADATA_PROBLEMS,
  type MetadataProblem,
  signingAlgorithmsOf,
} from './registration/client_document.ts';
export {
  type ClientDocumentOptions,
  type ClientDocuments,
  clientDocuments,
  type DocumentDenials,
} from './registration/client_documents.ts';
export { unreadableName, unreadableNameOf } from './registration/metadata_rules.ts';
export type { IntrospectionPolicy, OpenTo } from './request/context.ts';
export type { RevocationOptions, RevocationResult } from './revocation/revocation.ts';
export { AuthorizationServer } from './server/authorization_server.ts';
export type {
  AdministrableClients,
  AdministrableStorage,
  AliveCount,
  AliveToken,
  AliveTokens,
  ApiNames,
  AuthorizationCodeRepository,
  AuthorizingStorage,
  Awaitable,
  ClientRegistry,
  ClientRepository,
  ContinuationOutcome,
  Found,
  HostClient,
  HostToken,
  IssueBasis,
  IssueOutcome,
  IssuingClientRepository,
  IssuingStorage,
  IssuingTokenRepository,
  KeyRepository,
  MigrationAssumption,
  NewClient,
  OneTimeIdentifiers,
  OneTimeUse,
  PendingRepository,
  PrincipalState,
  RedemptionOutcome,
  RevocationTarget,
  Storage,
  StorageCache,
  StoredId,
  StoredScopes,
  StoredTime,
  TokenKey,
  TokenName,
  TokenRepository,
} from './storage/contract.ts';
export { unguarded } from './storage/faults.ts';
export { MissingGroup, STORAGE_GROUPS, type StorageGroup } from './storage/groups.ts';
export { type SweepOptions, sweep, sweepRegistrations, type UnusedRegistrations } from './storage/sweep.ts';
export {
  type ApplicationClaim,
  type ApplicationClaims,
  type ClaimPlace,
  type ClaimsOccasion,
  PROTECTED_CLAIMS,
} from './tokens/application_claims.ts';
export type {
  AuthorizationDetailsSettings,
  AuthorizationDetailsType,
  DetailsTypes,
  EnrichmentOccasion,
  JsonSchema,
} from './tokens/authorization_details.ts';
export type { FoundToken, GetUserClaims, Lifetimes, SubjectState } from './tokens/context.ts';
export {
  type JwtRefusal,
  type JwtService,
  type JwtSigning,
  type JwtVerifier,
  PUBLIC_CACHE_SECONDS,
  type SignedJwt,
  type VerifiedJwt,
} from './tokens/jwt_service.ts';
export {
  type FindVerificationKey,
  jwtVerifier,
  type VerificationKey,
  type VerificationKeys,
} from './tokens/jwt_verifier.ts';
export { newOpaque, newTimedIdentifier } from './tokens/opaque_token.ts';
export {
  type DependentsOfSecret,
  type SecretDependents,
  type SecretUse,
  ServerSecret,
} from './tokens/server_secret.ts';
export type { AccessTokenVerifier, IdTokenHint, TokenTypeHint } from './tokens/state.ts';
export { type SubjectAudience, sectorOf } from './tokens/subject_identifier.ts';
export {
  type ClaimPatterns,
  type TrustedClient,
  type TrustedGrant,
  type TrustedIssuer,
  type TrustedIssuers,
  trustedIssuers,
} from './trust/trusted_issuers.ts';
