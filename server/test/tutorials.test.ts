// Does what the tutorials say, with their commands and files unchanged except for addresses. The single-page application
// is in browser/oidc_client_ts.test.ts.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { dirname } from 'node:path';
import { after, before, describe, test } from 'node:test';
import * as client from 'openid-client';
import { freePort } from '../../core/test/harness/free_port.ts';
import { Browser, signInAndConsent } from './harness/browser.ts';
import { Workbench } from './harness/program.ts';
import { codeFlow, discovered } from './harness/relying_party.ts';
import { Tutorials } from './harness/tutorials.ts';

const ROOT = dirname(dirname(import.meta.dirname));
const SERVER = 'http://localhost:4000';
const APPLICATION = 'http://127.0.0.1:3000';
const API = 'http://127.0.0.1:3001';
const EMBEDDING = 'http://localhost:3003';
const CAROL = { username: 'carol', password: 'correct horse battery' };
const SIGNED_IN_BY_CAROL = ['web_application', 'passport', 'authjs', 'native_application'];

const hasCurl = spawnSync('curl', ['--version']).status === 0;

test('each tutorial has its result first, then what you need, what to check and where to go next', () => {
  const pages = globSync('docs/tutorials/*.md', { cwd: ROOT });
  assert.ok(pages.length >= 8);
  const reader = new Tutorials(workbench.folder(), new Map());
  for (const page of pages) {
    const text = reader.read(page.replace(/^.*\/|\.md$/g, ''));
    assert.match(text, /^# .+\n\nAt the end of this tutorial, .+ It takes \w+ minutes\./, page);
    assert.match(text, /\n\nYou need .+\n/, page);
    assert.match(text, /\n(?:## Try it|## Check|The program prints)/, page);
    assert.match(text, /\nNext: .+\n$/, page);
  }
});

const workbench = new Workbench();
after(() => workbench.clear());

describe('tutorials', { skip: hasCurl ? false : 'there is no curl on this machine' }, () => {
  let tutorials: Tutorials;
  let server = '';

  before(async () => {
    const port = await freePort();
    server = `http://localhost:${port}`;
    const addresses = new Map([[SERVER, server]]);
    for (const own of [APPLICATION, API, EMBEDDING])
      addresses.set(own, own.replace(/\d+$/, String(await freePort())));
    const folder = workbench.folder();
    tutorials = new Tutorials(folder, addresses);
    const environment = { GRANTD_PORT: String(port) };
    for (const page of [...SIGNED_IN_BY_CAROL, 'protected_api'])
      await tutorials.add(page, folder, { environment });
    assert.deepEqual(
      [...tutorials.secrets.keys()],
      ['shop', 'carol', 'dashboard', 'notes-app', 'notes-api', 'nightly-job'],
    );
    await workbench.start(folder, ['--port', String(port)], environment);
  });
  after(() => tutorials.stop());

  for (const { page, file, signInPath, leave } of [
    { page: 'web_application', file: 'web.mjs', signInPath: '/sign-in' },
    { page: 'passport', file: 'passport.mjs', signInPath: '/sign-in' },
    { page: 'authjs', file: 'authjs.mjs', signInPath: '/auth/signin', leave: pressAuthJs },
  ])
    test(`${page}.md: the user that it adds is greeted by name`, async () => {
      const CLIENT_SECRET = tutorials.secretOf(page === 'authjs' ? 'dashboard' : 'shop');
      const own = 'a secret of the application';
      const home = await tutorials.serve(page, file, APPLICATION, {
        ...{ CLIENT_SECRET, SESSION_SECRET: own, AUTH_SECRET: own },
      });
      const browser = new Browser(home);
      assert.equal((await browser.get(home)).html, `Go to ${signInPath}`);
      const left = await (leave?.(browser, home) ?? browser.get(`${home}${signInPath}`));
      const callback = await signInAndConsent(new Browser(server), left.url, CAROL);
      const before = new Map(browser.cookies);
      assert.equal((await browser.get(callback.href)).html, 'Hello Carol');
      assert.equal((await browser.get(home)).html, 'Hello Carol');

      const stranger = new Browser(home);
      for (const [name, value] of before) stranger.cookies.set(name, value);
      const repeated = await stranger.get(callback.href);
      assert.doesNotMatch(repeated.html, /Carol/);
    });

  test('native_application.md: the desktop program greets the user, and gets new tokens', async () => {
    const child = tutorials.run('native_application', 'desktop.mjs', {}, 'pipe');
    let printed = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
    while (!printed.includes('\n')) await once(child.stdout ?? assert.fail(), 'data');
    const [, url = ''] = /^Open (\S+)\n/.exec(printed) ?? assert.fail(printed);
    const ended = once(child, 'close');
    const callback = await signInAndConsent(new Browser(server), url, CAROL);
    assert.equal(await (await fetch(callback)).text(), 'You can close this window.');
    await ended;
    assert.deepEqual(printed.trim().split('\n').slice(1), ['Hello Carol', 'Renewed']);
  });

  test('native_application.md: the request of an app on a phone brings a code to its scheme', async () => {
    const [, printed = ''] = /^GET (\S+) HTTP/m.exec(tutorials.read('native_application')) ?? [];
    const asked = Object.fromEntries(new URL(printed, server).searchParams);
    const { redirect_uri: redirectUri = '', scope = '', client_id: id = '' } = asked;
    assert.equal(redirectUri, 'com.example.notes:/callback');
    const configuration = await discovered({ url: server }, id, client.None());
    const tokens = await codeFlow({ url: server }, configuration, {
      redirectUri,
      parameters: { scope },
      person: (url) => {
        assert.deepEqual([...url.searchParams.keys()].sort(), Object.keys(asked).sort());
        return signInAndConsent(new Browser(server), url.href, CAROL);
      },
    });
    const { sub = '' } = tokens.claims() ?? {};
    assert.equal((await client.fetchUserInfo(configuration, tokens.access_token, sub)).name, 'Carol');
    const renewed = await client.refreshTokenGrant(configuration, tokens.refresh_token ?? '');
    assert.notEqual(renewed.refresh_token, tokens.refresh_token);
  });

  test('protected_api.md: each command prints what it says', async () => {
    await tutorials.serve('protected_api', 'api.mjs', API, { API_SECRET: tutorials.secretOf('notes-api') });
    const [getToken = '', ...others] = consoleSteps('protected_api', 6);
    const JOB_SECRET = tutorials.secretOf('nightly-job');
    const prints = (command: string, TOKEN = '') => shellPrints(command, { JOB_SECRET, TOKEN });
    const token = prints(`${getToken}\nprintf %s "$TOKEN"`);
    for (const step of others) {
      const [command = '', ...answer] = step.trimEnd().split('\n');
      assert.equal(prints(command, token), answer.join('\n'), command);
    }
  });

  test('machine.md: the program calls the API', () => {
    const file = tutorials.save('machine', 'job.mjs');
    const env = { PATH: process.env.PATH, JOB_SECRET: tutorials.secretOf('nightly-job') };
    const printed = execFileSync(process.execPath, [file], { encoding: 'utf8', env });
    assert.ok(tutorials.read('machine').includes(`The program prints \`${printed.trim()}\`.`), printed);
  });

  test('embedded_express.md: a user of the application signs in to another one, until the password changes', async () => {
    tutorials.save('embedded_express', 'users.mjs');
    const url = await tutorials.serve('embedded_express', 'app.mjs', EMBEDDING);
    const issuer = `${url}/auth`;
    await tutorials.add('embedded_express', tutorials.folder);
    assert.equal(await (await fetch(url)).text(), 'the application');

    const browser = new Browser(issuer);
    const account = await browser.submit(await browser.get(`${issuer}/account`), { ...CAROL });
    assert.match(account.html, /Carol/);
    const secret = tutorials.secretOf('shop');
    const configuration = await discovered({ url: issuer }, 'shop', client.ClientSecretBasic(secret));
    const home = tutorials.addressOf(APPLICATION);
    const tokens = await codeFlow({ url: issuer }, configuration, {
      redirectUri: `${home}/callback`,
      parameters: { scope: 'openid profile' },
      person: async (to) => {
        const consent = await browser.get(to.href);
        return new URL((await browser.submit(consent, { decision: 'allow' })).url);
      },
    });
    const userInfo = () => client.fetchUserInfo(configuration, tokens.access_token, '7');
    assert.equal((await userInfo()).name, 'Carol');

    const [step = ''] = consoleSteps('embedded_express', 1);
    const [command = '', answer] = step.trimEnd().split('\n');
    assert.equal(shellPrints(command), answer?.trim());
    await assert.rejects(userInfo());
    assert.match((await browser.get(`${issuer}/account`)).html, /id="login-submit"/);
    const password = 'staple battery horse';
    const again = await browser.submit(await browser.get(`${issuer}/account`), { ...CAROL, password });
    assert.match(again.html, /Carol/);
  });

  /** The commands of a page with what they print. */
  function consoleSteps(page: string, count: number): readonly string[] {
    const [, text = ''] = /^ *```console\n(.*?)^ *```$/ms.exec(tutorials.read(page)) ?? [];
    const steps = text.split(/^ *\$ /m).slice(1);
    assert.equal(steps.length, count);
    return steps;
  }

  /** Presses “Sign in with grantd” on the page of Auth.js. */
  async function pressAuthJs(browser: Browser, home: string) {
    const page = await browser.get(`${home}/auth/signin`);
    const [, csrfToken = ''] = /name="csrfToken" value="(\w+)"/.exec(page.html) ?? assert.fail(page.html);
    assert.match(page.html, /Sign in with grantd/);
    return browser.post(`${home}/auth/signin/grantd`, { csrfToken });
  }
});

function shellPrints(command: string, variables: Readonly<Record<string, string>> = {}): string {
  const env = { PATH: process.env.PATH, ...variables };
  return execFileSync('/bin/sh', ['-c', command], { encoding: 'utf8', env });
}
