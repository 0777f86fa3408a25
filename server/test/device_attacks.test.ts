// Attacks on the grant of devices (RFC 8628 §5.1, RFC 10027 §6.1), with several processes. § refers to RFC 8628.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { DEVICE_GRANT } from '@grantd/core';
import { Browser, isConsent, isLogin, type Page } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { DATABASES } from './harness/databases.ts';
import {
  COMMAND_LINE,
  type Codes,
  deviceCodes,
  enterCode,
  isCodeEntry,
  pollDevice,
} from './harness/devices.ts';
import { newPerson } from './harness/new_person.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { introspect, payloadOf, postForm } from './harness/protocol.ts';

const LETTERS = 'BCDFGHJKLM';

for (const database of DATABASES) {
  describe(`attacks on codes of devices on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());
    const flags = ['--demo', '--workers', '4', '--trusted-proxies', '127.0.0.1,::1'];
    let server: RunningServer;
    before(async () => {
      server = await workbench.start(await workbench.home(), flags);
      await prints('client', 'add', 'cli', ...COMMAND_LINE);
    });

    const prints = (...args: readonly string[]) => grantdPrints(server.folder, args);
    const codes = (parameters = {}) => deviceCodes(server, parameters);
    const poll = (given: Pick<Codes, 'device_code'>) => pollDevice(server, given);
    const pathOf = ({ url }: Page) => new URL(url).pathname;
    const isOver = ({ html }: Page) => html.includes('No device waits for this answer');
    const subjectOf = async (name: string) => JSON.parse(await prints('user', 'show', name, '--json')).sub;

    /** A signed-in user at the page for codes. Each has an address of their own. */
    let addresses = 0;
    async function signedIn(name: string) {
      const { who } = await newPerson(server, name);
      addresses += 1;
      const browser = new Browser(server.url, { 'x-forwarded-for': `198.51.100.${addresses}` });
      const entry = await browser.submit(await browser.get(`${server.url}/device`), { ...who });
      assert.ok(isCodeEntry(entry), entry.html);
      return { who, browser, entry };
    }

    async function asked({ browser, entry }: { browser: Browser; entry: Page }, given: Codes) {
      const consent = await enterCode(browser, entry, given);
      assert.ok(isConsent(consent), consent.html);
      return consent;
    }

    test('of confirmations by two users at once, one counts, and the other user learns that it did not', async () => {
      const users = [await signedIn('ada'), await signedIn('bea')] as const;
      for (let round = 0; round < 4; round++) {
        const given = await codes();
        const pages = await Promise.all(users.map((user) => asked(user, given)));
        // The second user denies in every other round.
        const decisions = ['allow', round % 2 === 0 ? 'allow' : 'deny'];
        const done = await Promise.all(
          users.map(({ browser }, at) =>
            browser.submit(pages[at] as Page, { decision: decisions[at] ?? '' }),
          ),
        );
        const winners = done.map(pathOf).map((path) => path.startsWith('/device/'));
        assert.deepEqual([...winners].sort(), [false, true], done.map(({ html }) => html).join());
        const loser = done[winners.indexOf(false)] as Page;
        assert.deepEqual([loser.status, isOver(loser)], [400, true], loser.html);
        const { id_token, error } = await poll(given);
        const winner = winners.indexOf(true);
        if (decisions[winner] === 'deny') assert.equal(error, 'access_denied');
        else assert.equal(payloadOf(id_token).sub, await subjectOf(winner === 0 ? 'ada' : 'bea'));
      }
    });

    test('of polls at once, one counts and none is 429; of redemptions at once, at most one lives', async () => {
      const user = await signedIn('cleo');
      const given = await codes();
      const flood = () =>
        Promise.all(
          Array.from({ length: 24 }, async () => {
            const form = { client_id: 'cli', grant_type: DEVICE_GRANT, device_code: given.device_code };
            const response = await postForm(`${server.url}/token`, form);
            return { status: response.status, ...(await response.json()) };
          }),
        );
      const waiting = await flood();
      assert.deepEqual([...new Set(waiting.map(({ status }) => status))], [400]);
      assert.equal(waiting.filter(({ error }) => error === 'authorization_pending').length, 1);
      assert.equal(waiting.filter(({ error }) => error === 'slow_down').length, 23);
      // During a flood, the user still decides.
      const [{ browser }, consent] = [user, await asked(user, given)];
      const [done] = await Promise.all([browser.submit(consent, { decision: 'allow' }), flood()]);
      assert.equal(pathOf(done), '/device/approved');
      const answers = [...(await flood()), ...(await flood())];
      assert.ok(answers.every(({ status }) => status === 200 || status === 400));
      const issued = answers.flatMap(({ access_token }) => access_token ?? []);
      assert.ok(issued.length <= 1);
      for (const token of issued) assert.equal((await introspect(server.url, token)).active, false);
    });

    test('what ends between the confirmation and the next poll leaves nothing to poll', async () => {
      const [dan, eve, fay] = [await signedIn('dan'), await signedIn('eve'), await signedIn('fay')];
      const kim = await signedIn('kim');
      await prints('client', 'add', 'brief', ...COMMAND_LINE);
      const requests: { given: Codes; clientId: string }[] = [];
      for (const [user, clientId] of [
        [dan, 'cli'],
        [eve, 'cli'],
        [fay, 'brief'],
        [kim, 'cli'],
      ] as const) {
        const given = await codes({ client_id: clientId });
        await user.browser.submit(await asked(user, given), { decision: 'allow' });
        requests.push({ given, clientId });
      }
      await prints('user', 'disable', 'dan');
      const question = await eve.browser.get(`${server.url}/logout`);
      await eve.browser.submit(question, { decision: 'yes' });
      assert.ok(isLogin(await eve.browser.get(`${server.url}/device`)));
      await prints('client', 'disable', 'brief');
      const access = await kim.browser.get(`${server.url}/account/applications?end=cli`);
      await kim.browser.submit(access, { end_access: 'cli' });
      const errors = requests.map(({ given, clientId }) => pollDevice(server, given, clientId));
      assert.deepEqual(
        (await Promise.all(errors)).map(({ error }) => error),
        ['invalid_grant', 'invalid_grant', 'invalid_client', 'invalid_grant'],
      );
    });

    test('§5.1 guesses count for the user in all processes and at all addresses, and not for others at the address', async () => {
      const { who, browser, entry } = await signedIn('gil');
      // Each is another one: the same form gets the same answer, and counts once.
      const wrong = (at: number) => ({
        user_code: LETTERS.charAt(at % 10).repeat(7) + LETTERS.charAt(at / 10),
      });
      const statuses: number[] = [];
      for (let guess = 0; guess < 10; guess++)
        statuses.push((await browser.submit(entry, wrong(guess))).status);
      assert.deepEqual([...new Set(statuses)], [400]);
      // Elsewhere, also after another sign-in.
      const other = new Browser(server.url, { 'x-forwarded-for': '203.0.113.7' });
      const page = await other.submit(await other.get(`${server.url}/device`), { ...who });
      const limited = await enterCode(other, page, await codes());
      assert.equal(limited.status, 429);
      assert.match(limited.headers.get('retry-after') ?? '', /^\d+$/);
      // What is refused for the user uses up nothing of the address.
      for (let guess = 10; guess < 60; guess++)
        assert.equal((await browser.submit(entry, wrong(guess))).status, 429);
      const { who: neighbour } = await newPerson(server, 'hal');
      const near = new Browser(server.url, { 'x-forwarded-for': `198.51.100.${addresses}` });
      const theirs = await near.submit(await near.get(`${server.url}/device`), { ...neighbour });
      assert.ok(isConsent(await enterCode(near, theirs, await codes())));
    });

    test('§5.1 guesses by many users at one address count together', async () => {
      const address = { 'x-forwarded-for': '203.0.113.99' };
      let last: Page | undefined;
      for (let user = 0; user < 6; user++) {
        const { who } = await newPerson(server, `guesser-${user}`);
        const browser = new Browser(server.url, address);
        const entry = await browser.submit(await browser.get(`${server.url}/device`), { ...who });
        for (let guess = 0; guess < 9; guess++)
          last = await browser.submit(entry, { user_code: LETTERS.charAt(guess).repeat(8) });
      }
      assert.equal(last?.status, 429);
    });

    test('§5.4 nothing but the button of the user decides, in the browser in which the code was entered', async () => {
      const [attacker, victim] = [await signedIn('mallory'), await signedIn('ida')];
      const given = await codes();
      const consent = await asked(attacker, given);
      // The attacker sends the address of their own page, past the one that shows the code.
      const sent = await victim.browser.get(consent.url);
      assert.deepEqual([sent.status, isOver(sent)], [400, true], sent.html);
      assert.ok(!isConsent(sent));
      const url = new URL(consent.url);
      url.searchParams.set('decision', 'allow');
      await attacker.browser.get(url.href);
      const complete = `${given.verification_uri_complete}&decision=allow`;
      assert.ok(isCodeEntry(await victim.browser.get(complete)));
      // Without the token of a form of this browser, nothing is entered either.
      const forged = await victim.browser.post(`${server.url}/device`, { user_code: given.user_code });
      assert.equal(forged.status, 403);
      assert.equal((await poll(given)).error, 'authorization_pending');
      const done = await attacker.browser.submit(consent, { decision: 'deny' });
      for (const page of [attacker.entry, consent, done]) {
        assert.match(page.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/);
        assert.equal(page.headers.get('x-frame-options'), 'DENY');
        assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
        assert.match(page.headers.get('cache-control') ?? '', /no-store/);
      }
      // Back at the page, there is nothing left to decide.
      const back = await attacker.browser.get(consent.url);
      assert.deepEqual([back.status, isOver(back)], [400, true]);
    });

    test('§3.5 a denial, a use, and a longer interval outlive the processes', async () => {
      const own = await workbench.start(await workbench.home(), flags);
      await grantdPrints(own.folder, ['client', 'add', 'cli', ...COMMAND_LINE]);
      const { who, browser } = await newPerson(own, 'jo');
      const [denied, used, slow] = [await deviceCodes(own), await deviceCodes(own), await deviceCodes(own)];
      let entry = await browser.submit(await browser.get(denied.verification_uri), { ...who });
      for (const [given, decision] of [
        [denied, 'deny'],
        [used, 'allow'],
      ] as const) {
        await browser.submit(await enterCode(browser, entry, given), { decision });
        entry = await browser.get(denied.verification_uri);
      }
      const { access_token } = await pollDevice(own, used);
      // The interval is more than a minute by then.
      for (let early = 0; early < 13; early++) await pollDevice(own, slow);
      await own.stop();
      const again = await workbench.start(own.folder, [...flags, '--port', String(own.port)]);
      const errors = [denied, used, slow].map((given) => pollDevice(again, given));
      assert.deepEqual(
        (await Promise.all(errors)).map(({ error }) => error),
        ['access_denied', 'invalid_grant', 'slow_down'],
      );
      assert.equal((await introspect(again.url, access_token)).active, false, 'the code was used twice');
      await again.stop();
    });
  });
}
