import type {
  AdministrableStorage,
  AuthorizationCodeRecord,
  AuthorizingStorage,
  IssueOutcome,
  NewAuthorizationCode,
  NewToken,
  TokenKind,
  TokenRecord,
} from '@grantd/core';

/** The part of grantd's storage that these stores implement. */
export type HostStorage = Required<Omit<AuthorizingStorage, 'getPrincipalState' | 'cache'>> &
  Pick<AdministrableStorage, 'sweep'>;

type PartOfFamily = 'whole family' | 'current refresh token';

/** The statements that each database library writes in its own way. `tx` is a transaction, `db` may be one. */
export interface Statements<Db> {
  /** Runs `work` in a `READ COMMITTED` transaction, or in the one that `db` is. */
  atOnce<T>(db: Db, work: (tx: Db) => Promise<T>): Promise<T>;
  findToken(db: Db, id: string, kind: TokenKind): Promise<TokenRecord | undefined>;
  findCode(db: Db, id: string): Promise<AuthorizationCodeRecord | undefined>;
  /**
   * Locks the enabled ones of these clients in share mode, in the order of their IDs.
   * @returns how many there are
   */
  lockClients(tx: Db, ids: string[]): Promise<number>;
  /**
   * Locks the enabled ones of these users in the same way.
   * @returns their generations
   */
  lockUsers(tx: Db, ids: string[]): Promise<ReadonlyMap<string, number>>;
  /** Prevents removal of client and user until the transaction ends, since that would remove tokens in any order. */
  holdPeople(tx: Db, record: TokenRecord): Promise<void>;
  /**
   * Locks a grant, or a token without one, against other transactions. Later reads see what the previous holder of the
   * lock committed.
   */
  lockGrant(tx: Db, record: Pick<TokenRecord, 'id' | 'grantId'>): Promise<void>;
  /** Locks a grant in the same way, and creates it if it is missing. */
  keepGrant(tx: Db, id: string, keepUntil: Date): Promise<void>;
  insertToken(tx: Db, token: NewToken, userGeneration: number | undefined): Promise<void>;
  insertCode(tx: Db, code: NewAuthorizationCode, userGeneration: number): Promise<void>;
  supersedeToken(tx: Db, id: string, successorId: string, at: Date): Promise<void>;
  redeemCode(tx: Db, id: string, at: Date): Promise<void>;
  revokeGrant(db: Db, id: string, at: Date): Promise<void>;
  /** Ends a token and this part of its family, each with its pair. */
  revokeTokens(tx: Db, record: TokenRecord, of: PartOfFamily, at: Date): Promise<void>;
}

/**
 * Tokens and codes in PostgreSQL. A change of a grant locks its row before reading, so changes happen one after
 * another. Locks are taken in one order: clients, users, grants, their tokens and codes.
 * @param clock milliseconds
 */
export function tokensOfGrants<Db>(
  db: Db,
  statements: Statements<Db>,
  clock: () => number,
): Pick<HostStorage, 'tokens' | 'authorizationCodes'> {
  const { atOnce, findToken, findCode, lockGrant, keepGrant } = statements;
  const now = () => new Date(clock());

  /** Whether new tokens may depend on it. Locks its grant. */
  const isAlive = (record: TokenRecord | AuthorizationCodeRecord): boolean =>
    record.revokedAtMs === undefined &&
    record.expiresAt * 1000 > clock() &&
    Object.values(record.standing ?? {}).every(
      ({ disabledAtMs, copied, current }) => disabledAtMs === undefined && copied >= current,
    );

  /**
   * Locks the clients and users of new tokens, so that they do not change until the transaction ends.
   * @returns the generations that tokens copy; `undefined` if a client or user is missing or disabled
   */
  const lockPeople = async (tx: Db, issued: readonly Pick<NewToken, 'clientId' | 'subject'>[]) => {
    const clientIds = [...new Set(issued.map(({ clientId }) => clientId))];
    const userIds = [...new Set(issued.flatMap(({ subject }) => subject ?? []))];
    const clients = await statements.lockClients(tx, clientIds);
    const generations = await statements.lockUsers(tx, userIds);
    return clients < clientIds.length || generations.size < userIds.length ? undefined : generations;
  };

  const insertTokens = async (
    tx: Db,
    tokens: readonly NewToken[],
    generations: ReadonlyMap<string, number>,
  ): Promise<void> => {
    // In a fixed order, since other transactions may store the same ones.
    for (const { grantId, keepUntil } of tokens.toSorted(byGrant))
      if (grantId !== undefined) await keepGrant(tx, grantId, new Date(keepUntil * 1000));
    for (const token of tokens) await statements.insertToken(tx, token, generations.get(token.subject ?? ''));
  };

  const issueUpon = (
    record: TokenRecord,
    tokens: readonly NewToken[],
    successor?: NewToken,
  ): Promise<IssueOutcome | 'superseded'> =>
    atOnce(db, async (tx) => {
      const generations = await lockPeople(tx, tokens);
      await lockGrant(tx, record);
      const stored = await findToken(tx, record.id, 'refresh_token');
      if (generations === undefined || stored === undefined || !isAlive(stored)) return 'refused';
      if (stored.supersededAtMs !== undefined) return 'superseded';
      await insertTokens(tx, tokens, generations);
      if (successor !== undefined) await statements.supersedeToken(tx, record.id, successor.id, now());
      return 'issued';
    });

  const revokeTokens = (record: TokenRecord, of: PartOfFamily): Promise<void> =>
    atOnce(db, async (tx) => {
      await statements.holdPeople(tx, record);
      await lockGrant(tx, record);
      await statements.revokeTokens(tx, record, of, now());
    });

  return {
    tokens: {
      getByAccessToken: (id) => findToken(db, id, 'access_token'),
      getByRefreshToken: (id) => findToken(db, id, 'refresh_token'),
      async isRefreshTokenRevoked({ id }) {
        const found = await findToken(db, id, 'refresh_token');
        return found === undefined || found.revokedAtMs !== undefined;
      },
      issue: (tokens) =>
        atOnce(db, async (tx) => {
          const generations = await lockPeople(tx, tokens);
          if (generations === undefined) return 'refused';
          await insertTokens(tx, tokens, generations);
          return 'issued';
        }),
      rotate: (record, successor, tokens) => issueUpon(record, tokens, successor),
      issueFrom: (record, tokens) => issueUpon(record, tokens),
      revoke(record) {
        if (record.kind === 'access_token') return revokeTokens(record, 'current refresh token');
        return record.grantId === undefined
          ? revokeTokens(record, 'whole family')
          : statements.revokeGrant(db, record.grantId, now());
      },
      revokeFamily: (record) => revokeTokens(record, 'whole family'),
    },

    authorizationCodes: {
      get: (id) => findCode(db, id),
      issue: (code) =>
        atOnce(db, async (tx) => {
          const generations = await lockPeople(tx, [code]);
          if (generations === undefined) return 'refused';
          await keepGrant(tx, code.grantId, new Date(code.expiresAt * 1000));
          await statements.insertCode(tx, code, generations.get(code.subject) ?? 0);
          return 'issued';
        }),
      redeem: (code, tokens) =>
        atOnce(db, async (tx) => {
          const generations = await lockPeople(tx, tokens);
          await lockGrant(tx, code);
          const stored = await findCode(tx, code.id);
          if (stored?.redeemedAtMs !== undefined) return 'already_redeemed';
          if (generations === undefined || stored === undefined || !isAlive(stored)) return 'refused';
          await insertTokens(tx, tokens, generations);
          await statements.redeemCode(tx, code.id, now());
          return 'issued';
        }),
      revoke: ({ grantId }) => statements.revokeGrant(db, grantId, now()),
    },
  };
}

function byGrant({ grantId: a = '' }: NewToken, { grantId: b = '' }: NewToken): number {
  return a < b ? -1 : Number(a > b);
}
