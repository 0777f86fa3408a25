// openid-client against the program with the profiles of FAPI 2.0. § refers to FAPI 2.0 Security Profile.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import * as client from 'openid-client';
import { Browser, signInAndConsent } from './harness/browser.ts';
import { newSigningKey } from './harness/client_key.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { codeFlow, discovered } from './harness/relying_party.ts';

const REDIRECT_URI = 'http://localhost:4001/callback';
const ALICE = { username: 'alice', password: 'correct horse' };

const workbench = new Workbench();
after(() => workbench.clear());

/** A server with a user. */
async function serving(args: readonly string[]): Promise<RunningServer> {
  const server = await workbench.start(workbench.folder(), args);
  const add = ['user', 'add', ALICE.username, '--password-stdin', '--claim', 'email=alice@example.com'];
  await grantdPrints(server.folder, add, ALICE.password);
  return server;
}

/** A client that the operator adds, and its configuration by the metadata of the server. */
async function added(server: RunningServer, id: string, flags: readonly string[]) {
  const { privateKey, publicKey } = await newSigningKey('PS256');
  const file = join(server.folder, `${id}.json`);
  writeFileSync(file, JSON.stringify({ keys: [publicKey] }));
  const settings = [
    '--redirect-uri',
    REDIRECT_URI,
    '--scope',
    'openid profile email',
    '--jwks-file',
    file,
    ...flags,
  ];
  const printed = await grantdPrints(server.folder, ['client', 'add', id, '--name', id, ...settings]);
  assert.equal(printed, `added ${id}`);
  const key = { key: privateKey, kid: 'PS256' };
  const configuration = await discovered(server, id, client.PrivateKeyJwt(key), {
    id_token_signed_response_alg: 'PS256',
    authorization_signed_response_alg: 'PS256',
    use_mtls_endpoint_aliases: false,
  });
  return { configuration, key };
}

/** Reads UserInfo, refreshes and revokes with the tokens of a flow, with all checks of openid-client. */
async function usesTokens(
  configuration: client.Configuration,
  DPoP: client.DPoPHandle,
  tokens: Awaited<ReturnType<typeof codeFlow>>,
): Promise<void> {
  assert.equal(tokens.token_type, 'dpop');
  assert.equal(decodeProtectedHeader(tokens.access_token).alg, 'PS256');
  const { sub } = tokens.claims() ?? {};
  assert.ok(sub);
  const person = await client.fetchUserInfo(configuration, tokens.access_token, sub, { DPoP });
  assert.equal(person.email, 'alice@example.com');

  const refreshToken = tokens.refresh_token ?? '';
  const refreshed = await client.refreshTokenGrant(configuration, refreshToken, undefined, { DPoP });
  assert.equal(refreshed.refresh_token, refreshToken);
  assert.notEqual(refreshed.access_token, tokens.access_token);
  await client.fetchUserInfo(configuration, refreshed.access_token, sub, { DPoP });
  await assert.rejects(client.refreshTokenGrant(configuration, refreshToken), {
    error: 'invalid_dpop_proof',
  });
  await assert.rejects(client.fetchUserInfo(configuration, refreshed.access_token, sub), {
    name: 'WWWAuthenticateChallengeError',
  });

  await client.tokenRevocation(configuration, refreshToken);
  await assert.rejects(client.fetchUserInfo(configuration, refreshed.access_token, sub, { DPoP }), {
    name: 'WWWAuthenticateChallengeError',
  });
}

for (const [way, ofServer, ofClient] of [
  ['of the server', ['--profile', 'fapi2-security'], []],
  ['of the client', [], ['--profile', 'fapi2-security']],
] as const)
  describe(`FAPI 2.0 Security Profile ${way}, with openid-client`, () => {
    let server: RunningServer;
    before(async () => {
      server = await serving(ofServer);
    });
    // Commands do not see the flags of the server.
    const flags = [...ofClient, ...(way === 'of the server' ? ['--auth-method', 'private_key_jwt'] : [])];

    for (const nonce of ['with', 'without'] as const)
      test(`§5.3.2.1, §5.3.2.2 the whole flow, ${nonce} a bound code`, async () => {
        const { configuration } = await added(server, `bank-${nonce}`, flags);
        const DPoP = client.getDPoPHandle(configuration, await client.randomDPoPKeyPair('PS256'));
        const tokens = await codeFlow(server, configuration, {
          redirectUri: REDIRECT_URI,
          request: (of, parameters) =>
            client.buildAuthorizationUrlWithPAR(of, parameters, nonce === 'with' ? { DPoP } : undefined),
          person: (url) => signInAndConsent(new Browser(server.url), url.href, ALICE),
          DPoP,
        });
        await usesTokens(configuration, DPoP, tokens);
      });

    test('§5.3.2.2 (3) a request in the address is refused on a page', async () => {
      const { configuration } = await added(server, 'direct', flags);
      const url = client.buildAuthorizationUrl(configuration, { redirect_uri: '', scope: 'openid' });
      url.searchParams.delete('redirect_uri');
      const page = await new Browser(server.url).get(url.href);
      assert.equal(page.status, 400);
      await server.logged(({ reason }) => reason === 'pushed_request_missing', 'the refusal');
    });
  });

describe('FAPI 2.0 Message Signing, with openid-client', () => {
  let server: RunningServer;
  before(async () => {
    server = await serving(['--profile', 'fapi2-message-signing']);
  });

  test('FAPI 2.0 Message Signing §5.3.1, §5.4.1 the whole flow: signed request object, PAR and JARM', async () => {
    const { configuration, key } = await added(server, 'bank', ['--profile', 'fapi2-message-signing']);
    client.useJwtResponseMode(configuration);
    const DPoP = client.getDPoPHandle(configuration, await client.randomDPoPKeyPair('ES256'));
    const tokens = await codeFlow(server, configuration, {
      redirectUri: REDIRECT_URI,
      async request(of, parameters) {
        const signed = await client.buildAuthorizationUrlWithJAR(of, parameters, key);
        const object = decodeJwt(signed.searchParams.get('request') ?? '');
        assert.equal(object.response_mode, 'jwt');
        return client.buildAuthorizationUrlWithPAR(of, Object.fromEntries(signed.searchParams), { DPoP });
      },
      async person(url) {
        const answer = await signInAndConsent(new Browser(server.url), url.href, ALICE);
        assert.deepEqual([...answer.searchParams.keys()], ['response']);
        return answer;
      },
      DPoP,
    });
    await usesTokens(configuration, DPoP, tokens);
  });

  test('FAPI 2.0 Message Signing §5.3.1 a pushed request that is not signed is refused', async () => {
    const { configuration } = await added(server, 'unsigned', ['--profile', 'fapi2-message-signing']);
    const request = codeFlow(server, configuration, {
      redirectUri: REDIRECT_URI,
      request: client.buildAuthorizationUrlWithPAR,
    });
    await assert.rejects(request, { error: 'invalid_request' });
    await server.logged(({ reason }) => reason === 'request_object_missing', 'the refusal');
  });
});

test('§5.3.2 the profile is in the first line of the log, and comes from the file or a variable too', async () => {
  const folder = workbench.folder();
  const file = join(folder, 'grantd.json');
  writeFileSync(file, JSON.stringify({ profile: 'fapi2-message-signing' }));
  for (const [args, environment] of [
    [['--config', file], {}],
    [[], { GRANTD_PROFILE: 'fapi2-message-signing' }],
    [['--workers', '2', '--profile', 'fapi2-message-signing'], {}],
  ] as const) {
    const server = await workbench.start(workbench.folder(), args, environment);
    const { profile } = await server.logged(({ event }) => event === 'listening', 'it listens');
    assert.equal(profile, 'fapi2-message-signing');
    assert.match(server.stderr(), /with the profile fapi2-message-signing/);
    const metadata = await (await fetch(`${server.url}/.well-known/oauth-authorization-server`)).json();
    assert.equal(metadata.require_signed_request_object, true);
  }
});

test('§5.3.2 the program refuses options that contradict the profile, by the name that was written', async () => {
  const folder = workbench.folder();
  for (const [args, message] of [
    [['--id-token-algorithm', 'RS256'], '--id-token-algorithm: expected one of PS256, ES256, EdDSA'],
    [['--use-opaque-refresh-tokens', 'false'], '--use-opaque-refresh-tokens: expected true'],
    [['--authorization-code-lifetime', '61'], '--authorization-code-lifetime: expected at most 60'],
    [
      ['--dpop-algorithms', '[]'],
      '--dpop-algorithms: expected an algorithm, or the option clientCertificates',
    ],
    [
      ['--registration', 'open', '--registration-assertion-audience', 'endpoint'],
      '--registration-assertion-audience: expected issuer',
    ],
    [['--registration', 'open', '--insecure-development'], '--insecure-development: expected false'],
    [['--issuer', 'http://as.example', '--insecure-development'], '--issuer: expected an https URL'],
    [['--demo'], '--demo: expected false'],
  ] as const) {
    const { code, stderr } = await grantd(folder, [
      'serve',
      '--port',
      '0',
      '--profile',
      'fapi2-security',
      ...args,
    ]);
    assert.deepEqual([code, stderr.includes(message)], [2, true], stderr);
  }
});

test('§5.3.2 client commands check the profile, and name the flag', async () => {
  const server = await workbench.start(workbench.folder());
  const prints = (args: readonly string[]) => grantdPrints(server.folder, ['client', ...args]);
  await prints(['add', 'shop', '--redirect-uri', REDIRECT_URI, '--scope', 'openid']);
  const profile = ['--profile', 'fapi2-security'];
  const keyless = await grantd(server.folder, ['client', 'update', 'shop', ...profile]);
  assert.match(keyless.stderr, /private_key_jwt needs .*, because of the profile fapi2-security/);
  assert.equal(keyless.code, 2);
  const rotating = ['client', 'update', 'shop', ...profile, '--rotate-refresh-tokens'];
  const { code, stderr } = await grantd(server.folder, rotating);
  const message = '--rotate-refresh-tokens: expected false, because of the profile fapi2-security';
  assert.deepEqual([code, stderr.includes(message)], [2, true], stderr);
  const file = join(server.folder, 'keys.json');
  writeFileSync(file, JSON.stringify({ keys: [(await newSigningKey('ES256')).publicKey] }));
  await prints(['update', 'shop', ...profile, '--jwks-file', file]);
  const shown = JSON.parse(await prints(['show', 'shop', '--json']));
  assert.equal(shown.profile, 'fapi2-security');
  assert.match(await prints(['show', 'shop']), /^profile +fapi2-security$/m);
});

test('§5.3.2 an API is registered under the profile of the server as the guide says', async () => {
  const { folder } = await workbench.start(workbench.folder());
  const file = join(folder, 'api.json');
  writeFileSync(file, JSON.stringify({ keys: [(await newSigningKey('ES256')).publicKey] }));
  const guide = readFileSync(new URL('../../docs/fapi.md', import.meta.url), 'utf8');
  const [, command = ''] = /npx grantd (client add my-api [^`]*)/.exec(guide) ?? [];
  const args = command.replaceAll('\\\n', ' ').replace('api.json', file).trim().split(/\s+/);
  const environment = { GRANTD_PROFILE: 'fapi2-security' };
  const added = await grantd(folder, args, { environment });
  assert.deepEqual([added.code, added.stderr], [0, '']);

  const keyless = ['client', 'add', 'keyless', '--resource', 'https://keyless.example'];
  const { code, stderr } = await grantd(folder, keyless, { environment });
  assert.equal(code, 2);
  assert.match(stderr, /--auth-method: private_key_jwt needs .*, because of the profile fapi2-security/);
});
