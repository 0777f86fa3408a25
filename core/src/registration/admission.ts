// Decides who may register a client, and issues and checks initial access tokens.
import { hmacSha256 } from '#crypto';
import { bearerOfHeader } from '../http/bearer.ts';
import { invalidRequest, OAuthError, type RefusalReason } from '../http/errors.ts';
import type { HttpRequest } from '../http/http.ts';
import { type Bytes, equalInConstantTime, secondsOf } from '../platform/environment.ts';
import type { Context, ResolvedRegistration } from '../request/context.ts';
import type { OneTimeUse } from '../storage/contract.ts';
import type { TokenContext } from '../tokens/context.ts';
import { newIdentifier, PREFIXES } from '../tokens/opaque_token.ts';

/**
 * Returns the settings of registration. A host may call the operation although registration is off.
 * @throws {OAuthError} status 404: registration is off
 */
export function requireRegistration({ registration }: Pick<Context, 'registration'>): ResolvedRegistration {
  if (registration !== undefined) return registration;
  throw invalidRequest('client registration is off on this server', 'registration_off', { status: 404 });
}

/**
 * Checks that the sender may register a client (RFC 7591 §3).
 * @returns what the token permits, if it is an initial access token of this server
 * @throws {OAuthError} `invalid_token`
 */
export async function requireAdmission(
  context: TokenContext,
  { openTo }: ResolvedRegistration,
  request: HttpRequest,
): Promise<InitialAccess | undefined> {
  if (openTo === 'anyone') return undefined;
  const token = bearerOfHeader(request);
  if (token === undefined) throw refusedAdmission('access_token_missing');
  if (openTo === 'initial_access_token') {
    const access = await readInitialAccessToken(context, token);
    if (access === undefined) throw refusedAdmission('initial_access_token_invalid');
    return access;
  }
  if (!(await openTo(token))) throw refusedAdmission('initial_access_token_invalid');
  return undefined;
}

/** What a registration with a single-use token uses up, in the step that adds the client. */
export function useOf(access: InitialAccess | undefined): OneTimeUse | undefined {
  if (access === undefined || !access.isForOne) return undefined;
  return { id: `initial_access_token ${access.id}`, expiresAt: access.expiresAt };
}

export function refusedAdmission(reason: RefusalReason): OAuthError {
  return new OAuthError('invalid_token', 'registration needs a valid initial access token', { reason });
}

/** The content of an initial access token (RFC 7591 §1.2). */
interface InitialAccess {
  readonly id: string;
  /** Seconds. */
  readonly expiresAt: number;
  /** Whether the token can register only one client. */
  readonly isForOne: boolean;
}

/** Options of a new initial access token. */
export interface InitialAccessOrder {
  /** Seconds from 1. */
  readonly lifetime: number;
  /** Whether the token can register only one client. Default: `false`. */
  readonly isForOne?: boolean;
}

const PREFIX = PREFIXES.initial_access_token;
const FORM = new RegExp(`^${PREFIX}([A-Za-z0-9_-]{22})\\.(\\d{1,12})\\.(one|any)\\.([A-Za-z0-9_-]{43})$`);

/**
 * Returns a new initial access token. It is signed under the server's secret and not stored, so every process accepts
 * it and nothing has to be swept. The price: it cannot be revoked before it expires (ADR 20).
 * @throws {TypeError} the lifetime is wrong, or storage lacks `oneTimeIdentifiers`
 */
export async function newInitialAccessToken(
  context: TokenContext,
  { lifetime, isForOne = false }: InitialAccessOrder,
): Promise<string> {
  if (!Number.isSafeInteger(lifetime) || lifetime < 1)
    throw new TypeError('the lifetime of an initial access token must be a positive whole number of seconds');
  if (isForOne && context.storage.oneTimeIdentifiers === undefined)
    throw new TypeError('an initial access token for one client needs storage.oneTimeIdentifiers');
  const access = {
    id: newIdentifier(context.random),
    expiresAt: secondsOf(context.clock()) + lifetime,
    isForOne,
  };
  const signed = await signature(await context.secret.key('initial_access_token'), context, access);
  return `${PREFIX}${written(access)}.${signed}`;
}

/** @returns `undefined` if the text is not a token of this issuer, or has expired */
async function readInitialAccessToken(
  context: TokenContext,
  token: string,
): Promise<InitialAccess | undefined> {
  const [, id, expiresAt, use, signed] = FORM.exec(token) ?? [];
  if (id === undefined || signed === undefined) return undefined;
  const access = { id, expiresAt: Number(expiresAt), isForOne: use === 'one' };
  if (access.expiresAt <= secondsOf(context.clock())) return undefined;
  for (const key of await context.secret.keys('initial_access_token')) {
    if (equalInConstantTime(await signature(key, context, access), signed)) return access;
  }
  return undefined;
}

/** Covers the issuer, because several issuers may share one secret. */
async function signature(key: Bytes, { issuer }: TokenContext, access: InitialAccess): Promise<string> {
  return hmacSha256(key, `${written(access)} ${issuer}`);
}

function written({ id, expiresAt, isForOne }: InitialAccess): string {
  return `${id}.${expiresAt}.${isForOne ? 'one' : 'any'}`;
}
