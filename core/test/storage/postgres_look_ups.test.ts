import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type AdministrableStorage, StorageFault } from '@grantd/core';
import { openPostgresStorage, type PostgresPool, type PostgresQuery } from '@grantd/core/postgres';
import { type AnyColumn, type AnyColumns, CLIENTS, TOKENS } from '../../src/storage/columns.ts';
import type { AnswerMemory } from '../../src/storage/contract.ts';
import { LOOK_UPS_SQL } from '../../src/storage/postgres/lookups.ts';
import { GENERATIONS } from '../../src/storage/statements.ts';
import { disposableDatabase, sharedPostgres } from '../harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../harness/postgres_installation.ts';
import { PostgresStores } from '../harness/postgres_store.ts';
import { faultBy } from '../harness/storage_fault.ts';
import { newClient, newToken } from './samples.ts';

const ISSUER = 'https://issuer.example';

/** Pending lookups: their records, and delays for the next ones. */
class Flights {
  /** The number of tokens and clients in each. */
  readonly sent: (readonly [tokens: number, clients: number])[] = [];
  readonly #next: ((answer: () => Promise<unknown>) => Promise<unknown>)[] = [];

  /**
   * Delays the result of the next one.
   * @returns resolves when it has arrived, with a function that releases it
   */
  hold(): Promise<() => void> {
    const answered = Promise.withResolvers<() => void>();
    this.#next.push(async (answer) => {
      const result = await answer();
      await new Promise<void>((letGo) => answered.resolve(letGo));
      return result;
    });
    return answered.promise;
  }

  failNext(error: Error): void {
    this.#next.push(() => Promise.reject(error));
  }

  over(stores: PostgresStores): PostgresPool {
    return {
      connect: (use) =>
        stores.pool.connect((error, client) => {
          if (client === undefined) return use(error, client);
          const query = (asked: PostgresQuery) => {
            const answer = () => client.query(asked);
            if (asked.text !== LOOK_UPS_SQL.find) return answer();
            const [, tokens, clients] = asked.values ?? [];
            this.sent.push([JSON.parse(String(tokens)).length, JSON.parse(String(clients)).length]);
            return this.#next.shift()?.(answer) ?? answer();
          };
          use(
            error,
            new Proxy(client, {
              get(target, name) {
                if (name === 'query') return query;
                const member: unknown = Reflect.get(target, name, target);
                return typeof member === 'function' ? member.bind(target) : member;
              },
            }),
          );
        }),
    };
  }
}

/** The error behind a rejection with a `StorageFault`. */
function causeOf(outcome: PromiseSettledResult<unknown>): unknown {
  return outcome.status === 'rejected' && outcome.reason instanceof StorageFault && outcome.reason.cause;
}

describe('look-ups on PostgreSQL', { skip: POSTGRES_ABSENCE, timeout: 60_000 }, () => {
  let stores: PostgresStores;
  let storage: AdministrableStorage;
  let flights: Flights;
  const [first, second, third] = ['first', 'second', 'third'];
  const others = Array.from({ length: 67 }, (_, index) => `other ${index}`);
  const tokens = [first, second, third, ...others].map((id) => newToken('client', { id }));

  before(async () => {
    stores = new PostgresStores(await disposableDatabase(await sharedPostgres()));
    const filling = await stores.open({ issuer: ISSUER });
    await filling.clients.add(newClient('client'));
    assert.equal(await filling.tokens.issue(tokens, {}), 'issued');
  });
  beforeEach(async () => {
    flights = new Flights();
    storage = await openPostgresStorage({ pool: flights.over(stores), issuer: ISSUER });
  });
  after(() => stores.end());

  const idOf = async (id: string) => (await storage.tokens.getByAccessToken(id))?.id;

  test('those of one turn are one statement, in which each identifier stands once', async () => {
    const found = await Promise.all([
      idOf(first),
      idOf(second),
      idOf(first),
      idOf('unknown'),
      storage.tokens.getByRefreshToken(third),
      Promise.resolve(storage.clients.get('client')).then((client) => client?.id),
      Promise.resolve(storage.clients.get('client')).then((client) => client?.id),
      storage.clients.get('unknown'),
    ]);
    assert.deepEqual(found, [first, second, first, undefined, undefined, 'client', 'client', undefined]);
    assert.deepEqual(flights.sent, [[4, 2]]);
  });

  test('those who ask for the same share a record that neither can change for the other', async () => {
    const [one, other] = await Promise.all([first, first].map((id) => storage.tokens.getByAccessToken(id)));
    const [client] = await Promise.all([storage.clients.get('client'), idOf(first)]);
    assert.equal(one, other);
    for (const record of [one, one?.scopes, one?.standing?.client, client, client?.scopes])
      assert.throws(() => Object.assign(record ?? {}, { 0: 'changed' }), TypeError);
  });

  test('one that is asked later in the same turn is part of the statement', async () => {
    const sooner = idOf(first);
    for (let step = 0; step < 20; step++) await new Promise<void>((next) => process.nextTick(next));
    assert.deepEqual(await Promise.all([sooner, idOf(second)]), [first, second]);
    assert.deepEqual(flights.sent, [[2, 0]]);
  });

  test('one that is asked alone is one statement, and so is each of another turn', async () => {
    assert.equal(await idOf(first), first);
    assert.equal(await idOf(second), second);
    assert.deepEqual(flights.sent, [
      [1, 0],
      [1, 0],
    ]);
  });

  test('identifiers are found whatever stands in them', async () => {
    const odd = 'a "quoted", {braced} \\ é 🗝 identifier';
    await storage.clients.add(newClient(odd));
    const found = await Promise.all([storage.clients.get(odd), storage.clients.get('client')]);
    assert.deepEqual(
      found.map((client) => client?.id),
      [odd, 'client'],
    );
  });

  test('no more than 64 tokens are in one flight', async () => {
    const found = await Promise.all(tokens.map(({ id }) => idOf(id)));
    assert.deepEqual(
      found,
      tokens.map(({ id }) => id),
    );
    assert.deepEqual(flights.sent, [
      [64, 0],
      [6, 0],
    ]);
  });

  test('a flight that fails rejects its own look-ups and no others', async () => {
    const lost = new Error('connection lost');
    flights.failNext(lost);
    const failing = Promise.allSettled([idOf(first), idOf(second)]);
    while (flights.sent.length === 0) await nextTurn();
    const later = Promise.all([idOf(first), idOf(third)]);
    for (const outcome of await failing) assert.equal(causeOf(outcome), lost);
    assert.deepEqual(await later, [first, third]);
  });

  test('all waiting callers are rejected if there is no connection, and later ones get one', async () => {
    const refused = new Error('connect ECONNREFUSED');
    let isDown = false;
    const pool = flights.over(stores);
    const refusing = await openPostgresStorage({
      pool: { connect: (use) => (isDown ? use(refused, undefined) : pool.connect(use)) },
      issuer: ISSUER,
    });
    isDown = true;
    const asked = tokens.map(async ({ id }) => refusing.tokens.getByAccessToken(id));
    assert.deepEqual(new Set((await Promise.allSettled(asked)).map(causeOf)), new Set([refused]));
    isDown = false;
    assert.equal((await refusing.tokens.getByAccessToken(first))?.id, first);
    assert.deepEqual(flights.sent, [[1, 0]]);
  });

  test('a revocation that has returned is seen by every later lookup, also while a batch is pending', async () => {
    const revoked = newToken('client');
    await storage.tokens.issue([revoked], {});
    const answered = flights.hold();
    const before = storage.tokens.getByAccessToken(revoked.id);
    const letGo = await answered;
    await storage.tokens.revoke({ ...revoked });
    const afterwards = await Promise.all([
      storage.tokens.getByAccessToken(revoked.id),
      storage.tokens.getByAccessToken(revoked.id),
    ]);
    for (const record of afterwards) assert.notEqual(record?.revokedAtMs, undefined);
    letGo();
    assert.equal((await before)?.revokedAtMs, undefined);
  });

  test('a result from an epoch that has ended meanwhile is not trusted: its whole batch is read again', async () => {
    const revoked = newToken('client');
    await storage.tokens.issue([revoked], {});
    const answered = flights.hold();
    const waiting = Promise.all([
      storage.tokens.getByAccessToken(revoked.id),
      storage.tokens.getByAccessToken(first),
    ]);
    const letGo = await answered;
    await storage.tokens.revoke({ ...revoked });
    await stores.pool.query('UPDATE grantd.issuers SET epoch = epoch + 1 WHERE issuer = $1', [ISSUER]);
    // Sees the new epoch, for which it gets a lease.
    assert.equal(await idOf(second), second);
    letGo();
    const [ended, alive] = await waiting;
    assert.notEqual(ended?.revokedAtMs, undefined);
    assert.equal(alive?.id, first);
    assert.deepEqual(flights.sent, [
      [2, 0],
      [1, 0],
      [2, 0],
    ]);
  });

  test('a client whose row has not changed is the same record in every flight, until it changes', async () => {
    const client = async () => storage.clients.get('client');
    const known = await client();
    assert.equal(await client(), known);
    const change = (name: string | null) =>
      stores.pool.query("UPDATE grantd.clients SET name = $1 WHERE id = 'client'", [name]);
    await change('another');
    assert.equal((await client())?.name, 'another');
    await change(null);
    assert.deepEqual(await client(), known);
    assert.deepEqual(flights.sent, Array(4).fill([0, 1]));
  });

  describe('remembered answers', () => {
    const id = 'remembered';
    const principals = { subject: 'alice', sessionId: 'laptop', grantId: 'g' };
    const NOW = 1_800_000_000_000;
    const request = { method: 'POST', url: '/', headers: {}, body: id };
    let answers: AnswerMemory;

    before(async () => {
      const filling = await stores.open({ issuer: ISSUER });
      await filling.clients.add({ ...newClient('caller'), redirectUris: [] });
      const expiresAt = NOW / 1000 + 60;
      const fields = { id, ...principals, issuedAtMs: NOW, expiresAt, keepUntil: expiresAt + 60 };
      assert.equal(await filling.tokens.issue([newToken('client', fields)], {}), 'issued');
    });
    beforeEach(() => {
      const live = { getSubjectState: undefined, applicationClaims: undefined, jwtService: undefined };
      const memory = storage.cache?.answers?.for({ ...live, previousServer: undefined, storage });
      assert.ok(memory);
      answers = memory;
    });

    const find = () => answers.find(request, () => NOW);
    const isGiven = async () => (await find())?.response !== undefined;

    /** Looks both records up, twice. @param meanwhile happens before the answer is made of them */
    async function remember(meanwhile: () => Promise<unknown> = async () => {}): Promise<void> {
      for (let time = 0; time < 2; time += 1) {
        const [record, caller] = await Promise.all([
          storage.tokens.getByAccessToken(id),
          storage.clients.get('caller'),
        ]);
        assert.ok(record && caller);
        await meanwhile();
        const { key } = (await find()) ?? assert.fail();
        const response = { status: 200, headers: {}, body: '{}' };
        answers.remember(key, { response, caller, found: { record, claims: {} }, untilMs: 2 * NOW }, NOW);
      }
    }

    /** SQL for another value of a column. */
    const CHANGED = {
      text: (column: string) => `coalesce(${column}, '') || 'x'`,
      json: (column: string) => `coalesce(${column}, '') || 'x'`,
      integer: (column: string) => `coalesce(${column}, 0) + 1`,
      flag: (column: string) => `NOT coalesce(${column}, false)`,
    };
    const changed = ({ name, type }: AnyColumn) =>
      name === 'kind' ? "'refresh_token'" : CHANGED[type as keyof typeof CHANGED](name);
    const ofTable = (table: string, row: string, columns: AnyColumns) =>
      Object.values(columns)
        .filter(({ name, unread }) => !unread && name !== 'id')
        .map((column) => [table, row, column.name, changed(column)] as const);
    const numbers = (table: string, row: string, ...names: readonly string[]) =>
      names.map((name) => [table, row, name, CHANGED.integer(name)] as const);

    test('rest on each column of the rows that a look-up reads', async () => {
      const read = [
        ...ofTable('tokens', `id = '${id}'`, TOKENS),
        ...numbers('tokens', `id = '${id}'`, ...GENERATIONS),
        ...numbers('clients', "id = 'client'", 'generation', 'raised_at_ms', 'disabled_at_ms'),
        ...['subject', 'session', 'grant'].flatMap((kind) =>
          numbers('principals', `kind = '${kind}'`, 'generation', 'raised_at_ms'),
        ),
        ...numbers('principals', "kind = 'subject'", 'disabled_at_ms'),
        ...numbers('issuers', `issuer = '${ISSUER}'`, 'not_before_ms'),
        ...ofTable('clients', "id = 'caller'", CLIENTS),
      ];
      assert.equal(read.length, 22 + 4 + 3 + 6 + 1 + 1 + 19);
      for (const [table, row, column, value] of read) {
        await remember();
        assert.equal(await isGiven(), true);
        const set = async (to: string) => {
          const { rowCount } = await stores.pool.query(
            `UPDATE grantd.${table} SET ${column} = ${to} WHERE ${row}`,
          );
          assert.equal(rowCount, 1, `${table}.${column}`);
        };
        const { rows } = await stores.pool.query(`SELECT ${column} AS was FROM grantd.${table} WHERE ${row}`);
        const { was } = rows[0];
        await set(value);
        assert.equal(await isGiven(), false, `${table}.${column}`);
        await set(was === null ? 'NULL' : `'${was}'`);
      }
    });

    test('end with the row of the token, and with that of the caller', async () => {
      for (const [table, row] of [
        ['tokens', id],
        ['clients', 'caller'],
      ] as const) {
        await remember();
        assert.equal(await isGiven(), true);
        const rename = (from: string, to: string) =>
          stores.pool.query(`UPDATE grantd.${table} SET id = $2 WHERE id = $1`, [from, to]);
        await rename(row, 'elsewhere');
        assert.equal(await isGiven(), false, table);
        await rename('elsewhere', row);
      }
    });

    test('are not kept if their caller has changed meanwhile', async () => {
      const change = (name: string | null) =>
        stores.pool.query("UPDATE grantd.clients SET name = $1 WHERE id = 'caller'", [name]);
      await remember(async () => {
        await change(crypto.randomUUID());
        await storage.clients.get('caller');
      });
      assert.equal(await isGiven(), false);
      await change(null);
    });

    test('take one flight, and none is given if that fails', async () => {
      await remember();
      flights.sent.length = 0;
      assert.equal(await isGiven(), true);
      assert.deepEqual(flights.sent, [[1, 1]]);
      flights.failNext(new Error('connection lost'));
      await assert.rejects(find(), faultBy(/connection lost/));
      assert.equal(await isGiven(), true);
    });
  });
});
