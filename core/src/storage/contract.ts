import type { SigningAlgorithm } from '../protocol/client_metadata.ts';
import type {
  Act,
  ApiRecord,
  AuthorizationCodeRecord,
  ClientRecord,
  ClientSecretRecord,
  EventRecord,
  GrantRecord,
  KeyRecord,
  NewAuthorizationCode,
  NewToken,
  Principal,
  PushedRequest,
  Standing,
  TokenRecord,
} from '../protocol/records.ts';

/**
 * What the server asks of storage. A store remembers; it never decides and never builds a response.
 *
 * Absence is `undefined` (or `null`). A rejection means that storage could not be asked, or that the outcome
 * of a write is unknown; the server then answers 503. Every handle is bound to one issuer. Every check with
 * its update is one atomic step, and what a write has returned from is durable.
 */
export interface Storage {
  readonly clients: ClientRepository;
  readonly tokens: TokenRepository;
  readonly authorizationCodes: AuthorizationCodeRepository;
  /** Not needed where the host brings its own `JwtService`. */
  readonly keys?: KeyRepository;
  /**
   * Needed for clients that authenticate with assertions, which are used once, and for pushed authorization requests.
   * Without it nobody remembers that an authorization request was answered: a person who goes back can answer it again.
   */
  readonly oneTimeIdentifiers?: OneTimeIdentifiers;
  /** Needed for pushed authorization requests, with `oneTimeIdentifiers`. */
  readonly pushedRequests?: PushedRequestRepository;
  /**
   * When all tokens of a client or subject were ended last, and since when it is disabled; absent where nothing was
   * ever issued or done. Needed for tokens of a former server, which copied no generations. One indexed read.
   */
  getPrincipalState?(principal: 'client' | 'subject', id: string): Found<PrincipalState>;
  /**
   * Set where look-ups answer nothing but plain data as the types say: no `null`, no instances of classes, no members
   * besides, and nothing that changes later. Records are then taken as they are, instead of being read member by member.
   */
  readonly answersPlainRecords?: true;
}

export type Awaitable<T> = T | Promise<T>;
export type Found<T> = Awaitable<T | undefined | null>;

export interface ClientRepository {
  /** A disabled client is found, with `disabledAtMs`. */
  get(clientId: string): Found<ClientRecord>;
  /** Whether an enabled client has a redirect URI of this web origin. */
  hasRedirectOrigin(origin: string): Awaitable<boolean>;
  /**
   * The enabled APIs that have one of these URIs or declare one of these scopes (RFC 8707 §2), in any order, each once.
   * Indexed reads. A store without it has no APIs: access tokens are for the default audience alone.
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
}

/** What a request names of APIs. */
export interface ApiNames {
  readonly resources: readonly string[];
  readonly scopes: readonly string[];
}

/** Identifiers that count once, such as the `jti` of a client's assertion (RFC 7523 §3). */
export interface OneTimeIdentifiers {
  /**
   * Takes an identifier. Atomic: of several that take the same one at once, one succeeds.
   * @param expiresAt seconds until which it stays taken
   * @returns `false` where it was taken already
   */
  take(id: string, expiresAt: number): Awaitable<boolean>;
}

export interface PushedRequestRepository {
  add(request: PushedRequest): Awaitable<void>;
  /** A request, expired or not. */
  get(id: string): Found<PushedRequest>;
  /** Removes a request that was answered. Idempotent. */
  remove(id: string): Awaitable<void>;
}

/**
 * Outcome of storing tokens. `refused`: what they rest upon is dead, disabled or gone; nothing was stored.
 * What is tied by `pairId` or `familyId` belongs to one grant; a store may reject other ties with a `TypeError`.
 */
export type IssueOutcome = 'issued' | 'refused';

/** The generation of the client as the caller read it (none is 0); issuance is refused when it has been raised since. */
export interface IssueBasis {
  readonly clientGeneration?: number;
}

export interface TokenRepository {
  /**
   * The repository that `standing.client` of these records is read from. If the storage has other `clients`, those are
   * asked about the client of each token too, so that every endpoint gives the same answer. Without this member
   * `standing.client` is trusted.
   */
  readonly joinedClients?: ClientRepository;

  /**
   * The record of an access token, with the standing of its principals.
   * One indexed read.
   * @param id `jti` of a JWT whose signature has verified, or the SHA-256 digest (base64url) of an opaque token.
   */
  getByAccessToken(id: string): Found<TokenRecord>;

  /** The record of a refresh token; as `getByAccessToken`. A superseded one is found until `keepUntil`. */
  getByRefreshToken(id: string): Found<TokenRecord>;

  /** Whether a refresh token that was found has been revoked; asked right after the look-up, with its record. */
  isRefreshTokenRevoked(record: TokenRecord): Awaitable<boolean>;

  /** Needed where `revoke` marks a record that it keeps, and the record does not say so by `revokedAtMs`. */
  isAccessTokenRevoked?(record: TokenRecord): Awaitable<boolean>;

  /**
   * Revokes a token, as a flag, by deletion or by an expiry of zero. Atomic and idempotent.
   * An access token takes along its pair, and the current refresh token of its family with its pair.
   * A refresh token takes along every token of its grant.
   */
  revoke(record: TokenRecord): Awaitable<void>;

  /** Stores tokens that rest upon their client alone. */
  issue(tokens: readonly NewToken[], basis: IssueBasis): Awaitable<IssueOutcome>;

  /**
   * Replaces a refresh token. Compare-and-set: only if `record` is stored, neither expired nor revoked nor behind
   * any of its principals, and not superseded, it is marked as superseded by `successor`, and `tokens` (the
   * successor among them) are stored. They name no principal besides its own, and copy its generations. Dead and
   * superseded is `refused`.
   */
  rotate(
    record: TokenRecord,
    successor: NewToken,
    tokens: readonly NewToken[],
  ): Awaitable<IssueOutcome | 'superseded'>;

  /**
   * Stores access tokens beside a refresh token that stays as it is. Compare-and-set: only if the refresh
   * token is stored, neither expired nor revoked nor behind, and not superseded.
   */
  issueBeside(record: TokenRecord, tokens: readonly NewToken[]): Awaitable<IssueOutcome | 'superseded'>;

  /** Revokes every token of the record's family. Atomic and idempotent. */
  revokeFamily(record: TokenRecord): Awaitable<void>;
}

export interface AuthorizationCodeRepository {
  /**
   * Stores a code with its principals' generations; refused where there is no such client, it or the subject is
   * disabled, or the client's generation was raised since the basis was read.
   */
  issue(code: NewAuthorizationCode, basis: IssueBasis): Awaitable<IssueOutcome>;

  /** The record of a code; a redeemed one is found as long as what it issued, so that its reuse is noticed. */
  get(id: string): Found<AuthorizationCodeRecord>;

  /**
   * Redeems a code. Compare-and-set: only if it is stored, not redeemed, and neither expired nor revoked nor behind,
   * it is marked as redeemed, and the tokens are stored. They copy its generations. A redeemed code is
   * `already_redeemed` even when it is dead.
   */
  redeem(
    record: AuthorizationCodeRecord,
    tokens: readonly NewToken[],
  ): Awaitable<IssueOutcome | 'already_redeemed'>;

  /** Revokes a code that was not redeemed yet, and everything of its grant. Atomic and idempotent. */
  revoke(record: AuthorizationCodeRecord): Awaitable<void>;
}

export interface KeyRepository {
  /** The key of that `kid`, whatever its status. One indexed read. */
  get(kid: string): Found<KeyRecord>;
  list(): Awaitable<readonly KeyRecord[]>;
  /** `kid` of the key that signs now. One indexed read. */
  currentKeyId(algorithm: SigningAlgorithm): Found<string>;
  /** Stores a current and a next key, only if the algorithm has none yet. */
  initialize(keys: readonly KeyRecord[]): Awaitable<void>;
  /**
   * Makes the next key current and the current one retired, and stores a new next one. Compare-and-set on the
   * current key.
   * @param next a key of the same algorithm
   * @returns `false` where another process was quicker; nothing has changed then.
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
  'generation' | 'revision' | 'registrationRevision' | 'disabledAtMs'
>;

/** A client as the caller read it; a number that is absent is 0. */
export type ClientBasis = Pick<ClientRecord, 'generation' | 'revision'>;

export interface ClientRegistry extends ClientRepository {
  /**
   * @param mostRegistered where it is given, the client is only added while fewer have registered themselves, which
   *   those have that have a `registrationTokenDigest`. Compare-and-set: of several at once no more are added.
   * @returns `false` where the identifier is taken, or so many have
   */
  add(client: NewClient, mostRegistered?: number): Awaitable<boolean>;
  list(): Awaitable<readonly ClientRecord[]>;
  replaceSecrets(
    clientId: string,
    secrets: readonly ClientSecretRecord[],
    basis: ClientBasis,
  ): Awaitable<boolean>;
  /**
   * Registers a client anew under its identifier. Its tokens live on. Compare-and-set: only if it is there, and since the
   * basis was read neither its registration nor its secret was changed, nor its tokens ended, nor it disabled.
   * @returns `false` where nothing was replaced
   */
  replace(client: NewClient, basis: ClientBasis): Awaitable<boolean>;
  /**
   * Removes a client; every token and code of it is dead from then on, also when its identifier is given again. Atomic.
   * @returns `false` where there is no such client
   */
  remove(clientId: string): Awaitable<boolean>;
}

/** Whose tokens: a principal's, or all that were issued before a time. */
export type RevocationTarget =
  | { readonly principal: Principal; readonly id: string }
  /** Milliseconds. */
  | { readonly issuedBeforeMs: number };

/** What was done to a principal as a whole. */
export type PrincipalState = Pick<Standing, 'raisedAtMs' | 'disabledAtMs'>;

/** What a running server needs of storage besides serving requests. */
export interface AdministrableStorage extends Storage {
  readonly clients: ClientRegistry;
  readonly keys: Required<KeyRepository>;
  readonly oneTimeIdentifiers: OneTimeIdentifiers;
  readonly pushedRequests: PushedRequestRepository;

  /**
   * Ends all tokens and codes of the target in one write that loads no row. A principal that nothing was ever issued
   * for is left alone.
   * @returns `false` where nothing has changed: there is no such principal, or all that was issued before a later time
   *   has ended already
   */
  revokeAll(target: RevocationTarget): Awaitable<boolean>;

  /** How many tokens of the target are alive, superseded ones not counted. Reads all rows that are not over yet. */
  countAlive(target: RevocationTarget): Awaitable<number>;

  /**
   * The grants of a person that are alive, the newest first. One indexed read. One whose tokens were ended one by one, or
   * by a cutoff in time, counts as alive until the last of them would be over.
   */
  grantsOf(subject: string): Awaitable<readonly GrantRecord[]>;

  /**
   * Ends all that a person granted to a client, with every token and code of it, in one transaction.
   * @returns how many grants were ended, each with an event
   */
  revokeGrants(subject: string, clientId: string): Awaitable<number>;

  /** Disabling also ends all tokens; enabling brings none of them back. Idempotent. */
  setDisabled(principal: 'client' | 'subject', id: string, disabled: boolean): Awaitable<void>;

  /**
   * When the tokens of a client or subject were ended last, and since when it is disabled; absent where nothing was
   * ever issued or done. For a host's own sign-in. One indexed read.
   */
  getPrincipalState(principal: 'client' | 'subject', id: string): Found<PrincipalState>;

  /** Writes an act as an event, for those who look afterwards who did what. */
  recordAct(act: Act): Awaitable<void>;

  /** Events after a sequence number, in order. */
  eventsAfter(sequence: number, limit: number): Awaitable<readonly EventRecord[]>;

  /**
   * Deletes rows that nothing needs any more.
   * @param limit rows of each kind at most
   * @returns how many rows were deleted; zero once there is nothing left to sweep, and while another process sweeps
   */
  sweep(limit: number): Awaitable<number>;

  /** Ends all use of the handle: whatever is asked of it afterwards is rejected. Idempotent. */
  close(): Awaitable<void>;
}

export interface SweepOptions {
  /** Rows of each kind in one transaction. Default: 200. */
  readonly limit?: number;
  /** Milliseconds between two transactions, for requests to be served. Default: 20. */
  readonly pauseMs?: number;
  /** Ends the sweep between two transactions, and the pause between them. */
  readonly signal?: AbortSignal;
  /** Told how many rows each transaction has deleted. */
  readonly onBatch?: (rows: number) => void;
}

/**
 * Deletes what nothing needs any more, batch after batch, until nothing is left or it is told to stop. A host
 * without a long-running process calls it now and then.
 * @returns how many rows were deleted
 */
export async function sweep(
  storage: Pick<AdministrableStorage, 'sweep'>,
  { limit = 200, pauseMs = 20, signal, onBatch }: SweepOptions = {},
): Promise<number> {
  let total = 0;
  while (signal?.aborted !== true) {
    const rows = await storage.sweep(limit);
    if (rows === 0) break;
    total += rows;
    onBatch?.(rows);
    await pause(pauseMs, signal);
  }
  return total;
}

/** Resolves after some milliseconds, or at once when the signal says so. */
function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener('abort', end);
    if (signal?.aborted === true) end();
  });
}
