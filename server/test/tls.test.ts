// The program's own TLS, with real certificates. § refers to RFC 8705.
import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { connect as connectTcp, createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type ConnectionOptions, connect, type SecureVersion, type TLSSocket } from 'node:tls';
import { decodeJwt, exportJWK } from 'jose';
import { type MadeCertificate, newCertificate, thumbprintOf } from '../../core/test/harness/certificates.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { listenOnLoopback } from './harness/listening.ts';
import { type RunningServer, until, Workbench } from './harness/program.ts';
import { type Ask, addMachine, askOverTls, serverCertificate } from './harness/tls.ts';
import { begin } from './harness/wire.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const authority = (name: string) => newCertificate({ subject: [{ CN: [name] }], isCa: true });
const SERVER_CA = await authority('servers');
const CLIENT_CA = await authority('clients');
const OTHER_CA = await authority('others');
const SERVER = await serverCertificate(SERVER_CA);
const CLIENT = await newCertificate({ subject: [{ C: ['DE'] }, { CN: ['client'] }], issuer: CLIENT_CA });
const IMPOSTOR = await newCertificate({ subject: [{ C: ['DE'] }, { CN: ['client'] }], issuer: OTHER_CA });
const SELF_SIGNED = await newCertificate({ subject: [{ CN: ['self'] }] });

const TLS = ['--tls-certificate', 'tls.pem', '--tls-key', 'tls.key'];
const MTLS = [...TLS, '--mtls-port', '0', '--tls-client-ca', 'clients.pem'];

/** Replaces a file in one step. */
function put(folder: string, name: string, content: string): void {
  const path = join(folder, name);
  writeFileSync(`${path}.new`, content, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

function folderWithFiles(): string {
  const folder = workbench.folder();
  put(folder, 'tls.pem', SERVER.pem.cert);
  put(folder, 'tls.key', SERVER.pem.key);
  put(folder, 'clients.pem', CLIENT_CA.pem.cert);
  return folder;
}

const ask = (port: number, path: string, options?: Ask) => askOverTls(SERVER_CA, port, path, options);

/** Asks for a token as one of the clients. */
function token(port: number, client_id: string, certificate?: MadeCertificate, options: Ask = {}) {
  const form = { grant_type: 'client_credentials', client_id };
  return ask(port, '/token', { ...options, certificate, form });
}

const BOUND = '--tls-client-certificate-bound-access-tokens';

/** A client per method, named like it. */
async function addClients(folder: string): Promise<void> {
  await addMachine(folder, 'named', [
    '--auth-method',
    'tls_client_auth',
    '--tls-client-auth-subject-dn',
    'CN=client,C=DE',
    BOUND,
  ]);
  const jwk = {
    ...(await exportJWK(SELF_SIGNED.keys.publicKey)),
    x5c: [SELF_SIGNED.certificate.toString('base64')],
  };
  put(folder, 'keys.json', JSON.stringify({ keys: [jwk] }));
  await addMachine(folder, 'self', [
    '--auth-method',
    'self_signed_tls_client_auth',
    '--jwks-file',
    join(folder, 'keys.json'),
  ]);
}

for (const workers of ['1', '2'])
  describe(`TLS of the program, ${workers === '1' ? 'one process' : 'two workers'}`, () => {
    let server: RunningServer;
    before(async () => {
      const folder = folderWithFiles();
      server = await workbench.start(folder, [...MTLS, '--workers', workers]);
      await addClients(folder);
    });

    test('§5 the issuer is https, and the aliases lead to the second port', async () => {
      const { json } = await ask(server.port, '/.well-known/oauth-authorization-server');
      assert.equal(json.issuer, `https://localhost:${server.port}`);
      const aliases = json.mtls_endpoint_aliases as Record<string, string>;
      assert.equal(aliases.token_endpoint, `https://localhost:${server.mtlsPort}/token`);
      assert.equal(json.token_endpoint, `https://localhost:${server.port}/token`);
      assert.equal(json.tls_client_certificate_bound_access_tokens, true);
      const line = await server.logged(({ event }) => event === 'listening', 'once');
      assert.deepEqual([line.port, line.mtlsPort], [server.port, server.mtlsPort]);
    });

    test('§2.1, §3.1 a client is authenticated by the name that its CA certified, and the token is bound', async () => {
      const { status, json } = await token(server.mtlsPort, 'named', CLIENT);
      assert.equal(status, 200, JSON.stringify(json));
      assert.deepEqual(decodeJwt(String(json.access_token)).cnf, { 'x5t#S256': await thumbprintOf(CLIENT) });
      const explained = await grantdPrints(server.folder, ['token', 'explain', String(json.access_token)]);
      assert.ok(explained.includes(`bound to  the certificate ${await thumbprintOf(CLIENT)}\n`), explained);
      for (const other of [IMPOSTOR, SELF_SIGNED, undefined]) {
        const refused = await token(server.mtlsPort, 'named', other);
        assert.deepEqual([refused.status, refused.json.error], [401, 'invalid_client']);
      }
    });

    test('§2.2 a registered self-signed certificate authenticates its client', async () => {
      assert.equal((await token(server.mtlsPort, 'self', SELF_SIGNED)).status, 200);
      assert.equal((await token(server.mtlsPort, 'self', CLIENT)).status, 401);
      assert.equal((await token(server.mtlsPort, 'self')).status, 401);
    });

    test('§5 the first port does not ask for certificates', async () => {
      assert.equal((await token(server.port, 'named', CLIENT)).status, 401);
      assert.equal((await token(server.port, 'self', SELF_SIGNED)).status, 401);
    });

    test('§5 the second port has no pages, because it is another origin for browsers', async () => {
      assert.equal((await ask(server.port, '/')).status, 200);
      for (const path of ['/', '/login', '/account', '/authorize?client_id=named'])
        assert.equal((await ask(server.mtlsPort, path)).status, 404, path);
      assert.equal((await ask(server.mtlsPort, '/health')).status, 200);
    });

    test('several requests share a connection with its certificate', async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const first = await token(server.mtlsPort, 'named', CLIENT, { agent });
      const second = await token(server.mtlsPort, 'named', CLIENT, { agent });
      assert.deepEqual([first.status, second.status, first.socket === second.socket], [200, 200, true]);
      agent.destroy();
    });

    test('a request without TLS gets no answer, and the server goes on', async () => {
      for (const port of [server.port, server.mtlsPort]) {
        const { socket, text } = await begin(port, 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n');
        await until(() => socket.destroyed || socket.readableEnded, 'the connection is closed');
        assert.ok(!text().includes('HTTP/1.1'), text());
        assert.equal((await ask(port, '/health')).status, 200);
      }
    });

    test('RFC 9325 §3.1.1, §4.2 only TLS 1.2 and 1.3 with forward secrecy', async () => {
      for (const port of [server.port, server.mtlsPort]) {
        assert.equal(await negotiated(port, {}), 'TLSv1.3');
        assert.equal(await negotiated(port, { maxVersion: 'TLSv1.2' }), 'TLSv1.2');
        const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
        assert.match(await negotiated(port, old), /PROTOCOL_VERSION/);
        const weak = { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA' } as const;
        assert.match(await negotiated(port, weak), /HANDSHAKE_FAILURE/);
      }
    });
  });

/** @returns the TLS version, or the code of the failure */
function negotiated(port: number, options: ConnectionOptions): Promise<string> {
  return new Promise((resolve) => {
    const socket: TLSSocket = connect(
      { port, host: '127.0.0.1', servername: 'localhost', ca: SERVER_CA.pem.cert, ...options },
      () => {
        resolve(String(socket.getProtocol()));
        socket.destroy();
      },
    );
    socket.once('error', (error) => resolve('code' in error ? String(error.code) : String(error)));
  });
}

describe('certificate authorities', () => {
  test('§2.1 only those of --tls-client-ca may name clients, whatever else Node trusts', async () => {
    const folder = folderWithFiles();
    put(folder, 'others.pem', OTHER_CA.pem.cert);
    const server = await workbench.start(folder, MTLS, { NODE_EXTRA_CA_CERTS: join(folder, 'others.pem') });
    await addClients(folder);
    assert.equal((await token(server.mtlsPort, 'named', CLIENT)).status, 200);
    assert.equal((await token(server.mtlsPort, 'named', IMPOSTOR)).status, 401);
    await server.logged(({ reason }) => reason === 'client_certificate_untrusted', 'the reason');
  });

  test('§2.1 without --tls-client-ca no client is authenticated by name, but certificates bind tokens', async () => {
    const folder = folderWithFiles();
    put(folder, 'others.pem', OTHER_CA.pem.cert);
    const server = await workbench.start(folder, [...TLS, '--mtls-port', '0'], {
      NODE_EXTRA_CA_CERTS: join(folder, 'others.pem'),
    });
    await addClients(folder);
    const { json } = await ask(server.port, '/.well-known/oauth-authorization-server');
    const methods = json.token_endpoint_auth_methods_supported as string[];
    assert.ok(!methods.includes('tls_client_auth') && methods.includes('self_signed_tls_client_auth'));
    for (const certificate of [CLIENT, IMPOSTOR])
      assert.equal((await token(server.mtlsPort, 'named', certificate)).status, 401);
    const added = await grantdPrints(
      folder,
      [
        ...['client', 'add', 'bound', '--grant', 'client_credentials', '--scope', 'read', BOUND],
        ...['--auth-method', 'client_secret_post', '--secret-stdin'],
      ],
      'a secret that is long enough for this',
    );
    assert.equal(added, 'added bound');
    const form = {
      grant_type: 'client_credentials',
      client_id: 'bound',
      client_secret: 'a secret that is long enough for this',
    };
    const bound = await ask(server.mtlsPort, '/token', { certificate: IMPOSTOR, form });
    assert.deepEqual(decodeJwt(String(bound.json.access_token)).cnf, {
      'x5t#S256': await thumbprintOf(IMPOSTOR),
    });
  });
});

describe('changed files', { concurrency: true }, () => {
  const reloads = (server: RunningServer) =>
    server.log().filter(({ event }) => event === 'tls_reloaded').length;
  const reloaded = (server: RunningServer, count: number) =>
    until(() => reloads(server) === count, 'the files are loaded again');

  test('a new certificate is used without a restart, and one without its key changes nothing', async () => {
    const folder = folderWithFiles();
    const server = await workbench.start(folder, TLS);
    const serial = (port: number) =>
      new Promise<string>((resolve, reject) => {
        const socket = connect(
          { port, host: '127.0.0.1', servername: 'localhost', ca: SERVER_CA.pem.cert },
          () => {
            resolve(socket.getPeerCertificate().serialNumber);
            socket.destroy();
          },
        ).once('error', reject);
      });
    const first = await serial(server.port);
    const next = await serverCertificate(SERVER_CA);
    put(folder, 'tls.pem', next.pem.cert);
    const failure = await server.logged(({ event }) => event === 'tls_reload_failed', 'the failure');
    assert.match(JSON.stringify(failure), /tlsKey: expected the private key of the first certificate/);
    assert.doesNotMatch(JSON.stringify(failure), /BEGIN/);
    assert.equal(await serial(server.port), first);
    put(folder, 'tls.key', next.pem.key);
    await reloaded(server, 1);
    assert.notEqual(await serial(server.port), first);
    assert.equal((await ask(server.port, '/health')).status, 200);
  });

  test('§2.1 a CA that is removed is trusted on no connection, whether it is open, resumed or new', async () => {
    const folder = folderWithFiles();
    const server = await workbench.start(folder, MTLS);
    await addClients(folder);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const open = await token(server.mtlsPort, 'named', CLIENT, { agent });
    assert.equal(open.status, 200);
    const versions = ['TLSv1.2', 'TLSv1.3'] as const;
    const sessions = new Map<SecureVersion, Buffer | undefined>();
    for (const maxVersion of versions) {
      const { socket } = await token(server.mtlsPort, 'named', CLIENT, { maxVersion });
      const session = socket.getSession();
      const again = await token(server.mtlsPort, 'named', CLIENT, { maxVersion, session });
      assert.deepEqual([again.status, again.socket.isSessionReused()], [200, true], maxVersion);
      sessions.set(maxVersion, session);
    }
    put(folder, 'clients.pem', OTHER_CA.pem.cert);
    await reloaded(server, 1);
    await until(() => open.socket.destroyed, 'the idle connection is closed');
    for (const maxVersion of versions) {
      const session = sessions.get(maxVersion);
      const resumed = await token(server.mtlsPort, 'named', CLIENT, { maxVersion, session });
      assert.deepEqual([resumed.status, resumed.socket.isSessionReused()], [401, false], maxVersion);
    }
    assert.equal((await token(server.mtlsPort, 'named', CLIENT)).status, 401);
    assert.equal((await token(server.mtlsPort, 'named', IMPOSTOR)).status, 200, 'the CA of now');
    agent.destroy();
  });
});

test('§2.1 a handshake that began before its CA was removed does not end in a connection', async () => {
  const folder = folderWithFiles();
  const server = await workbench.start(folder, MTLS);
  await addClients(folder);
  const relay = await startRelay(server.mtlsPort);
  const answer = token(relay.port, 'named', CLIENT).then(
    ({ status }) => status,
    () => 'closed',
  );
  await until(() => relay.held() > 0, 'the client wants to end the handshake');
  put(folder, 'clients.pem', OTHER_CA.pem.cert);
  await server.logged(({ event }) => event === 'tls_reloaded', 'the new CA');
  relay.release();
  assert.equal(await answer.finally(relay.close), 'closed');
});

/** Forwards the first bytes of one client to a server on this machine, and holds the rest. */
async function startRelay(to: number) {
  const held: Uint8Array[] = [];
  let isHolding = false;
  let release = () => {};
  const listener = createServer((client) => {
    const upstream = connectTcp(to, '127.0.0.1');
    upstream.pipe(client);
    upstream.on('close', () => client.destroy());
    client.on('data', (chunk: Buffer) => {
      if (isHolding) held.push(chunk);
      else upstream.write(chunk);
      isHolding = true;
    });
    for (const socket of [client, upstream]) socket.on('error', () => {});
    release = () => upstream.write(Buffer.concat(held));
  });
  const port = await listenOnLoopback(listener);
  return { port, held: () => held.length, release: () => release(), close: () => listener.close() };
}

test('a shutdown closes idle TLS connections', async () => {
  const server = await workbench.start(folderWithFiles(), MTLS);
  const agent = new Agent({ keepAlive: true });
  for (const port of [server.port, server.mtlsPort])
    assert.equal((await ask(port, '/health', { agent })).status, 200);
  const startedAtMs = performance.now();
  const { code } = await server.stop();
  assert.equal(code, 0);
  assert.ok(performance.now() - startedAtMs < 8_000);
  agent.destroy();
});

describe('wrong options and files', () => {
  const start = (folder: string, args: readonly string[]) =>
    grantd(folder, ['serve', '--port', '0', ...args]);
  const HEADER = ['--client-certificate-header', 'Client-Cert'];
  const PROXY = ['--trusted-proxies', '127.0.0.1'];

  for (const [args, message] of [
    [TLS.slice(0, 2), '--tls-certificate: expected --tls-key with it'],
    [TLS.slice(2), '--tls-key: expected --tls-certificate with it'],
    [['--mtls-port', '0'], '--mtls-port: expected --tls-certificate with it'],
    [[...TLS, '--tls-client-ca', 'clients.pem'], '--tls-client-ca: expected --mtls-port with it'],
    [
      ['--mtls-origin', 'https://mtls.example'],
      '--mtls-origin: expected --mtls-port or --client-certificate-header with it',
    ],
    [
      [...MTLS, ...PROXY, ...HEADER],
      '--client-certificate-header: expected no --mtls-port, because certificates come from one place',
    ],
    [
      HEADER,
      '--client-certificate-header: expected --trusted-proxies with it, because anyone can send a header',
    ],
    [
      ['--client-certificate-format', 'pem'],
      '--client-certificate-format: expected --client-certificate-header with it',
    ],
    [
      ['--client-certificate-verified'],
      '--client-certificate-verified: expected --client-certificate-header with it',
    ],
    [[...MTLS, '--mtls-port', '4999', '--port', '4999'], '--mtls-port: expected another port than --port'],
    [
      [...TLS, '--issuer', 'http://localhost:1'],
      '--tls-certificate: expected an https issuer, got http://localhost:1',
    ],
  ] as const)
    test(`${args.join(' ')}: ${message}`, async () => {
      const { code, stderr } = await start(folderWithFiles(), args);
      assert.equal(code, 2, stderr);
      assert.ok(stderr.includes(message), stderr);
    });

  for (const [name, content, message] of [
    ['tls.pem', undefined, '--tls-certificate: expected a readable file'],
    ['tls.pem', 'nonsense', '--tls-certificate: expected a PEM certificate'],
    ['tls.key', 'nonsense', '--tls-key: expected an unencrypted PEM private key'],
    [
      'tls.key',
      CLIENT.pem.key,
      '--tls-key: expected the private key of the first certificate in tlsCertificate',
    ],
    [
      'tls.pem',
      `${SERVER.pem.cert}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
      '--tls-certificate: expected PEM certificates',
    ],
    ['clients.pem', '', '--tls-client-ca: expected PEM certificates'],
    ['clients.pem', CLIENT.pem.key, '--tls-client-ca: expected PEM certificates'],
    [
      'clients.pem',
      `${CLIENT_CA.pem.cert}${OTHER_CA.pem.cert.replace('MII', 'AAA')}`,
      '--tls-client-ca: expected PEM certificates',
    ],
  ] as const)
    test(`${name} with ${content === undefined ? 'no file' : JSON.stringify(content.slice(0, 12))} is refused: ${message}`, async () => {
      const folder = folderWithFiles();
      if (content === undefined) renameSync(join(folder, name), join(folder, 'elsewhere'));
      else put(folder, name, content);
      const { code, stderr, stdout } = await start(folder, MTLS);
      assert.equal(code, 2, stderr);
      assert.ok(stderr.includes(message), stderr);
      assert.doesNotMatch(stderr + stdout, /BEGIN|MII/);
    });
});
