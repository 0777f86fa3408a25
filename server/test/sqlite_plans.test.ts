// Every statement that is made for SQLite finds its rows by an index of more columns than the issuer.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { withParameters } from '@grantd/core/internal/storage/statements';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { migrateProgramTables, SQLITE_PROGRAM_TABLES } from '../src/data/sqlite_tables.ts';
import type { MadeStatements } from './harness/made_statements.ts';

/** Why statements may read all rows of a table or of an issuer. Each text is a part of such statements. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  'reads what SQLite or the migrations keep, which is a row or two, or one per table': [
    ...['FROM sqlite_schema', 'sqlite_stat1', 'pragma_table_list'],
    ...['SELECT version FROM schema_floor', 'SELECT total(max(last_event_sequence'],
  ],
  'reads one row at an end of an index': [
    ...['(SELECT max(sequence) FROM events', 'FROM audit_blocks WHERE issuer = ? ORDER BY number'],
    ...['FROM upstream_identities WHERE issuer = ? LIMIT 1', 'FROM tokens ORDER BY rowid DESC LIMIT 1'],
  ],
  'reads a page in the order of an index': [
    ...['FROM people WHERE issuer = ? ORDER BY', 'FROM people\n       WHERE issuer = ? ORDER BY'],
    ...['SELECT subject FROM totp_secrets WHERE issuer = ? LIMIT', 'AND boxed_at_ms IS NULL\n    ORDER BY'],
    'SELECT DISTINCT subject FROM sign_in_attempts',
    'AND failed_at_ms IS NOT NULL\n    ORDER BY',
  ],
  'exports users of a group or with a factor': ['FROM people WHERE issuer = ? AND '],
  'lists or changes everything': [
    ...['FROM clients WHERE issuer_id = ? ORDER BY id', 'FROM signing_keys WHERE issuer_id = ? ORDER BY'],
    ...[
      "FROM document_denials WHERE issuer = ? AND rule <> ''",
      'FROM scope_texts WHERE issuer = ? ORDER BY',
    ],
    ...['FROM groups WHERE issuer = ? ORDER BY name'],
    ...['SELECT subject, sealed FROM totp_secrets', 'DELETE FROM audit_blocks WHERE issuer = ?'],
    'ended_at_ms IS NULL RETURNING id, subject',
  ],
  'counts clients that registered themselves, which have a limit': ['INSERT INTO clients'],
  sweeps: ['DELETE FROM events WHERE issuer_id = ? AND at_ms <= ?'],
  'finds rows of an earlier version, which have an index of their own': [
    "coalesce(substr(search_text, 1, 1), '') <> '\n'",
  ],
};

/**
 * Steps that read no table: values of the statement or of a parameter, or what a subquery has found. Nor does a scan of
 * what a step `CO-ROUTINE` names.
 */
const READS_NO_TABLE =
  /^SCAN (CONSTANT ROW|\d+-ROW VALUES CLAUSE|json_each VIRTUAL TABLE|\(subquery-\d+\)|due$)/;

const folder = mkdtempSync(join(tmpdir(), 'grantd-plans-'));
const DATA = join(import.meta.dirname, '..', 'src', 'data');
const issuer = 'https://id.example';

describe('the plans of SQLite', { timeout: 60_000 }, () => {
  let made: MadeStatements['made'] = [];
  let files: MadeStatements['files'] = [];
  before(async () => {
    const [statements] = await once(
      new Worker(join(import.meta.dirname, 'harness', 'made_statements.ts')),
      'message',
    );
    ({ made, files } = statements as MadeStatements);
  });
  after(() => rmSync(folder, { recursive: true }));

  /** A file with all tables. */
  async function opened(name: string) {
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
    return made.flatMap((shared) => {
      const sql = withParameters(shared.replaceAll(/grantd\.| COLLATE "C"/g, '').trim(), () => '?');
      if (/^PRAGMA |clock_timestamp|space_probe/.test(sql)) return [];
      const steps = database
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all()
        .map(({ detail }) => String(detail))
        .filter((step, _, all) => {
          if (step.startsWith('SCAN'))
            return !READS_NO_TABLE.test(step) && !all.includes(step.replace('SCAN', 'CO-ROUTINE'));
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
    assert.ok(made.length > 400, `${made.length} statements`);
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
