// No place can use up for others what a user or a name is limited to (ADR 127, ADR 159).
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Browser, hiddenFields, isLogin, type Page } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { newPerson } from './harness/new_person.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { withDatabaseOf } from './harness/stored.ts';

const workbench = new Workbench();
let server: RunningServer;
before(async () => {
  server = await workbench.start(await workbench.home(), [
    ...['--trusted-proxies', '127.0.0.1,::1', '--email-code', 'also', '--sign-up', 'open'],
    ...['--smtp-url', 'smtp://127.0.0.1:9', '--mail-from', 'login@id.example'],
  ]);
});
after(() => workbench.clear());

/** More attempts than any limit of one place allows for one name. */
const GREEDY = 12;

/** How many emails wait to be sent. The mail server does not answer. */
const waiting = () => withDatabaseOf(server, async ({ mails }) => (await mails.list(false, 1000)).length);

/** Asks for an email by the form of a page. */
function mailBy(path: string) {
  return async (browser: Browser, typed: string): Promise<Page> => {
    const page = await browser.get(`${server.url}${path}`);
    const [, code = ''] = /id="code-send"[^>]* formaction="([^"]*)"/.exec(page.html) ?? [];
    const fields = { ...hiddenFields(page), username: typed, email: typed };
    return browser.post(new URL(code.replaceAll('&amp;', '&'), page.url).href, fields);
  };
}

/** Each limit that counts by a name or a user, without a sign-in before. */
const LIMITED: Readonly<Record<string, (browser: Browser, name: string) => Promise<Page>>> = {
  'a password': async (browser, username) =>
    browser.submit(await browser.get(`${server.url}/account`), { username, password: 'wrong' }),
  'a code by email': mailBy('/account'),
  'a link for a new password': mailBy('/forgot'),
  'a link to sign up': mailBy('/sign-up'),
};

describe('limits by name and user', () => {
  const PLACES: readonly (readonly [string, greedy: string, other: string])[] = [
    ['an IPv4 address', '192.0.2.1', '192.0.2.2'],
    ['an IPv6 /64, by many addresses of it', '2001:db8:1:1::', '2001:db8:1:2::1'],
  ];
  let number = 0;
  for (const [what, attempt] of Object.entries(LIMITED))
    for (const [kind, greedy, other] of PLACES)
      test(`${what}: ${kind} that reaches the limit leaves it to others`, async () => {
        number += 1;
        const name = `victim${number}`;
        const { who } = await newPerson(server, name);
        const email = `${name}@example.com`;
        await grantdPrints(server.folder, ['user', 'update', name, '--email', email, '--email-verified']);
        const at = (place: string) => new Browser(server.url, { 'x-forwarded-for': place });
        const typed = what === 'a link to sign up' ? `new${email}` : name;
        const statuses = new Set<number>();
        const mailsBefore = await waiting();
        for (let time = 1; time <= GREEDY; time += 1)
          statuses.add(
            (await attempt(at(greedy.endsWith('::') ? `${greedy}${time}` : greedy), typed)).status,
          );
        const mails = await waiting();
        const page = await attempt(at(other), typed);
        if (what !== 'a password') {
          assert.equal(mails - mailsBefore, 5, 'the place has reached its limit');
          assert.equal(await waiting(), mails + 1, 'others get their email');
          return;
        }
        assert.deepEqual([[...statuses], page.status], [[403, 429], 403]);
        const browser = at(other);
        assert.ok(!isLogin(await browser.submit(await browser.get(`${server.url}/account`), who)));
      });
});

test('an IPv6 /48 gets few emails, for however many of its /64 and names', async () => {
  const statuses = new Map<number, number>();
  for (let place = 1; place <= 480; place += 1) {
    const browser = new Browser(server.url, { 'x-forwarded-for': `2001:db8:48:${place.toString(16)}::1` });
    const { status } =
      (await LIMITED['a link to sign up']?.(browser, `many${place}@example.com`)) ?? assert.fail();
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  assert.deepEqual([...statuses.keys()], [200, 429]);
  assert.equal(statuses.get(200), 4 * 100);
  const elsewhere = new Browser(server.url, { 'x-forwarded-for': '2001:db8:49:1::1' });
  assert.equal((await LIMITED['a link to sign up']?.(elsewhere, 'other@example.com'))?.status, 200);
});
