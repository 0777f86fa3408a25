// SIGHUP: a running server reads its configuration again.
import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { grantdPrints } from './harness/commands.ts';
import { DATABASES } from './harness/databases.ts';
import { type RunningServer, until, Workbench } from './harness/program.ts';
import { basic } from './harness/protocol.ts';
import { addMachine, askOverTls, serverCertificate } from './harness/tls.ts';

const benches = new Map(DATABASES.map((database) => [database, new Workbench(database)]));
const workbench = new Workbench();
after(() => Promise.all([workbench, ...benches.values()].map((bench) => bench.clear())));

const FILE = 'grantd.json';
const CONFIG = ['--config', FILE];

/** Overrides the default, which depends on the port. */
const ISSUER = 'http://localhost:4000';

function configure(folder: string, options: object): void {
  writeFileSync(join(folder, FILE), JSON.stringify({ issuer: ISSUER, ...options }), { mode: 0o600 });
}

type Line = Readonly<Record<string, unknown>>;

const ENDS = ['hangup', 'reload_failed'];

/** Sends SIGHUP. @returns the lines that the reload logs, without the time */
async function hangUp(server: RunningServer): Promise<readonly Line[]> {
  const logged = () =>
    server.log().filter(({ event }) => [...ENDS, 'restart_needed'].includes(String(event)));
  const before = logged().length;
  process.kill(server.pid, 'SIGHUP');
  await until(() => logged().length > before, 'the reload ends');
  return logged()
    .slice(before)
    .map(({ time: _, ...line }) => line);
}

interface Answer {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
  readonly connection: string | undefined;
}

function send(
  port: number,
  agent: Agent,
  path: string,
  authorization: string,
  form: object,
): Promise<Answer> {
  const body = new URLSearchParams({ ...form }).toString();
  return new Promise((resolve, reject) => {
    const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded' };
    const sent = request({ host: '127.0.0.1', port, agent, path, method: 'POST', headers });
    // Also after the response: a connection that is closed later must not end the test file.
    sent.on('error', reject).once('response', (response: IncomingMessage) => {
      response
        .setEncoding('utf8')
        .toArray()
        .then((parts) => JSON.parse(parts.join('') || '{}'))
        .then((json) => {
          const { statusCode = 0, headers } = response;
          resolve({ status: statusCode, json, connection: headers.connection });
        })
        .catch(reject);
    });
    sent.end(body);
  });
}

/** A confidential client that gets and introspects tokens. */
async function addClient(folder: string): Promise<string> {
  const flags = ['--name', 'Load', '--grant', 'client_credentials', '--scope', 'load', '--json'];
  const added = JSON.parse(await grantdPrints(folder, ['client', 'add', 'load', ...flags, ...CONFIG]));
  return basic('load', added.client_secret);
}

const token = (port: number, agent: Agent, authorization: string) =>
  send(port, agent, '/token', authorization, { grant_type: 'client_credentials' });

/** The lifetime of an issued token, without the second that may have begun since. */
function lifetimeOf({ json }: Pick<Answer, 'json'>): number {
  return Math.round(Number(json.expires_in) / 100) * 100;
}

/** Gets and introspects tokens over connections that stay open, until it is stopped. */
function load(port: number, authorization: string) {
  const agents: Agent[] = [];
  const faults: unknown[] = [];
  const lifetimes = new Set<unknown>();
  let requests = 0;
  let connections = 0;
  let isStopped = false;
  const caller = async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    agents.push(agent);
    const created = agent.createConnection.bind(agent);
    agent.createConnection = (...given) => {
      connections += 1;
      return created(...given);
    };
    while (!isStopped) {
      try {
        const issued = await token(port, agent, authorization);
        const asked = await send(port, agent, '/token/introspect', authorization, {
          token: issued.json.access_token,
        });
        requests += 2;
        lifetimes.add(lifetimeOf(issued));
        for (const { status, connection } of [issued, asked])
          if (status !== 200 || connection !== 'keep-alive') faults.push([status, connection]);
        if (asked.json.active !== true) faults.push(asked.json);
      } catch (error) {
        faults.push(error);
      }
      await pause(2);
    }
  };
  const callers = Array.from({ length: 6 }, caller);
  return {
    requests: () => requests,
    async stop() {
      isStopped = true;
      await Promise.all(callers);
      for (const agent of agents) agent.destroy();
      return { faults, connections, lifetimes: [...lifetimes] };
    },
  };
}

for (const database of DATABASES)
  for (const workers of [1, 2]) {
    test(`reloads under load fail no request and close no connection, on ${database.name} with --workers ${workers}`, {
      skip: database.absence,
    }, async (t) => {
      const bench = benches.get(database) ?? workbench;
      const folder = await bench.home();
      const options = { workers };
      configure(folder, { ...options, accessTokenLifetime: 600 });
      const authorization = await addClient(folder);
      const server = await bench.start(folder, CONFIG);
      const { stop, requests } = load(server.port, authorization);
      t.after(stop);
      await until(() => requests() > 20, 'the load has begun');
      const lifetimes = [700, 800, 900];
      for (const accessTokenLifetime of lifetimes) {
        configure(folder, { ...options, accessTokenLifetime });
        const lines = await hangUp(server);
        assert.deepEqual(lines, [{ level: 'info', event: 'hangup', reloaded: ['accessTokenLifetime'] }]);
        // The reload is complete in every process.
        const issued = await Promise.all(
          Array.from({ length: 4 }, () => token(server.port, new Agent(), authorization)),
        );
        assert.deepEqual(issued.map(lifetimeOf), Array(4).fill(accessTokenLifetime));
        const before = requests();
        await until(() => requests() > before + 20, 'the load continues');
      }
      const result = await stop();
      t.diagnostic(`${requests()} requests on ${result.connections} connections`);
      assert.deepEqual(result, { faults: [], connections: 6, lifetimes: [600, ...lifetimes] });
      assert.equal((await server.stop()).code, 0);
      assert.deepEqual(
        server.log().filter(({ level }) => level === 'error' || level === 'fatal'),
        [],
      );
    });
  }

describe('a reload', () => {
  test('answers a request whose body is still on its way by the configuration that it came to', async () => {
    const folder = await workbench.home();
    configure(folder, { accessTokenLifetime: 600 });
    const authorization = await addClient(folder);
    const server = await workbench.start(folder, CONFIG);
    const body = 'grant_type=client_credentials';
    const slow = request({
      ...{ host: '127.0.0.1', port: server.port, path: '/token', method: 'POST' },
      headers: {
        ...{ authorization, expect: '100-continue', 'content-length': body.length },
        'content-type': 'application/x-www-form-urlencoded',
      },
    });
    const response = new Promise<IncomingMessage>((resolve, reject) =>
      slow.once('response', resolve).on('error', reject),
    );
    await new Promise((resolve) => slow.once('continue', resolve).flushHeaders());
    configure(folder, { accessTokenLifetime: 700 });
    await hangUp(server);
    configure(folder, { accessTokenLifetime: 800 });
    await hangUp(server);
    slow.end(body);
    const answered = await response;
    const text = (await answered.setEncoding('utf8').toArray()).join('');
    const answer = { json: JSON.parse(text) };
    assert.deepEqual([answered.statusCode, lifetimeOf(answer)], [200, 600]);
    const agent = new Agent();
    assert.equal(lifetimeOf(await token(server.port, agent, authorization)), 800);
    assert.equal((await server.stop()).code, 0);
  });

  for (const workers of [1, 2])
    test(`keeps the configuration if the new one is invalid, and names the option, with --workers ${workers}`, async () => {
      const folder = await workbench.home();
      const good = { workers, accessTokenLifetime: 600 };
      configure(folder, good);
      const authorization = await addClient(folder);
      const server = await workbench.start(folder, CONFIG);
      const refusals: Readonly<Record<string, RegExp>> = {
        '{"accessTokenLifetime": 60,}': /grantd\.json:1:\d+: expected valid JSON$/,
        '{"accessTokenLifetim": 60}': /accessTokenLifetim in \S+grantd\.json.*accessTokenLifetime/,
        '{"accessTokenLifetime": -1}': /^accessTokenLifetime in grantd\.json: expected /,
        '{"authenticateIntrospect": false, "introspectionPolicy": "audience"}':
          /^(introspectionPolicy|authenticateIntrospect) in grantd\.json: expected /,
        '{"operatorLogo": "missing.png"}': /^operatorLogo in grantd\.json: expected a readable file/,
        '{"port": 1, "issuer": "http://localhost:1"}': /belongs to the issuer http:\/\/localhost:\d+, not to/,
        '{"clientCertificateFormat": "pem"}': /^clientCertificateFormat in grantd\.json: expected /,
      };
      for (const [text, message] of Object.entries(refusals)) {
        writeFileSync(join(folder, FILE), text.replace('{', `{"issuer":"${ISSUER}","workers":${workers},`));
        const [line, ...more] = await hangUp(server);
        assert.deepEqual([line?.level, line?.event, more], ['error', 'reload_failed', []]);
        assert.match((line?.cause as { message: string }).message, message);
      }
      for (let count = 0; count < 2 * workers; count += 1) {
        const answer = await token(server.port, new Agent(), authorization);
        assert.deepEqual([answer.status, lifetimeOf(answer)], [200, 600]);
      }
      assert.equal((await fetch(`${server.url}/health/ready`)).status, 200);
      configure(folder, { ...good, accessTokenLifetime: 700 });
      assert.deepEqual(await hangUp(server), [
        { level: 'info', event: 'hangup', reloaded: ['accessTokenLifetime'] },
      ]);
      assert.equal((await server.stop()).code, 0);
    });

  test('names each option that needs a restart, and applies the others', async () => {
    const folder = await workbench.home();
    const issuer = 'https://id.example';
    configure(folder, { issuer, accessTokenLifetime: 600 });
    const server = await workbench.start(folder, CONFIG);
    const { pem } = await serverCertificate();
    writeFileSync(join(folder, 'tls.pem'), pem.cert);
    writeFileSync(join(folder, 'tls.key'), pem.key, { mode: 0o600 });
    configure(folder, {
      ...{ issuer, accessTokenLifetime: 700, host: '127.0.0.2', workers: 3, log: 'pretty' },
      ...{ database: 'sqlite:other.db', tlsCertificate: 'tls.pem', tlsKey: 'tls.key', operatorName: 'New' },
    });
    const first = hangUp(server);
    const options = ['host', 'database', 'workers', 'log', 'tlsCertificate', 'tlsKey'];
    await server.logged(({ event }) => event === 'restart_needed', 'what needs a restart');
    await first;
    const lines = server
      .log()
      .filter(({ event }) => event === 'hangup' || event === 'restart_needed')
      .map(({ time: _, ...line }) => line);
    assert.deepEqual(lines, [
      { level: 'info', event: 'hangup', reloaded: ['operatorName', 'accessTokenLifetime'] },
      { level: 'warn', event: 'restart_needed', options },
    ]);
    assert.match(await (await fetch(`${server.url}/account`)).text(), /New/);
    assert.equal((await server.stop()).code, 0);
  });

  test('uses other certificate files, and keeps the present ones if the new ones do not fit', async () => {
    const folder = await workbench.home();
    const [one, other] = [await serverCertificate(), await serverCertificate()];
    for (const [name, { pem }] of Object.entries({ one, other })) {
      writeFileSync(join(folder, `${name}.pem`), pem.cert);
      writeFileSync(join(folder, `${name}.key`), pem.key, { mode: 0o600 });
    }
    const issuer = 'https://id.example';
    configure(folder, { issuer, tlsCertificate: 'one.pem', tlsKey: 'one.key' });
    const server = await workbench.start(folder, CONFIG);
    const served = async () => {
      for (const [name, ca] of Object.entries({ one, other })) {
        const answer = await askOverTls(ca, server.port, '/health/live').catch(() => undefined);
        if (answer?.status === 200) return name;
      }
      return 'none';
    };
    assert.equal(await served(), 'one');
    configure(folder, { issuer, tlsCertificate: 'other.pem', tlsKey: 'one.key' });
    const [refused] = await hangUp(server);
    assert.match(
      String((refused?.cause as { message: string }).message),
      /^tlsKey in grantd\.json: expected the private key/,
    );
    assert.equal(await served(), 'one');
    configure(folder, { issuer, tlsCertificate: 'other.pem', tlsKey: 'other.key' });
    assert.deepEqual(await hangUp(server), [
      { level: 'info', event: 'hangup', reloaded: ['tlsCertificate', 'tlsKey'] },
    ]);
    assert.equal(await served(), 'other');
    // Changed files at the same place are loaded at once.
    copyFileSync(join(folder, 'one.pem'), join(folder, 'other.pem'));
    copyFileSync(join(folder, 'one.key'), join(folder, 'other.key'));
    const lines = await hangUp(server);
    assert.deepEqual(
      lines.map(({ event }) => event),
      ['hangup'],
    );
    assert.equal(await served(), 'one');
    assert.equal((await server.stop()).code, 0);
  });

  for (const workers of [1, 2])
    test(`takes a rotated secret from its file, in every process, with --workers ${workers}`, async () => {
      const folder = await workbench.home();
      configure(folder, { workers });
      const authorization = await addClient(folder);
      const server = await workbench.start(folder, CONFIG);
      await grantdPrints(folder, ['secrets', 'rotate', ...CONFIG]);
      const [, newest = ''] =
        /"([^"]+)"/.exec(readFileSync(join(folder, 'grantd-data', 'grantd.db.secret'), 'utf8')) ?? [];
      assert.deepEqual(await hangUp(server), [{ level: 'info', event: 'hangup', reloaded: ['secret'] }]);
      // A client that the command line adds now has a hash under the new secret.
      const machine = await addMachine(folder, 'fresh', CONFIG);
      assert.ok(machine !== undefined);
      for (let count = 0; count < 2 * workers; count += 1)
        assert.equal((await token(server.port, new Agent(), authorization)).status, 200);
      assert.ok(newest.length >= 32 && !server.stdout().includes(newest));
      assert.equal((await server.stop()).code, 0);
      const events = server.log().map(({ event }) => event);
      assert.ok(!events.includes('audit_trail_broken'), 'of a head that the new secret has sealed');
    });

  test('that changed nothing is a warning, and several signals at once end with the last file', async () => {
    const folder = await workbench.home();
    configure(folder, { accessTokenLifetime: 600 });
    const authorization = await addClient(folder);
    const server = await workbench.start(folder, CONFIG);
    assert.deepEqual(await hangUp(server), [{ level: 'warn', event: 'hangup', reloaded: [] }]);
    for (let accessTokenLifetime = 700; accessTokenLifetime <= 1600; accessTokenLifetime += 100) {
      configure(folder, { accessTokenLifetime });
      process.kill(server.pid, 'SIGHUP');
    }
    let lifetime: unknown;
    const look = setInterval(async () => {
      lifetime = lifetimeOf(await token(server.port, new Agent(), authorization));
    }, 50);
    await until(() => lifetime === 1600, 'the last file is served').finally(() => clearInterval(look));
    assert.ok(server.log().filter(({ event }) => event === 'hangup').length < 11);
    process.kill(server.pid, 'SIGHUP');
    assert.equal((await server.stop()).code, 0);
  });
});
