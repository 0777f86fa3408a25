import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as client from 'openid-client';
import { newSigningKey } from './harness/client_key.ts';
import { addClient } from './harness/clients.ts';
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
