// Groups, clients and texts as a whole through the admin API: what `grantd apply` and `grantd export` send.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { hasResource } from '@grantd/core';
import { resourceFinder } from '../src/admin/client_plan.ts';
import { readDesiredState } from '../src/admin/desired_state.ts';
import { performPlan, planFor } from '../src/admin/state_plan.ts';
import { localParts } from '../src/cli/local_calls.ts';
import { type AdminServer, ALL_SCOPES, type Answered, AUDIENCE, startAdmin } from './harness/admin.ts';
import { basic, postForm } from './harness/protocol.ts';

let admin: AdminServer;
before(async () => {
  admin = await startAdmin({ GRANTD_ADMIN_GROUP: 'admins' });
});
after(() => admin.close());

const SECRET = 'the-secret-of-the-till';

const STATE = {
  groups: { staff: { description: 'Everyone', members: ['tom'] } },
  clients: {
    till: { scope: 'sales:read', apis: ['https://sales.example'], secret: { env: 'TILL_SECRET' } },
    'sales/api': {
      resource: 'https://sales.example',
      api_scopes: ['sales:read'],
      token_endpoint_auth_method: 'none',
      scope_texts: { 'sales:read': { name: 'Read sales' } },
    },
  },
  scope_texts: { phone: { name: 'See your phone number' } },
};

interface Order {
  readonly token?: string;
  readonly version?: string;
}

const plan = (body: object, { token }: Order = {}) =>
  admin.send('POST', '/admin/state/plan', { body, token });
const apply = (body: object, { token, version = '*' }: Order = {}) =>
  admin.send('POST', '/admin/state/apply', { body, token, headers: { 'if-match': version } });

function changesIn({ status, text, body }: Answered): readonly string[] {
  assert.equal(status, 200, text);
  return body.changes.map((one: { action: string; kind: string; name: string }) =>
    [one.action, one.kind, one.name].join(' '),
  );
}

function problem({ status, body }: Answered) {
  return [status, body.code, body.errors ?? body.detail];
}

const needs = (scope: string) => [403, 'insufficient_scope', `the operation also needs the scope ${scope}`];

async function actorOf(type: string, target: string): Promise<unknown> {
  const path = `?type=${type}&target=${encodeURIComponent(target)}`;
  const [event] = (await admin.send('GET', `/admin/events${path}`)).body.items;
  const [audited] = (await admin.send('GET', `/admin/audit${path}`)).body.items;
  assert.equal(audited?.actor, event?.actor, `${type} ${target}`);
  return event?.actor;
}

describe('a state', () => {
  test('is planned without a change, applied by the caller as actor, and then as wanted', async () => {
    const { subject } = await admin.addUser('tom');
    const body = { state: STATE, secrets: { till: SECRET } };
    const planned = await plan(body);
    const expected = [
      'add group staff',
      'add client sales/api',
      'add client till',
      'add scope sales:read of sales/api',
      'add scope phone',
    ];
    assert.deepEqual(changesIn(planned), expected);
    assert.deepEqual(planned.body.changes[0].members, [
      { name: 'description', after: 'Everyone' },
      { name: 'members added', after: ['tom'] },
    ]);
    assert.equal((await admin.send('GET', '/admin/clients/till')).status, 404);
    assert.equal((await admin.send('GET', '/admin/groups/staff')).status, 404);

    const version = planned.headers.get('etag') ?? '';
    const applied = await apply(body, { version });
    assert.deepEqual(changesIn(applied), expected);
    assert.deepEqual([applied.body.unchanged, applied.body.warnings], [0, []]);
    const form = { grant_type: 'client_credentials', resource: 'https://sales.example' };
    assert.equal((await postForm(`${admin.url}/token`, form, basic('till', SECRET))).status, 200);
    for (const [type, target] of [
      ['group_added', 'staff'],
      ['client_added', 'till'],
      ['client_added', 'sales/api'],
      ['scope_texts_changed', 'phone'],
      ['group_member_added', `staff/${subject}`],
    ] as const)
      assert.equal(await actorOf(type, target), 'api:ops', type);

    const again = await apply(body);
    assert.deepEqual([again.body.changes, again.body.unchanged], [[], 5]);
  });

  test('keeps its secrets to itself: neither responses, log, events nor the database have them', async () => {
    const secret = 'another-secret-of-the-till';
    const body = { state: { clients: { till: STATE.clients.till } }, secrets: { till: secret } };
    const answers = [await plan(body), await apply(body), await apply(body)];
    assert.deepEqual(answers[0]?.body.changes, [
      { action: 'change', kind: 'client', name: 'till', members: [{ name: 'secret', after: 'replaced' }] },
    ]);
    answers.push(await apply({ ...body, secrets: { till: secret, nobody: secret } }));
    answers.push(await admin.send('GET', '/admin/state'), await admin.send('GET', '/admin/audit?limit=200'));
    const key = { 'if-match': '*', 'idempotency-key': 'state-1' };
    answers.push(await admin.send('POST', '/admin/state/apply', { body, headers: key }));
    for (const { text } of answers) assert.ok(!text.includes(secret));
    assert.ok(!admin.log().includes(secret));
    const path = admin.database.name.replace(/^sqlite:/, '');
    for (const file of [path, `${path}-wal`]) assert.ok(!readFileSync(file).includes(secret), file);
  });

  test('is applied only while the plan is the one in If-Match', async () => {
    const state = { groups: { raced: { description: 'First' } } };
    const version = (await plan({ state })).headers.get('etag') ?? '';
    await admin.send('POST', '/admin/groups', { body: { name: 'raced', description: 'Second' } });
    assert.deepEqual(problem(await apply({ state }, { version })), [
      412,
      'version_mismatch',
      'what is stored has changed since the plan, and nothing was applied',
    ]);
    assert.equal((await admin.send('GET', '/admin/groups/raced')).body.description, 'Second');
    const unversioned = await admin.send('POST', '/admin/state/apply', { body: { state } });
    assert.equal(unversioned.status, 428);
  });

  test('that stops half-way says what was applied, and is completed with the same Idempotency-Key', async () => {
    const state = { groups: { made: {}, broken: {}, waiting: {} } };
    const file = new DatabaseSync(admin.database.name.replace(/^sqlite:/, ''), { timeout: 5000 });
    file.exec(`CREATE TRIGGER broken BEFORE INSERT ON "groups" WHEN NEW.name = 'broken'
      BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`);
    const headers = { 'if-match': '*', 'idempotency-key': 'half-way' };
    const send = () => admin.send('POST', '/admin/state/apply', { body: { state }, headers });
    assert.deepEqual(problem(await send()), [
      503,
      'unavailable',
      'The database does not answer. Applied before: add group made. Failed, and perhaps applied in part: add group broken. Not applied: add group waiting. The next plan contains what is missing.',
    ]);
    file.exec('DROP TRIGGER broken');
    file.close();
    assert.deepEqual(changesIn(await send()), ['add group broken', 'add group waiting']);
  });

  test('is refused as a whole, with a JSON Pointer to everything that is wrong', async () => {
    const state = {
      groups: { staff: { member: [] } },
      clients: { 'a/b~c': { secret: 'text' } },
      providers: {},
    };
    const { status, body } = await plan({ state });
    assert.equal(status, 422);
    assert.deepEqual(
      body.errors.map((one: { in: string }) => one.in),
      ['/state/providers', '/state/groups/staff/member', '/state/clients/a~1b~0c/secret'],
    );
    const names = { body: '{"state":{"__proto__":{},"constructor":{},"groups":{"__proto__":{"x":1}}}}' };
    const inherited = await admin.send('POST', '/admin/state/plan', names);
    assert.deepEqual(inherited.body.errors, [
      { in: '/state/__proto__', detail: 'unknown name' },
      { in: '/state/constructor', detail: 'unknown name' },
      { in: '/state/groups/__proto__/x', detail: 'unknown name' },
    ]);
    const lone = await admin.send('POST', '/admin/state/plan', {
      body: String.raw`{"state":{},"secrets":{"\ud800":"long enough"}}`,
    });
    assert.deepEqual(problem(lone), [
      400,
      'invalid_request',
      'expected neither NUL nor lone surrogates in texts',
    ]);
    const wrong = {
      clients: { good: { scope: 'read', secret: { env: 'A' } }, bad: { redirect_uris: ['/'] } },
    };
    const refused = await apply({ state: wrong, secrets: { good: SECRET } });
    assert.deepEqual(
      [refused.status, refused.body.errors[0].in],
      [422, '/state/clients/bad/redirect_uris/0'],
    );
    assert.equal((await admin.send('GET', '/admin/clients/good')).status, 404);
    for (const form of [{}, { state: [] }, { state, more: 1 }, { state: {}, secrets: { a: 'short' } }])
      assert.equal((await plan(form)).status, 422, JSON.stringify(form));
  });

  test('cannot make the server read its own variables or files', async () => {
    const refer = (secret: object) => ({ state: { clients: { spy: { scope: 'read', secret } } } });
    for (const secret of [{ file: '/etc/hostname' }, { env: 'PATH' }])
      assert.deepEqual(problem(await apply(refer(secret))), [
        422,
        'invalid_input',
        [{ in: '/secrets/spy', detail: 'expected the secret to which the state refers' }],
      ]);
    const unused = await apply({ state: {}, secrets: { spy: SECRET } });
    assert.deepEqual(unused.body.errors, [
      { in: '/secrets/spy', detail: 'the client refers to no secret in the state' },
    ]);
  });

  test('refuses a secret that is too short for its client before any change', async () => {
    const signer = {
      ...{ scope: 'read', token_endpoint_auth_method: 'client_secret_jwt', secret: { env: 'A' } },
      token_endpoint_auth_signing_alg: 'HS256',
    };
    const state = { groups: { early: {} }, clients: { signer } };
    const refused = await apply({ state, secrets: { signer: 'short secret' } });
    assert.deepEqual(problem(refused), [
      422,
      'invalid_input',
      [{ in: '/state/clients/signer/secret', detail: 'expected at least 32 bytes' }],
    ]);
    assert.equal((await admin.send('GET', '/admin/groups/early')).status, 404);
  });

  test('may be longer than other bodies, but has a limit', async () => {
    const texts = (count: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, index) => [
          `scope-${index}`,
          { name: 'n', description: 'd'.repeat(300) },
        ]),
      );
    const long = { state: { scope_texts: texts(500) } };
    assert.ok(JSON.stringify(long).length > 2 * 64 * 1024);
    assert.equal(changesIn(await plan(long)).length, 500);
    const answered = await plan({ state: { scope_texts: texts(4000) } });
    assert.deepEqual(problem(answered), [413, 'body_too_large', 'expected at most 1048576 bytes']);
    const groups = Object.fromEntries(Array.from({ length: 5001 }, (_, index) => [`g${index}`, {}]));
    const problems = [
      { in: '/state', detail: 'expected at most 5000 groups, clients and scope texts, got 5001' },
    ];
    assert.deepEqual(problem(await plan({ state: { groups } })), [422, 'invalid_input', problems]);
    const { g0: _, ...fewer } = groups;
    const inClient = {
      resource: 'https://long.example',
      scope_texts: texts(500),
      token_endpoint_auth_method: 'none',
    };
    const mixed = { clients: { long: inClient }, groups: fewer };
    assert.match((await plan({ state: mixed })).text, /got 5501/);
    assert.equal(changesIn(await plan({ state: { groups: fewer } })).length, 5000);
    const deep = `{"state":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
    assert.equal((await admin.send('POST', '/admin/state/plan', { body: deep })).status, 422);
  });

  test('loses with prune what its sections omit, but neither the client that sends it nor those that registered themselves', async () => {
    const self = {
      ...{ id: 'self', registrationTokenDigest: 'digest', registeredAt: 1 },
      ...{ redirectUris: [], grantTypes: [] as const, scopes: [] },
    };
    await admin.instance.storage.clients.add(self);
    const { registrationTokenDigest: _, ...other } = self;
    const withDocument = {
      ...other,
      id: 'https://app.example/client.json',
      documentValidAt: 1,
    };
    await admin.instance.storage.clients.add(withDocument);
    await admin.add('pruned', { scope: 'read' });
    const { state } = (await admin.send('GET', '/admin/state')).body;
    const { pruned: __, ops: ___, ...clients } = state.clients;
    assert.ok(Object.hasOwn(state.clients, 'ops'));
    for (const { id } of [self, withDocument]) assert.ok(!Object.hasOwn(state.clients, id), id);
    const removed = await apply({ state: { clients }, prune: true });
    assert.deepEqual(changesIn(removed), ['remove client pruned']);
    assert.equal((await admin.send('GET', '/admin/clients/pruned')).status, 404);
    for (const { id } of [self, withDocument])
      assert.equal((await admin.send('GET', `/admin/clients/${encodeURIComponent(id)}`)).status, 200, id);
    assert.deepEqual(changesIn(await apply({ state: {}, prune: true })), []);
  });

  test('is exported as it would be applied', async () => {
    await admin.send('POST', '/admin/groups', { body: { name: '__proto__' } });
    const { status, body } = await admin.send('GET', '/admin/state');
    assert.equal(status, 200);
    assert.ok(body.with_secret.includes('till'));
    assert.deepEqual(body.state.clients['sales/api'], STATE.clients['sales/api']);
    assert.deepEqual(body.state.groups.staff, { description: 'Everyone' });
    assert.ok(Object.hasOwn(body.state.groups, '__proto__'));
    assert.deepEqual(changesIn(await plan({ state: body.state, prune: true })), []);
  });
});

describe('no state reaches further than the token of its caller', () => {
  const tokenWith = (...scopes: readonly string[]) => admin.tokenOf(scopes);
  /** A token with the scopes of every section, but no other. */
  const editor = () =>
    tokenWith('grantd:clients:write', 'grantd:groups:write', 'grantd:scopes:write', 'grantd:users:read');

  test('each section needs its scope, and no other', async () => {
    const sections: readonly (readonly [object, readonly string[]])[] = [
      [{ clients: { one: { token_endpoint_auth_method: 'none' } } }, ['grantd:clients:write']],
      [{ groups: { one: {} } }, ['grantd:groups:write']],
      [{ groups: { one: { members: [] } } }, ['grantd:groups:write', 'grantd:users:read']],
      [{ scope_texts: { one: { name: 'One' } } }, ['grantd:scopes:write']],
      [
        {
          clients: {
            two: { resource: 'https://two.example', scope_texts: {}, token_endpoint_auth_method: 'none' },
          },
        },
        ['grantd:clients:write', 'grantd:scopes:write'],
      ],
    ];
    for (const [state, scopes] of sections) {
      const message = JSON.stringify(state);
      for (const path of ['plan', 'apply']) {
        const send = path === 'plan' ? plan : apply;
        for (const missing of scopes) {
          const token = await tokenWith(...ALL_SCOPES.filter((scope) => scope !== missing));
          assert.deepEqual(problem(await send({ state }, { token })), needs(missing), message);
        }
        assert.equal((await send({ state }, { token: await tokenWith(...scopes) })).status, 200, message);
      }
    }
    const reader = await tokenWith('grantd:clients:read', 'grantd:groups:read', 'grantd:scopes:read');
    const refused = await plan({ state: {} }, { token: reader });
    assert.deepEqual([refused.status, refused.body.code], [403, 'insufficient_scope']);
    assert.equal((await admin.send('GET', '/admin/state', { token: reader })).status, 200);
    for (const missing of ['grantd:groups:read', 'grantd:scopes:read']) {
      const token = await tokenWith(...ALL_SCOPES.filter((scope) => scope !== missing));
      assert.deepEqual(problem(await admin.send('GET', '/admin/state', { token })), needs(missing));
    }
  });

  test('whether a user exists stays unknown without the scope for users', async () => {
    const token = await tokenWith('grantd:groups:write');
    for (const member of ['tom', 'nobody-at-all'])
      assert.deepEqual(
        problem(await plan({ state: { groups: { staff: { members: [member] } } } }, { token })),
        needs('grantd:users:read'),
      );
  });

  test('a scope that the client no longer has does not admit, although its token has it', async () => {
    await admin.add('former', { scope: 'grantd:clients:write grantd:groups:write', apis: [AUDIENCE] });
    const scopes = ['grantd:clients:write', 'grantd:groups:write'];
    const token = await admin.tokenOf(scopes, { clientId: 'former' });
    await apply({
      state: {
        clients: { former: { scope: 'grantd:groups:write', apis: [AUDIENCE], secret: { env: 'A' } } },
      },
      secrets: { former: 'former secret' },
    });
    const clients = { three: { token_endpoint_auth_method: 'none' } };
    assert.deepEqual(problem(await plan({ state: { clients } }, { token })), needs('grantd:clients:write'));
    assert.equal((await plan({ state: { groups: {} } }, { token })).status, 200);
    await apply({
      state: { clients: { former: { scope: 'read', apis: [AUDIENCE], secret: { env: 'A' } } } },
      secrets: { former: 'former secret' },
    });
    for (const state of [{ groups: {} }, {}]) {
      const { status, body } = await plan({ state }, { token });
      assert.deepEqual([status, body.code], [403, 'insufficient_scope']);
    }
  });

  test('a client with scopes of the API needs them: to add, change, disable, enable, prune it, or try its secret', async () => {
    const token = await editor();
    const members = { scope: 'grantd:keys:write', apis: [AUDIENCE] };
    await admin.add('keeper', members);
    await admin.add('humble', { scope: 'read' });
    const secret = { env: 'A' };
    const orders: readonly object[] = [
      { state: { clients: { more: { ...members, secret } } }, secrets: { more: SECRET } },
      { state: { clients: { humble: members } } },
      { state: { clients: { keeper: { scope: 'read' } } } },
      { state: { clients: { keeper: { ...members, client_name: 'Other' } } } },
      { state: { clients: { keeper: { ...members, disabled: true } } } },
      { state: { clients: { keeper: { ...members, secret } } }, secrets: { keeper: SECRET } },
      // The right one too, or the difference would confirm it.
      { state: { clients: { keeper: { ...members, secret } } }, secrets: { keeper: 'keeper secret' } },
      { state: { clients: {} }, prune: true },
    ];
    for (const order of orders)
      for (const send of [plan, apply]) {
        const { status, body } = await send(order, { token });
        assert.deepEqual([status, body.code], [403, 'insufficient_scope'], JSON.stringify(order));
      }
    assert.equal((await admin.send('POST', '/admin/clients/keeper/disable')).status, 200);
    assert.deepEqual(
      problem(await apply({ state: { clients: { keeper: members } } }, { token })),
      needs('grantd:keys:write'),
    );
    assert.match((await admin.send('GET', '/admin/clients/keeper')).body.disabled_at, /^20/);
    const both = await tokenWith('grantd:clients:write', 'grantd:keys:write');
    const enabled = await apply({ state: { clients: { keeper: members } } }, { token: both });
    assert.deepEqual(changesIn(enabled), ['change client keeper']);
    // What the file only repeats needs nothing more.
    assert.deepEqual(changesIn(await apply({ state: { clients: { keeper: members } } }, { token })), []);
    const { status } = await apply({ state: { clients: { humble: { scope: 'write' } } } }, { token });
    assert.equal(status, 200);
  });

  test('the admin group needs every scope: for its members, its policy and its removal', async () => {
    const token = await editor();
    await admin.addUser('eve');
    await admin.addUser('root', ['admins']);
    const admins = { description: '' };
    const groups: readonly (readonly [object, boolean])[] = [
      [{ admins: { ...admins, members: ['root', 'eve'] } }, false],
      [{ admins: { ...admins, members: [] } }, true],
      [{ admins: { ...admins, sign_in_policy: 'second_factor' } }, false],
      [{}, true],
    ];
    for (const [one, prune] of groups)
      for (const send of [plan, apply]) {
        const { status, body } = await send({ state: { groups: one }, prune }, { token });
        assert.deepEqual([status, body.code], [403, 'insufficient_scope'], JSON.stringify(one));
      }
    // No other spelling is the admin group.
    for (const name of ['ADMINS', '\uff41dmins', '\u0430dmins']) {
      const { status } = await apply({ state: { groups: { [name]: { members: ['eve'] } } } }, { token });
      assert.equal(status, 422, name);
    }
    const members = async (): Promise<readonly string[]> =>
      (await admin.send('GET', '/admin/users?group=admins')).body.items.map(
        ({ username }: { username: string }) => username,
      );
    assert.deepEqual(await members(), ['root']);
    const described = await apply({ state: { groups: { admins: { description: 'Us' } } } }, { token });
    assert.deepEqual(changesIn(described), ['change group admins']);
    const joined = await apply({ state: { groups: { admins: { description: 'Us', members: ['eve'] } } } });
    assert.deepEqual(changesIn(joined), ['change group admins']);
    assert.deepEqual(await members(), ['eve', 'root']);
  });

  test('an administrator stays, and so does the group of administrators', async () => {
    const { body } = await admin.send('GET', '/admin/users?group=admins');
    const names: readonly string[] = body.items.map(({ username }: { username: string }) => username);
    assert.ok(names.length > 0);
    const nobody = { groups: { admins: { description: 'Us', members: [] } } };
    const { groups } = (await admin.send('GET', '/admin/state')).body.state;
    const emptied = await apply({ state: { groups: { ...groups, ...nobody.groups } }, prune: true });
    const path = '/state/groups/admins/members';
    const none = [
      422,
      'invalid_input',
      [{ in: path, detail: 'no administrator who can sign in would be left' }],
    ];
    assert.deepEqual(problem(emptied), none);
    const off = await admin.addUser('off', ['admins']);
    await admin.instance.storage.setDisabled('subject', off.subject, true);
    const onlyOff = { groups: { ...groups, admins: { description: 'Us', members: ['off'] } } };
    assert.deepEqual(problem(await apply({ state: onlyOff, prune: true })), none);
    const left = (await admin.send('GET', '/admin/users?group=admins')).body.items;
    assert.equal(left.length, names.length + 1);

    const { admins: _, ...others } = groups;
    const removed = await apply({ state: { groups: others }, prune: true });
    assert.deepEqual(problem(removed), [
      422,
      'invalid_input',
      [{ in: '/state/groups', detail: 'the group of administrators, admins, cannot be removed' }],
    ]);
  });

  test('clients that registered themselves, and the admin API itself, stay out of reach', async () => {
    const clients = {
      self: { token_endpoint_auth_method: 'none' },
      'https://app.example/client.json': { token_endpoint_auth_method: 'none' },
      thief: { resource: AUDIENCE, token_endpoint_auth_method: 'none' },
      app: {
        redirect_uris: ['https://app.example/cb'],
        apis: [AUDIENCE],
        token_endpoint_auth_method: 'none',
      },
    };
    const { status, body } = await apply({ state: { clients } });
    assert.equal(status, 422);
    assert.deepEqual(body.errors.map((one: { in: string }) => one.in).sort(), [
      '/state/clients/app/apis',
      '/state/clients/https:~1~1app.example~1client.json',
      '/state/clients/self',
      '/state/clients/thief/resource',
    ]);
  });
});

describe('between the plan and its changes', () => {
  const parts = () => localParts({ ...admin.instance.actingAs('cli'), configuration: admin.configuration });
  async function planned(document: object, prune = false, secrets = new Map<string, string>()) {
    const read = readDesiredState(document);
    assert.ok('state' in read);
    const found = await planFor(parts(), read.state, { prune, secrets });
    assert.ok('changes' in found);
    return found;
  }
  /** What the server does after the first use of a secret. */
  async function noteUse(id: string): Promise<void> {
    const { clients } = admin.instance.storage;
    const client = await clients.get(id);
    assert.ok(client?.secrets);
    const secrets = client.secrets.map((one) => ({ ...one, lastUsedAtMs: Date.now() }));
    assert.equal(await clients.replaceSecrets(id, secrets, client), true);
  }

  test('the use of a secret stops no change, and is kept', async () => {
    await admin.add('used', { scope: 'read' });
    const secret = { env: 'A' };
    const secrets = new Map([['used', 'used secret']]);
    const change = await planned({ clients: { used: { scope: 'read write', secret } } }, false, secrets);
    await noteUse('used');
    await performPlan(change, () => {});
    const stored = await admin.instance.storage.clients.get('used');
    assert.deepEqual(stored?.scopes, ['read', 'write']);
    assert.ok(stored?.secrets?.[0]?.lastUsedAtMs);

    const state = (await admin.send('GET', '/admin/state')).body.state.clients;
    const { used: _, ...kept } = state;
    const removal = await planned({ clients: kept }, true);
    await noteUse('used');
    await performPlan(removal, () => {});
    assert.ok(!(await admin.instance.storage.clients.get('used')));
  });

  test('every other change of a client stops it, and the message lists what was made', async () => {
    const document = { groups: { counted: {} }, clients: { stopped: { scope: 'read write' } } };
    await admin.add('stopped', { scope: 'read' });
    for (const [index, [path, method, body]] of (
      [
        ['', 'PATCH', { client_name: 'Other' }],
        ['/rotate-secret', 'POST', {}],
        ['/disable', 'POST', undefined],
      ] as const
    ).entries()) {
      const change = await planned(document);
      const headers: Readonly<Record<string, string>> = method === 'PATCH' ? { 'if-match': '*' } : {};
      const answered = await admin.send(method, `/admin/clients/stopped${path}`, { body, headers });
      assert.equal(answered.status, 200, answered.text);
      const made = index === 0 ? 'add group counted' : 'nothing';
      await assert.rejects(
        performPlan(change, () => {}),
        {
          message: `another command has just changed client stopped: run grantd apply again. Applied before: ${made}. Failed, and perhaps applied in part: change client stopped. Not applied: nothing. The next plan contains what is missing.`,
        },
      );
      await admin.send('POST', '/admin/clients/stopped/enable');
    }
    const state = (await admin.send('GET', '/admin/state')).body.state.clients;
    const { stopped: _, ...kept } = state;
    const removal = await planned({ clients: kept }, true);
    const gained = { scope: 'grantd:keys:write', apis: [AUDIENCE] };
    await admin.send('PATCH', '/admin/clients/stopped', { body: gained, headers: { 'if-match': '*' } });
    await assert.rejects(
      performPlan(removal, () => {}),
      /another command has just changed client stopped/,
    );
  });
});

test('APIs are found among thousands, in each spelling of their URI', () => {
  const known = [
    ...Array.from({ length: 3000 }, (_, at) => `https://api.example/${at}`),
    ...[
      'https://Mixed.example',
      'https://slash.example/',
      'urn:example:api',
      'app://Host/x',
      'http://[2001:db8::1]:80/',
    ],
  ];
  const isResource = resourceFinder(known);
  const cases: readonly (readonly [string, boolean])[] = [
    ['https://api.example:443/7', true],
    ['HTTPS://API.example/2999', true],
    ['https://api.example/7/', false],
    ['https://api.example/3000', false],
    ['https://mixed.example:443/', true],
    ['https://mixed.example:444/', false],
    ['https://slash.example', true],
    ['https://slash.example:', true],
    ['https://slash.example?', false],
    ['urn:example:api', true],
    ['urn:example:API', false],
    ['app://host/x', true],
    ['app://host/X', false],
    ['http://[2001:DB8::1]', true],
  ];
  for (const [uri, isKnown] of cases) {
    assert.equal(hasResource(known, uri), isKnown, uri);
    assert.equal(isResource(uri), isKnown, uri);
  }
  const before = process.cpuUsage();
  for (let at = 0; at < 3000; at += 1) assert.ok(isResource(`https://API.example/${at}`));
  const { user } = process.cpuUsage(before);
  assert.ok(user < 2_000_000, `${user} µs`);
});
