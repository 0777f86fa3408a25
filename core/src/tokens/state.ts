// Finds tokens, decides whether they are alive, and reads ID tokens that clients send back as hints.
import { sha256 } from '#crypto';
import type { TokenScheme } from '../http/bearer.ts';
import {
  grantEnded,
  type InactiveReason,
  OAuthError,
  type ReasonCode,
  StorageFault,
} from '../http/errors.ts';
import type { ActingClient } from '../http/events.ts';
import type { Form } from '../http/form.ts';
import { equalInConstantTime, secondsOf } from '../platform/environment.ts';
import { bindingRefusal, type Claims, type Confirmation } from '../protocol/claims.ts';
import {
  ALIVE,
  applicationOf,
  claimsInToken,
  ended,
  isTokenKind,
  type Life,
  PERSONAL,
  PRINCIPALS,
  storedLife,
} from '../protocol/record_rules.ts';
import type {
  Ancestor,
  AuthorizationCodeRecord,
  ClientRecord,
  NewToken,
  TokenKind,
  TokenRecord,
} from '../protocol/records.ts';
import { noBoolean } from '../storage/host_records.ts';
import type { ReadableTokens } from '../storage/host_storage.ts';
import type { FoundToken, NoToken, Person, TokenContext } from './context.ts';
import { isCompactJws, isForeignJwt, jwtTypeOf } from './jwt.ts';
import type { VerifiedJwt } from './jwt_service.ts';
import { hasPrefix, opaqueKindOf } from './opaque_token.ts';
import { subjectIdentifier } from './subject_identifier.ts';

/**
 * Finds a token. The token itself tells its kind: by the `typ` header of a verified JWT, or by the prefix of an opaque
 * token, so one lookup is enough, without a hint. Only opaque tokens that a host issued itself can be of either kind.
 */
export function findToken(context: TokenContext, token: string): Promise<FoundToken | NoToken> {
  return token.includes('.') ? findJwt(context, token) : findOpaque(context, token);
}

/** A text in the form of a JWT is looked up only after its signature has verified. Other texts with dots are opaque. */
async function findJwt(context: TokenContext, token: string): Promise<FoundToken | NoToken> {
  const jwt = await context.jwt.verify(token);
  if (!jwt.verified) {
    if (!isCompactJws(token)) return findOpaque(context, token);
    return (await context.findPreviousToken?.(token)) ?? refusedJwt(jwt);
  }
  const { claims } = jwt;
  const kind = jwtTypeOf(jwt.type);
  const { identify, keyedBy } = context.storage.tokens;
  if (!isTokenKind(kind) || identify || keyedBy) return findHostJwt(context, token, jwt);
  if (typeof claims.jti !== 'string') return { reason: 'wrong_type', claims, type: kind };
  if (claims.iss !== context.issuer) return { reason: 'wrong_issuer', kind, claims };
  const record = await lookUp(context, kind, claims.jti);
  if (record === undefined) return { reason: 'no_record', kind, claims };
  if (isAsIssued(record, jwt.digest ?? (await sha256(token)))) return { record, claims };
  return { reason: 'differs_from_issued', kind, claims };
}

type Verified = VerifiedJwt & { readonly verified: true };

/**
 * Finds a JWT of a form that hosts use: with `typ: JWT` or without `typ`, or with another key than its `jti`. For APIs
 * that reject `at+jwt`, the server itself issues access tokens with `typ: JWT`.
 */
async function findHostJwt(
  context: TokenContext,
  token: string,
  { type: typ, claims, digest }: Verified,
): Promise<FoundToken | NoToken> {
  const { tokens } = context.storage;
  const type = jwtTypeOf(typ);
  const name = isForeignJwt(typ, claims) ? undefined : await nameOf(context, token, typ, claims);
  if (name === undefined) return { reason: 'wrong_type', claims, ...(type !== undefined && { type }) };
  const { kind, key } = name;
  const hasGenericType = !isTokenKind(type);
  const verified = { claims, ...(hasGenericType && { hasGenericType }) };
  // Some servers leave out the issuer. UserInfo demands it.
  const isOwn = claims.iss === context.issuer || (hasGenericType && claims.iss === undefined);
  if (!isOwn) return { reason: 'wrong_issuer', kind, claims };
  const isUnnamed = hasGenericType && tokens.identify === undefined;
  const digestOfToken = digest ?? (await sha256(token));
  const id = typeof claims.jti === 'string' ? claims.jti : digestOfToken;
  const others: readonly TokenKind[] = isUnnamed ? ['refresh_token'] : [];
  let reason: InactiveReason = 'no_record';
  for (const each of [kind, ...others]) {
    const keyOfKind = each === kind ? key : keyOf(context, each, token, claims);
    const record = typeof keyOfKind === 'string' ? await lookUp(context, each, keyOfKind, id) : undefined;
    if (record === undefined) continue;
    // Without the digest, other JWTs of the same key could be taken for a token. Of a broken record, it cannot be read.
    const lacksDigest = isUnnamed && record.digest === undefined && !isBroken(context, record);
    if (!lacksDigest && isAsIssued(record, digestOfToken))
      return hasGenericType || tokens.identify
        ? { record, ...verified, claims: await completeClaims(context, claims, record) }
        : { record, ...verified };
    reason = lacksDigest ? 'digest_missing' : 'differs_from_issued';
  }
  return { reason, kind, ...verified };
}

/** What a JWT is looked up by, unless the host names its key: its `jti`, or the JWT itself if the table holds tokens. */
function keyOf({ storage }: TokenContext, kind: TokenKind, token: string, { jti }: Claims): unknown {
  return keyedAs(storage.tokens, kind) === 'token' ? token : jti;
}

function keyedAs({ keyedBy = 'digest' }: Pick<ReadableTokens, 'keyedBy'>, kind: TokenKind) {
  return typeof keyedBy === 'string' ? keyedBy : keyedBy[kind];
}

/**
 * Adds what the row knows, as for opaque tokens: some servers sign numbers as `sub`, and refresh tokens without `sub` and
 * `exp`. RFC 9068 §2.2 requires `exp` of access tokens.
 */
async function completeClaims(context: TokenContext, claims: Claims, record: TokenRecord): Promise<Claims> {
  const { kind, subject, expiresAt: exp } = record;
  const lacksSub = subject !== undefined && typeof claims.sub !== 'string';
  const sub = lacksSub ? await subjectOfRecord(context, record) : claims.sub;
  return kind === 'refresh_token' ? { exp, ...claims, sub } : { ...claims, sub };
}

function isBroken({ storage }: TokenContext, record: TokenRecord): boolean {
  try {
    storage.tokens.requireReadable?.(record);
    return false;
  } catch {
    return true;
  }
}

function refusedJwt({
  reason = 'bad_signature',
  cause,
}: VerifiedJwt & { readonly verified: false }): NoToken {
  return cause === undefined ? { reason } : { reason, cause };
}

/**
 * Returns kind and key of a verified JWT, as the host names it, or by its `typ` and `jti`. A JWT with the usual type of
 * ID tokens, or without one, can be either kind.
 * @returns `undefined` if the JWT is no token
 */
async function nameOf(
  context: TokenContext,
  token: string,
  typ: string | undefined,
  claims: Claims,
): Promise<{ readonly kind: TokenKind; readonly key: string } | undefined> {
  const { identify } = context.storage.tokens;
  const type = jwtTypeOf(typ);
  const kindOfType = isTokenKind(type) ? type : undefined;
  if (identify !== undefined) {
    const name = await identify(claims, token);
    return name === undefined || kindOfType === undefined || kindOfType === name.kind ? name : undefined;
  }
  const isUsual = typ === undefined || type === 'id_token';
  const kind = kindOfType ?? (isUsual ? 'access_token' : undefined);
  const key = kind && keyOf(context, kind, token, claims);
  return kind !== undefined && typeof key === 'string' && key !== '' ? { kind, key } : undefined;
}

/** VSCHAR (RFC 6749 Appendix A). Texts with other characters do not exist as tokens and are not looked up. */
const OPAQUE = /^[\x20-\x7E]{1,4096}$/;

async function findOpaque(context: TokenContext, token: string): Promise<FoundToken | NoToken> {
  const form = opaqueKindOf(token);
  const kind = form === 'personal_token' ? 'access_token' : form;
  if (kind !== 'access_token' && kind !== 'refresh_token')
    return hasPrefix(token) || !OPAQUE.test(token) ? { reason: 'malformed' } : findForeign(context, token);
  const record = await lookUp(context, kind, await sha256(token));
  if (record === undefined) return { reason: 'no_record', kind };
  return { record, claims: await claimsOfRecord(context, record) };
}

/** Finds an opaque token that the host issued itself. The text does not tell its kind. */
async function findForeign(context: TokenContext, token: string): Promise<FoundToken | NoToken> {
  const digest = await sha256(token);
  let different: TokenRecord | undefined;
  for (const kind of ['refresh_token', 'access_token'] as const) {
    const by = keyedAs(context.storage.tokens, kind);
    const record = by && (await lookUp(context, kind, by === 'token' ? token : digest, digest));
    if (record && isAsIssued(record, digest))
      return { record, claims: await claimsOfRecord(context, record) };
    different ??= record;
  }
  return different ? { reason: 'differs_from_issued', kind: different.kind } : { reason: 'no_record' };
}

/** @param id of the record, if the key is not its identifier */
function lookUp({ storage: { tokens } }: TokenContext, kind: TokenKind, key: string, id?: string) {
  return kind === 'access_token' ? tokens.getByAccessToken(key, id) : tokens.getByRefreshToken(key, id);
}

/**
 * Returns what a token or code is bound to: by its record, or by its claims if a host's store keeps no confirmation.
 * See ADR 64.
 * @returns `undefined` if it is not bound; `readConfirmation` reads the rest, which can be anything in a host's own JWT
 */
export function confirmationOf({ record, claims }: Bindable): Confirmation | undefined {
  return record.confirmation ?? (claims.cnf as Confirmation | null | undefined) ?? undefined;
}

/** A token or code, with its claims. */
interface Bindable {
  readonly record: Pick<TokenRecord, 'confirmation'>;
  readonly claims: Claims;
}

/** Protects against a stolen signing key, which can make valid signatures, but not tokens with a stored digest. */
function isAsIssued({ digest }: TokenRecord, digestOfToken: string): boolean {
  return digest === undefined || equalInConstantTime(digest, digestOfToken);
}

/** Returns the claims of a record. Hosts may store none of an opaque token, so the most important ones are derived. */
export async function claimsOfRecord(context: TokenContext, record: TokenRecord): Promise<Claims> {
  return {
    iss: context.issuer,
    exp: record.expiresAt,
    // Records of hosts may lack it.
    ...(Number.isFinite(record.issuedAtMs) && { iat: secondsOf(record.issuedAtMs) }),
    ...claimsInToken(record),
    sub: record.claims?.sub ?? (await subjectOfRecord(context, record)),
  };
}

/** Returns `sub` for a record without one, or `undefined` if its client was removed. */
async function subjectOfRecord(
  context: TokenContext,
  { subject, clientId }: TokenRecord,
): Promise<string | undefined> {
  if (subject === undefined) return clientId;
  if (context.pairwiseSecret === undefined) return subject;
  const client = await context.storage.clients.get(clientId);
  return client && subjectIdentifier(context, client, subject);
}

/**
 * Returns the user that a live token is about.
 * @returns `undefined` if the client acts for itself
 */
export function personOf({ record: { subject }, claims: { sub } }: FoundToken): Person | undefined {
  return subject !== undefined && typeof sub === 'string' ? { subject, sub } : undefined;
}

/** The token type that the caller expects. It is only a hint (grantd §3.3, RFC 7009 §2.1, RFC 7662 §2.1). */
export type TokenTypeHint = 'access_token' | 'refresh_token' | 'auth_code';

const HINTS: readonly string[] = ['access_token', 'refresh_token', 'auth_code'] satisfies TokenTypeHint[];

interface HintOptions {
  readonly ignoreUnknownTokenTypeHints: boolean;
}

/** The client, or `undefined` if clients are not authenticated. */
type Authentication = Promise<ClientRecord | undefined>;

/**
 * Reads the hint of a request. Unknown hints are ignored if the server or the client is configured so.
 * @param authentication of the caller, which may still be running
 * @returns `undefined` if there is no hint, or an ignored one
 * @throws {OAuthError} `unsupported_token_type`: an unknown hint
 */
export function readTokenTypeHint(options: HintOptions, form: Form, authentication: Authentication) {
  const hint = form.get('token_type_hint');
  if (hint === undefined || isHint(hint)) return hint;
  if (options.ignoreUnknownTokenTypeHints) return undefined;
  return authentication.then((caller) => {
    if (caller?.metadata?.ignore_unknown_token_type_hint === true) return undefined;
    const problem = isHint(hint.trim()) ? 'has white space around it' : 'is unknown';
    const description = `the token_type_hint ${problem}`;
    throw new OAuthError('unsupported_token_type', description, { reason: 'unknown_hint', value: hint });
  });
}

function isHint(text: string): text is TokenTypeHint {
  return HINTS.includes(text);
}

/**
 * Decides whether a token is alive: neither expired nor revoked, and client and user still exist and are enabled. It is
 * the only function that decides this, so introspection, UserInfo and refresh always agree. `superseded` is checked
 * last, so it means that no other reason applies (ADR 46).
 * @throws {StorageFault} storage is unavailable, or the record of a host cannot be read
 */
export async function lifeOf(context: TokenContext, record: TokenRecord, claims: Claims): Promise<Life> {
  context.storage.tokens.requireReadable?.(record);
  const stored = storedLife(record, context.clock());
  if (!stored.alive) return stored;
  if (hasRevocationCheck(context, record.kind) && (await isRevokedByStore(context, record)))
    return ended('revoked');
  const claimed = claimedLife(claims, context.clock());
  if (!claimed.alive) return claimed;
  if (record.standing?.client === undefined || context.storage.hasOtherClients) {
    const client = await clientLife(context, record.clientId);
    if (!client.alive) return client;
  }
  if (record.ancestors && claims !== OF_ANCESTOR && !(await areAlive(context, record.ancestors)))
    return ended('ancestor_ended');
  if (context.getSubjectState !== undefined) {
    const subject = await subjectLife(context, record.subject);
    if (!subject.alive) return subject;
  }
  // `subject` cannot replace a missing `sub`: pairwise clients must not learn it (OpenID Connect Core §8).
  if (record.subject !== undefined && typeof claims.sub !== 'string') return ended('sub_missing');
  if (record.supersededAtMs !== undefined) return ended('superseded', record.supersededAtMs);
  return record.tokenType === 'DPoP' ? boundLife({ record, claims }) : ALIVE;
}

/** Whether the row of an assertion is alive. One that was signed before an end and is used only afterwards has ended too. */
export async function assertionLife(context: TokenContext, row: TokenRecord): Promise<Life> {
  const life = await lifeOf(context, row, OF_ANCESTOR);
  if (!life.alive) return life;
  for (const principal of PRINCIPALS) {
    const sinceMs = row.standing?.[principal]?.raisedAtMs ?? 0;
    if (sinceMs >= row.issuedAtMs) return ended(`${principal}_revoked`, sinceMs);
  }
  return ALIVE;
}

/** Who acts with a token that was obtained for a user by exchange, or a personal one. @returns `undefined` for others */
export function actingWith(record: TokenRecord): ActingClient | undefined {
  const { ancestors = [], subject, clientId, claims, grantId } = record;
  const personal = claims?.[PERSONAL] ? grantId : undefined;
  const application = personal ? clientId : applicationOf(ancestors);
  return subject && application ? { clientId, subject, application, personal } : undefined;
}

/** An ancestor, with what is stored about it. */
interface AncestorLife extends Ancestor {
  readonly record: TokenRecord | undefined;
  readonly life: Life;
}

/** The lives of ancestors: what was obtained from a token dies with it (ADR 182). It may be superseded. */
export function ancestorLives(
  context: TokenContext,
  ancestors: readonly Ancestor[],
): Promise<readonly AncestorLife[]> {
  const lives = ancestors.map(async (ancestor) => {
    const record = await lookUp(context, ancestor.kind, ancestor.id);
    const life: Life = record ? await lifeOf(context, record, OF_ANCESTOR) : NOT_STORED;
    return { ...ancestor, record, life: !life.alive && life.reason === 'superseded' ? ALIVE : life };
  });
  return Promise.all(lives);
}

/**
 * Returns the error if the store refused to issue an exchanged token. If its ancestors live and its client is as before,
 * the user has ended what the client had obtained, maybe long ago.
 */
export async function refusedIssuance(
  context: TokenContext,
  client: ClientRecord,
  { ancestors = [] }: Pick<NewToken, 'ancestors'>,
): Promise<OAuthError> {
  const { generation = 0 } = { ...(await context.storage.clients.get(client.id)) };
  const isAsBefore = generation === (client.generation ?? 0) && (await areAlive(context, ancestors));
  return grantEnded(isAsBefore ? 'exchanges_ended' : undefined);
}

async function areAlive(context: TokenContext, ancestors: readonly Ancestor[]): Promise<boolean> {
  return (await ancestorLives(context, ancestors)).every(({ life }) => life.alive);
}

const NOT_STORED: Life = ended('no_record');

/** The ancestor itself is not at hand. Its record has the same times, and `sub` was there. Its ancestors are checked already. */
const OF_ANCESTOR: Claims = { sub: '' };

/** A host's store that does not keep `confirmation` has lost the key. No client can prove possession of it. */
function boundLife(found: FoundToken): Life {
  const isBound = typeof confirmationOf(found)?.jkt === 'string';
  return isBound ? ALIVE : ended('confirmation_missing');
}

/** Whether a code can be redeemed, apart from its single use. */
export async function codeLife(context: TokenContext, record: AuthorizationCodeRecord): Promise<Life> {
  const stored = storedLife(record, context.clock());
  return stored.alive ? subjectLife(context, record.subject) : stored;
}

/** Whether the host still knows the user and lets them sign in. */
export async function subjectLife(context: TokenContext, subject: string | undefined): Promise<Life> {
  if (subject === undefined || context.getSubjectState === undefined) return ALIVE;
  const state = await context.getSubjectState(subject);
  return state === 'active' ? ALIVE : ended('subject_disabled');
}

/**
 * Checks the times in the token itself (RFC 7519 §4.1.4, §4.1.5). For this server's tokens `exp` equals the stored
 * expiry, but JWTs of a host's `JwtService` may differ. A time that is not a number means inactive.
 */
function claimedLife({ exp, nbf }: Claims, nowMs: number): Life {
  if (exp !== undefined && !(Number.isFinite(exp) && Number(exp) * 1000 > nowMs)) {
    return ended(Number.isFinite(exp) ? 'expired' : 'expiry_unreadable');
  }
  if (nbf !== undefined && nbf !== null && !(typeof nbf === 'number' && nbf * 1000 <= nowMs))
    return ended('not_yet_valid');
  return ALIVE;
}

/** Needed only if the record has no client state: the stores of this library join it. */
async function clientLife({ storage }: TokenContext, clientId: string): Promise<Life> {
  const client = await storage.clients.get(clientId);
  if (!client) return ended('client_gone');
  const { disabledAtMs } = client;
  return disabledAtMs === undefined ? ALIVE : ended('client_disabled', disabledAtMs);
}

function hasRevocationCheck({ storage }: TokenContext, kind: TokenKind): boolean {
  return kind === 'refresh_token' || storage.tokens.isAccessTokenRevoked !== undefined;
}

async function isRevokedByStore({ storage: { tokens } }: TokenContext, record: TokenRecord) {
  const method = record.kind === 'refresh_token' ? 'isRefreshTokenRevoked' : 'isAccessTokenRevoked';
  const isRevoked: unknown = await tokens[method]?.(record);
  if (typeof isRevoked === 'boolean') return isRevoked;
  throw new StorageFault(noBoolean(method, isRevoked));
}

/** Verifies access tokens. A host can replace that of the library. */
export interface AccessTokenVerifier {
  /**
   * @param scheme how the token was presented. A token that is bound to a key is accepted only with `DPoP`, and the
   *   caller must then check the proof (RFC 9449 §7).
   * @param certificate thumbprint of the certificate of the TLS connection: SHA-256 of its DER, base64url. A token that
   *   is bound to a certificate is accepted only with the same one (RFC 8705 §3).
   * @returns the token's record and its verified claims
   * @throws {OAuthError} `invalid_token` (RFC 6750 §3.1)
   */
  verify(token: string, scheme?: TokenScheme, certificate?: string): Promise<FoundToken>;
}

/**
 * Verifies access tokens of this server: signature, `typ`, issuer, record and state. It does not check the audience:
 * every access token of this issuer is accepted (grantd §7.4).
 */
export class StoredAccessTokenVerifier implements AccessTokenVerifier {
  readonly #context: TokenContext;

  constructor(context: TokenContext) {
    this.#context = context;
  }

  async verify(token: string, scheme?: TokenScheme, certificate?: string): Promise<FoundToken> {
    const found = await findToken(this.#context, token);
    if (found.hasGenericType) requireGenericAllowed(this.#context, found.claims);
    if ('reason' in found) throw refused(found.reason, found.cause);
    if (found.record.kind !== 'access_token') throw refused('wrong_type');
    if (found.claims.exp === undefined) throw refused('malformed'); // RFC 9068 §2.2; a host's own JWT
    await requireAlive(this.#context, found, scheme, certificate);
    return found;
  }
}

/**
 * Checks that a token is alive and presented as it is bound.
 * @throws {OAuthError} `invalid_token`
 */
export async function requireAlive(
  context: TokenContext,
  found: FoundToken,
  scheme: TokenScheme = 'Bearer',
  certificate?: string,
): Promise<void> {
  const life = await lifeOf(context, found.record, found.claims);
  const reason = life.alive ? bindingRefusal(confirmationOf(found), scheme, certificate) : life.reason;
  if (reason !== undefined) throw refused(reason, undefined, found.record.clientId);
}

/** The `typ` header must be `at+jwt`, unless the host allows others (grantd §7.3). */
function requireGenericAllowed({ insecureAllowGenericJwts }: TokenContext, claims: Claims | undefined): void {
  if (!insecureAllowGenericJwts) throw refused('wrong_type');
  if (claims?.iss === undefined) throw refused('wrong_issuer');
}

/** The description contains only what the bearer may know. @param clientId of the token, if there is a record of it */
export function refused(reason: ReasonCode, cause?: unknown, clientId?: string): OAuthError {
  const text = `the access token ${DESCRIPTIONS[reason] ?? (ENDS.test(reason) ? 'is revoked' : 'is not valid')}`;
  const description = reason === 'wrong_type' ? 'the token is not an access token' : text;
  return new OAuthError('invalid_token', description, { reason, cause, clientId });
}

const DESCRIPTIONS: Partial<Record<ReasonCode, string>> = {
  malformed: 'is malformed',
  token_bound: 'is bound to a key and needs a proof',
  token_unbound: 'is not bound to a key',
  client_certificate_missing: 'is bound to a client certificate',
  client_certificate_wrong: 'is bound to another client certificate',
  wrong_issuer: 'is from another issuer',
  expired: 'is expired',
  no_record: 'is revoked or unknown',
  no_person: 'has no user',
  access_token_missing: 'is missing',
};

/** Reasons that mean to the bearer that the token is revoked. */
const ENDS = /revoked$|disabled$|^client_gone$|^issued_before_cutoff$|^ancestor_ended$/;

/** The client and the user that an ID token was issued for. */
export interface IdTokenHint {
  readonly clientId: string;
  /** The identifier by which the client knows the user. */
  readonly sub: string;
  /** The identifier by which the client knows the session. */
  readonly sid?: string;
}

/**
 * Reads an ID token of this server. Expired ones are accepted too, because they only say whom the client means (OpenID
 * Connect Core §3.1.2.1, RP-Initiated Logout §2).
 * @returns `undefined` for everything else, including other JWTs of this server
 */
export async function readIdTokenHint(
  { jwt, issuer }: TokenContext,
  hint: string,
): Promise<IdTokenHint | undefined> {
  const verified = await jwt.verify(hint);
  if (!verified.verified || jwtTypeOf(verified.type) !== 'id_token') return undefined;
  const { iss, sub, aud, exp, iat, jti, sid } = verified.claims;
  // Other JWTs have the same type: UserInfo responses have no times, and access tokens have a `jti`.
  const isIdToken = typeof exp === 'number' && typeof iat === 'number' && jti === undefined;
  if (iss !== issuer || !isIdToken) return undefined;
  const [clientId, ...others] = [aud].flat();
  if (typeof clientId !== 'string' || others.length > 0 || typeof sub !== 'string') return undefined;
  return { clientId, sub, ...(typeof sid === 'string' && { sid }) };
}
