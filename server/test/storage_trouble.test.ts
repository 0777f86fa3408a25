// What is wrong with a database, by the errors that SQLite, PostgreSQL and the system give.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { StorageFault } from '@grantd/core';
import { storageTrouble, withoutFault } from '../src/data/storage_trouble.ts';

/** The trouble behind an error as the store passes it on. */
function troubleIn(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return storageTrouble(new StorageFault(new Error('grantd.db: advice', { cause: error })));
  }
  return 'none';
}

test('the result code of SQLite says what is wrong', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-trouble-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'grantd.db');
  const database = new DatabaseSync(path);
  database.exec('CREATE TABLE t (filler); PRAGMA max_page_count = 4');
  const fill = (to: DatabaseSync) => to.exec('INSERT INTO t VALUES (zeroblob(100000))');
  assert.equal(
    troubleIn(() => fill(database)),
    'storage_full',
  );
  const reader = new DatabaseSync(path, { readOnly: true });
  assert.equal(
    troubleIn(() => fill(reader)),
    'storage_read_only',
  );
  const other = new DatabaseSync(path, { timeout: 0 });
  database.exec('BEGIN IMMEDIATE');
  assert.equal(
    troubleIn(() => fill(other)),
    'storage_slow',
  );
  assert.equal(
    troubleIn(() => new DatabaseSync(join(folder, 'absent', 'grantd.db'))),
    'storage_unreachable',
  );
  assert.equal(
    troubleIn(() => database.exec('SELECT absent FROM t')),
    'not_ready',
  );
  for (const each of [database, reader, other]) each.close();
});

test('the SQLSTATE or the code of the system says what is wrong, and messages of the driver do', () => {
  const given = (error: object, message = '') =>
    troubleIn(() => {
      throw Object.assign(new Error(message), error);
    });
  assert.equal(given({ code: '53100' }), 'storage_full');
  assert.equal(given({ code: '25006' }), 'storage_read_only');
  assert.equal(given({ code: '57014' }), 'storage_slow');
  assert.equal(given({ code: '08006' }), 'storage_unreachable');
  assert.equal(given({ code: '57P03' }), 'storage_unreachable');
  assert.equal(given({ code: 'ECONNREFUSED' }), 'storage_unreachable');
  assert.equal(given({ code: 'ERR_SQLITE_ERROR', errcode: 1032 }), 'not_ready', 'the file was moved');
  assert.equal(given({}, 'timeout exceeded when trying to connect'), 'storage_slow');
  assert.equal(given({}, 'PostgreSQL gave no connection within 500 ms'), 'storage_slow');
  assert.equal(given({}, 'grantd.db belongs to another issuer'), 'not_ready');
  assert.equal(storageTrouble('text'), 'not_ready');
});

test('the error of the database comes out of a StorageFault', () => {
  const error = new Error('database or disk is full');
  assert.equal(withoutFault(new StorageFault(error)), error);
  assert.equal(withoutFault(error), error);
});
