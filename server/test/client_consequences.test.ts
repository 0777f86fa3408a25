// What a change of a client would do, before it is made.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { Caller } from '../src/admin/caller.ts';
import { call, inProcess, type Versioned } from '../src/admin/in_process.ts';
import { OperationRefused } from '../src/admin/operation_refused.ts';
import type { Document, Input } from '../src/admin/table.ts';
import { localCalls, localParts } from '../src/cli/local_calls.ts';
import { tokensCounted } from '../src/console/values.ts';
import type { AdminScope } from '../src/instance/admin_access.ts';
import { textsIn } from '../src/texts/texts.ts';
import { hiddenFields, unescaped } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { startConsole } from './harness/console_server.ts';
import { DATABASES, type TestDatabase } from './harness/databases.ts';
import { Workbench } from './harness/program.ts';
import { newDatabase } from './harness/program_data.ts';

async function open(t: TestContext, database: TestDatabase) {
  const set = await startConsole({ GRANTD_CREATE: 'true' }, await newDatabase(t, database));
  t.after(() => set.close());
  const calls = localCalls({ ...set.instance.actingAs('cli'), configuration: set.configuration });
  const change = (input: Omit<Input<'updateClient'>, 'client_id'>, version?: string) =>
    calls.versioned('updateClient', { ...input, client_id: 'app' }, version) as Promise<
      Versioned<Awaited<ReturnType<typeof plan>>>
    >;
  const plan = async (input: Omit<Input<'updateClient'>, 'client_id'>) =>
    call(calls, 'updateClient', { ...input, client_id: 'app', dry_run: true });
  return { ...set, calls, change, plan };
}

for (const database of DATABASES)
  describe(`the plan of a change on ${database.name}`, { skip: database.absence }, () => {
    test('says which tokens end, as many as end then, and changes nothing', async (t) => {
      const set = await open(t, database);
      const [bob, carol] = [await set.addUser('bob'), await set.addUser('carol')];
      await call(set.calls, 'addGroup', { name: 'staff', description: '' });
      await set.instance.groups.addMember({ subject: bob.subject, group: 'staff' }, Date.now());
      await set.addClient('app');
      await set.addClient('other');
      const tokens = [await set.tokensOf('app', bob.subject), await set.tokensOf('app', carol.subject)];
      await set.tokensOf('other', carol.subject);
      const before = await call(set.calls, 'getClient', { client_id: 'app' });

      const { plan, allowed_groups: groups, warnings } = await set.plan({ allowed_groups: ['staff'] });
      assert.deepEqual([groups, warnings], [['staff'], []], 'the client as it would be');
      assert.deepEqual(plan?.changes, [{ name: 'allowed_groups', after: ['staff'] }]);
      const { tokens: count, users } = plan.ends;
      assert.deepEqual([count, users, plan.narrows.tokens, plan.has_more], [2, 1, 0, false]);
      assert.deepEqual(await call(set.calls, 'getClient', { client_id: 'app' }), before);
      for (const { access } of tokens) assert.equal(await set.isActive(access), true);

      await set.change({ allowed_groups: ['staff'] });
      assert.deepEqual(
        await Promise.all(tokens.flatMap(({ access, refresh }) => [access, refresh]).map(set.isActive)),
        [true, true, false, false],
      );
      const rest = await set.plan({ subject_type: 'pairwise', scope: 'openid' });
      assert.deepEqual(
        rest.plan?.changes.map(({ name }) => name),
        ['scope', 'subject_type'],
      );
      assert.deepEqual([rest.plan?.ends.tokens, rest.plan?.narrows.tokens], [0, 1], 'a refresh token');
      await set.change({ subject_type: 'pairwise' });
      const back = await set.plan({ subject_type: null });
      assert.deepEqual([back.plan?.ends.tokens, back.plan?.ends.users], [2, 1], 'other identifiers');
      const same = await set.plan({ subject_type: 'pairwise' });
      assert.deepEqual([same.plan?.changes, same.plan?.ends.tokens], [[], 0]);
    });

    test('is for the client as it is: with its version, a changed client is refused', async (t) => {
      const set = await open(t, database);
      await set.addClient('app');
      const { version } = await set.change({ client_name: 'Planned', dry_run: true });
      assert.equal(version, (await set.calls.versioned('getClient', { client_id: 'app' })).version);
      await set.change({ client_name: 'Meanwhile' });
      await assert.rejects(
        set.change({ client_name: 'Planned' }, version),
        (error) => error instanceof OperationRefused && error.kind === 'outdated',
      );
      assert.equal((await call(set.calls, 'getClient', { client_id: 'app' })).client_name, 'Meanwhile');
    });

    test('tells about groups only if the caller may read users', async (t) => {
      const set = await open(t, database);
      await call(set.calls, 'addGroup', { name: 'staff', description: '' });
      await set.addClient('app');
      const acting = { ...set.instance.actingAs('cli'), configuration: set.configuration };
      const plan = async (...scopes: readonly AdminScope[]) => {
        const caller = Caller.ofApi('ops', undefined, ['grantd:clients:write', ...scopes], 'admins');
        const wanted = { client_id: 'app', allowed_groups: ['staff'], dry_run: true };
        return (await call(inProcess({ ...localParts(acting), caller }), 'updateClient', wanted)).plan;
      };
      assert.equal((await plan())?.without_groups, true);
      assert.equal((await plan('grantd:users:read'))?.without_groups, undefined);
    });

    test('looks at ten thousand tokens, and says that there are more', async (t) => {
      const set = await open(t, database);
      await set.addClient('app');
      const { aliveOfClient } = set.instance.storage;
      const asked: number[] = [];
      const many = (most: number) =>
        Array.from({ length: most }, () => ({ kind: 'access_token', scopes: [], subject: 'u' }) as const);
      const storage = {
        ...set.instance.storage,
        aliveOfClient: async (id: string, most: number) => {
          asked.push(most);
          const { tokens } = await aliveOfClient(id, most);
          return { tokens: [...tokens, ...many(most)].slice(0, most), hasMore: true };
        },
      };
      const acting = { ...set.instance.actingAs('cli'), configuration: set.configuration, storage };
      const wanted = { client_id: 'app', scope: 'openid', dry_run: true };
      const { plan } = await call(localCalls(acting), 'updateClient', wanted);
      assert.deepEqual([plan?.has_more, asked.at(-1)], [true, 10_000]);
    });
  });

test('a dry run of a mass revocation says whether there can be more tokens', async (t) => {
  const set = await startConsole();
  t.after(() => set.close());
  await set.addClient('app');
  const planned = async (hasMore: boolean) => {
    const storage = { ...set.instance.storage, countAlive: async () => ({ count: 100_000, hasMore }) };
    const acting = { ...set.instance.actingAs('cli'), configuration: set.configuration, storage };
    const calls = localCalls(acting);
    const counts = await call(calls, 'countStored', { all: true });
    return [await call(calls, 'revokeAll', { client_id: 'app', dry_run: true }), counts] as const;
  };
  const [few, stored] = await planned(false);
  assert.deepEqual(few, { revoked: false, active: 100_000 });
  assert.deepEqual([stored.active_tokens, stored.has_more_tokens], [100_000, undefined]);
  const [more, storedMore] = await planned(true);
  assert.deepEqual(more, { revoked: false, active: 100_000, has_more: true });
  assert.equal(storedMore.has_more_tokens, true);
  const shown = (document: Document<'revokeAll'>) =>
    (['en', 'de'] as const).map((language) => tokensCounted(document, textsIn(language))[1]);
  assert.deepEqual(shown(few), ['100,000', '100.000']);
  assert.deepEqual(shown(more), ['at least 100,000', 'mindestens 100.000']);
});

test('a change that can end access is asked about with the numbers', async (t) => {
  const set = await startConsole();
  t.after(() => set.close());
  await set.addUser('alice', ['admins']);
  const browser = await set.browserOf('alice');
  const { subject } = await set.addUser('bob');
  await set.addClient('app');
  const { access } = await set.tokensOf('app', subject);
  const form = await browser.get(`${set.url}/console/clients?id=app&ask=edit`);
  const question = await browser.submit(form, { allowed_groups: 'admins', do: 'edit' });
  assert.match(
    unescaped(question.html),
    /<dt>Active tokens that end<\/dt><dd>2 \(users: 1, sessions: \d\)<\/dd>/,
    question.html.slice(-3000),
  );
  assert.equal(await set.isActive(access), true);
  assert.equal((await set.instance.storage.clients.get('app'))?.metadata?.allowed_groups, undefined);
});

test('a command prints the plan, and changes nothing', async (t) => {
  const workbench = new Workbench();
  t.after(() => workbench.clear());
  const folder = workbench.folder();
  await grantdPrints(folder, ['client', 'add', 'shop', '--scope', 'read']);
  await grantdPrints(folder, ['token', 'issue', '--client', 'shop']);
  const update = ['client', 'update', 'shop', '--scope', 'write', '--dry-run'];
  assert.equal(
    await grantdPrints(folder, update),
    [
      'would change shop:',
      '    scope: "read" → "write"',
      'would end 0 active tokens (grants: 0, sessions: 0, users: 0)',
      'would leave 0 refresh tokens (grants: 0, sessions: 0, users: 0) with less',
    ].join('\n'),
  );
  assert.match(await grantdPrints(folder, ['client', 'show', 'shop']), /scopes +read/);
  const same = await grantd(folder, ['client', 'update', 'shop', '--scope', 'read', '--dry-run']);
  assert.match(same.stdout, /shop would stay as it is/);
});

test('the plan of a file totals what its changes of clients end, and its button is red', async (t) => {
  const set = await startConsole();
  t.after(() => set.close());
  const calls = localCalls({ ...set.instance.actingAs('cli'), configuration: set.configuration });
  const [bob] = [await set.addUser('bob'), await set.addUser('alice', ['admins'])];
  await call(calls, 'addGroup', { name: 'staff' });
  for (const id of ['app', 'other', 'kept']) {
    await set.addClient(id);
    await set.tokensOf(id, bob.subject);
  }
  const { state } = await call(calls, 'exportState', {});
  const { clients } = state;
  const wanted = (more: object, others: object = {}) => ({
    state: { clients: { ...clients, app: { ...clients.app, ...more }, ...others } },
  });
  const numbers = async (order: object) => {
    const { document, version } = await calls.versioned('planState', order as Input<'planState'>);
    const { ends, narrows, has_more: hasMore } = document.consequences ?? assert.fail();
    return { found: [ends.tokens, ends.users, narrows.tokens, hasMore], version };
  };
  assert.deepEqual((await numbers(wanted({}))).found, [0, 0, 0, false]);
  const onlyStaff = { allowed_groups: ['staff'] };
  const planned = await numbers(wanted(onlyStaff));
  assert.deepEqual(planned.found, [2, 1, 0, false]);
  const disabled = { other: { ...clients.other, disabled: true } };
  assert.deepEqual((await numbers(wanted(onlyStaff, disabled))).found, [4, 1, 0, false], 'users count once');
  const { app: _, ...rest } = clients;
  assert.deepEqual((await numbers({ state: { clients: rest }, prune: true })).found, [2, 1, 0, false]);
  await set.tokensOf('app', bob.subject);
  assert.equal((await numbers(wanted(onlyStaff))).version, planned.version, 'new tokens change no version');

  const browser = await set.browserOf('alice');
  const form = new FormData();
  const fields = hiddenFields(await browser.get(`${set.url}/console/apply`));
  for (const [name, value] of Object.entries({ ...fields, do: 'plan' })) form.set(name, value);
  form.set('file', new Blob([JSON.stringify(wanted(onlyStaff).state)]), 'state.json');
  const sent = await browser.send(`${set.url}/console/apply`, { method: 'POST', body: form });
  const html = unescaped(await sent.text());
  assert.match(html, /can end access[\s\S]*Active tokens that end[\s\S]*4 \(users: 1,[\s\S]*id="apply-run"/);
  assert.match(html, /id="apply-run" type="submit" class="final"/);
});
