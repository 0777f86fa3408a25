import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { AdministrableStorage } from '@grantd/core';
import { namedStatements, PostgresConnections } from '@grantd/core/internal/storage/postgres/connections';
import { readStoredIssuer } from '@grantd/core/internal/storage/postgres/schema';
import type { PostgresPool } from '@grantd/core/postgres';
import { type PostgresCluster, startPostgres } from '../harness/postgres_cluster.ts';
import { disposableDatabase } from '../harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../harness/postgres_installation.ts';
import { pgBouncerAbsence, startPgBouncer } from '../harness/postgres_pgbouncer.ts';
import { PostgresStores } from '../harness/postgres_store.ts';
import { faultBy } from '../harness/storage_fault.ts';
import { newClient, newToken } from './samples.ts';

const DEADLINES = { connectionTimeoutMs: 500, statementTimeoutMs: 700 };

/** The maximum milliseconds until an expected failure. */
async function timeToFail(attempt: () => unknown, reason: RegExp): Promise<number> {
  const begun = performance.now();
  await assert.rejects(async () => attempt(), faultBy(reason));
  return performance.now() - begun;
}

/** What a server answers that has just started: on a busy machine, it accepts connections later than `DEADLINES` allow. */
async function whenBack<T>(attempt: () => T): Promise<Awaited<T>> {
  for (const endsAt = Date.now() + 10_000; ; await pause(50)) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > endsAt) throw error;
    }
  }
}

describe('a PostgreSQL server that fails', { skip: POSTGRES_ABSENCE, timeout: 120_000 }, () => {
  let cluster: PostgresCluster;
  let url: string;
  let stores: PostgresStores;
  let storage: AdministrableStorage;

  before(async () => {
    cluster = await startPostgres();
    url = await disposableDatabase(cluster);
    stores = new PostgresStores(url, { max: 4 });
    storage = await stores.open(DEADLINES);
    await storage.clients.add(newClient('client'));
  });
  after(async () => {
    await stores.end();
    await cluster.remove();
  });

  test('one that hangs is given up in time, on open connections and on new ones, and is asked again later', async () => {
    const token = newToken('client');
    assert.equal(await storage.tokens.issue([token], {}), 'issued');
    await cluster.pause();
    try {
      const open = await timeToFail(
        () => storage.tokens.getByAccessToken(token.id),
        /did not answer within 700/,
      );
      assert.ok(open < 1500, `${open} ms`);
      const write = await timeToFail(() => storage.tokens.revoke({ ...token }), /within (500|700) ms/);
      assert.ok(write < 1500, `${write} ms`);
      const many = Array.from({ length: 20 }, () =>
        timeToFail(() => storage.tokens.getByAccessToken(token.id), /within (500|700) ms/),
      );
      for (const each of await Promise.all(many)) assert.ok(each < 1500, `${each} ms`);
    } finally {
      await cluster.resume();
    }
    assert.equal((await storage.tokens.getByAccessToken(token.id))?.id, token.id);
  });

  test('one that was killed rejects, and is used again once it is back, with all that was acknowledged', async () => {
    const [kept, revoked] = [newToken('client'), newToken('client')];
    assert.equal(await storage.tokens.issue([kept, revoked], {}), 'issued');
    await storage.tokens.revoke({ ...revoked });
    await cluster.kill();
    const failed = await timeToFail(() => storage.tokens.getByAccessToken(kept.id), /./);
    assert.ok(failed < 1500, `${failed} ms`);
    await cluster.start();
    const found = await whenBack(() => storage.tokens.getByAccessToken(kept.id));
    assert.deepEqual([found?.id, found?.revokedAtMs], [kept.id, undefined]);
    assert.notEqual((await storage.tokens.getByAccessToken(revoked.id))?.revokedAtMs, undefined);
  });

  test('one that is lost in the middle of many requests rejects them, and ends no process', async () => {
    for (let round = 0; round < 3; round++) {
      const begun = Array.from({ length: 40 }, async () =>
        round % 2 === 0
          ? storage.tokens.getByAccessToken('any')
          : storage.tokens.issue([newToken('client')], {}),
      );
      const settled = Promise.allSettled(begun);
      await Promise.race(begun.map((each) => each.catch(() => {})));
      await cluster.kill();
      for (const { status } of await settled) assert.match(status, /fulfilled|rejected/);
      await cluster.start();
      assert.equal(await whenBack(() => storage.tokens.getByAccessToken('any')), undefined);
    }
  });

  test('a connection that is lost at the moment it is passed to a caller ends no process', async () => {
    const pool: PostgresPool = {
      connect: (callback) =>
        stores.pool.connect((error, client) => {
          callback(error, client);
          client?.emit('error', new Error('terminating connection'));
        }),
    };
    const connections = new PostgresConnections(pool);
    const sql = await namedStatements({ one: 'SELECT 1 AS one' });
    assert.deepEqual((await connections.read([sql.one])).rows, [{ one: 1 }]);
  });

  test('if there are more callers than connections, callers wait, and are rejected at the time limit', async () => {
    const blocker = await stores.pool.connect();
    const others = await Promise.all(Array.from({ length: 3 }, () => stores.pool.connect()));
    try {
      const failed = await timeToFail(
        () => storage.tokens.getByAccessToken('any'),
        /no connection within 500 ms/,
      );
      assert.ok(failed < 1000, `${failed} ms`);
    } finally {
      for (const client of [blocker, ...others]) client.release();
    }
    const answers = Array.from({ length: 50 }, async () => storage.tokens.getByAccessToken('any'));
    assert.deepEqual(new Set(await Promise.all(answers)), new Set([undefined]));
  });

  for (const [setting, value] of [
    ['fsync', 'off'],
    ['synchronous_commit', 'off'],
    ['synchronous_commit', 'local'],
  ] as const) {
    test(`one with ${setting}=${value} is refused: a commit could be lost`, async () => {
      const scope = setting === 'fsync' ? `SYSTEM SET ${setting}` : `ROLE grantd SET ${setting}`;
      await cluster.ask(`ALTER ${scope} = ${value}`);
      await cluster.ask('SELECT pg_reload_conf()');
      const another = new PostgresStores(url);
      try {
        await assert.rejects(another.open(), {
          message: `PostgreSQL runs with ${setting}=${value} instead of on: a commit could be lost`,
        });
      } finally {
        await another.end();
        await cluster.ask(`ALTER ${scope} = on`);
        await cluster.ask('SELECT pg_reload_conf()');
      }
    });
  }

  test('a schema of a newer version is refused, and nothing is changed', async () => {
    const newer = await disposableDatabase(cluster);
    const another = new PostgresStores(newer);
    try {
      assert.equal(await readStoredIssuer(another.pool), undefined);
      await another.open({ issuer: 'https://issuer.example' });
      assert.equal(await readStoredIssuer(another.pool), 'https://issuer.example');
      await another.pool.query('INSERT INTO grantd.schema_versions VALUES (1000)');
      const refusal = {
        message: /^the database was written by a newer program: grantd\.schema_versions says 1000, /,
      };
      await assert.rejects(another.open(), refusal);
      await assert.rejects(readStoredIssuer(another.pool), refusal);
    } finally {
      await another.end();
    }
  });

  test('of many processes that start together on an empty database one migrates', async () => {
    const empty = await disposableDatabase(cluster);
    const starting = Array.from({ length: 8 }, () => new PostgresStores(empty));
    try {
      const opened = await Promise.all(
        starting.map((each) => each.open({ issuer: 'https://issuer.example' })),
      );
      assert.equal(opened.length, 8);
      const { rows } = await (starting[0] ?? assert.fail()).pool.query(
        'SELECT version FROM grantd.schema_versions',
      );
      assert.equal(rows.length, 1);
    } finally {
      await Promise.all(starting.map((each) => each.end()));
    }
  });

  test('what PostgreSQL cannot hold is not there', async () => {
    const impossible = 'a\0b';
    assert.equal(await storage.clients.get(impossible), undefined);
    assert.equal(await storage.tokens.getByAccessToken(impossible), undefined);
    assert.equal(await storage.authorizationCodes.get(impossible), undefined);
    assert.equal(await storage.keys.get(impossible), undefined);
    assert.equal(await storage.clients.hasRedirectOrigin(impossible), false);
    assert.equal(await storage.revokeAll({ principal: 'subject', id: impossible }), false);
    assert.equal(await storage.getPrincipalState('subject', impossible), undefined);
  });
});

describe('a pooler that gives each transaction another connection', {
  skip: POSTGRES_ABSENCE || pgBouncerAbsence(),
  timeout: 60_000,
}, () => {
  test('is used without prepared statements if it supports none', async () => {
    const cluster = await startPostgres();
    const bouncer = await startPgBouncer(cluster, { poolMode: 'transaction', poolSize: 3 });
    const url = bouncer.through(await disposableDatabase(cluster));
    const both = [new PostgresStores(url), new PostgresStores(url)];
    try {
      const issuer = 'https://issuer.example';
      const handles = await Promise.all(both.map((stores) => stores.open({ issuer })));
      await handles[0]?.clients.add(newClient('client'));
      const tokens = Array.from({ length: 100 }, () => newToken('client'));
      await Promise.all(
        tokens.map(async (token, index) => {
          const [one, other] = [handles[index % 2], handles[(index + 1) % 2]];
          assert.equal(await one?.tokens.issue([token], {}), 'issued');
          assert.equal((await other?.tokens.getByAccessToken(token.id))?.id, token.id);
          await other?.tokens.revoke({ ...token });
          assert.notEqual((await one?.tokens.getByAccessToken(token.id))?.revokedAtMs, undefined);
        }),
      );
    } finally {
      await Promise.all(both.map((stores) => stores.end()));
      await bouncer.remove();
      await cluster.remove();
    }
  });
});
