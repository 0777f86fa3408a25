import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { grantd, grantdPrints } from './harness/commands.ts';
import { ANY_DATABASE } from './harness/databases.ts';
import { environmentOf, Workbench } from './harness/program.ts';

interface Event {
  readonly number: number;
  readonly type: string;
  readonly target: string;
  readonly actor?: string;
}

for (const database of ANY_DATABASE) {
  describe(`events on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());

    test('each act of a command and each registration leaves an event with its actor', async () => {
      const folder = await workbench.home();
      const server = await workbench.start(folder, ['--registration', 'open']);
      const prints = (args: readonly string[], input = '') => grantdPrints(folder, args, input);
      const listed = async (...args: string[]): Promise<readonly Event[]> =>
        JSON.parse(await prints(['events', 'list', ...args, '--json']));
      const before = (await listed()).at(-1)?.number ?? 0;

      await prints(['client', 'add', 'web', '--redirect-uri', 'https://web.example/callback']);
      await prints(['client', 'update', 'web', '--name', 'Web']);
      await prints(['client', 'rotate-secret', 'web']);
      await prints(['client', 'disable', 'web']);
      await prints(['client', 'remove', 'web', '--yes']);
      await prints(['keys', 'rotate', '--algorithm', 'RS256', '--now']);
      await prints(['user', 'add', 'ada', '--password-stdin'], 'correct horse');
      const { sub } = JSON.parse(
        await prints(['user', 'update', 'ada', '--email', 'ada@x.example', '--json']),
      );
      await prints(['user', 'set-password', 'ada', '--password-stdin'], 'battery staple');
      await prints(['user', 'remove', 'ada', '--yes']);
      const registration = await fetch(`${server.url}/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ redirect_uris: ['https://own.example/callback'] }),
      });
      assert.equal(registration.status, 201);
      const { client_id, registration_client_uri, registration_access_token } = await registration.json();
      const headers = {
        authorization: `Bearer ${registration_access_token}`,
        'content-type': 'application/json',
      };
      const body = JSON.stringify({ client_id, redirect_uris: ['https://own.example/other'] });
      for (let change = 0; change < 5; change += 1)
        assert.equal((await fetch(registration_client_uri, { method: 'PUT', headers, body })).status, 200);
      assert.equal((await fetch(registration_client_uri, { method: 'DELETE', headers })).status, 204);

      const events = await listed('--after', String(before));
      const [rotated] = events.filter(({ type }) => type === 'key_rotated');
      assert.deepEqual(
        events.map(({ type, target, actor = '' }) => `${type} ${target} ${actor}`.trim()),
        [
          'client_added web cli',
          'client_changed web cli',
          'client_secret_rotated web cli',
          'client_disabled web cli',
          'client_revoked web cli',
          'client_removed web cli',
          `key_rotated ${rotated?.target} cli`,
          `person_added ${sub} cli`,
          `person_changed ${sub} cli`,
          `person_password_set ${sub} cli`,
          `subject_revoked ${sub} cli`,
          `person_removed ${sub} cli`,
          `subject_disabled ${sub} cli`,
          `client_added ${client_id} registration`,
          ...Array<string>(5).fill(`client_changed ${client_id} registration`),
          `client_revoked ${client_id} registration`,
          `client_removed ${client_id} registration`,
        ],
      );
      assert.deepEqual(
        (await listed('--type', 'client_added', '--target', client_id)).map(({ number }) => number),
        [events.at(-8)?.number],
      );
      assert.deepEqual(await listed('--after', String(events.at(-1)?.number)), []);
      assert.match(await prints(['events', 'list']), /^NUMBER +AT +TYPE +TARGET +ACTOR\n/);
      const unsure = await grantd(folder, ['events', 'list', '--after', 'yesterday']);
      assert.deepEqual([unsure.code, unsure.stdout], [2, '']);
      assert.match(unsure.stderr, /--after: expected the number of an event, got "yesterday"/);
      const unknown = await grantd(folder, ['events', 'list', '--type', 'nope']);
      assert.deepEqual([unknown.code, unknown.stdout], [2, '']);
      assert.match(unknown.stderr, /--type: expected one of client_added, .*code_issued, got "nope"/);
    });

    test('secrets rotate and drop leave events if they change the secret', async () => {
      const folder = await workbench.home();
      const isInFile = environmentOf(folder).GRANTD_SECRET === undefined;
      const prints = (...args: string[]) => grantdPrints(folder, [...args, '--json']);
      const secretEvents = async (): Promise<readonly string[]> => {
        const events: readonly Event[] = JSON.parse(await prints('events', 'list'));
        const ofSecrets = events.filter(({ type }) => type.startsWith('server_secret_'));
        return ofSecrets.map(({ type, target, actor }) => `${type} ${target} ${actor}`);
      };
      await prints('client', 'add', 'web', '--redirect-uri', 'https://web.example/callback');
      const first = JSON.parse(await prints('secrets', 'rotate'));
      if (!isInFile) return assert.deepEqual(await secretEvents(), [], 'the command only says what to set');
      const second = JSON.parse(await prints('secrets', 'rotate'));
      const refused = await grantd(folder, ['secrets', 'drop']);
      assert.equal(refused.code, 1);
      const { dropped } = JSON.parse(await prints('secrets', 'drop', '--force'));
      assert.equal(dropped.length, 2);
      assert.deepEqual(await secretEvents(), [
        `server_secret_rotated ${first.fingerprint} cli`,
        `server_secret_rotated ${second.fingerprint} cli`,
        `server_secret_dropped ${dropped[0]} cli`,
        `server_secret_dropped ${dropped[1]} cli`,
      ]);
    });
  });
}
