// One answer names all wrong values of an input, each at its field.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Schema } from '../src/admin/schema.ts';
import { type AnyOperation, OPERATIONS, type OperationId } from '../src/admin/table.ts';
import { errorsOf, pathNames } from '../src/admin/validation.ts';
import { type AdminServer, startAdmin } from './harness/admin.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { startConsole } from './harness/console_server.ts';
import { ANY_DATABASE } from './harness/databases.ts';
import { Workbench } from './harness/program.ts';

const ALL = Object.entries<AnyOperation>(OPERATIONS);

type Members = Readonly<Record<string, unknown>>;

/** The members of an operation’s body. */
function membersOf({ body }: AnyOperation): readonly (readonly [string, Schema])[] {
  const { properties = {} } = { ...body } as { readonly properties?: Readonly<Record<string, Schema>> };
  return Object.entries(properties);
}

/** A value that no schema of another kind allows. */
function wrongFor(schema: Schema): unknown {
  return [7, 'x', { x: 1 }].find((value) => errorsOf(schema, value).length > 0);
}

/** Wrong values of every member and parameter. A member that may be anything has none. */
function allWrong(operation: AnyOperation) {
  const wrong = membersOf(operation).flatMap(([name, schema]) => {
    const value = wrongFor(schema);
    return value === undefined ? [] : [[name, value] as const];
  });
  const query = Object.entries(operation.query ?? {}).flatMap(([name, { schema }]) =>
    errorsOf(schema, '').length > 0 ? [name] : [],
  );
  return { body: Object.fromEntries(wrong), query };
}

/** What does not fit what is stored, all in one input, and where the answer says so. */
const CONFLICTS: Partial<Record<OperationId, { readonly given: Members; readonly at: readonly string[] }>> = {
  addUser: {
    given: { username: 'Taken', password: 'a long enough phrase', groups: ['lost', 'admins', 'gone'] },
    at: ['/username', '/groups/0', '/groups/2'],
  },
  addClient: {
    given: {
      ...{ client_id: 'ops', redirect_uris: ['https://a.example/'], token_endpoint_auth_method: 'none' },
      ...{ allowed_groups: ['lost', 'gone'], apis: ['https://lost.example'] },
    },
    at: ['/client_id', '/allowed_groups/0', '/allowed_groups/1', '/apis/0'],
  },
  updateClient: {
    given: { allowed_groups: ['admins', 'lost'], apis: ['https://lost.example'] },
    at: ['/allowed_groups/1', '/apis/0'],
  },
  addScopeTexts: {
    given: { scope: 'read', api: 'ops', texts: { name: 'Read' } },
    at: ['/api'],
  },
};

/** What the checks of an operation refuse although it fits the schema, and where the answer says so. */
const BROKEN_RULES: Partial<
  Record<OperationId, { readonly given: Members; readonly at: readonly string[] }>
> = {
  addUser: {
    given: {
      username: 'a\tb',
      password: `$argon2id$v=19$m=8,t=1,p=1$${'a'.repeat(22)}$${'b'.repeat(43)}`,
      claims: { sub: 'x', email: 'bob', birthdate: 'today', acr: '1' },
    },
    at: ['/username', '/claims/sub', '/claims/email', '/claims/birthdate', '/claims/acr', '/password'],
  },
  updateUser: {
    given: { username: 'a\tb', claims: { sub: 'x', email: 'bob', picture: 'foo' } },
    at: ['/username', '/claims/sub', '/claims/email', '/claims/picture'],
  },
  setPassword: {
    given: { password: `$argon2id$v=19$m=8,t=1,p=1$${'a'.repeat(22)}$${'b'.repeat(43)}` },
    at: ['/password'],
  },
  addGroup: {
    given: { name: 'a,b', description: 'a\tb', sign_in_policy: 'phishing_resistant' },
    at: ['/name', '/description', '/sign_in_policy'],
  },
  updateGroup: {
    given: { description: 'a\tb', sign_in_policy: 'phishing_resistant' },
    at: ['/description', '/sign_in_policy'],
  },
  addScopeTexts: {
    given: { scope: 'a b', texts: { 'description#de': 'a\tb', 'name#de': 'a\tb' } },
    at: ['/scope', '/texts/description#de', '/texts/name#de', '/texts/name'],
  },
  updateScopeTexts: { given: { name: 'a\tb', 'name#de': 'a\tb' }, at: ['/name', '/name#de'] },
  addClient: {
    given: {
      client_id: 'a b',
      client_secret: 'ä'.repeat(10),
      redirect_uris: ['https://a.example/back', 'localhost:3000/back', 'app:/back'],
      post_logout_redirect_uris: ['localhost:3000/out'],
      jwks_uri: 'https://10.0.0.1/jwks',
      client_uri: 'no URI',
      sign_in_policy: 'phishing_resistant',
      exchange_step_up_scopes: ['pay'],
      grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
      token_endpoint_auth_method: 'none',
      insecure_allow_missing_pkce: true,
    },
    at: [
      ...['/client_id', '/client_secret', '/jwks_uri', '/redirect_uris/1', '/redirect_uris/2'],
      ...['/post_logout_redirect_uris/0', '/sign_in_policy', '/client_uri', '/grant_types'],
      ...['/exchange_step_up_scopes', '/insecure_allow_missing_pkce'],
    ],
  },
  updateClient: {
    given: {
      redirect_uris: ['localhost:3000/back'],
      jwks_uri: 'https://10.0.0.1/jwks',
      client_uri: 'no URI',
      sign_in_policy: 'phishing_resistant',
      default_max_age: 1,
      api_scopes: ['read'],
    },
    at: ['/jwks_uri', '/redirect_uris/0', '/sign_in_policy', '/client_uri', '/api_scopes'],
  },
  rotateClientSecret: { given: { client_secret: 'ä'.repeat(10) }, at: ['/client_secret'] },
  denyDocuments: { given: { rule: 'no rule', note: 'a\tb' }, at: ['/rule', '/note'] },
  testMail: { given: { address: 'nobody' }, at: ['/address'] },
  endPersonalTokens: { given: {}, at: ['/issued_before'] },
  verifyAudit: { given: {}, at: [] },
};

describe('the admin API', () => {
  let admin: AdminServer;
  before(async () => {
    // At an address without a name, there are no passkeys.
    admin = await startAdmin({ GRANTD_PASSKEYS: 'false', GRANTD_ADMIN_GROUP: 'admins' });
  });
  after(() => admin.close());

  async function answer(operation: AnyOperation, body: Members, query: readonly string[] = []) {
    const { method, path, needsVersion } = operation;
    const of = { client_id: 'ops', group: 'admins', scope: 'known' };
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => Reflect.get(of, name) ?? 'x');
    const search = new URLSearchParams(query.map((name) => [name, '']));
    const answered = await admin.send(method, `/admin${filled}?${search}`, {
      ...(needsVersion && { headers: { 'if-match': '*' } }),
      ...(operation.body !== undefined && { body }),
    });
    const errors: readonly { readonly in: string; readonly detail: string }[] = answered.body?.errors ?? [];
    return { status: answered.status, at: errors.map((error) => error.in), errors };
  }

  for (const [id, operation] of ALL) {
    const { body, query } = allWrong(operation);
    if (Object.keys(body).length + query.length < 2) continue;
    test(`names each wrong value of ${id} once`, async () => {
      const { status, at } = await answer(operation, body, query);
      const expected = [...query, ...Object.keys(body).map((name) => `/${name}`)];
      assert.equal(status, query.length > 0 ? 400 : 422);
      assert.deepEqual(at.filter((place) => expected.includes(place)).toSorted(), expected.toSorted());
    });
  }

  test('knows what the checks of each operation refuse', () => {
    const checked = ALL.filter(([, { checks, examine }]) => checks !== undefined || examine !== undefined);
    const known = new Set(Object.keys(BROKEN_RULES));
    assert.deepEqual(
      checked.map(([id]) => id).filter((id) => !known.has(id)),
      [],
    );
  });

  for (const [id, { given, at }] of Object.entries(BROKEN_RULES))
    test(`names everything that the checks of ${id} refuse, and what does not fit the schema`, async () => {
      const operation: AnyOperation = OPERATIONS[id as OperationId];
      if (id === 'updateScopeTexts')
        await admin.send('POST', '/admin/scopes', { body: { scope: 'known', texts: { name: 'Known' } } });
      const refused = await answer(operation, given);
      if (at.length > 0) assert.deepEqual([refused.status, refused.at], [422, at]);
      if (pathNames(operation).includes('scope') || operation.isBodyOptional) return;
      const both = await answer(operation, { ...given, unknown: true });
      assert.deepEqual([both.status, both.at.toSorted()], [422, ['/unknown', ...at].toSorted()]);
    });

  for (const [id, { given, at }] of Object.entries(CONFLICTS))
    test(`names everything of ${id} that does not fit what is stored, and changes nothing`, async () => {
      await admin.send('POST', '/admin/users', {
        body: { username: 'taken', password: 'a long enough phrase' },
      });
      const stored = async () => (await admin.send('GET', '/admin/clients/ops')).body;
      const before = await stored();
      const refused = await answer(OPERATIONS[id as OperationId], given);
      assert.deepEqual([refused.status, refused.at], [409, at]);
      assert.deepEqual(await stored(), before);
    });

  test('names a wrong value beside one of another depth', async () => {
    const { at } = await answer(OPERATIONS.addUser, { username: 7, invitation: { email: 7 } });
    assert.deepEqual(at, ['/username', '/invitation/email']);
  });

  test('says nothing about a member whose rule needs another one that is wrong', async () => {
    const { errors } = await answer(OPERATIONS.addClient, {
      ...{ client_id: 'job', jwks_uri: 7, token_endpoint_auth_method: 'private_key_jwt' },
    });
    assert.deepEqual(
      errors.map((error) => [error.in, error.detail]),
      [['/jwks_uri', 'expected a text']],
    );
  });
});

test('a form of the console has all problems at their fields, also beside a field that cannot be read', async (t) => {
  const set = await startConsole();
  t.after(() => set.close());
  await set.addUser('alice', ['admins']);
  const browser = await set.browserOf('alice');
  const form = await browser.get(`${set.url}/console/users?ask=add`);
  const problemsIn = (html: string) =>
    [...html.matchAll(/ id="field-([\w-]+)-problem"/g)].map(([, name]) => name);
  const typed = { username: 'a\tb', password: 'short', 'claims.email': 'bob', 'claims.birthdate': 'today' };
  const fields = ['username', 'password', 'claims-email', 'claims-birthdate'];
  for (const [claims, more] of [
    ['', []],
    ['{\n', ['claims']],
  ] as const)
    for (const language of ['en', 'de']) {
      const shown = await browser.get(`${set.url}/console/users?ask=add&ui_language=${language}`);
      const wrong = await browser.submit(shown, { do: 'add', ...typed, claims });
      assert.equal(wrong.status, 400);
      assert.deepEqual(problemsIn(wrong.html).toSorted(), [...fields, ...more].toSorted());
      assert.equal(wrong.html.match(/aria-invalid="true"/g)?.length, fields.length + more.length);
      for (const name of fields) assert.ok(wrong.html.includes(`<a href="#field-${name}">`), name);
    }
  assert.match(form.html, /id="save-add"/);
});

test('a form of the console has all conflicts at their fields, in the language of the page', async (t) => {
  const set = await startConsole();
  t.after(() => set.close());
  await set.addUser('alice', ['admins']);
  await set.addClient('taken');
  const browser = await set.browserOf('alice');
  for (const [language, group, taken] of [
    ['en', 'There is no group lost.', 'Client taken already exists'],
    ['de', 'Die Gruppe lost gibt es nicht.', 'Anwendung taken'],
  ] as const) {
    const shown = await browser.get(`${set.url}/console/clients?ask=add_spa&ui_language=${language}`);
    const typed = { client_id: 'taken', redirect_uris: 'https://a.example/', scope: 'openid' };
    const refused = await browser.submit(shown, {
      do: 'add_spa',
      ...typed,
      allowed_groups: ['lost', 'gone'],
    });
    assert.equal(refused.status, 409, refused.html);
    const problemAt = (name: string) =>
      new RegExp(`id="field-${name}-problem".*?</p>`, 's')
        .exec(refused.html)?.[0]
        .replaceAll(/<[^>]*>/g, ' ') ?? '';
    assert.ok(problemAt('allowed_groups').includes(group), refused.html);
    assert.match(problemAt('allowed_groups'), /gone/);
    assert.ok(problemAt('client_id').includes(taken), problemAt('client_id'));
  }
});

describe('commands', { skip: ANY_DATABASE[0]?.absence }, () => {
  const workbench = new Workbench();
  after(() => workbench.clear());

  test('name each wrong value by its flag, and create no database', async () => {
    const folder = workbench.folder();
    const told = async (args: readonly string[], input = '') => {
      const { code, stderr } = await grantd(folder, args, { input });
      assert.equal(code, 2, stderr);
      return stderr;
    };
    const flags = [
      '--redirect-uri',
      'localhost:1/a',
      '--client-uri',
      'x',
      '--jwks-uri',
      'https://10.0.0.1/a',
    ];
    const client = await told(['client', 'add', 'a b', ...flags]);
    assert.match(client, /^grantd: 4 values are invalid:\n {2}ID: /);
    for (const flag of ['--redirect-uri', '--client-uri', '--jwks-uri'])
      assert.equal(client.split(`\n  ${flag}: `).length, 2, client);
    const claims = ['--claim', 'birthdate=today', '--email', 'bob'];
    assert.match(
      await told(['user', 'add', 'a\tb', '--password-stdin', ...claims], 'correct horse'),
      /^grantd: 3 values are invalid:\n {2}NAME: .+\n {2}claims\.birthdate: .+\n {2}--email: .+\n$/,
    );
    assert.match(
      await told(['group', 'add', 'a,b', '--description', 'a\tb']),
      /^grantd: 2 values are invalid:\n {2}NAME: .+\n {2}--description: .+\n$/,
    );
  });

  test('name everything that does not fit what is stored, in one answer', async () => {
    const folder = await workbench.home();
    const server = await workbench.start(folder, ['--demo']);
    await server.stop();
    await grantdPrints(folder, ['client', 'add', 'taken', '--redirect-uri', 'https://a.example/']);
    const adding = ['client', 'add', 'taken', '--redirect-uri', 'https://a.example/'];
    const groups = ['--allow-group', 'lost', '--allow-group', 'gone', '--api', 'https://lost.example'];
    const { code, stderr } = await grantd(folder, [...adding, ...groups]);
    assert.deepEqual(
      [code, stderr.split('\n').map((line) => line.split(':').slice(0, 2).join(':'))],
      [
        1,
        [
          'grantd: client taken already exists',
          'grantd: there is no group lost',
          'grantd: there is no group gone',
          'grantd: no client has the resource URI https',
          '',
        ],
      ],
    );
    const wrong = { redirect_uris: 7, allowed_groups: ['lost'], apis: ['https://lost.example'] };
    writeFileSync(join(folder, 'grantd.yaml'), JSON.stringify({ clients: { app: wrong } }));
    const applied = await grantd(folder, ['apply', '-f', 'grantd.yaml', '--dry-run']);
    for (const member of ['redirect_uris', 'allowed_groups', 'apis'])
      assert.match(applied.stderr, new RegExp(`clients\\.app\\.${member}: `));
  });
});
