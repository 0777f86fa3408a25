import type {
  AuthorizingStorage,
  IssueOutcome,
  NewAuthorizationCode,
  NewClient,
  NewToken,
  PendingRow,
  TokenRecord,
} from '@grantd/core';
import { type CodeState, codeFrom, pendingKey, type TokenState, tokenFrom } from '../records.ts';
import type { Redis } from './connection.ts';
import { redisKeys } from './keys.ts';

/**
 * grantd's storage in Redis. Each operation is one script, so it is atomic. Rows expire by themselves.
 * @param clock milliseconds
 */
export function redisStorage(
  redis: Redis,
  clock: () => number = Date.now,
): Required<Omit<AuthorizingStorage, 'getPrincipalState' | 'cache'>> {
  const run = (name: string, argument: object): Promise<unknown> =>
    redis.run(name, { ...argument, now: clock(), nowText: String(clock()) });
  const issue = async <Outcome>(name: string, argument: object): Promise<Outcome> =>
    (await run(name, argument)) as Outcome;

  const find = async (kind: 'token' | 'code', id: string): Promise<Found | undefined> => {
    const found = await run('find', { kind, id });
    return typeof found === 'string' ? JSON.parse(found) : undefined;
  };
  const findToken = async (id: string, kind: TokenRecord['kind']): Promise<TokenRecord | undefined> => {
    const found = await find('token', id);
    if (found === undefined) return undefined;
    const record: NewToken = JSON.parse(found.record);
    return record.kind === kind ? tokenFrom(record, stateOf(found)) : undefined;
  };

  const pending = async (name: string, argument: object): Promise<PendingRow | undefined> => {
    const found = await run(name, argument);
    if (typeof found !== 'string') return undefined;
    const { record, version } = JSON.parse(found);
    return { ...JSON.parse(record), version: Number(version) };
  };

  const revokeTokens = async ({ id, pairId, familyId, grantId }: TokenRecord, wholeFamily: boolean) => {
    await run('revokeTokens', { id, pairId, familyId, grantId, wholeFamily });
  };
  const revokeGrant = async (id: string) => {
    await run('revokeGrant', { id });
  };

  return {
    clients: {
      async get(id) {
        const found = await run('findClient', { id });
        if (typeof found !== 'string') return undefined;
        const { record, disabledAtMs } = JSON.parse(found);
        const client: NewClient = JSON.parse(record);
        return { ...client, ...(disabledAtMs && { disabledAtMs: Number(disabledAtMs) }) };
      },
      hasRedirectOrigin: async (origin) => (await run('hasOrigin', { origin })) === 1,
    },

    tokens: {
      getByAccessToken: (id) => findToken(id, 'access_token'),
      getByRefreshToken: (id) => findToken(id, 'refresh_token'),
      async isRefreshTokenRevoked({ id }) {
        const found = await findToken(id, 'refresh_token');
        return found === undefined || found.revokedAtMs !== undefined;
      },
      issue: (tokens) => issue('issue', { tokens: tokens.map(tokenRow) }),
      rotate: ({ id }, { id: successorId }, tokens) =>
        issue('issueUpon', { id, successorId, tokens: tokens.map(tokenRow) }),
      issueFrom: ({ id }, tokens) => issue('issueUpon', { id, tokens: tokens.map(tokenRow) }),
      revoke(record) {
        if (record.kind === 'access_token') return revokeTokens(record, false);
        return record.grantId === undefined ? revokeTokens(record, true) : revokeGrant(record.grantId);
      },
      revokeFamily: (record) => revokeTokens(record, true),
    },

    authorizationCodes: {
      async get(id) {
        const found = await find('code', id);
        return found && codeFrom(JSON.parse(found.record), stateOf(found));
      },
      issue: (code) => issue<IssueOutcome>('issueCode', { code: codeRow(code) }),
      redeem: ({ id }, tokens) => issue('redeem', { id, tokens: tokens.map(tokenRow) }),
      revoke: ({ grantId }) => revokeGrant(grantId),
    },

    keys: redisKeys(run),

    oneTimeIdentifiers: {
      take: async (id, expiresAt) => (await run('takeIdentifier', { id, expiresAt })) === 1,
    },

    pending: {
      async add(row) {
        const { kind, id, otherId, expiresAt } = row;
        const other = otherId !== undefined && { otherKey: pendingKey(kind, otherId) };
        const added = { key: pendingKey(kind, id), ...other, record: JSON.stringify(row), expiresAt };
        return (await run('addPending', added)) === 1;
      },
      get: (kind, id) => pending('findPending', { key: pendingKey(kind, id) }),
      getByOtherId: (kind, otherId) => pending('findPending', { otherKey: pendingKey(kind, otherId) }),
      take: (kind, id) => pending('takePending', { key: pendingKey(kind, id) }),
      async change({ version, ...row }) {
        const { kind, id, expiresAt } = row;
        const record = JSON.stringify(row);
        const changed = { key: pendingKey(kind, id), record, expiresAt, version: String(version) };
        return (await run('changePending', { ...changed, next: String(version + 1) })) === 1;
      },
    },

    answersPlainRecords: true,
  };
}

/** The result of `find` in the script; times are in milliseconds. */
interface Found {
  readonly record: string;
  readonly revokedAtMs?: string | false;
  readonly supersededAtMs?: string | false;
  readonly successorId?: string | false;
  readonly redeemedAtMs?: string | false;
  readonly grantRevokedAtMs?: string | false;
  readonly clientDisabledAtMs?: string | false;
  readonly personDisabledAtMs?: string | false;
  readonly generation: string;
  readonly personGeneration: string;
}

function stateOf(found: Found): TokenState & CodeState {
  const at = (ms: string | false | undefined) => (ms ? new Date(Number(ms)) : undefined);
  return {
    grantRevokedAt: at(found.grantRevokedAtMs),
    clientDisabledAt: at(found.clientDisabledAtMs),
    userDisabledAt: at(found.personDisabledAtMs),
    userGeneration: Number(found.generation),
    tokenGeneration: Number(found.personGeneration),
    revokedAt: at(found.revokedAtMs),
    supersededAt: at(found.supersededAtMs),
    successorId: found.successorId || null,
    redeemedAt: at(found.redeemedAtMs),
  };
}

/** The fields of a hash: the record, and the values that the scripts read. */
function tokenRow({ keepUntil, ...record }: NewToken) {
  const { id, kind, clientId, subject, grantId, familyId, pairId, expiresAt } = record;
  const ties = { clientId, subject, grantId, familyId, pairId };
  return { id, kind, ...ties, ...asText({ expiresAt, keepUntil }), record: JSON.stringify(record) };
}

function codeRow(record: NewAuthorizationCode) {
  const { id, clientId, subject, grantId, expiresAt } = record;
  const times = asText({ expiresAt, keepUntil: expiresAt });
  return { id, clientId, subject, grantId, ...times, record: JSON.stringify(record) };
}

/** Lua would write 1893456000000 as 1.893456e+12. */
function asText<Name extends string>(numbers: Record<Name, number>): Record<string, string> {
  return Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, String(value)]));
}
