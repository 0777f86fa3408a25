// Who may use the admin API.
// Long: who may do what, by client, user and address.
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { call } from '../src/admin/in_process.ts';
import { InvalidInput } from '../src/admin/operation_refused.ts';
import { localCalls } from '../src/cli/local_calls.ts';
import { readConfiguration } from '../src/config/configuration.ts';
import { ConfigurationRefused, Refused } from '../src/config/refused.ts';
import { claimsOf } from '../src/data/people.ts';
import { ADMIN_SCOPES, EXPLAINED_SCOPES } from '../src/instance/admin_access.ts';
import { refuseOpenAdministration } from '../src/serve/exposure.ts';
import { EN } from '../src/texts/texts.ts';
import {
  ADMIN_ISSUER,
  type AdminServer,
  ALL_SCOPES,
  type Answered,
  AUDIENCE,
  startAdmin,
} from './harness/admin.ts';
import { basic, postForm } from './harness/protocol.ts';

const TYPES = `${AUDIENCE}/openapi.json#/components/x-problems`;
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519';

function outcome({ status, headers, body }: Answered) {
  return { status, challenge: headers.get('www-authenticate'), body };
}

describe('the admin API', () => {
  let admin: AdminServer;
  before(async () => {
    admin = await startAdmin({ GRANTD_ADMIN_GROUP: 'admins' });
  });
  after(() => admin.close());

  test('answers a request without a token with a bare challenge', async () => {
    const answered = await admin.send('GET', '/admin/clients', { token: '' });
    assert.deepEqual(outcome(answered), {
      status: 401,
      challenge: `Bearer realm="admin", scope="grantd:clients:read", DPoP realm="admin", scope="grantd:clients:read", algs="${ALGORITHMS}"`,
      body: {
        type: `${TYPES}/invalid_token`,
        title: 'The access token is missing, invalid or not for this API.',
        status: 401,
        code: 'invalid_token',
        detail: 'the access token is missing',
      },
    });
    assert.equal(answered.headers.get('content-type'), 'application/problem+json');
    assert.equal(answered.headers.get('cache-control'), 'no-store');
  });

  test('refuses a token for another audience, and one that lacks the scope', async () => {
    await admin.add('other', { scope: 'read' });
    const [issued] = await admin.server.operator.issueTokens({ clientId: 'other' });
    const foreign = await admin.send('GET', '/admin/clients', { token: issued?.accessToken });
    assert.deepEqual([foreign.status, foreign.body.detail], [401, 'the access token is for another API']);

    const token = await admin.tokenOf(['grantd:users:read']);
    const { status, challenge, body } = outcome(await admin.send('GET', '/admin/clients', { token }));
    assert.deepEqual([status, body.code], [403, 'insufficient_scope']);
    assert.match(challenge ?? '', /error="insufficient_scope".*scope="grantd:clients:read"/);
    assert.equal((await admin.send('GET', '/admin/users', { token })).status, 200);
  });

  test('refuses a token from the moment of its revocation', async () => {
    const token = await admin.tokenOf();
    assert.equal((await admin.send('GET', '/admin/keys', { token })).status, 200);
    await admin.server.revokeToken(token);
    const { status, body } = await admin.send('GET', '/admin/keys', { token });
    assert.deepEqual([status, body.detail], [401, 'the access token is revoked']);
  });

  test('RFC 9449 §7.1 a token that is bound to a key needs a proof, and each proof is good once', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const jwk = await exportJWK(publicKey);
    let made = 0;
    const proof = async (htm: string, htu: string, token?: string) => {
      const digest = await crypto.subtle.digest('SHA-256', Buffer.from(token ?? ''));
      const ath = token === undefined ? {} : { ath: Buffer.from(digest).toString('base64url') };
      made += 1;
      return new SignJWT({ htm, htu, jti: `${made}`, ...ath })
        .setIssuedAt()
        .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk })
        .sign(privateKey);
    };
    const response = await fetch(`${admin.url}/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'client_credentials', resource: AUDIENCE }),
      headers: {
        authorization: basic('ops', 'ops secret'),
        dpop: await proof('POST', `${ADMIN_ISSUER}/token`),
      },
    });
    const { access_token: token, token_type: type } = await response.json();
    assert.equal(type, 'DPoP');
    const { record } = await admin.server.operator.explainToken(token);
    assert.deepEqual(record?.confirmation, { jkt: await calculateJwkThumbprint(jwk) });

    assert.equal((await admin.send('GET', '/admin/keys', { token })).status, 401);
    const dpop = await proof('GET', `${ADMIN_ISSUER}/admin/keys`, token);
    const withProof = () =>
      admin.send('GET', '/admin/keys', { headers: { authorization: `DPoP ${token}`, dpop } });
    assert.equal((await withProof()).status, 200);
    const repeated = await withProof();
    assert.deepEqual([repeated.status, repeated.body.code], [401, 'invalid_token']);
    assert.match(repeated.headers.get('www-authenticate') ?? '', /error="invalid_dpop_proof"/);
  });

  test('a client gets a token with its own credentials, for the audience that its scopes belong to', async () => {
    const form = { grant_type: 'client_credentials', scope: 'grantd:clients:read' };
    const issued = await (await postForm(`${admin.url}/token`, form, basic('ops', 'ops secret'))).json();
    const { status, body } = await admin.send('GET', '/admin/clients/ops', { token: issued.access_token });
    assert.deepEqual([status, body.client_id, body.apis], [200, 'ops', [AUDIENCE]]);
  });

  test('a client loses access at once when an operator takes the API or the scope away', async () => {
    await admin.add('leaving', { scope: 'grantd:keys:read grantd:events:read', apis: [AUDIENCE] });
    const token = await admin.tokenOf(['grantd:keys:read'], { clientId: 'leaving' });
    assert.equal((await admin.send('GET', '/admin/keys', { token })).status, 200);
    const parts = { ...admin.instance, configuration: admin.configuration };
    await call(localCalls(parts), 'updateClient', { client_id: 'leaving', scope: 'grantd:events:read' });
    const { status, body } = await admin.send('GET', '/admin/keys', { token });
    assert.deepEqual([status, body.detail], [403, 'the client is not registered for grantd:keys:read']);
  });

  for (const [kind, own] of [
    ['registered itself', { registrationTokenDigest: 'digest', registeredAt: 1 }],
    ['has a document', { documentValidAt: 1, registeredAt: 1 }],
  ] as const)
    test(`a client that ${kind} never gets access, even if an operator allows it`, async () => {
      const id = `https://app.example/${kind.length}`;
      const stored = {
        ...{ ...own, id, redirectUris: [] },
        ...{ grantTypes: ['client_credentials'] as const, scopes: ['grantd:keys:read'] },
        metadata: { apis: [AUDIENCE] },
      };
      await admin.instance.storage.clients.add(stored);
      const token = await admin.tokenOf(['grantd:keys:read'], { clientId: id });
      assert.equal((await admin.send('GET', '/admin/keys', { token })).status, 403);

      await admin.instance.storage.clients.add({ ...stored, id: `${id}/2`, metadata: {}, scopes: [] });
      const parts = { ...admin.instance, configuration: admin.configuration };
      await assert.rejects(
        call(localCalls(parts), 'updateClient', { client_id: `${id}/2`, apis: [AUDIENCE] }),
        new InvalidInput('apis', [
          'not_for_admin_api',
          'only a client that an operator added can use the admin API',
        ]),
      );
    });

  test('no caller gets scopes through another client that it does not have itself', async () => {
    const token = await admin.tokenOf(['grantd:clients:write']);
    const needs = (scope: string) => ({
      code: 'insufficient_scope',
      detail: `the operation also needs the scope ${scope}`,
    });
    const refusal = ({ body: { code, detail } }: Answered) => ({ code, detail });
    const members = { scope: 'grantd:keys:write', apis: [AUDIENCE] };
    const added = await admin.send('POST', '/admin/clients', {
      token,
      body: { client_id: 'more', ...members },
    });
    assert.deepEqual(refusal(added), needs('grantd:keys:write'));
    assert.match(
      added.headers.get('www-authenticate') ?? '',
      /^\w+ realm="admin", error="insufficient_scope"$/,
    );
    assert.equal((await admin.send('GET', '/admin/clients/more')).status, 404);

    await admin.add('keeper', members);
    await admin.add('plain', { scope: 'read' });
    const headers = { 'if-match': '*' };
    const jwks = { keys: [] };
    for (const answered of [
      await admin.send('POST', '/admin/clients/keeper/rotate-secret', { token }),
      await admin.send('PATCH', '/admin/clients/keeper', { token, headers, body: { jwks } }),
      await admin.send('PATCH', '/admin/clients/keeper', { token, headers, body: { scope: 'read' } }),
      await admin.send('PATCH', '/admin/clients/plain', { token, headers, body: members }),
      await admin.send('POST', '/admin/clients/keeper/disable', { token }),
      await admin.send('POST', '/admin/clients/keeper/enable', { token }),
      await admin.send('DELETE', '/admin/clients/keeper', { token }),
    ])
      assert.deepEqual(refusal(answered), needs('grantd:keys:write'));
    const { disabled_at: disabledAt } = (await admin.send('GET', '/admin/clients/keeper')).body;
    assert.equal(disabledAt, undefined);
    assert.equal((await admin.send('POST', '/admin/clients/plain/rotate-secret', { token })).status, 200);
    assert.equal((await admin.send('POST', '/admin/clients/plain/disable', { token })).status, 200);
    assert.equal((await admin.send('POST', '/admin/clients/plain/enable', { token })).status, 200);
    assert.equal((await admin.send('DELETE', '/admin/clients/plain', { token })).status, 204);
  });

  test('a stored response is only for tokens with the scopes of the first one', async () => {
    const body = { client_id: 'stored', scope: 'grantd:keys:write', apis: [AUDIENCE] };
    const headers = { 'idempotency-key': 'stored-1' };
    const post = async (...scopes: readonly string[]) => {
      const token = await admin.tokenOf(scopes);
      const answered = await admin.send('POST', '/admin/clients', { token, headers, body });
      return [answered.status, answered.body.code, answered.headers.get('idempotency-replayed')];
    };
    assert.deepEqual(await post('grantd:clients:write', 'grantd:keys:write'), [201, undefined, null]);
    assert.deepEqual(await post('grantd:clients:write'), [403, 'insufficient_scope', null]);
    assert.deepEqual(await post('grantd:keys:write', 'grantd:clients:write'), [201, undefined, 'true']);
  });

  test('a further scope that an operation needs counts only while the client has it', async () => {
    const scopes = Object.keys(ADMIN_SCOPES);
    await admin.add('demoted', { scope: scopes.join(' '), apis: [AUDIENCE] });
    const token = await admin.tokenOf(scopes, { clientId: 'demoted' });
    const parts = { ...admin.instance, configuration: admin.configuration };
    await call(localCalls(parts), 'updateClient', { client_id: 'demoted', scope: 'grantd:users:write' });
    const { subject } = await admin.addUser('rita', ['admins']);
    const sent = { token, body: { password: 'correct horse' } };
    const { status, body } = await admin.send('PUT', `/admin/users/${subject}/password`, sent);
    assert.deepEqual([status, body.code], [403, 'insufficient_scope']);
  });

  test('a new user joins groups only through a caller who may change groups', async () => {
    const token = await admin.tokenOf(['grantd:users:write']);
    const body = { username: 'finn', password: 'correct horse', groups: ['staff'] };
    const { status, body: problem } = await admin.send('POST', '/admin/users', { token, body });
    assert.deepEqual([status, problem.code], [403, 'insufficient_scope']);
  });

  test('only a caller with every scope changes the administrators', async () => {
    const { subject: eve } = await admin.addUser('eve');
    const { subject: root } = await admin.addUser('root', ['admins']);
    const token = await admin.tokenOf(['grantd:users:write', 'grantd:groups:write']);
    const headers = { 'if-match': '*' };
    const body = { password: 'correct horse' };
    for (const answered of [
      await admin.send('PUT', `/admin/groups/admins/members/${eve}`, { token }),
      await admin.send('PUT', `/admin/users/${root}/password`, { token, body }),
      await admin.send('PATCH', `/admin/users/${root}`, {
        token,
        headers,
        body: { claims: { email: 'e@e.example' } },
      }),
      await admin.send('POST', '/admin/users', {
        token,
        body: { username: 'eve2', ...body, groups: ['admins'] },
      }),
      await admin.send('POST', `/admin/users/${root}/disable`, { token }),
      await admin.send('POST', `/admin/users/${root}/enable`, { token }),
      await admin.send('DELETE', `/admin/users/${root}/sessions`, { token }),
      await admin.send('DELETE', `/admin/users/${root}`, { token }),
      await admin.send('DELETE', `/admin/groups/admins/members/${root}`, { token }),
      await admin.send('DELETE', '/admin/groups/admins', { token }),
      await admin.send('DELETE', '/admin/groups/ADMINS', { token }),
    ])
      assert.deepEqual([answered.status, answered.body.code], [403, 'insufficient_scope']);
    const kept = (await admin.send('GET', `/admin/users/${root}`)).body;
    assert.deepEqual([kept.groups, kept.disabled_at], [['admins'], undefined]);
    assert.equal((await admin.send('PUT', `/admin/users/${eve}/password`, { token, body })).status, 200);
    assert.equal((await admin.send('POST', `/admin/users/${eve}/disable`, { token })).status, 200);
    assert.equal((await admin.send('POST', `/admin/users/${eve}/enable`, { token })).status, 200);
    assert.equal((await admin.send('DELETE', `/admin/users/${eve}/sessions`, { token })).status, 200);
    assert.equal((await admin.send('PUT', `/admin/groups/admins/members/${eve}`)).body.changed, true);
    assert.equal((await admin.send('DELETE', `/admin/groups/admins/members/${eve}`)).body.changed, true);
    assert.equal((await admin.send('DELETE', `/admin/users/${eve}`, { token })).status, 200);
  });

  test('no spelling of the admin group makes a new user an administrator', async () => {
    const token = await admin.tokenOf(['grantd:users:write']);
    const body = { username: 'mallory', password: 'correct horse' };
    for (const group of ['ADMINS', 'Admins', '\uff41dmins', '\u0430dmins']) {
      assert.equal((await admin.instance.groups.byName(group))?.name, 'admins', group);
      const sent = { token, body: { ...body, groups: [group] } };
      const answered = await admin.send('POST', '/admin/users', sent);
      assert.deepEqual([answered.status, answered.body.code], [403, 'insufficient_scope'], group);
    }
    assert.equal(await admin.instance.people.byName('mallory'), undefined);
    const added = await admin.send('POST', '/admin/users', { body: { ...body, groups: ['ADMINS'] } });
    assert.deepEqual([added.status, added.body.user.groups], [201, ['admins']]);
  });

  test('no claim forges the groups of a user', async () => {
    const { subject } = await admin.addUser('forger');
    const path = `/admin/users/${subject}`;
    const headers = { 'if-match': '*' };
    const claims = { groups: ['admins'] };
    const invitation = { email: 'f@f.example' };
    for (const answered of [
      await admin.send('PATCH', path, { headers, body: { claims } }),
      await admin.send('POST', '/admin/users', {
        body: { username: 'forger2', claims, password: 'correct horse' },
      }),
      await admin.send('POST', '/admin/users', { body: { username: 'forger2', claims, invitation } }),
    ])
      assert.deepEqual(
        [answered.status, answered.body.errors],
        [
          422,
          [
            {
              in: '/claims/groups',
              detail:
                'applications would see it instead of the user’s groups: add the user to groups with PUT /groups/{group}/members/{sub}',
            },
          ],
        ],
      );
    assert.deepEqual((await admin.instance.people.bySubject(subject))?.claims, {});
    assert.equal(await admin.instance.people.byName('forger2'), undefined);

    const person = await admin.instance.people.add({ name: 'forged', passwordHash: '', claims });
    const removed = { headers, body: { claims: { groups: null } } };
    const { status, body } = await admin.send('PATCH', `/admin/users/${person?.subject}`, removed);
    assert.deepEqual([status, body.user.claims], [200, {}]);
  });

  test('no client can take the place of the admin API, and clients for users need a group', async () => {
    await assert.rejects(
      admin.add('thief', { resource: AUDIENCE }),
      new InvalidInput('resource', ['not_for_admin_api', `${AUDIENCE} is the admin API of this server`]),
    );
    const { host } = new URL(ADMIN_ISSUER);
    for (const resource of [
      ...[AUDIENCE, `${AUDIENCE}/`, `${AUDIENCE}//`, `${AUDIENCE}?`, `https://${host}/%61dmin`],
      ...[`https://${host}/ADMIN`, `https://${host.toUpperCase()}:443/admin`, `http://${host}/admin/`],
      ...[ADMIN_ISSUER, `${ADMIN_ISSUER}/`, `https://${host}:443`, `https://${host}?a=b`, `http://${host}`],
    ])
      await assert.rejects(
        admin.add('thief', { resource }),
        (error: InvalidInput) =>
          error.member === 'resource' && /is (?:the admin API of )?this server/.test(error.problem),
        resource,
      );
    await assert.rejects(admin.add('grantd', {}), /grantd is the ID of this server’s admin API/);
    await assert.rejects(
      admin.add('thief', { resource: 'https://api.example', api_scopes: ['grantd:keys:read'] }),
      new InvalidInput('api_scopes', [
        'not_for_admin_api',
        'grantd:keys:read is a scope of this server’s admin API',
      ]),
    );
    await assert.rejects(
      admin.add('app', { redirect_uris: ['https://app.example/cb'], apis: [AUDIENCE] }),
      (error: InvalidInput) => error.member === 'apis' && /allowed_groups/.test(error.problem),
    );
  });

  test('a token does not change how its own user signs in', async () => {
    await admin.add('own', {
      redirect_uris: ['https://own.example/cb'],
      scope: ['openid', ...ALL_SCOPES].join(' '),
      ...{ apis: [AUDIENCE], allowed_groups: ['admins'] },
    });
    const own = await admin.addUser('own', ['admins']);
    const other = await admin.addUser('another', ['admins']);
    const token = await admin.tokenOf(ALL_SCOPES, { clientId: 'own', subject: own.subject });
    const changes = (subject: string) =>
      [
        ['PUT', '/password', { password: 'another horse' }],
        ['PATCH', '', { claims: { email: 'other@example.com' } }],
        ['DELETE', '/factors', undefined],
        ['POST', '/factors/confirm', undefined],
        ['DELETE', '/links/none', undefined],
        ['DELETE', '', undefined],
      ].map(async ([method, path, body]) => {
        const headers = { 'if-match': '*' };
        const sent = { token, headers: method === 'PATCH' ? headers : {}, ...(body && { body }) };
        return (await admin.send(String(method), `/admin/users/${subject}${path}`, sent)).status;
      });
    assert.deepEqual(await Promise.all(changes(own.subject)), Array(6).fill(403));
    // Others stay as they were, and so do other claims.
    const headers = { 'if-match': '*' };
    const named = { token, headers, body: { claims: { nickname: 'O' } } };
    assert.equal((await admin.send('PATCH', `/admin/users/${own.subject}`, named)).status, 200);
    for (const name of ['own', 'another']) {
      const line = JSON.stringify({ username: name, claims: { email: 'x@example.com' } });
      const headers = { 'content-type': 'application/x-ndjson' };
      const { text } = await admin.send(
        'POST',
        '/admin/imports/users?update=true&allow_administrators=true',
        {
          token,
          headers,
          body: line,
        },
      );
      assert.equal(text.includes('does not change the user whose token it is'), name === 'own', text);
    }
    const confirmed = await admin.send('POST', `/admin/users/${other.subject}/factors/confirm`, { token });
    assert.equal(confirmed.status, 200);
  });

  test('a user of the group uses the API through a client of the group, as long as both last', async () => {
    await admin.add('console', {
      redirect_uris: ['https://console.example/cb'],
      scope: 'openid grantd:groups:write',
      ...{ apis: [AUDIENCE], allowed_groups: ['admins'] },
    });
    const alice = await admin.addUser('alice', ['admins']);
    const order = { clientId: 'console', subject: alice.subject };
    const token = await admin.tokenOf(['grantd:groups:write'], order);
    const added = await admin.send('POST', '/admin/groups', { token, body: { name: 'staff' } });
    assert.equal(added.status, 201);
    const [event] = (await admin.send('GET', '/admin/events?type=group_added&target=staff')).body.items;
    assert.equal(event.actor, `api:console/${alice.subject}`);

    const clientId = `console/${alice.subject}`;
    await admin.add(clientId, { scope: 'grantd:groups:write', apis: [AUDIENCE] });
    const forged = await admin.tokenOf(['grantd:groups:write'], { clientId });
    await admin.send('POST', '/admin/groups', { token: forged, body: { name: 'forged' } });
    const [other] = (await admin.send('GET', '/admin/events?type=group_added&target=forged')).body.items;
    assert.equal(other.actor, `api:console%2F${alice.subject}`);

    await admin.instance.groups.beginEnd({ subject: alice.subject, group: 'admins' }, Date.now());
    const { status, body } = await admin.send('POST', '/admin/groups', { token, body: { name: 'staff2' } });
    assert.deepEqual([status, body.detail], [403, 'the user is not an administrator']);
  });
});

test('RFC 9700 §4.15 no client has the subject identifier of a user as its ID, not even of a removed one', async (t) => {
  const admin = await startAdmin();
  t.after(() => admin.close());
  const { subject } = await admin.addUser('alice');
  const isRefused = async () => {
    const body = { client_id: subject, grant_types: ['client_credentials'], scope: 'read' };
    const { status, body: answer } = await admin.send('POST', '/admin/clients', { body });
    assert.deepEqual(
      [status, answer.code, answer.detail],
      [409, 'conflict', `a user has or had the sub ${subject}, so APIs could take the client for the user`],
    );
  };
  await isRefused();
  await admin.send('DELETE', `/admin/users/${subject}`);
  await isRefused();
});

test('the admin API never takes the last administrator', async (t) => {
  const admin = await startAdmin({ GRANTD_ADMIN_GROUP: 'admins' });
  t.after(() => admin.close());
  const { subject: root } = await admin.addUser('root', ['admins']);
  const administrators = async () =>
    (await admin.instance.people.list({ group: 'admins', limit: 10 })).map(({ name }) => name);
  const last = /^root is the last administrator who can sign in: first add another one to the group admins$/;
  const isRefused = async (method: string, path: string) => {
    const { status, body } = await admin.send(method, path);
    assert.deepEqual([status, body.code], [409, 'conflict'], path);
    return body.detail as string;
  };
  const removals = [`/admin/users/${root}`, `/admin/groups/admins/members/${root}`];
  for (const path of removals) assert.match(await isRefused('DELETE', path), last);
  assert.equal(
    await isRefused('POST', `/admin/users/${root}/disable`),
    'an administrator cannot be disabled: first remove them from the group of administrators',
  );
  for (const name of ['admins', 'ADMINS'])
    assert.equal(
      await isRefused('DELETE', `/admin/groups/${name}`),
      'the group of administrators cannot be removed',
    );

  // Another one who cannot sign in does not count.
  const { subject: eve } = await admin.addUser('eve', ['admins']);
  await admin.instance.storage.setDisabled('subject', eve, true);
  for (const path of removals) assert.match(await isRefused('DELETE', path), last);

  const lines = [
    { username: 'root', disabled: true },
    { username: 'root', groups: [] },
  ];
  const imported = await admin.send('POST', '/admin/imports/users?update=true&allow_administrators=true', {
    headers: { 'content-type': 'application/x-ndjson' },
    body: lines.map((line) => JSON.stringify(line)).join('\n'),
  });
  const refusals = imported.text.match(/an import does not disable administrators or remove them/g);
  assert.equal(refusals?.length, 2, imported.text);
  assert.deepEqual(await administrators(), ['eve', 'root']);
  assert.equal((await admin.send('GET', `/admin/users/${root}`)).body.disabled_at, undefined);

  await admin.instance.storage.setDisabled('subject', eve, false);
  const answered = await Promise.all([
    admin.send('DELETE', `/admin/users/${root}`),
    admin.send('DELETE', `/admin/groups/admins/members/${eve}`),
  ]);
  assert.deepEqual(answered.map(({ status }) => status >= 400).sort(), [false, true]);
  assert.equal((await administrators()).length, 1);
});

test('--admin-group: a group that does not exist is refused at the start', async () => {
  await assert.rejects(
    startAdmin({ GRANTD_ADMIN_GROUP: 'admin' }),
    new Refused('GRANTD_ADMIN_GROUP: there is no group admin: add it first with grantd group add "admin".'),
  );
});

test('without --admin-group, no user may use the admin API', async (t) => {
  const admin = await startAdmin();
  t.after(() => admin.close());
  await admin.add('console', {
    redirect_uris: ['https://console.example/cb'],
    scope: 'grantd:keys:read',
    ...{ apis: [AUDIENCE], allowed_groups: ['admins'] },
  });
  const { subject } = await admin.addUser('alice', ['admins']);
  const token = await admin.tokenOf(['grantd:keys:read'], { clientId: 'console', subject });
  assert.equal((await admin.send('GET', '/admin/keys', { token })).status, 403);
});

test('--admin-from: for other addresses the admin API does not exist', async (t) => {
  const admin = await startAdmin({ GRANTD_ADMIN_FROM: '10.0.0.0/8', GRANTD_TRUSTED_PROXIES: '127.0.0.1' });
  t.after(() => admin.close());
  const from = (address: string) =>
    admin.send('GET', '/admin/keys', { headers: { 'x-forwarded-for': address } });
  assert.deepEqual([(await from('10.1.2.3')).status, (await from('192.0.2.1')).text], [200, 'no page']);
});

test('--admin-from: a client whose proxy reports no address does not have the address of the proxy', async (t) => {
  const admin = await startAdmin({ GRANTD_TRUSTED_PROXIES: '127.0.0.1' });
  t.after(() => admin.close());
  const from = (headers: Readonly<Record<string, string>>) => admin.send('GET', '/admin/keys', { headers });
  assert.equal((await from({})).status, 200, 'a client on this machine');
  for (const reported of ['unknown', '', '192.0.2.1, _hidden', '127.0.0.1.'])
    assert.equal((await from({ 'x-forwarded-for': reported })).text, 'no page', reported);
});

test('--admin-from: a request that an unknown proxy has passed on has no known address, so none admits it', async (t) => {
  const unconfigured = await startAdmin();
  t.after(() => unconfigured.close());
  const other = await startAdmin({ GRANTD_TRUSTED_PROXIES: '10.0.0.1' });
  t.after(() => other.close());
  const trusted = await startAdmin({ GRANTD_TRUSTED_PROXIES: '127.0.0.1' });
  t.after(() => trusted.close());
  const ask = async (admin: AdminServer, headers: Readonly<Record<string, string>>) =>
    (await admin.send('GET', '/admin/keys', { headers })).status;
  const byProxy = [
    { 'x-forwarded-for': '127.0.0.1' },
    { 'x-real-ip': '192.0.2.1' },
    { forwarded: 'for=192.0.2.1' },
    { 'x-forwarded-proto': 'https' },
    { via: '1.1 proxy' },
  ];
  for (const headers of byProxy)
    for (const admin of [unconfigured, other]) assert.equal(await ask(admin, headers), 404);
  for (const headers of byProxy.slice(1)) assert.equal(await ask(trusted, headers), 404);
  assert.equal(await ask(trusted, { 'x-forwarded-for': '127.0.0.1', via: '1.1 proxy' }), 200);
  for (const admin of [unconfigured, other, trusted]) {
    assert.equal(await ask(admin, {}), 200);
    assert.equal(admin.log().split('admin_request_through_unknown_proxy').length - 1, 1, 'one warning');
  }
});

test('--admin-request-limit: further requests of a client get 429, also guesses from an address', async (t) => {
  const admin = await startAdmin({ GRANTD_ADMIN_REQUEST_LIMIT: '3' });
  t.after(() => admin.close());
  const statuses: number[] = [];
  for (let sent = 0; sent < 4; sent++) statuses.push((await admin.send('GET', '/admin/keys')).status);
  assert.deepEqual(statuses, [200, 200, 200, 429]);
  const refused = await admin.send('GET', '/admin/keys');
  assert.deepEqual(
    [refused.body.code, Number(refused.headers.get('retry-after')) > 0],
    ['too_many_requests', true],
  );
  const guess = async (token: string) => (await admin.send('GET', '/admin/keys', { token })).status;
  for (const token of ['guess-1', 'guess-2', 'guess-2', 'guess-2', 'guess-3'])
    assert.equal(await guess(token), 401, 'the same one again is no guess');
  assert.equal(await guess('guess-4'), 429);
  assert.equal(await guess('guess-3'), 429);
});

test('strangers who guess tokens at an address stop no caller there, and a /48 has as many guesses as four addresses', async (t) => {
  const admin = await startAdmin({
    ...{ GRANTD_ADMIN_REQUEST_LIMIT: '5', GRANTD_TRUSTED_PROXIES: '127.0.0.1,::1' },
    GRANTD_ADMIN_FROM: '0.0.0.0/0,::/0',
  });
  t.after(() => admin.close());
  const from = async (address: string, token?: string) =>
    (await admin.send('GET', '/admin/keys', { token, headers: { 'x-forwarded-for': address } })).status;
  assert.equal(await from('192.0.2.1'), 200);
  const statuses: number[] = [];
  for (let sent = 0; sent < 7; sent++) statuses.push(await from('192.0.2.1', `guess-${sent}`));
  assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429, 429]);
  assert.equal(await from('192.0.2.1'), 200, 'a token that has been right');
  assert.equal(await from('192.0.2.2', 'guess'), 401, 'another address');
  let guesses = 0;
  for (let place = 0; place < 60; place++)
    if ((await from(`2001:db8:1:${place.toString(16)}::1`, `guess-${place}-of-a-site`)) === 401) guesses += 1;
  assert.equal(guesses, 4 * 5);
});

test('options that would let clients help themselves to the admin API are refused at the start', () => {
  const refused = (variables: Readonly<Record<string, string>>) => {
    const configuration = readConfiguration({}, { GRANTD_ISSUER: ADMIN_ISSUER, ...variables });
    let message: string | undefined;
    assert.throws(
      () => refuseOpenAdministration(configuration),
      (error: Error) => {
        message = error.message;
        return error instanceof ConfigurationRefused;
      },
    );
    return message;
  };
  assert.equal(
    refused({ GRANTD_REGISTRATION_SCOPES: 'openid,grantd:keys:read' }),
    'GRANTD_REGISTRATION_SCOPES: expected no scope of the admin API, got grantd:keys:read: clients cannot give it to themselves',
  );
  assert.match(
    refused({ GRANTD_REGISTRATION_APIS: AUDIENCE }) ?? '',
    /^GRANTD_REGISTRATION_APIS: expected no/,
  );
  assert.match(refused({ GRANTD_DEFAULT_AUDIENCE: AUDIENCE }) ?? '', /^GRANTD_DEFAULT_AUDIENCE: expected/);
  assert.match(refused({ GRANTD_ADMIN_GROUP: 'admins' }) ?? '', /expected --admin-api or --console with it$/);
});

test('users need the sign-in of the console for the API, and clients that act for themselves do not', async (t) => {
  const admin = await startAdmin({
    ...{ GRANTD_ADMIN_GROUP: 'admins', GRANTD_CONSOLE_SIGN_IN_POLICY: 'second_factor' },
  });
  t.after(() => admin.close());
  const alice = await admin.addUser('alice', ['admins']);
  const redirect = { redirect_uris: ['https://console.example/cb'], allowed_groups: ['admins'] };
  await admin.add('console', { ...redirect, scope: ALL_SCOPES.join(' '), apis: [AUDIENCE] });
  const order = { clientId: 'console', subject: alice.subject, format: 'opaque' } as const;
  const tokenWith = async (acr: string | undefined) => {
    const [issued] = await admin.server.operator.issueTokens({
      ...{ ...order, scopes: ['grantd:keys:read'], resources: [AUDIENCE] },
    });
    const database = new DatabaseSync(admin.database.name);
    const set = "UPDATE tokens SET claims = json_set(coalesce(claims, '{}'), '$.acr', ?) WHERE subject = ?";
    if (acr !== undefined) database.prepare(set).run(acr, alice.subject);
    database.close();
    return issued?.accessToken ?? '';
  };
  for (const acr of [undefined, 'urn:grantd:acr:password']) {
    const { status, headers, body } = await admin.send('GET', '/admin/keys', { token: await tokenWith(acr) });
    assert.deepEqual([status, body.code], [401, 'insufficient_user_authentication']);
    // RFC 9470 §3
    assert.equal(
      headers.get('www-authenticate'),
      'Bearer realm="admin", error="insufficient_user_authentication", error_description="the user must sign in as for the console", acr_values="urn:grantd:acr:multi-factor phr"',
    );
  }
  for (const acr of ['urn:grantd:acr:multi-factor', 'phr']) {
    const { status } = await admin.send('GET', '/admin/keys', { token: await tokenWith(acr) });
    assert.equal(status, 200, acr);
  }
  assert.equal((await admin.send('GET', '/admin/keys')).status, 200);
  await admin.instance.groups.change(
    'admins',
    { description: '', signInPolicy: 'phishing_resistant' },
    { description: '' },
  );
  const weaker = await admin.send('GET', '/admin/keys', {
    token: await tokenWith('urn:grantd:acr:multi-factor'),
  });
  assert.equal(weaker.status, 401, 'the policy of a group counts too');
});

test('the texts of scopes of this API, and of those that pages explain, are changed only by a caller with every scope', async (t) => {
  const admin = await startAdmin();
  t.after(() => admin.close());
  const token = await admin.tokenOf(['grantd:scopes:write']);
  const texts = { name: 'See your name' };
  const headers = { 'if-match': '*' };
  assert.deepEqual(EXPLAINED_SCOPES.toSorted(), Object.keys(EN.scopes).toSorted());
  for (const scope of [...Object.keys(ADMIN_SCOPES), ...EXPLAINED_SCOPES]) {
    const path = `/admin/scopes/${encodeURIComponent(scope)}`;
    const state = { scope_texts: { [scope]: texts } };
    const changes = (sent: { readonly token?: string }) => [
      () => admin.send('POST', '/admin/scopes', { ...sent, body: { scope, texts } }),
      () => admin.send('PATCH', path, { ...sent, headers, body: { description: 'Harmless' } }),
      () => admin.send('POST', '/admin/state/apply', { ...sent, headers, body: { state } }),
      () => admin.send('DELETE', path, sent),
    ];
    for (const change of changes({ token })) {
      const { status, body } = await change();
      assert.deepEqual([status, body.code], [403, 'insufficient_scope'], scope);
    }
    for (const change of changes({})) assert.ok((await change()).status < 300, scope);
  }
  const own = await admin.send('POST', '/admin/scopes', { token, body: { scope: 'read', texts } });
  assert.equal(own.status, 201);
});

test('only a caller with every scope gives a user the verified address of an administrator', async (t) => {
  const admin = await startAdmin({ GRANTD_ADMIN_GROUP: 'admins' });
  t.after(() => admin.close());
  const root = await admin.addUser('chief');
  await admin.instance.groups.addMember({ subject: root.subject, group: 'admins' }, Date.now());
  const headers = { 'if-match': '*' };
  const address = (email: string) => ({ claims: { email, email_verified: true } });
  const chiefs = address('chief@example.com');
  const set = { headers, body: chiefs };
  assert.equal((await admin.send('PATCH', `/admin/users/${root.subject}`, set)).status, 200);
  const { subject } = await admin.addUser('eve');
  const token = await admin.tokenOf(['grantd:users:read', 'grantd:users:write']);
  const password = 'correct horse battery';
  const ways = (body: ReturnType<typeof address>, sent: { readonly token?: string }) => [
    () => admin.send('PATCH', `/admin/users/${subject}`, { ...sent, headers, body }),
    () =>
      admin.send('POST', '/admin/users', {
        ...sent,
        body: { username: `of ${sent.token}`.slice(0, 20), password, ...body },
      }),
  ];
  for (const email of ['chief@example.com', 'Chief@EXAMPLE.com'])
    for (const way of ways(address(email), { token })) {
      const { status, body } = await way();
      assert.deepEqual([status, body.code], [403, 'insufficient_scope'], email);
    }
  const unverified = { claims: { email: 'chief@example.com' } };
  const plain = await admin.send('PATCH', `/admin/users/${subject}`, { token, headers, body: unverified });
  assert.equal(plain.status, 200);
  // The address that the user has now becomes verified.
  const late = await admin.send('PATCH', `/admin/users/${subject}`, {
    token,
    headers,
    body: { claims: { email_verified: true } },
  });
  assert.equal(late.status, 403);
  const line = JSON.stringify({ username: 'imported', ...chiefs });
  const { text } = await admin.send('POST', '/admin/imports/users', {
    token,
    headers: { 'content-type': 'application/x-ndjson' },
    body: line,
  });
  assert.match(text, /verified address of an administrator/);
  for (const way of ways(address('eve@example.com'), { token })) assert.ok((await way()).status < 300);
  for (const way of ways(chiefs, {})) assert.ok((await way()).status < 300);
});

test('no claim is set, imported or brought along that says who a user is', async (t) => {
  const admin = await startAdmin();
  t.after(() => admin.close());
  const { subject } = await admin.addUser('eve');
  const headers = { 'if-match': '*' };
  const password = 'correct horse';
  const own = [
    ...['sub', 'preferred_username', 'username', 'iss', 'aud', 'azp', 'client_id', 'scope', 'jti', 'sid'],
    ...['nonce', 'exp', 'iat', 'nbf', 'auth_time', 'acr', 'amr', 'cnf', 'act', 'may_act', 'events'],
    'token_type',
  ];
  for (const name of own) {
    const claims = { [name]: 'root', nickname: 'Eve' };
    for (const answered of [
      await admin.send('PATCH', `/admin/users/${subject}`, { headers, body: { claims } }),
      await admin.send('POST', '/admin/users', { body: { username: 'eve2', password, claims } }),
    ])
      assert.deepEqual([answered.status, answered.body.errors?.[0].in], [422, `/claims/${name}`]);
    const { body: report } = await admin.send('POST', '/admin/imports/users', {
      headers: { 'content-type': 'application/x-ndjson' },
      body: `${JSON.stringify({ username: `imported ${name}`, claims })}\n`,
    });
    const [first] = String(report)
      .split('\n')
      .map((line) => (line === '' ? {} : JSON.parse(line)));
    const imported = await admin.instance.people.byName(`imported ${name}`);
    if (name === 'sub') assert.deepEqual([first.outcome, imported], ['failed', undefined]);
    else
      assert.deepEqual(
        [first.warnings, imported?.claims],
        [[`claims: ${name}: left out: it comes from the server`], { nickname: 'Eve' }],
      );
  }
  assert.deepEqual((await admin.instance.people.bySubject(subject))?.claims, {});
  // As an earlier version, or the application around grantd, has them.
  const forged = Object.fromEntries(own.map((name) => [name, 'root']));
  assert.deepEqual(claimsOf({ name: 'eve', claims: { ...forged, nickname: 'Eve' } }), {
    nickname: 'Eve',
    preferred_username: 'eve',
  });
});
