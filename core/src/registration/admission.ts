import { hmacSha256 } from '#crypto';
import { takeOnce } from '../clients/client.ts';
import type { Context, ResolvedRegistration } from '../context.ts';
import { equalInConstantTime, secondsOf } from '../environment.ts';
import { bearerOfHeader } from '../http/bearer.ts';
import { OAuthError, type RefusalReason } from '../http/errors.ts';
import type { HttpRequest } from '../http/http.ts';
import { newIdentifier, PREFIXES } from '../tokens/opaque_token.ts';

/**
 * Registration, where it is on. A host may call the operation although nothing is mounted.
 * @throws {OAuthError} with status 404
 */
export function requireRegistration({ registration }: Context): ResolvedRegistration {
  if (registration !== undefined) return registration;
  throw new OAuthError('invalid_request', 'clients cannot register themselves here', {
    status: 404,
    reason: 'registration_off',
  });
}

/**
 * Whether the sender may register a client (RFC 7591 §3).
 * @returns what its token permits, where it is one of this server's
 * @throws {OAuthError} `invalid_token`
 */
export async function requireAdmission(
  context: Context,
  { openTo }: ResolvedRegistration,
  request: HttpRequest,
): Promise<InitialAccess | undefined> {
  if (openTo === 'anyone') return undefined;
  const token = bearerOfHeader(request);
  if (token === undefined) throw refused('access_token_missing');
  if (openTo === 'initial_access_token') {
    const access = await readInitialAccessToken(context, token);
    if (access === undefined) throw refused('initial_access_token_invalid');
    return access;
  }
  if (!(await openTo(token))) throw refused('initial_access_token_invalid');
  return undefined;
}

/**
 * Uses up a token that is for one client. What fails afterwards leaves it used: nobody can register twice with it.
 * @throws {OAuthError} `invalid_token`: it was used before
 */
export async function useAdmission(context: Context, access: InitialAccess | undefined): Promise<void> {
  if (access === undefined || !access.isForOne) return;
  if (!(await takeOnce(context, `initial_access_token ${access.id}`, access.expiresAt)))
    throw refused('initial_access_token_used');
}

function refused(reason: RefusalReason): OAuthError {
  return new OAuthError('invalid_token', 'registration needs a valid initial access token', { reason });
}

/** What an initial access token permits (RFC 7591 §1.2). */
interface InitialAccess {
  readonly id: string;
  /** Seconds. */
  readonly expiresAt: number;
  /** Whether one client alone can be registered with it. */
  readonly isForOne: boolean;
}

/** How an initial access token is to be. */
export interface InitialAccessOrder {
  /** Seconds that it lives. */
  readonly lifetime: number;
  /** Default: `false`. */
  readonly isForOne?: boolean;
}

const PREFIX = PREFIXES.initial_access_token;
const FORM = new RegExp(`^${PREFIX}([A-Za-z0-9_-]{22})\\.(\\d{1,12})\\.(one|any)\\.([A-Za-z0-9_-]{43})$`);

/**
 * A new initial access token. It is signed under the server's secret rather than stored: any process knows it, and
 * nothing has to be swept. What is given up is taking it back before it expires.
 * @throws {TypeError} it cannot be so
 */
export async function newInitialAccessToken(
  context: Context,
  { lifetime, isForOne = false }: InitialAccessOrder,
): Promise<string> {
  if (!Number.isSafeInteger(lifetime) || lifetime < 1)
    throw new TypeError('the lifetime of an initial access token is whole seconds from 1');
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

/** @returns `undefined` where the text is no such token of this server, or has expired */
async function readInitialAccessToken(context: Context, token: string): Promise<InitialAccess | undefined> {
  const [, id, expiresAt, use, signed] = FORM.exec(token) ?? [];
  if (id === undefined || signed === undefined) return undefined;
  const access = { id, expiresAt: Number(expiresAt), isForOne: use === 'one' };
  if (access.expiresAt <= secondsOf(context.clock())) return undefined;
  for (const key of await context.secret.keys('initial_access_token')) {
    if (equalInConstantTime(await signature(key, context, access), signed)) return access;
  }
  return undefined;
}

/** Several issuers may share a secret: a token is one issuer's. */
async function signature(
  key: Uint8Array<ArrayBuffer>,
  { issuer }: Context,
  access: InitialAccess,
): Promise<string> {
  return hmacSha256(key, `${written(access)} ${issuer}`);
}

function written({ id, expiresAt, isForOne }: InitialAccess): string {
  return `${id}.${expiresAt}.${isForOne ? 'one' : 'any'}`;
}
