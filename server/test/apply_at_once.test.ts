// Two files of `grantd apply` at the same time, and what one has done when it stops.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, type TestContext, test } from 'node:test';
import { StorageFault } from '@grantd/core';
import { Caller } from '../src/admin/caller.ts';
import { readDesiredState } from '../src/admin/desired_state.ts';
import type { OperationParts } from '../src/admin/operation.ts';
import { performPlan, planFor } from '../src/admin/state_plan.ts';
import { localParts } from '../src/cli/local_calls.ts';
import { readConfiguration } from '../src/config/configuration.ts';
import { databaseOf } from '../src/data/database_of.ts';
import { ADMIN_SCOPES } from '../src/instance/admin_access.ts';
import { openInstance } from '../src/instance/instance.ts';
import { grantdPrints } from './harness/commands.ts';
import { DATABASES } from './harness/databases.ts';
import { environmentOf, grantd, type RunningServer, Workbench } from './harness/program.ts';
import { basic, postForm } from './harness/protocol.ts';

const ISSUER = 'http://localhost:4000';
const ADMINS = ['--admin-group', 'admins'];
const ROUNDS = 5;

for (const database of DATABASES) {
  describe(`two files at once on ${database.name}`, { skip: database.absence, timeout: 180_000 }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());

    async function newHome(): Promise<string> {
      const folder = await workbench.home();
      await grantdPrints(folder, ['group', 'add', 'admins', '--issuer', ISSUER]);
      for (const name of ['one', 'two'])
        await grantdPrints(folder, ['user', 'add', name, '--password-stdin'], 'wonderland-42\n');
      await bothAgain(folder);
      for (const name of ['one', 'two'])
        writeFileSync(join(folder, `${name}.json`), JSON.stringify(fileWith(name)));
      return folder;
    }
    const fileWith = (...members: readonly string[]) => ({ groups: { admins: { members } } });
    const admins = async (folder: string): Promise<readonly string[]> => {
      const listed = await grantdPrints(folder, ['user', 'list', '--group', 'admins', '--json']);
      return JSON.parse(listed).map((one: { name: string }) => one.name);
    };
    const bothAgain = (folder: string) =>
      grantdPrints(folder, ['group', 'add-member', 'admins', 'one', 'two']);

    /** What a process of the program works on. */
    async function openParts(t: TestContext, folder: string): Promise<OperationParts> {
      const environment = {
        GRANTD_DATABASE: `sqlite:${join(folder, 'grantd-data', 'grantd.db')}`,
        ...environmentOf(folder),
        GRANTD_ADMIN_GROUP: 'admins',
      };
      const configuration = readConfiguration({}, environment);
      const opened = await databaseOf(configuration, {});
      t.after(() => opened.close());
      const instance = await openInstance(configuration, opened, ISSUER, 'cli');
      return { ...instance, configuration };
    }

    for (const keepsAdministrator of [true, false])
      test(`that each leave another administrator leave one of them, ${keepsAdministrator ? 'through the admin API' : 'by commands'}`, async (t) => {
        const folder = await newHome();
        const processes = [await openParts(t, folder), await openParts(t, folder)];
        for (let round = 0; round < ROUNDS; round++) {
          const plans = await Promise.all(
            processes.map(async (parts, at) => {
              const read = readDesiredState(fileWith(at === 0 ? 'one' : 'two'));
              assert.ok('state' in read);
              const { adminGroup } = parts.configuration.settings;
              const local = localParts(parts);
              const caller = keepsAdministrator ? Caller.ofConsole('nobody', adminGroup ?? '') : local.caller;
              const planning = { prune: true, secrets: new Map() };
              const plan = await planFor({ ...local, caller }, read.state, planning);
              assert.ok('changes' in plan);
              return plan;
            }),
          );
          const outcomes = await Promise.allSettled(plans.map((plan) => performPlan(plan, () => {})));
          assert.equal((await admins(folder)).length, 1);
          const reasons = outcomes.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
          assert.equal(reasons.length, 1);
          assert.match(String(reasons[0]), /is the last administrator who can sign in/);
          await bothAgain(folder);
        }
      });

    test('of which one stops half-way say what was applied, and the next plan has the rest', async (t) => {
      const folder = await newHome();
      const parts = await openParts(t, folder);
      const read = readDesiredState({
        groups: { early: {}, stopped: { members: ['one', 'two'] }, late: {} },
        scope_texts: { phone: { name: 'See your phone number' } },
      });
      assert.ok('state' in read);
      const plan = async (groups = parts.groups) => {
        const planning = { prune: false, secrets: new Map() };
        const planned = await planFor({ ...localParts(parts), groups }, read.state, planning);
        assert.ok('changes' in planned);
        return planned;
      };
      let added = 0;
      const stopped = await plan({
        ...parts.groups,
        addMember(...given) {
          added += 1;
          if (added === 1) return parts.groups.addMember(...given);
          throw new StorageFault(new Error('the connection is lost'));
        },
      });
      await assert.rejects(
        performPlan(stopped, () => {}),
        {
          name: 'Refused',
          message:
            'storage is unavailable. Applied before: add group early. Failed, and perhaps applied in part: add group stopped. Not applied: add group late, add scope phone. The next plan contains what is missing.',
        },
      );
      const rest = await plan();
      assert.deepEqual(
        rest.changes.map(({ action, name, members }) => [action, name, members]),
        [
          ['change', 'stopped', [{ name: 'members added', after: ['two'] }]],
          ['add', 'late', []],
          ['add', 'phone', [{ name: 'name', after: 'See your phone number' }]],
        ],
      );
      await performPlan(rest, () => {});
      assert.deepEqual((await plan()).changes, []);
    });

    test('sent at the same time, by requests and by commands, leave an administrator', async () => {
      const folder = await newHome();
      const api = ['--issuer', ISSUER, '--admin-api', ...ADMINS];
      const servers = [await workbench.start(folder, api), await workbench.start(folder, api)] as const;
      const scopes = Object.keys(ADMIN_SCOPES).flatMap((scope) => ['--scope', scope]);
      const { client_secret: secret } = JSON.parse(
        await grantdPrints(folder, ['client', 'add', 'ops', '--api', `${ISSUER}/admin`, ...scopes, '--json']),
      );
      const form = { grant_type: 'client_credentials', resource: `${ISSUER}/admin` };
      const issued = await postForm(`${servers[0].url}/token`, form, basic('ops', secret));
      const { access_token: token } = (await issued.json()) as { access_token: string };
      const send = ({ url }: RunningServer, method: string, path: string, body?: object) =>
        fetch(`${url}/admin/${path}`, {
          method,
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'if-match': '*' },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
      const apply = (server: RunningServer, name: string) =>
        send(server, 'POST', 'state/apply', { state: fileWith(name), prune: true });
      const command = (name: string) =>
        grantd(folder, ['apply', '-f', `${name}.json`, '--prune', '--yes', ...ADMINS]);
      const [first, second] = servers;
      const pairs = {
        'two requests': () => [apply(first, 'one'), apply(second, 'two')],
        'two commands': () => [command('one'), command('two')],
        'a request and a command': () => [apply(first, 'one'), command('two')],
        'a request, and one that removes the other': () => [
          apply(first, 'one'),
          send(second, 'DELETE', 'groups/admins/members/one'),
        ],
      };
      for (const [name, pair] of Object.entries(pairs))
        for (let round = 0; round < ROUNDS; round++) {
          await Promise.all(pair());
          const left = await admins(folder);
          assert.ok(left.length > 0, `${name}: no administrator is left`);
          await bothAgain(folder);
        }
    });
  });
}
