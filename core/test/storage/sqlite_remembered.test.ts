import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { StatementSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { storedLife } from '../../src/protocol/record_rules.ts';
import type { NewToken, TokenRecord } from '../../src/protocol/records.ts';
import {
  openSqliteStorage,
  type SqliteStorage,
  type SqliteStorageOptions,
} from '../../src/storage/sqlite/sqlite_storage.ts';
import { newClient, newCode, newToken } from './samples.ts';
import { temporaryFolder } from './temporary_folder.ts';

const folder = temporaryFolder();
const issuer = 'https://issuer.example';

/** Two handles of one file, as in two processes, with a client. */
async function openTwo(
  t: TestContext,
  name: string,
  options: Pick<SqliteStorageOptions, 'eventRetentionSeconds' | 'clock'> = {},
) {
  const path = join(folder, `${name}.db`);
  const open = () => {
    const storage = openSqliteStorage({ path, issuer, ...options });
    t.after(() => storage.close());
    return storage;
  };
  const [one, other] = [open(), open()];
  await one.clients.add(newClient('app'));
  return { one, other };
}

interface Issued {
  readonly access: NewToken;
  readonly refresh: NewToken;
  readonly codeId: string;
}

/** Tokens of a grant with everything that they can depend on. */
async function issue(storage: SqliteStorage): Promise<Issued> {
  const codeId = 'code';
  const tied = {
    subject: 'subject',
    sessionId: 'session',
    grantId: `grant of ${codeId}`,
    familyId: 'family',
    pairId: 'pair',
    scopes: ['openid', 'email'],
    claims: { sub: 'subject', aud: ['https://api.example'] },
  };
  const code = { ...newCode('app', codeId), sessionId: 'session' };
  assert.equal(await storage.authorizationCodes.issue(code, {}), 'issued');
  const access = newToken('app', tied);
  const refresh = newToken('app', { ...tied, kind: 'refresh_token' });
  const stored = await storage.authorizationCodes.get(codeId);
  assert.ok(stored);
  assert.equal(await storage.authorizationCodes.redeem(stored, [refresh, access]), 'issued');
  return { access, refresh, codeId };
}

/** Looked up together with the client in one tick, as at introspection. */
async function lookUp({ tokens, clients }: SqliteStorage, { id }: NewToken): Promise<TokenRecord> {
  const [record] = await Promise.all([tokens.getByAccessToken(id), clients.get('app')]);
  assert.ok(record);
  return record;
}

function isAlive(record: TokenRecord): boolean {
  return storedLife(record, Date.now()).alive;
}

/**
 * Runs `work`.
 * @returns the statements that it ran for a row, or for `all` rows
 */
async function statementsOf(
  t: TestContext,
  work: () => Promise<unknown>,
  method: 'get' | 'all' = 'get',
): Promise<string[]> {
  const asked: string[] = [];
  const original = StatementSync.prototype[method];
  const counting = t.mock.method(
    StatementSync.prototype,
    method,
    function (this: StatementSync, ...args: unknown[]) {
      asked.push(this.sourceSQL);
      return Reflect.apply(original, this, args);
    },
  );
  try {
    await work();
  } finally {
    counting.mock.restore();
  }
  return asked;
}

const ofTokens = (statements: readonly string[]) => statements.filter((sql) => sql.includes('FROM tokens'));
const ofClients = (statements: readonly string[]) => statements.filter((sql) => sql.includes('FROM clients'));

async function recordOf({ tokens }: SqliteStorage, { id }: NewToken): Promise<TokenRecord> {
  const found = (await tokens.getByAccessToken(id)) ?? (await tokens.getByRefreshToken(id));
  assert.ok(found);
  return found;
}

/** Every way in which an access token ends before its expiry. */
const ENDINGS: Readonly<Record<string, (storage: SqliteStorage, issued: Issued) => Promise<unknown>>> = {
  'it is revoked': async (storage, { access }) => storage.tokens.revoke(await recordOf(storage, access)),
  'its refresh token is revoked': async (storage, { refresh }) =>
    storage.tokens.revoke(await recordOf(storage, refresh)),
  'its family is revoked': async (storage, { refresh }) =>
    storage.tokens.revokeFamily(await recordOf(storage, refresh)),
  'its code is revoked': async ({ authorizationCodes }, { codeId }) => {
    const found = await authorizationCodes.get(codeId);
    assert.ok(found);
    await authorizationCodes.revoke(found);
  },
  'what the person granted to the client is revoked': async (storage) =>
    storage.revokeGrants('subject', 'app'),
  'all of its grant is revoked': async (storage, { access }) =>
    storage.revokeAll({ principal: 'grant', id: access.grantId ?? '' }),
  'all of its session is revoked': async (storage) =>
    storage.revokeAll({ principal: 'session', id: 'session' }),
  'all of its subject is revoked': async (storage) =>
    storage.revokeAll({ principal: 'subject', id: 'subject' }),
  'all of its client is revoked': async (storage) => storage.revokeAll({ principal: 'client', id: 'app' }),
  'all that was issued before is revoked': async (storage) =>
    storage.revokeAll({ issuedBeforeMs: Date.now() + 1000 }),
  'its subject is disabled': async (storage) => storage.setDisabled('subject', 'subject', true),
  'its client is disabled': async (storage) => storage.setDisabled('client', 'app', true),
  'its client is removed': async ({ clients }) => clients.remove('app'),
};

for (const [ending, end] of Object.entries(ENDINGS)) {
  for (const by of ['another handle', 'the same handle'] as const) {
    test(`a cached access token is dead at the next lookup once ${ending} by ${by}`, async (t) => {
      const { one, other } = await openTwo(t, `${ending} ${by}`);
      const issued = await issue(other);
      assert.equal(isAlive(await lookUp(one, issued.access)), true);
      const again = await statementsOf(t, () => lookUp(one, issued.access));
      assert.deepEqual(ofTokens(again), [], 'it is remembered');
      await end(by === 'another handle' ? other : one, issued);
      assert.equal(isAlive(await lookUp(one, issued.access)), false);
      assert.equal(isAlive(await lookUp(one, issued.access)), false);
    });
  }
}

/** The endings whose event does not name the tokens. */
const ENDINGS_OF_EVERYTHING = ['all that was issued before is revoked'];

for (const [ending, end] of Object.entries(ENDINGS)) {
  const isOfEverything = ENDINGS_OF_EVERYTHING.includes(ending);
  test(`tokens of others are ${isOfEverything ? 'read again' : 'still cached'} once ${ending}`, async (t) => {
    const { one, other } = await openTwo(t, `others: ${ending}`);
    const issued = await issue(other);
    await other.clients.add(newClient('another'));
    const others = [
      newToken('another'),
      newToken('another', {
        subject: 'another',
        grantId: 'another',
        pairId: 'another',
        sessionId: 'another',
      }),
    ];
    assert.equal(await other.tokens.issue(others, {}), 'issued');
    const look = () => Promise.all(others.map((token) => lookUp(one, token)));
    await Promise.all([look(), lookUp(one, issued.access)]);
    await end(other, issued);
    assert.equal(ofTokens(await statementsOf(t, look)).length, isOfEverything ? others.length : 0);
  });
}

for (const principal of ['subject', 'client'] as const) {
  test(`a token that was read after its ${principal} was disabled and enabled is cached, until that happens again`, async (t) => {
    const { one, other } = await openTwo(t, `twice ${principal}`);
    const id = principal === 'client' ? 'app' : 'person';
    const issueTied = async () => {
      const token = newToken('app', { subject: 'person', grantId: 'grant' });
      const { generation = 0 } = (await other.clients.get('app')) ?? {};
      assert.equal(await other.tokens.issue([token], { clientGeneration: generation }), 'issued');
      return token;
    };
    await issueTied();
    for (const handle of [other, one, other]) {
      await handle.setDisabled(principal, id, true);
      await handle.setDisabled(principal, id, false);
      const token = await issueTied();
      const looks: number[] = [];
      for (let look = 0; look < 3; look += 1) {
        const statements = await statementsOf(t, async () => {
          assert.equal(isAlive(await lookUp(one, token)), true);
        });
        looks.push(ofTokens(statements).length);
      }
      assert.deepEqual(looks, [1, 0, 0]);
      await handle.revokeAll({ principal, id });
      assert.equal(isAlive(await lookUp(one, token)), false);
    }
  });
}

test('if an event names a deleted row, everything is read again', async (t) => {
  const { one, other } = await openTwo(t, 'gone');
  const ended = newToken('app', { keepUntil: Math.floor(Date.now() / 1000) - 10, expiresAt: 1 });
  const token = newToken('app');
  assert.equal(await other.tokens.issue([ended, token], {}), 'issued');
  await lookUp(one, token);
  await other.tokens.revoke(await recordOf(other, ended));
  await other.sweep(100);
  assert.equal(await other.tokens.getByAccessToken(ended.id), undefined);
  assert.equal(ofTokens(await statementsOf(t, () => lookUp(one, token))).length, 1);
});

for (const tie of [{ pairId: 'tie' }, { familyId: 'tie' }]) {
  test(`a token whose ${Object.keys(tie)} is spread over grants, against the contract, ends with it nevertheless`, async (t) => {
    const { one, other } = await openTwo(t, `spread ${Object.keys(tie)}`);
    const [first, second] = ['one', 'another'].map((grantId) => newToken('app', { ...tie, grantId }));
    assert.ok(first && second);
    for (const token of [first, second]) assert.equal(await other.tokens.issue([token], {}), 'issued');
    await Promise.all([first, second].map((token) => lookUp(one, token)));
    const record = await recordOf(other, first);
    if ('pairId' in tie) await other.tokens.revoke(record);
    else await other.tokens.revokeFamily(record);
    assert.equal(isAlive(await lookUp(other, second)), false);
    assert.equal(isAlive(await lookUp(one, second)), false);
  });
}

test('more principals than are kept in mind are forgotten with everything, and their tokens are dead', async (t) => {
  const { one, other } = await openTwo(t, 'many principals');
  const others = newToken('app');
  const tokens = Array.from({ length: 5020 }, (_, at) =>
    newToken('app', { subject: `person ${at}`, grantId: `grant ${at}` }),
  );
  assert.equal(await other.tokens.issue([others, ...tokens], {}), 'issued');
  await Promise.all(tokens.map((token) => lookUp(one, token)));
  let forgotten = 0;
  for (let from = 0; from < tokens.length; from += 50) {
    const ended = tokens.slice(from, from + 50);
    await Promise.all(
      ended.map((_, at) => other.revokeAll({ principal: 'grant', id: `grant ${from + at}` })),
    );
    forgotten += ofTokens(await statementsOf(t, () => lookUp(one, others))).length;
    for (const token of ended) assert.equal(isAlive(await lookUp(one, token)), false);
  }
  // Once at the first lookup, and once per 5000 principals.
  assert.equal(forgotten, 2);
});

test('more tokens than are forgotten one by one are dead at the next look-up as well', async (t) => {
  const { one, other } = await openTwo(t, 'many alone');
  const eventsRead = async (work: () => Promise<unknown>) =>
    (await statementsOf(t, work, 'all')).filter((sql) => sql.includes('FROM events')).length;
  const tokens = Array.from({ length: 150 }, () => newToken('app'));
  assert.equal(await other.tokens.issue(tokens, {}), 'issued');
  await Promise.all(tokens.map((token) => lookUp(one, token)));
  const records = await Promise.all(tokens.map((token) => recordOf(other, token)));
  await Promise.all(records.map((record) => other.tokens.revoke(record)));
  const lookUpAll = async (storage: SqliteStorage) => {
    const found = await Promise.all(tokens.map((token) => lookUp(storage, token)));
    assert.equal(found.some(isAlive), false);
  };
  // So many events are not read, nor those from before a process's first lookup.
  assert.equal(await eventsRead(() => lookUpAll(one)), 0);
  const late = openSqliteStorage({ path: one.path, issuer });
  t.after(() => late.close());
  assert.equal(await eventsRead(() => lookUpAll(late)), 0);
});

test('what another issuer of the same file ends is not forgotten here, and the other way round', async (t) => {
  const { one } = await openTwo(t, 'issuers');
  const others = openSqliteStorage({ path: one.path, issuer: 'https://other.example' });
  t.after(() => others.close());
  await others.clients.add(newClient('app'));
  const token = newToken('app');
  for (const storage of [one, others]) {
    assert.equal(await storage.tokens.issue([token], {}), 'issued');
    assert.equal(isAlive(await lookUp(storage, token)), true);
  }
  await others.tokens.revoke(await recordOf(others, token));
  assert.deepEqual(ofTokens(await statementsOf(t, () => lookUp(one, token))), []);
  assert.equal(isAlive(await lookUp(one, token)), true);
  assert.equal(isAlive(await lookUp(others, token)), false);
  await one.tokens.revoke(await recordOf(one, token));
  assert.equal(isAlive(await lookUp(one, token)), false);
});

test('a cached access token is dead even if the event that ended it has been swept', async (t) => {
  const { one, other } = await openTwo(t, 'swept events', { eventRetentionSeconds: 0 });
  const { access } = await issue(other);
  assert.equal(isAlive(await lookUp(one, access)), true);
  await other.tokens.revoke(await recordOf(other, access));
  await other.sweep(100);
  assert.deepEqual(await other.eventsAfter(0, 10), []);
  assert.equal(isAlive(await lookUp(one, access)), false);
});

test('after tokens are issued and clients registered elsewhere, access tokens stay cached, and clients are read again', async (t) => {
  const { one, other } = await openTwo(t, 'issuance');
  const { access } = await issue(other);
  await lookUp(one, access);
  for (const write of [
    () => other.tokens.issue([newToken('app')], {}),
    () => one.tokens.issue([newToken('app')], {}),
    () => other.clients.add(newClient('another')),
  ]) {
    await write();
    const statements = await statementsOf(t, () => lookUp(one, access));
    assert.deepEqual([ofTokens(statements).length, ofClients(statements).length], [0, 1]);
  }
  const statements = await statementsOf(t, () => lookUp(one, access));
  assert.deepEqual([ofTokens(statements), ofClients(statements)], [[], []]);
});

test('refresh tokens are read each time: their successors are no events', async (t) => {
  const { one, other } = await openTwo(t, 'rotation');
  const { refresh } = await issue(other);
  const [found] = await Promise.all([one.tokens.getByRefreshToken(refresh.id), one.clients.get('app')]);
  assert.ok(found);
  const successor = newToken('app', {
    kind: 'refresh_token',
    subject: 'subject',
    sessionId: 'session',
    grantId: refresh.grantId ?? '',
    familyId: 'family',
  });
  assert.equal(await other.tokens.rotate(found, successor, [successor]), 'issued');
  const [again] = await Promise.all([one.tokens.getByRefreshToken(refresh.id), one.clients.get('app')]);
  assert.equal(again?.successorId, successor.id);
});

test('a cached client is as it was stored last, whichever process changed it', async (t) => {
  const { one, other } = await openTwo(t, 'clients');
  const { access } = await issue(other);
  await other.clients.add({ ...newClient('confidential'), secrets: [{ hash: 'first' }] });
  const found = async () => {
    const [client] = await Promise.all([one.clients.get('confidential'), lookUp(one, access)]);
    return client;
  };
  for (const [index, storage] of [other, one, other].entries()) {
    await found();
    assert.deepEqual(ofClients(await statementsOf(t, found)), []);
    const secrets = [{ hash: `${index}` }];
    await storage.clients.replaceSecrets('confidential', secrets, (await found()) ?? {});
    assert.deepEqual((await found())?.secrets, secrets);
  }
  await other.setDisabled('client', 'confidential', true);
  assert.notEqual((await found())?.disabledAtMs, undefined);
  await other.clients.remove('confidential');
  assert.equal(await found(), undefined);
});

test('a token with so much in it that memory could not hold as many of them is read each time', async (t) => {
  const { one } = await openTwo(t, 'long');
  for (const [further, looks] of [
    [{ subject: 'subject', claims: { roles: 'x'.repeat(400) } }, 0],
    [{ subject: 'subject', claims: { roles: 'x'.repeat(1000) } }, 1],
    [{ claims: { roles: 'x'.repeat(400) } }, 0],
    [{ claims: { roles: 'x'.repeat(2000) } }, 1],
    [{ subject: 'x'.repeat(1000) }, 1],
    [{ sessionId: 'x'.repeat(1000) }, 1],
  ] as const) {
    const token = newToken('app', further);
    await one.tokens.issue([token], {});
    await lookUp(one, token);
    const statements = await statementsOf(t, () => lookUp(one, token));
    assert.equal(ofTokens(statements).length, looks);
  }
});

test('callers cannot change cached records', async (t) => {
  const { one, other } = await openTwo(t, 'unchanged');
  const { access } = await issue(other);
  const ofClient = newToken('app', { claims: { aud: ['https://api.example'], iat: 1 } });
  await other.tokens.issue([ofClient], {});
  for (const token of [access, ofClient]) {
    const original = structuredClone(await lookUp(one, token));
    for (const _ of [1, 2]) {
      const [found] = await Promise.all([one.tokens.getByAccessToken(token.id), one.clients.get('app')]);
      assert.deepEqual(found, original);
      change(found);
    }
  }
  const client = await one.clients.get('app');
  for (const part of [client, client?.scopes, client?.redirectUris]) assert.ok(Object.isFrozen(part));
});

/** Changes whatever is not frozen, at all depths. */
function change(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  Object.values(value).forEach(change);
  if (!Object.isFrozen(value)) for (const name of Object.keys(value)) Reflect.set(value, name, 'changed');
}

test('a token that was swept is read from the file again, after the clock was set back', async (t) => {
  const now = { ms: Date.now() };
  const { one, other } = await openTwo(t, 'swept', { clock: () => now.ms });
  const begin = now.ms;
  const access = newToken('app', { expiresAt: Math.floor(begin / 1000) + 60 });
  assert.equal(await one.tokens.issue([access], {}), 'issued');
  const found = await lookUp(one, access);
  await lookUp(other, access);
  now.ms = begin + 24 * 60 * 60 * 1000;
  assert.notEqual(await other.sweep(100), 0);
  now.ms = begin;
  await one.tokens.revoke(found);
  for (const { tokens } of [one, other]) assert.equal(await tokens.getByAccessToken(access.id), undefined);
});

test('cached tokens leave memory when they have expired, or were not looked up for minutes', async (t) => {
  const now = { ms: Date.now() };
  const { one } = await openTwo(t, 'unused', { clock: () => now.ms });
  const minutes = (count: number) => count * 60 * 1000;
  const token = newToken('app', { expiresAt: Math.floor((now.ms + minutes(60)) / 1000) });
  await one.tokens.issue([token], {});
  const looksAfter = async (ms: number) => {
    now.ms += ms;
    // The cache compares times after any commit.
    await one.clients.replaceSecrets('app', [], {});
    return ofTokens(await statementsOf(t, () => lookUp(one, token))).length;
  };
  assert.equal(await looksAfter(0), 1);
  for (const used of [4, 4, 4, 4]) assert.equal(await looksAfter(minutes(used)), 0);
  await one.tokens.getByAccessToken('another');
  now.ms += minutes(6);
  await one.clients.get('app');
  assert.equal(await looksAfter(minutes(5)), 0, 'used in the five minutes before the last five');
  now.ms += minutes(5);
  await one.clients.replaceSecrets('app', [], {});
  await one.tokens.getByAccessToken('another');
  assert.equal(await looksAfter(minutes(6)), 1);
});

test('as many tokens are cached as the option says, and with 0 none', async (t) => {
  for (const [cachedTokens, read] of [
    [0, 3],
    [2, 3],
    [100, 0],
  ] as const) {
    const { one } = await openTwo(t, `limit ${cachedTokens}`);
    one.cache?.limitTokens(cachedTokens);
    const tokens = Array.from({ length: 3 }, () => newToken('app'));
    await one.tokens.issue(tokens, {});
    const lookUpAll = async () => {
      for (const token of tokens) await lookUp(one, token);
    };
    await lookUpAll();
    assert.equal(ofTokens(await statementsOf(t, lookUpAll)).length, read, `${cachedTokens}`);
  }
});

test('no more tokens are cached than the limit, and those that were used last are among them', async (t) => {
  const { one } = await openTwo(t, 'limit kept');
  one.cache?.limitTokens(100);
  const tokens = Array.from({ length: 300 }, () => newToken('app'));
  await one.tokens.issue(tokens, {});
  const readsOf = async (token: NewToken) => ofTokens(await statementsOf(t, () => lookUp(one, token))).length;
  for (const token of tokens) assert.equal(await readsOf(token), 1);
  for (const token of tokens.slice(-50)) assert.equal(await readsOf(token), 0);
  let cached = 0;
  for (const token of tokens.toReversed()) cached += 1 - (await readsOf(token));
  assert.ok(cached >= 50 && cached <= 100, `${cached}`);
});

test('the principals that are kept in mind follow from the limit: one for 40 tokens', async (t) => {
  const { one, other } = await openTwo(t, 'limit of principals');
  one.cache?.limitTokens(80);
  const [kept, ...tokens] = ['others', 'one', 'two', 'three'].map((name) =>
    newToken('app', { subject: name, grantId: `grant of ${name}` }),
  );
  assert.ok(kept);
  assert.equal(await other.tokens.issue([kept, ...tokens], {}), 'issued');
  await lookUp(one, kept);
  const reads = [];
  for (const { grantId = '' } of tokens) {
    await other.revokeAll({ principal: 'grant', id: grantId });
    reads.push(ofTokens(await statementsOf(t, () => lookUp(one, kept))).length);
  }
  assert.deepEqual(reads, [0, 0, 1]);
});

test('what is forgotten is read again, tokens and clients, and what ended stays dead', async (t) => {
  const { one, other } = await openTwo(t, 'emptied');
  const { access } = await issue(other);
  const reads = async () => {
    const statements = await statementsOf(t, () => lookUp(one, access));
    return [ofTokens(statements).length, ofClients(statements).length];
  };
  assert.deepEqual(
    [await reads(), await reads()],
    [
      [1, 1],
      [0, 0],
    ],
  );
  await one.cache?.forgetCached();
  assert.deepEqual(
    [await reads(), await reads()],
    [
      [1, 1],
      [0, 0],
    ],
  );
  await other.tokens.revoke(await recordOf(other, access));
  await one.cache?.forgetCached();
  assert.equal(isAlive(await lookUp(one, access)), false);
});

test('the same functions read objects of one hidden class, whatever the numbers in them', async () => {
  const program = join(import.meta.dirname, 'hidden_classes.ts');
  const path = join(folder, 'hidden_classes.db');
  const { stdout } = await promisify(execFile)(process.execPath, ['--allow-natives-syntax', program, path]);
  assert.deepEqual(JSON.parse(stdout), { read: true, cached: true, values: [1, 2, 3], rows: true });
});
