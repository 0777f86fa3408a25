import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { grantd } from './harness/commands.ts';
import { DATABASES } from './harness/databases.ts';
import { type RunningServer, until, Workbench } from './harness/program.ts';
import { basic, introspect, postForm } from './harness/protocol.ts';
import { answerTo } from './harness/wire.ts';

/** A request whose body is not complete yet. */
async function halfARequest(
  { port }: RunningServer,
  body: string,
): Promise<{ socket: Socket; text(): string }> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  socket.write(
    `POST /token HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic('demo-machine', 'demo-machine-secret')}\r\n` +
      `Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}\r\n\r\n`,
  );
  await new Promise((resolve) => setTimeout(resolve, 100));
  return { socket, text: () => text };
}

for (const database of DATABASES) {
  describe(`grantd serve on ${database.name}`, { skip: database.absence }, () => {
    const { schema } = database;
    const workbench = new Workbench(database);
    after(() => workbench.clear());

    let server: RunningServer;
    before(async () => {
      server = await workbench.start(await workbench.home(), ['--demo']);
    });

    test('finishes what is in flight at SIGTERM, refuses what is new, and ends with 0', async () => {
      const own = await workbench.start(await workbench.home(), ['--demo']);
      const body = 'grant_type=client_credentials';
      const { socket, text } = await halfARequest(own, body);
      const ended = own.stop('SIGTERM');
      await until(() => own.log().some(({ event }) => event === 'ending'), 'the server is ending');
      await assert.rejects(fetch(`${own.url}/health`));
      socket.write(body);
      const { code } = await ended;
      assert.equal(code, 0);
      assert.match(text(), /^HTTP\/1\.1 200 OK\r\n/);
      assert.match(text(), /"access_token"/);
      const [last] = own.log().slice(-1);
      assert.deepEqual([last?.event, last?.inFlight], ['ended', 'finished']);
    });

    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      test(`ends at ${signal} with idle connections open`, async () => {
        const own = await workbench.start(await workbench.home());
        await (await fetch(`${own.url}/health`)).text();
        const begun = Date.now();
        assert.equal((await own.stop(signal)).code, 0);
        // The client itself closes an idle connection after four seconds, and the server any after ten.
        assert.ok(Date.now() - begun < 3500);
        assert.equal(own.log().at(-1)?.inFlight, 'finished');
      });
    }

    test('refuses to start as another issuer than the stored one', async () => {
      const args = ['serve', '--port', '0', '--issuer', 'https://id.example'];
      const { code, stderr } = await grantd(server.folder, args);
      assert.equal(code, 1);
      assert.match(stderr, new RegExp(`belongs to the issuer ${server.url}, not to https://id.example`));
      assert.match(
        stderr,
        /The issuer of a database cannot be changed: docs\/production\.md says how to move/,
      );
      const byPort = await grantd(server.folder, ['serve', '--port', '0']);
      assert.equal(byPort.code, 1);
      assert.match(byPort.stderr, new RegExp(`Use --issuer ${server.url} \\(or --port ${server.port}\\)`));
    });

    test('stores the issuer at the first start, so that it can be omitted later', async () => {
      const folder = await workbench.home();
      const issuer = 'https://id.example/tenant';
      const first = await workbench.start(folder, ['--issuer', issuer]);
      await first.stop();
      const second = await workbench.start(folder);
      const address = `${second.url}/.well-known/oauth-authorization-server/tenant`;
      const metadata = (await (await fetch(address)).json()) as Record<string, unknown>;
      assert.equal(metadata.issuer, issuer);
      assert.equal(metadata.authorization_endpoint, `${issuer}/authorize`);
      assert.equal((await fetch(`${second.url}/tenant/authorize`)).status, 400);
      assert.equal((await fetch(`${second.url}/authorize`)).status, 404);
    });

    test('health checks return 200 if storage works, on three paths', async () => {
      for (const path of ['/health', '/health/ready', '/health/live']) {
        const response = await fetch(`${server.url}${path}`);
        assert.equal(response.status, 200);
        assert.deepEqual(await response.json(), { status: 'ok' });
      }
      assert.equal((await fetch(`${server.url}/health/other`)).status, 404);
    });

    test('/health returns 503 if the database now belongs to another issuer', async () => {
      const own = await workbench.start(await workbench.home());
      await database.run(own.folder, `UPDATE ${schema}issuers SET issuer = 'https://other.example'`);
      const response = await fetch(`${own.url}/health`);
      assert.equal(response.status, 503);
      assert.deepEqual(await response.json(), { status: 'unavailable' });
      const lines = () => own.log().filter(({ event }) => event === 'unhealthy');
      await until(() => lines().length > 0, 'it is logged');
      const [line] = lines();
      assert.match(JSON.stringify(line?.cause), /belongs to https:\/\/other\.example, no longer to http/);
    });

    for (const [whose, statement] of Object.entries({
      'the library’s': database.newerStoreTables,
      'the program’s own': database.newerProgramTables,
    })) {
      test(`a program whose database a newer one has migrated responds with 503, ${whose} tables`, async () => {
        const own = await workbench.start(await workbench.home(), ['--demo']);
        const statuses = async () => {
          const answers = [
            await fetch(`${own.url}/health`),
            await postForm(
              `${own.url}/token`,
              { grant_type: 'client_credentials' },
              basic('demo-machine', 'demo-machine-secret'),
            ),
          ];
          return answers.map(({ status }) => status);
        };
        assert.deepEqual(await statuses(), [200, 200]);
        await database.run(own.folder, statement);
        // PostgreSQL is checked periodically.
        const late = Date.now() + 4000;
        let found = await statuses();
        while (found[0] === 200 && Date.now() < late) found = await statuses();
        assert.equal(found[0], 503);
        const [health, token] = await statuses();
        assert.equal(health, 503);
        if (whose !== 'the program’s own') assert.equal(token, 503);
      });
    }

    test('an outage of storage is 503 everywhere but at /health/live, and its cause is in the log alone', async () => {
      const own = await workbench.start(await workbench.home(), ['--demo']);
      for (const table of ['clients', 'signing_keys', 'people'])
        await database.run(own.folder, `ALTER TABLE ${schema}${table} RENAME TO gone_${table}`);
      const authorization = basic('demo-api', 'demo-api-secret');
      assert.equal((await fetch(`${own.url}/health/live`)).status, 200);
      const answers = [
        await fetch(`${own.url}/health/ready`),
        await fetch(`${own.url}/authorize?client_id=demo-web`),
        await postForm(`${own.url}/token/introspect`, { token: 'grantd_at_x' }, authorization),
        await postForm(`${own.url}/token/revoke`, { token: 'grantd_at_x' }, authorization),
      ];
      assert.deepEqual(
        answers.map(({ status }) => status),
        [503, 503, 503, 503],
      );
      assert.ok(answers.every(({ headers }) => headers.has('retry-after')));
      const bodies = await Promise.all(answers.map((answer) => answer.text()));
      assert.doesNotMatch(bodies.join(), /table|sqlite/i);
      // The line of each request repeats the reason, without the cause.
      const isOutage = ({ event, reason }: Record<string, unknown>) =>
        event !== 'request' && reason === 'storage_unavailable';
      await until(() => own.log().filter(isOutage).length >= 4, 'it is logged');
      const causes = own
        .log()
        .filter(isOutage)
        .map(({ cause }) => JSON.stringify(cause));
      assert.ok(causes.every((cause) => cause.includes(database.tableIsGone)));
    });

    test('sweeps expired rows while it serves', async () => {
      const folder = await workbench.home();
      const own = await workbench.start(folder, ['--demo'], { GRANTD_SWEEP_INTERVAL: '1' });
      await grantd(folder, ['token', 'issue', '--client', 'demo-machine', '--ttl', '1', '--count', '5']);
      await until(
        () => own.log().some(({ event, rows }) => event === 'swept' && Number(rows) >= 5),
        'rows are swept',
      );
    });
  });
}

const workbench = new Workbench();
after(() => workbench.clear());

describe('grantd serve', () => {
  let server: RunningServer;
  before(async () => {
    server = await workbench.start(workbench.folder(), ['--demo']);
  });

  test('what Node or Hono refuses by itself is kept by no cache either', async () => {
    const post = 'POST /token HTTP/1.1\r\n';
    const cases: readonly (readonly [number, string])[] = [
      [400, 'nonsense\r\n\r\n'],
      [400, `${post}\r\n`],
      [400, 'GET /login HTTP/1.1\r\nHost: bad/host\r\nConnection: close\r\n\r\n'],
      [417, `${post}Host: localhost\r\nExpect: 200-maybe\r\nContent-Length: 0\r\n\r\n`],
      [431, `${post}Host: localhost\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`],
    ];
    for (const [status, bytes] of cases) {
      const answer = await answerTo(server.port, bytes);
      assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `));
      assert.match(answer, /\r\ncache-control: no-store\r\n/i);
    }
  });

  test('pages and endpoints take a path as it is spelled, dot segments included', async () => {
    const statusOf = async (target: string) => {
      const head = `Host: localhost:${server.port}\r\nConnection: close\r\n`;
      const answer = await answerTo(server.port, `GET ${target} HTTP/1.1\r\n${head}\r\n`);
      assert.doesNotMatch(answer, /\r\nlocation:/i, target);
      return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
    };
    assert.equal(await statusOf('/'), 200);
    assert.equal(await statusOf('/jwks'), 200);
    for (const prefix of [
      '/public/..',
      '/.',
      '/%2e',
      '/public/%2E%2e',
      '/',
      '/public/..;/..',
      '\\',
      '/public/.%2e',
    ])
      for (const path of ['/account', '/login', '/jwks', '/logout'])
        assert.ok([400, 404].includes(await statusOf(`${prefix}${path}`)), `${prefix}${path}`);
    for (const target of ['/%61ccount', '/account/', '/jwks/.', '/account/.', '/account%2f', '/x/../'])
      assert.equal(await statusOf(target), 404, target);
  });

  test('what the library or the demo refuses is written nowhere', async () => {
    const policy = { GRANTD_AUTHENTICATE_INTROSPECT: 'false', GRANTD_INTROSPECTION_POLICY: 'audience' };
    const issuer = ['--issuer', 'https:login.example.com'];
    const cases: readonly (readonly [readonly string[], Readonly<Record<string, string>>])[] = [
      [['serve', '--port', '0', ...issuer], {}],
      [['client', 'add', 'x', ...issuer], {}],
      [['serve', '--port', '0'], policy],
      [['client', 'add', 'x'], policy],
      [['user', 'add', 'bob', '--password-stdin'], policy],
      [['serve', '--port', '0', '--demo', '--issuer', 'https://login.example.com'], {}],
    ];
    for (const [args, environment] of cases) {
      const folder = workbench.folder();
      const { code } = await grantd(folder, args, { environment, input: 'correct horse' });
      assert.notEqual(code, 0, args.join(' '));
      assert.equal(existsSync(join(folder, 'grantd-data')), false, args.join(' '));
    }
  });

  test('says which port is in use, and leaves no files behind', async () => {
    const folder = workbench.folder();
    const { code, stderr } = await grantd(folder, ['serve', '--port', String(server.port)]);
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`port ${server.port} on 127.0.0.1 is in use: .* --port`));
    assert.equal(existsSync(join(folder, 'grantd-data')), false);
  });

  test('takes its secret from GRANTD_SECRET, creates no file then, and accepts older secrets of a list', async () => {
    const folder = workbench.folder();
    const [old, newer] = ['o'.repeat(40), 'n'.repeat(40)];
    const first = await workbench.start(folder, ['--demo'], { GRANTD_SECRET: old });
    assert.equal(existsSync(join(folder, 'grantd-data', 'grantd.db.secret')), false);
    await first.stop();
    const port = ['--port', String(first.port)];
    const second = await workbench.start(folder, ['--demo', ...port], {
      GRANTD_SECRET: JSON.stringify([newer, old]),
    });
    assert.deepEqual(await introspect(second.url, 'grantd_at_x'), { active: false });
    await second.stop();
    const { code, stderr } = await grantd(folder, ['serve', ...port], {
      environment: { GRANTD_SECRET: old },
    });
    assert.equal(code, 1);
    assert.match(stderr, /encrypted with another server secret/);
    const third = await workbench.start(folder, ['--demo', ...port], { GRANTD_SECRET: newer });
    assert.deepEqual(await introspect(third.url, 'grantd_at_x'), { active: false });
    await third.stop();
  });

  test('an http issuer off loopback needs --insecure-development', async () => {
    const folder = workbench.folder();
    const issuer = 'http://login.example.com';
    const advice = 'expected https, because plain http exposes passwords and tokens on the network.';
    const refused = await grantd(folder, ['serve', '--port', '0', '--issuer', issuer]);
    assert.deepEqual([refused.code, refused.stderr.includes(`--issuer: ${issuer}: ${advice}`)], [2, true]);
    // An older database can have one.
    await grantd(folder, ['client', 'add', 'x', '--issuer', issuer, '--scope', 'a']);
    const stored = await grantd(folder, ['serve', '--port', '0']);
    assert.equal(stored.code, 1);
    assert.match(
      stored.stderr,
      /belongs to the issuer http:\/\/login\.example\.com: expected https, because/,
    );
  });

  test('a database below /proc is refused at once', {
    skip: process.platform !== 'linux',
  }, async () => {
    const folder = workbench.folder();
    for (const command of [
      ['serve', '--port', '0'],
      ['client', 'add', 'x', '--scope', 'a'],
    ]) {
      const { code, stderr } = await grantd(folder, [...command, '--database', 'sqlite:/proc/x/g.db']);
      assert.equal(code, 1);
      assert.match(
        stderr,
        /\/proc\/x\/g\.db cannot be opened \(ENOENT.*\): choose a folder that this user can write/,
      );
    }
  });

  test('a column that was dropped is named with its file, and what to do', async () => {
    const folder = workbench.folder();
    await grantd(folder, ['client', 'add', 'x', '--scope', 'a']);
    const database = new DatabaseSync(join(folder, 'grantd-data', 'grantd.db'));
    database.exec('ALTER TABLE clients DROP COLUMN metadata');
    database.close();
    const { code, stderr } = await grantd(folder, ['client', 'list']);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /grantd\.db lacks tables or columns of grantd \(no such column: metadata\): restore the file from a backup\.\n$/,
    );
  });

  test('reads all its options from a file, and names a wrong one before it listens', async () => {
    const folder = workbench.folder();
    const path = join(folder, 'grantd.json');
    writeFileSync(path, JSON.stringify({ authenticateIntrospect: false, oidc: false, log: 'json' }));
    const own = await workbench.start(folder, ['--config', 'grantd.json']);
    const answer = await postForm(`${own.url}/token/introspect`, { token: 'x' });
    assert.deepEqual(await answer.json(), { active: false });
    assert.equal((await fetch(`${own.url}/userinfo`)).status, 404);
    writeFileSync(path, JSON.stringify({ accessTokenLifetime: '1h' }));
    const { code, stderr } = await grantd(folder, ['serve', '--config', 'grantd.json']);
    assert.equal(code, 2);
    assert.match(
      stderr,
      /^grantd: accessTokenLifetime in grantd\.json: expected whole seconds from 1 to \d+\n$/,
    );
  });

  test('exits with 2 and names the option as it was written if the library rejects its value', async () => {
    const environment = { GRANTD_AUTHENTICATE_INTROSPECT: 'false', GRANTD_INTROSPECTION_POLICY: 'audience' };
    const { code, stderr } = await grantd(workbench.folder(), ['serve', '--port', '0'], { environment });
    assert.equal(code, 2);
    assert.match(stderr, /^grantd: GRANTD_INTROSPECTION_POLICY: expected any_client/);
  });

  test('puts its data below the folder where the command was typed, wherever npm starts it', async () => {
    const [typed, started] = [workbench.folder(), workbench.folder()];
    const own = await workbench.start(started, [], { INIT_CWD: typed });
    await own.stop();
    assert.ok(existsSync(join(typed, 'grantd-data', 'grantd.db')));
    assert.equal(existsSync(join(started, 'grantd-data')), false);
  });

  test('refuses a request with two credentials instead of overlooking one', async () => {
    const socket = connect(server.port, '127.0.0.1');
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    const body = 'token=x';
    const [api, web] = [basic('demo-api', 'demo-api-secret'), basic('demo-web', 'wrong')];
    socket.end(
      `POST /token/introspect HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${api}\r\nAuthorization: ${web}\r\n` +
        `Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await new Promise((resolve) => socket.once('close', resolve));
    assert.match(text, /^HTTP\/1\.1 40[01] /);
  });

  test('a secret that others can read is refused, with what to do', async () => {
    const folder = workbench.folder();
    await grantd(folder, ['client', 'add', 'x']);
    const path = join(folder, 'grantd-data', 'grantd.db.secret');
    chmodSync(path, 0o604);
    const { code, stderr } = await grantd(folder, [
      'serve',
      '--port',
      '0',
      '--issuer',
      'http://localhost:4000',
    ]);
    assert.equal(code, 2);
    assert.match(
      stderr,
      /the server’s secret: \S+grantd\.db\.secret is open to others .* mode 604\): run chmod 600 \S+grantd\.db\.secret,/,
    );
  });

  test('the secret file is made once', async () => {
    const path = join(server.folder, 'grantd-data', 'grantd.db.secret');
    const before = readFileSync(path, 'utf8');
    await grantd(server.folder, ['client', 'list']);
    assert.equal(readFileSync(path, 'utf8'), before);
  });
});

test('the issuer itself is a page that says what this is', async () => {
  const { url } = await workbench.start(workbench.folder());
  const response = await fetch(`${url}/`);
  const text = await response.text();
  assert.equal(response.status, 200);
  assert.match(text, /grantd is running/);
  assert.match(text, /href="\/\.well-known\/openid-configuration"/);
  assert.equal((await fetch(`${url}/`, { method: 'POST' })).status, 405);
});
