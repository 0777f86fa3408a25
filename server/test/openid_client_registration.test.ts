import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import * as client from 'openid-client';
import { newSigningKey } from './harness/client_key.ts';
import { Workbench } from './harness/program.ts';
import { codeFlow } from './harness/relying_party.ts';

const REDIRECT_URI = 'https://app.example.com/callback';
const OPTIONS = { execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks] };

const workbench = new Workbench();
after(() => workbench.clear());

describe('registration by openid-client', () => {
  const start = (environment: Readonly<Record<string, string>>) =>
    workbench.start(workbench.folder(), ['--demo'], environment);

  for (const [method, authentication] of [
    ['client_secret_basic', client.ClientSecretBasic()],
    ['client_secret_post', client.ClientSecretPost()],
  ] as const) {
    test(`a client registers itself, and runs the code flow with its secret by ${method}`, async () => {
      const server = await start({ GRANTD_REGISTRATION: 'open' });
      const metadata = {
        redirect_uris: [REDIRECT_URI],
        scope: 'openid profile email',
        token_endpoint_auth_method: method,
      };
      const configuration = await client.dynamicClientRegistration(
        new URL(server.url),
        metadata,
        authentication,
        OPTIONS,
      );
      assert.equal(typeof configuration.clientMetadata().client_secret, 'string');
      const tokens = await codeFlow(server, configuration, { redirectUri: REDIRECT_URI });
      assert.equal(tokens.claims()?.aud, configuration.clientMetadata().client_id);
    });
  }

  test('a client registers its key, and runs the code flow with private_key_jwt', async () => {
    const server = await start({ GRANTD_REGISTRATION: 'open' });
    const { privateKey, publicKey } = await newSigningKey('ES256');
    const configuration = await client.dynamicClientRegistration(
      new URL(server.url),
      {
        redirect_uris: [REDIRECT_URI],
        scope: 'openid profile email',
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [publicKey] },
      },
      client.PrivateKeyJwt({ key: privateKey, kid: 'ES256' }),
      OPTIONS,
    );
    assert.equal(configuration.clientMetadata().client_secret, undefined);
    const tokens = await codeFlow(server, configuration, { redirectUri: REDIRECT_URI });
    assert.equal(tokens.claims()?.aud, configuration.clientMetadata().client_id);
  });

  test('registration is off unless it is asked for', async () => {
    const server = await start({});
    await assert.rejects(
      client.dynamicClientRegistration(
        new URL(server.url),
        { redirect_uris: [REDIRECT_URI] },
        undefined,
        OPTIONS,
      ),
    );
  });
});
