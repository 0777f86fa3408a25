import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { KeyRecord } from '@grantd/core';
import { openPostgresStorage, type PostgresClient, type PostgresPool } from '@grantd/core/postgres';
import { KEYS_SQL } from '../../src/storage/postgres/keys.ts';
import { proofOf } from '../harness/dpop_proofs.ts';
import { disposableDatabase, sharedPostgres } from '../harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../harness/postgres_installation.ts';
import { PostgresStores } from '../harness/postgres_store.ts';
import type { StoreKind } from '../harness/stores.ts';
import { FUNCTION } from '../harness/transports/function.ts';
import type { TestResponse } from '../harness/transports/transport.ts';
import { openWorld, type World } from '../harness/world.ts';
import { newClient, newToken } from './samples.ts';

interface Cost {
  /** How many times a connection sends something after it has received all earlier results. */
  readonly roundTrips: number;
  readonly statements: number;
}

/** Statements that a connection sends without waiting. */
type RoundTrip = string[];

/** What a process sends now and then, whatever the requests: about the current keys and the primary. */
function isPeriodic(texts: RoundTrip): boolean {
  const [begin = '', , end] = texts;
  return texts[0] === KEYS_SQL.currentKeyId || (begin.startsWith('BEGIN') && end === 'COMMIT');
}

/** Records what is sent through a pool. */
class Recorder {
  #sent: RoundTrip[] = [];

  over({ pool }: PostgresStores): PostgresPool {
    return {
      connect: (use) => pool.connect((error, client) => use(error, client && this.#overClient(client))),
    };
  }

  async during(work: () => Promise<unknown>): Promise<Cost> {
    this.#sent = [];
    await work();
    const counted = this.#sent.filter((texts) => !isPeriodic(texts));
    // What begins a transaction is one text with several statements.
    const statements = counted.flat().flatMap((text) => text.split(';'));
    return { roundTrips: counted.length, statements: statements.length };
  }

  #overClient(client: PostgresClient): PostgresClient {
    let pending = 0;
    let last: RoundTrip = [];
    return {
      pipeline: true,
      query: (query) => {
        if (pending === 0) {
          last = [];
          this.#sent.push(last);
        }
        last.push(query.text);
        pending += 1;
        return client.query(query).finally(() => {
          pending -= 1;
        });
      },
      release: (destroy) => client.release(destroy),
      on: client.on.bind(client) as PostgresClient['on'],
      off: client.off.bind(client) as PostgresClient['off'],
    };
  }
}

/** The first request imports signing keys, and after one of them the use of the client's secret is stored. */
const REQUESTS = 4;

const isRight = ({ status, body }: TestResponse) => assert.equal(status, 200, body);

describe('requests on PostgreSQL', { skip: POSTGRES_ABSENCE, timeout: 60_000 }, () => {
  const recorder = new Recorder();
  let stores: PostgresStores;
  let place: { readonly transport: typeof FUNCTION; readonly store: StoreKind };
  before(async () => {
    stores = new PostgresStores(await disposableDatabase(await sharedPostgres()));
    const open = async (issuer: string, clock: () => number) => {
      const storage = await openPostgresStorage({
        ...{ pool: recorder.over(stores), issuer: `${issuer}/${crypto.randomUUID()}`, clock },
        ...{ connectionTimeoutMs: 30_000, statementTimeoutMs: 30_000 },
      });
      return { storage, dispose: async () => storage.close() };
    };
    place = { transport: FUNCTION, store: { name: 'PostgreSQL', open } };
  });
  after(() => stores.end());

  /** Declares what a request costs. */
  const costs = (
    what: string,
    cost: Cost,
    prepare: (world: World) => Promise<() => Promise<TestResponse>>,
  ): void => {
    test(`${what} takes ${cost.roundTrips} round trips and ${cost.statements} statements`, async (t) => {
      const world = await openWorld(t, {}, place);
      const found: Cost[] = [];
      for (let made = 0; made < REQUESTS; made++) {
        const send = await prepare(world);
        found.push(await recorder.during(async () => isRight(await send())));
      }
      assert.deepEqual(found.toSorted((one, other) => one.statements - other.statements)[0], cost);
    });
  };

  test('a process that remembers the current key knows its successor once a rotation has returned', async () => {
    const storage = await stores.open();
    const other = await stores.openAnother(storage);
    const key: KeyRecord = {
      ...{ kid: 'first', algorithm: 'RS256', status: 'current', publicJwk: { kty: 'RSA' } },
      ...{ sealedPrivateKey: 'sealed', createdAtMs: 0 },
    };
    await storage.keys.initialize([key, { ...key, kid: 'second', status: 'next' }]);
    for (const kid of ['first', 'second', 'third']) {
      assert.equal(await other.keys.currentKeyId('RS256'), kid);
      assert.equal(await storage.keys.currentKeyId('RS256'), kid);
      const following = { first: 'third', second: 'fourth', third: 'fifth' }[kid] ?? '';
      assert.ok(await storage.keys.rotate(kid, { ...key, kid: following, status: 'next' }));
    }
  });

  test('of several rotations of a token without a grant at the same time, one succeeds', async () => {
    const { clients, tokens } = await stores.open();
    await clients.add(newClient('client'));
    const presented = newToken('client', { kind: 'refresh_token' });
    await tokens.issue([presented], {});
    const rotating = Array.from({ length: 8 }, () => {
      const successor = newToken('client', { kind: 'refresh_token' });
      return tokens.rotate(presented, successor, [successor]);
    });
    const outcomes = (await Promise.all(rotating)).toSorted();
    assert.deepEqual(outcomes, ['issued', ...Array(7).fill('superseded')]);
  });

  costs('a refresh with scopes of the server alone', { roundTrips: 2, statements: 2 }, async (world) => {
    const { refresh_token } = await world.grant('alice', 'web', 'openid profile');
    return () => world.refresh(refresh_token);
  });

  costs('a refresh', { roundTrips: 3, statements: 3 }, async (world) => {
    const { refresh_token } = await world.grant();
    return () => world.refresh(refresh_token);
  });

  costs('a refresh with a DPoP proof', { roundTrips: 3, statements: 3 }, async (world) => {
    const { refresh_token } = await world.grant();
    const dpop = await proofOf(world);
    const form = { grant_type: 'refresh_token', refresh_token };
    return () => world.post('/token', form, 'web', { dpop });
  });

  costs('a code exchange', { roundTrips: 4, statements: 4 }, async (world) => {
    const code = await world.code();
    return () => world.redeem(code);
  });

  costs('a client_credentials request', { roundTrips: 3, statements: 10 }, async (world) => {
    const form = { grant_type: 'client_credentials', scope: 'read' };
    return () => world.post('/token', form, 'machine');
  });

  costs('a revocation', { roundTrips: 2, statements: 2 }, async (world) => {
    const { refresh_token } = await world.grant();
    return () => world.revoke(refresh_token);
  });

  costs('an introspection', { roundTrips: 1, statements: 1 }, async (world) => {
    const { access_token } = await world.grant();
    return () => world.introspect(access_token);
  });
});
