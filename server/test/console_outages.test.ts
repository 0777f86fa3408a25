// What an operator reads on the overview while something is really down.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ALICE, Browser, type Page } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { postForm } from './harness/protocol.ts';

/** Samples are taken every ten seconds, of what workers have sent within five. */
const LONGEST_MS = 30_000;

describe('the overview of a server with two processes', () => {
  const workbench = new Workbench();
  let server: RunningServer;
  let browser: Browser;
  after(() => workbench.clear());

  before(async () => {
    const folder = await workbench.home();
    const first = await workbench.start(folder, ['--demo']);
    await grantdPrints(folder, ['group', 'add', 'admins']);
    await grantdPrints(folder, ['group', 'add-member', 'admins', ALICE.username]);
    await first.stop();
    server = await workbench.start(folder, [
      ...['--demo', '--port', String(first.port), '--workers', '2'],
      ...['--console', '--admin-group', 'admins', '--console-sign-in-policy', 'password'],
    ]);
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
    const page = await shows('', /Nothing is wrong so far/);
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
    assert.match(row, /200 ×.*The client secret is wrong\. <code>client_secret_wrong<\/code>/s);
    const client = await browser.get(`${server.url}/console/clients?id=demo-machine`);
    assert.match(textOf(client), /Refused requests of the last hour Refused Why Last 200 The client secret/);
    // The table of all refusals names it too.
    assert.match(textOf(page), /200 The client secret is wrong\. client_secret_wrong .*demo-machine.*: 200/);
  });
});

function textOf({ html }: Page): string {
  return html
    .replace(/<(style|script)[\s\S]*?<\/\1>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ');
}
