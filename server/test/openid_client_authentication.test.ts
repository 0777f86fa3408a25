import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as client from 'openid-client';
import { newSigningKey } from './harness/client_key.ts';
import { addClient } from './harness/clients.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { codeFlow, discovered } from './harness/relying_party.ts';

const REDIRECT_URI = 'http://localhost:4001/callback';

const workbench = new Workbench();
after(() => workbench.clear());

describe('private_key_jwt of openid-client', () => {
  let server: RunningServer;
  before(async () => {
    server = await workbench.start(workbench.folder(), ['--demo']);
  });

  for (const algorithm of ['RS256', 'PS256', 'ES256', 'EdDSA'] as const) {
    test(`${algorithm}: at the token endpoint, introspection, revocation and for pushed requests`, async () => {
      const id = `asserts-${algorithm}`;
      const { privateKey, publicKey } = await newSigningKey(algorithm);
      await addClient(server, {
        id,
        grantTypes: ['authorization_code', 'refresh_token'],
        scopes: ['openid', 'profile', 'email'],
        redirectUris: [REDIRECT_URI],
        metadata: {
          jwks: { keys: [publicKey] },
          token_endpoint_auth_method: 'private_key_jwt',
          token_endpoint_auth_signing_alg: algorithm,
        },
      });
      const authentication = client.PrivateKeyJwt({ key: privateKey, kid: algorithm });
      const configuration = await discovered(server, id, authentication);

      const tokens = await codeFlow(server, configuration, {
        redirectUri: REDIRECT_URI,
        request: client.buildAuthorizationUrlWithPAR,
      });
      const refreshed = await client.refreshTokenGrant(configuration, tokens.refresh_token ?? '');
      const alive = await client.tokenIntrospection(configuration, refreshed.access_token);
      assert.equal(alive.active, true);
      assert.equal(alive.client_id, id);
      await client.tokenRevocation(configuration, refreshed.access_token);
      const dead = await client.tokenIntrospection(configuration, refreshed.access_token);
      assert.deepEqual({ ...dead }, { active: false });
    });
  }

  test('another client’s key is refused', async () => {
    const [own, other] = [await newSigningKey('ES256'), await newSigningKey('ES256')];
    await addClient(server, {
      id: 'robbed',
      grantTypes: ['client_credentials'],
      scopes: ['reports'],
      redirectUris: [],
      metadata: { jwks: { keys: [own.publicKey] }, token_endpoint_auth_method: 'private_key_jwt' },
    });
    const as = (key: CryptoKey) =>
      discovered(server, 'robbed', client.PrivateKeyJwt({ key, kid: 'ES256' })).then((configuration) =>
        client.clientCredentialsGrant(configuration, { scope: 'reports' }),
      );
    assert.ok((await as(own.privateKey)).access_token);
    await assert.rejects(
      as(other.privateKey),
      (error) => error instanceof client.WWWAuthenticateChallengeError && error.status === 401,
    );
  });
});

test('RFC 7523: client_secret_jwt of openid-client, from grantd client add', async () => {
  const folder = workbench.folder();
  const running = await workbench.start(folder, []);
  const id = 'mac';
  const settings = ['--auth-method', 'client_secret_jwt', '--redirect-uri', REDIRECT_URI, '--grant'];
  const added = await grantdPrints(folder, [
    ...[
      'client',
      'add',
      id,
      ...settings,
      'client_credentials',
      '--grant',
      'authorization_code',
      '--scope',
      'read',
    ],
    '--json',
  ]);
  const { client_secret: secret } = JSON.parse(added);
  assert.match(secret, /^grantd_cs_[\w-]{86}$/);
  const authenticates = async (text: string) => {
    const configuration = await discovered(running, id, client.ClientSecretJwt(text));
    return (await client.clientCredentialsGrant(configuration, { scope: 'read' })).token_type;
  };
  assert.equal(await authenticates(secret), 'bearer');
  await assert.rejects(authenticates(`${secret}x`), { status: 401 });

  const rotated = JSON.parse(await grantdPrints(folder, ['client', 'rotate-secret', id, '--now', '--json']));
  assert.equal(await authenticates(rotated.client_secret), 'bearer');
  await assert.rejects(authenticates(secret), { status: 401 });

  const short = await grantd(folder, ['client', 'rotate-secret', id, '--secret-stdin'], {
    input: 'x'.repeat(31),
  });
  assert.equal(short.code, 2);
  assert.match(short.stderr, /--secret-stdin: expected at least 32 bytes/);

  await grantdPrints(folder, ['client', 'update', id, '--auth-method', 'client_secret_basic', '--json']);
  const changed = ['client', 'update', id, '--auth-method', 'client_secret_jwt', '--json'];
  const again = JSON.parse(await grantdPrints(folder, changed));
  assert.equal(await authenticates(again.client_secret), 'bearer');
  const shown = await grantdPrints(folder, ['client', 'show', id, '--json']);
  assert.equal(shown.includes('sealed'), false);
});

test('RFC 7523: a client with client_secret_jwt moves to a new server secret, and secrets status counts it', async () => {
  const folder = workbench.folder();
  let running = await workbench.start(folder, []);
  const add = ['client', 'add', 'mac', '--auth-method', 'client_secret_jwt', '--scope', 'read', '--json'];
  const { client_secret: secret } = JSON.parse(await grantdPrints(folder, add));
  const authenticates = async () => {
    const configuration = await discovered(running, 'mac', client.ClientSecretJwt(secret));
    return (await client.clientCredentialsGrant(configuration, { scope: 'read' })).token_type;
  };
  const restart = async () => {
    await running.stop();
    running = await workbench.start(folder, ['--port', new URL(running.url).port]);
  };
  const dependents = async (): Promise<readonly string[][]> =>
    JSON.parse(await grantdPrints(folder, ['secrets', 'status', '--json'])).map(
      ({ clients }: { readonly clients: string[] }) => clients,
    );
  await grantdPrints(folder, ['secrets', 'rotate']);
  await restart();
  assert.deepEqual(await dependents(), [[], ['mac']]);
  const early = await grantd(folder, ['secrets', 'drop']);
  assert.notEqual(early.code, 0);
  assert.match(early.stderr, /the secrets of mac depend on/);

  assert.equal(await authenticates(), 'bearer');
  await restart(); // writes the use of the secret first
  assert.deepEqual(await dependents(), [['mac'], []]);
  await grantdPrints(folder, ['secrets', 'drop']);
  await restart();
  assert.equal(await authenticates(), 'bearer');
});
