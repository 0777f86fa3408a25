import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { Browser, isConsent, signInAndConsent } from './harness/browser.ts';
import { DATABASES } from './harness/databases.ts';
import { grantdPrints, Workbench } from './harness/program.ts';
import { authorizationUrl, newPkce } from './harness/protocol.ts';
import { databaseIn } from './harness/stored.ts';

/** What came with the second version, those that others refer to last. */
const NEW_TABLES = [
  'session_clients',
  'sessions',
  'consents',
  'sign_in_attempts',
  'logout_deliveries',
  'pairwise_secrets',
];

for (const database of DATABASES) {
  describe(`a database of the program's first version on ${database.name}`, {
    skip: database.absence,
  }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());

    test('gets the tables that it lacks, and its people sign in', async () => {
      const folder = await workbench.home();
      const who = { username: 'ada', password: 'correct horse' };
      const first = await workbench.start(folder, ['--demo']);
      await grantdPrints(folder, ['user', 'add', 'ada', '--password-stdin'], who.password);
      await first.stop();
      for (const table of NEW_TABLES) await database.run(folder, `DROP TABLE ${database.schema}${table}`);
      const { schema } = database;
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
