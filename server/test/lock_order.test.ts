// Changes of clients, and counts of attempts, lock their rows in one order, so that no two of them wait for each other on PostgreSQL. A deadlock ends
// after a second, and is then repeated.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { disposableDatabase, sharedPostgres } from '../../core/test/harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../../core/test/harness/postgres_installation.ts';
import { Caller } from '../src/admin/caller.ts';
import { removal } from '../src/admin/client_plan.ts';
import { CLIENT_OPERATIONS } from '../src/admin/clients.ts';
import { DENIED_DOCUMENT_OPERATIONS } from '../src/admin/denied_documents.ts';
import type { AdminParts } from '../src/admin/operation.ts';
import type { Database, OpenDatabase } from '../src/data/database.ts';
import { denialsOf } from '../src/data/document_denials.ts';
import { postgresDatabase } from '../src/data/postgres_database.ts';
import { ISSUER } from './harness/program_data.ts';

const HOST = 'h.example';
const [ID, OTHER] = [`https://${HOST}/x`, `https://${HOST}/y`];
const client = (id: string) => ({
  ...{ id, grantTypes: ['authorization_code' as const], scopes: [], redirectUris: ['https://h.example/'] },
  documentValidAt: 1,
});

type Act = (open: OpenDatabase, parts: AdminParts) => Promise<unknown>;

/** Everything that locks a client or the rows around it. It may be refused, because another act came first. */
const ACTS: Readonly<Record<string, Act>> = {
  'a removal': async ({ storage }) => storage.clients.remove(ID),
  'a removal of several': async ({ storage }) => storage.clients.removeAll([OTHER, ID]),
  'a removal by a limited caller': (_, parts) =>
    CLIENT_OPERATIONS.removeClient.perform(parts, { client_id: ID }),
  'a removal by a file': async ({ storage }, parts) => {
    const before = await storage.clients.get(ID);
    if (before) await removal(parts, before).perform(() => {});
  },
  'a disabling by a limited caller': (_, parts) =>
    CLIENT_OPERATIONS.disableClient.perform(parts, { client_id: ID }),
  'a replacement of a denied document': async ({ storage, deniedDocuments }) => {
    const before = await storage.clients.get(ID);
    const replace = async () => void (await storage.clients.replace(client(ID), before ?? {}));
    await denialsOf(deniedDocuments, ISSUER).unlessDenied({ url: ID, host: HOST }, replace);
  },
  'a new client of a document': async ({ storage, deniedDocuments }) => {
    const limits = { mostRegistered: 1000, from: { place: 'p', most: 1000 } };
    const add = async () => void (await storage.clients.add(client(OTHER), limits));
    await denialsOf(deniedDocuments, ISSUER).unlessDenied({ url: OTHER, host: HOST }, add);
  },
  'a denial': (_, parts) => DENIED_DOCUMENT_OPERATIONS.denyDocuments.perform(parts, { rule: HOST }),
};

/** Rows that another transaction holds until two acts wait. */
const HELD: Readonly<Record<string, string>> = {
  'the issuer': 'SELECT 1 FROM grantd.issuers FOR UPDATE',
  'the client': `SELECT 1 FROM grantd.clients WHERE id = '${ID}' FOR UPDATE`,
  'the denials': "SELECT 1 FROM grantd.document_denials WHERE rule = '' FOR UPDATE",
};

describe('PostgreSQL', { skip: POSTGRES_ABSENCE, timeout: 240_000 }, () => {
  let database: Database;
  let open: OpenDatabase;
  let other: Database;
  let holder: Client;
  let observer: Client;
  before(async () => {
    const url = await disposableDatabase(await sharedPostgres());
    const limits = { connections: 4, connectTimeoutMs: 5000, statementTimeoutMs: 5000 };
    database = postgresDatabase(url, { ...limits, onConnectionLost: () => {} });
    open = await database.open(ISSUER);
    other = postgresDatabase(url, { ...limits, onConnectionLost: () => {} });
    [holder, observer] = [new Client({ connectionString: url }), new Client({ connectionString: url })];
    await Promise.all([holder.connect(), observer.connect()]);
  });
  after(async () => {
    await Promise.all([holder.end(), observer.end()]);
    await Promise.all([database.close(), other.close()]);
  });

  async function count(sql: string): Promise<number> {
    const { rows } = await observer.query<{ count: string }>(sql);
    return Number(rows[0]?.count);
  }
  const waiting = () =>
    count(`SELECT count(*) FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`);
  const deadlocks = () =>
    count('SELECT deadlocks AS count FROM pg_stat_database WHERE datname = current_database()');

  /** Waits until as many transactions wait, or the act is done. */
  async function untilWaiting(transactions: number, act: Promise<unknown>): Promise<void> {
    let isDone = false;
    void act.finally(() => {
      isDone = true;
    });
    for (let looks = 0; looks < 100 && !isDone && (await waiting()) < transactions; looks++) await pause(2);
  }

  const partsOf = () => {
    const caller = Caller.ofApi('c', undefined, ['grantd:clients:write'], undefined);
    return { ...open, caller, issuer: ISSUER, clock: Date.now } as unknown as AdminParts;
  };

  test('a denial waits for a client whose addition has begun, and removes it', async () => {
    const { clients } = open.storage;
    await clients.remove(OTHER);
    // The addition has found no rule, and waits for the issuer, which a denial without clients does not need.
    await holder.query('BEGIN; SELECT 1 FROM grantd.issuers FOR NO KEY UPDATE');
    const adding = ACTS['a new client of a document']?.(open, partsOf());
    assert.ok(adding);
    await untilWaiting(1, adding);
    const denial = ACTS['a denial']?.(open, partsOf());
    assert.ok(denial);
    await untilWaiting(2, denial);
    await holder.query('COMMIT');
    await Promise.all([adding, denial]);
    assert.equal(await clients.get(OTHER), undefined);
  });

  test('no two changes of a client wait for each other', async () => {
    const { clients } = open.storage;
    const slow: string[] = [];
    const before = await deadlocks();
    for (const [first, act] of Object.entries(ACTS))
      for (const [second, other] of Object.entries(ACTS))
        for (const [held, hold] of Object.entries(HELD)) {
          await open.deniedDocuments.allow(HOST);
          await clients.remove(ID);
          await clients.add(client(ID));
          await clients.remove(OTHER);
          if (first !== 'a new client of a document' && second !== 'a new client of a document')
            await clients.add(client(OTHER));
          const parts = partsOf();
          await holder.query(`BEGIN; ${hold}`);
          const run = (one: Act) => one(open, parts).catch(() => 'refused');
          const one = run(act);
          await untilWaiting(1, one);
          const two = run(other);
          await untilWaiting(2, two);
          const begun = performance.now();
          await holder.query('COMMIT');
          await Promise.all([one, two]);
          if (performance.now() - begun > 900) slow.push(`${first}, ${second}, behind ${held}`);
        }
    // A server process reports its deadlocks within a second.
    await pause(1500);
    assert.deepEqual({ deadlocks: (await deadlocks()) - before, slow }, { deadlocks: 0, slow: [] });
  });

  test('no counts of attempts that end together wait for those of another process, or for one that begins', async () => {
    const { attempts } = await other.open(ISSUER);
    const counted = (keys: readonly string[]) =>
      keys.map((keyDigest) => ({ keyDigest, attempts: 1000, windowMs: 3_600_000 }));
    const ends = (at: typeof attempts, callers: readonly (readonly [string, ...string[]])[]) => () =>
      Promise.all(callers.map(([address, ...forgotten]) => at.endSoon({ takenBack: [address], forgotten })));
    const orders = <T>(one: T, two: T): readonly (readonly T[])[] => [
      [one, two],
      [two, one],
    ];
    const found: string[] = [];
    const before = await deadlocks();
    for (const [u, v] of orders('p', 'q') as readonly (readonly [string, string])[])
      for (const [a, b] of orders('a', 'z') as readonly (readonly [string, string])[]) {
        const [a1, a2, a3, a4] = [`${a}1`, `${a}2`, `${b}3`, `${b}4`] as const;
        const pairs: Readonly<Record<string, readonly (() => Promise<unknown>)[]>> = {
          'two that end': [
            ends(open.attempts, [
              [a1, u],
              [a3, v],
            ]),
            ends(attempts, [
              [a2, v],
              [a4, u],
            ]),
          ],
          'one that begins': [
            ends(open.attempts, [[a1, u, v]]),
            () => attempts.count(counted([a1, u, v]), Date.now()),
          ],
        };
        for (const [name, pair] of Object.entries(pairs))
          for (const held of [[u, v], [a1], [v]]) {
            for (const key of [a1, a2, a3, a4, u, v]) await attempts.count(counted([key]), Date.now());
            const list = held.map((key) => `'${key}'`).join();
            await holder.query(
              `BEGIN; SELECT 1 FROM grantd.sign_in_attempts WHERE key_digest IN (${list}) FOR UPDATE`,
            );
            const acts = [];
            for (const act of pair) {
              const done = act();
              acts.push(done);
              await untilWaiting(acts.length, done);
            }
            const begun = performance.now();
            await holder.query('COMMIT');
            await Promise.all(acts);
            if (performance.now() - begun > 900) found.push(`${name}: ${[a1, u, v]} behind ${held}`);
          }
      }
    await pause(1500);
    assert.deepEqual({ deadlocks: (await deadlocks()) - before, found }, { deadlocks: 0, found: [] });
  });
});
