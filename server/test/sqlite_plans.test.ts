// Every statement that is made for SQLite finds its rows by an index of more columns than the issuer.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { PARAMETER, withParameters } from '@grantd/core/internal/storage/statements';
import { openSqliteStorage } from '@grantd/core/sqlite';
import type { PeopleFilter } from '../src/data/people_list.ts';

/** Why statements may read all rows of a table or of an issuer. Each text is a part of such statements. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  'reads what SQLite or the migrations keep, which is a row or two, or one per table': [
    ...['FROM sqlite_schema', 'sqlite_stat1', 'pragma_table_list'],
    ...['SELECT version FROM schema_floor', 'SELECT total(max(last_event_sequence'],
  ],
  'reads one row at an end of an index': [
    ...['(SELECT max(sequence) FROM events', 'FROM audit_blocks WHERE issuer = ? ORDER BY number'],
    ...['FROM upstream_identities WHERE issuer = ? LIMIT 1', 'FROM tokens ORDER BY rowid DESC LIMIT 1'],
    'FROM passkeys WHERE issuer = ? AND is_security_key = 0 LIMIT 1',
  ],
  'reads a page in the order of an index': ['FROM people\n     WHERE issuer = ? ORDER BY'],
  'filters a page in the order of an index': [
    ...['FROM people\n     WHERE issuer = ? AND (', 'FROM people\n     WHERE issuer = ? AND EXISTS'],
  ],
  'lists or changes everything': [
    ...['FROM clients WHERE issuer_id = ? ORDER BY id', 'FROM signing_keys WHERE issuer_id = ? ORDER BY'],
    ...['FROM scope_texts WHERE issuer = ? ORDER BY', 'FROM groups WHERE issuer = ? ORDER BY name'],
    ...['SELECT subject, sealed FROM totp_secrets', 'DELETE FROM audit_blocks WHERE issuer = ?'],
    ...['SET expires_at_ms = CASE WHEN signed_in_at_ms', 'ended_at_ms IS NULL RETURNING id, subject'],
  ],
  'counts clients that registered themselves, which have a limit': ['INSERT INTO clients'],
  sweeps: ['DELETE FROM events WHERE issuer_id = ? AND at_ms <= ?'],
  'finds rows of an earlier version, which have an index of their own': ['search_text IS NULL LIMIT'],
  'lists emails, which are kept for 30 days': ['FROM mails WHERE issuer = ? AND boxed_at_ms IS'],
};

/** Steps that read no table: values of the statement or of a parameter, or what a subquery has found. */
const READS_NO_TABLE =
  /^SCAN (CONSTANT ROW|\d+-ROW VALUES CLAUSE|json_each VIRTUAL TABLE|\(subquery-\d+\)|due$)/;

const folder = mkdtempSync(join(tmpdir(), 'grantd-plans-'));
const DATA = join(import.meta.dirname, '..', 'src', 'data');
const issuer = 'https://id.example';

const made = new Set<string>();

/** Notes each statement of the program when it is made, and each that is prepared, before any module makes one. */
function noteStatements(): () => void {
  const { prepare } = DatabaseSync.prototype;
  const matchAll = RegExp.prototype[Symbol.matchAll];
  DatabaseSync.prototype.prepare = function (sql, ...options) {
    made.add(sql);
    return prepare.call(this, sql, ...options);
  };
  RegExp.prototype[Symbol.matchAll] = function (text) {
    if (this.source === PARAMETER.source) made.add(text);
    return matchAll.call(this, text);
  };
  return () => {
    DatabaseSync.prototype.prepare = prepare;
    RegExp.prototype[Symbol.matchAll] = matchAll;
  };
}

/** Statements that depend on their values, by their files. */
async function makeDynamicStatements(): Promise<readonly string[]> {
  const { ProgramTables } = await import('../src/data/tables.ts');
  const { programData } = await import('../src/data/program_data.ts');
  const conditions = await import('../src/data/conditions.ts');
  const { LISTED_FACTORS, PEOPLE_ORDERS } = await import('../src/data/people_list.ts');
  const storage = openSqliteStorage({ path: join(folder, 'dynamic.db'), issuer });
  const tables = new ProgramTables({ list: async () => [], write: async () => [] });
  const due = new ProgramTables({ list: async (_, recordOf) => [recordOf({})], write: async () => [] });
  const data = programData(tables, issuer, storage);
  const ways = { hasPasswords: true, hasPasskeys: true, hasDirectory: true, links: ['a', 'b'] };
  const notice = { subject: 's', recipient: 'r', template: 't', language: 'en', sealed: '', queuedAtMs: 0 };
  const filters: PeopleFilter[] = [
    {},
    { search: 'a' },
    { group: 'g' },
    ...LISTED_FACTORS.map((factor) => ({ factor })),
  ];
  for (const filter of filters)
    for (const sort of PEOPLE_ORDERS)
      for (const after of [undefined, sort === 'username' ? 'a' : '1 a'])
        for (const descending of [false, true])
          for (const withActivity of [false, true])
            await data.people.list({
              ...filter,
              sort,
              descending,
              withActivity,
              limit: 51,
              ...(after && { after }),
            });
  await data.people.hasWay('s', ways);
  await data.factors.removePasskey('s', 'id', ways, notice);
  await data.upstreamIdentities.unlink('id', 's', ways, notice);
  await data.attempts.forgetNames(['a', 'b'], 's');
  await programData(due, issuer, storage)
    .logoutDeliveries.take(0, 1, { exceptClients: [], limit: 1 })
    .catch(() => {});
  conditions.staysOut(issuer, 'g', { subject: 's', ways });
  conditions.stays(issuer, 'g', { subject: 's', ways });
  const token = {
    id: 'i',
    tokenId: 't',
    subject: 's',
    name: 'n',
    resource: 'r',
    scopes: [],
    createdAtMs: 0,
    expiresAtMs: 1,
  };
  data.personalTokens.storing(issuer, token, '', { limit: 1, groups: ['g'] }, notice);
  await storage.close();
  return [
    ...['people.ts', 'people_list.ts', 'factors.ts', 'upstream_identities.ts', 'attempts.ts', 'sessions.ts'],
    ...['conditions.ts', 'personal_tokens.ts', 'mails.ts'],
  ];
}

describe('the plans of SQLite', { timeout: 60_000 }, () => {
  let files: readonly string[] = [];
  before(async () => {
    const stop = noteStatements();
    for (const name of readdirSync(DATA)) await import(join(DATA, name));
    files = await makeDynamicStatements();
    stop();
  });
  after(() => rmSync(folder, { recursive: true }));

  /** A file with all tables. */
  async function opened(name: string) {
    const { migrateProgramTables, SQLITE_PROGRAM_TABLES } = await import('../src/data/sqlite_tables.ts');
    const path = join(folder, name);
    const hostTables = { tables: SQLITE_PROGRAM_TABLES, migrate: migrateProgramTables };
    const open = () => openSqliteStorage({ path, issuer, hostTables });
    return { path, open, storage: open() };
  }

  /** Steps of plans that read all rows of a table or of an issuer, with their statements. */
  function wideStepsIn(
    database: DatabaseSync,
  ): readonly { readonly sql: string; readonly steps: readonly string[] }[] {
    const wholeKeys = new Set(
      database
        .prepare(`
          SELECT t.name FROM pragma_table_list t JOIN pragma_index_list(t.name) i
          WHERE i."unique" AND (SELECT count(*) FROM pragma_index_info(i.name)) = 1`)
        .all()
        .map(({ name }) => String(name)),
    );
    return [...made].flatMap((shared) => {
      const sql = withParameters(shared.replaceAll('grantd.', '').trim(), () => '?');
      if (/^PRAGMA |clock_timestamp|space_probe/.test(sql)) return [];
      const steps = database
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all()
        .map(({ detail }) => String(detail))
        .filter((step) => {
          if (step.startsWith('SCAN')) return !READS_NO_TABLE.test(step);
          const [, table = '', ofIssuer] =
            /^SEARCH (\w+) .*?(\(issuer(?:_id)?=\?\))?(?: LEFT-JOIN)?$/.exec(step) ?? [];
          return ofIssuer !== undefined && !wholeKeys.has(table);
        });
      return steps.length === 0 ? [] : [{ sql, steps }];
    });
  }

  const reasonFor = (sql: string) =>
    Object.keys(ALLOWED).find((reason) => ALLOWED[reason]?.some((part) => sql.includes(part)));

  test('every statement finds its rows by more than the issuer, or has a reason', async () => {
    const { storage } = await opened('plans.db');
    assert.ok(made.size > 400, `${made.size} statements`);
    const wide = wideStepsIn(storage.connection.database);
    const unexplained = wide.filter(({ sql }) => reasonFor(sql) === undefined);
    assert.deepEqual(unexplained, []);
    const parts = Object.values(ALLOWED).flat();
    const unused = parts.filter((part) => !wide.some(({ sql }) => sql.includes(part)));
    assert.deepEqual(unused, [], 'exceptions that no statement needs');
    await storage.close();
  });

  test('every file that makes statements from values is among the checked ones', () => {
    const found = readdirSync(DATA).filter(
      (name) =>
        name !== 'tables.ts' && /\bdynamicCall\(|\.dynamic\(/.test(readFileSync(join(DATA, name), 'utf8')),
    );
    assert.deepEqual(found.sort(), files.toSorted());
  });
});
