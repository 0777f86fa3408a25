import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ALICE, Browser, formAction, hiddenFields, type Page } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { type LoggedLine, type RunningServer, SLOW_PASSWORDS, until, Workbench } from './harness/program.ts';
import { authorizationUrl, newPkce } from './harness/protocol.ts';
import { scrape } from './harness/scrape.ts';

const workbench = new Workbench();
after(() => workbench.clear());

let server: RunningServer;
before(async () => {
  server = await workbench.start(workbench.folder(), ['--demo']);
});

const pkce = newPkce();
const urlWith = (parameters: Readonly<Record<string, string>> = {}) =>
  authorizationUrl(server.url, pkce, parameters);

/** Every page has others. */
const FORM_TOKENS = /name="form_token" value="[^"]*"/g;

const isConsent = ({ html }: Page) => html.includes('id="consent-allow"');

test('ten wrong passwords from one address are enough, but lock no user out of a browser that they have used before', async () => {
  const dave = { username: 'dave', password: 'correct horse' };
  await grantdPrints(server.folder, ['user', 'add', dave.username, '--password-stdin'], dave.password);
  const [used, strangers] = [new Browser(server.url), new Browser(server.url)];
  assert.ok(isConsent(await used.submit(await used.get(urlWith()), dave)));

  const form = await strangers.get(urlWith());
  const guess = (_: unknown, at: number) =>
    strangers.submit(form, { username: 'dave', password: `guessed ${at}` });
  const statuses = (await Promise.all(Array.from({ length: 12 }, guess))).map(({ status }) => status);
  assert.deepEqual(statuses.sort(), [...Array(10).fill(403), 429, 429]);
  const limited = await strangers.submit(form, dave);
  assert.equal(limited.status, 429);
  assert.ok(Number(limited.headers.get('retry-after')) > 0);
  assert.ok(isConsent(await used.submit(await used.get(urlWith({ prompt: 'login' })), dave)));
});

test('behind a trusted proxy the client’s own address counts: strangers at other addresses lock no user out', async () => {
  const own = await workbench.start(workbench.folder(), ['--demo', '--trusted-proxies', '127.0.0.1,::1']);
  const url = authorizationUrl(own.url, pkce);
  const [stranger, newBrowser, householder] = ['203.0.113.9', '192.0.2.1', '203.0.113.9'].map(
    (address) => new Browser(own.url, { 'x-forwarded-for': address }),
  );
  assert.ok(stranger && newBrowser && householder);
  const form = await stranger.get(url);
  const guess = (_: unknown, at: number) =>
    stranger.submit(form, { username: 'alice', password: `guessed ${at}` });
  const statuses = (await Promise.all(Array.from({ length: 11 }, guess))).map(({ status }) => status);
  assert.deepEqual(statuses.sort(), [...Array(10).fill(403), 429]);
  assert.equal((await householder.submit(await householder.get(url), { ...ALICE })).status, 429);
  assert.ok(isConsent(await newBrowser.submit(await newBrowser.get(url), { ...ALICE })));
});

test('forty addresses of one IPv6 /64 have ten attempts together, and another /64 has its own', async () => {
  const own = await workbench.start(workbench.folder(), ['--demo', '--trusted-proxies', '127.0.0.1,::1']);
  const url = authorizationUrl(own.url, pkce);
  const guessFrom = async (address: string) => {
    const stranger = new Browser(own.url, { 'x-forwarded-for': address });
    const guess = { username: 'alice', password: 'guessed' };
    return (await stranger.submit(await stranger.get(url), guess)).status;
  };
  const statuses: number[] = [];
  for (let host = 1; host <= 40; host += 1)
    statuses.push(await guessFrom(`2001:db8:0:7:${host.toString(16)}::1`));
  assert.deepEqual(statuses, [...Array(10).fill(403), ...Array(30).fill(429)]);
  assert.equal(await guessFrom('2001:db8:0:8::1'), 403);
});

test('one password for many names: an IPv6 /64 fails a hundred times, in whichever worker, and no page tells who is a user', async () => {
  const options = ['--demo', '--trusted-proxies', '127.0.0.1,::1', '--workers', '3'];
  const own = await workbench.start(workbench.folder(), options);
  const url = authorizationUrl(own.url, pkce);
  const from = (address: string) => new Browser(own.url, { 'x-forwarded-for': address });
  const used = from('2001:db8:0:7::1');
  assert.ok(isConsent(await used.submit(await used.get(url), { ...ALICE })));

  const statuses: number[] = [];
  while (statuses.length < 120) {
    const spray = async (_: unknown, index: number) => {
      const number = statuses.length + index;
      const stranger = from(`2001:db8:0:7:${(number + 1).toString(16)}::1`);
      const guess = { username: `name-${number}`, password: 'Spring2026!' };
      return (await stranger.submit(await stranger.get(url), guess)).status;
    };
    statuses.push(...(await Promise.all(Array.from({ length: 20 }, spray))));
  }
  assert.deepEqual(statuses.sort(), [...Array(100).fill(403), ...Array(20).fill(429)]);

  const stranger = from('2001:db8:0:7::2');
  const form = await stranger.get(url);
  const pages = [];
  for (const username of ['alice', 'nobody'])
    pages.push(await stranger.submit(form, { username, password: ALICE.password }));
  const [user, nobody] = pages.map(({ status, html }) => [
    status,
    html
      .replace(/value="(?:alice|nobody)"/, '')
      .replaceAll(FORM_TOKENS, '')
      .replaceAll(/in \d+ (?:minutes?|seconds?)/g, 'later'),
  ]);
  assert.deepEqual(user, nobody);
  assert.equal(user?.[0], 429);
  const seconds = Number(pages[0]?.headers.get('retry-after'));
  assert.ok(seconds > 0 && seconds <= 15 * 60, `${seconds}`);
  const elsewhere = from('2001:db8:0:8::1');
  assert.ok(isConsent(await elsewhere.submit(await elsewhere.get(url), { ...ALICE })));
  assert.ok(isConsent(await used.submit(await used.get(`${url}&prompt=login`), { ...ALICE })));
  const failed = await grantdPrints(own.folder, [
    'audit',
    'list',
    '--type',
    'sign_in_failed',
    '--limit',
    '1000',
    '--json',
  ]);
  assert.equal(JSON.parse(failed).length, 100);
});

test('a flood of sign-ins from one IPv6 /64 does not delay users elsewhere', async () => {
  const own = await workbench.start(
    workbench.folder(),
    ['--demo', '--trusted-proxies', '127.0.0.1,::1'],
    SLOW_PASSWORDS,
  );
  const url = authorizationUrl(own.url, pkce);
  const honest = new Browser(own.url, { 'x-forwarded-for': '192.0.2.1' });
  const form = await honest.get(url);
  const flood = Array.from({ length: 60 }, async (_, host) => {
    const stranger = new Browser(own.url, { 'x-forwarded-for': `2001:db8::${host + 1}` });
    const guess = { username: `nobody-${host}`, password: 'guessed' };
    await stranger.submit(await stranger.get(url), guess);
  });
  const { log } = own;
  await until(() => log().some(({ event }) => event === 'sign_in_failed'), 'the flood has begun');
  assert.ok(isConsent(await honest.submit(form, { ...ALICE })));
  const signedIn = await own.logged(({ event }) => event === 'signed_in', 'that the user has signed in');
  const isItsRequest = ({ event, requestId }: LoggedLine) =>
    event === 'request' && requestId === signedIn.requestId;
  const request = await own.logged(isItsRequest, 'how long that took');
  // By the clock of the server, because a busy test sends and gets late.
  const arrivedAt = Date.parse(`${request.time}`) - Number(request.durationMs);
  const between = log().filter(
    ({ event, reason, time }) =>
      event === 'sign_in_failed' &&
      reason !== 'too_many_sign_ins' &&
      Date.parse(`${time}`) > arrivedAt &&
      Date.parse(`${time}`) < Date.parse(`${signedIn.time}`),
  ).length;
  assert.ok(between <= 8, `${between} of the flood were before`);
  await Promise.all(flood);
});

test('more sign-ins than can be checked are sent away with a time to come back, and are no attempts', async () => {
  const own = await workbench.start(workbench.folder(), ['--demo'], SLOW_PASSWORDS);
  const browser = new Browser(own.url);
  const form = await browser.get(authorizationUrl(own.url, pkce));
  const pages = await Promise.all(
    Array.from({ length: 60 }, (_, index) =>
      browser.submit(form, { username: `nobody-${index}`, password: 'guessed' }),
    ),
  );
  const busy = pages.filter(({ status }) => status === 503);
  assert.ok(busy.length > 0 && busy.length < 60 - 32, `${busy.length} were sent away`);
  assert.ok(busy.every(({ headers }) => headers.get('retry-after') === '5'));
  assert.match(busy[0]?.html ?? '', /Too many people are signing in/);
  assert.ok(pages.every(({ status }) => status === 503 || status === 403));
  await until(
    () =>
      own.log().filter(({ event, reason }) => event !== 'request' && reason === 'too_many_sign_ins')
        .length === busy.length,
    'it is logged',
  );
});

test('another spelling of a name counts as the same name, whether a user has it or not', async () => {
  await grantdPrints(server.folder, ['user', 'add', 'Kate', '--password-stdin'], 'correct horse');
  for (const [plain, other] of [
    ['Kate', '\u212Aate'],
    ['Kim', '\u212Aim'],
  ] as const) {
    const browser = new Browser(server.url);
    const form = await browser.get(urlWith());
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 12; attempt += 1) {
      const username = attempt % 2 === 0 ? plain : other;
      statuses.push((await browser.submit(form, { username, password: `guessed ${attempt}` })).status);
    }
    assert.deepEqual(statuses, [...Array(10).fill(403), 429, 429], plain);
  }
});

test('several workers count together', async () => {
  const own = await workbench.start(workbench.folder(), ['--demo', '--workers', '3']);
  const strangers = Array.from({ length: 14 }, () => new Browser(own.url));
  const guess = async (stranger: Browser) =>
    stranger.submit(await stranger.get(authorizationUrl(own.url, pkce)), {
      username: 'alice',
      password: 'guessed',
    });
  const statuses = (await Promise.all(strangers.map(guess))).map(({ status }) => status);
  assert.deepEqual(statuses.sort(), [...Array(10).fill(403), ...Array(4).fill(429)]);
  const workers = () =>
    new Set(own.log().flatMap(({ event, worker }) => (event === 'request' ? [worker] : [])));
  await until(() => workers().size > 1, 'more than one of them was asked');
});

test('an attempt counts and is recorded, also if the browser leaves before the answer', async () => {
  const slow = { PASSWORD_MILLISECONDS: '1500' };
  const own = await workbench.start(workbench.folder(), ['--demo', '--metrics-port', '0'], slow);
  const stranger = new Browser(own.url);
  const form = await stranger.get(authorizationUrl(own.url, pkce));
  const action = new URL(formAction(form), form.url).href;
  const leave = (_: unknown, at: number) => {
    const fields = { ...hiddenFields(form), username: 'alice', password: `guessed ${at}` };
    const init = { method: 'POST', body: new URLSearchParams(fields), signal: AbortSignal.timeout(1000) };
    return assert.rejects(stranger.send(action, init), { name: 'TimeoutError' });
  };
  await Promise.all(Array.from({ length: 10 }, leave));
  assert.equal((await stranger.submit(form, { ...ALICE })).status, 429, 'there are no free attempts');
  const failures = () =>
    own.log().filter(({ event, reason }) => event === 'sign_in_failed' && reason === 'password_wrong');
  await until(() => failures().length === 10, 'each failure is in the log');
  const counted = await scrape(own);
  assert.equal(counted.sum('grantd_sign_ins_total', { result: 'password_wrong' }), 10);
  const trail = await grantdPrints(own.folder, ['audit', 'list', '--type', 'sign_in_failed', '--json']);
  const reasons: readonly { readonly reason: string }[] = JSON.parse(trail);
  assert.deepEqual(reasons.map(({ reason }) => reason).sort(), [
    ...Array(10).fill('password_wrong'),
    'too_many_attempts',
  ]);
});
