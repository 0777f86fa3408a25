import type { Claims } from '../protocol/claims.ts';
import { ALIVE, type Life, storedLife } from '../protocol/life.ts';
import { StorageFault } from '../protocol/oauth_error.ts';
import type { AuthorizationCodeRecord, TokenKind, TokenRecord } from '../protocol/records.ts';
import type { TokenContext } from './context.ts';

/**
 * Whether a token is alive: its record exists, its stored expiry is in the future, and it is not revoked.
 * The only function that decides it; introspection, UserInfo and refresh all ask here.
 * `superseded` is the last reason that is looked at: a token that is dead for it is dead for no other.
 */
export async function lifeOf(context: TokenContext, record: TokenRecord, claims: Claims): Promise<Life> {
  const stored = storedLife(record, context.clock());
  if (!stored.alive) return stored;
  if (saysWhatIsRevoked(context, record.kind) && (await isRevokedByStore(context, record)))
    return { alive: false, reason: 'revoked' };
  if (claims.nbf !== undefined && !(Number(claims.nbf) * 1000 <= context.clock())) {
    return { alive: false, reason: 'not_yet_valid' };
  }
  if (context.getSubjectState !== undefined) {
    const subject = await subjectLife(context, record.subject);
    if (!subject.alive) return subject;
  }
  if (record.supersededAtMs !== undefined) {
    return { alive: false, reason: 'superseded', sinceMs: record.supersededAtMs };
  }
  return ALIVE;
}

/** Whether an authorization code can still be redeemed, but for its single use. */
export async function codeLife(context: TokenContext, record: AuthorizationCodeRecord): Promise<Life> {
  const stored = storedLife(record, context.clock());
  return stored.alive ? subjectLife(context, record.subject) : stored;
}

/** Whether the host still knows the person and lets them in. */
export async function subjectLife(context: TokenContext, subject: string | undefined): Promise<Life> {
  if (subject === undefined || context.getSubjectState === undefined) return ALIVE;
  const state = await context.getSubjectState(subject);
  return state === 'active' ? ALIVE : { alive: false, reason: 'subject_disabled' };
}

function saysWhatIsRevoked({ storage }: TokenContext, kind: TokenKind): boolean {
  return kind === 'refresh_token' || storage.tokens.isAccessTokenRevoked !== undefined;
}

async function isRevokedByStore({ storage }: TokenContext, record: TokenRecord): Promise<boolean> {
  const { tokens } = storage;
  const isRevoked: unknown =
    record.kind === 'refresh_token'
      ? await tokens.isRefreshTokenRevoked(record)
      : await tokens.isAccessTokenRevoked?.(record);
  if (typeof isRevoked === 'boolean') return isRevoked;
  throw new StorageFault(new TypeError('storage must answer true or false to whether a token is revoked'));
}
