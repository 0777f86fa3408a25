import { sha256 } from '#hashing';
import { secondsOf } from '../environment.ts';
import { equalInConstantTime } from '../hashing/hashing.ts';
import { OAuthError } from '../http/errors.ts';
import type { Form } from '../http/form.ts';
import type { Claims } from '../protocol/claims.ts';
import type { ClientRecord, TokenKind, TokenRecord } from '../protocol/records.ts';
import type { Awaitable } from '../storage/contract.ts';
import { ownClaims } from './application_claims.ts';
import type { FoundToken, NoToken, TokenContext } from './context.ts';
import { jwtTypeOf } from './jwt.ts';
import { opaqueKindOf } from './opaque_token.ts';
import { subjectIdentifier } from './subject_identifier.ts';

/** RFC 7515 §7.1. */
const COMPACT_JWS = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/**
 * Finds a token by what it is itself: the kind comes from the `typ` header of a JWT whose signature has
 * verified, or from an opaque token's prefix; so no hint is needed, and one look-up is enough.
 */
export function findToken(context: TokenContext, token: string): Promise<FoundToken | NoToken> {
  return token.includes('.') ? findJwt(context, token) : findOpaque(context, token);
}

async function findJwt(context: TokenContext, token: string): Promise<FoundToken | NoToken> {
  const jwt = await context.jwt.verify(token);
  if (!jwt.verified) {
    if (!COMPACT_JWS.test(token)) return { reason: 'malformed' };
    return (await context.findFormerToken?.(token)) ?? { reason: jwt.reason };
  }
  const { claims } = jwt;
  const type = jwtTypeOf(jwt.type);
  const isPlainJwt = type === 'id_token' && claims.jti !== undefined;
  const kind = isPlainJwt ? 'access_token' : kindOfType(jwt.type);
  if (kind === undefined || typeof claims.jti !== 'string')
    return { reason: 'wrong_type', claims, ...(type !== undefined && { type }) };
  if (claims.iss !== context.issuer) return { reason: 'wrong_issuer', kind, claims };
  const record = await lookUp(context, kind, claims.jti);
  const plain = isPlainJwt && { isPlainJwt };
  if (record === undefined) return { reason: 'no_record', kind, claims, ...plain };
  // Only the digest tells a plain JWT from others that the key has signed.
  const isIssued =
    (!isPlainJwt || record.digest !== undefined) && isAsIssued(record, jwt.digest ?? (await sha256(token)));
  if (!isIssued) return { reason: 'differs_from_issued', kind, claims, ...plain };
  return { record, claims, ...plain };
}

async function findOpaque(context: TokenContext, token: string): Promise<FoundToken | NoToken> {
  const kind = opaqueKindOf(token);
  if (kind !== 'access_token' && kind !== 'refresh_token') return { reason: 'malformed' };
  const record = await lookUp(context, kind, await sha256(token));
  if (record === undefined) return { reason: 'no_record', kind };
  return { record, claims: { ...(await claimsOfRecord(context, record)), ...ownClaims(record) } };
}

function lookUp({ storage }: TokenContext, kind: TokenKind, id: string): Awaitable<TokenRecord | undefined> {
  return kind === 'access_token' ? storage.tokens.getByAccessToken(id) : storage.tokens.getByRefreshToken(id);
}

/** A stolen signing key makes a JWT verify, but not be the one that was issued. */
function isAsIssued({ digest }: TokenRecord, digestOfToken: string): boolean {
  return digest === undefined || equalInConstantTime(digest, digestOfToken);
}

function kindOfType(type: string | undefined): TokenKind | undefined {
  const known = jwtTypeOf(type);
  return known === 'access_token' || known === 'refresh_token' ? known : undefined;
}

/** What a record says by itself, for a host that keeps no claims of its opaque tokens. */
async function claimsOfRecord(context: TokenContext, record: TokenRecord): Promise<Claims> {
  const { expiresAt, issuedAtMs } = record;
  return {
    iss: context.issuer,
    sub: record.claims?.sub ?? (await toldSubject(context, record)),
    exp: expiresAt,
    // A host that brings its own records may not have kept it.
    ...(Number.isFinite(issuedAtMs) && { iat: secondsOf(issuedAtMs) }),
  };
}

/** `sub` of a record that keeps none; `undefined` where its client is gone, and with it what it was told. */
async function toldSubject(
  context: TokenContext,
  { subject, clientId }: TokenRecord,
): Promise<string | undefined> {
  if (subject === undefined) return clientId;
  if (context.pairwiseSecret === undefined) return subject;
  const client = await context.storage.clients.get(clientId);
  return client && subjectIdentifier(context, client, subject);
}

/** What a caller takes a token for; advisory (RFC 7009 §2.1, RFC 7662 §2.1). */
export type TokenTypeHint = 'access_token' | 'refresh_token' | 'auth_code';

const HINTS: readonly string[] = ['access_token', 'refresh_token', 'auth_code'] satisfies TokenTypeHint[];

/**
 * The hint of a request. An unknown one is ignored if the server or the caller's registration says so.
 * @param asking the caller, who is still being authenticated; `undefined` if callers are not
 * @returns `undefined` if there is no hint, or one that is ignored
 * @throws {OAuthError} `unsupported_token_type`: a value that this server does not know
 */
export function readTokenTypeHint(
  { ignoreUnknownTokenTypeHints }: { readonly ignoreUnknownTokenTypeHints: boolean },
  form: Form,
  asking: Promise<ClientRecord | undefined>,
): Awaitable<TokenTypeHint | undefined> {
  const hint = form.get('token_type_hint');
  if (hint === undefined || isHint(hint)) return hint;
  if (ignoreUnknownTokenTypeHints) return undefined;
  return asking.then((caller) => {
    if (caller?.metadata?.ignore_unknown_token_type_hint === true) return undefined;
    throw new OAuthError('unsupported_token_type', 'the token_type_hint is unknown', {
      reason: 'unknown_hint',
      value: hint,
    });
  });
}

function isHint(text: string): text is TokenTypeHint {
  return HINTS.includes(text);
}
