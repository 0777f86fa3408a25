// Keeps tokens of a previous server and tokens of this server consistent.
import type { Clock } from '../platform/environment.ts';
import type { Claims } from '../protocol/claims.ts';
import { storedLife } from '../protocol/record_rules.ts';
import type { NewToken, Standing, TokenKind, TokenRecord } from '../protocol/records.ts';
import type {
  Awaitable,
  ContinuationOutcome,
  Found,
  HostToken,
  PrincipalState,
  Storage,
} from '../storage/contract.ts';
import { tokenRecord } from '../storage/host_records.ts';
import type { ReadableStorage } from '../storage/host_storage.ts';
import { canContinue } from '../storage/issuing.ts';

/** Access to a previous server's tokens in its own tables. A rejection counts as a storage fault. */
interface PreviousRows {
  /** @param id that `identify` returned for a token whose signature has verified */
  find(kind: TokenKind, id: string): Found<PreviousToken>;
  isRevoked(kind: TokenKind, row: PreviousToken): Awaitable<boolean>;
  /** Revokes a token and those that were issued with it. Does nothing if the token does not exist. */
  revoke(kind: TokenKind, id: string): Awaitable<void>;
}

/** Returns the record of a previous server's token, with its present state. */
export type FindPreviousToken = (kind: TokenKind, id: string) => Promise<TokenRecord | undefined>;

export interface PreviousParts {
  /** `getPrincipalState` tells whether a client or a user was disabled or revoked as a whole. */
  readonly previous: PreviousRows & Required<Pick<Storage, 'getPrincipalState'>>;
  readonly clock: Clock;
}

/** State of a registered client without any mass revocation. */
const UNTOUCHED: Standing = { copied: 0, current: 0 };

type Joined = Omit<ReadableStorage['tokens'], 'getByAccessToken' | 'getByRefreshToken' | 'issue' | Passed>;

/** Members that hold for both servers' tokens. */
type Passed = 'keyedBy' | 'identify' | 'read' | 'requireReadable';

/**
 * Combines a previous server's tokens with this server's own. They stay in their tables. When a refresh token is used,
 * it is copied into this server's storage, and the copy records its exchange. The two stores share no transaction, so
 * steps are ordered such that an interrupted one is repeated or refused.
 * @returns the lookup of previous tokens, and repositories whose writes reach both stores
 */
export function withPreviousTokens(
  { clients, tokens }: Pick<ReadableStorage, 'clients' | 'tokens'>,
  { previous, clock }: PreviousParts,
): { readonly find: FindPreviousToken; readonly tokens: ReadableStorage['tokens'] } {
  /** The previous server's view. A token whose client is not registered here does not exist. */
  const ask: FindPreviousToken = async (kind, id) => {
    const found = await previous.find(kind, id);
    if (!found) return undefined;
    const isRevoked = (await previous.isRevoked(kind, found)) !== false;
    const record = previousRecord(kind, id, found, isRevoked);
    const { clientId, subject, issuedAtMs } = record;
    const standing = async (principal: 'client' | 'subject', of: string | undefined) =>
      of === undefined ? undefined : standingOf(await previous.getPrincipalState(principal, of), issuedAtMs);
    const [registered, client, person] = await Promise.all([
      clients.get(clientId),
      standing('client', clientId),
      standing('subject', subject),
    ]);
    return (
      registered && {
        ...record,
        standing: { client: client ?? UNTOUCHED, ...(person && { subject: person }) },
      }
    );
  };

  const copyOf = async (refreshTokenId: string | undefined): Promise<TokenRecord | undefined> => {
    const copy = refreshTokenId === undefined ? undefined : await tokens.getByRefreshToken(refreshTokenId);
    return copy && isPrevious(copy) ? copy : undefined;
  };

  /** Whether this server has ended the token. Expiry does not count, because the previous row knows it too. */
  const isEnded = async (copy: TokenRecord): Promise<boolean> => {
    const life = storedLife(copy, clock());
    if (copy.supersededAtMs !== undefined || (!life.alive && life.reason !== 'expired')) return true;
    return (await tokens.isRefreshTokenRevoked(copy)) !== false;
  };

  const find: FindPreviousToken = async (kind, id) => {
    const record = await ask(kind, id);
    const copy = await copyOf(kind === 'refresh_token' ? id : record && refreshTokenIdOf(record));
    if (copy === undefined || !(await isEnded(copy))) return record;
    // The reuse of an exchanged refresh token must be recognized as such.
    if (kind === 'refresh_token' && copy.supersededAtMs !== undefined) return copy;
    return record && { ...record, expiresAt: 0 };
  };

  /** Revokes the token in the previous tables, or the one that this token was exchanged for. */
  const revokePrevious = async (record: TokenRecord): Promise<void> => {
    const refreshTokenId = refreshTokenIdOf(record);
    if (isPrevious(record)) await previous.revoke(record.kind, record.id);
    else if (refreshTokenId !== undefined) await previous.revoke('refresh_token', refreshTokenId);
  };

  /**
   * Returns the record in this server's storage. For a previous access token, that is the copy of its refresh token.
   */
  const ownOf = async (record: TokenRecord): Promise<TokenRecord | undefined> =>
    isPrevious(record) ? copyOf(refreshTokenIdOf(record)) : record;

  /** @returns the copy, also if another request stored it; `undefined` if storage refused it */
  const keep = async (record: TokenRecord): Promise<TokenRecord | undefined> => {
    const kept = await copyOf(record.id);
    if (kept !== undefined) return kept;
    const { generation = 0 } = (await clients.get(record.clientId)) ?? {};
    try {
      await tokens.issue([copyOfPrevious(record)], { clientGeneration: generation });
    } catch (error) {
      const stored = await copyOf(record.id);
      if (stored === undefined) throw error;
      return stored; // another request has stored it first
    }
    return copyOf(record.id);
  };

  /** A concurrent revocation ends the previous token first and then the copy, so this notices one of the two. */
  const upon = async (
    record: TokenRecord,
    issue: (copy: TokenRecord) => Awaitable<ContinuationOutcome>,
  ): Promise<ContinuationOutcome> => {
    const copy = await keep(record);
    if (copy === undefined) return 'refused';
    const now = await ask('refresh_token', record.id);
    if (now !== undefined && canContinue(now, clock())) return issue(copy);
    return (await copyOf(record.id))?.supersededAtMs === undefined ? 'refused' : 'superseded';
  };

  const isAccessTokenRevoked = tokens.isAccessTokenRevoked?.bind(tokens);
  const joined: Joined = {
    // `find` has already considered a revocation, except for a copy that was exchanged.
    isRefreshTokenRevoked: (record) =>
      isPrevious(record) && record.supersededAtMs === undefined
        ? false
        : tokens.isRefreshTokenRevoked(record),
    ...(isAccessTokenRevoked && {
      isAccessTokenRevoked: (record: TokenRecord) =>
        isPrevious(record) ? false : isAccessTokenRevoked(record),
    }),
    async revoke(record) {
      await revokePrevious(record);
      const own = await ownOf(record);
      if (own !== undefined) await tokens.revoke(own);
    },
    async revokeFamily(record, reason) {
      await revokePrevious(record);
      const own = await ownOf(record);
      if (own !== undefined) await tokens.revokeFamily(own, reason);
    },
    async rotate(record, successor, issued, once) {
      if (!isPrevious(record)) return tokens.rotate(record, successor, issued, once);
      const outcome = await upon(record, (copy) => tokens.rotate(copy, successor, issued, once));
      if (outcome === 'issued' || outcome === 'superseded') await revokePrevious(record);
      return outcome;
    },
    async issueFrom(record, issued, once) {
      if (isPrevious(record)) return upon(record, (copy) => tokens.issueFrom(copy, issued, once));
      await revokePrevious(record); // this is a retry, and the first exchange may have been interrupted
      return tokens.issueFrom(record, issued, once);
    },
  };
  // Method by method: those of a host's class are not members of its own.
  const same: Omit<ReadableStorage['tokens'], keyof Joined> = {
    ...(tokens.keyedBy && { keyedBy: tokens.keyedBy }),
    ...(tokens.identify && { identify: (claims: Claims, token: string) => tokens.identify?.(claims, token) }),
    ...(tokens.read && {
      read: (found: HostToken, kind: TokenKind, id: string) => tokens.read?.(found, kind, id),
    }),
    ...(tokens.requireReadable && {
      requireReadable: (record: TokenRecord) => tokens.requireReadable?.(record),
    }),
    getByAccessToken: (key, id) => tokens.getByAccessToken(key, id),
    getByRefreshToken: (key, id) => tokens.getByRefreshToken(key, id),
    issue: (issued, order) => tokens.issue(issued, order),
  };
  return { find, tokens: { ...same, ...joined } };
}

/**
 * A previous server's token, as its tables have it. Without `issuedAtMs`, it ends with each revocation of all tokens of its
 * client or user. The earlier one of `expiresAt` and the token's `exp` counts.
 */
export interface PreviousToken extends HostToken {
  /** For access tokens: the key of the refresh token that was issued with it, if any. */
  readonly refreshTokenId?: string | null | undefined;
}

/** `keyId` in the records of previous tokens. No key of this server has it. */
const KEY_ID = 'of a previous server';

/** Prefix of the families of previous refresh tokens and of all tokens that they were exchanged for. */
const FAMILY_PREFIX = 'previous:';

/** Has the form of a digest, but belongs to no token, so that no token of this server finds a copy. */
const NO_TOKENS_DIGEST = 'A'.repeat(43);

/** @throws {StorageFault} a required member is missing or wrong */
function previousRecord(kind: TokenKind, id: string, found: PreviousToken, isRevoked: boolean): TokenRecord {
  const { clientId, subject, scopes, issuedAtMs, confirmation, refreshTokenId } = found;
  const refreshId = kind === 'refresh_token' ? id : refreshTokenId;
  const familyId = `${FAMILY_PREFIX}${refreshId}`;
  const row = {
    clientId,
    subject,
    scopes,
    issuedAtMs,
    confirmation,
    expiresAt: isRevoked ? 0 : found.expiresAt,
  };
  return {
    ...tokenRecord({ ...row, revokedAtMs: found.revokedAtMs ?? found.supersededAtMs }, kind, id),
    keyId: KEY_ID,
    ...(kind === 'access_token' && { tokenType: confirmation?.jkt == null ? 'Bearer' : 'DPoP' }),
    ...(refreshId != null && { familyId, grantId: familyId }),
  };
}

function isPrevious({ keyId }: TokenRecord): boolean {
  return keyId === KEY_ID;
}

/** Returns the `id` of the previous refresh token that a token was issued with or descends from. */
function refreshTokenIdOf({ familyId }: TokenRecord): string | undefined {
  return familyId?.startsWith(FAMILY_PREFIX) ? familyId.slice(FAMILY_PREFIX.length) : undefined;
}

/** Makes the copy for this server's storage, which is kept until the token expires. */
function copyOfPrevious({ standing: _, ...record }: TokenRecord): NewToken {
  return { ...record, digest: NO_TOKENS_DIGEST, keepUntil: record.expiresAt };
}

/**
 * Previous tokens copied no generation. A token counts as behind if the last revocation is as late as its issuance, or
 * later.
 */
export function standingOf(
  state: PrincipalState | null | undefined,
  issuedAtMs: number,
): Standing | undefined {
  if (!state) return undefined;
  const { raisedAtMs, disabledAtMs } = state;
  return {
    copied: 0,
    current: raisedAtMs == null || issuedAtMs > raisedAtMs ? 0 : 1,
    ...(raisedAtMs != null && { raisedAtMs }),
    ...(disabledAtMs != null && { disabledAtMs }),
  };
}
