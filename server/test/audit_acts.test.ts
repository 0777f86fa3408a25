// What one request or command did, as pages of the audit trail show it, on both databases (ADR 226).
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ServerSecret } from '@grantd/core';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { disposableDatabase, sharedPostgres } from '../../core/test/harness/postgres_databases.ts';
import { ask } from '../../core/test/harness/postgres_server.ts';
import { cursorOf, readCursor } from '../src/admin/operation.ts';
import { readActs } from '../src/console/event_rows.ts';
import { AuditTrail } from '../src/data/audit.ts';
import { type Act, countOf } from '../src/data/audit_acts.ts';
import type { AuditFilter } from '../src/data/audit_search.ts';
import type { Database, OpenDatabase } from '../src/data/database.ts';
import { postgresDatabase } from '../src/data/postgres_database.ts';
import type { ProgramSecretUse } from '../src/data/secrets.ts';
import { sqliteDatabase } from '../src/data/sqlite_database.ts';
import {
  migrateProgramTables,
  SQLITE_PROGRAM_TABLES,
  sqliteProgramTables,
} from '../src/data/sqlite_tables.ts';
import { ProgramTables } from '../src/data/tables.ts';
import { type Cause, within } from '../src/log/log.ts';
import { DATABASES, type TestDatabase } from './harness/databases.ts';
import { ISSUER } from './harness/program_data.ts';

const secret = new ServerSecret<ProgramSecretUse>(['a secret of the tests of acts that is long enough']);
const ALL = { mostRead: 20_000 };

async function opened(t: TestContext, { name }: TestDatabase) {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-acts-'));
  const where =
    name === 'SQLite' ? join(folder, 'grantd.db') : await disposableDatabase(await sharedPostgres());
  const limits = { connections: 4, connectTimeoutMs: 30_000, statementTimeoutMs: 30_000 };
  const database: Database =
    name === 'SQLite'
      ? sqliteDatabase(where)
      : postgresDatabase(where, { ...limits, onConnectionLost: () => {} });
  t.after(async () => {
    await database.close();
    rmSync(folder, { recursive: true });
  });
  const instance = await database.open(ISSUER);
  return {
    instance,
    seal: () => instance.auditTrail.seal(secret),
    verify: () => instance.auditTrail.verify(secret),
    /** Runs statements behind the program’s back. */
    async tamper(sql: string) {
      if (name !== 'SQLite') return void (await ask({ url: where }, sql));
      const file = new DatabaseSync(where);
      file.exec(sql.replaceAll('grantd.', ''));
      file.close();
    },
    /** On SQLite, the trail over a connection that counts what it reads. */
    counted() {
      const hostTables = { tables: SQLITE_PROGRAM_TABLES, migrate: migrateProgramTables };
      const handle = openSqliteStorage({ path: where, issuer: ISSUER, hostTables });
      t.after(() => handle.close());
      const { tables } = sqliteProgramTables(handle.connection, ISSUER);
      const read = { queries: 0, events: 0 };
      const counting = new ProgramTables({
        async list(call, recordOf) {
          const rows = await tables.list(call, recordOf);
          read.queries++;
          if (call.sql.includes('grantd.events')) read.events += rows.length;
          return rows;
        },
        write: tables.write,
      });
      return { read, trail: new AuditTrail(counting, ISSUER, instance.storage) };
    },
  };
}

let made = 0;

/** Imports users, with an event for each. */
async function importUsers(
  { importedPeople }: OpenDatabase,
  count: number,
  cause: Cause,
  groups: readonly string[] = [],
) {
  for (let left = count; left > 0; left -= 500) {
    const users = Array.from({ length: Math.min(500, left) }, () => {
      const name = `user-${++made}`;
      return {
        ...{ name, subject: `sub-${name}`, passwordHash: '', claims: {}, groups, importDigest: 'd' },
        ...{ links: [], mayLookAlike: false },
      };
    });
    await within(cause, () => importedPeople.add(users, 'import'));
  }
}

/** An event of a user, which is in no act of another one. */
function unlock({ storage }: OpenDatabase, cause: Cause = {}) {
  const act = { type: 'person_unlocked', target: 'x', actor: 'user:x', subject: 'x' } as const;
  return within(cause, () => storage.recordAct(act));
}

const causeOf = (requestId: string, actor = 'console:root'): Cause =>
  ({ requestId, actor, address: '192.0.2.1' }) as Cause;

const shown = (acts: readonly Act[]) => acts.map((act) => `${act.requestId ?? '-'} ${countOf(act)}`);

for (const database of DATABASES) {
  describe(`acts of the audit trail on ${database.name}`, { skip: database.absence }, () => {
    test('a page of acts skips whole acts, in both directions, and reads few events', async (t) => {
      const { instance, seal, verify, counted } = await opened(t, database);
      const { auditTrail } = instance;
      const sizes = [1, 2, 60, 1, 5000, 1, 1, 2, 700, 60, 1, 2];
      for (const [at, size] of sizes.entries()) {
        await importUsers(instance, size, causeOf(`r${at}`));
        // Blocks that were sealed before are continued.
        if (at % 3 !== 0) await seal();
      }
      const expected = sizes.map((size, at) => `r${at} ${size}`).toReversed();
      const check = async () => {
        const pages: (readonly Act[])[] = [];
        const most = 3;
        for (let before: number | undefined; ; ) {
          const place = before === undefined ? undefined : { at: before, isBefore: false };
          const { acts, hasMore } = await auditTrail.acts(place, {}, { ...ALL, most });
          pages.push(acts);
          before = acts.at(-1)?.first;
          if (!hasMore) break;
        }
        assert.deepEqual(
          pages.map(({ length }) => length),
          [3, 3, 3, 3],
        );
        assert.deepEqual(pages.flatMap(shown), expected);
        for (const [at, page] of pages.entries()) {
          const place = { at: page[0]?.last ?? 0, isBefore: true };
          const { acts, hasMore } = await auditTrail.acts(place, {}, { ...ALL, most });
          assert.deepEqual(shown(acts), shown(pages[at - 1] ?? []));
          assert.equal(hasMore, at > 1);
        }
      };
      await check();
      await seal();
      await check();
      assert.deepEqual((await verify()).problems, []);
      if (database.name !== 'SQLite') return;
      const { read, trail } = counted();
      assert.deepEqual(shown((await trail.acts(undefined, {}, { ...ALL, most: 50 })).acts), expected);
      assert.ok(read.events <= 2 * 512 * 3 && read.queries <= 20, JSON.stringify(read));
    });

    test('only neighbours of one request, actor and address are one act', async (t) => {
      const { instance, seal } = await opened(t, database);
      const mine = causeOf('r');
      for (const cause of [
        ...[mine, mine, causeOf('other'), mine, causeOf('r', 'client:evil'), mine],
        ...[{ ...mine, address: '198.51.100.9' }, mine],
      ])
        await importUsers(instance, 40, cause);
      const expected = ['r 40', 'r 40', 'r 40', 'r 40', 'r 40', 'other 40', 'r 80'];
      const found = async () =>
        shown((await instance.auditTrail.acts(undefined, {}, { ...ALL, most: 100 })).acts);
      assert.deepEqual(await found(), expected);
      await seal();
      assert.deepEqual(await found(), expected, 'as blocks keep them');
      for (let at = 0; at < 2; at++) await importUsers(instance, 2, {});
      assert.deepEqual(await found(), ['- 1', '- 1', '- 1', '- 1', ...expected]);
      // Each failure is a request of its own.
      for (let at = 0; at < 5; at++) await unlock(instance, causeOf(`failed-${at}`, 'user:x'));
      const { acts } = await instance.auditTrail.acts(undefined, {}, { ...ALL, most: 5 });
      assert.deepEqual(acts.map(countOf), [1, 1, 1, 1, 1]);
    });

    test('filters leave out other events, and those that break an act', async (t) => {
      const { instance, seal } = await opened(t, database);
      for (const name of ['crew', 'admins']) await instance.groups.add({ name, description: '' }, 0);
      const before = Date.now();
      let middle = 0;
      for (let at = 0; at < 4; at++) {
        await importUsers(instance, 500, causeOf('r'), at === 2 ? ['crew', 'admins'] : ['crew']);
        if (at % 2 === 0) await unlock(instance);
        if (at > 0) continue;
        await pause(20);
        middle = Date.now();
      }
      const found = async (filter: AuditFilter) =>
        (await instance.auditTrail.acts(undefined, filter, { ...ALL, most: 10 })).acts.map(
          ({ requestId, kinds }) => [
            requestId,
            Object.fromEntries([...kinds].map(([kind, { count }]) => [kind, count])),
          ],
        );
      const whole = {
        ...{ people_imported: 2000, 'group_member_added crew': 2000 },
        'group_member_added admins': 500,
      };
      const check = async () => {
        assert.deepEqual((await found({})).length, 7);
        assert.deepEqual(await found({ operators: true, address: '192.0.2.1' }), [['r', whole]]);
        assert.deepEqual(await found({ operators: true, changes: true, sinceMs: before }), [['r', whole]]);
        assert.deepEqual(await found({ actor: 'console:root', type: 'people_imported' }), [
          ['r', { people_imported: 2000 }],
        ]);
        for (const filter of [{ address: '192.0.2.1' }, { requestId: 'r' }, { actor: 'console:root' }])
          assert.deepEqual(await found(filter), [['r', whole]]);
        const later = { ...whole, people_imported: 1500, 'group_member_added crew': 1500 };
        const earlier = { people_imported: 500, 'group_member_added crew': 500 };
        assert.deepEqual(await found({ operators: true, requestId: 'r', sinceMs: middle }), [['r', later]]);
        assert.deepEqual(await found({ operators: true, requestId: 'r', untilMs: middle }), [['r', earlier]]);
        assert.deepEqual(await found({ requestId: 'r', untilMs: before }), []);
        assert.deepEqual(await found({ requestId: 'r', actor: 'cli' }), []);
        assert.deepEqual(await found({ subject: `sub-user-${made}` }), [
          ['r', { people_imported: 1, 'group_member_added crew': 1 }],
        ]);
        for (const filter of [{ target: 'x' }, { actor: 'user:x' }])
          assert.deepEqual(await found(filter), [
            [undefined, { person_unlocked: 1 }],
            [undefined, { person_unlocked: 1 }],
          ]);
      };
      await check();
      await seal();
      await check();
    });

    test('a search that reads too much says where it goes on, and whether within an act', async (t) => {
      const { instance, seal } = await opened(t, database);
      await importUsers(instance, 3000, causeOf('r'));
      await unlock(instance, causeOf('other', 'user:x'));
      await seal();
      const read = (filter: AuditFilter, cursor?: string) => {
        const place = cursor === undefined ? undefined : readCursor(cursor);
        return readActs(instance, filter, {
          ...{ most: 50, mostRead: 40 },
          place: place && { ...place, at: Number(place.at) },
        });
      };
      for (const direction of ['next_cursor', 'previous_cursor'] as const) {
        const isNext = direction === 'next_cursor';
        const counts = new Map<string, number>();
        let parts = 0;
        for (let cursor = isNext ? undefined : cursorOf(1, true); ; parts++) {
          const page = await read({}, cursor);
          for (const act of page.items) {
            const id = act.requestId ?? '';
            counts.set(id, (counts.get(id) ?? 0) + countOf(act));
          }
          cursor = page[direction];
          const edge = page.items.at(isNext ? -1 : 0);
          assert.equal(page.continues, cursor === undefined ? undefined : edge);
          if (cursor === undefined) break;
        }
        assert.ok(parts >= 1, 'more than one page');
        // The first one is the place at which the way back begins.
        assert.deepEqual([counts.get('other'), counts.get('r')], [1, isNext ? 3000 : 2999]);
      }
      const rare = await read({ requestId: 'other' });
      assert.equal(rare.items.length, 1);
      assert.equal(rare.continues, undefined);
    });

    test('a block that an earlier version has continued is read, and a forged one is found', async (t) => {
      const { instance, seal, verify, tamper } = await opened(t, database);
      await importUsers(instance, 400, causeOf('r'));
      await unlock(instance);
      await seal();
      const found = async () =>
        shown((await instance.auditTrail.acts(undefined, {}, { ...ALL, most: 5 })).acts);
      const read = ['- 1', 'r 400'];
      assert.deepEqual(await found(), read);
      // It has left the acts as they were.
      await tamper(
        `UPDATE grantd.audit_blocks SET runs = '[["r","console:root",null,1,400,{"people_imported":[400,400]}]]'`,
      );
      assert.deepEqual(await found(), read);
      assert.deepEqual((await verify()).problems, []);
      await tamper(
        `UPDATE grantd.audit_blocks SET runs = '[["r","console:root",null,1,401,{"people_imported":[401,401]}]]'`,
      );
      assert.deepEqual(await found(), ['r 401']);
      assert.deepEqual(
        (await verify()).problems.map(({ problem }) => problem),
        ['index_changed'],
      );
      await tamper("UPDATE grantd.audit_blocks SET runs = ''");
      assert.deepEqual(await found(), read);
    });
  });
}
