import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { freePort } from '../../core/test/harness/free_port.ts';
import { Meter, merged, WorkerSnapshots } from '../src/monitoring/meter.ts';
import { labelsOf, METRIC_NAMES, METRICS } from '../src/monitoring/metrics.ts';
import { prometheusText } from '../src/monitoring/prometheus.ts';
import { Browser, signInAndConsent } from './harness/browser.ts';
import { grantd } from './harness/commands.ts';
import { POSTGRESQL } from './harness/databases.ts';
import { Line } from './harness/line.ts';
import { type RunningServer, SOURCES, until, Workbench } from './harness/program.ts';
import {
  authorizationUrl,
  basic,
  introspect,
  newPkce,
  postForm,
  redeem,
  type Tokens,
} from './harness/protocol.ts';
import { metricsUrl, type Scrape, scrape } from './harness/scrape.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const ON = ['--metrics-port', '0'];
const MACHINE = basic('demo-machine', 'demo-machine-secret');
const WEB = basic('demo-web', 'demo-web-secret');
const GUESSED = 'a secret that is guessed';

/** Waits until every request so far has ended: that is counted a moment after its response. */
async function scrapeOnce(server: RunningServer, requests: number): Promise<Scrape> {
  const counted = await scrape(server);
  const sum = counted.sum('grantd_requests_total');
  assert.ok(sum <= requests, counted.text);
  return sum === requests ? counted : scrapeOnce(server, requests);
}

test('a measured store remembers answers of introspection, and measures their lookups', async () => {
  const server = await workbench.start(workbench.folder(), ['--demo', ...ON]);
  const { url } = server;
  const response = await postForm(`${url}/token`, { grant_type: 'client_credentials' }, MACHINE);
  const { access_token: token } = (await response.json()) as Tokens;
  const isActive = async () => (await introspect(url, token)).active;
  const hit = { cache: 'answers', result: 'hit' };
  let found = await scrape(server);
  // Nothing is remembered until the first use of the secret is written, which is a moment later.
  const endsAtMs = Date.now() + 10_000;
  while (found.sum('grantd_cache_lookups_total', hit) === 0 && Date.now() < endsAtMs) {
    assert.equal(await isActive(), true);
    found = await scrape(server);
  }
  assert.ok(found.sum('grantd_cache_lookups_total', hit) > 0);
  const lookups = { db_operation_name: 'answers.find', error_type: '' };
  assert.ok(found.sum('db_client_operation_duration_seconds_count', lookups) > 1);
  await postForm(`${url}/token/revoke`, { token }, MACHINE);
  assert.equal(await isActive(), false);
});

describe('a server with known requests', () => {
  let server: RunningServer;
  let tokens: Tokens;
  let refreshed: Tokens;
  let found: Scrape;

  before(async () => {
    server = await workbench.start(workbench.folder(), ['--demo', ...ON]);
    const { url } = server;
    const pkce = newPkce();
    const browser = new Browser(url);
    const login = await browser.get(authorizationUrl(url, pkce)); // authorize, login
    await browser.submit(login, { username: 'alice', password: 'guessed' }); // login
    // authorize, login twice, authorize, consent twice
    const callback = await signInAndConsent(browser, authorizationUrl(url, pkce));
    tokens = await redeem(url, pkce, callback);
    await introspect(url, tokens.access_token);
    await introspect(url, tokens.access_token);
    await introspect(url, 'unknown');
    await postForm(`${url}/token/introspect`, { token: tokens.access_token }, basic('demo-api', GUESSED));
    const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '' };
    refreshed = (await (await postForm(`${url}/token`, form, WEB)).json()) as Tokens;
    await postForm(`${url}/token`, { grant_type: 'client_credentials' }, MACHINE);
    await postForm(`${url}/token/revoke`, { token: refreshed.access_token }, WEB);
    await postForm(`${url}/token/revoke`, { token: tokens.access_token }, MACHINE);
    await introspect(url, refreshed.access_token);
    await fetch(`${url}/health`);
    await fetch(`${url}/no/such/page`, { method: 'PROPFIND' });
    const lines = () => server.log().filter(({ event }) => event === 'request');
    await until(() => lines().some(({ method }) => method === 'PROPFIND'), 'the last request is logged');
    found = await scrapeOnce(server, lines().length);
  });

  test('counts requests by endpoint, client, status, result and reason', () => {
    const counted = Object.entries(found.of('grantd_requests_total'));
    const ofEndpoints = counted.filter(([labels]) => /^(introspection|revocation|token) /.test(labels));
    assert.deepEqual(Object.fromEntries(ofEndpoints), {
      'introspection demo-api 200 ok ': 2,
      'introspection demo-api 200 inactive no_record': 1,
      'introspection demo-api 401 refused client_secret_wrong': 1,
      'introspection demo-api 200 inactive revoked': 1,
      'token demo-web 200 ok ': 2,
      'token demo-machine 200 ok ': 1,
      'revocation demo-web 200 ok ': 1,
      'revocation demo-machine 200 ignored token_foreign': 1,
    });
    assert.equal(found.sum('grantd_requests_total', { operation: 'login', reason: 'password_wrong' }), 1);
    assert.equal(found.sum('grantd_requests_total', { operation: 'other', status: '404' }), 1);
    assert.equal(found.sum('grantd_requests_total', { result: 'fault' }), 0);
  });

  test('counts as many durations as requests, and a method that is not common as _OTHER', () => {
    const duration = 'http_server_request_duration_seconds';
    const total = found.sum('grantd_requests_total');
    assert.equal(found.sum(`${duration}_count`), total);
    assert.equal(found.sum(`${duration}_bucket`, { le: '+Inf' }), total);
    assert.equal(found.sum(`${duration}_count`, { http_request_method: '_OTHER' }), 1);
    const logged = server.log().filter(({ event }) => event === 'request');
    const seconds = logged.reduce((sum, { durationMs }) => sum + Number(durationMs) / 1000, 0);
    assert.ok(Math.abs(found.sum(`${duration}_sum`) - seconds) < 1e-6);
  });

  test('counts tokens by type and grant, sign-ins by result, and revocations', () => {
    assert.deepEqual(found.of('grantd_tokens_issued_total'), {
      'access_token authorization_code': 1,
      'refresh_token authorization_code': 1,
      'id_token authorization_code': 1,
      'access_token refresh_token': 1,
      'refresh_token refresh_token': 1,
      'id_token refresh_token': 1,
      'access_token client_credentials': 1,
    });
    assert.deepEqual(found.of('grantd_sign_ins_total'), { password_wrong: 1, signed_in: 1 });
    assert.deepEqual(found.of('grantd_revocations_total'), { request: 1 });
    assert.deepEqual(found.of('grantd_errors_total'), {});
  });

  test('measures storage, its caches, sweeps, keys and the process, and is ready', async () => {
    await server.logged(({ event }) => event === 'listening', 'that it listens');
    let swept = found;
    while (swept.sum('grantd_sweeps_total') === 0) swept = await scrape(server);
    assert.deepEqual(swept.of('grantd_sweeps_total'), { done: 1 });
    assert.ok(Math.abs(Date.now() / 1000 - swept.sum('grantd_sweep_last_success_timestamp_seconds')) < 60);
    assert.equal(swept.sum('grantd_sweep_duration_seconds_count'), 1);
    const redeemed = { db_operation_name: 'authorizationCodes.redeem', error_type: '' };
    assert.equal(found.sum('db_client_operation_duration_seconds_count', redeemed), 1);
    assert.ok(found.sum('grantd_cache_lookups_total', { cache: 'tokens', result: 'hit' }) >= 1);
    assert.ok(found.sum('grantd_storage_commits_total') >= 5);
    assert.deepEqual(found.of('grantd_ready'), { '': 1 });
    const age = found.sum('grantd_signing_key_age_seconds', { alg: 'RS256' });
    assert.ok(age > 0 && age < 600, String(age));
    assert.ok(found.sum('process_memory_usage_bytes', { worker: '1' }) > 20e6);
    assert.ok(found.sum('process_cpu_time_seconds_total') > 0.1);
    assert.ok(found.sum('nodejs_eventloop_delay_seconds_count') > 1);
  });

  test('has every metric of the table with its kind, help and labels, and no other', () => {
    const kinds = METRIC_NAMES.map((name) => [name, METRICS[name].kind] as const);
    assert.deepEqual(found.kinds, Object.fromEntries([['target_info', 'gauge'], ...kinds]));
    for (const name of METRIC_NAMES) assert.match(found.text, new RegExp(`^# HELP ${name} \\S`, 'm'));
    const known = new Map<string, readonly string[]>(METRIC_NAMES.map((name) => [name, labelsOf(name)]));
    for (const { name, labels } of found.samples.filter((sample) => sample.name !== 'target_info')) {
      const expected = known.get(name) ?? known.get(name.replace(/_(bucket|count|sum)$/, ''));
      const own = Object.keys(labels).filter((label) => label !== 'le');
      assert.deepEqual(own, expected, name);
    }
  });

  test('shows no token, secret, password, username or identifier of a user', () => {
    const subject = String(server.log().find(({ event }) => event === 'signed_in')?.subject);
    const session = String(server.log().find(({ event }) => event === 'signed_in')?.sessionId);
    const secret = ['demo-api-secret', GUESSED, 'wonderland', 'guessed', 'alice', subject, session];
    const issued = [tokens, refreshed].flatMap((one) => Object.values(one) as unknown[]).filter(isLong);
    assert.ok(issued.length >= 6);
    for (const text of [...secret, ...issued]) assert.ok(!found.text.includes(text), text);
  });

  test('answers only to names that no website can have', async () => {
    const { port } = new URL(metricsUrl(server));
    const statusFor = (host: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        get({ host: '127.0.0.1', port, path: '/metrics', headers: { host } }, (response) => {
          response.resume();
          resolve(response.statusCode);
        }).once('error', reject);
      });
    for (const host of [
      `127.0.0.1:${port}`,
      'localhost',
      `localhost:${port}`,
      '[::1]:9',
      'a.localhost',
      '10.0.0.1',
      'grantd:9464',
      'grantd.default.svc.cluster.local',
    ])
      assert.equal(await statusFor(host), 200, host);
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1.evil.example',
      'localhost.evil.example',
    ])
      assert.equal(await statusFor(host), 421, host);
  });

  test('answers GET and HEAD at /metrics alone', async () => {
    const url = metricsUrl(server);
    const head = await fetch(url, { method: 'HEAD' });
    assert.deepEqual([head.status, await head.text()], [200, '']);
    const posted = await fetch(url, { method: 'POST' });
    assert.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD']);
    for (const path of ['/', '/metrics/', '/health', '/token/introspect']) {
      const other = await fetch(new URL(path, url));
      assert.deepEqual([other.status, await other.text()], [404, 'metrics are at /metrics\n']);
    }
    assert.equal((await fetch(`${server.url}/metrics`)).status, 404);
  });

  test('counts with the log off as with the log on, and is not ready once it ends', async () => {
    const quiet = await workbench.start(workbench.folder(), ['--demo', '--log', 'off', ...ON], {
      GRANTD_SHUTDOWN_DELAY: '20',
    });
    await introspect(quiet.url, 'unknown');
    assert.deepEqual((await scrapeOnce(quiet, 1)).of('grantd_requests_total'), {
      'introspection demo-api 200 inactive no_record': 1,
    });
    assert.deepEqual([quiet.stdout(), (await scrape(quiet)).of('grantd_ready')], ['', { '': 1 }]);
    process.kill(quiet.pid, 'SIGTERM');
    let ending = await scrape(quiet);
    while (ending.sum('grantd_ready') === 1) ending = await scrape(quiet);
    assert.deepEqual(ending.of('grantd_ready'), { '': 0 });
    await quiet.stop('SIGINT');
  });
});

function isLong(value: unknown): value is string {
  return typeof value === 'string' && value.length >= 20;
}

test('further clients are counted as other', async () => {
  const server = await workbench.start(workbench.folder(), ['--demo', ...ON, '--metrics-clients', '1']);
  await postForm(`${server.url}/token`, { grant_type: 'client_credentials' }, MACHINE);
  await introspect(server.url, 'unknown');
  await postForm(`${server.url}/token/revoke`, { token: 'unknown' }, MACHINE);
  assert.deepEqual((await scrapeOnce(server, 3)).of('grantd_requests_total'), {
    'token demo-machine 200 ok ': 1,
    'introspection other 200 inactive no_record': 1,
    'revocation demo-machine 200 ignored no_record': 1,
  });
});

test('PostgreSQL has its connections and operations in a scrape', { skip: POSTGRESQL.absence }, async () => {
  const postgres = new Workbench(POSTGRESQL);
  after(() => postgres.clear());
  const server = await postgres.start(await postgres.home(), ['--demo', '--create', ...ON]);
  await introspect(server.url, 'unknown');
  const found = await scrapeOnce(server, 1);
  const connections = found.of('db_client_connection_count');
  assert.deepEqual(Object.keys(connections), ['idle', 'used']);
  assert.ok((connections.idle ?? 0) >= 1);
  assert.equal(found.sum('db_client_connection_pending_requests'), 0);
  const labels = { db_system_name: 'postgresql', db_operation_name: 'clients.get' };
  assert.ok(found.sum('db_client_operation_duration_seconds_count', labels) >= 1);
  assert.deepEqual(found.of('grantd_ready'), { '': 1 });
});

describe('workers', () => {
  test('are counted together, and a killed one takes no count with it', async () => {
    const server = await workbench.start(workbench.folder(), ['--demo', '--workers', '3', ...ON]);
    const lines = Array.from({ length: 3 }, () => new Line(server.url));
    const ask = { form: { token: 'unknown' }, authorization: basic('demo-api', 'demo-api-secret') };
    for (const [index, line] of lines.entries())
      for (let count = 0; count <= index; count += 1) await line.send('/token/introspect', ask);
    const workers = () => server.log().filter(({ event }) => event === 'request');
    await until(() => workers().length === 6, 'the requests are logged');
    assert.equal(new Set(workers().map(({ worker }) => worker)).size, 3);
    const series = { 'introspection demo-api 200 inactive no_record': 6 };
    const before = await scrapeOnce(server, 6);
    assert.deepEqual(before.of('grantd_requests_total'), series);
    assert.deepEqual(before.of('grantd_workers'), { wanted: 3, ready: 3 });
    assert.deepEqual(Object.keys(before.of('process_uptime_seconds')).sort(), ['1', '2', '3', 'supervisor']);

    const started = () => server.log().filter(({ event }) => event === 'worker_started');
    process.kill(Number(started().find(({ worker }) => worker === 2)?.pid), 'SIGKILL');
    let least = before;
    while (started().length < 4) least = await requireNoLess(least, await scrape(server));
    const later = await requireNoLess(least, await scrape(server));
    assert.deepEqual(later.of('grantd_requests_total'), series);
    assert.deepEqual(later.of('grantd_worker_deaths_total'), { '': 1 });
    assert.deepEqual(later.of('grantd_workers'), { wanted: 3, ready: 3 });
    await sentAlone(server, 3);
    assert.deepEqual((await scrapeOnce(server, 9)).of('grantd_requests_total'), {
      'introspection demo-api 200 inactive no_record': 9,
    });
    for (const line of lines) line.close();
  });

  /** On new connections, which go to the workers in turn. */
  async function sentAlone(server: RunningServer, count: number): Promise<void> {
    for (let sent = 0; sent < count; sent += 1) {
      const line = new Line(server.url);
      const form = { token: 'unknown' };
      await line.send('/token/introspect', { form, authorization: basic('demo-api', 'demo-api-secret') });
      line.close();
    }
  }
});

test('a reload of the configuration takes no count with it, and needs a restart for options of metrics', async () => {
  const folder = workbench.folder();
  const config = join(folder, 'grantd.json');
  const write = (options: object) => writeFileSync(config, JSON.stringify(options), { mode: 0o600 });
  write({ accessTokenLifetime: 300, metricsPort: 0, tracing: 'off' });
  const server = await workbench.start(folder, ['--demo', '--config', config]);
  await introspect(server.url, 'unknown');
  await postForm(`${server.url}/token`, { grant_type: 'client_credentials' }, MACHINE);
  const before = await scrapeOnce(server, 2);
  write({ accessTokenLifetime: 600, metricsPort: 0, tracing: 'otlp' });
  process.kill(server.pid, 'SIGHUP');
  await server.logged(({ event }) => event === 'hangup', 'that it reloaded');
  const restart = await server.logged(({ event }) => event === 'restart_needed', 'what needs a restart');
  assert.deepEqual(restart.options, ['tracing']);
  await introspect(server.url, 'unknown');
  const later = await requireNoLess(before, await scrapeOnce(server, 3));
  assert.deepEqual(later.of('grantd_requests_total'), {
    ...before.of('grantd_requests_total'),
    'introspection demo-api 200 inactive no_record': 2,
  });
  assert.deepEqual(later.of('grantd_ready'), { '': 1 });
  assert.ok(later.sum('grantd_storage_commits_total') >= before.sum('grantd_storage_commits_total'));
});

/** Compares all counters and histograms. */
async function requireNoLess(one: Scrape, next: Scrape): Promise<Scrape> {
  const isCumulative = (name: string) =>
    ['counter', 'histogram'].includes(next.kinds[name] ?? next.kinds[name.replace(/_\w+?$/, '')] ?? '');
  for (const { name, labels, value } of one.samples) {
    if (!isCumulative(name)) continue;
    const now = next.sum(name, labels);
    assert.ok(now >= value, `${name} ${JSON.stringify(labels)}: ${value}, then ${now}`);
  }
  return next;
}

describe('options', () => {
  const refused = async (args: readonly string[]) => {
    const { code, stderr } = await grantd(workbench.folder(), ['serve', ...args]);
    // Without what the system says.
    return [code, stderr.trim().replace(/ \(listen E.*\)$/, '')];
  };

  test('a port that is taken, or used twice, fails the start and names the option, also with workers', async () => {
    const busy = await workbench.start(workbench.folder(), ['--demo', ...ON]);
    const { port } = new URL(metricsUrl(busy));
    const said = `grantd: port ${port} on 127.0.0.1 is in use: stop the program that uses it, or choose another port with --metrics-port.`;
    assert.deepEqual(await refused(['--port', '0', '--metrics-port', port]), [1, said]);
    assert.deepEqual(await refused(['--port', '0', '--metrics-port', port, '--workers', '2']), [1, said]);
  });

  test('metrics share a port only with an address that is certainly another one', async () => {
    const free = String(await freePort());
    const same = ['--port', free, '--metrics-port', free];
    for (const [host, metricsHost] of [
      ['127.0.0.1', '127.0.0.1'],
      ['127.0.0.1', '0.0.0.0'],
      ['::', '127.0.0.1'],
      ['::ffff:127.0.0.1', '127.0.0.1'],
      ['localhost', '::1'],
    ] as const) {
      const [code, stderr] = await refused([...same, '--host', host, '--metrics-host', metricsHost]);
      const why = `because ${metricsHost} and ${host} can be the same address`;
      assert.deepEqual(
        [code, stderr],
        [2, `grantd: --metrics-port: expected another port than --port, ${why}`],
      );
    }
    const apart = [...same, '--metrics-host', '127.0.0.2'];
    const server = await workbench.start(workbench.folder(), ['--demo', ...apart]);
    assert.equal((await fetch(metricsUrl(server))).status, 200);
    assert.equal((await fetch(`${server.url}/health`)).status, 200);
  });

  test('values that are wrong, and options without the port, fail the start', async () => {
    const [, wrong] = await refused(['--metrics-port', '70000']);
    assert.match(String(wrong), /^grantd: --metrics-port: expected a whole number from 0 to 65535/);
    const [, alone] = await refused(['--metrics-host', '0.0.0.0']);
    assert.equal(alone, 'grantd: --metrics-host: expected --metrics-port with it');
    const [, clients] = await refused(['--metrics-clients', '5']);
    assert.equal(clients, 'grantd: --metrics-clients: expected --metrics-port with it');
    const [code, foreign] = await refused(['--port', '0', ...ON, '--metrics-host', '192.0.2.1']);
    const said = '192.0.2.1 is not an address of this machine: choose another with --metrics-host.';
    assert.deepEqual([code, foreign], [1, `grantd: ${said}`]);
  });

  for (const workers of ['1', '2']) {
    test(`without the option, ${workers} process(es) load no module for it and open no other port`, async () => {
      const loaded = async (flags: readonly string[]) => {
        const folder = workbench.folder();
        const list = join(folder, 'modules');
        const hook = join(folder, 'hook.mjs');
        writeFileSync(list, '');
        writeFileSync(hook, NOTING_MODULES);
        const environment = { NODE_OPTIONS: `--import ${pathToFileURL(hook)}`, MODULES: list };
        const args = ['--demo', '--workers', workers, ...flags];
        const server = await workbench.start(folder, args, environment, SOURCES);
        await introspect(server.url, 'unknown');
        const ports = listeningPorts(server.pid);
        await server.stop();
        return { modules: readFileSync(list, 'utf8'), ports, port: server.port };
      };
      const off = await loaded([]);
      assert.doesNotMatch(off.modules, /opentelemetry|src\/monitoring/);
      assert.match(off.modules, /src\/log\/log\.ts/);
      if (process.platform === 'linux') assert.deepEqual(off.ports, [off.port]);
      const on = await loaded(ON);
      assert.match(on.modules, /src\/monitoring\/prometheus\.ts/);
      assert.doesNotMatch(on.modules, /opentelemetry/);
      if (process.platform === 'linux') assert.equal(on.ports.length, 2);
    });
  }
});

/** Appends the URL of each module that is loaded to a file. */
const NOTING_MODULES = `
import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
registerHooks({
  load(url, context, nextLoad) {
    appendFileSync(process.env.MODULES, url + '\\n');
    return nextLoad(url, context);
  },
});`;

/** TCP ports at which a process and its children listen (proc(5)). */
function listeningPorts(pid: number): readonly number[] {
  if (process.platform !== 'linux') return [];
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
      } catch {
        return []; // closed in between
      }
    }),
  );
  const LISTEN = '0A';
  const own = ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/${pid}/net/${table}`, 'utf8')
      .split('\n')
      .map((row) => row.trim().split(/\s+/))
      .filter(([, , , state, , , , , , inode = '']) => state === LISTEN && sockets.has(inode))
      .map(([, address = '']) => Number.parseInt(address.split(':')[1] ?? '', 16)),
  );
  return [...new Set([...own, ...children.flatMap((child) => listeningPorts(Number(child)))])];
}

describe('a meter', () => {
  test('counts series beyond its limit together, so that labels cannot fill the memory', () => {
    const meter = new Meter();
    for (let count = 0; count < 6_000; count += 1) meter.add('grantd_errors_total', 1, `event ${count}`);
    const points = meter.snapshot().grantd_errors_total ?? [];
    assert.equal(points.length, 5_001);
    assert.deepEqual(points.at(-1), [['other'], 1_000]);
  });

  test('writes texts, numbers and histograms as the Prometheus text format says', () => {
    const meter = new Meter();
    meter.add('grantd_errors_total', 1e21, 'a"b\\c\nd');
    meter.set('grantd_signing_key_age_seconds', Infinity, 'RS256');
    for (const seconds of [2, 200]) meter.observe('grantd_sweep_duration_seconds', seconds);
    const lines = prometheusText(meter.snapshot()).split('\n');
    for (const line of [
      'grantd_errors_total{event="a\\"b\\\\c\\nd"} 1e+21',
      'grantd_signing_key_age_seconds{alg="RS256"} +Inf',
      'grantd_sweep_duration_seconds_count 2',
      'grantd_sweep_duration_seconds_sum 202',
      'grantd_sweep_duration_seconds_bucket{le="10"} 1',
      'grantd_sweep_duration_seconds_bucket{le="+Inf"} 2',
      '# TYPE grantd_sweep_duration_seconds histogram',
    ])
      assert.ok(lines.includes(line), line);
  });

  test('adds counters, keeps the least or most of gauges, and names the process of values of its own', () => {
    const snapshots = [1, 2].map((worker) => {
      const meter = new Meter();
      meter.add('grantd_swept_rows_total', worker);
      meter.set('grantd_ready', worker - 1);
      meter.set('grantd_signing_key_age_seconds', worker, 'RS256');
      meter.set('process_uptime_seconds', worker);
      meter.observe('grantd_sweep_duration_seconds', worker);
      return { worker: String(worker), snapshot: meter.snapshot() };
    });
    const together = merged(snapshots);
    assert.deepEqual(together.grantd_swept_rows_total, [[[], 3]]);
    assert.deepEqual(together.grantd_ready, [[[], 0]]);
    assert.deepEqual(together.grantd_signing_key_age_seconds, [[['RS256'], 2]]);
    assert.deepEqual(together.process_uptime_seconds, [
      [['1'], 1],
      [['2'], 2],
    ]);
    assert.deepEqual(together.grantd_sweep_duration_seconds, [
      [[], { sum: 3, counts: [0, 0, 1, 1, 0, 0, 0] }],
    ]);
  });

  test('of a process that has ended keeps counters and no gauges, however often its successor ends', () => {
    const snapshots = new WorkerSnapshots();
    for (let life = 1; life <= 3; life += 1) {
      const meter = new Meter();
      meter.add('grantd_swept_rows_total', 5);
      meter.set('process_uptime_seconds', 7);
      snapshots.received(1, meter.snapshot());
      snapshots.ended(1);
    }
    snapshots.ended(2);
    const own = snapshots.with({});
    assert.deepEqual([own.grantd_swept_rows_total, own.process_uptime_seconds], [[[[], 15]], []]);
  });
});
