// What an operator reads on the overview while something is really down.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../core/test/harness/free_port.ts';
import { ALICE, Browser, type Page } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { IdentityProvider } from './harness/identity_provider.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { postForm } from './harness/protocol.ts';
import { press } from './harness/upstream.ts';

/** Samples are taken every ten seconds, of what workers have sent within five. */
const LONGEST_MS = 30_000;

describe('the overview of a server with two processes', () => {
  const workbench = new Workbench();
  let server: RunningServer;
  let browser: Browser;
  let staff: IdentityProvider;
  after(async () => {
    await workbench.clear();
    await staff?.close();
  });

  before(async () => {
    const folder = await workbench.home();
    const first = await workbench.start(folder, ['--demo']);
    await grantdPrints(folder, ['group', 'add', 'admins']);
    await grantdPrints(folder, ['group', 'add-member', 'admins', ALICE.username]);
    await first.stop();
    staff = await IdentityProvider.open();
    const provider = { name: 'Example staff', issuer: staff.url, client_id: 'login', create_users: true };
    const providers = { staff: { ...provider, client_secret: { env: 'SECRET' } } };
    writeFileSync(join(folder, 'providers.json'), JSON.stringify(providers));
    const flags = [
      ...['--demo', '--port', String(first.port), '--workers', '2', '--providers', 'providers.json'],
      ...['--console', '--admin-group', 'admins', '--console-sign-in-policy', 'password'],
    ];
    server = await workbench.start(folder, flags, {
      ...{ SECRET: 'secret at the provider', GRANTD_MAIL_FROM: 'login@id.example' },
      // Nothing listens there.
      GRANTD_SMTP_URL: `smtp://127.0.0.1:${await freePort()}`,
    });
    browser = new Browser(server.url);
    await browser.submit(await browser.get(`${server.url}/console`), { ...ALICE });
  });

  /** Loads a page again and again. */
  async function shows(path: string, what: RegExp): Promise<Page> {
    for (const endsAt = Date.now() + LONGEST_MS; ; await pause(500)) {
      const page = await browser.get(`${server.url}/console${path}`);
      if (what.test(page.html)) return page;
      assert.ok(Date.now() < endsAt, `waited in vain for ${what}: ${textOf(page)}`);
    }
  }

  test('says that it cannot compare yet, instead of a green badge', async () => {
    const page = await shows('', /Nothing was wrong \d+ seconds? ago/);
    assert.match(page.html, /it started to count .* ago/);
    assert.doesNotMatch(page.html, /badge good">Nothing/);
  });

  test('names the client with a wrong secret, which leads to its refusals by reason', async () => {
    const wrong = { grant_type: 'client_credentials', client_id: 'demo-machine', client_secret: 'wrong' };
    const statuses = await Promise.all(
      Array.from({ length: 200 }, () => postForm(`${server.url}/token`, wrong).then(({ status }) => status)),
    );
    assert.deepEqual(new Set(statuses), new Set([401]));
    const page = await shows('', /200 requests were refused in the last 15 minutes/);
    const [row = ''] = /<li class="trouble-client">.*?<\/li>/s.exec(page.html) ?? [];
    assert.match(row, /href="\/console\/clients\?id=demo-machine"/);
    assert.match(
      row,
      /200 ×.*The client secret is wrong\. <code class="raw">client_<wbr>secret_<wbr>wrong<\/code>/s,
    );
    const client = await browser.get(`${server.url}/console/clients?id=demo-machine`);
    assert.match(
      textOf(client),
      /Refused requests and inactive answers of the last hour How often Why Last 200 The client secret/,
    );
    // The table of all refusals names it too.
    assert.match(textOf(page), /200 The client secret is wrong\. client_secret_wrong .*demo-machine.*: 200/);
  });

  test('names the API whose introspections are all answered inactive, with the reason that the API does not get', async () => {
    const demo = { client_id: 'demo-machine', client_secret: 'demo-machine-secret' };
    const issued = await postForm(`${server.url}/token`, { ...demo, grant_type: 'client_credentials' });
    const { access_token: token } = (await issued.json()) as { access_token: string };
    const api = { client_id: 'demo-api', client_secret: 'demo-api-secret' };
    for (let times = 0; times < 12; times++) {
      const answer = await postForm(`${server.url}/token/introspect`, { ...api, token: damaged(token) });
      assert.deepEqual(await answer.json(), { active: false });
    }
    const page = await shows('', /12 introspections were answered inactive in the last 15 minutes/);
    assert.match(textOf(page), /12 answered inactive The signature is wrong.* bad_signature/);
    const client = await browser.get(`${server.url}/console/clients?id=demo-api`);
    assert.match(textOf(client), /Why Last 12 answered inactive The signature is wrong.* bad_signature/);
  });

  test('names a provider that is down until it answers again', async () => {
    const signIn = async () => {
      const visitor = new Browser(server.url);
      return press(visitor, await visitor.get(`${server.url}/account`), 'provider-staff');
    };
    staff.outage = 503;
    assert.equal((await signIn()).status, 503);
    const page = await shows('', /Identity provider <bdi>Example staff<\/bdi>: failed first/);
    assert.match(page.html, /href="\/console\/help\?about=peer"/);
    staff.outage = undefined;
    await signIn();
    for (const endsAt = Date.now() + LONGEST_MS; ; await pause(500)) {
      const { html } = await browser.get(`${server.url}/console`);
      if (!html.includes('Example staff')) break;
      assert.ok(Date.now() < endsAt, 'the provider has answered');
    }
  });

  test('names emails that failed twice, and their page has the error and the next attempt', async () => {
    const visitor = new Browser(server.url);
    await visitor.submit(await visitor.get(`${server.url}/forgot`), { username: ALICE.username });
    await shows('', /1 email failed at least twice\. The server keeps trying\./);
    const page = await shows('/mails', /Failed so far/);
    assert.match(
      textOf(page),
      /Failed so far .*[23] attempts Next attempt: .* UTC Last error: .*ECONNREFUSED/,
    );
  });
});

/** Another character within the signature. */
function damaged(token: string): string {
  return `${token.slice(0, -9)}${token.at(-9) === 'A' ? 'B' : 'A'}${token.slice(-8)}`;
}

function textOf({ html }: Page): string {
  return html
    .replaceAll('<wbr>', '')
    .replace(/<(style|script)[\s\S]*?<\/\1>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ');
}
