import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compactDecrypt } from 'jose';
import * as oauth from 'oauth4webapi';
import { clientKey } from './harness/client_keys.ts';
import { discovered, libraryOptions } from './harness/client_library.ts';
import { setMetadata } from './harness/client_metadata.ts';
import { CLIENTS, openWorld, secretOf } from './harness/world.ts';

test('RFC 7523, RFC 9701: oauth4webapi authenticates by assertions everywhere, and reads a nested JWT', async (t) => {
  const world = await openWorld(t);
  const signing = await clientKey('ES256');
  const encryption = await clientKey('RSA-OAEP-256');
  const metadata = {
    token_endpoint_auth_method: 'private_key_jwt',
    introspection_signed_response_alg: 'EdDSA',
    introspection_encrypted_response_alg: 'RSA-OAEP-256',
    introspection_encrypted_response_enc: 'A256GCM',
    jwks: { keys: [signing.publicJwk, { ...encryption.publicJwk, use: 'enc' }] },
  } as const;
  await world.storage.clients.add({ ...CLIENTS.machine, id: 'signer', metadata });

  const options = {
    ...libraryOptions(world),
    [oauth.jweDecrypt]: async (jwe: string) =>
      new TextDecoder().decode((await compactDecrypt(jwe, encryption.privateKey)).plaintext),
  };
  const server = await discovered(options);
  const client = {
    client_id: 'signer',
    introspection_signed_response_alg: 'EdDSA',
    [oauth.clockSkew]: options[oauth.clockSkew],
  };
  const key = { key: signing.privateKey, kid: String(signing.publicJwk.kid) };
  const authentication = oauth.PrivateKeyJwt(key);

  const issued = await oauth.processClientCredentialsResponse(
    server,
    client,
    await oauth.clientCredentialsGrantRequest(server, client, authentication, { scope: 'read' }, options),
  );
  const introspect = async () => {
    const response = await oauth.introspectionRequest(
      server,
      client,
      authentication,
      issued.access_token,
      options,
    );
    const described = await oauth.processIntrospectionResponse(server, client, response, options);
    await oauth.validateApplicationLevelSignature(server, response, options);
    return described;
  };
  const { active, client_id, scope } = await introspect();
  assert.deepEqual([active, client_id, scope], [true, 'signer', 'read']);
  await oauth.processRevocationResponse(
    await oauth.revocationRequest(server, client, authentication, issued.access_token, options),
  );
  assert.deepEqual(await introspect(), { active: false });
});

test('OpenID Connect Core §5.3.2 oauth4webapi reads a signed response of UserInfo', async (t) => {
  const world = await openWorld(t);
  await setMetadata(world, 'web', { userinfo_signed_response_alg: 'PS256' });
  const { access_token } = await world.grant();
  const options = libraryOptions(world);
  const server = await discovered(options);
  const client = {
    client_id: 'web',
    userinfo_signed_response_alg: 'PS256',
    [oauth.clockSkew]: options[oauth.clockSkew],
  };
  const response = await oauth.userInfoRequest(server, client, access_token, options);
  const { sub, email } = await oauth.processUserInfoResponse(server, client, 'alice', response);
  await oauth.validateApplicationLevelSignature(server, response, options);
  assert.deepEqual([sub, email], ['alice', 'alice@example.org']);
});

test('RFC 9701 §4 oauth4webapi asks for a signed response without being registered for it', async (t) => {
  const world = await openWorld(t);
  const { access_token } = await world.grant();
  const options = { ...libraryOptions(world), requestJwtResponse: true };
  const server = await discovered(options);
  const client = { client_id: 'api', [oauth.clockSkew]: options[oauth.clockSkew] };
  const authentication = oauth.ClientSecretBasic(secretOf('api'));
  const response = await oauth.introspectionRequest(server, client, authentication, access_token, options);
  const { active, username } = await oauth.processIntrospectionResponse(server, client, response);
  await oauth.validateApplicationLevelSignature(server, response, options);
  assert.deepEqual([active, username], [true, 'alice']);
});
