import { hmacSha256 } from '#hashing';
import { secondsOf } from '../../protocol/environment.ts';
import { equalInConstantTime } from '../../protocol/hashing/constant_time.ts';
import { newIdentifier, PREFIXES } from '../../tokens/opaque_token.ts';
import type { Context } from '../context.ts';

/** What an initial access token permits (RFC 7591 §1.2). */
export interface InitialAccess {
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
export async function readInitialAccessToken(
  context: Context,
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
