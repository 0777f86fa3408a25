import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ClientMetadata } from '@grantd/core';
import * as client from 'openid-client';
import { Browser } from './harness/browser.ts';
import { newDecryptionKey } from './harness/client_key.ts';
import { addClient } from './harness/clients.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { codeFlow, discovered } from './harness/relying_party.ts';

const REDIRECT_URI = 'http://localhost:4001/callback';

const workbench = new Workbench();
after(() => workbench.clear());

describe('responses that openid-client verifies and decrypts', () => {
  let server: RunningServer;
  before(async () => {
    server = await workbench.start(workbench.folder(), ['--demo']);
  });

  /** A public client that expects this response mode. */
  async function wanting(
    id: string,
    metadata: ClientMetadata,
    idTokenAlgorithm: 'RS256' | 'PS256' | 'ES256' | 'EdDSA' = 'RS256',
  ): Promise<client.Configuration> {
    await addClient(server, {
      id,
      grantTypes: ['authorization_code', 'refresh_token'],
      scopes: ['openid', 'profile', 'email'],
      redirectUris: [REDIRECT_URI],
      idTokenAlgorithm,
      metadata,
    });
    const { jwks: _, ...known } = metadata;
    return discovered(server, id, client.None(), {
      ...Object.fromEntries(Object.entries(known).filter(([, value]) => typeof value === 'string')),
      id_token_signed_response_alg: idTokenAlgorithm,
    });
  }

  async function readsTheirEmail(configuration: client.Configuration): Promise<void> {
    const tokens = await codeFlow(server, configuration, { redirectUri: REDIRECT_URI });
    const { sub } = tokens.claims() ?? {};
    assert.ok(sub);
    const person = await client.fetchUserInfo(configuration, tokens.access_token, sub);
    assert.equal(person.email, 'alice@example.com');
    const refreshed = await client.refreshTokenGrant(configuration, tokens.refresh_token ?? '');
    assert.equal(refreshed.claims()?.sub, sub);
  }

  for (const algorithm of ['RS256', 'PS256', 'ES256', 'EdDSA'] as const) {
    test(`ID tokens and UserInfo signed with ${algorithm}`, async () => {
      const metadata = { userinfo_signed_response_alg: algorithm };
      await readsTheirEmail(await wanting(`signed-${algorithm}`, metadata, algorithm));
    });
  }

  for (const algorithm of ['RS256', 'PS256', 'ES256', 'EdDSA'] as const) {
    test(`JARM: authorization responses signed with ${algorithm}`, async () => {
      const metadata = { authorization_signed_response_alg: algorithm };
      const configuration = await wanting(`response-signed-${algorithm}`, metadata);
      client.useJwtResponseMode(configuration);
      await readsTheirEmail(configuration);
    });
  }

  test('JARM: an error without a page', async () => {
    const configuration = await wanting('response-error', { authorization_signed_response_alg: 'ES256' });
    client.useJwtResponseMode(configuration);
    const person = async (url: URL) => {
      const { url: response } = await new Browser(server.url).get(url.href);
      assert.deepEqual([...new URL(response).searchParams.keys()], ['response']);
      return new URL(response);
    };
    const flow = { redirectUri: REDIRECT_URI, parameters: { prompt: 'none' }, person };
    await assert.rejects(codeFlow(server, configuration, flow), { error: 'login_required' });
  });

  for (const [algorithm, encryption] of [
    ['RSA-OAEP-256', 'A128CBC-HS256'],
    ['ECDH-ES', 'A256GCM'],
    ['ECDH-ES+A256KW', 'A128GCM'],
  ] as const) {
    test(`UserInfo signed with RS256, then encrypted with ${algorithm} and ${encryption}`, async () => {
      const { privateKey, publicKey } = await newDecryptionKey(algorithm);
      const configuration = await wanting(`encrypted-${algorithm}`, {
        jwks: { keys: [publicKey] },
        userinfo_signed_response_alg: 'RS256',
        userinfo_encrypted_response_alg: algorithm,
        userinfo_encrypted_response_enc: encryption,
      });
      client.enableDecryptingResponses(configuration, [encryption], {
        key: privateKey,
        alg: algorithm,
        kid: algorithm,
      });
      await readsTheirEmail(configuration);
    });

    test(`ID tokens and JARM signed, then encrypted with ${algorithm} and ${encryption}`, async () => {
      const { privateKey, publicKey } = await newDecryptionKey(algorithm);
      const configuration = await wanting(`encrypted-tokens-${algorithm}`, {
        jwks: { keys: [publicKey] },
        id_token_encrypted_response_alg: algorithm,
        id_token_encrypted_response_enc: encryption,
        authorization_signed_response_alg: 'ES256',
        authorization_encrypted_response_alg: algorithm,
        authorization_encrypted_response_enc: encryption,
      });
      client.useJwtResponseMode(configuration);
      const key = { key: privateKey, alg: algorithm, kid: algorithm };
      client.enableDecryptingResponses(configuration, [encryption], key);
      await readsTheirEmail(configuration);
    });
  }
});
