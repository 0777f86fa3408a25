import assert from 'node:assert/strict';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { readConfiguration } from '../src/config/configuration.ts';
import { Refused } from '../src/config/refused.ts';
import { databaseOf } from '../src/data/database_of.ts';
import { changeSecretFile, createSecretFile, readSecretFile } from '../src/data/secrets.ts';
import { openInstance } from '../src/instance/instance.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { DATABASES } from './harness/databases.ts';
import { type Environment, environmentOf, Workbench } from './harness/program.ts';
import { basic, postForm } from './harness/protocol.ts';

const ISSUER = 'https://id.example';
const CLIENTS = Array.from({ length: 200 }, (_, index) => ({
  id: `client-${index}`,
  secret: `the secret of client ${index}`,
}));

/** A row of `secrets status --json`. */
interface StatusRow {
  readonly secret: string;
  readonly use: string;
  readonly clients: readonly string[];
  readonly signing_keys: readonly string[];
  readonly pairwise_secret: boolean;
  readonly audit_trail: boolean;
}

/** Requests at a time. Otherwise, on a busy machine, the last ones would wait longer for the database than they may. */
const AT_ONCE = 20;

/** Adds the clients as rows. Every tenth has a hash of schema version 4, which does not name its server secret. */
async function addClients(folder: string): Promise<void> {
  const environment = { GRANTD_DATABASE: `sqlite:${join(folder, 'grantd-data', 'grantd.db')}` };
  const configuration = readConfiguration({}, { ...environment, ...environmentOf(folder) });
  const database = await databaseOf(configuration, {});
  try {
    const instance = await openInstance(configuration, database, ISSUER, 'cli');
    const server = await instance.server();
    for (const [index, { id, secret }] of CLIENTS.entries()) {
      const hashed = await server.operator.hashClientSecret(secret);
      await instance.storage.clients.add({
        id,
        secrets: [index % 10 === 0 ? { hash: hashed.hash } : hashed],
        grantTypes: ['client_credentials'],
        scopes: ['read'],
        redirectUris: [],
      });
    }
  } finally {
    await database.close();
  }
}

for (const database of DATABASES) {
  describe(`the server's secret on ${database.name}`, { skip: database.absence, timeout: 180_000 }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());

    test('the server’s secret is rotated and the old one dropped, and 200 clients notice nothing', async () => {
      const folder = await workbench.home();
      const isInFile = environmentOf(folder).GRANTD_SECRET === undefined;
      let secrets: Environment = {};
      const setSecret = (value: string) => {
        if (!isInFile) secrets = { GRANTD_SECRET: value };
      };
      const old = environmentOf(folder).GRANTD_SECRET ?? '';
      const start = () => workbench.start(folder, ['--issuer', ISSUER], secrets);
      const prints = (...args: string[]) => grantdPrints(folder, args, '', secrets);
      const status = async (): Promise<readonly StatusRow[]> =>
        JSON.parse(await prints('secrets', 'status', '--json'));
      /** The server signs the audit trail anew in a pass of its own, which may come after the first command. */
      const statusOfStarted = async () => {
        let rows = await status();
        while (rows.slice(1).some((row) => row.audit_trail)) rows = await status();
        return rows;
      };

      let server = await start();
      const restart = async () => {
        await server.stop();
        server = await start();
      };
      await addClients(folder);
      const web = JSON.parse(
        await prints(
          'client',
          'add',
          'web',
          '--redirect-uri',
          'https://web.example/cb',
          '--scope',
          'read',
          '--json',
        ),
      );
      await grantdPrints(folder, ['user', 'add', 'alice', '--password-stdin'], 'wonderland-42\n', secrets);
      const ofAlice = ['--client', 'web', '--user', 'alice', '--refresh', '--json'];
      const tokens = JSON.parse(await prints('token', 'issue', ...ofAlice));

      const authenticateAll = async (): Promise<readonly string[]> => {
        const authenticate = async ({ id, secret }: (typeof CLIENTS)[number]) => {
          const form = { grant_type: 'client_credentials' };
          const response = await postForm(`${server.url}/token`, form, basic(id, secret));
          const body = await response.text();
          assert.equal(response.status, 200, `${id}: ${body}`);
          return (JSON.parse(body) as { access_token: string }).access_token;
        };
        const issued: string[] = [];
        for (let first = 0; first < CLIENTS.length; first += AT_ONCE)
          issued.push(...(await Promise.all(CLIENTS.slice(first, first + AT_ONCE).map(authenticate))));
        return issued;
      };
      const isActive = async (token: string) => {
        const response = await postForm(
          `${server.url}/token/introspect`,
          { token },
          basic('client-0', 'the secret of client 0'),
        );
        return ((await response.json()) as { active: boolean }).active;
      };
      const refresh = (token: string) =>
        postForm(
          `${server.url}/token`,
          { grant_type: 'refresh_token', refresh_token: token },
          basic('web', web.client_secret),
        );

      const refused = await grantd(folder, ['secrets', 'drop'], { environment: secrets });
      assert.match(
        refused.stderr,
        /there is only one secret, and it is in use: add another with grantd secrets rotate/,
      );

      // docs/secrets.md, step 1: a new secret in front.
      const rotated = await prints('secrets', 'rotate', ...(isInFile ? [] : ['--generate', '--json']));
      if (isInFile) {
        assert.match(rotated, /now starts with the new secret [\w-]{8}; [\w-]{8} stays accepted/);
        assert.match(
          rotated,
          /Reload the server now \(SIGHUP\), or restart it. Until then, it rejects client secrets that a command creates/,
        );
      }
      const { secret: added = '' } = isInFile ? {} : JSON.parse(rotated);
      assert.equal(rotated.includes(old) && old !== '', false, 'no existing secret is printed');
      setSecret(JSON.stringify([added, old]));
      await restart();

      // Step 2: what still depends on the old one.
      const [first, second, ...others] = await statusOfStarted();
      assert.ok(first && second);
      assert.deepEqual([first.use, second.use], ['used for new values', 'accepted']);
      assert.deepEqual(
        [second.signing_keys, second.pairwise_secret],
        [[], false],
        'sealed anew by the start',
      );
      assert.equal(first.signing_keys.length > 0 && first.pairwise_secret, true);
      assert.deepEqual([second.clients.length, others[0]?.clients.length], [181, 20]);
      const early = await grantd(folder, ['secrets', 'drop'], { environment: secrets });
      assert.equal(early.code, 1);
      assert.match(early.stderr, /client-1, .* and 171 more depend on .*--force/);

      // Step 3: clients authenticate.
      const before = await authenticateAll();
      assert.equal((await refresh(tokens.refreshToken)).status, 200);
      await restart();
      const [, after, ...unknown] = await statusOfStarted();
      assert.deepEqual([after?.clients, after?.signing_keys, unknown], [[], [], []]);
      assert.match(
        await prints('secrets', 'status'),
        /^nothing depends on [\w-]{8}: you can run grantd secrets drop$/m,
      );

      // Step 4: drop the old secret.
      await prints('secrets', 'drop');
      setSecret(added);
      await restart();
      assert.deepEqual(
        (await status()).map(({ use, clients }) => [use, clients.length]),
        [['used for new values', 201]],
      );
      assert.equal((await authenticateAll()).length, 200);
      for (const token of [before[0], before[199], tokens.accessToken])
        assert.equal(await isActive(token), true);
      const again = JSON.parse(await prints('token', 'issue', ...ofAlice));
      const refreshed = await refresh(again.refreshToken);
      assert.equal(refreshed.status, 200);
      const { access_token: newest } = (await refreshed.json()) as { access_token: string };
      assert.equal(await isActive(newest), true);
      await prints('keys', 'rotate', '--now');
      assert.equal((await authenticateAll()).length, 200);
      await server.stop();
    });
  });
}

const workbench = new Workbench();
after(() => workbench.clear());

test('the secret file changes as a whole, with mode 0600, by one command at a time', () => {
  const database = join(workbench.folder(), 'changed.db');
  const [old = ''] = createSecretFile(database);
  const added = 'n'.repeat(43);
  changeSecretFile(database, (before) => [added, ...before]);
  assert.deepEqual(readSecretFile(database), [added, old]);
  assert.equal(statSync(`${database}.secret`).mode & 0o777, 0o600);

  const beside = () => changeSecretFile(database, () => [added]);
  assert.throws(
    () =>
      changeSecretFile(database, (before) => {
        assert.throws(beside, /another command is changing .*changed\.db\.secret, or was interrupted/);
        throw new Refused(`${before.length} secrets`);
      }),
    new Refused('2 secrets'),
  );
  assert.deepEqual(readSecretFile(database), [added, old], 'nothing was changed');
  beside();
  assert.deepEqual(readSecretFile(database), [added]);
});

test('a secret file with a malformed list is refused', () => {
  const database = join(workbench.folder(), 'list.db');
  for (const content of ['[]', '["short"]', `["${'s'.repeat(40)}", 7]`, '[broken', '{}']) {
    writeFileSync(`${database}.secret`, content, { mode: 0o600 });
    assert.throws(
      () => readSecretFile(database),
      /expected a secret of at least 32 characters, or a JSON array/,
    );
  }
});
