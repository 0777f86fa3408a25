import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { browserTasks } from '../certification/set_up.ts';
import { ALICE } from '../harness/browser.ts';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { tabTo } from './keyboard.ts';
import { scene } from './scene.ts';

describe('signing in with Chromium', { skip: CHROMIUM_ABSENCE }, () => {
  const set = scene();

  test('a user signs in and consents without JavaScript', async () => {
    const { visitor, redirectUri, server } = set();
    const visit = await visitor({ javaScriptEnabled: false });
    await visit.authorizeAndSignIn();
    await visit.page.click('#consent-allow');
    const parameters = await visit.arrivalAt(redirectUri);
    assert.deepEqual([...parameters.keys()].sort(), ['code', 'iss', 'state']);
    assert.equal(parameters.get('state'), 'state-1');
    assert.equal(parameters.get('iss'), server.url);
  });

  test('the documented commands of the conformance suite sign in, and sign in again', async () => {
    const { visitor, redirectUri, server } = set();
    const visit = await visitor({ javaScriptEnabled: false });
    const { page } = visit;
    const [{ tasks }] = browserTasks(server.url, 'https://suite.example', ALICE);
    const [signIn, consent] = tasks;
    const enter = async () => {
      for (const [action, by, selector, text, optional] of signIn.commands) {
        const field = page.locator(by === 'css' ? selector : `#${selector}`);
        if (optional === 'optional' && (await field.count()) === 0) continue;
        await (action === 'text' ? field.fill(text, { timeout: 5000 }) : field.click());
      }
      const [[, , allow]] = consent.commands;
      if (page.url().includes('/consent?')) await page.click(`#${allow}`);
      return visit.arrivalAt(redirectUri);
    };
    await visit.authorize();
    assert.ok((await enter()).has('code'));
    await visit.authorize({ prompt: 'login' });
    assert.equal(await page.locator('#username').getAttribute('readonly'), '');
    assert.ok((await enter()).has('code'));
  });

  for (const [decision, id, outcome] of [
    ['consents', 'consent-allow', 'code'],
    ['denies', 'consent-deny', 'error'],
  ] as const) {
    test(`a user signs in and ${decision} with the keyboard alone`, async () => {
      const { visitor, redirectUri } = set();
      const visit = await visitor({ javaScriptEnabled: false });
      const { keyboard } = visit.page;
      await visit.authorize({ prompt: 'consent' });
      await tabTo(visit.page, 'username');
      await keyboard.type(ALICE.username);
      await tabTo(visit.page, 'password');
      await keyboard.type(ALICE.password);
      await keyboard.press('Enter');
      await visit.page.waitForSelector(`#${id}`);
      await tabTo(visit.page, id);
      await keyboard.press('Space');
      assert.ok((await visit.arrivalAt(redirectUri)).has(outcome));
    });
  }

  test('a password can be shown, and is hidden again before it is sent', async () => {
    const { visitor } = set();
    const visit = await visitor();
    await visit.authorize();
    const typeOf = () => visit.page.getAttribute('#password', 'type');
    await visit.page.fill('#username', ALICE.username);
    await visit.page.fill('#password', ALICE.password);
    await visit.page.click('#password-reveal');
    assert.deepEqual(
      [await typeOf(), await visit.page.getAttribute('#password-reveal', 'aria-pressed')],
      ['text', 'true'],
    );
    await visit.page.click('#password-reveal');
    assert.equal(await typeOf(), 'password');
    await visit.page.click('#password-reveal');
    const types = visit.page.evaluate(
      () =>
        new Promise((resolve) =>
          document.forms[0]?.addEventListener('submit', (event) => {
            resolve(document.querySelector('#password')?.getAttribute('type'));
            event.preventDefault();
          }),
        ),
    );
    await visit.page.click('#login-submit');
    assert.equal(await types, 'password');
    // Without scripts, there is no button.
    const plain = await visitor({ javaScriptEnabled: false });
    await plain.authorize();
    assert.equal(await plain.page.isVisible('#password-reveal'), false);
  });

  test('the address of the sign-in page keeps its request, and not that of the application', async () => {
    const { visitor, redirectUri, server } = set();
    const visit = await visitor();
    const { page } = visit;
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(message.text()));
    await visit.authorize({ prompt: 'consent' });
    const address = page.url();
    assert.match(address, new RegExp(`^${server.url}/login\\?pending=[\\w-]+$`));
    await page.reload();
    assert.equal(page.url(), address);
    await visit.signIn();
    await page.click('#consent-allow');
    await visit.arrivalAt(redirectUri);
    assert.deepEqual(complaints, []);
    // No entry of the history begins a new request of the application, whose state is used up.
    await page.goBack();
    await page.goBack();
    await page.click('#consent-allow');
    await page.waitForSelector('main h1');
    assert.equal(new URL(page.url()).origin, server.url);
  });

  test('the cursor is in the first field to fill in', async () => {
    const { visitor } = set();
    const visit = await visitor();
    // A browser moves the focus when it first draws the page, which can be after the page has loaded.
    const focused = (id: string) => visit.page.waitForSelector(`#${id}:focus`, { timeout: 5_000 });
    await visit.authorize();
    assert.ok(await focused('username'));
    await visit.authorize({ login_hint: 'alice' });
    assert.ok(await focused('password'));
  });

  test('cookies are for this server alone, and no script reads them', async () => {
    const { visitor } = set();
    const visit = await visitor();
    await visit.authorizeAndSignIn();
    const cookies = await visit.person.cookies();
    assert.ok(cookies.some(({ name }) => name === 'grantd_session'));
    for (const { name, domain, path, httpOnly, sameSite } of cookies) {
      assert.deepEqual(
        { domain, path, httpOnly, sameSite },
        { domain: 'localhost', path: '/', httpOnly: true, sameSite: 'Lax' },
        name,
      );
    }
    assert.equal(await visit.page.evaluate(() => document.cookie), '');
  });
});
