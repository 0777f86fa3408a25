// § refers to RFC 7592.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type FetchDocument, rotatedSecrets } from '@grantd/core';
import { exportJWK, generateKeyPair } from 'jose';
import { changeClient } from './harness/client_change.ts';
import { ON_EVERY_STORE } from './harness/places.ts';
import {
  BY_DEFAULT,
  CALLBACK,
  configure,
  type Members,
  openRegistration,
  type Registered,
  register,
  registeredIn,
} from './harness/registration.ts';
import { PUBLIC_JSON_HEADERS, publicErrorOf } from './harness/responses.ts';
import { secondServer } from './harness/second_server.ts';
import { basic, openWorld, specification, type World } from './harness/world.ts';

const OPEN = openRegistration();

const REFUSED = publicErrorOf(401, 'invalid_token', 'expected the registration access token of this client', {
  ...PUBLIC_JSON_HEADERS,
  'www-authenticate':
    'Bearer error="invalid_token", error_description="expected the registration access token of this client"',
});

const unfit = (member: string, problem: string) =>
  publicErrorOf(400, 'invalid_client_metadata', `${member}: ${problem}`);

/** The client with the members of its own response, without an unsent secret. */
function answerTo(
  { client_secret: _, client_secret_expires_at: __, ...rest }: Registered,
  metadata: Members,
) {
  return { ...rest, metadata };
}

/** A client_credentials token of the client. */
async function tokenOf(world: World, { client_id, client_secret }: Registered): Promise<string> {
  const response = await world.post('/token', { grant_type: 'client_credentials' }, null, {
    authorization: basic(client_id, client_secret),
  });
  assert.equal(response.status, 200, response.body);
  return JSON.parse(response.body).access_token;
}

async function publicJwk() {
  const { publicKey } = await generateKeyPair('ES256', { extractable: true });
  return exportJWK(publicKey);
}

specification('RFC 7592 client configuration', ON_EVERY_STORE, (spec) => {
  // ── §2 the token ────────────────────────────────────────────────────────────────────────────────────────

  spec.http(
    '§2 whatever is wrong with the client or its token, the response is the same 401',
    async (world) => {
      const client = await register(world);
      const other = await register(world);
      const at = (id: string) => client.registration_client_uri.replace(client.client_id, id);
      for (const [what, wrong] of [
        ['another token', { ...client, registration_access_token: 'grantd_ra_x' }],
        ["another client's token", { ...client, registration_access_token: other.registration_access_token }],
        ['the secret', { ...client, registration_access_token: String(client.client_secret) }],
        ['an unknown client', { ...client, registration_client_uri: at('A'.repeat(22)) }],
        ['a client of the operator', { ...client, registration_client_uri: at('web') }],
        ['characters that no identifier has', { ...client, registration_client_uri: at('%27') }],
      ] as const) {
        for (const method of ['GET', 'PUT', 'DELETE'])
          assert.deepEqual(await configure(world, method, wrong, {}), REFUSED, `${method} with ${what}`);
      }
      assert.equal(world.lastReason, 'registration_token_wrong');
      const without = await world.send({ method: 'GET', path: `/register/${client.client_id}`, headers: {} });
      assert.deepEqual(without, REFUSED);
      assert.equal((await configure(world, 'GET', client)).status, 200);
      assert.equal((await configure(world, 'GET', other)).status, 200);
    },
    OPEN,
  );

  spec(
    '§2 a client that was disabled has no say any more, until it is enabled',
    async (world) => {
      const client = await register(world);
      await world.storage.setDisabled('client', client.client_id, true);
      for (const method of ['GET', 'PUT', 'DELETE'])
        assert.deepEqual(await configure(world, method, client, {}), REFUSED);
      await world.storage.setDisabled('client', client.client_id, false);
      assert.equal((await configure(world, 'GET', client)).status, 200);
    },
    OPEN,
  );

  spec.http(
    '§2 another method is 405 with Allow, and a path below the client is nothing',
    async (world) => {
      const client = await register(world);
      assert.deepEqual(
        await configure(world, 'POST', client, {}),
        publicErrorOf(405, 'invalid_request', 'the method is not allowed', {
          ...PUBLIC_JSON_HEADERS,
          allow: 'GET, HEAD, PUT, DELETE',
        }),
      );
      const { server } = world;
      assert.deepEqual(
        ['/register/a', '/register', '/register/a/b', '/register/', '/registered'].map((path) =>
          server.serves(path),
        ),
        [true, true, false, false, false],
      );
    },
    OPEN,
  );

  // ── §2.1 reading ────────────────────────────────────────────────────────────────────────────────────────

  spec.http(
    '§2.1 a client reads its whole registration with its token, except the secret, which is not stored',
    async (world) => {
      const client = await register(world, { redirect_uris: [CALLBACK], client_name: 'Shop' });
      world.clock.advance(60);
      const response = await configure(world, 'GET', client);
      assert.deepEqual([response.status, response.headers], [200, PUBLIC_JSON_HEADERS]);
      assert.deepEqual(registeredIn(response), answerTo(client, { ...BY_DEFAULT, client_name: 'Shop' }));
    },
    OPEN,
  );

  // ── §2.2 replacing ──────────────────────────────────────────────────────────────────────────────────────

  spec.http(
    '§2.2 a registration is replaced as a whole: omitted members are gone',
    async (world) => {
      const client = await register(world, {
        redirect_uris: [CALLBACK],
        client_name: 'Shop',
        'client_name#de': 'Laden',
        contacts: ['carol@app.example'],
        scope: 'openid email',
      });
      const replacement = {
        client_id: client.client_id,
        client_secret: client.client_secret,
        redirect_uris: [`${CALLBACK}/new`],
        grant_types: ['authorization_code', 'refresh_token'],
        client_name: 'Store',
        contacts: null,
        scope: 'openid',
      };
      const response = await configure(world, 'PUT', client, replacement);
      const expected = {
        ...client,
        metadata: {
          ...BY_DEFAULT,
          redirect_uris: [`${CALLBACK}/new`],
          grant_types: ['authorization_code', 'refresh_token'],
          client_name: 'Store',
          scope: 'openid',
        },
      };
      assert.deepEqual([response.status, response.headers], [200, PUBLIC_JSON_HEADERS]);
      assert.deepEqual(registeredIn(response), expected);
      const read = registeredIn(await configure(world, 'GET', client));
      assert.deepEqual(read, answerTo(client, expected.metadata));
    },
    OPEN,
  );

  spec(
    '§2.2 a client can send back any response as it is, and what the server sets stays',
    async (world) => {
      const client = await register(world);
      const read = JSON.parse((await configure(world, 'GET', client)).body);
      const { metadata, ...own } = client;
      assert.ok('client_secret_expires_at' in own && 'registration_client_uri' in own);
      const response = await configure(world, 'PUT', client, { ...own, ...metadata });
      assert.deepEqual(registeredIn(response), { ...client, metadata: BY_DEFAULT });
      for (const sent of [read, { ...read, registration_access_token: 'another', client_id_issued_at: 1 }])
        assert.deepEqual(
          registeredIn(await configure(world, 'PUT', client, sent)),
          answerTo(client, BY_DEFAULT),
        );
      assert.deepEqual(JSON.parse((await configure(world, 'GET', client)).body), read);
    },
    OPEN,
  );

  spec(
    '§2.2 a client names itself, and no secret but the one that it has',
    async (world) => {
      const client = await register(world);
      const put = (members: Members) =>
        configure(world, 'PUT', client, { redirect_uris: [CALLBACK], ...members });
      const wrongClient = unfit('client_id', 'expected the identifier of this client');
      assert.deepEqual(await put({}), wrongClient);
      assert.deepEqual(await put({ client_id: 'web' }), wrongClient);
      const wrongSecret = unfit('client_secret', 'expected a current secret of this client');
      for (const secret of ['chosen by the client', '', 7, [client.client_secret]])
        assert.deepEqual(await put({ client_id: client.client_id, client_secret: secret }), wrongSecret);
      const { client_id, client_secret } = client;
      assert.equal(registeredIn(await put({ client_id, client_secret })).client_secret, client_secret);
    },
    OPEN,
  );

  spec(
    '§2.2 a replacement is checked like a registration, and one that is refused changes nothing',
    async (world) => {
      const client = await register(world);
      const { client_id } = client;
      assert.deepEqual(
        await configure(world, 'PUT', client, { client_id, redirect_uris: ['http://app.example/'] }),
        publicErrorOf(
          400,
          'invalid_redirect_uri',
          'redirect_uris: expected https, and not localhost, for a web application; native applications send application_type native',
        ),
      );
      assert.deepEqual(
        await configure(world, 'PUT', client, {
          client_id,
          redirect_uris: [CALLBACK],
          default_max_age: 'soon',
        }),
        unfit('default_max_age', 'expected whole seconds from 0 to 31536000'),
      );
      assert.deepEqual(registeredIn(await configure(world, 'GET', client)), answerTo(client, BY_DEFAULT));
    },
    OPEN,
  );

  spec(
    '§3 a client that sends its old secret gets the end of that secret',
    async (world) => {
      const client = await register(world);
      const { client_id, client_secret = '' } = client;
      const read = await world.storage.clients.get(client_id);
      const added = await world.server.operator.hashClientSecret('the new one');
      const rotation = { nowMs: world.clock.read(), overlap: 60 };
      const secrets = rotatedSecrets(read?.secrets ?? [], added, rotation);
      assert.ok(await world.storage.clients.replaceSecrets(client_id, secrets, read ?? {}));
      const told = async (secret: string) => {
        const sent = { client_id, redirect_uris: [CALLBACK], client_secret: secret };
        const answered = registeredIn(await configure(world, 'PUT', client, sent));
        return [answered.client_secret, answered.client_secret_expires_at];
      };
      assert.deepEqual(await told(client_secret), [client_secret, world.clock.seconds + 60]);
      assert.deepEqual(await told('the new one'), ['the new one', 0]);
      world.clock.advance(60);
      const { status } = await configure(world, 'PUT', client, { client_id, client_secret });
      assert.equal(status, 400);
    },
    OPEN,
  );

  spec(
    '§2.2 a client that needs a secret no more loses it, and one that needs it again gets a new one',
    async (world) => {
      const client = await register(world);
      const { client_id } = client;
      const put = async (members: Members) =>
        registeredIn(
          await configure(world, 'PUT', client, { client_id, redirect_uris: [CALLBACK], ...members }),
        );
      const withKeys = await put({
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [await publicJwk()] },
      });
      assert.equal(withKeys.client_secret, undefined);
      assert.equal((await world.storage.clients.get(client_id))?.secrets, undefined);
      const again = await put({ token_endpoint_auth_method: 'client_secret_post' });
      assert.ok(again.client_secret && again.client_secret !== client.client_secret);
      assert.equal(again.client_secret_expires_at, 0);
      const kept = await put({ token_endpoint_auth_method: 'client_secret_basic' });
      assert.equal(kept.client_secret, undefined, 'it stays the same, which nobody stores');
      assert.deepEqual((await world.storage.clients.get(client_id))?.secrets, [
        await world.server.operator.hashClientSecret(again.client_secret),
      ]);
    },
    OPEN,
  );

  spec(
    '§2.2 a client keeps what the operator set, including scopes and grants',
    async (world) => {
      const client = await register(world);
      const { client_id } = client;
      await changeClient(world, client_id, {
        resource: 'https://api.example/shop',
        accessTokenFormat: 'opaque',
        rotateRefreshTokens: false,
        grantTypes: ['authorization_code', 'client_credentials'],
        scopes: ['openid', 'write'],
      });
      const response = await configure(world, 'PUT', client, {
        client_id,
        redirect_uris: [CALLBACK],
        grant_types: ['authorization_code', 'client_credentials'],
        scope: 'openid write',
        resource: 'https://api.example/other',
        access_token_format: 'jwt',
      });
      assert.deepEqual(registeredIn(response).metadata, {
        ...BY_DEFAULT,
        grant_types: ['authorization_code', 'client_credentials'],
        scope: 'openid write',
        resource: 'https://api.example/shop',
        access_token_format: 'opaque',
        rotate_refresh_tokens: false,
      });
    },
    OPEN,
  );

  spec(
    '§2.2 a client cannot change operator settings, and the response lists them',
    async (world) => {
      const client = await register(world, {
        redirect_uris: [CALLBACK],
        client_name: 'Shop',
        'client_name#de': 'Laden',
        contacts: ['a@shop.example'],
      });
      const { client_id } = client;
      const set = [
        'scope',
        'require_pushed_authorization_requests',
        'grant_types',
        'client_name',
        'contacts',
      ];
      const restricted = { require_pushed_authorization_requests: true, set_by_operator: set };
      await changeClient(world, client_id, {
        scopes: ['openid'],
        name: 'Unchecked shop',
        metadata: restricted,
      });
      const response = await configure(world, 'PUT', client, {
        client_id,
        redirect_uris: [`${CALLBACK}/new`],
        scope: 'openid email',
        client_name: 'Bank',
        contacts: ['b@shop.example'],
        grant_types: ['authorization_code', 'refresh_token'],
        require_pushed_authorization_requests: false,
        set_by_operator: [],
      });
      const kept = {
        ...BY_DEFAULT,
        ...restricted,
        redirect_uris: [`${CALLBACK}/new`],
        client_name: 'Unchecked shop',
        scope: 'openid',
      };
      assert.deepEqual(registeredIn(response).metadata, kept);
      const again = { client_id, redirect_uris: [CALLBACK] };
      assert.deepEqual(registeredIn(await configure(world, 'PUT', client, again)).metadata, {
        ...kept,
        redirect_uris: [CALLBACK],
      });
      await changeClient(world, client_id, { scopes: [] });
      const without = registeredIn(await configure(world, 'PUT', client, { ...again, scope: 'openid' }));
      assert.equal(without.metadata.scope, undefined, 'no scope is a restriction as well');
    },
    OPEN,
  );

  spec(
    '§2.2 what the operator set, a client cannot say in another language either',
    async (world) => {
      const client = await register(world, { redirect_uris: [CALLBACK], client_name: 'Shop' });
      const { client_id } = client;
      const set = { set_by_operator: ['client_name', 'tos_uri#de'], 'tos_uri#de': `${CALLBACK}/agb` };
      await changeClient(world, client_id, { name: 'Unchecked shop', metadata: set });
      const response = await configure(world, 'PUT', client, {
        client_id,
        redirect_uris: [CALLBACK],
        'client_name#en': 'Bank',
        'client_name#de-AT': 'Bank',
        'tos_uri#de': `${CALLBACK}/other`,
        'tos_uri#fr': `${CALLBACK}/conditions`,
      });
      const { metadata } = registeredIn(response);
      const kept = { ...BY_DEFAULT, ...set, client_name: 'Unchecked shop' };
      assert.deepEqual(metadata, { ...kept, 'tos_uri#fr': `${CALLBACK}/conditions` });
    },
    OPEN,
  );

  spec(
    '§2.2 what the operator set stays, also if a client could not register it',
    async (world) => {
      const client = await register(world, { redirect_uris: [CALLBACK] });
      const { client_id } = client;
      const http = 'http://intranet.example/x';
      const metadata = {
        ...{ tos_uri: http, post_logout_redirect_uris: [http], backchannel_logout_uri: http },
        set_by_operator: [
          ...['redirect_uris', 'tos_uri', 'post_logout_redirect_uris', 'backchannel_logout_uri'],
          'insecure_redirect_uris',
        ],
        insecure_redirect_uris: true,
      };
      await changeClient(world, client_id, { redirectUris: [http], metadata });
      const response = await configure(world, 'PUT', client, { client_id, redirect_uris: [CALLBACK] });
      assert.deepEqual(registeredIn(response).metadata, {
        ...BY_DEFAULT,
        ...metadata,
        redirect_uris: [http],
      });
    },
    OPEN,
  );

  spec(
    '§2.2 a client may ask for the APIs that were open when it registered, whatever it says',
    async (world) => {
      const api = 'https://api.example';
      const client = await register(world, { redirect_uris: [CALLBACK], apis: ['https://other.example'] });
      assert.deepEqual(client.metadata, { ...BY_DEFAULT, scope: `${BY_DEFAULT.scope} read`, apis: [api] });
      const { client_id } = client;
      const put = async () =>
        registeredIn(
          await configure(world, 'PUT', client, { client_id, redirect_uris: [CALLBACK], apis: [] }),
        );
      assert.deepEqual((await put()).metadata.apis, [api]);
      await changeClient(world, client_id, { metadata: {} });
      assert.equal((await put()).metadata.apis, undefined, 'the operator took it away');
    },
    openRegistration({ scopes: ['read'], apis: ['https://api.example'] }),
  );

  spec(
    '§2.2 the tokens of a client that is replaced live on',
    async (world) => {
      const client = await register(world, { grant_types: ['client_credentials'] });
      const token = await tokenOf(world, client);
      await configure(world, 'PUT', client, {
        client_id: client.client_id,
        grant_types: ['client_credentials'],
        client_name: 'Reports',
      });
      assert.deepEqual(await world.alive(token), [true]);
    },
    openRegistration({ scopes: ['read'], grantTypes: ['client_credentials'] }),
  );

  // ── §2.3 removing ───────────────────────────────────────────────────────────────────────────────────────

  spec.http(
    '§2.3 a removed client is gone at once, with its tokens and its registration access token',
    async (world) => {
      const client = await register(world, { grant_types: ['client_credentials'] });
      const token = await tokenOf(world, client);
      assert.deepEqual(await configure(world, 'DELETE', client), {
        status: 204,
        headers: { 'cache-control': 'no-store', 'access-control-allow-origin': '*' },
        body: '',
      });
      assert.deepEqual(await world.alive(token), [false]);
      assert.equal(await world.storage.clients.get(client.client_id), undefined);
      for (const method of ['GET', 'PUT', 'DELETE'])
        assert.deepEqual(await configure(world, method, client, {}), REFUSED);
      const refused = await world.post('/token', { grant_type: 'client_credentials' }, null, {
        authorization: basic(client.client_id, client.client_secret),
      });
      assert.equal(refused.status, 401);
    },
    openRegistration({ scopes: ['read'], grantTypes: ['client_credentials'] }),
  );
});

test('RFC 7592 §2.2 a replacement does not restore a client that was removed meanwhile', async (t) => {
  const world = await openWorld(t, OPEN);
  const client = await register(world);
  const { clients } = world.storage;
  const late = {
    ...world.storage,
    clients: {
      ...clients,
      get: async (id: string) => {
        const found = await clients.get(id);
        await clients.remove(id);
        return found;
      },
    },
  };
  const server = await secondServer(world, OPEN, late);
  const members = { client_id: client.client_id, redirect_uris: [CALLBACK] };
  assert.deepEqual(await configure(server, 'PUT', client, members), REFUSED);
  assert.equal(await clients.get(client.client_id), undefined);
});

test('RFC 7592 §3 an issuer with a path has the configuration endpoint below it', async (t) => {
  const issuer = 'https://as.example/tenants/one';
  const world = await openWorld(t, { ...OPEN, issuer, paths: { registration: '/clients' } });
  const { server } = world;
  const response = await server.register({
    method: 'POST',
    url: '/tenants/one/clients',
    headers: { 'content-type': 'application/json' },
    body: { redirect_uris: [CALLBACK] },
  });
  const { registration_client_uri: uri, registration_access_token: token } = JSON.parse(response.body);
  assert.ok(uri.startsWith(`${issuer}/clients/`));
  const read = await server.handle({
    method: 'GET',
    url: uri,
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(read?.status, 200);
});

// ── Concurrent changes ────────────────────────────────────────────────────────────────────────────────────

const SECTOR = 'https://app.example/sector.json';

/** A client that replaces its registration. The server fetches a document, and meanwhile the action happens. */
async function replacing(
  t: TestContext,
  meanwhile: (world: World, clientId: string, attempt: number) => Promise<unknown>,
) {
  let attempts = 0;
  const fetchDocument: FetchDocument = async () => {
    attempts += 1;
    await meanwhile(world, client.client_id, attempts);
    return { status: 200, contentType: 'application/json', body: JSON.stringify([CALLBACK]) };
  };
  const world = await openWorld(t, { ...OPEN, fetchDocument, pairwiseSecret: 'p'.repeat(32) });
  const client = await register(world);
  const response = await configure(world, 'PUT', client, {
    client_id: client.client_id,
    redirect_uris: [CALLBACK],
    client_name: 'Anew',
    sector_identifier_uri: SECTOR,
  });
  const record = await world.storage.clients.get(client.client_id);
  return { world, response, record, attempts };
}

async function replaceSecret({ clients }: World['storage'], id: string, hash: string): Promise<boolean> {
  return clients.replaceSecrets(id, [{ hash }], (await clients.get(id)) ?? {});
}

test('RFC 7592 §2.2 a secret that an operator replaces meanwhile is not restored', async (t) => {
  const { response, record, attempts } = await replacing(t, async ({ storage }, id, attempt) => {
    if (attempt === 1) assert.ok(await replaceSecret(storage, id, 'rotated'));
  });
  assert.deepEqual([response.status, attempts], [200, 2]);
  assert.deepEqual([record?.name, record?.secrets], ['Anew', [{ hash: 'rotated' }]]);
});

test('RFC 7592 §2.2 the client keeps what an operator sets meanwhile', async (t) => {
  const { response, record } = await replacing(t, async (world, id, attempt) => {
    if (attempt === 1) await changeClient(world, id, { resource: 'https://api.example/given' });
  });
  assert.equal(registeredIn(response).metadata.resource, 'https://api.example/given');
  assert.deepEqual([record?.name, record?.resource], ['Anew', 'https://api.example/given']);
});

test('RFC 7592 §2.2 a client that is disabled or removed meanwhile is refused and not changed', async (t) => {
  const disabled = await replacing(t, async ({ storage }, id) => storage.setDisabled('client', id, true));
  assert.deepEqual(disabled.response, REFUSED);
  assert.equal(disabled.world.lastReason, 'client_disabled');
  assert.equal(disabled.record?.name, undefined);
  const removed = await replacing(t, async ({ storage }, id) => storage.clients.remove(id));
  assert.deepEqual(removed.response, REFUSED);
  assert.equal(removed.record, undefined);
});

test('RFC 7592 §2.2 a client that another process changes each time must try again', async (t) => {
  const { world, response, record, attempts } = await replacing(t, async ({ storage }, id, attempt) =>
    replaceSecret(storage, id, `rotated ${attempt}`),
  );
  const description = 'the client was changed at the same time: send the request again';
  assert.deepEqual(response, publicErrorOf(409, 'invalid_request', description, PUBLIC_JSON_HEADERS));
  assert.equal(world.lastReason, 'client_changed_meanwhile');
  assert.deepEqual([attempts, record?.name, record?.secrets], [3, undefined, [{ hash: 'rotated 3' }]]);
});
