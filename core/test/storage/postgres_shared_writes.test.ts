import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { AdministrableStorage, NewToken } from '@grantd/core';
import type { PostgresPool } from '@grantd/core/postgres';
import { disposableDatabase, sharedPostgres } from '../harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../harness/postgres_installation.ts';
import { PostgresStores } from '../harness/postgres_store.ts';
import { faultBy } from '../harness/storage_fault.ts';
import { newClient, newCode, newToken } from './samples.ts';

/** As many as one call takes. */
const MANY = 64;

describe('writes of tokens that share a call on PostgreSQL', {
  skip: POSTGRES_ABSENCE,
  timeout: 120_000,
}, () => {
  let stores: PostgresStores;
  let storage: AdministrableStorage;
  let pool: PostgresPool;
  let calls = 0;
  /** Whether PostgreSQL never answers a call of a function. */
  let isSilent = false;

  before(async () => {
    stores = new PostgresStores(await disposableDatabase(await sharedPostgres()));
    pool = {
      connect: (use) =>
        stores.pool.connect((error, client) => {
          if (client === undefined) return use(error, client);
          use(error, {
            pipeline: true,
            query: (query) => {
              const isCall = /grantd\.(issue_upon|redeem|revoke)_/.test(query.text);
              if (isCall) calls += 1;
              return isCall && isSilent ? new Promise(() => {}) : client.query(query);
            },
            release: (destroy) => client.release(destroy),
            on: client.on.bind(client),
            off: client.off.bind(client),
          });
        }),
    };
    storage = await stores.open({ pool });
    await storage.clients.add(newClient('client'));
  });
  after(() => stores.end());

  const refreshToken = (fields: Partial<NewToken> = {}) =>
    newToken('client', { kind: 'refresh_token', subject: 'alice', grantId: crypto.randomUUID(), ...fields });
  const issued = async (count: number) => {
    const tokens = Array.from({ length: count }, () => refreshToken());
    assert.equal(await storage.tokens.issue(tokens, {}), 'issued');
    calls = 0;
    return tokens;
  };
  const rotate = async (
    presented: NewToken,
    id: string = crypto.randomUUID(),
    once?: string,
    by = storage,
  ) => {
    const successor = { ...presented, id };
    const mark = once === undefined ? undefined : { id: once, expiresAt: presented.expiresAt };
    return by.tokens.rotate(presented, successor, [successor], mark);
  };
  const exists = async (id: string) => (await storage.tokens.getByRefreshToken(id)) !== undefined;
  const isSuperseded = async ({ id }: NewToken) =>
    (await storage.tokens.getByRefreshToken(id))?.supersededAtMs !== undefined;

  /** Does `action` when a token with such an identifier is inserted. */
  const uponInsertion = async (t: TestContext, id: string, action: string) => {
    await stores.pool.query(`
      CREATE FUNCTION public.act() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${action}; RETURN NEW; END $$;
      CREATE TRIGGER act BEFORE INSERT ON grantd.tokens FOR EACH ROW WHEN (NEW.id = '${id}')
        EXECUTE FUNCTION public.act();`);
    t.after(() => stores.pool.query('DROP FUNCTION public.act() CASCADE'));
  };

  test('those of one turn of the event loop take one call, and each has its own outcome', async () => {
    const tokens = await issued(MANY);
    assert.deepEqual(
      await Promise.all(tokens.map((token) => rotate(token))),
      tokens.map(() => 'issued'),
    );
    assert.equal(calls, 1);
    const [again = refreshToken(), ...fresh] = tokens;
    calls = 0;
    const unknown = refreshToken();
    assert.deepEqual(await Promise.all([rotate(again), rotate(unknown)]), ['superseded', 'refused']);
    // A grant that does not exist cannot be locked.
    assert.equal(calls, 2);
    calls = 0;
    await Promise.all(fresh.map((token) => storage.tokens.revoke(token)));
    assert.equal(calls, 1);
    for (const { id } of fresh)
      assert.notEqual((await storage.tokens.getByRefreshToken(id))?.revokedAtMs, undefined);
  });

  test('those that arrive while a call is under way share the next one, at most 64', async (t) => {
    const [first = refreshToken(), ...others] = await issued(MANY + 2);
    await uponInsertion(t, 'slow', 'PERFORM pg_sleep(0.1)');
    const slow = rotate(first, 'slow');
    await new Promise((resolve) => setTimeout(resolve, 30));
    const outcomes = await Promise.all([slow, ...others.map((token) => rotate(token))]);
    assert.deepEqual(new Set(outcomes), new Set(['issued']));
    assert.equal(calls, 3);
  });

  test('of several that use one token, one succeeds and the others see it', async () => {
    const [token = refreshToken()] = await issued(1);
    const outcomes = await Promise.all(Array.from({ length: MANY }, () => rotate(token)));
    assert.deepEqual(outcomes.toSorted(), ['issued', ...Array(MANY - 1).fill('superseded')]);
    assert.equal(calls, 1);

    const code = newCode('client', crypto.randomUUID());
    assert.equal(await storage.authorizationCodes.issue(code, {}), 'issued');
    const redeem = () => storage.authorizationCodes.redeem(code, [newToken('client')]);
    const redeemed = await Promise.all(Array.from({ length: MANY }, redeem));
    assert.deepEqual(redeemed.toSorted(), [...Array(MANY - 1).fill('already_redeemed'), 'issued']);
  });

  test('a grant that is locked elsewhere holds up none of the others', async () => {
    const [locked = refreshToken(), ...others] = await issued(4);
    const holder = await stores.pool.connect();
    try {
      await holder.query('BEGIN');
      await holder.query(`SELECT 1 FROM grantd.principals WHERE kind = 'grant' AND id = $1 FOR UPDATE`, [
        locked.grantId,
      ]);
      let isDone = false;
      const waiting = rotate(locked).finally(() => {
        isDone = true;
      });
      const begun = performance.now();
      assert.deepEqual(await Promise.all(others.map((token) => rotate(token))), Array(3).fill('issued'));
      assert.ok(performance.now() - begun < 5000);
      const [next = refreshToken()] = await issued(1);
      assert.equal(await rotate(next), 'issued');
      assert.equal(isDone, false);
      await holder.query('COMMIT');
      assert.equal(await waiting, 'issued');
    } finally {
      holder.release(true);
    }
  });

  test('one that PostgreSQL refuses with an error fails alone', async (t) => {
    const tokens = await issued(5);
    await uponInsertion(t, 'bad', `RAISE EXCEPTION 'a bad token'`);
    const [bad = refreshToken(), ...others] = tokens;
    const failing = assert.rejects(async () => rotate(bad, 'bad'), faultBy(/a bad token/));
    assert.deepEqual(await Promise.all(others.map((token) => rotate(token))), Array(4).fill('issued'));
    await failing;
    assert.equal(await isSuperseded(bad), false);
    assert.equal(await exists('bad'), false);
  });

  test('if the connection is lost, all of them fail and none is stored', async (t) => {
    const tokens = await issued(5);
    await uponInsertion(t, 'last', 'PERFORM pg_terminate_backend(pg_backend_pid())');
    const ids = [...Array.from({ length: 4 }, () => crypto.randomUUID()), 'last'];
    await Promise.all(
      tokens.map((token, index) => assert.rejects(async () => rotate(token, ids[index]), faultBy(/./))),
    );
    for (const token of tokens) assert.equal(await isSuperseded(token), false);
    for (const id of ids) assert.equal(await exists(id), false);
    assert.equal(calls, 1);
  });

  test('a failure after the commit makes all of them fail, and repeats none', async (t) => {
    const tokens = await issued(3);
    // A new primary is noted after the first write on it. This fails once.
    await stores.pool.query(`
      CREATE SEQUENCE public.notes;
      CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('public.notes') = 1 THEN RAISE EXCEPTION 'not noted'; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER note BEFORE UPDATE OF epoch ON grantd.issuers
        FOR EACH ROW EXECUTE FUNCTION public.note();
      UPDATE grantd.issuers SET epoch_timeline = 'former';`);
    t.after(() => stores.pool.query('DROP FUNCTION public.note() CASCADE; DROP SEQUENCE public.notes'));
    await Promise.all(tokens.map((token) => assert.rejects(async () => rotate(token), faultBy(/not noted/))));
    assert.equal(calls, 1);
    for (const token of tokens) assert.equal(await isSuperseded(token), true);
  });

  test('those that wait too long while PostgreSQL does not answer fail, however many there are', async (t) => {
    const deadlines = { connectionTimeoutMs: 300, statementTimeoutMs: 1000 };
    const impatient = await stores.openAnother(storage, { pool, ...deadlines });
    isSilent = true;
    t.after(() => {
      isSilent = false;
    });
    calls = 0;
    const begun = performance.now();
    const writes = Array.from({ length: 50 * MANY }, () =>
      assert.rejects(async () => impatient.tokens.revoke(refreshToken()), faultBy(/did not answer/)),
    );
    await Promise.all(writes);
    assert.ok(performance.now() - begun < 5000, `${performance.now() - begun} ms`);
    assert.ok(calls < 10, `${calls} calls`);
  });

  test('a call that does not return holds up the next one only shortly', async (t) => {
    const [stuck = refreshToken(), next = refreshToken()] = await issued(2);
    await uponInsertion(t, 'stuck', 'PERFORM pg_sleep(3)');
    let isDone = false;
    const waiting = rotate(stuck, 'stuck').finally(() => {
      isDone = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(await rotate(next), 'issued');
    assert.equal(isDone, false);
    assert.equal(await waiting, 'issued');
  });

  test('processes that wait for each other do not wait for the detection of a deadlock', async (t) => {
    const other = await stores.openAnother(storage);
    const tokens = await issued(4);
    // Each call holds one identifier when it asks for the other one.
    await stores.pool.query(`
      CREATE FUNCTION public.linger() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_sleep(0.3); RETURN NEW; END $$;
      CREATE TRIGGER linger AFTER INSERT ON grantd.one_time_identifiers FOR EACH ROW WHEN (NEW.id IN ('x', 'y'))
        EXECUTE FUNCTION public.linger();`);
    t.after(() => stores.pool.query('DROP FUNCTION public.linger() CASCADE'));
    const [one, two, three, four] = tokens as [NewToken, NewToken, NewToken, NewToken];
    const outcomes = await Promise.all([
      ...[rotate(one, undefined, 'x'), rotate(two, undefined, 'y')],
      ...[rotate(three, undefined, 'y', other), rotate(four, undefined, 'x', other)],
    ]);
    assert.deepEqual(outcomes.toSorted(), ['already_used', 'already_used', 'issued', 'issued']);
    const { rows } = await stores.pool.query<{ deadlocks: string }>(
      'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
    );
    assert.equal(Number(rows[0]?.deadlocks), 0);
  });
});
