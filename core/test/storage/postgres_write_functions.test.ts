import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { AdministrableStorage, KeyRecord, NewToken } from '@grantd/core';
import type { PostgresClient, PostgresPool } from '@grantd/core/postgres';
import { postgresDefinitions, TOKENS } from '../../src/storage/columns.ts';
import { scriptOf } from '../../src/storage/migrations.ts';
import { FUNCTIONS, STORE_TABLES } from '../../src/storage/postgres/schema.ts';
import { disposableDatabase, sharedPostgres } from '../harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../harness/postgres_installation.ts';
import { ask } from '../harness/postgres_server.ts';
import { PostgresStores } from '../harness/postgres_store.ts';
import { faultBy } from '../harness/storage_fault.ts';
import { newClient, newCode, newToken } from './samples.ts';

/** A program of an earlier release calls the functions of its own version, so their text may not change. */
const RELEASED = { 12: '9290971a39ebdefc' };

/** What a role may do at run time if another one migrates. */
const RIGHTS = (role: string) => `
  GRANT USAGE ON SCHEMA grantd TO ${role};
  GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA grantd TO ${role};`;

describe('functions that write tokens on PostgreSQL', { skip: POSTGRES_ABSENCE, timeout: 120_000 }, () => {
  let url: string;
  let stores: PostgresStores;
  let storage: AdministrableStorage;
  before(async () => {
    url = await disposableDatabase(await sharedPostgres());
    stores = new PostgresStores(url);
    storage = await stores.open();
    await storage.clients.add(newClient('client'));
  });
  after(() => stores.end());

  const refreshToken = (fields: Partial<NewToken> = {}) =>
    newToken('client', { kind: 'refresh_token', subject: 'alice', grantId: crypto.randomUUID(), ...fields });
  const issued = async (token = refreshToken()) => {
    assert.equal(await storage.tokens.issue([token], {}), 'issued');
    return token;
  };

  /** The same store through connections with other settings of the session. */
  const withSettings = async (settings: string, use: (other: AdministrableStorage) => Promise<void>) => {
    const others = new PostgresStores(url, { options: settings });
    try {
      await use(await others.open({ issuer: stores.issuerOf(storage) }));
    } finally {
      await others.end();
    }
  };

  test('a released function stays as it is', () => {
    const [text = ''] = STORE_TABLES.migrations.slice(11, 12).map(scriptOf);
    assert.equal(createHash('sha256').update(text).digest('hex').slice(0, 16), RELEASED[12]);
  });

  test('the functions in use store every column of a token', () => {
    const [text = ''] = STORE_TABLES.migrations.slice(FUNCTIONS - 1, FUNCTIONS).map(scriptOf);
    const [, stored = ''] = /json_to_recordset\(p_tokens\) AS n \((.*?)\)/s.exec(text) ?? [];
    const columns = (list: string) => list.split(',').map((each) => each.trim());
    assert.deepEqual(columns(stored).toSorted(), columns(postgresDefinitions(TOKENS)).toSorted());
  });

  for (const setting of [
    'default_transaction_isolation=serializable',
    'default_transaction_isolation=repeatable\\ read',
    'default_transaction_read_only=on',
  ]) {
    test(`every outcome is the same with ${setting}`, async () => {
      await withSettings(`-c ${setting}`, async ({ tokens, authorizationCodes }) => {
        const presented = await issued();
        const rotating = Array.from({ length: 6 }, () => {
          const successor = refreshToken({ grantId: presented.grantId ?? '' });
          return tokens.rotate(presented, successor, [successor]);
        });
        const outcomes = (await Promise.all(rotating)).toSorted();
        assert.deepEqual(outcomes, ['issued', ...Array(5).fill('superseded')]);

        const code = newCode('client', crypto.randomUUID());
        await storage.authorizationCodes.issue(code, {});
        assert.equal(await authorizationCodes.redeem(code, [newToken('client')]), 'issued');
        assert.equal(await authorizationCodes.redeem(code, [newToken('client')]), 'already_redeemed');

        const revoked = await issued();
        await tokens.revoke(revoked);
        assert.equal(
          await tokens.rotate(revoked, revoked, [refreshToken({ grantId: revoked.grantId ?? '' })]),
          'refused',
        );
      });
    });
  }

  test('a write that fails when it commits is rejected and leaves nothing', async (t) => {
    const presented = await issued();
    await stores.pool.query(`
      CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'refused at the end'; END $$;
      CREATE CONSTRAINT TRIGGER refuse AFTER INSERT OR UPDATE ON grantd.tokens
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.refuse();`);
    t.after(() => stores.pool.query('DROP FUNCTION IF EXISTS public.refuse() CASCADE'));
    const successor = refreshToken({ grantId: presented.grantId ?? '' });
    const byEnd = faultBy(/refused at the end/);
    await assert.rejects(async () => storage.tokens.rotate(presented, successor, [successor]), byEnd);
    await assert.rejects(async () => storage.tokens.revoke(presented), byEnd);
    await stores.pool.query('DROP FUNCTION public.refuse() CASCADE');
    assert.equal(await storage.tokens.getByRefreshToken(successor.id), undefined);
    const { supersededAtMs, revokedAtMs } = (await storage.tokens.getByRefreshToken(presented.id)) ?? {};
    assert.deepEqual([supersededAtMs, revokedAtMs], [undefined, undefined]);
    assert.equal(await storage.tokens.rotate(presented, successor, [successor]), 'issued');
  });

  test('the condition of a host applies to its own caller only', async () => {
    let condition: string | undefined;
    const other = await stores.openAnother(storage, { hostCondition: () => condition });
    const presented = await issued();
    const successor = refreshToken({ grantId: presented.grantId ?? '' });
    condition = 'SELECT 1 / 0';
    const failing = [
      async () => other.tokens.rotate(presented, successor, [successor]),
      async () => other.tokens.revoke(presented),
    ].map((attempt) => assert.rejects(attempt, faultBy(/division by zero/)));
    condition = undefined;
    await Promise.all([...failing, issued()]);
    assert.equal((await storage.tokens.getByRefreshToken(presented.id))?.revokedAtMs, undefined);
    assert.equal(await other.tokens.rotate(presented, successor, [successor]), 'issued');
  });

  test('a lease is renewed without the condition of a host', async () => {
    let condition: string | undefined;
    const other = await stores.openAnother(storage, { hostCondition: () => condition });
    await stores.pool.query('UPDATE grantd.issuers SET epoch = epoch + 1');
    condition = 'SELECT 1 / 0';
    assert.equal((await other.clients.get('client'))?.id, 'client');
  });

  test('without statistics, none of them looks at all tokens for each grant', async () => {
    const fresh = new PostgresStores(await disposableDatabase(await sharedPostgres()));
    const read: number[] = [];
    const rowsRead = async (client: Pick<PostgresClient, 'query'>) => {
      const text = `
        SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::integer AS read FROM pg_stat_xact_user_tables`;
      return Number((await client.query({ text })).rows.map((row) => Object(row).read)[0]);
    };
    const pool: PostgresPool = {
      connect: (use) =>
        fresh.pool.connect((error, client) => {
          if (client === undefined) return use(error, client);
          use(error, {
            async query(query) {
              if (!/grantd\.(issue_upon|redeem|revoke)_/.test(query.text)) return client.query(query);
              await client.query('BEGIN');
              const before = await rowsRead(client);
              const result = await client.query(query);
              read.push((await rowsRead(client)) - before);
              await client.query('COMMIT');
              return result;
            },
            release: (destroy) => client.release(destroy),
            on: client.on.bind(client),
            off: client.off.bind(client),
          });
        }),
    };
    try {
      const { clients, tokens, authorizationCodes } = await fresh.open({ pool });
      await clients.add(newClient('client'));
      const families = Array.from({ length: 200 }, () => {
        const ties = {
          familyId: crypto.randomUUID(),
          pairId: crypto.randomUUID(),
          grantId: crypto.randomUUID(),
        };
        const refresh = refreshToken(ties);
        return { refresh, access: newToken('client', { subject: 'alice', ...ties }) };
      });
      await tokens.issue(
        families.flatMap(({ refresh, access }) => [refresh, access]),
        {},
      );
      const code = newCode('client', crypto.randomUUID());
      await authorizationCodes.issue(code, {});
      // The sixth execution on a connection is the first with a plan that is kept.
      for (const { refresh, access } of families.slice(0, 8)) {
        const successor = refreshToken({ grantId: refresh.grantId ?? '' });
        await tokens.rotate(refresh, successor, [successor]);
        await authorizationCodes.redeem(code, [newToken('client')]);
        await tokens.revoke(access);
        await tokens.revoke(refresh);
        await tokens.revokeFamily(refresh);
      }
      assert.ok(read.length >= 40);
      // A statement may go through the tokens, or the grants, of the issuer.
      assert.deepEqual(
        read.filter((rows) => rows > 5000),
        [],
      );
    } finally {
      await fresh.end();
    }
  });

  test('a role that may create nothing can call them', async (t) => {
    const role = `runs_${randomBytes(4).toString('hex')}`;
    await ask(await sharedPostgres(), `CREATE ROLE ${role} LOGIN PASSWORD '${role}'`);
    await stores.pool.query(RIGHTS(role));
    const place = new URL(url);
    place.username = role;
    place.password = role;
    const others = new PostgresStores(place.href);
    t.after(async () => {
      await others.end();
      await stores.pool.query(`DROP OWNED BY ${role}`).catch(() => {});
    });
    const { tokens } = await others.open({ issuer: stores.issuerOf(storage) });
    const presented = await issued();
    const successor = refreshToken({ grantId: presented.grantId ?? '' });
    assert.equal(await tokens.rotate(presented, successor, [successor]), 'issued');
    await tokens.revoke(successor);
    assert.notEqual((await storage.tokens.getByRefreshToken(successor.id))?.revokedAtMs, undefined);
  });

  test('several keys that sign tokens of one refresh are kept as long as their own', async () => {
    const kid = crypto.randomUUID();
    const key: KeyRecord = {
      ...{ kid, algorithm: 'ES256', status: 'current', publicJwk: { kty: 'EC' } },
      ...{ sealedPrivateKey: 'sealed', createdAtMs: 0 },
    };
    await storage.keys.initialize([key, { ...key, kid: `${kid} 2`, algorithm: 'RS256' }]);
    const presented = await issued();
    const grantId = presented.grantId ?? '';
    const { expiresAt } = presented;
    const successor = refreshToken({ grantId, keyId: kid });
    const access = newToken('client', { grantId, keyId: `${kid} 2`, keepUntil: expiresAt + 864_000 });
    assert.equal(await storage.tokens.rotate(presented, successor, [successor, access]), 'issued');
    const { rows } = await stores.pool.query(
      'SELECT needed_until::int AS until FROM grantd.signing_keys WHERE starts_with(kid, $1) ORDER BY kid',
      [kid],
    );
    const endOfDay = (seconds: number) => Math.ceil(seconds / 86_400) * 86_400;
    assert.deepEqual(
      rows.map(({ until }) => until),
      [endOfDay(successor.keepUntil), endOfDay(access.keepUntil)],
    );
  });
});
