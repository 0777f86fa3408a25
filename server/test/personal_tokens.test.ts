// Personal access tokens that users make on the pages of their account (docs/personal_tokens.md, ADR 194).
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Browser, type Page, unescaped } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { DATABASES } from './harness/databases.ts';
import { newPerson } from './harness/new_person.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { basic, introspect, postForm, userInfo } from './harness/protocol.ts';
import { withDatabaseOf } from './harness/stored.ts';

const API = 'http://localhost:4003';
const OPTIONS = ['--demo', '--personal-tokens', '--personal-token-apis', API];
const DAY = 24 * 60 * 60;

/** A signed-in user on the page of tokens. */
async function opened(server: RunningServer, name: string) {
  const { who, browser } = await newPerson(server, name);
  const page = await browser.submit(await browser.get(`${server.url}/account/tokens`), who);
  assert.equal(page.status, 200, page.html);
  return { who, browser, page };
}

type Wanted = Partial<Readonly<Record<'name' | 'scope' | 'lifetime' | 'api', string>>>;

function make(browser: Browser, page: Page, wanted: Wanted = {}): Promise<Page> {
  return browser.submit(page, { name: 'CI', scope: 'api:read', lifetime: String(30 * DAY), ...wanted });
}

/** The values that a page shows. */
function valuesIn({ html }: Page): readonly string[] {
  return [...html.matchAll(/<code id="token-[^"]*">([^<]*)<\/code>/g)].map(([, value = '']) => value);
}

function valueIn(page: Page): string {
  const [value, ...others] = valuesIn(page);
  assert.deepEqual(others, []);
  return value ?? assert.fail(page.html);
}

/** The identifiers of the tokens in the list. */
function idsIn({ html }: Page): readonly string[] {
  return [...html.matchAll(/id="end-token-([^"]*)"/g)].map(([, id = '']) => id);
}

async function end(browser: Browser, page: Page): Promise<Page> {
  const [, href = ''] = /id="end-token-[^"]*" class="button" href="([^"]*)"/.exec(page.html) ?? [];
  const question = await browser.get(new URL(unescaped(href), page.url).href);
  const [, id = ''] = /id="end-token-yes"[^>]* name="end_token" value="([^"]*)"/.exec(question.html) ?? [];
  return browser.submit(question, { end_token: id });
}

for (const database of DATABASES) {
  describe(`personal access tokens on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());
    let server: RunningServer;
    before(async () => {
      server = await workbench.start(await workbench.home(), OPTIONS);
    });
    const isActive = async (token: string) => (await introspect(server.url, token)).active;

    test('a user makes one, sees its value until it is copied, uses it and ends it', async () => {
      const { browser, page } = await opened(server, 'ada');
      assert.match(page.html, /You have no tokens/);
      const beforeMs = Date.now();
      const made = await make(browser, page);
      const token = valueIn(made);
      assert.match(token, /^grantd_pat_[\w-]{43}$/);
      assert.equal(made.url, `${server.url}/account/tokens`);
      assert.equal(valueIn(await browser.get(made.url)), token, 'also after a reload');

      const { sub, exp, iat, jti, ...answer } = await introspect(server.url, token);
      assert.deepEqual(answer, {
        ...{ active: true, scope: 'api:read', client_id: 'personal-tokens', username: 'ada' },
        ...{ token_type: 'Bearer', aud: API, iss: server.url },
      });
      assert.equal(Number(exp) - Number(iat), 30 * DAY);
      assert.ok(Math.abs(Number(iat) - beforeMs / 1000) < 30 && typeof jti === 'string');
      assert.equal(
        sub,
        await withDatabaseOf(server, async ({ people }) => (await people.byName('ada'))?.subject),
      );

      const saved = await browser.submit(made, { saved: idsIn(made)[0] ?? '' });
      assert.match(saved.html, /id="notice"[\s\S]*not shown again/);
      assert.deepEqual(valuesIn(saved), []);
      assert.equal(await isActive(token), true);

      const ended = await end(browser, saved);
      assert.match(ended.html, /The token has ended/);
      assert.match(ended.html, /You have no tokens/);
      assert.equal(await isActive(token), false);
    });

    test('it is no token for anything but its API', async () => {
      const { browser, page } = await opened(server, 'bob');
      const token = valueIn(await make(browser, page));
      assert.equal((await userInfo(server.url, token)).status, 403, 'UserInfo needs openid');
      const refresh = { grant_type: 'refresh_token', refresh_token: token, client_id: 'personal-tokens' };
      assert.equal((await postForm(`${server.url}/token`, refresh)).status, 400);
      const authorize = new URLSearchParams({ client_id: 'personal-tokens', response_type: 'code' });
      assert.equal((await browser.get(`${server.url}/authorize?${authorize}`)).status, 400);
    });

    test('who has it can revoke it, and other clients cannot', async () => {
      const { browser, page } = await opened(server, 'cy');
      const token = valueIn(await make(browser, page));
      const revoke = (fields: Readonly<Record<string, string>>, authorization?: string) =>
        postForm(`${server.url}/token/revoke`, { token, ...fields }, authorization);
      assert.equal((await revoke({}, basic('demo-web', 'demo-web-secret'))).status, 200);
      assert.equal(await isActive(token), true);
      assert.equal((await revoke({ client_id: 'personal-tokens' })).status, 200);
      assert.equal(await isActive(token), false);
      assert.match((await browser.get(page.url)).html, /You have no tokens/);
    });

    test('posted fields go beyond nothing that the page offers', async () => {
      const { browser, page } = await opened(server, 'dan');
      const cases: readonly (readonly [Wanted, RegExp])[] = [
        [{ scope: 'openid' }, /may not have one of these/],
        [{ scope: 'offline_access' }, /may not have one of these/],
        [{ scope: 'grantd:users:read' }, /may not have one of these/],
        [{ scope: 'api:none' }, /may not have one of these/],
        [{ api: server.url }, /not allowed/],
        [{ api: `${server.url}/admin`, scope: 'grantd:users:read' }, /not allowed/],
        [{ lifetime: String(366 * DAY + 1) }, /Choose how long/],
        [{ lifetime: '-1' }, /Choose how long/],
        [{ lifetime: '1e9' }, /Choose how long/],
        [{ name: ' \u202e\u0007 ' }, /Enter a name/],
      ];
      for (const [wanted, problem] of cases) {
        const refused = await make(browser, page, wanted);
        assert.equal(refused.status, 400, JSON.stringify(wanted));
        const [, said] = /id="problem"[^>]*>.*?<span>([^<]*)</.exec(refused.html) ?? [];
        assert.match(String(said), problem);
      }
      const nothing = await browser.submit(page, { name: 'CI', lifetime: String(DAY) });
      assert.match(nothing.html, /Choose at least one permission/);
      const forged = await browser.post(page.url, {
        name: 'CI',
        scope: 'api:read',
        lifetime: String(DAY),
        api: API,
      });
      assert.notEqual(forged.status, 200, 'without the token of the form');
      assert.deepEqual(idsIn(await browser.get(page.url)), []);
    });

    test('a name is shown as text, without what nobody can see', async () => {
      const { browser, page } = await opened(server, 'eve');
      const made = await make(browser, page, { name: '<b>x</b>\u202e\u0000 "y"' });
      assert.match(made.html, /&lt;b&gt;x&lt;\/b&gt; &quot;y&quot;/);
      assert.ok(!made.html.includes('<b>x') && !made.html.includes('\u202e'));
    });

    test('a second press makes no second token', async () => {
      const { browser, page } = await opened(server, 'fay');
      const [one, other] = await Promise.all([make(browser, page), make(browser, page)]);
      assert.equal(valueIn(one), valueIn(other));
    });

    test('it ends with the access of its user, and a new password of the user lets it be', async () => {
      const { who, browser, page } = await opened(server, 'gus');
      const token = valueIn(await make(browser, page));
      const security = await browser.get(`${server.url}/account/security`);
      const changed = await browser.submit(security, {
        ...{ current_password: who.password, new_password: 'another horse entirely' },
      });
      assert.match(changed.html, /Your password has changed/);
      assert.equal(await isActive(token), true);
      await grantdPrints(server.folder, ['user', 'end-sessions', 'gus']);
      assert.equal(await isActive(token), true);
      await grantdPrints(server.folder, ['user', 'end-access', 'gus']);
      assert.equal(await isActive(token), false);
    });

    for (const [what, args] of [
      ['disabled', ['user', 'disable']],
      ['removed', ['user', 'remove', '--yes']],
    ] as const)
      test(`it ends when its user is ${what}`, async () => {
        const name = `user-${what}`;
        const { browser, page } = await opened(server, name);
        const token = valueIn(await make(browser, page));
        await grantdPrints(server.folder, [...args, name]);
        assert.equal(await isActive(token), false);
      });

    test('its last use is known to the hour', async () => {
      const { browser, page } = await opened(server, 'hal');
      const made = await make(browser, page);
      assert.match(made.html, /not used yet/);
      await introspect(server.url, valueIn(made));
      await server.stop();
      server = await workbench.start(server.folder, [...OPTIONS, '--port', new URL(server.url).port]);
      const used = await browser.get(page.url);
      assert.match(used.html, /used this hour/);
      assert.deepEqual(valuesIn(used), [], 'who uses a token has copied it');
    });

    test('each change is in the audit trail, with the user', async () => {
      const { browser, page } = await opened(server, 'ida');
      await end(browser, await make(browser, page));
      const subject = await withDatabaseOf(
        server,
        async ({ people }) => (await people.byName('ida'))?.subject,
      );
      const printed = await grantdPrints(server.folder, ['audit', 'list', '--json', '--subject', 'ida']);
      const found = [...printed.matchAll(/"type": ?"(\w+)"[^}]*?"actor": ?"([^"]*)"/gs)].map(
        ([, type, actor]) => `${type} ${actor}`,
      );
      for (const type of ['personal_token_made', 'token_issued', 'grant_revoked'])
        assert.ok(found.includes(`${type} user:${subject}`), `${type} in ${found}`);
    });
  });
}
