// The proxies of deploy/proxies, each with its own program: the files as they are, with other addresses and paths.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import {
  Agent,
  createServer,
  type IncomingHttpHeaders,
  request as requestHttp,
  type Server,
} from 'node:http';
import { request as requestHttps, Agent as TlsAgent } from 'node:https';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type MadeCertificate, newCertificate } from '../../core/test/harness/certificates.ts';
import { grantdPrints } from './harness/commands.ts';
import { freePort } from './harness/free_port.ts';
import { listenOnLoopback } from './harness/listening.ts';
import { until, Workbench } from './harness/program.ts';
import { basic } from './harness/protocol.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const HOST = 'login.example.com';
const ISSUER = `https://${HOST}`;
const CONFIGURATIONS = join(import.meta.dirname, '..', '..', 'deploy', 'proxies');

/** What a proxy is started with. */
interface Place {
  readonly folder: string;
  /** Where it finds grantd. */
  readonly upstream: string;
  readonly httpPort: number;
  readonly httpsPort: number;
}

interface Proxy {
  readonly file: string;
  /** Prints the version. */
  readonly version: readonly [program: string, ...args: string[]];
  /** Texts of the file and what stands there in the test. */
  replacements(place: Place): readonly (readonly [string, string])[];
  command(file: string, place: Place): readonly [program: string, ...args: string[]];
  /** What it answers if a body is too large. Default: 413. */
  readonly tooLarge?: readonly number[];
}

const PROXIES: Readonly<Record<string, Proxy>> = {
  nginx: {
    file: 'nginx.conf',
    version: ['nginx', '-v'],
    replacements: ({ folder, upstream, httpPort, httpsPort }) => [
      ['/run/nginx.pid', join(folder, 'nginx.pid')],
      ['/var/log/nginx/error.log', join(folder, 'error.log')],
      [
        'http {\n',
        `http {\n${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
          .map((name) => `${name}_temp_path ${folder}/temporary/${name};\n`)
          .join('')}`,
      ],
      ['server 127.0.0.1:4000 fail_timeout=1s;', `server ${upstream} fail_timeout=1s;`],
      ['listen 80;', `listen 127.0.0.1:${httpPort};`],
      ['listen [::]:80;', ''],
      ['listen 443 ssl http2;', `listen 127.0.0.1:${httpsPort} ssl http2;`],
      ['listen [::]:443 ssl http2;', ''],
      [`/etc/letsencrypt/live/${HOST}/fullchain.pem`, join(folder, 'site.pem')],
      [`/etc/letsencrypt/live/${HOST}/privkey.pem`, join(folder, 'site.key')],
    ],
    command: (file, { folder }) => [
      ...(['nginx', '-c', file, '-e', join(folder, 'error.log'), '-g', 'daemon off;'] as const),
    ],
  },
  Caddy: {
    file: 'Caddyfile',
    version: ['caddy', 'version'],
    replacements: ({ folder, upstream, httpPort, httpsPort }) => [
      [
        `${HOST} {`,
        `{\nadmin off\nskip_install_trust\ndefault_bind 127.0.0.1\nhttp_port ${httpPort}\n` +
          `https_port ${httpsPort}\n}\n${HOST} {\ntls ${folder}/site.pem ${folder}/site.key`,
      ],
      ['127.0.0.1:4000', upstream],
    ],
    command: (file) => ['caddy', 'run', '--config', file, '--adapter', 'caddyfile'],
    // Debian 12 has version 2.6, which calls the unread body a fault of grantd.
    tooLarge: [413, 502],
  },
  HAProxy: {
    file: 'haproxy.cfg',
    version: ['haproxy', '-v'],
    replacements: ({ folder, upstream, httpPort, httpsPort }) => [
      ['bind :80,:::80 v6only', `bind 127.0.0.1:${httpPort}`],
      ['bind :443,:::443 v6only', `bind 127.0.0.1:${httpsPort}`],
      [`/etc/haproxy/${HOST}.pem`, join(folder, 'both.pem')],
      ['127.0.0.1:4000', upstream],
    ],
    command: (file) => ['haproxy', '-db', '-f', file],
  },
};

/** A request as grantd gets it. */
interface Recorded {
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly connection: object;
}

/** Passes every request on to a server, and records it. */
function recorder(port: () => number, recorded: Recorded[]): Server {
  const agent = new Agent({ keepAlive: true });
  return createServer({ keepAliveTimeout: 65_000 }, (incoming, outgoing) => {
    const { method, url, headers, socket } = incoming;
    recorded.push({ url, headers, connection: socket });
    const options = { host: '127.0.0.1', port: port(), agent, method, path: url, headers };
    const passed = requestHttp(options, (response) => {
      const { connection: _, 'keep-alive': __, ...others } = response.headers;
      outgoing.writeHead(response.statusCode ?? 502, others);
      response.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    incoming.pipe(passed);
  }).on('close', () => agent.destroy());
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

for (const [name, proxy] of Object.entries(PROXIES)) {
  const [program, ...args] = proxy.version;
  const isInstalled = spawnSync(program, args).status === 0;
  const skip = !isInstalled && `${program} is not installed: apt install ${program}`;

  describe(`behind ${name}, with deploy/proxies/${proxy.file}`, { skip }, () => {
    const recorded: Recorded[] = [];
    let site: MadeCertificate;
    let place: Place;
    let child: ChildProcess;
    let front: Server;
    let authorization: string;
    const kept = new TlsAgent({ keepAlive: true });

    before(async () => {
      const folder = workbench.folder();
      const secret = JSON.parse(
        await grantdPrints(folder, [
          ...[
            'client',
            'add',
            'api',
            '--issuer',
            ISSUER,
            '--grant',
            'client_credentials',
            '--scope',
            'read',
            '--json',
          ],
        ]),
      ).secret;
      authorization = basic('api', secret);
      const server = await workbench.start(folder, ['--issuer', ISSUER, '--trusted-proxies', '127.0.0.1']);
      front = recorder(() => server.port, recorded);
      const upstream = `127.0.0.1:${await listenOnLoopback(front)}`;
      place = { folder, upstream, httpPort: await freePort(), httpsPort: await freePort() };
      site = await newCertificate({ subject: [{ CN: [HOST] }], names: [{ type: 'dns', value: HOST }] });
      writeFileSync(join(folder, 'site.pem'), site.pem.cert);
      writeFileSync(join(folder, 'site.key'), site.pem.key);
      writeFileSync(join(folder, 'both.pem'), `${site.pem.cert}\n${site.pem.key}`);
      mkdirSync(join(folder, 'temporary'));
      let text = readFileSync(join(CONFIGURATIONS, proxy.file), 'utf8');
      for (const [from, to] of proxy.replacements(place)) {
        assert.ok(text.includes(from), `${proxy.file} has no ${from}`);
        text = text.replaceAll(from, to);
      }
      const file = join(folder, proxy.file);
      writeFileSync(file, text);
      const [command, ...given] = proxy.command(file, place);
      const environment = { PATH: process.env.PATH, HOME: folder };
      child = spawn(command, given, { env: environment, stdio: ['ignore', 'ignore', 'pipe'] });
      let output = '';
      child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
        output += chunk;
      });
      let isUp = false;
      const knock = setInterval(async () => {
        const { status } = await ask('/health/ready').catch(() => ({ status: 0 }));
        isUp ||= status === 200;
      }, 100);
      await until(() => isUp || child.exitCode !== null, 'the proxy answers').finally(() =>
        clearInterval(knock),
      );
      assert.ok(isUp, output);
    });
    after(async () => {
      kept.destroy();
      front?.close();
      front?.closeAllConnections();
      if (child === undefined || child.exitCode !== null) return;
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill();
      await ended;
    });

    const ask = (
      path: string,
      body?: string,
      headers: Readonly<Record<string, string>> = {},
    ): Promise<Answer> =>
      new Promise((resolve, reject) => {
        const sent = requestHttps(
          {
            ...{
              host: '127.0.0.1',
              port: place.httpsPort,
              servername: HOST,
              ca: site.pem.cert,
              agent: kept,
              path,
            },
            method: body === undefined ? 'GET' : 'POST',
            headers: {
              host: HOST,
              ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
              ...headers,
            },
          },
          (response) => {
            response
              .setEncoding('utf8')
              .toArray()
              .then((parts) =>
                resolve({
                  status: response.statusCode ?? 0,
                  headers: response.headers,
                  text: parts.join(''),
                }),
              )
              .catch(reject);
          },
        );
        sent.once('error', reject).end(body);
      });

    test('users get the sign-in page, over https only from then on', async () => {
      const { location } = (await ask('/account')).headers;
      assert.match(String(location), /^(?:https:\/\/login\.example\.com)?\/login/);
      const { status, headers, text } = await ask(String(location).replace(ISSUER, ''));
      assert.deepEqual([status, headers['strict-transport-security']], [200, 'max-age=31536000']);
      assert.match(text, /<input [^>]*id="username"/);
      assert.match(String(headers['content-security-policy']), /default-src/);
    });

    test('clients get and introspect tokens, over few connections to grantd', async () => {
      const issued = await ask('/token', 'grant_type=client_credentials', { authorization });
      assert.equal(issued.status, 200, issued.text);
      const { access_token } = JSON.parse(issued.text);
      recorded.splice(0);
      for (let count = 0; count < 20; count += 1) {
        const { status, text } = await ask('/token/introspect', `token=${access_token}`, { authorization });
        const { active, iss } = JSON.parse(text);
        assert.deepEqual([status, active, iss], [200, true, ISSUER]);
      }
      const introspections = recorded.filter(({ url }) => url === '/token/introspect');
      const connections = new Set(introspections.map(({ connection }) => connection));
      assert.ok(introspections.length === 20 && connections.size <= 4, `${connections.size} connections`);
    });

    test('grantd gets the address of the client, whatever the client claims, and its Host', async () => {
      recorded.splice(0);
      await ask('/jwks', undefined, { 'x-forwarded-for': '203.0.113.7' });
      const asked = recorded.filter(({ url }) => url === '/jwks');
      assert.deepEqual(
        asked.map(({ headers }) => [headers['x-forwarded-for'], headers.host]),
        [['127.0.0.1', HOST]],
      );
    });

    test('a body over the limit goes no further', async () => {
      recorded.splice(0);
      const { status } = await ask('/token', `x=${'x'.repeat(80_000)}`, { authorization });
      assert.ok((proxy.tooLarge ?? [413]).includes(status), String(status));
    });

    test('plain http leads to https', async () => {
      const location = await new Promise((resolve, reject) => {
        const { httpPort: port } = place;
        requestHttp({ host: '127.0.0.1', port, path: '/account?a=b', headers: { host: HOST }, agent: false })
          .once('response', (response) => resolve(response.resume().headers.location))
          .once('error', reject)
          .end();
      });
      assert.equal(String(location).replace(/:\d+/, ''), `${ISSUER}/account?a=b`);
    });
  });
}
