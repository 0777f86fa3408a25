// openid-client with a client certificate, over the TLS of the program. § refers to FAPI 2.0 Security Profile.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { decodeJwt, exportJWK } from 'jose';
import * as client from 'openid-client';
import { type MadeCertificate, newCertificate, thumbprintOf } from '../../core/test/harness/certificates.ts';
import { Browser, signInAndConsent } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { codeFlow, discovered } from './harness/relying_party.ts';
import { fetchOverTls, serverCertificate } from './harness/tls.ts';

const REDIRECT_URI = 'http://localhost:4001/callback';
const ALICE = { username: 'alice', password: 'correct horse' };

const SERVER = await serverCertificate();
const CA = await newCertificate({ subject: [{ CN: ['clients'] }], isCa: true });
const NAMES = [{ type: 'dns', value: 'bank.example' }] as const;
const CERTIFIED = await newCertificate({ names: [...NAMES], issuer: CA });
const SELF_SIGNED = await newCertificate({ subject: [{ CN: ['bank'] }] });
const THIEF = await newCertificate({ names: [...NAMES] });

const workbench = new Workbench();
after(() => workbench.clear());

describe('FAPI 2.0 Security Profile with client certificates, with openid-client', () => {
  let server: RunningServer;
  before(async () => {
    const folder = workbench.folder();
    for (const [name, content] of Object.entries({
      'tls.pem': SERVER.pem.cert,
      'tls.key': SERVER.pem.key,
      'clients.pem': CA.pem.cert,
    }))
      writeFileSync(join(folder, name), content, { mode: 0o600 });
    setDefaultCACertificates([...getCACertificates('default'), SERVER.pem.cert]);
    server = await workbench.start(folder, [
      ...['--profile', 'fapi2-security', '--tls-certificate', 'tls.pem', '--tls-key', 'tls.key'],
      ...['--mtls-port', '0', '--tls-client-ca', 'clients.pem'],
    ]);
    const add = ['user', 'add', ALICE.username, '--password-stdin', '--claim', 'email=alice@example.com'];
    await grantdPrints(folder, add, ALICE.password);
  });

  const METHODS = [
    ['tls_client_auth', CERTIFIED, async () => ['--tls-client-auth-san-dns', 'bank.example']],
    [
      'self_signed_tls_client_auth',
      SELF_SIGNED,
      async (folder: string) => {
        const { certificate, keys } = SELF_SIGNED;
        const jwk = { ...(await exportJWK(keys.publicKey)), x5c: [certificate.toString('base64')] };
        writeFileSync(join(folder, 'keys.json'), JSON.stringify({ keys: [jwk] }));
        return ['--jwks-file', join(folder, 'keys.json')];
      },
    ],
  ] as const;

  for (const [method, certificate, flagsOf] of METHODS)
    test(`§5.3.2.1 the whole flow with ${method} and tokens bound to the certificate`, async () => {
      const flags = [
        ...['--redirect-uri', REDIRECT_URI, '--scope', 'openid profile email'],
        ...(await flagsOf(server.folder)),
      ];
      await grantdPrints(server.folder, [
        ...['client', 'add', method, '--name', method, '--auth-method', method, ...flags],
        '--tls-client-certificate-bound-access-tokens',
      ]);
      const as = async (certificate: MadeCertificate) => {
        const configuration = await discovered(server, method, client.TlsClientAuth(), {
          id_token_signed_response_alg: 'PS256',
          use_mtls_endpoint_aliases: true,
        });
        configuration[client.customFetch] = fetchOverTls(SERVER, certificate);
        return configuration;
      };
      const own = await as(certificate);
      const tokens = await codeFlow(server, own, {
        redirectUri: REDIRECT_URI,
        request: client.buildAuthorizationUrlWithPAR,
        person: (url) => signInAndConsent(new Browser(server.url), url.href, ALICE),
      });
      assert.equal(tokens.token_type, 'bearer');
      const thumbprint = await thumbprintOf(certificate);
      assert.deepEqual(decodeJwt(tokens.access_token).cnf, { 'x5t#S256': thumbprint });
      const sub = tokens.claims()?.sub ?? '';
      const person = await client.fetchUserInfo(own, tokens.access_token, sub);
      assert.equal(person.email, 'alice@example.com');

      const thief = await as(THIEF);
      await assert.rejects(client.fetchUserInfo(thief, tokens.access_token, sub), {
        name: 'WWWAuthenticateChallengeError',
      });
      const refreshToken = tokens.refresh_token ?? '';
      await assert.rejects(client.refreshTokenGrant(thief, refreshToken), {
        name: 'WWWAuthenticateChallengeError',
      });
      const refreshed = await client.refreshTokenGrant(own, refreshToken);
      await client.fetchUserInfo(own, refreshed.access_token, sub);

      await client.tokenRevocation(own, refreshToken);
      await assert.rejects(client.fetchUserInfo(own, refreshed.access_token, sub), {
        name: 'WWWAuthenticateChallengeError',
      });
    });
});
