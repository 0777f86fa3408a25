// Titles, trails and questions call a thing by its name, with its identifier beside it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { call } from '../src/admin/in_process.ts';
import { localCalls } from '../src/cli/local_calls.ts';
import { type Acts, actText } from '../src/console/acts.ts';
import { CLIENTS } from '../src/console/clients.ts';
import { GROUPS } from '../src/console/groups.ts';
import { SCOPES } from '../src/console/scopes.ts';
import { USERS } from '../src/console/users.ts';
import { treeOf } from '../src/texts/templates.ts';
import { DE, EN } from '../src/texts/texts.ts';
import { type Browser, unescaped } from './harness/browser.ts';
import { startConsole } from './harness/console_server.ts';
import { addConsent } from './harness/program_data.ts';

let set: Awaited<ReturnType<typeof startConsole>>;
let browser: Browser;
let sub: string;

before(async () => {
  set = await startConsole();
  await set.addUser('alice', ['admins']);
  browser = await set.browserOf('alice');
  ({ subject: sub } = await set.addUser('bob'));
  const calls = localCalls({ ...set.instance.actingAs('cli'), configuration: set.configuration });
  await set.addClient('app-1', { client_name: 'Orders' });
  await call(calls, 'addScopeTexts', { scope: 'orders:read', texts: { name: 'Read your orders' } });
  await call(calls, 'addGroup', { name: 'staff' });
  await call(calls, 'addMember', { group: 'staff', sub });
  await call(calls, 'updateClient', { client_id: 'app-1', allowed_groups: ['staff'] });
  await addConsent(set.instance, sub, 'app-1');
  await set.tokensOf('app-1', sub);
});
after(() => set.close());

const at = (path: string) => browser.get(`${set.url}/console/${path}`);
const headline = (html: string) => unescaped(/<h1>(.*?)<\/h1>/s.exec(html)?.[1] ?? '');

test('the page of a group lists its clients by name and ID', async () => {
  assert.match(
    (await at('groups?name=staff')).html,
    /href="[^"]*clients\?id=app-1"><bdi>Orders \(app-1\)<\/bdi>/,
  );
});

test('the trail calls the claims of a user as their forms do', async () => {
  const calls = localCalls({ ...set.instance.actingAs('cli'), configuration: set.configuration });
  const { subject } = await set.addUser('renamed');
  await call(calls, 'updateUser', { sub: subject, claims: { name: 'Renate' } });
  for (const [language, label] of [
    ['de', DE.labels.full_name],
    ['en', EN.labels.full_name],
  ] as const) {
    await at(`?ui_language=${language}`);
    const list = (await at('audit?type=person_changed')).html;
    const [, event = ''] = /href="[^"]*audit\?([^"]*event=[^"]*)"/.exec(list) ?? [];
    assert.ok(list.includes(`: ${label}`), label);
    if (event !== '') assert.ok((await at(`audit?${unescaped(event)}`)).html.includes(label));
  }
});

/** The acts about a thing, with what their titles and trails call it. */
const THINGS: readonly (readonly [Acts, () => Readonly<Record<string, string>>, string])[] = [
  [CLIENTS, () => ({ id: 'app-1' }), 'Orders (app-1)'],
  [SCOPES, () => ({ scope: 'orders:read' }), 'Read your orders (orders:read)'],
  [GROUPS, () => ({ name: 'staff', sub }), 'staff'],
  [USERS, () => ({ sub, group: 'staff', client: 'app-1' }), 'bob'],
];

for (const [own, given, name] of THINGS)
  test(`every form and question about one of the ${own.page} names it`, async () => {
    const acts = Object.entries(own.acts).filter(
      ([act, { form, asks }]) =>
        (form !== undefined || asks === true) &&
        actText(own.page, act, EN).title('THING', '').includes('THING'),
    );
    const shown: string[] = [];
    for (const [act, { form, also = [], of = {} }] of acts) {
      if (![...also, ...Object.values(of)].every((one) => one === 'api' || Object.hasOwn(given(), one)))
        continue;
      const { html } = await at(`${own.page}?${new URLSearchParams({ ...given(), ask: act })}`);
      if (html.includes('id="problem"')) continue;
      shown.push(act);
      assert.ok(headline(html).includes(name), `${act}: ${headline(html)}`);
      if (form === undefined) continue;
      const trail = /<nav[^>]*class="crumbs"[\s\S]*?<\/nav>/.exec(html)?.[0] ?? '';
      assert.ok(unescaped(trail).includes(name), `${act}: ${trail}`);
    }
    assert.ok(shown.length >= 2, shown.join());
  });

test('so do questions about several things, and those about what uses a client', async () => {
  const bulk = await at('clients?ask=bulk&do=disable&picked=app-1');
  assert.match(headline(bulk.html), /Orders \(app-1\)/);
  const names = [
    `users?sub=${sub}&client=app-1&ask=end_application`,
    `groups?name=staff&sub=${sub}&ask=leave`,
    `users?ask=bulk&do=leave&picked=${sub}&group=staff`,
  ];
  for (const path of names) assert.match((await at(path)).html, /Orders \(app-1\)/, path);
  const { access } = await set.tokensOf('app-1', sub);
  const form = await at('tokens');
  const explained = await browser.submit(form, { token: access, do: 'explain' });
  const asked = await browser.submit(explained, { do: 'ask' });
  assert.match(headline(asked.html), /Orders \(app-1\)/);
});

test('no text names an option of the library, which the program does not have', () => {
  for (const texts of [EN, DE]) assert.doesNotMatch(JSON.stringify(treeOf(texts)), /\bstorage\.[a-z]/);
});
