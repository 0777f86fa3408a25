// Client certificates from a proxy. § refers to RFC 9440.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { NodeRequest } from '@grantd/core/node';
import { decodeJwt } from 'jose';
import { type MadeCertificate, newCertificate, thumbprintOf } from '../../core/test/harness/certificates.ts';
import { Chance } from '../../core/test/harness/chance.ts';
import { freePort } from '../../core/test/harness/free_port.ts';
import { type HeaderFault, proxiedCertificateReader } from '../src/serve/proxied_certificate.ts';
import { type RunningServer, until, Workbench } from './harness/program.ts';
import { addMachine, askOverTls, serverCertificate } from './harness/tls.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const CA = await newCertificate({ subject: [{ CN: ['clients'] }], isCa: true });
const CLIENT = await newCertificate({ subject: [{ CN: ['client'] }], issuer: CA });
const DER = Buffer.from(CLIENT.certificate.rawData);
const BASE64 = DER.toString('base64');
const PEM = CLIENT.pem.cert;
const CHAIN = [CLIENT, CA].map(({ certificate }) => Buffer.from(certificate.rawData).toString('base64'));
const CNF = { 'x5t#S256': await thumbprintOf(CLIENT) };

describe('the formats', () => {
  const FORMATS = {
    rfc9440: {
      good: [`:${BASE64}:`, ` :${BASE64}: `, `":${BASE64}:"`],
      bad: [
        BASE64,
        `:${CHAIN.join(',')}:`,
        `:${BASE64}`,
        `:${BASE64}:, :${BASE64}:`,
        `:${BASE64}:;a=1`,
        '::',
        `:${BASE64.slice(0, -8)}:`,
      ],
    },
    base64: {
      good: [
        BASE64,
        BASE64.replace(/=+$/, ''),
        `"${BASE64}"`,
        `:${BASE64}:`,
        CHAIN.join(','),
        encodeURIComponent(BASE64),
        CHAIN.map(encodeURIComponent).join(','),
        encodeURIComponent(CHAIN.join(',')),
      ],
      bad: [
        `${BASE64}, ${BASE64}`,
        `${BASE64},${BASE64}`,
        CHAIN.toReversed().join(','),
        CHAIN.join(', '),
        `${BASE64},`,
        `${CHAIN.join(',')},${BASE64}`,
        `:${CHAIN.join(',')}:`,
        `"${BASE64}`,
        `${BASE64}%`,
        '!',
        'AAAA',
      ],
    },
    pem: {
      good: [
        encodeURIComponent(PEM),
        encodeURIComponent(`${PEM}\n`),
        PEM.replaceAll('\n', '%0A'),
        PEM.replaceAll('\n', ' '),
        encodeURIComponent(`${PEM}\n${CA.pem.cert}\n`),
      ],
      bad: [
        encodeURIComponent(PEM + PEM),
        encodeURIComponent(CA.pem.cert + PEM),
        encodeURIComponent(`${PEM}${CA.pem.cert}x`),
        encodeURIComponent(`${PEM}${CLIENT.pem.key}`),
        encodeURIComponent(PEM).slice(0, -9),
        `${encodeURIComponent(PEM)}%`,
        encodeURIComponent(CLIENT.pem.key),
        BASE64,
        '(null)',
      ],
    },
    xfcc: {
      good: [
        `Hash=1f;Cert="${encodeURIComponent(PEM)}";Subject="CN=a,O=\\"b\\"";URI=spiffe://a`,
        `By=spiffe://b;cert="${encodeURIComponent(PEM)}"`,
      ],
      bad: [
        'Hash=1f',
        `Cert="${encodeURIComponent(PEM)}",Cert="${encodeURIComponent(PEM)}"`,
        `Cert="${encodeURIComponent(PEM)}";Cert="${encodeURIComponent(PEM)}"`,
        `Hash=1f,Cert="${encodeURIComponent(PEM)}"`,
        `Subject="x;Cert="${encodeURIComponent(PEM)}"`,
        `Cert="${encodeURIComponent(PEM)}`,
      ],
    },
  } as const;

  for (const [clientCertificateFormat, { good, bad }] of Object.entries(FORMATS))
    test(`§2.2 ${clientCertificateFormat}: one certificate is read, and everything else is malformed`, () => {
      const faults: HeaderFault[] = [];
      const read = proxiedCertificateReader(
        {
          clientCertificateHeader: 'Client-Cert',
          clientCertificateFormat: clientCertificateFormat as keyof typeof FORMATS,
          clientCertificateVerified: undefined,
          trustedProxies: ['10.0.0.0/8'],
        },
        (_request, fault) => faults.push(fault),
      );
      const from = (remoteAddress: string, value?: string) =>
        read({ socket: { remoteAddress }, headers: { 'client-cert': value } } as unknown as NodeRequest);
      for (const value of good)
        assert.deepEqual(from('10.1.2.3', value), { der: DER, hasTrustedChain: false }, value);
      for (const value of good) assert.deepEqual(from('::ffff:10.1.2.3', value)?.der, DER);
      assert.deepEqual(faults, []);
      for (const none of [undefined, '', ' ', '""']) assert.equal(from('10.1.2.3', none), undefined);
      assert.deepEqual(faults, [], 'the client has no certificate');
      for (const value of bad) assert.equal(from('10.1.2.3', value), undefined, value);
      assert.deepEqual(faults.splice(0), Array(bad.length).fill('malformed'));
      for (const value of good) assert.equal(from('11.1.2.3', value), undefined);
      assert.deepEqual(faults, Array(good.length).fill('untrusted_proxy'));
    });
});

test('§2.2 a damaged header is read as one certificate or as none', () => {
  const texts = {
    rfc9440: `:${BASE64}:`,
    base64: BASE64,
    pem: encodeURIComponent(PEM),
    xfcc: `Hash=1f;Cert="${encodeURIComponent(PEM)}";Subject="CN=a,O=\\"b\\""`,
  } as const;
  const chance = new Chance(9440);
  const outcomes = { certificate: 0, none: 0 };
  for (const [clientCertificateFormat, text] of Object.entries(texts)) {
    const read = proxiedCertificateReader(
      {
        clientCertificateHeader: 'Client-Cert',
        clientCertificateFormat: clientCertificateFormat as keyof typeof texts,
        clientCertificateVerified: undefined,
        trustedProxies: ['10.0.0.1'],
      },
      () => {},
    );
    for (let turn = 0; turn < 1_000; turn += 1) {
      const value = Buffer.from(chance.damaged(Buffer.from(text))).toString('latin1');
      const socket = { remoteAddress: '10.0.0.1' };
      const certificate = read({ socket, headers: { 'client-cert': value } } as unknown as NodeRequest);
      outcomes[certificate === undefined ? 'none' : 'certificate'] += 1;
      if (certificate === undefined) continue;
      const { raw } = new X509Certificate(certificate.der);
      assert.deepEqual(raw, Buffer.from(certificate.der), `${clientCertificateFormat}, turn ${turn}`);
    }
  }
  assert.ok(outcomes.certificate > 10 && outcomes.none > 1_000, JSON.stringify(outcomes));
});

const PROXIED = ['--issuer', 'https://id.example', '--client-certificate-header', 'Client-Cert'];

/** Adds a client that authenticates by certificate and has bound tokens. */
function addNamed(folder: string): Promise<string> {
  const flags = ['--tls-client-auth-subject-dn', 'CN=client', '--tls-client-certificate-bound-access-tokens'];
  return addMachine(folder, 'named', ['--auth-method', 'tls_client_auth', ...flags]);
}

describe('the header of a trusted proxy', () => {
  let server: RunningServer;
  before(async () => {
    const folder = workbench.folder();
    server = await workbench.start(folder, [
      ...PROXIED,
      '--trusted-proxies',
      '127.0.0.1',
      '--client-certificate-verified',
    ]);
    await addNamed(folder);
  });

  /** A request of a proxy with this address. */
  const token = (localAddress: string, header: string | string[]) =>
    new Promise<{ status: number; json: Readonly<Record<string, unknown>> }>((resolve, reject) => {
      const headers = { 'client-cert': header, 'content-type': 'application/x-www-form-urlencoded' };
      const options = {
        host: '127.0.0.1',
        port: server.port,
        localAddress,
        path: '/token',
        method: 'POST',
        headers,
      };
      const sent = request(options, async (response) => {
        const body = (await response.setEncoding('utf8').toArray()).join('');
        resolve({ status: response.statusCode ?? 0, json: JSON.parse(body) });
      });
      sent.once('error', reject).end('grant_type=client_credentials&client_id=named');
    });

  test('§2.2 authenticates the client and binds its tokens', async () => {
    const { status, json } = await token('127.0.0.1', `:${BASE64}:`);
    assert.equal(status, 200, JSON.stringify(json));
    assert.deepEqual(decodeJwt(String(json.access_token)).cnf, CNF);
    const metadata = await fetch(`${server.url}/.well-known/oauth-authorization-server`);
    const aliases = (await metadata.json()).mtls_endpoint_aliases;
    assert.equal(aliases, undefined, 'the proxy asks for certificates at the issuer itself');
  });

  test('§4 from any other address is ignored, and logged without the certificate', async () => {
    const { status, json } = await token('127.0.0.2', `:${BASE64}:`);
    assert.deepEqual([status, json.error], [401, 'invalid_client']);
    const line = await server.logged(
      ({ event }) => event === 'client_certificate_header_ignored',
      'the reason',
    );
    assert.deepEqual([line.level, line.reason], ['warn', 'untrusted_proxy']);
    assert.ok(!server.stdout().includes(BASE64.slice(0, 40)));
  });

  test('§2.2 is ignored if it is repeated or incomplete', async () => {
    for (const header of [[`:${BASE64}:`, `:${BASE64}:`], [`:${BASE64}:`, ''], `:${BASE64.slice(4)}:`]) {
      const { status, json } = await token('127.0.0.1', header);
      assert.deepEqual([status, json.error], [401, 'invalid_client']);
    }
    await server.logged(({ reason }) => reason === 'malformed', 'the reason');
  });
});

const hasNginx = spawnSync('nginx', ['-v']).status === 0;

describe('behind nginx', { skip: !hasNginx && 'nginx is not installed: apt install nginx' }, () => {
  let nginx: ChildProcess;
  let server: RunningServer;
  let port: number;
  let site: MadeCertificate;

  before(async () => {
    const folder = workbench.folder();
    server = await workbench.start(folder, [
      ...[
        '--issuer',
        'https://id.example',
        '--trusted-proxies',
        '127.0.0.1',
        '--client-certificate-verified',
      ],
      ...['--client-certificate-header', 'X-Client-Cert', '--client-certificate-format', 'pem'],
    ]);
    await addNamed(folder);
    port = await freePort();
    site = await serverCertificate();
    writeFileSync(join(folder, 'site.pem'), site.pem.cert);
    writeFileSync(join(folder, 'site.key'), site.pem.key);
    writeFileSync(join(folder, 'clients.pem'), CA.pem.cert);
    mkdirSync(join(folder, 'temporary'));
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
    writeFileSync(
      join(folder, 'nginx.conf'),
      `daemon off; master_process off; pid ${folder}/nginx.pid; error_log ${folder}/error.log;
      events {}
      http {
        access_log off;
        ${temporary.map((name) => `${name}_temp_path ${folder}/temporary/${name};`).join(' ')}
        server {
          listen 127.0.0.1:${port} ssl;
          ssl_certificate ${folder}/site.pem;
          ssl_certificate_key ${folder}/site.key;
          ssl_client_certificate ${folder}/clients.pem;
          ssl_verify_client optional;
          location / {
            proxy_pass http://127.0.0.1:${server.port};
            proxy_set_header Host id.example;
            proxy_set_header X-Client-Cert $ssl_client_escaped_cert;
          }
        }
      }`,
    );
    nginx = spawn('nginx', ['-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')], {
      stdio: 'ignore',
    });
    let isUp = false;
    const knock = setInterval(
      () =>
        token().then(
          () => {
            isUp = true;
          },
          () => {},
        ),
      50,
    );
    await until(() => isUp, 'nginx answers').finally(() => clearInterval(knock));
  });
  after(() => {
    nginx?.kill();
  });

  const token = (certificate?: MadeCertificate, headers = {}) =>
    askOverTls(site, port, '/token', {
      ...{ certificate, headers },
      form: { grant_type: 'client_credentials', client_id: 'named' },
    });

  test('a client is authenticated and its token bound, with the header as in the guide', async () => {
    const { status, json } = await token(CLIENT);
    assert.equal(status, 200, JSON.stringify(json));
    assert.deepEqual(decodeJwt(String(json.access_token)).cnf, CNF);
  });

  test('a header of the caller is replaced, and a certificate of another CA goes no further than nginx', async () => {
    const forged = { 'x-client-cert': encodeURIComponent(PEM) };
    assert.equal((await token(undefined, forged)).status, 401);
    const impostor = await newCertificate({ subject: [{ CN: ['client'] }] });
    assert.equal((await token(impostor, forged)).status, 400, 'by nginx');
  });
});
