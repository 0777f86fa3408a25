import { readFileSync } from 'node:fs';
import type {
  AuthorizationCodeRecord,
  IssueOutcome,
  NewAuthorizationCode,
  NewClient,
  NewToken,
  Storage,
  TokenRecord,
} from '@grantd/core';
import { createClient, defineScript } from 'redis';
import { redisKeys } from './keys.ts';

const operation = defineScript({
  SCRIPT: readFileSync(new URL('operations.lua', import.meta.url), 'utf8'),
  NUMBER_OF_KEYS: 0,
  parseCommand: (parser, name: string, argument: object) => parser.push(name, JSON.stringify(argument)),
  transformReply: (reply: unknown) => reply,
});

export type Redis = Awaited<ReturnType<typeof connectRedis>>;

/**
 * A client of a Redis server (7 or later) that can be believed: it runs with `appendonly yes`, `appendfsync always` and
 * `maxmemory-policy noeviction`, and no replica takes over from it, for it could lack a revocation that was answered.
 * @param onError is told of connections that broke; they are made anew
 */
export async function connectRedis(url: string, onError: (error: unknown) => void = console.error) {
  // While there is no connection, what is asked is rejected at once, and not kept for later.
  const redis = createClient({ url, disableOfflineQueue: true, scripts: { operation } });
  redis.on('error', onError);
  return redis.connect();
}

const CLIENTS = '{grantd}:clients';
const DISABLED_CLIENTS = '{grantd}:disabled_clients';

/**
 * grantd's storage in Redis. Each operation is a script, so each is atomic; what is over goes by itself.
 * @param clock milliseconds
 */
export function redisStorage(
  redis: Redis,
  clock: () => number = Date.now,
): Omit<Required<Storage>, 'getPrincipalState'> {
  const run = (name: string, argument: object): Promise<unknown> =>
    redis.operation(name, { ...argument, now: clock(), nowText: String(clock()) });
  const issue = async <Outcome>(name: string, argument: object): Promise<Outcome> =>
    (await run(name, argument)) as Outcome;

  const find = async (kind: 'token' | 'code', id: string): Promise<Found | undefined> => {
    const found = await run('find', { kind, id });
    return typeof found === 'string' ? JSON.parse(found) : undefined;
  };
  const findToken = async (id: string, kind: TokenRecord['kind']): Promise<TokenRecord | undefined> => {
    const found = await find('token', id);
    if (found === undefined) return undefined;
    const record: TokenRecord = { ...JSON.parse(found.record), ...lifeOf(found) };
    if (record.kind !== kind) return undefined;
    const { supersededAtMs, successorId } = found;
    return {
      ...record,
      ...(supersededAtMs && { supersededAtMs: Number(supersededAtMs) }),
      ...(successorId && { successorId }),
    };
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
        const both = redis.multi().hGet(CLIENTS, id).hGet(DISABLED_CLIENTS, id);
        const [client, disabledAtMs] = await both.exec<'typed'>();
        if (client === null) return undefined;
        const record: NewClient = JSON.parse(client);
        return { ...record, ...(disabledAtMs !== null && { disabledAtMs: Number(disabledAtMs) }) };
      },
      async hasRedirectOrigin(origin) {
        const both = redis.multi().hVals(CLIENTS).hKeys(DISABLED_CLIENTS);
        const [clients, disabled] = await both.exec<'typed'>();
        return clients
          .map((client): NewClient => JSON.parse(client))
          .filter(({ id }) => !disabled.includes(id))
          .some(({ redirectUris }) => redirectUris.some((uri) => isOf(origin, uri)));
      },
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
      issueBeside: ({ id }, tokens) => issue('issueUpon', { id, tokens: tokens.map(tokenRow) }),
      revoke(record) {
        if (record.kind === 'access_token') return revokeTokens(record, false);
        return record.grantId === undefined ? revokeTokens(record, true) : revokeGrant(record.grantId);
      },
      revokeFamily: (record) => revokeTokens(record, true),
    },

    authorizationCodes: {
      async get(id) {
        const found = await find('code', id);
        if (found === undefined) return undefined;
        const record: AuthorizationCodeRecord = JSON.parse(found.record);
        const { redeemedAtMs } = found;
        return { ...record, ...lifeOf(found), ...(redeemedAtMs && { redeemedAtMs: Number(redeemedAtMs) }) };
      },
      issue: (code) => issue<IssueOutcome>('issueCode', { code: codeRow(code) }),
      redeem: ({ id }, tokens) => issue('redeem', { id, tokens: tokens.map(tokenRow) }),
      revoke: ({ grantId }) => revokeGrant(grantId),
    },

    keys: redisKeys(redis, run),

    oneTimeIdentifiers: {
      take: async (id, expiresAt) => (await run('takeIdentifier', { id, expiresAt })) === 1,
    },

    pushedRequests: {
      async add(request) {
        // A while longer, so that one that is over is told from one that never was.
        const EXAT = request.expiresAt + 3600;
        await redis.set(`{grantd}:pushed_request:${request.id}`, JSON.stringify(request), { EXAT });
      },
      async take(id) {
        const found = await redis.getDel(`{grantd}:pushed_request:${id}`);
        return found === null ? undefined : JSON.parse(found);
      },
    },

    answersPlainRecords: true,
  };
}

/** Registers a client, or registers it anew. */
export async function saveClient(redis: Redis, client: NewClient): Promise<void> {
  await redis.hSet(CLIENTS, client.id, JSON.stringify(client));
}

/** Ends all tokens of a person that were issued until now (milliseconds). */
export async function signOut(redis: Redis, subject: string, nowMs = Date.now()): Promise<void> {
  await redis.hSet(`{grantd}:person:${subject}`, 'signedOutAtMs', nowMs);
}

/** While a person is disabled, none of their tokens is alive. */
export async function setDisabled(redis: Redis, subject: string, isDisabled: boolean): Promise<void> {
  const person = `{grantd}:person:${subject}`;
  if (isDisabled) await redis.hSet(person, 'disabledAtMs', Date.now());
  else await redis.hDel(person, 'disabledAtMs');
}

function isOf(origin: string, uri: string): boolean {
  const url = new URL(uri);
  return /^https?:$/.test(url.protocol) && url.origin === origin;
}

/** What `find` of the script answers; times are in milliseconds. */
interface Found {
  readonly record: string;
  readonly revokedAtMs?: string | false;
  readonly supersededAtMs?: string | false;
  readonly successorId?: string | false;
  readonly redeemedAtMs?: string | false;
  readonly grantRevokedAtMs?: string | false;
  readonly clientDisabledAtMs?: string | false;
  readonly personDisabledAtMs?: string | false;
  readonly personSignedOutAtMs?: string | false;
}

function lifeOf(found: Found): Pick<TokenRecord, 'standing' | 'revokedAtMs' | 'notBeforeMs'> {
  const disabled = (at: string | false | undefined) => ({
    copied: 0,
    current: 0,
    ...(at && { disabledAtMs: Number(at) }),
  });
  const revokedAtMs = found.revokedAtMs || found.grantRevokedAtMs;
  const { personSignedOutAtMs: signedOutAtMs } = found;
  return {
    standing: {
      client: disabled(found.clientDisabledAtMs),
      subject: disabled(found.personDisabledAtMs),
    },
    ...(revokedAtMs && { revokedAtMs: Number(revokedAtMs) }),
    ...(signedOutAtMs && { notBeforeMs: Number(signedOutAtMs) }),
  };
}

/** The fields of a hash: the record itself, and what the scripts look at. */
function tokenRow({ keepUntil, ...record }: NewToken) {
  const { id, kind, clientId, subject, grantId, familyId, pairId, issuedAtMs, expiresAt } = record;
  const ties = { clientId, subject, grantId, familyId, pairId };
  return {
    id,
    kind,
    ...ties,
    ...asText({ issuedAtMs, expiresAt, keepUntil }),
    record: JSON.stringify(record),
  };
}

function codeRow(record: NewAuthorizationCode) {
  const { id, clientId, subject, grantId, issuedAtMs, expiresAt } = record;
  const times = asText({ issuedAtMs, expiresAt, keepUntil: expiresAt });
  return { id, clientId, subject, grantId, ...times, record: JSON.stringify(record) };
}

/** Lua would write 1893456000000 as 1.893456e+12. */
function asText<Name extends string>(numbers: Record<Name, number>): Record<string, string> {
  return Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, String(value)]));
}
