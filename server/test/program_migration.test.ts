import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { scriptOf } from '@grantd/core/internal/storage/migrations';
import { POSTGRES_MIGRATIONS, SQLITE_MIGRATIONS } from '../src/data/program_migrations.ts';
import { Browser, isConsent, signInAndConsent } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { DATABASES } from './harness/databases.ts';
import { Workbench } from './harness/program.ts';
import { authorizationUrl, newPkce } from './harness/protocol.ts';
import { databaseIn } from './harness/stored.ts';

/** Tables added since the first version; referenced ones last. */
const NEW_TABLES = [
  'upstream_sessions',
  'upstream_identities',
  'session_clients',
  'sessions',
  'consents',
  'sign_in_attempts',
  'logout_deliveries',
  'pairwise_secrets',
  'scope_texts',
  'document_denials',
  'removed_people',
  'group_members',
  'groups',
  'write_checks',
  'copied_to',
  'mails',
  'mailed_links',
  'api_requests',
  'passkeys',
  'totp_secrets',
  'recovery_codes',
  'sign_ins',
  'acting_uses',
  'personal_tokens',
  'audit_heads',
  'audit_blocks',
  'people_words',
];

/** What keeps a table of today. */
const NEW_TRIGGERS: Readonly<Record<string, readonly string[]>> = {
  SQLite: ['added', 'removed', 'changed'].map((act) => `DROP TRIGGER IF EXISTS people_words_${act}`),
  PostgreSQL: ['DROP FUNCTION IF EXISTS grantd.keep_people_words() CASCADE'],
};

/** Added to users since the first version. */
const NEW_INDEXES = [
  'people_by_name_key',
  'people_without_words',
  'people_by_verified_email',
  'people_by_directory_id',
  'people_by_claimed_email',
  'people_by_creation',
  'people_by_imported_hash',
];
const NEW_COLUMNS = [
  'name_key',
  'revision',
  'search_text',
  'import_digest',
  'verified_email',
  'directory_id',
  'held_level',
  'held_until_ms',
  'claimed_email',
];

for (const database of DATABASES) {
  describe(`a database of the program's first version on ${database.name}`, {
    skip: database.absence,
  }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());

    test('gets the tables that it lacks, and its users sign in', async () => {
      const folder = await workbench.home();
      const who = { username: 'ada', password: 'correct horse' };
      const first = await workbench.start(folder, ['--demo']);
      await grantdPrints(folder, ['user', 'add', 'ada', '--password-stdin'], who.password);
      await first.stop();
      for (const trigger of NEW_TRIGGERS[database.name] ?? []) await database.run(folder, trigger);
      for (const table of NEW_TABLES)
        await database.run(folder, `DROP TABLE IF EXISTS ${database.schema}${table}`);
      const { schema } = database;
      for (const index of NEW_INDEXES) await database.run(folder, `DROP INDEX IF EXISTS ${schema}${index}`);
      for (const column of NEW_COLUMNS)
        await database.run(folder, `ALTER TABLE ${schema}people DROP COLUMN ${column}`);
      await database.run(folder, `UPDATE ${schema}program_schema SET version = 1`);
      await database.run(
        folder,
        `INSERT INTO ${schema}people (issuer, subject, name, password_hash, claims, created_at_ms)
         SELECT issuer, 'older', 'older', password_hash, '{}', 0 FROM ${schema}people WHERE name = 'ada'`,
      );

      const server = await workbench.start(folder, ['--demo', '--port', String(first.port)]);
      for (const username of ['ada', 'older']) {
        const browser = new Browser(server.url);
        const url = authorizationUrl(server.url, newPkce());
        const callback = await signInAndConsent(browser, url, { ...who, username });
        assert.ok(callback.searchParams.has('code'));
        assert.equal(isConsent(await browser.get(url)), false);
      }
      await server.stop();
      const again = databaseIn(folder);
      assert.equal((await (await again.open(server.url)).people.list()).length, 3);
      await again.close();
    });
  });
}

/** From the version before consents were lists of entries. */
const UNIONS = 4;

for (const database of DATABASES) {
  describe(`data of an earlier version on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());

    /** Creates a database with the program's tables of that version. */
    async function earlierTables(folder: string, issuer: string) {
      const today = databaseIn(folder);
      await today.open(issuer);
      await today.close();
      const { schema } = database;
      const run = (sql: string) => database.run(folder, sql);
      for (const trigger of NEW_TRIGGERS[database.name] ?? []) await run(trigger);
      for (const table of [...NEW_TABLES, 'people', 'demo_issuers'])
        await run(`DROP TABLE IF EXISTS ${schema}${table}`);
      const all = database.name === 'SQLite' ? SQLITE_MIGRATIONS : POSTGRES_MIGRATIONS;
      for (const migration of all.slice(0, UNIONS)) await run(scriptOf(migration));
      await run(`UPDATE ${schema}program_schema SET version = ${UNIONS}`);
      return { run, schema };
    }

    test('users with look-alike names are all kept, found by their exact names, and can be renamed', async () => {
      const folder = await workbench.home();
      const issuer = 'https://id.example';
      const { run, schema } = await earlierTables(folder, issuer);
      for (const [subject, name, createdAtMs] of [
        ['first', 'Alice', 1],
        ['second', 'alice', 2],
        ['third', 'bob', 3],
      ])
        await run(`INSERT INTO ${schema}people (issuer, subject, name, password_hash, claims, created_at_ms)
          VALUES ('${issuer}', '${subject}', '${name}', 'hash', '{}', ${createdAtMs})`);

      const again = databaseIn(folder);
      const { people } = await again.open(issuer);
      assert.deepEqual(await people.keyNames(), ['alice'], 'reported at each start');
      const found = async (name: string) => (await people.byName(name))?.subject;
      assert.deepEqual(await Promise.all(['Alice', 'alice', 'ALICE', 'BOB'].map(found)), [
        ...['first', 'second', 'first', 'third'],
      ]);
      assert.equal(await people.add({ name: 'aLICE', passwordHash: '', claims: {} }), undefined);
      const second = await people.bySubject('second');
      assert.ok(second !== undefined);
      assert.equal(await people.update({ ...second, claims: { age: 7 } }), 'updated', 'the name stays');
      assert.equal(
        await people.update({ ...second, claims: { age: 8 } }),
        'changed',
        'of an earlier revision',
      );
      assert.deepEqual((await people.byName('alice'))?.claims, { age: 7 });
      assert.equal(await people.update({ ...second, revision: 1, name: 'aLICE' }), 'name_taken');
      assert.equal(await people.update({ ...second, revision: 1, name: 'alice2' }), 'updated');
      assert.deepEqual(await people.keyNames(), []);
      assert.equal(await found('alice'), 'first');
      await again.close();
    });

    test('users are found by their words, also those whom an earlier program has changed meanwhile', async () => {
      const folder = await workbench.home();
      const issuer = 'https://id.example';
      const { run, schema } = await earlierTables(folder, issuer);
      for (const subject of ['first', 'second'])
        await run(`INSERT INTO ${schema}people (issuer, subject, name, password_hash, claims, created_at_ms)
          VALUES ('${issuer}', '${subject}', '${subject}', 'hash', '{"name":"Ada Byron"}', 1)`);
      const found = async (...searches: readonly string[]) => {
        const again = databaseIn(folder);
        const { people } = await again.open(issuer);
        const all = await Promise.all(searches.map((search) => people.list({ search })));
        await again.close();
        return all.map((list) => list.map(({ name }) => name));
      };
      assert.deepEqual(await found('byron ada', 'yron'), [['first', 'second'], []]);

      // As earlier programs stored the text, with characters that would break its parts.
      await run(
        `UPDATE ${schema}people SET search_text = 'second\neve "x\\' || char(10), claims = '{"name":"Eve"}'
        WHERE subject = 'second'`.replace('char(10)', database.name === 'SQLite' ? 'char(10)' : 'chr(10)'),
      );
      assert.deepEqual(await found('eve', 'byron', 'sec'), [['second'], ['first'], ['second']]);

      const again = databaseIn(folder);
      const { people } = await again.open(issuer);
      await run(`UPDATE ${schema}people SET search_text = NULL`);
      const progress: (readonly number[])[] = [];
      await people.keyNames((...counts) => progress.push(counts));
      assert.deepEqual(progress, [[2, 2]]);
      await again.close();
    });

    test('verified addresses are found, and others are not', async () => {
      const folder = await workbench.home();
      const issuer = 'https://id.example';
      const { run, schema } = await earlierTables(folder, issuer);
      for (const [subject, claims] of Object.entries({
        verified: { email: 'Ada@Example.COM', email_verified: true },
        unverified: { email: 'ada@example.com' },
        false: { email: 'ada@example.com', email_verified: false },
        text: { email: 'ada@example.com', email_verified: 'true' },
        number: { email: 7, email_verified: true },
        none: { email_verified: true },
      }))
        await run(`INSERT INTO ${schema}people (issuer, subject, name, password_hash, claims, created_at_ms)
          VALUES ('${issuer}', '${subject}', '${subject}', 'hash', '${JSON.stringify(claims)}', 1)`);
      const again = databaseIn(folder);
      const { people } = await again.open(issuer);
      const found = await people.byVerifiedEmail('ada@example.com', 10);
      assert.deepEqual(
        found.map(({ subject }) => subject),
        ['verified'],
      );
      await again.close();
    });

    test('an old consent with APIs is asked for again, one without APIs is kept', async () => {
      const folder = await workbench.home();
      const issuer = 'https://id.example';
      const { run, schema } = await earlierTables(folder, issuer);
      const rows = [
        ['plain', 'openid profile', '', 'NULL'],
        ['empty', '', '', 'NULL'],
        ['mixed', 'read write', 'https://bank.example https://mail.example', 'NULL'],
        ['ending', 'read', 'https://bank.example', '5000'],
      ];
      for (const [client, scopes, resources, withdrawnAtMs] of rows)
        await run(`INSERT INTO ${schema}consents (issuer, subject, client_id, client_generation, scopes, resources,
          version, given_at_ms, withdrawn_at_ms)
          VALUES ('${issuer}', 'ada', '${client}', 7, '${scopes}', '${resources}', 1000, 1000, ${withdrawnAtMs})`);

      const again = databaseIn(folder);
      const { consents } = await again.open(issuer);
      const entry = { resources: [], claims: [], details: [], givenAtMs: 1000 };
      assert.deepEqual(
        (await consents.ofSubject('ada')).map(({ clientId, entries }) => [clientId, entries]),
        [
          ['empty', [{ scopes: [], ...entry }]],
          ['plain', [{ scopes: ['openid', 'profile'], ...entry }]],
        ],
      );
      assert.deepEqual(
        await consents.halfWithdrawn(6000, 10),
        [{ subject: 'ada', clientId: 'ending' }],
        'its grants still have to end',
      );
      await again.close();
    });
  });
}
