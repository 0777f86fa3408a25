import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { AdministrableStorage } from '@grantd/core';
import {
  openPostgresStorage,
  type PostgresClient,
  type PostgresPool,
  type PostgresResult,
} from '@grantd/core/postgres';
import { ContractBreach, guarded } from '../../src/storage/faults.ts';
import { disposableDatabase, sharedPostgres } from '../harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../harness/postgres_installation.ts';
import { PostgresStores } from '../harness/postgres_store.ts';
import { faultBy } from '../harness/storage_fault.ts';
import { newClient, newCode, newToken } from './samples.ts';

type Answer = () => Promise<PostgresResult>;

/** What a driver can do with a query instead of answering it, and the reason that the store then names. */
const FAILURES: Readonly<
  Record<string, { fail: (answer: Answer) => Promise<PostgresResult>; reason: RegExp }>
> = {
  'throws at once': {
    fail() {
      throw new TypeError('the driver is broken');
    },
    reason: /^TypeError: the driver is broken$/,
  },
  'rejects with an error': {
    fail: () => Promise.reject(new Error('the connection is lost')),
    reason: /^Error: the connection is lost$/,
  },
  'rejects with a text': { fail: () => Promise.reject('lost'), reason: /^lost$/ },
  'rejects with nothing': { fail: () => Promise.reject(undefined), reason: /^undefined$/ },
  'resolves with nothing': {
    fail: async () => undefined as unknown as PostgresResult,
    reason: /^Error: PostgreSQL answered /,
  },
};

/** Rows whose texts were damaged on the way. @param spared a column that was not */
const unreadable =
  (spared: string) =>
  async (answer: Answer): Promise<PostgresResult> => {
    const result = await answer();
    // `pg` answers several statements in one text, such as those that begin a transaction, with several results.
    if (Array.isArray(result)) return result;
    const rows = result.rows.map((row) =>
      Object.fromEntries(
        Object.entries(row as object).map(([name, value]) => [
          name,
          typeof value === 'string' && name !== spared ? '{' : value,
        ]),
      ),
    );
    return { ...result, rows };
  };

/** A pool whose connections can begin to fail. */
class Driver {
  fail: ((answer: Answer) => Promise<PostgresResult>) | undefined;
  /** Thrown by the pool itself. */
  thrown: unknown;

  over(stores: PostgresStores): PostgresPool {
    return {
      connect: (use) => {
        if (this.thrown !== undefined) throw this.thrown;
        stores.pool.connect((error, client) => use(error, client && this.#overClient(client)));
      },
    };
  }

  #overClient(client: PostgresClient): PostgresClient {
    return {
      pipeline: true,
      query: (query) => {
        const answer = () => client.query(query);
        return this.fail === undefined ? answer() : this.fail(answer);
      },
      release: (destroy) => client.release(destroy),
      on: client.on.bind(client) as PostgresClient['on'],
      off: client.off.bind(client) as PostgresClient['off'],
    };
  }
}

const REPOSITORIES = [
  'clients',
  'keys',
  'tokens',
  'authorizationCodes',
  'oneTimeIdentifiers',
  'pending',
] as const;

/** Of the record that was looked up, without asking the database. */
const ASKS_NOTHING: ReadonlySet<string> = new Set(['tokens.isRefreshTokenRevoked']);

/** Every method of a repository that asks the database. */
function methodsOf(storage: AdministrableStorage): string[] {
  const names = REPOSITORIES.flatMap((name) =>
    Object.entries(storage[name])
      .filter(([, member]) => typeof member === 'function')
      .map(([method]) => `${name}.${method}`),
  );
  return names.filter((name) => !ASKS_NOTHING.has(name)).sort();
}

describe('the PostgreSQL store needs no guard', { skip: POSTGRES_ABSENCE, timeout: 60_000 }, () => {
  const driver = new Driver();
  let stores: PostgresStores;
  let storage: AdministrableStorage;

  const token = newToken('client', { grantId: 'grant', kind: 'refresh_token' });
  const code = newCode('client', 'code');
  const key = {
    kid: 'kid',
    algorithm: 'RS256',
    status: 'current',
    publicJwk: { kty: 'RSA' },
    sealedPrivateKey: 'sealed',
    createdAtMs: 0,
  } as const;
  const row = {
    kind: 'pushed_request',
    id: 'pushed',
    clientId: 'client',
    data: { a: 'b' },
    expiresAt: 2_000_000_000,
  } as const;

  before(async () => {
    stores = new PostgresStores(await disposableDatabase(await sharedPostgres()));
    storage = await openPostgresStorage({ pool: driver.over(stores), issuer: 'https://issuer.example' });
    await storage.clients.add({
      ...newClient('client'),
      resource: 'https://api.example',
      metadata: { contacts: ['a@b.example'] },
    });
    await storage.keys.initialize([key, { ...key, kid: 'next', status: 'next' }]);
    assert.equal(await storage.tokens.issue([token], {}), 'issued');
    assert.equal(await storage.authorizationCodes.issue(code, {}), 'issued');
    await storage.pending.add(row);
  });
  after(() => stores.end());

  const attempts: Readonly<Record<string, () => unknown>> = {
    'clients.get': () => storage.clients.get('client'),
    'clients.hasRedirectOrigin': () => storage.clients.hasRedirectOrigin('https://app.example'),
    'clients.findApis': () =>
      storage.clients.findApis?.({ resources: ['https://api.example'], scopes: ['openid'] }),
    'clients.replaceSecrets': () => storage.clients.replaceSecrets('client', [{ hash: 'hash' }], {}),
    'clients.add': () => storage.clients.add(newClient('another'), { mostRegistered: 10 }),
    'clients.list': () => storage.clients.list(),
    'clients.listUnused': () => storage.clients.listUnused(1, 10),
    'clients.noteDocument': () => storage.clients.noteDocument('client', 1),
    'clients.noteUse': () => storage.clients.noteUse('client', 1),
    'clients.replace': () => storage.clients.replace(newClient('client'), {}),
    'clients.remove': () => storage.clients.remove('client'),
    'clients.removeAll': () => storage.clients.removeAll(['client', 'another']),
    'keys.get': () => storage.keys.get('kid'),
    'keys.list': () => storage.keys.list(),
    'keys.currentKeyId': () => storage.keys.currentKeyId('RS256'),
    'keys.initialize': () => storage.keys.initialize([key]),
    'keys.rotate': () => storage.keys.rotate('kid', { ...key, kid: 'later', status: 'next' }),
    'keys.reseal': () => storage.keys.reseal('kid', 'sealed', 'resealed'),
    'tokens.getByAccessToken': () => storage.tokens.getByAccessToken(token.id),
    'tokens.getByRefreshToken': () => storage.tokens.getByRefreshToken(token.id),
    'tokens.descendantsOf': () => storage.tokens.descendantsOf?.(token.id, 10),
    'tokens.exchangedFor': () => storage.tokens.exchangedFor?.('subject', 10),
    'tokens.revoke': () => storage.tokens.revoke(token),
    'tokens.revokeFamily': () => storage.tokens.revokeFamily(token),
    'tokens.issue': () => storage.tokens.issue([newToken('client')], {}),
    'tokens.rotate': () => {
      const next = newToken('client', { grantId: 'grant', kind: 'refresh_token' });
      return storage.tokens.rotate(token, next, [next]);
    },
    'tokens.issueFrom': () => storage.tokens.issueFrom(token, [newToken('client', { grantId: 'grant' })]),
    'authorizationCodes.get': () => storage.authorizationCodes.get('code'),
    'authorizationCodes.issue': () => storage.authorizationCodes.issue(newCode('client', 'later'), {}),
    'authorizationCodes.redeem': () => storage.authorizationCodes.redeem(code, []),
    'authorizationCodes.revoke': () => storage.authorizationCodes.revoke(code),
    'oneTimeIdentifiers.take': () => storage.oneTimeIdentifiers.take('jti', 2_000_000_000),
    'pending.add': () => storage.pending.add({ ...row, id: 'another' }),
    'pending.get': () => storage.pending.get('pushed_request', 'pushed'),
    'pending.getByOtherId': () => storage.pending.getByOtherId('pushed_request', 'other'),
    'pending.take': () => storage.pending.take('pushed_request', 'pushed'),
    'pending.change': () => storage.pending.change({ ...row, version: 0 }),
  };

  /** Those that read a stored text which they have to understand. */
  const UNDERSTANDING = [
    'clients.get',
    'clients.findApis',
    'clients.list',
    'keys.get',
    'keys.list',
    'tokens.getByAccessToken',
    'tokens.getByRefreshToken',
    'authorizationCodes.get',
    'pending.get',
  ];

  test('the server calls its repositories directly', () => {
    for (const name of REPOSITORIES) assert.equal(guarded<object>(storage[name]), storage[name], name);
    assert.deepEqual(Object.keys(attempts).sort(), methodsOf(storage));
  });

  for (const [how, { fail, reason }] of Object.entries(FAILURES)) {
    test(`every method rejects with a StorageFault if the driver ${how}`, async (t) => {
      driver.fail = fail;
      t.after(() => {
        driver.fail = undefined;
      });
      for (const attempt of Object.values(attempts))
        await assert.rejects(async () => attempt(), faultBy(reason));
    });
  }

  test('every method rejects with a StorageFault if the pool throws', async (t) => {
    driver.thrown = 'no pool';
    t.after(() => {
      driver.thrown = undefined;
    });
    for (const attempt of Object.values(attempts))
      await assert.rejects(async () => attempt(), faultBy(/^no pool$/));
  });

  test('a row that cannot be read is a StorageFault', async (t) => {
    t.after(() => {
      driver.fail = undefined;
    });
    driver.fail = unreadable('name');
    for (const name of UNDERSTANDING)
      await assert.rejects(async () => attempts[name]?.(), faultBy(/^SyntaxError: /), name);
    // The name of a row says which lookup it is for.
    driver.fail = unreadable('found');
    for (const name of ['clients.get', 'tokens.getByAccessToken', 'tokens.getByRefreshToken'])
      await assert.rejects(async () => attempts[name]?.(), faultBy(/^SyntaxError: .*asked for/), name);
  });

  test('a statement that stores nothing upon a token that is alive is a StorageFault, not a refusal', async (t) => {
    driver.fail = async (answer) => {
      const { rows, ...result } = await answer();
      const isOutcome = rows?.some((row) => Object.hasOwn(row as object, 'outcome'));
      return { ...result, rows: isOutcome ? [{ ...(rows[0] as object), outcome: 'refused' }] : rows };
    };
    t.after(() => {
      driver.fail = undefined;
    });
    await assert.rejects(
      async () => storage.tokens.issueFrom(token, [newToken('client', { grantId: 'grant' })]),
      faultBy(/^Error: PostgreSQL refused tokens upon .+, which is alive$/),
    );
  });

  test('a broken contract is no StorageFault, before and in a transaction', async () => {
    const tied = newToken('client', { pairId: 'pair' });
    await assert.rejects(async () => storage.tokens.issue([tied], {}), ContractBreach);
    const wrong = { ...key, kid: 'wrong', algorithm: 'ES256', status: 'next' } as const;
    await assert.rejects(async () => storage.keys.rotate('kid', wrong), ContractBreach);
    const strange = newToken('client', { grantId: 'another' });
    await assert.rejects(async () => storage.tokens.issueFrom(token, [strange]), ContractBreach);
  });

  test('what is not there, and what is refused, is no StorageFault', async () => {
    assert.equal(await storage.tokens.getByAccessToken('unknown'), undefined);
    assert.equal(await storage.clients.get('unknown'), undefined);
    assert.equal(await storage.keys.get('unknown'), undefined);
    assert.equal(await storage.authorizationCodes.get('unknown'), undefined);
    assert.equal(await storage.pending.get('pushed_request', 'unknown'), undefined);
    assert.equal(await storage.clients.remove('unknown'), false);
    assert.equal(await storage.tokens.issue([newToken('unknown')], {}), 'refused');
  });
});
