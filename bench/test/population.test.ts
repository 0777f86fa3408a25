import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { readConfiguration } from '../../server/src/config/configuration.ts';
import { sqliteDatabase } from '../../server/src/data/sqlite_database.ts';
import { openInstance } from '../../server/src/instance/instance.ts';
import { clientOf, ISSUER } from '../population/clients.ts';
import { isCode, type PopulationOrder, TOKEN_KINDS, type TokenKind } from '../population/order.ts';
import { populate } from '../population/populate.ts';
import { exchanging } from '../works/requests.ts';

const folder = mkdtempSync(join(tmpdir(), 'grantd-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('a population has as many records as were ordered, and real tokens of each kind among them', async () => {
  const records = 402;
  const tokens = Object.fromEntries(TOKEN_KINDS.map((kind) => [kind, 3]));
  const path = await populated('each', { records, tokens });

  const rows = new DatabaseSync(path, { readOnly: true });
  const { all, expired } = rows
    .prepare(
      'SELECT count(*) AS "all", count(*) FILTER (WHERE expires_at < unixepoch() + 86400) AS expired FROM tokens',
    )
    .get() as { all: number; expired: number };
  assert.deepEqual({ all, expired }, { all: records, expired: 0 });
  rows.close();

  const database = sqliteDatabase(path);
  const instance = await openInstance(readConfiguration({}, {}), database, ISSUER, 'cli');
  const server = await instance.server();
  for (const kind of TOKEN_KINDS) {
    const distinct = new Set(tokensOf('each', kind));
    assert.equal(distinct.size, 3, kind);
    for (const token of distinct) {
      if (isCode(kind)) {
        const [request] = exchanging([token], clientOf(kind));
        assert.ok(request);
        const { status, body } = await server.token({
          ...{ method: request.method, url: request.path, body: request.body ?? '' },
          headers: {
            authorization: request.authorization ?? '',
            'content-type': 'application/x-www-form-urlencoded',
          },
        });
        assert.equal(status, 200, body);
        continue;
      }
      const { active, ...answer } = await server.introspectToken(token);
      assert.equal(active, !kind.startsWith('revoked_'), kind);
      if (active) assert.equal('client_id' in answer && answer.client_id, clientOf(kind).id);
    }
  }
  const [token = ''] = tokensOf('each', 'web_access');
  const { sub, ...claims } = await server.userInfoOf(token);
  assert.equal(typeof sub, 'string');
  assert.deepEqual(Object.keys(claims).sort(), ['email', 'email_verified', 'name', 'preferred_username']);
  await database.close();
});

test('keys of copies are spread over all that keys of real tokens can begin with', async () => {
  const path = await populated('spread', { records: 5000, tokens: {} });
  const rows = new DatabaseSync(path, { readOnly: true });
  const begins = rows.prepare('SELECT DISTINCT substr(id, 1, 1) AS first FROM tokens').all();
  assert.equal(begins.length, 64);
  rows.close();
});

test('pairs, families and grants of copies begin with the time at which they were issued, spread over a month', async () => {
  const path = await populated('timed', { records: 5000, tokens: {} });
  const rows = new DatabaseSync(path, { readOnly: true });
  const copies = rows
    .prepare(
      `SELECT issued_at_ms, pair_id, family_id, grant_id, created_at_ms FROM tokens JOIN grants USING (grant_id)
         WHERE kind = 'access_token' ORDER BY tokens.rowid`,
    )
    .all()
    .slice(1) as Record<string, number | string>[];
  rows.close();
  assert.equal(copies.length, 1249);
  for (const { issued_at_ms: issuedAtMs, created_at_ms: createdAtMs, ...ids } of copies) {
    assert.equal(createdAtMs, issuedAtMs);
    const begins = Object.values(ids).map((id) => Number.parseInt(String(id).slice(0, 8), 36));
    assert.deepEqual(begins, [issuedAtMs, issuedAtMs, issuedAtMs]);
    assert.match(String(ids.grant_id), /^[0-9a-z]{8}[A-Za-z0-9_-]{22}$/);
  }
  const times = copies.map(({ issued_at_ms: at }) => Number(at));
  assert.deepEqual(times, times.toSorted());
  const days = (Number(times.at(-1)) - Number(times[0])) / 86_400_000;
  assert.ok(days > 29.9 && days <= 30, `${days} days`);
});

test('fewer records than tokens are refused', async () => {
  await assert.rejects(populated('few', { records: 3, tokens: { web_refresh: 2 } }), /fewer than the tokens/);
});

async function populated(name: string, order: PopulationOrder): Promise<string> {
  const path = join(folder, name, 'grantd.db');
  await populate(path, order, { fileOf: (kind) => fileOf(name, kind), onProgress: () => {} });
  return path;
}

function fileOf(name: string, kind: TokenKind): string {
  return join(folder, name, `${kind}.txt`);
}

function tokensOf(name: string, kind: TokenKind): readonly string[] {
  return readFileSync(fileOf(name, kind), 'utf8').trimEnd().split('\n');
}
