// Forms that were opened before something else happened: the sign-in ended, or someone else changed the same thing.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { call } from '../src/admin/in_process.ts';
import { localCalls } from '../src/cli/local_calls.ts';
import { type Browser, hiddenFields, type Page } from './harness/browser.ts';
import { PASSWORD, startConsole } from './harness/console_server.ts';

let set: Awaited<ReturnType<typeof startConsole>>;
let alice: Browser;
before(async () => {
  set = await startConsole();
  for (const name of ['alice', 'zoe']) await set.addUser(name, ['admins']);
});
after(() => set.close());

const at = (path: string, browser = alice) => browser.get(`${set.url}/console/${path}`);
const signIn = (page: Page, username = 'alice') => alice.submit(page, { username, password: PASSWORD });
const commands = () => localCalls({ ...set.instance.actingAs('cli'), configuration: set.configuration });
const valueIn = ({ html }: Page, name: string) =>
  new RegExp(`name="${name}"[^>]*value="([^"]*)"`).exec(html)?.[1];

describe('a form whose sign-in has ended', () => {
  before(async () => {
    alice = await set.browserOf('alice');
  });
  const typed = { do: 'add', username: 'trent', 'claims.name': 'Trent', password: 'correct horse' };

  test('comes back after the sign-in with what was typed, without passwords', async () => {
    const form = await at('users?ask=add');
    alice.cookies.clear();
    const back = await signIn(await alice.submit(form, typed));
    assert.equal(back.url, `${set.url}/console/users?ask=add&unsaved=yes`);
    assert.match(back.html, /Your sign-in had ended\. What you sent was not saved\.[\s\S]*what you typed/);
    assert.deepEqual([valueIn(back, 'username'), valueIn(back, 'claims.name')], ['trent', 'Trent']);
    assert.doesNotMatch(back.html, /correct horse/);
    const added = await alice.submit(back, typed);
    assert.match(added.html, /The user is added\./);
  });

  test('is kept for its administrator only, and only if this server made it', async () => {
    const form = await at('users?ask=add');
    alice.cookies.clear();
    const login = await alice.submit(form, { ...typed, username: 'mallory' });
    const other = await signIn(login, 'zoe');
    assert.match(other.html, /What you sent was not saved/);
    assert.deepEqual([other.url.includes('ask=add'), valueIn(other, 'username')], [true, '']);
    alice.cookies.clear();
    const { opened = '' } = hiddenFields(form);
    const forged = { ...typed, username: 'peter', opened: `${opened.slice(0, -9)}AAAAAAAAA` };
    const foreign = await signIn(await alice.post(`${set.url}/console/users`, forged));
    assert.equal(foreign.url, `${set.url}/console/users?unsaved=yes`);
    const shown = await at('users?ask=add&unsaved=yes');
    assert.equal(valueIn(shown, 'username'), 'mallory', 'the last form that this server made');
    assert.equal(valueIn(await at('users?ask=add'), 'username'), '');
  });

  test('comes back if the administrator has signed in in another window', async () => {
    const form = await at('users?ask=add');
    alice = await set.browserOf('alice');
    const back = await alice.submit(form, { ...typed, username: 'walter' });
    assert.equal(back.status, 200);
    assert.equal(valueIn(back, 'username'), 'walter');
    const foreign = await (await set.browserOf('zoe')).submit(form, { ...typed, username: 'walter' });
    assert.equal(foreign.status, 403);
  });

  test('a question and a button lead back to their page', async () => {
    await set.addClient('asked');
    const question = await at('clients?id=asked&ask=disable');
    const page = await at('clients?id=asked');
    alice.cookies.clear();
    const asked = await signIn(await alice.submit(question, { do: 'disable' }));
    assert.match(asked.html, /was not saved[\s\S]*id="console-yes"/);
    alice.cookies.clear();
    const back = await signIn(await alice.submit(page, { do: 'enable' }));
    assert.equal(back.url, `${set.url}/console/clients?unsaved=yes`);
    assert.match(back.html, /What you sent was not saved/);
  });
});

describe('two administrators change the same client', () => {
  let form: Page;
  const redirects = (...uris: readonly string[]) => uris.map((uri) => `https://${uri}.example/cb`);
  before(async () => {
    alice = await set.browserOf('alice');
  });
  const fields = () => ({
    ...{ do: 'edit', client_name: 'Shop', redirect_uris: redirects('a').join('\n') },
    ...{ scope: 'openid offline_access', grant_types: ['authorization_code', 'refresh_token'] },
  });
  const open = async (id: string) => {
    await set.addClient(id, { client_name: 'Shop', redirect_uris: redirects('a') as never });
    form = await at(`clients?id=${id}&ask=edit`);
    const zoe = await set.browserOf('zoe');
    const theirs = { ...fields(), redirect_uris: redirects('a', 'b').join('\n') };
    const changed = await zoe.submit(await at(`clients?id=${id}&ask=edit`, zoe), theirs);
    assert.match(changed.html, /The client is changed\./);
  };
  const stored = (id: string) => call(commands(), 'getClient', { client_id: id });

  test('what only the other has changed is kept, before any question', async () => {
    await open('merged');
    const { subject } = await set.addUser('of merged');
    await set.tokensOf('merged', subject);
    const outdated = await alice.submit(form, { ...fields(), client_name: 'Store', scope: 'openid' });
    assert.equal(outdated.status, 409);
    assert.doesNotMatch(outdated.html, /console-yes/, 'no question yet');
    assert.match(outdated.html, />zoe<[\s\S]*merged/, 'who has changed it');
    assert.match(
      outdated.html,
      /<textarea id="field-redirect_uris"[^>]*>\nhttps:\/\/a\.example\/cb\nhttps:\/\/b\.example\/cb</,
    );
    assert.match(outdated.html, /id="field-redirect_uris-stored"[^>]*>Someone else has changed this/);
    assert.doesNotMatch(outdated.html, /id="field-(client_name|scope)-stored"/);
    assert.equal(valueIn(outdated, 'client_name'), 'Store');
    const merged = { ...fields(), client_name: 'Store', redirect_uris: redirects('a', 'b').join('\n') };
    await alice.submit(outdated, merged);
    const { client_name: name, redirect_uris: uris } = await stored('merged');
    assert.deepEqual([name, uris], ['Store', redirects('a', 'b')]);
  });

  test('what is wrong is named beside what someone else has changed', async () => {
    await open('wrong');
    const wrong = {
      ...fields(),
      client_name: 'Store',
      ...{ redirect_uris: [...redirects('a'), 'no URI', '/'].join('\n'), jwks: 'no JSON' },
    };
    const { html, status } = await alice.submit(form, wrong);
    assert.equal(status, 409);
    assert.match(html, /id="field-redirect_uris-stored"/);
    assert.match(html, /id="field-redirect_uris-problem"[\s\S]*?Line 2[\s\S]*?Line 3/);
    assert.match(html, /id="field-jwks-problem"/);
    assert.match(html, /id="wrong"[\s\S]*?href="#field-redirect_uris"/);
    assert.equal(html.match(/ autofocus/g)?.length, 1);
  });

  test('what both have changed shows what is stored, and is saved over it', async () => {
    await open('both');
    const own = { ...fields(), redirect_uris: redirects('a', 'c').join('\n') };
    const outdated = await alice.submit(form, own);
    assert.match(
      outdated.html,
      /id="field-redirect_uris-stored"[^>]*>Stored now: <code>https:\/\/a[^<]*b\.example/,
    );
    assert.match(outdated.html, /id="save-edit"[^>]*>Save over it</);
    const again = await alice.submit(outdated, own);
    const done = /console-yes/.test(again.html) ? await alice.submit(again, { do: 'edit' }) : again;
    assert.match(done.html, /The client is changed\./);
    assert.deepEqual((await stored('both')).redirect_uris, redirects('a', 'c'));
  });

  test('a form without changes of its own takes nothing back', async () => {
    await open('untouched');
    assert.match((await alice.submit(form, fields())).html, /Nothing has changed\./);
    assert.deepEqual((await stored('untouched')).redirect_uris, redirects('a', 'b'));
  });

  test('Back from a question keeps what the form was opened with', async () => {
    await open('back');
    const shown = await alice.submit(form, { ...fields(), client_name: 'Store', back: 'yes' });
    assert.equal(shown.status, 409);
    assert.match(shown.html, /id="field-redirect_uris-stored"/);
  });
});
