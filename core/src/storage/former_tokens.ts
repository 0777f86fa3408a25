import type { Clock } from '../protocol/environment.ts';
import { storedLife } from '../protocol/life.ts';
import type { Standing, TokenKind, TokenRecord } from '../protocol/records.ts';
import { canContinue } from './continuation.ts';
import type { Awaitable, Found, IssueOutcome, Storage, TokenRepository } from './contract.ts';
import {
  copyOfFormer,
  type FormerToken,
  formerRecord,
  isFormer,
  refreshTokenIdOf,
  standingOf,
} from './former_records.ts';
import type { ReadableStorage } from './host_storage.ts';

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
