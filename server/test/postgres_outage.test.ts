import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type PostgresCluster, startPostgres } from '../../core/test/harness/postgres_cluster.ts';
import { disposableDatabase } from '../../core/test/harness/postgres_databases.ts';
import { grantdPrints } from './harness/commands.ts';
import { POSTGRESQL } from './harness/databases.ts';
import { type RunningServer, until, Workbench } from './harness/program.ts';
import { basic, introspect, postForm, userInfo } from './harness/protocol.ts';

const CONNECT_MS = 400;
/** Enough for a busy machine to create the tables. */
const STATEMENT_MS = 2000;

/** A statement or connection that hangs ends its request after a time limit. The rest is for a busy machine. */
const LONGEST_ANSWER_MS = CONNECT_MS + STATEMENT_MS + 1500;

describe('a server whose PostgreSQL', { skip: POSTGRESQL.absence }, () => {
  const workbench = new Workbench();
  let cluster: PostgresCluster;
  let environment: Readonly<Record<string, string>>;
  let server: RunningServer;

  before(async () => {
    cluster = await startPostgres();
  });
  after(async () => {
    await workbench.clear();
    await cluster.remove();
  });
  beforeEach(async () => {
    environment = {
      GRANTD_DATABASE: await disposableDatabase(cluster),
      GRANTD_SECRET: 's'.repeat(32),
      GRANTD_CREATE: 'true',
      GRANTD_DATABASE_CONNECT_TIMEOUT_MS: String(CONNECT_MS),
      GRANTD_DATABASE_STATEMENT_TIMEOUT_MS: String(STATEMENT_MS),
    };
    server = await workbench.start(workbench.folder(), ['--demo'], environment);
  });

  const issue = () =>
    grantdPrints(
      server.folder,
      ['token', 'issue', '--client', 'demo-web', '--user', 'alice'],
      '',
      environment,
    );
  const revoke = (token: string) =>
    postForm(`${server.url}/token/revoke`, { token }, basic('demo-web', 'demo-web-secret'));
  const askAll = (token: string): Promise<Response>[] => [
    postForm(`${server.url}/token/introspect`, { token }, basic('demo-api', 'demo-api-secret')),
    revoke(token),
    userInfo(server.url, token),
    fetch(`${server.url}/health`),
    fetch(`${server.url}/authorize?client_id=demo-web`, { redirect: 'manual' }),
  ];

  async function assertOutage(token: string): Promise<void> {
    const begun = performance.now();
    const answers = await Promise.all(askAll(token));
    const tookMs = performance.now() - begun;
    assert.deepEqual(
      answers.map(({ status, headers }) => [status, headers.has('retry-after')]),
      answers.map(() => [503, true]),
    );
    assert.ok(tookMs < LONGEST_ANSWER_MS, `it took ${Math.round(tookMs)} ms`);
    const bodies = await Promise.all(answers.map((answer) => answer.text()));
    assert.doesNotMatch(bodies.join(), /"active"|postgres|timeout|terminat|ECONN/i);
  }

  /** Until it responds as before, without a restart. */
  async function untilHealthy(): Promise<void> {
    let status = 0;
    const timer = setInterval(async () => {
      status = (await fetch(`${server.url}/health`)).status;
    }, 50);
    try {
      await until(() => status === 200, 'the server is healthy', 10_000);
    } finally {
      clearInterval(timer);
    }
  }

  test('hangs answers 503 in time, for as long as it lasts, and goes on afterwards by itself', async () => {
    const [kept, revoked] = [await issue(), await issue()];
    assert.equal((await revoke(revoked)).status, 200);
    await cluster.pause();
    try {
      for (let round = 0; round < 3; round += 1) await assertOutage(kept);
    } finally {
      await cluster.resume();
    }
    await untilHealthy();
    assert.deepEqual(await introspect(server.url, revoked), { active: false });
    // A 503 promises nothing: the write may have happened.
    assert.match(JSON.stringify(await introspect(server.url, kept)), /^\{"active":(true|false)/);
    assert.equal((await introspect(server.url, await issue())).active, true);
    const password = new URL(environment.GRANTD_DATABASE ?? '').password;
    assert.equal((server.stdout() + server.stderr()).includes(password), false);
    await server.logged(({ reason }) => reason === 'storage_unavailable', 'that there was an outage');
  });

  test('hangs ends at SIGTERM all the same', async () => {
    await cluster.pause();
    try {
      const begun = performance.now();
      assert.equal((await server.stop('SIGTERM')).code, 0);
      assert.ok(performance.now() - begun < LONGEST_ANSWER_MS + 1000);
    } finally {
      await cluster.resume();
    }
  });

  test('crashes answers 503 until it is back, loses nothing that was answered, and goes on by itself', async () => {
    const [kept, revoked] = [await issue(), await issue()];
    assert.equal((await revoke(revoked)).status, 200);
    await cluster.kill();
    try {
      await assertOutage(revoked);
    } finally {
      await cluster.start();
    }
    await untilHealthy();
    assert.equal((await introspect(server.url, kept)).active, true);
    assert.deepEqual(await introspect(server.url, revoked), { active: false });
  });

  test('closes every connection under requests does not end for it', async () => {
    const token = await issue();
    const asking = Promise.all(Array.from({ length: 50 }, () => Promise.all(askAll(token))));
    const cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'grantd'";
    for (let round = 0; round < 5; round += 1) await cluster.ask(cut);
    const statuses = new Set((await asking).flat().map(({ status }) => status));
    for (const status of statuses) assert.ok([200, 303, 400, 401, 503].includes(status), String(status));
    await untilHealthy();
  });

  test('is stopped between requests: the loss of idle connections is a warning in the log', async () => {
    await cluster.stop('fast');
    await until(
      () => server.log().some(({ event, level }) => event === 'database_connection_lost' && level === 'warn'),
      'it is logged',
    );
    await cluster.start();
    await untilHealthy();
  });

  test('has fewer connections than there are requests makes them wait, and serves all', async () => {
    const few = await workbench.start(workbench.folder(), [], {
      ...environment,
      GRANTD_DATABASE_CONNECTIONS: '1',
      GRANTD_ISSUER: server.url,
    });
    const token = await issue();
    const answers = await Promise.all(Array.from({ length: 40 }, () => introspect(few.url, token)));
    assert.ok(answers.every(({ active }) => active === true));
    const [row] = await cluster.ask(
      'SELECT count(*)::int AS connections FROM pg_stat_activity WHERE application_name = $1 AND datname = $2',
      ['grantd', new URL(environment.GRANTD_DATABASE ?? '').pathname.slice(1)],
    );
    assert.ok(Number(row?.connections) <= 10 + 1);
    await few.stop();
  });
});
