// The proxies of deploy/proxies, each with its own program: the files as they are, with other addresses and paths.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
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
import { setTimeout as pause } from 'node:timers/promises';
import { newCertificate } from '../../core/test/harness/certificates.ts';
import { freePort } from '../../core/test/harness/free_port.ts';
import { grantdPrints } from './harness/commands.ts';
import { POSTGRESQL } from './harness/databases.ts';
import { listenOnLoopback } from './harness/listening.ts';
import { type Environment, environmentOf, type RunningServer, until, Workbench } from './harness/program.ts';
import { basic } from './harness/protocol.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const HOST = 'login.example.com';
const ISSUER = `https://${HOST}`;
const CONFIGURATIONS = join(import.meta.dirname, '..', '..', 'deploy', 'proxies');

/** What a proxy is started with. */
interface Place {
  readonly folder: string;
  /** Where it finds grantd: one server, or two. */
  readonly upstreams: readonly [first: string, second?: string];
  readonly httpPort: number;
  readonly httpsPort: number;
}

interface Proxy {
  readonly file: string;
  /** Prints the version. */
  readonly version: readonly [program: string, ...args: string[]];
  /** Texts of the file and what stands there in the test. */
  replacements(place: Place): readonly (readonly [string, string])[];
  command(file: string): readonly [program: string, ...args: string[]];
  /** What it answers if a body is too large. Default: 413. */
  readonly tooLarge?: readonly number[];
}

const PROXIES: Readonly<Record<string, Proxy>> = {
  nginx: {
    file: 'nginx.conf',
    version: ['nginx', '-v'],
    replacements: ({ folder, upstreams: [first, second], httpPort, httpsPort }) => [
      ['/run/nginx.pid', join(folder, 'nginx.pid')],
      ['/var/log/nginx/error.log', 'stderr'],
      [
        'http {\n',
        `http {\n${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
          .map((name) => `${name}_temp_path ${folder}/temporary/${name};\n`)
          .join('')}`,
      ],
      ['server 127.0.0.1:4000', `server ${first}`],
      ...(second === undefined ? [] : [['# server 10.0.0.2:4000', `server ${second}`] as const]),
      ['listen 80;', `listen 127.0.0.1:${httpPort};`],
      ['listen [::]:80;', ''],
      ['listen 443 ssl http2;', `listen 127.0.0.1:${httpsPort} ssl http2;`],
      ['listen [::]:443 ssl http2;', ''],
      [`/etc/letsencrypt/live/${HOST}/fullchain.pem`, join(folder, 'site.pem')],
      [`/etc/letsencrypt/live/${HOST}/privkey.pem`, join(folder, 'site.key')],
    ],
    command: (file) => ['nginx', '-c', file, '-e', 'stderr', '-g', 'daemon off;'],
  },
  Caddy: {
    file: 'Caddyfile',
    version: ['caddy', 'version'],
    replacements: ({ folder, upstreams, httpPort, httpsPort }) => [
      [
        `${HOST} {`,
        `{\nadmin off\nskip_install_trust\ndefault_bind 127.0.0.1\nhttp_port ${httpPort}\n` +
          `https_port ${httpsPort}\n}\n${HOST} {\ntls ${folder}/site.pem ${folder}/site.key`,
      ],
      ['127.0.0.1:4000', upstreams.join(' ')],
    ],
    command: (file) => ['caddy', 'run', '--config', file, '--adapter', 'caddyfile'],
    // Debian 12 has version 2.6, which calls the unread body a fault of grantd.
    tooLarge: [413, 502],
  },
  HAProxy: {
    file: 'haproxy.cfg',
    version: ['haproxy', '-v'],
    replacements: ({ folder, upstreams: [first, second], httpPort, httpsPort }) => [
      ['bind :80,:::80 v6only', `bind 127.0.0.1:${httpPort}`],
      ['bind :443,:::443 v6only', `bind 127.0.0.1:${httpsPort}`],
      [`/etc/haproxy/${HOST}.pem`, join(folder, 'both.pem')],
      ['127.0.0.1:4000', first],
      ...(second === undefined ? [] : [['# server two 10.0.0.2:4000', `server two ${second}`] as const]),
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

/** A proxy that runs with its file of deploy/proxies. */
interface RunningProxy {
  readonly httpPort: number;
  /** What it has logged. */
  output(): string;
  /** Sends a request over TLS; with a body, a POST. */
  ask(path: string, body?: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  stop(): Promise<void>;
}

async function startProxy(proxy: Proxy, upstreams: Place['upstreams']): Promise<RunningProxy> {
  const folder = workbench.folder();
  const [httpPort, httpsPort] = [await freePort(), await freePort()];
  const place = { folder, upstreams, httpPort, httpsPort };
  const site = await newCertificate({ subject: [{ CN: [HOST] }], names: [{ type: 'dns', value: HOST }] });
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
  const [command, ...given] = proxy.command(file);
  const environment = { PATH: process.env.PATH, HOME: folder };
  const child = spawn(command, given, { env: environment, stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });

  const agent = new TlsAgent({ keepAlive: true });
  const ask: RunningProxy['ask'] = (path, body, headers = {}) =>
    new Promise((resolve, reject) => {
      const sent = requestHttps(
        {
          ...{ host: '127.0.0.1', port: httpsPort, servername: HOST, ca: site.pem.cert, agent, path },
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
              resolve({ status: response.statusCode ?? 0, headers: response.headers, text: parts.join('') }),
            )
            .catch(reject);
        },
      );
      sent.once('error', reject).end(body);
    });
  let isUp = false;
  const knock = setInterval(async () => {
    const { status } = await ask('/health/ready').catch(() => ({ status: 0 }));
    isUp ||= status === 200;
  }, 100);
  await until(() => isUp || child.exitCode !== null, 'the proxy answers').finally(() => clearInterval(knock));
  assert.ok(isUp, output);
  return {
    httpPort,
    output: () => output,
    ask,
    async stop() {
      agent.destroy();
      if (child.exitCode !== null) return;
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill();
      await ended;
    },
  };
}

const CLIENT = ['client', 'add', 'api', '--grant', 'client_credentials', '--scope', 'read', '--json'];

for (const [name, proxy] of Object.entries(PROXIES)) {
  const skip = absenceOf(proxy);

  describe(`behind ${name}, with deploy/proxies/${proxy.file}`, { skip }, () => {
    const recorded: Recorded[] = [];
    let running: RunningProxy | undefined;
    let front: Server;
    let authorization: string;

    before(async () => {
      const folder = workbench.folder();
      const { client_secret: secret } = JSON.parse(
        await grantdPrints(folder, [...CLIENT, '--issuer', ISSUER]),
      );
      authorization = basic('api', secret);
      const server = await workbench.start(folder, ['--issuer', ISSUER, '--trusted-proxies', '127.0.0.1']);
      front = recorder(() => server.port, recorded);
      running = await startProxy(proxy, [`127.0.0.1:${await listenOnLoopback(front)}`]);
    });
    after(async () => {
      await running?.stop();
      front?.close();
      front?.closeAllConnections();
    });
    const ask: RunningProxy['ask'] = (...request) => {
      assert.ok(running);
      return running.ask(...request);
    };

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
        requestHttp({
          host: '127.0.0.1',
          port: running?.httpPort,
          path: '/account?a=b',
          headers: { host: HOST },
          agent: false,
        })
          .once('response', (response) => resolve(response.resume().headers.location))
          .once('error', reject)
          .end();
      });
      assert.equal(String(location).replace(/:\d+/, ''), `${ISSUER}/account?a=b`);
    });
  });
}

describe('a new server secret, by restarts of two servers in turn, under load', () => {
  const installed = Object.entries(PROXIES).filter(([, proxy]) => absenceOf(proxy) === false);
  const shared = new Workbench(POSTGRESQL);
  const proxies = new Map<string, RunningProxy>();
  const loads = new Map<string, Load>();
  after(async () => {
    for (const load of loads.values()) await load.stop();
    for (const proxy of proxies.values()) await proxy.stop();
    await shared.clear();
  });

  before(async () => {
    if (installed.length === 0 || POSTGRESQL.absence !== false) return;
    const folder = await shared.home();
    const present = environmentOf(folder).GRANTD_SECRET ?? '';
    let environment: Environment = { GRANTD_SHUTDOWN_DELAY: '2' };
    const prints = (...args: string[]) => grantdPrints(folder, args, '', environment);
    const { client_secret: secret } = JSON.parse(await prints(...CLIENT, '--issuer', ISSUER));
    const [one, two] = [await freePort(), await freePort()];
    const servers = new Map<number, RunningServer>();
    const start = async (port: number) => {
      const args = ['--issuer', ISSUER, '--trusted-proxies', '127.0.0.1', '--workers', '2'];
      servers.set(port, await shared.start(folder, [...args, '--port', String(port)], environment));
    };
    for (const port of [one, two]) await start(port);
    for (const [name, proxy] of installed) {
      const started = await startProxy(proxy, [`127.0.0.1:${one}`, `127.0.0.1:${two}`]);
      proxies.set(name, started);
      loads.set(name, putUnderLoad(started.ask, basic('api', secret)));
    }

    // The steps of docs/secrets.md.
    const { secret: added } = JSON.parse(await prints('secrets', 'rotate', '--generate', '--json'));
    for (const secrets of [JSON.stringify([present, added]), JSON.stringify([added, present]), added]) {
      if (secrets === added) await untilDropped(prints);
      environment = { ...environment, GRANTD_SECRET: secrets };
      for (const port of [one, two]) {
        assert.equal((await servers.get(port)?.stop())?.code, 0);
        await start(port);
        // Until proxies that check the servers notice that this one is ready.
        await pause(1500);
      }
    }
  });

  for (const [name, proxy] of Object.entries(PROXIES))
    test(`fails no request behind ${name}`, { skip: absenceOf(proxy) || POSTGRESQL.absence }, async (t) => {
      const load = loads.get(name);
      assert.ok(load);
      const { requests, failures } = await load.stop();
      t.diagnostic(`${requests} requests`);
      const output = proxies.get(name)?.output().split('\n').slice(-20).join('\n');
      assert.deepEqual([...failures], [], `${requests} requests. ${name} says:\n${output}`);
      assert.ok(requests > 1000, `${requests} requests`);
    });
});

/** Clients store a new hash at most once a minute. */
async function untilDropped(prints: (...args: string[]) => Promise<string>): Promise<void> {
  for (let waited = 0; waited < 90; waited += 1) {
    const [, old] = JSON.parse(await prints('secrets', 'status', '--json'));
    if (old.clients.length === 0) break;
    await pause(1000);
  }
  await prints('secrets', 'drop');
}

/** Why the tests of a proxy are skipped here. */
function absenceOf({ version: [program, ...args] }: Proxy): string | false {
  return spawnSync(program, args).status !== 0 && `${program} is not installed: apt install ${program}`;
}

type Load = ReturnType<typeof putUnderLoad>;

/** Issues and introspects tokens, three at a time, until it is stopped. */
function putUnderLoad(ask: RunningProxy['ask'], authorization: string) {
  const counts = { requests: 0, failures: new Map<string, number>() };
  let isStopped = false;
  const failed = (what: string) => counts.failures.set(what, (counts.failures.get(what) ?? 0) + 1);
  const answerTo = async (path: string, body: string) => {
    counts.requests += 1;
    const { status, text } = await ask(path, body, { authorization }).catch((error) => ({
      status: 0,
      text: String(error),
    }));
    if (status === 200) return JSON.parse(text);
    failed(`${path}: ${status} ${text}`);
  };
  const callers = Array.from({ length: 3 }, async () => {
    while (!isStopped) {
      const issued = await answerTo('/token', 'grant_type=client_credentials');
      for (let count = 0; issued !== undefined && count < 4; count += 1) {
        const introspected = await answerTo('/token/introspect', `token=${issued.access_token}`);
        if (introspected?.active === false) failed('the token is inactive');
      }
      // Leaves the servers a part of a busy machine, so that they start in time, also while they refuse requests.
      await pause(100);
    }
  });
  return {
    async stop() {
      isStopped = true;
      await Promise.all(callers);
      return counts;
    },
  };
}
