// How the overview, the audit trail and the search of the console lead to events.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newClient } from '../../core/test/storage/samples.ts';
import type { AuditEventView } from '../src/admin/audit.ts';
import { type EventRow, withFailures } from '../src/console/event_rows.ts';
import { sqliteDatabase } from '../src/data/sqlite_database.ts';
import { within } from '../src/log/log.ts';
import { Browser, hiddenFields } from './harness/browser.ts';
import { ISSUER, startConsole } from './harness/console_server.ts';

let set: Awaited<ReturnType<typeof startConsole>>;
let browser: Browser;
before(async () => {
  set = await startConsole();
  await set.addUser('alice', ['admins']);
  browser = await set.browserOf('alice');
});
after(() => set.close());

/** The types of the events on a page. */
function typesIn(html: string): ReadonlySet<string | undefined> {
  const found = html
    .replaceAll('<wbr>', '')
    .matchAll(/<code class="raw">(\w+)<\/code><\/td><td [^>]*><a id="event-/g);
  return new Set([...found].map(([, type]) => type));
}

async function search(q: string) {
  const form = hiddenFields(await browser.get(`${set.url}/console`));
  return browser.post(`${set.url}/console/search`, { ...form, q });
}

test('the overview says how many changes it leaves out, and leads to changes only', async () => {
  for (let at = 1; at <= 12; at++) await set.addClient(`client-${at}`);
  const { subject } = await set.addUser('judy');
  await set.instance.storage.recordAct({
    type: 'sign_in_failed',
    target: subject,
    actor: 'anonymous',
    subject,
  });
  const ofOthers = ['consent_given', 'person_factor_added', 'group_member_removed'] as const;
  const ofOperators = ['person_unlocked', 'key_rotated', 'client_secret_rotated'] as const;
  const record = (type: (typeof ofOthers | typeof ofOperators)[number], actor: string) =>
    set.instance.storage.recordAct({ type, target: 'client-1', actor, subject });
  for (const type of ofOthers) for (const actor of [`user:${subject}`, 'server']) await record(type, actor);
  for (const actor of ['api:ops/judy', 'console:judy', 'cli']) await record('person_unlocked', actor);
  await record('key_rotated', 'server');
  await record('client_secret_rotated', 'api:ops');
  const page = await browser.get(`${set.url}/console`);
  const numbers = (html: string) => html.match(/id="event-\d+"/g) ?? [];
  assert.equal(numbers(page.html).length, 10);
  const [, all] = page.html.match(/10 of (\d+)\./) ?? [];
  const link = '/console/audit?changes=yes&amp;operators=yes&amp;range=yesterday';
  assert.ok(page.html.includes(`id="all-changes" href="${link}"`));
  const changes = await browser.get(`${set.url}${link.replaceAll('&amp;', '&')}`);
  assert.equal(numbers(changes.html).length, Number(all), 'the same events as the overview');
  assert.deepEqual(numbers(changes.html).slice(0, 10), numbers(page.html));
  for (const name of ['changes', 'operators'])
    assert.match(changes.html, new RegExp(`name="${name}" type="checkbox" value="yes" checked`));
  assert.match(changes.html, /<code class="raw">client_added<\/code>/);
  for (const type of ofOperators) assert.ok(typesIn(changes.html).has(type), type);
  for (const type of ['sign_in_failed', ...ofOthers]) {
    assert.ok(!typesIn(changes.html).has(type), type);
    const alone = await browser.get(`${set.url}/console/audit?range=yesterday&type=${type}`);
    assert.ok(typesIn(alone.html).has(type), type);
  }
});

test('the pages of the trail lead to earlier events, and back to later ones', async () => {
  for (let at = 0; at < 120; at++)
    await set.instance.storage.recordAct({
      type: 'person_unlocked',
      target: `paged-${at % 2}`,
      actor: 'cli',
    });
  const pageAt = async (url: string) => {
    const { html } = await browser.get(`${set.url}${url.replaceAll('&amp;', '&')}`);
    const link = (id: string) => new RegExp(`<a id="${id}" class="button" href="([^"]*)"`).exec(html)?.[1];
    const [first, previous, next] = ['first', 'previous', 'next'].map(link);
    return { numbers: html.match(/id="event-\d+"/g) ?? [], first, previous, next };
  };
  for (const [filter, count] of [
    ['type=person_unlocked&since=2026-01-01', undefined],
    ['target=paged-1', 60],
  ] as const) {
    const pages = [await pageAt(`/console/audit?${filter}`)];
    for (let next = pages[0]?.next; next !== undefined; next = pages.at(-1)?.next)
      pages.push(await pageAt(next));
    assert.ok(pages.length >= 2, filter);
    const all = pages.flatMap(({ numbers }) => numbers);
    assert.equal(new Set(all).size, count ?? all.length);
    assert.equal(pages[0]?.previous, undefined);
    for (const [at, { first, previous }] of pages.entries()) {
      if (at === 0) continue;
      assert.equal(
        (await pageAt(previous ?? '')).numbers.join(),
        pages[at - 1]?.numbers.join(),
        `${filter} ${at}`,
      );
      assert.equal((await pageAt(first ?? '')).numbers.join(), pages[0]?.numbers.join());
    }
  }
});

test('repeated failures of one user are one row', () => {
  const row = (number: number, others: Partial<AuditEventView>): EventRow => {
    const at = `2026-01-01T00:00:0${number}.000Z`;
    const event = { number, at, type: 'session_ended', target: 't', actor: 'cli', ...others } as const;
    return { event, kinds: [{ kind: event.type, count: 1 }], filter: {} };
  };
  const failed = { type: 'sign_in_failed', subject: 'judy', reason: 'password_wrong' } as const;
  const rows = [
    row(7, { request_id: 'r2' }),
    ...[6, 5, 4].map((number) => row(number, { ...failed, request_id: `r${number}` })),
    row(3, { ...failed, request_id: 'r3', reason: 'code_wrong' }),
    row(2, { ...failed, request_id: 'r2', subject: 'kim' }),
    ...[row(1, { type: 'sign_in_failed' }), row(0, { type: 'sign_in_failed' })],
  ];
  assert.deepEqual(
    withFailures(rows, {}).map(({ event: { number }, kinds: [{ count }], filter }) => [
      number,
      count,
      filter,
    ]),
    [
      [7, 1, {}],
      [6, 3, { user: 'judy', type: 'sign_in_failed' }],
      [3, 1, {}],
      [2, 1, {}],
      [1, 1, {}],
      [0, 1, {}],
    ],
  );
  for (const filters of [{ user: 'judy' }, { type: 'sign_in_failed' }])
    assert.equal(withFailures(rows, filters).length, rows.length, 'a page that shows the events of a row');
});

test('what a command does has one number, and is one row', async () => {
  const clients = Array.from({ length: 3 }, (_, at) => ({ id: `of-command-${at}` }));
  const database = sqliteDatabase(set.file);
  const { clients: stored } = (await database.open(ISSUER, 'cli')).storage;
  for (const { id } of clients) await stored.add(newClient(id));
  await database.close();
  const page = await browser.get(`${set.url}/console/audit?type=client_added`);
  assert.match(
    page.html.replaceAll(/<[^>]*>/g, ''),
    /A command on the server added 3 clients\. All events of this act/,
  );
  const request = /audit\?request=([\w-]+)"/.exec(page.html)?.[1] ?? '';
  assert.equal((await search(request)).url, `${set.url}/console/audit?request=${request}`);
});

test('an address, an event and a request lead to the audit trail', async () => {
  const number = (await browser.get(`${set.url}/console/audit`)).html.match(/id="event-(\d+)"/)?.[1] ?? '';
  for (const [q, path] of [
    ['192.0.2.7', 'audit?address=192.0.2.7'],
    ['2001:db8::1', 'audit?address=2001%3Adb8%3A%3A1'],
    ['client_disabled', 'audit?type=client_disabled'],
    [`#${number}`, `audit?event=${number}`],
  ] as const)
    assert.equal((await search(q)).url, `${set.url}/console/${path}`, q);
});

test('a request without an event leads to the log, and a search without result says what can be found', async () => {
  const unknown = await search('zzzzzzzz-7-0');
  assert.equal(unknown.url, `${set.url}/console/search`, 'it may be a secret, which is in no URL');
  assert.match(unknown.html, /Look in the log for this number as requestId/);
  const nothing = await search('no-such-thing');
  assert.match(nothing.html, /You can search for users, clients/);
  assert.doesNotMatch(nothing.html, /Look in the log/);
  const filtered = await browser.get(`${set.url}/console/audit?request=zzzzzzzz-7-0`);
  assert.match(filtered.html, /no event of the request zzzzzzzz-7-0\. .*Look in the log/);
});

test('the number of a request with an event leads to its events', async () => {
  const page = await browser.get(`${set.url}/console/clients?id=client-2&ask=disable`);
  await browser.submit(page, { do: 'disable' });
  const events = await set.instance.storage.eventsAfter(0, 1000);
  const requestId = events.findLast(({ type }) => type === 'client_disabled')?.requestId ?? '';
  const found = await search(requestId);
  assert.equal(found.url, `${set.url}/console/audit?request=${requestId}`);
  assert.match(found.html, /Client disabled <code class="raw">client_disabled<\/code>/);
});

test('a cut-off token is explained by the search as on its page, and an unknown user is called so', async () => {
  for (const q of ['eyJhbGciOiJSUzI1NiIsInR5cCI6ImF0K2p3dCJ9.eyJpc3MiOiJodHRw', 'grantd_at_0123456789abcdef'])
    assert.match((await search(q)).html, /looks cut off/, q);
  const unknown = await browser.get(`${set.url}/console/audit?user=jduy`);
  assert.match(unknown.html, /There is no user jduy, and no event names one\./);
  const { subject } = await set.addUser('kim');
  const known = await browser.get(`${set.url}/console/audit?user=${subject}&type=signed_in`);
  assert.match(known.html, /<p class="empty">Nothing found\.<\/p>/);
  assert.match(known.html, /<input id="user" name="user" value="kim"/);
});

test('the overview counts locked users, whose list says until when, and unlocks them together', async () => {
  const { subject } = await set.addUser('lee');
  const stranger = new Browser(set.url);
  let form = await stranger.get(`${set.url}/account`);
  for (let attempt = 1; attempt <= 10; attempt++)
    form = await stranger.submit(form, { username: 'lee', password: 'wrong' });
  const link = '/console/users?state=locked';
  const overview = await browser.get(`${set.url}/console`);
  assert.match(overview.html, /<li id="trouble-locked">1 user is locked after too many attempts\./);
  assert.ok(overview.html.includes(`href="${link}"`));
  const list = await browser.get(`${set.url}${link}`);
  assert.match(list.html, /refused until <time/);
  const question = await browser.get(`${set.url}/console/users?ask=bulk&do=unlock&picked=${subject}`);
  assert.match(question.html, /Will be unlocked\./);
  const done = await browser.submit(question, { do: 'bulk' });
  assert.match(done.html, /Done for 1 of 1\./);
  const after = await browser.get(`${set.url}/console`);
  assert.doesNotMatch(after.html, /trouble-locked/);
});

test('an act is one row that names first what matters most, and leads to all of its events', async () => {
  const { groups, importedPeople, storage } = set.instance;
  await groups.add({ name: 'crew', description: '' }, Date.now());
  const { subject } = await set.addUser('root');
  const cause = { actor: `console:${subject}` as const, requestId: 'import01-2a-0', address: '192.0.2.9' };
  const imports = (from: number, count: number, others: readonly string[] = [], by = cause) =>
    within(by, () =>
      importedPeople.add(
        Array.from({ length: count }, (_, at) => ({
          ...{ name: `imported-${from + at}`, subject: `sub-${from + at}`, passwordHash: '', claims: {} },
          ...{
            groups: ['crew', ...(at === 7 ? others : [])],
            importDigest: 'd',
            links: [],
            mayLookAlike: false,
          },
        })),
        'import-1',
      ),
    );
  for (let from = 0; from < 1500; from += 500) await imports(from, 500, from === 500 ? ['admins'] : []);
  await storage.recordAct({ type: 'key_rotated', target: 'kid', actor: 'server' });
  const plain = ({ html }: { readonly html: string }) =>
    html
      .replaceAll(/<wbr>|<[^>]*>/g, '')
      .replaceAll(/\s+/g, ' ')
      .replaceAll('&#39;', "'");
  for (const path of ['/console', '/console/audit', '/console/audit?address=192.0.2.9&changes=yes']) {
    const page = await browser.get(`${set.url}${path}`);
    assert.match(
      plain(page),
      /root made imported-507 an administrator \(group admins\) from 192\.0\.2\.9\. Also: imported 1,500 users and added 1,500 members to groups\. All events of this act/,
      path,
    );
    const acts = page.html.match(/href="\/console\/audit\?request=import01-2a-0"/g);
    assert.equal(acts?.length, 1, path);
  }
  const counted = await browser.get(`${set.url}/console/audit?type=people_imported`);
  assert.match(plain(counted), /root imported 1,500 users from 192\.0\.2\.9\. All events of this act/);
  const single = await browser.get(`${set.url}/console/audit?request=import01-2a-0`);
  assert.equal(single.html.match(/id="event-\d+"/g)?.length, 50, 'each event has a row');
  assert.match(single.html, /<a id="next"/);
  const german = await browser.get(`${set.url}/console/audit?ui_language=de`);
  assert.match(
    plain(german),
    /root hat von 192\.0\.2\.9 aus imported-507 zum Administrator ernannt \(Gruppe admins\)\. Außerdem: 1\.500 Benutzer importiert und 1\.500 Mitglieder in Gruppen aufgenommen\. Alle Ereignisse dieses Vorgangs/,
  );
  const second = { ...cause, requestId: 'import02-2a-0' };
  for (const from of [2000, 2500]) await imports(from, 500, ['admins'], second);
  const overview = await browser.get(`${set.url}/console?ui_language=en`);
  assert.match(
    plain(overview),
    /root made 2 administrators, imported 1,000 users and added 1,000 members to groups from 192\.0\.2\.9\. Administrators All events of this act/,
  );
  assert.ok(overview.html.includes('href="/console/users?group=admins">Administrators</a>'));
  for (let at = 0; at < 12; at++)
    await storage.recordAct({ type: 'group_changed', target: 'crew', actor: `console:${subject}` });
  const later = await browser.get(`${set.url}/console`);
  assert.match(plain(later), /root made 2 administrators, imported 1,000 users/);
  assert.ok((later.html.match(/id="event-\d+"/g)?.length ?? 0) <= 10);
});
