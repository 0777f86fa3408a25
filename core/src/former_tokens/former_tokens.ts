import type { Clock } from '../environment.ts';
import {
  type NewToken,
  type Standing,
  storedLife,
  type TokenKind,
  type TokenRecord,
} from '../protocol/records.ts';
import type {
  Awaitable,
  Found,
  IssueOutcome,
  PrincipalState,
  Storage,
  TokenRepository,
} from '../storage/contract.ts';
import { type ReadableStorage, tokenRecord } from '../storage/host_storage.ts';
import { canContinue } from '../storage/issuing.ts';

/** The tokens that another server issued, in its own tables. Rejections are storage faults. */
export interface FormerTokenRepository {
  /**
   * What is known of a token. `undefined` or `null` where there is none, and only there: where it cannot be asked, it
   * rejects.
   * @param id as `identify` found it in a token whose signature has verified
   */
  find(kind: TokenKind, id: string): Found<FormerToken>;
  /**
   * Revokes a token with those that it came with, so that the former server sees it too, and `find` from then on.
   * Idempotent, also where there is none.
   */
  revoke(kind: TokenKind, id: string): Awaitable<void>;
}

/** The record of a former token, as it stands now. */
export type FindFormerToken = (kind: TokenKind, id: string) => Promise<TokenRecord | undefined>;

export interface FormerParts {
  /** What storage knows of clients and people tells what was done to them as a whole. */
  readonly former: FormerTokenRepository & Required<Pick<Storage, 'getPrincipalState'>>;
  readonly clock: Clock;
}

/** Of a client that is registered, and none of whose tokens were ever ended together. */
const UNTOUCHED: Standing = { copied: 0, current: 0 };

type Outcome = IssueOutcome | 'superseded';
type Joined = Omit<TokenRepository, 'getByAccessToken' | 'getByRefreshToken' | 'issue'>;

/**
 * Tokens of a former server beside this server's own. They stay where they are; a refresh token that is used is copied
 * into this server's storage, and the copy says what became of it. Former and own tables share no transaction, so each
 * step is ordered such that what is interrupted is repeated or refused.
 * @returns how former tokens are found, and repositories in which what is done to them, or to tokens that they were
 *   exchanged for, is done in both places
 */
export function withFormerTokens(
  { clients, tokens }: Pick<ReadableStorage, 'clients' | 'tokens'>,
  { former, clock }: FormerParts,
): { readonly find: FindFormerToken; readonly tokens: ReadableStorage['tokens'] } {
  /** As the former server knows it. A token of a client that is not registered here is none. */
  const ask: FindFormerToken = async (kind, id) => {
    const found = await former.find(kind, id);
    if (!found) return undefined;
    const record = formerRecord(kind, id, found);
    const { clientId, subject, issuedAtMs } = record;
    const standing = async (principal: 'client' | 'subject', of: string | undefined) =>
      of === undefined ? undefined : standingOf(await former.getPrincipalState(principal, of), issuedAtMs);
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
    return copy && isFormer(copy) ? copy : undefined;
  };

  /** Whether it ended here. That its time is up, its former row says as well. */
  const isEnded = async (copy: TokenRecord): Promise<boolean> => {
    const life = storedLife(copy, clock());
    if (copy.supersededAtMs !== undefined || (!life.alive && life.reason !== 'expired')) return true;
    return (await tokens.isRefreshTokenRevoked(copy)) !== false;
  };

  const find: FindFormerToken = async (kind, id) => {
    const record = await ask(kind, id);
    const copy = await copyOf(kind === 'refresh_token' ? id : record && refreshTokenIdOf(record));
    if (copy === undefined || !(await isEnded(copy))) return record;
    // Its use again is told from any other end.
    if (kind === 'refresh_token' && copy.supersededAtMs !== undefined) return copy;
    return record && { ...record, expiresAt: 0 };
  };

  /** In the former tables: the token itself, or that which a token of this server was exchanged for. */
  const revokeFormer = async (record: TokenRecord): Promise<void> => {
    const refreshTokenId = refreshTokenIdOf(record);
    if (isFormer(record)) await former.revoke(record.kind, record.id);
    else if (refreshTokenId !== undefined) await former.revoke('refresh_token', refreshTokenId);
  };

  /** What this server's storage has of it; an access token's way to what its refresh token was exchanged for. */
  const ownOf = async (record: TokenRecord): Promise<TokenRecord | undefined> =>
    isFormer(record) ? copyOf(refreshTokenIdOf(record)) : record;

  /** @returns the copy, whoever stored it; `undefined` where storage refuses it */
  const keep = async (record: TokenRecord): Promise<TokenRecord | undefined> => {
    const kept = await copyOf(record.id);
    if (kept !== undefined) return kept;
    const { generation = 0 } = (await clients.get(record.clientId)) ?? {};
    try {
      await tokens.issue([copyOfFormer(record)], { clientGeneration: generation });
    } catch (error) {
      const stored = await copyOf(record.id);
      if (stored === undefined) throw error;
      return stored; // by another request, which was quicker
    }
    return copyOf(record.id);
  };

  /** Whoever revokes it meanwhile ends the former token first and then the copy: one of the two is noticed here. */
  const upon = async (
    record: TokenRecord,
    issue: (copy: TokenRecord) => Awaitable<Outcome>,
  ): Promise<Outcome> => {
    const copy = await keep(record);
    if (copy === undefined) return 'refused';
    const now = await ask('refresh_token', record.id);
    if (now !== undefined && canContinue(now, clock())) return issue(copy);
    return (await copyOf(record.id))?.supersededAtMs === undefined ? 'refused' : 'superseded';
  };

  const { isAccessTokenRevoked } = tokens;
  const joined: Joined = {
    // Of a former token `find` has said it, but for a copy that was exchanged.
    isRefreshTokenRevoked: (record) =>
      isFormer(record) && record.supersededAtMs === undefined ? false : tokens.isRefreshTokenRevoked(record),
    ...(isAccessTokenRevoked && {
      isAccessTokenRevoked: (record: TokenRecord) =>
        isFormer(record) ? false : isAccessTokenRevoked(record),
    }),
    async revoke(record) {
      await revokeFormer(record);
      const own = await ownOf(record);
      if (own !== undefined) await tokens.revoke(own);
    },
    async revokeFamily(record) {
      await revokeFormer(record);
      const own = await ownOf(record);
      if (own !== undefined) await tokens.revokeFamily(own);
    },
    async rotate(record, successor, issued) {
      if (!isFormer(record)) return tokens.rotate(record, successor, issued);
      const outcome = await upon(record, (copy) => tokens.rotate(copy, successor, issued));
      if (outcome !== 'refused') await revokeFormer(record);
      return outcome;
    },
    async issueBeside(record, issued) {
      if (isFormer(record)) return upon(record, (copy) => tokens.issueBeside(copy, issued));
      await revokeFormer(record); // a retry: the exchange may have been interrupted
      return tokens.issueBeside(record, issued);
    },
  };
  return { find, tokens: { ...tokens, ...joined } };
}

/** A token of a former server, as its tables know it. */
export interface FormerToken {
  readonly clientId: string;
  /** The server's own identifier of the person; absent where the client acts for itself. */
  readonly subject?: string | null | undefined;
  readonly scopes: readonly string[];
  /** Milliseconds. */
  readonly issuedAtMs: number;
  /** Milliseconds, rounded up to a second. Zero is a revoked token. Where the token has an `exp`, that holds as well. */
  readonly expiresAtMs: number;
  /** Access tokens: `id` of the refresh token that they came with, where there was one. */
  readonly refreshTokenId?: string | null | undefined;
}

/** `keyId` of their records, which no key of the server's has. */
const KEY_ID = 'of a former server';

/** How the families begin that a former refresh token and whatever it is exchanged for are of; no others do. */
const FAMILY_PREFIX = 'former:';

/** The form of a digest (43 characters of base64url), and no token's: a copy is never found from one that we signed. */
const NO_TOKENS_DIGEST = 'A'.repeat(43);

/** @throws {StorageFault} a member that must be there is not */
function formerRecord(kind: TokenKind, id: string, found: FormerToken): TokenRecord {
  const { clientId, subject, scopes, issuedAtMs, expiresAtMs, refreshTokenId } = found;
  const refreshId = kind === 'refresh_token' ? id : refreshTokenId;
  const familyId = `${FAMILY_PREFIX}${refreshId}`;
  return tokenRecord(
    {
      ...{ id, kind, keyId: KEY_ID, clientId, scopes, issuedAtMs },
      ...(kind === 'access_token' && { tokenType: 'Bearer' }),
      ...(subject != null && { subject }),
      ...(refreshId != null && { familyId, grantId: familyId }),
      expiresAt: Math.ceil(expiresAtMs / 1000),
    },
    kind,
  );
}

function isFormer({ keyId }: TokenRecord): boolean {
  return keyId === KEY_ID;
}

/** `id` of the former refresh token that a token came with, or descends from. */
function refreshTokenIdOf({ familyId }: TokenRecord): string | undefined {
  return familyId?.startsWith(FAMILY_PREFIX) ? familyId.slice(FAMILY_PREFIX.length) : undefined;
}

/** A former refresh token for the server's own storage, kept as long as it could be used. */
function copyOfFormer({ standing: _, ...record }: TokenRecord): NewToken {
  return { ...record, digest: NO_TOKENS_DIGEST, keepUntil: record.expiresAt };
}

/**
 * A former token copied no generation: it is behind where all was ended at the time of its issue or later, in the same
 * millisecond too.
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
