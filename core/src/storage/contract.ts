// The storage contract: what the server needs of a store, and what an administrator needs in addition.
// Long: authors of stores read their contract as one.
import type { HttpRequest, HttpResponse } from '../http/http.ts';
import type { CacheUse } from '../platform/cache.ts';
import type { Clock } from '../platform/environment.ts';
import type { Claims } from '../protocol/claims.ts';
import type { AuthenticationMethod, SigningAlgorithm } from '../protocol/client_metadata.ts';
import type { Act, EventRecord } from '../protocol/event_records.ts';
import type { NewPendingRow, PendingKind, PendingRow } from '../protocol/pending.ts';
import type {
  ApiRecord,
  AuthorizationCodeRecord,
  ClientRecord,
  ClientSecretRecord,
  KeyRecord,
  NewAuthorizationCode,
  NewToken,
  Principal,
  Standing,
  TokenKind,
  TokenRecord,
  UsableGrant,
} from '../protocol/records.ts';

/**
 * What the server needs of a store. `clients.get`, `tokens.getByAccessToken` and `tokens.revoke` are enough for
 * introspection, revocation and UserInfo. Everything else is in groups (`STORAGE_GROUPS`): a store has all methods of a
 * group or none of them, and without a group, the server lacks the operations that need it.
 *
 * A store remembers; it decides nothing and builds no responses. Each handle belongs to one issuer.
 *
 * - Return `undefined` or `null` if a record does not exist.
 * - Reject if the store is unavailable or the outcome of a write is unknown. The server then answers 503.
 * - Check and update in one atomic step. Return from a write only when it is durable.
 *
 * `storageKit()` checks a store against this contract.
 * @example
 * for (const { title, run } of storageKit()) test(title, () => run(subject));
 */
export interface Storage {
  readonly clients: ClientRepository;
  readonly tokens: TokenRepository;
  readonly authorizationCodes?: AuthorizationCodeRepository;
  /** Not needed if the host has its own `JwtService`. */
  readonly keys?: KeyRepository;
  /**
   * Needed for client assertions and pushed authorization requests. Without it, a user who goes back in the browser can
   * respond to an authorization request twice.
   */
  readonly oneTimeIdentifiers?: OneTimeIdentifiers;
  /** Needed for pushed authorization requests, with `oneTimeIdentifiers`. */
  readonly pending?: PendingRepository;
  /**
   * Returns when all tokens of a client or user were last revoked, and since when it is disabled. Returns nothing if it
   * never had a token and was never disabled or revoked. Needed for tokens of a previous server, which copied no generations,
   * and to end client assertions of trusted issuers with their client. One indexed read.
   */
  getPrincipalState?(principal: 'client' | 'subject', id: string): Found<PrincipalState>;
  /**
   * Set this if lookups return plain data exactly as the types say: no `null`, class instances or additional members,
   * and nothing that changes later. The server then uses records without a copy.
   */
  readonly answersPlainRecords?: true;
  /** Needed only if the store caches records in this process. */
  readonly cache?: StorageCache;
}

/** Storage of a server that issues tokens. */
export interface IssuingStorage extends Storage {
  readonly clients: IssuingClientRepository;
  readonly tokens: IssuingTokenRepository;
}

/** Storage of a server that also issues authorization codes. */
export interface AuthorizingStorage extends IssuingStorage {
  readonly authorizationCodes: AuthorizationCodeRepository;
}

/** The caches of a store. A cached record must never hide a revocation that has been answered, by any process. */
export interface StorageCache {
  /** Set this if the store can tell whether records are as they were. */
  readonly answers?: AnswerMemories;
  /** Limits how many tokens are cached. The server calls it when it is made, with its option `cachedTokens`. */
  limitTokens(most: number): void;
  /** Empties the caches: lookups that start afterwards read the database. */
  forgetCached(): Awaitable<void>;
}

export interface AnswerMemories {
  /**
   * Returns the answers of one server, which no other server gives.
   * @returns `undefined` if something else than the records that the store looks up decides answers
   */
  for(server: AnswerDeciders): AnswerMemory | undefined;
}

/**
 * Answers of introspection that a store remembers. It looks up their client and token each time, and gives an answer again
 * only if both have not changed.
 */
export interface AnswerMemory {
  /**
   * Returns the place of a request's answer, and the answer if it is there and true now.
   * @returns `undefined` if answers to such requests are not remembered
   */
  find(request: HttpRequest, clock: Clock): Promise<AnswerPlace | undefined>;
  /** @param nowMs milliseconds since 1970 */
  remember(key: string, answer: NewAnswer, nowMs: number): void;
}

/** What can decide answers of introspection: options of a server. */
export interface AnswerDeciders {
  readonly storage: Storage;
  readonly getSubjectState: unknown;
  readonly applicationClaims: unknown;
  readonly jwtService: unknown;
  readonly previousServer: unknown;
}

/** The place of a request's answer, with what was remembered there. */
export interface AnswerPlace {
  readonly key: string;
  readonly response?: HttpResponse;
  /** The client that asked. Absent if introspection is not authenticated. */
  readonly callerId?: string | undefined;
}

/** An answer about an active token. */
export interface NewAnswer {
  /** Status 200, JSON. */
  readonly response: HttpResponse;
  readonly caller: ClientRecord | undefined;
  readonly found: { readonly record: TokenRecord; readonly claims: Claims };
  /** As `onAccepted` of `authenticateClient` gets it; `Infinity` without authentication. */
  readonly untilMs: number | undefined;
}

/** How a store tells whether the two records of an answer are as they were. */
export interface RecordVersions {
  /**
   * The version of records that lookups have returned. Records with the same version are equal.
   * @returns `undefined` if the store cannot tell
   */
  of(token: TokenRecord, caller: ClientRecord | undefined): string | undefined;
  /** The version that these records have now, of lookups that begin after the call. */
  now(tokenId: string, callerId: string | undefined): Awaitable<string | undefined>;
}

export type Awaitable<T> = T | Promise<T>;
export type Found<T> = Awaitable<T | undefined | null>;

export interface ClientRepository {
  /** A disabled client is found, with `disabledAtMs`. */
  get(clientId: string): Found<HostClient>;
  /**
   * Whether a secret is that of a client, for stores with hashes of their own, such as bcrypt or argon2. If a store has
   * this method, the server hashes and compares no secrets itself. Only `true` accepts the secret.
   * @param client what `get` returned. `undefined` if the client is unknown or has no secret: the result does not count
   *   then, but the call should take as long as for a known client. The option `verifySecretForUnknownClients` turns
   *   these calls off.
   * @param secret at most 1,024 bytes
   */
  verifySecret?(client: HostClient | undefined, secret: string): Awaitable<boolean>;
  /**
   * Whether an enabled client has a redirect URI of this web origin. A store without it has no CORS: browsers cannot
   * call the endpoints from other origins.
   */
  hasRedirectOrigin?(origin: string): Awaitable<boolean>;
  /**
   * The enabled APIs that have one of these URIs, in any spelling (`isSameResource`), or declare one of these scopes
   * (RFC 8707 §2), in any order, each once. Indexed reads; `lowerCaseSpellings` helps. A store without it has no APIs: access tokens are for the default audience alone.
   */
  findApis?(named: ApiNames): Awaitable<readonly ApiRecord[]>;
  /**
   * Replaces the secrets of a client that has some, and raises its revision. Compare-and-set on the basis, as
   * `ClientRegistry.replace`. Needed to record when a secret was used, and to hash it again under a new server secret.
   * @returns `false` if nothing was replaced
   */
  replaceSecrets?(
    clientId: string,
    secrets: readonly ClientSecretRecord[],
    basis: ClientBasis,
  ): Awaitable<boolean>;
  /**
   * Records that a client that registered itself is in use until then: raises `usedUntil`, and never lowers it. The
   * client's revision stays. Needed to remove unused registrations.
   * @param until seconds since 1970
   */
  noteUse?(clientId: string, until: number): Awaitable<void>;
}

/** How many clients may register themselves. */
export interface RegistrationLimits {
  /** Clients that have registered themselves, that is, have a `registrationTokenDigest`. */
  readonly mostRegistered: number;
  /** Where the new client comes from, and how many may come from there. Stores keep the place, but not in the record. */
  readonly from?: { readonly place: string; readonly most: number };
}

/** The clients of a server that issues tokens. Their records say what they may have. */
export interface IssuingClientRepository extends ClientRepository {
  get(clientId: string): Found<ClientRecord>;
  hasRedirectOrigin(origin: string): Awaitable<boolean>;
}

/** The APIs that a request names. */
export interface ApiNames {
  readonly resources: readonly string[];
  readonly scopes: readonly string[];
}

/** Identifiers that can be used once, such as the `jti` of a client assertion (RFC 7523 §3). */
export interface OneTimeIdentifiers {
  /**
   * Marks an identifier as used. Atomic: of concurrent callers, one succeeds. A store that deletes identifiers by a clock
   * remembers the latest end of those that it has deleted, and refuses identifiers that end no later: they may have been
   * used before.
   * @param expiresAt seconds since 1970 until which it is remembered
   * @returns `false` if it was used before, or may have been
   */
  take(id: string, expiresAt: number): Awaitable<boolean>;
}

/** An identifier to be taken together with another change, as by `OneTimeIdentifiers.take`. */
export interface OneTimeUse {
  readonly id: string;
  /** Seconds since 1970 until which it is remembered. */
  readonly expiresAt: number;
}

/**
 * Rows that wait for their end, of every kind in `PENDING_KINDS`. A store knows a kind only by its name, and `data` as JSON.
 * Lookups return expired rows too, until they are swept.
 */
export interface PendingRepository {
  /** Stores a row with the version 0. @returns `false` if a row of its kind has its `id` or `otherId` */
  add(row: NewPendingRow): Awaitable<boolean>;
  get(kind: PendingKind, id: string): Found<PendingRow>;
  getByOtherId(kind: PendingKind, otherId: string): Found<PendingRow>;
  /** Removes a row and returns it. Atomic: of concurrent callers, one gets it. */
  take(kind: PendingKind, id: string): Found<PendingRow>;
  /**
   * Replaces `data` and `expiresAt` of a row, and raises its version. Compare-and-set: only if the stored row has the
   * version of the given one.
   * @returns `false` if nothing was replaced
   */
  change(row: PendingRow): Awaitable<boolean>;
}

/**
 * Outcome of storing tokens. `refused`: their basis is dead, disabled or gone, and nothing was stored. Tokens with
 * the same `pairId` or `familyId` belong to one grant. A store may reject other ties with a `TypeError`.
 */
export type IssueOutcome = 'issued' | 'refused';

/** Outcome of storing tokens upon a refresh token. */
export type ContinuationOutcome = IssueOutcome | 'superseded' | 'already_used';

/** Outcome of storing tokens upon a code. */
export type RedemptionOutcome = IssueOutcome | 'already_redeemed' | 'already_used';

export interface IssueBasis {
  /** As the caller read it; absent means 0. Issuance is refused if it has been raised since. */
  readonly clientGeneration?: number;
  /**
   * Set for identity assertions, which end only by their time: the store checks and records the issuance as of any token,
   * and stores no row.
   */
  readonly leavesNoRow?: boolean;
}

/** The tokens of a store. These methods serve introspection, revocation and UserInfo. */
export interface TokenRepository {
  /**
   * What lookups of opaque tokens get: the SHA-256 digest (base64url), or the token itself, for tables that hold it.
   * With `'token'`, anyone who reads the table can use the tokens. JWTs and tokens with a prefix of this server are never
   * looked up by themselves. Default: `'digest'`.
   *
   * If some tokens are JWTs, name each kind that can be opaque. Otherwise the `jti` of a JWT could be used as a token. JWTs
   * of a kind with `'token'` are also looked up by themselves.
   * @example
   * keyedBy: { refresh_token: 'token' } // access tokens are JWTs
   */
  readonly keyedBy?: TokenKey | Partial<Readonly<Record<TokenKind, TokenKey>>>;

  /**
   * Returns kind and key of a JWT of the host's own form, from its verified claims. Without it, a JWT is looked up by
   * its `jti`: as the kind that its `typ` names (`at+jwt`, `rt+jwt`), or for `typ: JWT` and without `typ` as either
   * kind, if the record has the token's `digest`.
   * @param token the JWT itself, for tables that hold it
   * @returns `undefined` if the JWT is no token, for example an ID token
   */
  identify?(claims: Claims, token: string): Found<TokenName>;

  /**
   * The record of an access token, with the standing of its principals.
   * One indexed read.
   * @param key `jti` of a JWT whose signature has verified, or what `identify` returns, or `keyedBy`. It can be any text
   *   of up to 4,096 characters, also from strangers. A text that the column cannot hold is absence, not an error
   *   (`WHERE id::text = $1`). The column compares exactly, with case.
   */
  getByAccessToken(key: string): Found<HostToken>;

  /**
   * The record of a refresh token; as `getByAccessToken`. A superseded one is found until `keepUntil`. A store without
   * refresh tokens has neither this method nor `isRefreshTokenRevoked`.
   */
  getByRefreshToken?(key: string): Found<HostToken>;

  /** Whether a refresh token is revoked. Called right after the lookup, with its record. */
  isRefreshTokenRevoked?(record: HostToken): Awaitable<boolean>;

  /** Needed if `revoke` keeps the record and marks it otherwise than by `revokedAtMs`. */
  isAccessTokenRevoked?(record: HostToken): Awaitable<boolean>;

  /**
   * Revokes a token, by a flag, deletion or an expiry of zero. Atomic and idempotent. Revoking an access token also
   * revokes its pair, and the current refresh token of its family with its pair. Revoking a refresh token also
   * revokes every token of its grant.
   * @param record what the lookup returned. It may have expired.
   */
  revoke(record: HostToken): Awaitable<void>;
}

/** What a table knows opaque tokens by. */
export type TokenKey = 'digest' | 'token';

/** Kind and key of a token, as `TokenRepository.identify` returns them. */
export interface TokenName {
  readonly kind: TokenKind;
  /** For the lookup of this kind. If it is not a string, or is empty, the JWT is no token. */
  readonly key: unknown;
}

/** The same, if it names a token. */
export type ReadTokenName = TokenName & { readonly key: string };

/** The tokens of a store that also stores those of the server. */
export interface IssuingTokenRepository extends TokenRepository {
  /**
   * The repository that `standing.client` of these records comes from. If it is not the storage's `clients`, the server
   * also looks up each token's client there, so that all endpoints agree. Without this member, `standing.client` is
   * trusted.
   */
  readonly joinedClients?: ClientRepository;

  /**
   * Set this if `rotate` and `issueFrom` take `once`. If it or that of `authorizationCodes` is missing, the server takes
   * identifiers by `oneTimeIdentifiers.take` before it issues tokens, in a write of its own.
   */
  readonly takesOnce?: true;

  /** Set this if records keep `ancestors` and `issue` checks them. Needed for token exchange. */
  readonly keepsAncestors?: true;
  /** For operators: tokens with this one among their `ancestors`, until they expire. Those that expire last come first. */
  descendantsOf?(id: string, limit: number): Awaitable<readonly TokenRecord[]>;
  /** Live tokens for a user that have `ancestors`. Looks at `limit` tokens that have not expired, those that expire last. One indexed read. */
  exchangedFor?(subject: string, limit: number): Awaitable<readonly TokenRecord[]>;

  getByAccessToken(id: string): Found<TokenRecord>;
  getByRefreshToken(id: string): Found<TokenRecord>;
  isRefreshTokenRevoked(record: TokenRecord): Awaitable<boolean>;
  isAccessTokenRevoked?(record: TokenRecord): Awaitable<boolean>;
  revoke(record: TokenRecord): Awaitable<void>;

  /**
   * Stores tokens whose only basis is their client, and with `keepsAncestors` their ancestors: refused if one of these is
   * not stored, or is expired, revoked or behind its principals. It may be superseded. Also refused if one is an access
   * token from before the last `revokeGrants` of its client and user.
   */
  issue(tokens: readonly NewToken[], basis: IssueBasis): Awaitable<IssueOutcome>;

  /**
   * Replaces a refresh token. Compare-and-set: only if `record` is stored and neither expired, revoked, behind a
   * principal nor superseded, the store marks it as superseded by `successor` and stores `tokens`, which include the
   * successor. The tokens name no other principals than `record` and copy its generations. A token that is dead and
   * superseded is `refused`.
   * @param once only with `takesOnce`: taken in the same atomic step if the outcome is `issued`, and otherwise not. If it
   *   was used before, nothing changes, and the outcome is `already_used`.
   */
  rotate(
    record: TokenRecord,
    successor: NewToken,
    tokens: readonly NewToken[],
    once?: OneTimeUse,
  ): Awaitable<ContinuationOutcome>;

  /**
   * Stores access tokens on the basis of a refresh token that stays as it is. Compare-and-set: only if the refresh
   * token is stored, neither expired nor revoked nor behind, and not superseded.
   * @param once as for `rotate`
   */
  issueFrom(
    record: TokenRecord,
    tokens: readonly NewToken[],
    once?: OneTimeUse,
  ): Awaitable<ContinuationOutcome>;

  /** Revokes every token of the record's family. Atomic and idempotent. @param reason a code, for the event */
  revokeFamily(record: TokenRecord, reason?: string): Awaitable<void>;
}

/** A time as database drivers return it: an integer, its text, or a `Date`. */
export type StoredTime = number | bigint | string | Date;

/** An identifier as database drivers return it. The server reads it as text. */
export type StoredId = string | number | bigint;

/** A list of scopes, or their text with spaces in between. */
export type StoredScopes = readonly string[] | string;

/**
 * A token as a host's tables have it. Other members of the object are ignored. `revoke` and the `is…Revoked` methods get
 * the very object that the lookup returned.
 * @example
 * { clientId: row.client_id, scopes: row.scope, expiresAt: row.expires_at, subject: row.user_id }
 */
export interface HostToken
  extends Nullable<
    Omit<
      TokenRecord,
      'id' | 'kind' | 'clientId' | 'scopes' | 'expiresAt' | TimeOfToken | 'subject' | 'version'
    >
  > {
  readonly clientId: StoredId;
  readonly scopes: StoredScopes;
  /** Seconds since 1970, or a `Date`. Zero means revoked. The `exp` of a JWT ends it too. */
  readonly expiresAt: StoredTime;
  /** The user. Absent if the client acts for itself. `getUserClaims` gets it as text. */
  readonly subject?: StoredId | null | undefined;
  /** Milliseconds since 1970, or a `Date`. Introspection of an opaque token returns it as `iat`. */
  readonly issuedAtMs?: StoredTime | null | undefined;
  /** Milliseconds since 1970, or a `Date`. A token with it is revoked. */
  readonly revokedAtMs?: StoredTime | null | undefined;
  /** The same in seconds, because many tables call it so. */
  readonly revokedAt?: StoredTime | null | undefined;
  readonly supersededAtMs?: StoredTime | null | undefined;
  readonly notBeforeMs?: StoredTime | null | undefined;
}

type TimeOfToken = 'issuedAtMs' | 'revokedAtMs' | 'supersededAtMs' | 'notBeforeMs';

/**
 * A client as a host's tables have it. `verifySecret` gets the very object that `get` returned.
 * @example
 * { id: row.id, tokenEndpointAuthMethod: row.is_public ? 'none' : undefined, secretHash: row.secret_hash }
 */
export interface HostClient
  extends Nullable<Partial<Omit<ClientRecord, 'id' | 'scopes' | 'registeredAt' | 'disabledAtMs'>>> {
  readonly id: StoredId;
  /**
   * How the client authenticates, if it is registered for one method. A client is public only with `'none'`. Default:
   * it sends its secret.
   */
  readonly tokenEndpointAuthMethod?: AuthenticationMethod | null | undefined;
  readonly scopes?: StoredScopes | null | undefined;
  readonly registeredAt?: StoredTime | null | undefined;
  readonly disabledAtMs?: StoredTime | null | undefined;
  /** The same in seconds. */
  readonly disabledAt?: StoredTime | null | undefined;
}

/** Databases return `null` for a member that is absent. */
type Nullable<T> = { readonly [M in keyof T]?: T[M] | null | undefined };

export interface AuthorizationCodeRepository {
  /** Set this if `redeem` takes `once`; see `IssuingTokenRepository.takesOnce`. */
  readonly takesOnce?: true;

  /**
   * Stores a code with the generations of its principals. Refused if the client is unknown, if the client or subject
   * is disabled, or if the client's generation was raised since the basis was read.
   */
  issue(code: NewAuthorizationCode, basis: IssueBasis): Awaitable<IssueOutcome>;

  /**
   * The record of a code. A redeemed code is found as long as the tokens that it issued, so that its reuse is
   * detected.
   */
  get(id: string): Found<AuthorizationCodeRecord>;

  /**
   * Redeems a code. Compare-and-set: only if it is stored, not redeemed, and neither expired nor revoked nor behind,
   * it is marked as redeemed, and the tokens are stored. They copy its generations. A redeemed code is
   * `already_redeemed` even when it is dead.
   * @param once as for `IssuingTokenRepository.rotate`
   */
  redeem(
    record: AuthorizationCodeRecord,
    tokens: readonly NewToken[],
    once?: OneTimeUse,
  ): Awaitable<RedemptionOutcome>;

  /**
   * Revokes a code that was not redeemed yet, and everything of its grant. Atomic and idempotent.
   * @param reason a code, for the event
   */
  revoke(record: AuthorizationCodeRecord, reason?: string): Awaitable<void>;
}

export interface KeyRepository {
  /** The key of that `kid`, in any status. One indexed read. */
  get(kid: string): Found<KeyRecord>;
  list(): Awaitable<readonly KeyRecord[]>;
  /** `kid` of the key that signs now. One indexed read. */
  currentKeyId(algorithm: SigningAlgorithm): Found<string>;
  /** Stores a current and a next key, only if the algorithm has none yet. */
  initialize(keys: readonly KeyRecord[]): Awaitable<void>;
  /**
   * Makes the next key current and the current key retired, and stores a new next key. Compare-and-set on the current
   * key.
   * @param next a key of the same algorithm
   * @returns `false` if another process was faster; nothing has changed then
   */
  rotate(currentKid: string, next: KeyRecord): Awaitable<boolean>;
  /**
   * Keeps a private key in another sealed form. Compare-and-set on the sealed form. Needed to drop a server secret.
   * @returns `false` if nothing was replaced
   */
  reseal?(kid: string, sealed: string, resealed: string): Awaitable<boolean>;
}

/**
 * What a migration assumed, for the operator to check. `clients_allowed_every_api`: each client of the operator may ask
 * for every API that was registered.
 */
export type MigrationAssumption = 'clients_allowed_every_api';

/** A client to be registered. */
export type NewClient = Omit<
  ClientRecord,
  'generation' | 'revision' | 'registrationRevision' | 'disabledAtMs' | 'usedUntil'
>;

/** A client as the caller read it; a number that is absent is 0. */
export type ClientBasis = Pick<ClientRecord, 'generation' | 'revision'>;

export interface ClientRegistry extends IssuingClientRepository {
  /**
   * @param limits adds the client only while fewer clients than these have registered themselves. Compare-and-set:
   *   parallel calls add no more.
   * @param once taken in the same step: either the client is added and `once` is used, or neither
   * @returns `false` if the identifier is taken or a limit is reached; `already_used` if only `once` was used before
   */
  add(client: NewClient, limits?: RegistrationLimits, once?: OneTimeUse): Awaitable<boolean | 'already_used'>;
  list(): Awaitable<readonly ClientRecord[]>;
  /**
   * Clients that registered themselves or have a document, and have not been in use since then, those unused for longest first. Without
   * disabled ones, and those that an operator has changed (`set_by_operator`) or made an API. Indexed read.
   * @param since seconds since 1970. A client is in use until `usedUntil`, at first until `registeredAt`.
   */
  listUnused(since: number, limit: number): Awaitable<readonly ClientRecord[]>;
  noteUse(clientId: string, until: number): Awaitable<void>;
  /**
   * Records that the metadata document of a client was valid then: raises `documentValidAt` of a client that has one, and
   * never lowers it. The client's revision stays.
   * @param validAt seconds since 1970
   */
  noteDocument(clientId: string, validAt: number): Awaitable<void>;
  replaceSecrets(
    clientId: string,
    secrets: readonly ClientSecretRecord[],
    basis: ClientBasis,
  ): Awaitable<boolean>;
  /**
   * Replaces the registration of a client. Its tokens stay alive. Compare-and-set: only if the client exists and,
   * since the basis was read, its registration and secret have not changed, its tokens were not revoked and it was
   * not disabled.
   * @param changes what changes, which the event has as its reason
   * @returns `false` if nothing was replaced
   */
  replace(client: NewClient, basis: ClientBasis, changes?: string): Awaitable<boolean>;
  /**
   * Removes a client. Its tokens and codes are dead from then on, even if its identifier is registered again. Atomic.
   * @param unusedSince only if `listUnused` would still return the client for this time
   * @returns `false` if there is no such client
   */
  remove(clientId: string, unusedSince?: number): Awaitable<boolean>;
}

/** The clients of a store that operators administer. */
export interface AdministrableClients extends ClientRegistry {
  /**
   * Removes clients, each as `remove` does, all in one transaction.
   * @returns how many of them there were
   */
  removeAll(clientIds: readonly string[]): Awaitable<number>;
}

/** A condition of a host, which must hold in the transaction of each change that is made while it is set. */
export interface HostCondition<C = unknown> {
  /** Called when a write begins, in the context of its caller. */
  now(): C | undefined;
  /** Called inside the transaction. @throws if the condition does not hold; then nothing is changed */
  require(condition: C): void;
}

/** The tokens of a principal, or all tokens that were issued before a time. */
export type RevocationTarget =
  | {
      readonly principal: Principal;
      readonly id: string;
      /** Of a session or grant, if the caller knows it: for the event, whose readers then need not ask about all users. */
      readonly subject?: string;
      /** Why it ends, as a code, for the event. */
      readonly reason?: string | undefined;
    }
  /** Milliseconds. */
  | { readonly issuedBeforeMs: number };

/** When all tokens of a principal were last revoked, and since when it is disabled, in milliseconds since 1970. */
export type PrincipalState = Pick<Standing, 'raisedAtMs' | 'disabledAtMs'>;

/** What operators learn about a live token. */
export type AliveToken = Pick<
  TokenRecord,
  'kind' | 'scopes' | 'resources' | 'subject' | 'grantId' | 'sessionId'
>;

/** Live tokens, if they are few, or the first ones that the store has found. */
export interface AliveCount {
  readonly count: number;
  /** Whether there can be more: the store has counted or read as many as it does at most. */
  readonly hasMore: boolean;
}

/** As `AliveCount`, with the tokens. */
export interface AliveTokens {
  readonly tokens: readonly AliveToken[];
  readonly hasMore: boolean;
}

/** What a running server needs of storage in addition to serving requests. */
export interface AdministrableStorage extends AuthorizingStorage {
  readonly clients: AdministrableClients;
  readonly keys: Required<KeyRepository>;
  readonly oneTimeIdentifiers: OneTimeIdentifiers;
  readonly pending: PendingRepository;

  /**
   * Revokes all tokens and codes of the target in one write that loads no row. Does nothing for a client, session or
   * grant that does not exist. A user is marked even before their first token, because a sign-in may be under way, and a
   * session of assertions (`ASSERTED_SESSION`), because they may be used later.
   * @returns `false` if nothing changed: there is no such principal, or a later cutoff is set already
   */
  revokeAll(target: RevocationTarget): Awaitable<boolean>;

  /**
   * How many tokens of the target are alive, without superseded ones: at most 100,000. No index finds most targets, so
   * it reads rows that have not expired, at most 500,000.
   */
  countAlive(target: RevocationTarget): Awaitable<AliveCount>;

  /** Live tokens of a client, without superseded ones, from one read: at most `most`. Reads rows as `countAlive`. */
  aliveOfClient(clientId: string, most: number): Awaitable<AliveTokens>;

  /**
   * The grants of a user that have a live token or a code that can be redeemed, the newest first. One indexed read.
   */
  grantsOf(subject: string): Awaitable<readonly UsableGrant[]>;

  /**
   * Revokes all grants of a user to a client, with all their tokens and codes, and the tokens that the client has
   * obtained for the user by exchange, in one transaction. An exchange that is under way does not escape it.
   * @param reason of the events of the grants
   * @returns how many grants and exchanged tokens were revoked. Each grant has an event; the exchanged tokens have one
   */
  revokeGrants(subject: string, clientId: string, reason?: string): Awaitable<number>;

  /** Disabling also revokes all tokens; enabling restores none of them. Idempotent. */
  setDisabled(principal: 'client' | 'subject', id: string, disabled: boolean): Awaitable<void>;

  /**
   * Returns when all tokens of a client or user were last revoked, and since when it is disabled. Returns nothing if it
   * never had a token and was never disabled or revoked. Hosts use it for sign-in. One indexed read.
   */
  getPrincipalState(principal: 'client' | 'subject', id: string): Found<PrincipalState>;

  /** Returns which of at most a few thousand users are disabled, and since when in milliseconds since 1970. One read. */
  disabledSubjects(subjects: readonly string[]): Awaitable<ReadonlyMap<string, number>>;

  /** Records an act as an event, for audits. The store adds address and request of its origin, if it knows them. */
  recordAct(act: Act): Awaitable<void>;

  /** Events after a sequence number, in order. */
  eventsAfter(sequence: number, limit: number): Awaitable<readonly EventRecord[]>;

  /**
   * Deletes rows that are no longer needed.
   * @param limit the maximum number of rows of each kind; a grant may go with its last token or code
   * @param untilMs milliseconds since 1970: leaves rows that are needed until later, even if the store's clock is ahead
   * @returns how many rows were deleted; zero if none is left, and while another process sweeps
   */
  sweep(limit: number, untilMs?: number): Awaitable<number>;

  /** How this handle was used, for metrics. */
  statistics?(): StorageStatistics;

  /** Closes the handle: later calls are rejected. Idempotent. */
  close(): Awaitable<void>;
}

/** The use of one handle since it was opened. */
export interface StorageStatistics {
  readonly caches: Readonly<Record<string, CacheUse>>;
  /** Writes that wait for their commit, and commits so far. Of stores with one writer. */
  readonly writes?: { readonly waiting: number; readonly commits: number };
}
