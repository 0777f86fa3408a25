// § refers to OpenID Connect Core.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClientMetadata, ClientSecretRecord } from '@grantd/core';
import { rotatedSecrets, ServerSecret, usableSecrets } from '@grantd/core';
import { SignJWT } from 'jose';
import * as oauth from 'oauth4webapi';
import { asParameters } from './harness/client_keys.ts';
import { discovered, libraryOptions } from './harness/client_library.ts';
import { counted } from './harness/counted_calls.ts';
import { ON_EVERY_STORE } from './harness/places.ts';
import { CALLBACK, configure, openRegistration, register, registeredIn } from './harness/registration.ts';
import { CLIENT_CHALLENGE, JSON_HEADERS } from './harness/responses.ts';
import { secondServer } from './harness/second_server.ts';
import type { TestResponse } from './harness/transports/transport.ts';
import { basic, CLIENTS, ISSUER, openWorld, SECRET, specification, type World } from './harness/world.ts';

const METHOD = { token_endpoint_auth_method: 'client_secret_jwt' } as const;
const NEW_SECRET = 'the server secret that follows, with more than 32 characters';
const REFUSED: TestResponse = {
  status: 401,
  headers: { ...JSON_HEADERS, 'www-authenticate': CLIENT_CHALLENGE },
  body: '{"error":"invalid_client","error_description":"client authentication failed"}',
};

/** Adds a client with this method. @returns its secret */
async function addClient(world: World, id = 'mac', metadata: ClientMetadata = {}): Promise<string> {
  const { operator } = world.server;
  const whole = { ...METHOD, ...metadata };
  const secret = operator.newClientSecret(whole);
  const secrets = [await operator.hashClientSecret(secret, whole)];
  await world.storage.clients.add({ ...CLIENTS.machine, id, secrets, metadata: whole });
  return secret;
}

interface AssertionChanges {
  readonly alg?: string;
  readonly id?: string;
  readonly [claim: string]: unknown;
}

let issued = 0;

/** An assertion of a client, with a MAC by this secret. */
async function assertion(
  world: World,
  secret: string,
  { alg = 'HS256', id = 'mac', ...claims }: AssertionChanges = {},
): Promise<Readonly<Record<string, string>>> {
  issued += 1;
  const { seconds } = world.clock;
  const jwt = new SignJWT({
    iss: id,
    sub: id,
    aud: ISSUER,
    exp: seconds + 60,
    jti: `mac ${issued}`,
    ...claims,
  });
  const key = new TextEncoder().encode(secret);
  return asParameters(await jwt.setProtectedHeader({ alg }).sign(key));
}

/** Introspects as the client of this assertion. */
async function introspect(world: World, parameters: Readonly<Record<string, string>>): Promise<TestResponse> {
  return world.post('/token/introspect', { token: 'x', ...parameters });
}

async function assertRefused(
  world: World,
  parameters: Readonly<Record<string, string>>,
  reason: string,
): Promise<void> {
  assert.deepEqual(await introspect(world, parameters), REFUSED, reason);
  assert.equal(world.lastReason, reason);
}

async function storedSecrets(world: World, id = 'mac'): Promise<readonly ClientSecretRecord[]> {
  return (await world.storage.clients.get(id))?.secrets ?? [];
}

specification('client_secret_jwt (OpenID Connect Core §9)', ON_EVERY_STORE, (spec) => {
  spec(
    '§9 a client is known by an assertion with a MAC by its secret, with each algorithm',
    async (world) => {
      const secret = await addClient(world);
      for (const alg of ['HS256', 'HS384', 'HS512'])
        for (const path of ['/token', '/token/introspect', '/token/revoke']) {
          const form = {
            grant_type: 'client_credentials',
            token: 'x',
            ...(await assertion(world, secret, { alg })),
          };
          assert.equal((await world.post(path, form)).status, 200, `${alg} at ${path}`);
        }
    },
  );

  spec('§9 an assertion works once', async (world) => {
    const secret = await addClient(world);
    const once = await assertion(world, secret);
    assert.equal((await introspect(world, once)).status, 200);
    await assertRefused(world, once, 'assertion_replayed');
  });

  spec(
    '§9 a wrong secret is refused: of another client, the stored hash, or the sealed text',
    async (world) => {
      await addClient(world);
      const other = await addClient(world, 'other');
      const [stored] = await storedSecrets(world);
      for (const secret of [other, stored?.hash ?? '', stored?.sealed ?? '', `${other} `])
        await assertRefused(world, await assertion(world, secret), 'assertion_signature_wrong');
    },
  );

  spec('§9 issuer, subject, audience and times are checked as for private_key_jwt', async (world) => {
    const secret = await addClient(world);
    const wrong: readonly [Readonly<Record<string, unknown>>, string][] = [
      [{ iss: 'other' }, 'assertion_subject_wrong'],
      [{ aud: 'https://other.example' }, 'assertion_audience_wrong'],
      [{ exp: world.clock.seconds }, 'assertion_expired'],
      [{ exp: world.clock.seconds + 3600 }, 'assertion_lives_too_long'],
      [{ jti: undefined }, 'assertion_identifier_missing'],
    ];
    for (const [claims, reason] of wrong)
      await assertRefused(world, await assertion(world, secret, claims), reason);
  });

  spec('§9 the method is for clients that are registered for it, and their only one', async (world) => {
    const secret = await addClient(world);
    assert.equal(
      (await world.post('/token/introspect', { token: 'x' }, null, { authorization: basic('mac', secret) }))
        .status,
      401,
    );
    assert.equal(world.lastReason, 'client_method_wrong');
    await assertRefused(world, { client_id: 'mac', client_secret: secret }, 'client_method_wrong');
    for (const [id, text] of [
      ['machine', 'the secret of machine'],
      ['spa', 'x'.repeat(64)],
    ] as const) {
      assert.deepEqual(await introspect(world, await assertion(world, text, { id })), REFUSED);
      assert.match(world.lastReason ?? '', /^client_(method_wrong|secret_unexpected)$/);
    }
  });

  spec('§9 the secret is stored sealed only for these clients, and nowhere in clear text', async (world) => {
    const secret = await addClient(world);
    const [stored, ...others] = await storedSecrets(world);
    assert.deepEqual(others, []);
    assert.match(stored?.sealed ?? '', /^[\w-]+\.\.[\w-]+\.[\w-]+\.[\w-]+$/);
    assert.equal(JSON.stringify(await world.storage.clients.list()).includes(secret), false);
    assert.equal((await storedSecrets(world, 'machine'))[0]?.sealed, undefined);
  });

  spec('§9 while a secret is rotated, both work; then only the new one', async (world) => {
    const old = await addClient(world);
    const { operator } = world.server;
    const added = operator.newClientSecret(METHOD);
    const client = await world.storage.clients.get('mac');
    assert.ok(client?.secrets);
    const record = await operator.hashClientSecret(added, METHOD);
    const secrets = rotatedSecrets(client.secrets, record, { nowMs: world.clock.nowMs, overlap: 100 });
    await world.storage.clients.replaceSecrets('mac', secrets, client);
    for (const secret of [old, added])
      assert.equal((await introspect(world, await assertion(world, secret))).status, 200);
    world.clock.advance(100);
    await assertRefused(world, await assertion(world, old), 'assertion_signature_wrong');
    assert.equal((await introspect(world, await assertion(world, added))).status, 200);
  });

  spec('§9 when the client authenticates, its secret moves to the newest server secret', async (world) => {
    const secret = await addClient(world);
    const both = await secondServer(world, { secret: [NEW_SECRET, SECRET] });
    const dependents = async () => {
      const { secrets } = await both.server.operator.secretDependents(await world.storage.clients.list());
      return secrets.map(({ clients }) => clients.includes('mac'));
    };
    assert.deepEqual(await dependents(), [false, true]);
    assert.equal((await introspect(both, await assertion(both, secret))).status, 200);
    await both.server.flush();
    assert.deepEqual(await dependents(), [true, false]);
    const changed = await secondServer(world, { secret: NEW_SECRET });
    assert.equal((await introspect(changed, await assertion(changed, secret))).status, 200);
    await assertRefused(world, await assertion(world, secret), 'assertion_signature_wrong');
  });
});

test('OpenID Connect Registration §2 a registered algorithm is the only one', async (t) => {
  const world = await openWorld(t);
  const secret = await addClient(world, 'mac', { token_endpoint_auth_signing_alg: 'HS384' });
  assert.equal((await introspect(world, await assertion(world, secret, { alg: 'HS384' }))).status, 200);
  for (const alg of ['HS256', 'HS512'])
    await assertRefused(world, await assertion(world, secret, { alg }), 'assertion_algorithm_refused');
});

test('§16.19 a generated secret has enough bytes for every algorithm, and a supplied one for its own', async (t) => {
  const world = await openWorld(t);
  const { operator } = world.server;
  assert.match(operator.newClientSecret(METHOD), /^grantd_cs_[\w-]{86}$/);
  assert.match(operator.newClientSecret(), /^grantd_cs_[\w-]{43}$/);
  for (const [alg, least] of [
    [undefined, 32],
    ['HS256', 32],
    ['HS384', 48],
    ['HS512', 64],
  ] as const) {
    const metadata = { ...METHOD, ...(alg && { token_endpoint_auth_signing_alg: alg }) };
    await operator.hashClientSecret('é'.repeat(least / 2), metadata);
    await assert.rejects(operator.hashClientSecret('x'.repeat(least - 1), metadata), {
      name: 'ClientMetadataError',
      message: `client_secret: expected at least ${least} bytes`,
    });
  }
  await operator.hashClientSecret('short');
});

test('§16.19 a secret that is too short for an algorithm is refused with it', async (t) => {
  const world = await openWorld(t);
  const secret = 'a secret of exactly 40 characters, or so';
  assert.equal(secret.length, 40);
  const secrets = [await world.server.operator.hashClientSecret(secret, METHOD)];
  await world.storage.clients.add({ ...CLIENTS.machine, id: 'mac', secrets, metadata: METHOD });
  assert.equal((await introspect(world, await assertion(world, secret))).status, 200);
  for (const alg of ['HS384', 'HS512'])
    await assertRefused(world, await assertion(world, secret, { alg }), 'client_secret_too_short');
});

test('§9 without a sealed secret nothing can be checked, and the operator learns why', async (t) => {
  const world = await openWorld(t);
  const { operator } = world.server;
  const secret = operator.newClientSecret(METHOD);
  const secrets = [await operator.hashClientSecret(secret)];
  await world.storage.clients.add({ ...CLIENTS.machine, id: 'mac', secrets, metadata: METHOD });
  await assertRefused(world, await assertion(world, secret), 'client_secret_not_sealed');
});

test('§9 a sealed secret cannot be moved to another record, or opened without the server secret', async (t) => {
  const world = await openWorld(t);
  const secret = await addClient(world);
  await addClient(world, 'other');
  const [own] = await storedSecrets(world);
  const other = await world.storage.clients.get('other');
  assert.ok(own?.sealed && other?.secrets?.[0]);
  const swapped = [{ ...other.secrets[0], sealed: own.sealed }];
  await world.storage.clients.replaceSecrets('other', swapped, other);
  await assertRefused(world, await assertion(world, secret, { id: 'other' }), 'assertion_signature_wrong');

  const opened = await new ServerSecret(SECRET).unseal('client_secret_seal', own.hash, own.sealed);
  assert.deepEqual(opened, { index: 0, text: secret });
  const stranger = new ServerSecret(NEW_SECRET);
  assert.equal(await stranger.unseal('client_secret_seal', own.hash, own.sealed), undefined);
  assert.equal(await new ServerSecret(SECRET).unseal('signing_key', own.hash, own.sealed), undefined);
});

test('§9 a change of the method needs a new secret, or removes the sealed one', async (t) => {
  const world = await openWorld(t);
  const { operator } = world.server;
  const sealed = await operator.hashClientSecret('x'.repeat(64), METHOD);
  const hashed = await operator.hashClientSecret('y'.repeat(64));
  assert.equal(usableSecrets(METHOD, undefined), undefined);
  assert.equal(usableSecrets(METHOD, [hashed]), undefined);
  assert.deepEqual(usableSecrets(METHOD, [hashed, sealed]), [sealed]);
  const { sealed: _, ...withoutSeal } = sealed;
  assert.deepEqual(usableSecrets({}, [hashed, sealed]), [hashed, withoutSeal]);
});

test('RFC 7591 §2 a client registers for the method, gets a long secret, and changes the method', async (t) => {
  const world = await openWorld(t, openRegistration());
  const members = {
    redirect_uris: [CALLBACK],
    grant_types: ['authorization_code'],
    token_endpoint_auth_signing_alg: 'HS512',
    ...METHOD,
  };
  const registered = await register(world, members);
  const { client_id: id, client_secret: secret = '' } = registered;
  assert.match(secret, /^grantd_cs_[\w-]{86}$/);
  const use = async (text: string) => introspect(world, await assertion(world, text, { id, alg: 'HS512' }));
  assert.equal((await use(secret)).status, 200);
  const { token_endpoint_auth_signing_alg: _, ...others } = members;
  const change = async (method: string) => {
    const sent = { ...others, client_id: id, token_endpoint_auth_method: method };
    const response = await configure(world, 'PUT', registered, sent);
    assert.equal(response.status, 200, response.body);
    return registeredIn(response);
  };
  assert.equal((await change('client_secret_basic')).client_secret, undefined);
  assert.deepEqual(
    (await storedSecrets(world, id)).map(({ sealed }) => sealed),
    [undefined],
  );
  const again = (await change('client_secret_jwt')).client_secret ?? '';
  assert.match(again, /^grantd_cs_[\w-]{86}$/);
  assert.notEqual(again, secret);
  assert.equal((await use(again)).status, 200);
  assert.equal((await use(secret)).status, 401);
});

test('§9 an unknown client costs as many look-ups, decryptions and checks as a wrong secret', async (t) => {
  const world = await openWorld(t);
  await addClient(world);
  const lookUps: string[] = [];
  const clients = counted(world.storage.clients, (method) => lookUps.push(method));
  const counting = await secondServer(world, {}, { ...world.storage, clients });
  const wrong = 'w'.repeat(64);
  await introspect(counting, await assertion(counting, wrong)); // derives the keys
  const costOf = async (id: string) => {
    const parameters = await assertion(counting, wrong, { id });
    const verifying = t.mock.method(crypto.subtle, 'verify');
    const decrypting = t.mock.method(crypto.subtle, 'decrypt');
    lookUps.length = 0;
    const { status } = await introspect(counting, parameters);
    const [checks, openings] = [verifying.mock.callCount(), decrypting.mock.callCount()];
    verifying.mock.restore();
    decrypting.mock.restore();
    return { status, checks, openings, lookUps: [...lookUps] };
  };
  const expected = { status: 401, checks: 2, openings: 2, lookUps: ['get'] };
  for (const id of ['mac', 'machine', 'nobody']) assert.deepEqual(await costOf(id), expected, id);
});

test('§9 oauth4webapi authenticates with client_secret_jwt everywhere', async (t) => {
  const world = await openWorld(t);
  const secret = await addClient(world);
  const options = libraryOptions(world);
  const server = await discovered(options);
  const client = { client_id: 'mac', [oauth.clockSkew]: options[oauth.clockSkew] };
  const authentication = oauth.ClientSecretJwt(secret);
  const issuedTokens = await oauth.processClientCredentialsResponse(
    server,
    client,
    await oauth.clientCredentialsGrantRequest(server, client, authentication, { scope: 'read' }, options),
  );
  const token = issuedTokens.access_token;
  await oauth.processRevocationResponse(
    await oauth.revocationRequest(server, client, authentication, token, options),
  );
  const response = await oauth.introspectionRequest(server, client, authentication, token, options);
  assert.deepEqual(await oauth.processIntrospectionResponse(server, client, response), { active: false });
});
