// What the admin API does.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ALL_OPERATIONS } from '../src/admin/table.ts';
import { ruleInWords } from '../src/admin/validation.ts';
import { type AdminServer, type Answered, AUDIENCE, startAdmin } from './harness/admin.ts';
import { basic, postForm } from './harness/protocol.ts';

let admin: AdminServer;
before(async () => {
  admin = await startAdmin();
});
after(() => admin.close());

function problem({ status, body }: Answered) {
  return [status, body.code, body.detail ?? body.errors];
}

async function eventsOf(target: string): Promise<readonly unknown[]> {
  const { body } = await admin.send('GET', `/admin/events?target=${encodeURIComponent(target)}`);
  return body.items.map(({ type, actor }: { type: string; actor?: string }) => [type, actor]);
}

async function versionOf(path: string): Promise<Readonly<Record<string, string>>> {
  const { headers } = await admin.send('GET', path);
  return { 'if-match': headers.get('etag') ?? '' };
}

describe('clients', () => {
  test('are added with a secret that works, shown, changed, disabled and removed, by the caller as actor', async () => {
    const body = {
      client_id: 'shop/1',
      scope: 'read',
      grant_types: ['client_credentials'],
      'client_name#de': 'Laden',
    };
    const added = await admin.send('POST', '/admin/clients', { body });
    assert.equal(added.status, 201);
    assert.equal(added.headers.get('location'), `${AUDIENCE}/clients/shop%2F1`);
    const { client_secret: secret, secrets, ...client } = added.body;
    assert.deepEqual(client, {
      ...{ client_id: 'shop/1', grant_types: ['client_credentials'], response_types: [], scope: 'read' },
      ...{ redirect_uris: [], 'client_name#de': 'Laden', type: 'confidential', registered_itself: false },
      warnings: [
        'no API of this server has the scope read of shop/1, and no text describes it. Check its spelling',
      ],
    });
    assert.deepEqual(Object.keys(secrets[0]), ['created_at', 'server_secret']);
    const form = { grant_type: 'client_credentials' };
    const credentials = basic(encodeURIComponent('shop/1'), secret);
    assert.equal((await postForm(`${admin.url}/token`, form, credentials)).status, 200);

    const path = '/admin/clients/shop%2F1';
    const changed = await admin.send('PATCH', path, {
      body: { client_name: 'Shop', 'client_name#de': null },
      headers: { ...(await versionOf(path)), 'content-type': 'application/merge-patch+json' },
    });
    assert.deepEqual(
      [changed.status, changed.body.client_name, changed.body['client_name#de']],
      [200, 'Shop', undefined],
    );
    assert.equal(changed.headers.get('etag'), (await admin.send('GET', path)).headers.get('etag'));

    assert.match((await admin.send('POST', `${path}/disable`)).body.disabled_at, /^20/);
    assert.equal((await postForm(`${admin.url}/token`, form, credentials)).status, 401);
    assert.equal((await admin.send('POST', `${path}/enable`)).body.disabled_at, undefined);
    assert.equal((await admin.send('DELETE', path)).status, 204);
    assert.deepEqual(problem(await admin.send('GET', path)), [404, 'not_found', 'there is no client shop/1']);
    assert.deepEqual(await eventsOf('shop/1'), [
      ['client_added', 'api:ops'],
      ['client_changed', 'api:ops'],
      ['client_disabled', 'api:ops'],
      ['client_enabled', 'api:ops'],
      ['client_revoked', 'api:ops'],
      ['client_removed', 'api:ops'],
    ]);
  });

  test('a change needs the version that it is for', async () => {
    await admin.add('versioned', { scope: 'read' });
    const path = '/admin/clients/versioned';
    const patch = (headers: Readonly<Record<string, string>>) =>
      admin.send('PATCH', path, { body: { client_name: 'New' }, headers });
    assert.equal((await patch({})).status, 428);
    const version = await versionOf(path);
    assert.equal((await patch(version)).status, 200);
    assert.deepEqual(problem(await patch(version)), [
      412,
      'version_mismatch',
      'read it again, then repeat the change',
    ]);
    assert.equal((await patch({ 'if-match': '*' })).status, 200);
    const removal = await admin.send('DELETE', path, { headers: version });
    assert.deepEqual(problem(removal).slice(0, 2), [400, 'invalid_request']);
  });

  test('the use of a secret makes no other version', async () => {
    await admin.add('used', { scope: 'read' });
    const version = await versionOf('/admin/clients/used');
    await postForm(`${admin.url}/token`, { grant_type: 'client_credentials' }, basic('used', 'used secret'));
    await admin.server.flush();
    const { headers, body } = await admin.send('GET', '/admin/clients/used');
    assert.ok(body.secrets[0].last_used_at);
    assert.equal(headers.get('etag'), version['if-match']);
  });

  test('invalid metadata is named by its member, and nothing is stored', async () => {
    const body = { client_id: 'bad', redirect_uris: ['https://bad.example/cb#x'] };
    const { status, body: answered } = await admin.send('POST', '/admin/clients', { body });
    assert.deepEqual(
      [status, answered.code, answered.errors[0].in],
      [422, 'invalid_input', '/redirect_uris/0'],
    );
    assert.deepEqual(
      problem(await admin.send('POST', '/admin/clients', { body: { client_id: 'bad', colour: 'red' } })),
      [422, 'invalid_input', [{ in: '/colour', detail: 'expected no such member' }]],
    );
    assert.equal((await admin.send('GET', '/admin/clients/bad')).status, 404);
    const taken = await admin.send('POST', '/admin/clients', { body: { client_id: 'ops' } });
    assert.deepEqual(problem(taken), [409, 'conflict', 'client ops already exists']);
  });

  test('a secret is rotated with an overlap, and shown once', async () => {
    await admin.add('rotated', { scope: 'read' });
    const { body } = await admin.send('POST', '/admin/clients/rotated/rotate-secret', {
      body: { overlap: 60 },
    });
    const ends = Date.parse(body.old_secret_ends_at) - Date.now();
    assert.ok(ends > 50_000 && ends <= 60_000, body.old_secret_ends_at);
    for (const secret of [body.client_secret, 'rotated secret']) {
      const form = { grant_type: 'client_credentials' };
      const response = await postForm(`${admin.url}/token`, form, basic('rotated', secret));
      assert.equal(response.status, 200);
    }
    const { text } = await admin.send('GET', '/admin/clients/rotated');
    assert.ok(!text.includes(body.client_secret));
    const atOnce = await admin.send('POST', '/admin/clients/rotated/rotate-secret', { body: { overlap: 0 } });
    assert.equal(atOnce.body.old_secret_ends_at, undefined);
  });
});

describe('lists', () => {
  test('come in pages, each item once and in order', async () => {
    for (const name of ['p1', 'p2', 'p3', 'p4', 'p5']) {
      await admin.add(`page-${name}`, { scope: 'read' });
      await admin.addUser(`page-${name}`);
    }
    for (const [list, member] of [
      ['clients', 'client_id'],
      ['users', 'username'],
    ] as const) {
      const seen: string[] = [];
      let cursor: string | undefined = '';
      while (cursor !== undefined) {
        const from: string = cursor === '' ? '' : `&cursor=${cursor}`;
        const { body } = await admin.send('GET', `/admin/${list}?search=page-&limit=2${from}`);
        assert.ok(body.items.length <= 2);
        seen.push(...body.items.map((item: Record<string, string>) => item[member]));
        cursor = body.next_cursor;
      }
      assert.deepEqual(seen, ['page-p1', 'page-p2', 'page-p3', 'page-p4', 'page-p5'], list);
    }
    const first = await admin.send('GET', '/admin/events?type=client_added&limit=1');
    const second = await admin.send(
      'GET',
      `/admin/events?type=client_added&limit=1&cursor=${first.body.next_cursor}`,
    );
    assert.ok(second.body.items[0].number > first.body.items[0].number);
  });

  test('refuse a cursor of their caller, and parameters that they do not have', async () => {
    for (const [query, name, detail] of [
      ['cursor=abc', 'cursor', 'expected next_cursor of a page'],
      ['limit=0', 'limit', 'expected at least 1'],
      ['limit=201', 'limit', 'expected at most 200'],
      ['limit=1&limit=2', 'limit', 'expected it once'],
      ['colour=red', 'colour', 'there is no such parameter'],
      ['state=dead', 'state', 'expected one of active, disabled, locked'],
    ] as const) {
      const answered = await admin.send('GET', `/admin/users?${query}`);
      assert.deepEqual(problem(answered), [400, 'invalid_request', [{ in: name, detail }]], query);
    }
  });
});

test('every rule of every schema is stated in words', () => {
  const annotations = ['description', 'title', 'examples', 'default', 'readOnly', 'writeOnly', 'deprecated'];
  const told = new Set<string>();
  const visit = (schema: object): void => {
    for (const [keyword, rule] of Object.entries(schema)) {
      if (annotations.includes(keyword) || keyword.startsWith('x-')) continue;
      if (['properties', 'patternProperties'].includes(keyword)) Object.values(rule).forEach(visit as never);
      else if (['anyOf', 'oneOf'].includes(keyword)) rule.forEach(visit);
      else if (typeof rule === 'object' && !Array.isArray(rule)) visit(rule);
      if (['properties', 'patternProperties', 'anyOf', 'items'].includes(keyword)) continue;
      const words = ruleInWords(keyword, rule);
      assert.doesNotMatch(
        words,
        /another value|of the form|[[{]"|oneOf|minLength|undefined/,
        `${keyword}: ${words}`,
      );
      told.add(keyword);
    }
  };
  for (const [, operation] of ALL_OPERATIONS) {
    const { body, query = {} } = { body: undefined, ...operation };
    for (const schema of [body ?? {}, ...Object.values(query).map((one) => one.schema)]) visit(schema);
  }
  assert.ok(told.size > 8, [...told].join());
});

test('a user without a way to sign in is refused in words', async () => {
  const { body } = await admin.send('POST', '/admin/users', { body: { username: 'zz' } });
  assert.deepEqual(
    body.errors.map(({ detail }: { readonly detail: string }) => detail),
    ['expected exactly one of the members password, invitation'],
  );
});

describe('users', () => {
  test('are added, found, changed, disabled, and removed with their tokens', async () => {
    const body = { username: 'bob', password: 'correct horse', claims: { email: 'bob@example.com' } };
    const added = await admin.send('POST', '/admin/users', { body });
    const { sub, created_at: createdAt } = added.body.user;
    const path = `/admin/users/${sub}`;
    const bob = {
      ...{ sub, username: 'bob', claims: { email: 'bob@example.com' }, groups: [] },
      ...{ created_at: createdAt, has_password: true },
    };
    assert.deepEqual([added.status, added.body], [201, { user: bob, warnings: [] }]);
    assert.deepEqual((await admin.send('GET', '/admin/users?username=Bob')).body, { items: [bob] });
    assert.deepEqual(problem(await admin.send('POST', '/admin/users', { body })).slice(0, 2), [
      409,
      'conflict',
    ]);

    const change = {
      body: { username: 'bobby', claims: { email: 'bob@example.org', email_verified: true, nickname: 'B' } },
      headers: await versionOf(path),
    };
    const changed = await admin.send('PATCH', path, change);
    assert.deepEqual(changed.body.user, { ...bob, username: 'bobby', claims: change.body.claims });
    assert.equal((await admin.send('PATCH', path, change)).status, 412);
    const removed = { body: { claims: { nickname: null } }, headers: { 'if-match': '*' } };
    assert.equal((await admin.send('PATCH', path, removed)).body.user.claims.nickname, undefined);
    const wrong = { body: { claims: { email: 'nowhere' } }, headers: { 'if-match': '*' } };
    assert.deepEqual((await admin.send('PATCH', path, wrong)).body.errors, [
      { in: '/claims/email', detail: 'expected an address such as bob@example.com, got "nowhere"' },
    ]);

    await admin.add('app', { redirect_uris: ['https://app.example/cb'], scope: 'openid' });
    const [issued] = await admin.server.operator.issueTokens({
      clientId: 'app',
      subject: sub,
      scopes: ['openid'],
    });
    const token = issued?.accessToken ?? '';
    assert.match((await admin.send('POST', `${path}/disable`)).body.disabled_at, /^20/);
    const dead = await admin.send('POST', '/admin/tokens/explain', { body: { token } });
    assert.deepEqual([dead.body.active, dead.body.reason], [false, 'subject_disabled']);
    assert.equal((await admin.send('POST', `${path}/enable`)).body.disabled_at, undefined);
    assert.deepEqual((await admin.send('GET', `${path}/sessions`)).body, { items: [] });
    assert.deepEqual((await admin.send('GET', `${path}/consents`)).body, { items: [] });
    const password = await admin.send('PUT', `${path}/password`, { body: { password: 'another horse' } });
    assert.deepEqual(password.body, { sessions_ended: 0 });
    assert.equal((await admin.send('DELETE', path)).status, 200);
    assert.equal((await admin.send('GET', path)).status, 404);
    assert.deepEqual(
      (await eventsOf(sub)).filter((event) => Array.isArray(event) && event[1] !== undefined),
      [
        ...['person_added', 'person_changed', 'person_changed', 'subject_disabled', 'subject_enabled'],
        ...['person_password_set', 'subject_revoked', 'person_removed', 'subject_disabled'],
      ].map((type) => [type, 'api:ops']),
    );
    assert.ok(!admin.log().includes('another horse'));
  });

  test('are invited by an email with a link', async () => {
    const body = { username: 'carol', invitation: { email: 'carol@example.com' }, claims: { name: 'Carol' } };
    const { status, body: answered } = await admin.send('POST', '/admin/users', { body });
    assert.deepEqual(
      [status, answered.user.has_password, answered.user.claims, answered.warnings.length],
      [201, false, { name: 'Carol', email: 'carol@example.com' }, 1],
    );
    const [mail] = await admin.instance.mails.list(false, 1);
    assert.deepEqual([mail?.recipient, mail?.template], ['carol@example.com', 'invite']);
  });

  test('are added, invited, changed and found with white space around names and addresses', async () => {
    const added = await admin.send('POST', '/admin/users', {
      body: { username: ' wendy ', password: 'correct horse', claims: { email: ' wendy@example.com ' } },
    });
    const { sub, username, claims } = added.body.user;
    assert.deepEqual([added.status, username, claims], [201, 'wendy', { email: 'wendy@example.com' }]);
    const invited = await admin.send('POST', '/admin/users', {
      body: { username: ' will ', invitation: { email: ' will@example.com ' } },
    });
    assert.deepEqual(invited.body.user.claims, { email: 'will@example.com' });
    const changed = await admin.send('PATCH', `/admin/users/${sub}`, {
      body: { username: ' wendy2 ', claims: { phone_number: ' +441865000000 ' } },
      headers: await versionOf(`/admin/users/${sub}`),
    });
    assert.deepEqual(changed.body.user.claims.phone_number, '+441865000000');
    const found = await admin.send('GET', '/admin/users?username=%20wendy2%20');
    assert.deepEqual(
      found.body.items.map((user: { username: string }) => user.username),
      ['wendy2'],
    );
  });

  test('join and leave groups, which cannot go while a client is for them', async () => {
    const { subject } = await admin.addUser('dora');
    await admin.send('POST', '/admin/groups', { body: { name: 'staff', description: 'On the payroll' } });
    const member = `/admin/groups/staff/members/${subject}`;
    assert.deepEqual((await admin.send('PUT', member)).body, { changed: true, warnings: [] });
    assert.deepEqual((await admin.send('PUT', member)).body, { changed: false, warnings: [] });
    const listed = await admin.send('GET', '/admin/users?group=staff');
    assert.deepEqual(
      listed.body.items.map(({ groups }: { groups: string[] }) => groups),
      [['staff']],
    );
    await admin.add('payroll', { redirect_uris: ['https://p.example/cb'], allowed_groups: ['staff'] });
    const refused = await admin.send('DELETE', '/admin/groups/staff');
    assert.deepEqual(problem(refused), [409, 'conflict', 'the client payroll is for the group staff']);
    assert.deepEqual((await admin.send('DELETE', member)).body, { changed: true, revoked: [], warnings: [] });
    const path = '/admin/groups/staff';
    const change = { body: { description: 'Everyone' }, headers: await versionOf(path) };
    assert.equal((await admin.send('PATCH', path, change)).body.description, 'Everyone');
    assert.equal((await admin.send('PATCH', path, change)).status, 412);
  });

  test('need a stronger sign-in of their members', async () => {
    const body = { name: 'ops', sign_in_policy: 'second_factor' };
    assert.equal((await admin.send('POST', '/admin/groups', { body })).body.sign_in_policy, 'second_factor');
    const path = '/admin/groups/ops';
    const change = async (changed: object) =>
      (await admin.send('PATCH', path, { body: changed, headers: await versionOf(path) })).body;
    assert.equal((await change({ description: 'On call' })).sign_in_policy, 'second_factor');
    const changed = await change({ sign_in_policy: 'second_factor_if_enrolled' });
    assert.deepEqual([changed.description, changed.sign_in_policy], ['On call', 'second_factor_if_enrolled']);
    assert.equal((await change({ sign_in_policy: null })).sign_in_policy, undefined);
    assert.equal((await change({ sign_in_policy: 'password' })).status, 422);
  });
});

test('texts of scopes are added, changed and removed', async () => {
  const body = { scope: 'orders:read', texts: { name: 'Read your orders', 'name#de': 'Bestellungen lesen' } };
  assert.equal((await admin.send('POST', '/admin/scopes', { body })).status, 201);
  const path = '/admin/scopes/orders%3Aread';
  const change = { body: { 'name#de': null, description: 'All of them' }, headers: await versionOf(path) };
  const texts = { name: 'Read your orders', description: 'All of them' };
  assert.deepEqual((await admin.send('PATCH', path, change)).body, { scope: 'orders:read', texts });
  assert.deepEqual((await admin.send('GET', '/admin/scopes')).body, {
    items: [{ scope: 'orders:read', texts }],
    total: 1,
  });
  assert.equal((await admin.send('DELETE', path)).status, 204);
  assert.equal((await admin.send('DELETE', path)).status, 404);
});

describe('tokens', () => {
  test('are explained and revoked as they are pasted: from a header, in quotes, or wrapped over lines', async () => {
    for (const paste of [
      (token: string) => ` ${token}\n`,
      (token: string) => `Bearer ${token}`,
      (token: string) => `authorization: dpop  ${token}`,
      (token: string) => `"${token}"`,
      (token: string) => `'Bearer ${token}' `,
      (token: string) => token.replaceAll(/.{76}/g, '$&\r\n'),
    ]) {
      const pasted = paste(await admin.tokenOf(['grantd:keys:read']));
      const explained = await admin.send('POST', '/admin/tokens/explain', { body: { token: pasted } });
      assert.equal(explained.body.active, true, pasted);
      const revoked = await admin.send('POST', '/admin/tokens/revoke', { body: { token: pasted } });
      assert.deepEqual([revoked.body.revoked, revoked.body.was_active], [true, true], pasted);
    }
  });

  test('are explained and revoked one by one', async () => {
    const token = await admin.tokenOf(['grantd:keys:read']);
    const explained = await admin.send('POST', '/admin/tokens/explain', { body: { token } });
    const { kind, active, record } = explained.body;
    assert.deepEqual(
      [kind, active, record.client_id, record.scopes],
      ['access_token', true, 'ops', ['grantd:keys:read']],
    );
    const revoke = (dryRun: boolean) =>
      admin.send('POST', '/admin/tokens/revoke', { body: { token, dry_run: dryRun } });
    assert.deepEqual((await revoke(true)).body, { revoked: false, was_active: true });
    const { token_id: id, ...revoked } = (await revoke(false)).body;
    assert.deepEqual([revoked, id], [{ revoked: true, was_active: true }, record.id]);
    assert.deepEqual((await revoke(false)).body.was_active, false);
    const { items } = (await admin.send('GET', `/admin/audit?target=${id}&type=token_revoked`)).body;
    assert.deepEqual(
      items.map((event: { actor: string }) => event.actor),
      ['api:ops'],
    );
    assert.ok(!admin.log().includes(token));
  });

  test('are revoked by client, user, grant and time, after a count', async () => {
    await admin.add('mass', { scope: 'read' });
    for (let issued = 0; issued < 3; issued++) await admin.server.operator.issueTokens({ clientId: 'mass' });
    const revokeAll = async (body: object) =>
      (await admin.send('POST', '/admin/tokens/revoke-all', { body })).body;
    assert.deepEqual(await revokeAll({ client_id: 'mass', dry_run: true }), { revoked: false, active: 3 });
    assert.deepEqual(await revokeAll({ client_id: 'mass', count: true }), { revoked: true, active: 3 });
    assert.deepEqual(await revokeAll({ client_id: 'mass', dry_run: true }), { revoked: false, active: 0 });
    assert.equal((await revokeAll({ client_id: 'nobody' })).code, 'not_found');
    assert.equal((await revokeAll({ issued_before: '2999-01-01T00:00:00Z' })).code, 'invalid_input');
    assert.deepEqual(await revokeAll({ issued_before: '2020-01-01T00:00:00Z' }), { revoked: true });
    for (const choices of [
      { sub: 'a', grant_id: 'b' },
      { sub: 'a', client_id: 'mass', grant_id: 'b' },
      { sub: 'a', client_id: 'mass', count: true },
      { sub: 'a', client_id: 'mass', dry_run: true },
    ])
      assert.equal((await revokeAll(choices)).code, 'invalid_input');
    assert.equal((await revokeAll({ sub: 'a', client_id: 'mass' })).code, 'not_found');
  });
});

test('keys rotate with the caller as actor, and the next token is signed by the new key', async () => {
  const { kid } = (await admin.send('GET', '/admin/keys')).body.items.find(
    (key: Record<string, string>) => key.algorithm === 'RS256' && key.status === 'next',
  );
  const early = await admin.send('POST', '/admin/keys/rotate');
  assert.deepEqual(problem(early).slice(0, 2), [409, 'conflict']);
  const body = { algorithm: 'RS256', now: true };
  const rotated = await admin.send('POST', '/admin/keys/rotate', { body });
  assert.deepEqual(rotated.body, { items: [{ algorithm: 'RS256', kid }] });
  const jwks = await (await fetch(`${admin.url}/jwks`)).json();
  assert.ok(jwks.keys.some((key: { kid: string }) => key.kid === kid));
  const { body: events } = await admin.send('GET', '/admin/events?type=key_rotated');
  assert.equal(events.items[0].actor, 'api:ops');
});

test('the configuration has no secrets, and health names the database', async () => {
  const { text, body } = await admin.send('GET', '/admin/config');
  assert.ok(!text.includes('ssss'), text);
  const settingOf = (wanted: string) =>
    body.items.find(({ option }: { option: string }) => option === wanted)?.value;
  assert.deepEqual(
    [settingOf('secret'), settingOf('adminApi'), settingOf('adminGroup')],
    ['set', true, null],
  );
  const health = (await admin.send('GET', '/admin/health')).body;
  assert.deepEqual([health.status, health.issuer], ['ok', 'https://id.example']);
});

describe('Idempotency-Key', () => {
  const post = (key: string, body: unknown, path = '/admin/clients') =>
    admin.send('POST', path, { body, headers: { 'idempotency-key': key } });

  test('a repetition gets the first response, with its secret, and changes nothing', async () => {
    const body = { client_id: 'once', scope: 'read', grant_types: ['client_credentials'] };
    const first = await post('key-1', body);
    const again = await post('key-1', body);
    assert.deepEqual([first.status, again.status, again.text], [201, 201, first.text]);
    assert.deepEqual(
      [first, again].map(({ headers }) => headers.get('idempotency-replayed')),
      [null, 'true'],
    );
    assert.equal(again.headers.get('etag'), first.headers.get('etag'));
    assert.deepEqual(problem(await post('key-1', { ...body, client_id: 'twice' })).slice(0, 2), [
      422,
      'idempotency_key_reused',
    ]);
    assert.equal((await post('key 2', body)).status, 400);
    assert.equal((await eventsOf('once')).length, 1);
  });

  test('of repetitions at the same time, one performs the request', async () => {
    const body = { client_id: 'race', scope: 'read', grant_types: ['client_credentials'] };
    const answered = await Promise.all(Array.from({ length: 5 }, () => post('key-race', body)));
    const statuses = new Set(answered.map(({ status, body: { code } }) => code ?? status));
    assert.ok(statuses.has(201) && [...statuses].every((one) => one === 201 || one === 'request_pending'));
    assert.equal((await eventsOf('race')).length, 1);
    assert.equal((await post('key-race', body)).status, 201);
  });

  test('a refused request leaves its key free', async () => {
    assert.equal((await post('key-3', { client_id: 'ops' })).status, 409);
    assert.equal((await post('key-3', { client_id: 'free' })).status, 201);
  });
});

describe('HTTP', () => {
  test('unknown paths, other methods, media types and sizes are problems', async () => {
    assert.deepEqual(problem(await admin.send('GET', '/admin/nothing')).slice(0, 2), [404, 'not_found']);
    const put = await admin.send('PUT', '/admin/clients');
    assert.deepEqual([put.status, put.headers.get('allow')], [405, 'GET, HEAD, POST']);
    const text = await admin.send('POST', '/admin/clients', {
      body: 'x',
      headers: { 'content-type': 'text/plain' },
    });
    assert.deepEqual(problem(text).slice(0, 2), [415, 'unsupported_media_type']);
    assert.deepEqual(problem(await admin.send('POST', '/admin/clients', { body: '{' })), [
      400,
      'invalid_request',
      'expected JSON',
    ]);
    const long = await admin.send('POST', '/admin/clients', { body: { client_id: 'a'.repeat(70_000) } });
    assert.equal(long.status, 413);
    const head = await admin.send('HEAD', '/admin/clients/ops');
    assert.deepEqual([head.status, head.text], [200, '']);
    assert.equal((await admin.send('GET', '/admin')).text, 'no page');
  });

  test('an outage of the database is 503, never an answer', async (t) => {
    const broken = await startAdmin();
    t.after(() => broken.close());
    await broken.send('GET', '/admin/users');
    await broken.database.close();
    for (const path of ['/admin/clients', '/admin/users', '/admin/groups', '/admin/keys', '/admin/events']) {
      const { status, headers, body } = await broken.send('GET', path);
      assert.deepEqual([status, headers.get('retry-after'), body.code], [503, '1', 'unavailable'], path);
    }
  });
});
