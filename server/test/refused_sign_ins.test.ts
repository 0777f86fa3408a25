import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ALICE, Browser, formAction, hiddenFields, signInAndConsent } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { authorizationUrl, newPkce } from './harness/protocol.ts';

const FILTER = join(import.meta.dirname, '..', '..', 'deploy', 'fail2ban', 'filter.d', 'grantd.conf');

const workbench = new Workbench();
after(() => workbench.clear());

describe('a refused sign-in', () => {
  let server: RunningServer;
  let subject: string;
  const from = (address: string) => new Browser(server.url, { 'x-forwarded-for': address });
  const url = () => authorizationUrl(server.url, newPkce());

  before(async () => {
    const options = ['--demo', '--trusted-proxies', '127.0.0.1,::1', '--log-addresses', 'full'];
    server = await workbench.start(workbench.folder(), options);
    const shown = await grantdPrints(server.folder, ['user', 'show', 'alice', '--json']);
    subject = JSON.parse(shown).subject ?? JSON.parse(shown).sub;
  });

  /** The members of its line that say who was refused. */
  async function refusalFrom(address: string, reason: string) {
    const isIt = (line: Readonly<Record<string, unknown>>) =>
      line.event === 'sign_in_failed' && line.address === address && line.reason === reason;
    const { page, subject } = await server.logged(isIt, `${reason} from ${address}`);
    return { page, subject };
  }

  async function guess(address: string, username: string) {
    const browser = from(address);
    return browser.submit(await browser.get(url()), { username, password: 'guessed' });
  }

  test('is logged with the address, and the user if there is one', async () => {
    await guess('192.0.2.1', 'alice');
    await guess('192.0.2.2', 'nobody-of-this-name');
    assert.deepEqual(await refusalFrom('192.0.2.1', 'password_wrong'), { page: 'login', subject });
    assert.deepEqual(await refusalFrom('192.0.2.2', 'person_unknown'), { page: 'login', subject: undefined });

    const signedIn = from('192.0.2.3');
    await signInAndConsent(signedIn, url());
    const form = await signedIn.get(`${server.url}/account/security`);
    const change = { current_password: 'guessed', new_password: 'long enough to be one' };
    await signedIn.post(new URL(formAction(form), server.url).href, { ...hiddenFields(form), ...change });
    assert.deepEqual(await refusalFrom('192.0.2.3', 'password_wrong'), { page: 'account', subject });
  });

  test('beyond the limit is logged each time, and is in the audit trail once', async () => {
    for (let attempt = 0; attempt < 13; attempt++) await guess('192.0.2.4', 'alice');
    assert.deepEqual(await refusalFrom('192.0.2.4', 'too_many_attempts'), { page: 'login', subject });
    const list = ['audit', 'list', '--type', 'sign_in_failed', '--address', '192.0.2.4', '--json'];
    const trail: readonly { reason: string; subject?: string }[] = JSON.parse(
      await grantdPrints(server.folder, list),
    );
    const reached = trail.filter(({ reason }) => reason === 'too_many_attempts');
    assert.deepEqual([trail.length, reached.map((one) => one.subject)], [11, [subject]]);
  });

  test('matches the filter for fail2ban, and nothing else in the log does', async () => {
    const ordinary = from('192.0.2.5');
    await signInAndConsent(ordinary, url());
    const forged = `${server.url}/","event":"sign_in_failed","address":"192.0.2.6","reason":"password_wrong"`;
    await ordinary.get(forged);
    await guess('2001:db8::7', 'alice');
    await refusalFrom('2001:db8::7', 'password_wrong');
    await ordinary.get(`${server.url}/health`);
    await server.logged(({ path }) => path === '/health', 'the last request');

    const definition = readFileSync(FILTER, 'utf8');
    const option = (name: string) =>
      new RegExp(`^${name} = (.*)$`, 'm').exec(definition)?.[1] ?? assert.fail();
    // fail2ban removes the time before it compares a line.
    const time = /"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/;
    assert.equal(option('datepattern'), '"time":"%%Y-%%m-%%dT%%H:%%M:%%S\\.%%f%%z"');
    const failure = new RegExp(option('failregex').replace('<ADDR>', '(?<address>[0-9a-f.:]+)'));
    const lines = server.stdout().trim().split('\n');
    const banned = lines.flatMap((line) => failure.exec(line.replace(time, ''))?.groups?.address ?? []);
    const refused = server.log().filter(({ event }) => event === 'sign_in_failed');
    assert.deepEqual(
      banned,
      refused.map(({ address }) => address),
    );
    assert.ok(banned.includes('2001:db8::7') && !banned.includes('192.0.2.5'));
    // In the journal of systemd, the line has the host and the program in front, and keeps its time.
    const inJournal = lines.flatMap((line) => failure.exec(`host grantd[7]: ${line}`)?.groups?.address ?? []);
    assert.deepEqual(inJournal, banned);

    const log = join(server.folder, 'log');
    writeFileSync(log, server.stdout());
    const found = spawnSync('fail2ban-regex', ['--out', 'ip', log, FILTER], { encoding: 'utf8' });
    if (found.error === undefined) assert.deepEqual(found.stdout.trim().split('\n'), banned);
  });
});

test('the log has no address unless the operator wants it, or only its network', async () => {
  for (const [options, address] of [
    [[], undefined],
    [['--log-addresses', 'network'], '203.0.113.0/24'],
  ] as const) {
    const server = await workbench.start(workbench.folder(), [
      ...['--demo', '--trusted-proxies', '127.0.0.1,::1'],
      ...options,
    ]);
    const browser = new Browser(server.url, { 'x-forwarded-for': '203.0.113.77' });
    const form = await browser.get(authorizationUrl(server.url, newPkce()));
    await browser.submit(form, { username: ALICE.username, password: 'guessed' });
    await browser.get(`${server.url}/health`);
    await server.logged(({ path }) => path === '/health', 'the last request');
    assert.doesNotMatch(server.stdout(), /203\.0\.113\.77/);
    const lines = server.log().filter(({ event }) => event === 'request' || event === 'sign_in_failed');
    assert.ok(lines.length >= 3);
    // The harness has asked for the health of the server from its own address.
    const own = lines.filter((line) => line.path !== '/health');
    assert.deepEqual([...new Set(own.map((line) => line.address))], [address]);
  }
});
