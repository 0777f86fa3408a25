import { type InactiveReason, OAuthError, StorageFault } from '../http/errors.ts';
import type { Claims } from '../protocol/claims.ts';
import {
  ALIVE,
  type AuthorizationCodeRecord,
  type Life,
  storedLife,
  type TokenKind,
  type TokenRecord,
} from '../protocol/records.ts';
import type { FoundToken, TokenContext } from './context.ts';
import { findToken } from './find.ts';

/**
 * Whether a token is alive: its record exists, neither the stored expiry nor the token's own has passed, it is not
 * revoked, and its client and person still exist. The only function that decides it; introspection, UserInfo and
 * refresh all ask here. `superseded` is the last reason that is looked at: a token that is dead for it is dead for no
 * other.
 */
export async function lifeOf(context: TokenContext, record: TokenRecord, claims: Claims): Promise<Life> {
  const stored = storedLife(record, context.clock());
  if (!stored.alive) return stored;
  if (saysWhatIsRevoked(context, record.kind) && (await isRevokedByStore(context, record)))
    return { alive: false, reason: 'revoked' };
  const claimed = claimedLife(claims, context.clock());
  if (!claimed.alive) return claimed;
  if (record.standing?.client === undefined || context.storage.hasOtherClients) {
    const client = await clientLife(context, record.clientId);
    if (!client.alive) return client;
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

/**
 * Whether the token says itself that it is valid now (RFC 7519 §4.1.4, §4.1.5). In the tokens of this server `exp` is
 * the stored expiry; a host's own JWTs may differ. A time that is not a number counts as death.
 */
function claimedLife({ exp, nbf }: Claims, nowMs: number): Life {
  if (exp !== undefined && !(typeof exp === 'number' && exp * 1000 > nowMs)) {
    return { alive: false, reason: typeof exp === 'number' ? 'expired' : 'expiry_unreadable' };
  }
  if (nbf !== undefined && !(Number(nbf) * 1000 <= nowMs)) return { alive: false, reason: 'not_yet_valid' };
  return ALIVE;
}

/** Stores that join the client's generation have answered this already; a host's record may come without it. */
async function clientLife({ storage }: TokenContext, clientId: string): Promise<Life> {
  const client = await storage.clients.get(clientId);
  if (!client) return { alive: false, reason: 'client_gone' };
  const { disabledAtMs } = client;
  return disabledAtMs === undefined
    ? ALIVE
    : { alive: false, reason: 'client_disabled', sinceMs: disabledAtMs };
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

/**
 * Verifies access tokens that this server issued: signature by the pinned algorithm, `typ`, issuer, record, life.
 * There is no audience check: every access token of this issuer is accepted.
 */
export class AccessTokenVerifier {
  readonly #context: TokenContext;

  constructor(context: TokenContext) {
    this.#context = context;
  }

  /**
   * @returns the token's record and verified claims
   * @throws {OAuthError} `invalid_token` (RFC 6750 §3.1)
   */
  async verify(token: string): Promise<FoundToken> {
    const found = await findToken(this.#context, token);
    if (found.isPlainJwt) throw refused('wrong_type'); // the typ header must be at+jwt
    if ('reason' in found) throw refused(found.reason);
    if (found.record.kind !== 'access_token') throw refused('wrong_type');
    if (found.claims.exp === undefined) throw refused('malformed'); // RFC 9068 §2.2; a host's own JWT
    const life = await lifeOf(this.#context, found.record, found.claims);
    if (!life.alive) throw refused(life.reason);
    return found;
  }
}

/** What the bearer may know; everything else is one answer. */
function refused(reason: InactiveReason): OAuthError {
  return new OAuthError('invalid_token', DESCRIPTIONS[reason] ?? 'the access token is not valid', { reason });
}

const DESCRIPTIONS: Partial<Record<InactiveReason, string>> = {
  malformed: 'the access token is malformed',
  wrong_type: 'the token is not an access token',
  wrong_issuer: 'the access token is from another issuer',
  expired: 'the access token is expired',
  revoked: 'the access token is revoked',
  grant_revoked: 'the access token is revoked',
  session_revoked: 'the access token is revoked',
  subject_revoked: 'the access token is revoked',
  subject_disabled: 'the access token is revoked',
  client_revoked: 'the access token is revoked',
  client_disabled: 'the access token is revoked',
  client_gone: 'the access token is revoked',
  issued_before_cutoff: 'the access token is revoked',
  no_record: 'the access token is revoked or unknown',
};
