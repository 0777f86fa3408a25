// Runs the kit on the storages of `three_endpoints`: hosts with the methods of the specification alone.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Storage } from '@grantd/core';
import { type KitSubject, storageKit } from '@grantd/core/kit';
import { disposableDatabase, sharedPostgres } from '../../core/test/harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../../core/test/harness/postgres_installation.ts';
import { type Application, applicationWith, PUBLIC_KEY, TABLE_FORMS, type TableForm } from './own_tables.ts';

const folder = mkdtempSync(join(tmpdir(), 'grantd-kit-'));
process.chdir(folder); // application.db
writeFileSync('public_key.pem', PUBLIC_KEY);
after(() => rmSync(folder, { recursive: true }));

for (const form of TABLE_FORMS.filter(({ isVariant }) => isVariant !== true)) {
  const isPostgres = form.file !== 'sqlite.ts';
  describe(form.title, { skip: isPostgres && POSTGRES_ABSENCE }, () => {
    let application: Application;
    let storage: Storage;
    before(async () => {
      const place = isPostgres ? await disposableDatabase(await sharedPostgres()) : folder;
      application = await applicationWith(form, place, 'http://localhost:3000');
      process.env.DATABASE_URL = place;
      ({ storage } = (await import(`../three_endpoints/${form.file}`)).server);
    });
    after(() => application.end());

    for (const { title, run } of storageKit([]))
      test(`${form.file}: ${title}`, () => run(subject(form, application, storage)));
  });
}

function subject(form: TableForm, { execute, time }: Application, storage: Storage): KitSubject<Storage> {
  let isBroken = false;
  return {
    clock: { nowMs: 0 },
    open: () => storage,
    async registerClient(_storage, { id }, secret) {
      await execute('INSERT INTO clients VALUES ($1, $2)', id, form.hash(secret));
    },
    async insertToken(_storage, { kind, key, clientId, subject = null, scopes, expiresAt, grantId }) {
      const isRevoked = form.times === 'integer' ? 0 : false;
      const [jti, refresh] = kind === 'access_token' ? [key, null] : [null, key];
      await execute(
        'INSERT INTO tokens VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)',
        ...[clientId, subject, scopes.join(' '), grantId ?? randomUUID(), isRevoked],
        ...[jti, time(expiresAt), refresh, time(expiresAt)],
      );
    },
    async breakStorage() {
      isBroken = true;
      for (const table of ['clients', 'tokens'])
        await execute(`ALTER TABLE ${table} RENAME TO moved_${table}`);
    },
    async close() {
      if (!isBroken) return;
      for (const table of ['clients', 'tokens'])
        await execute(`ALTER TABLE moved_${table} RENAME TO ${table}`);
    },
  };
}
