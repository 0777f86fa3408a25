// Files in the console: imports of users, and configurations to apply.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { call } from '../src/admin/in_process.ts';
import { localCalls } from '../src/cli/local_calls.ts';
import { SECTIONS } from '../src/console/import.ts';
import { MAX_FILE } from '../src/console/uploads.ts';
import { IMPORT_FORMATS } from '../src/people/exports/formats.ts';
import { type Browser, hiddenFields, type Page, unescaped } from './harness/browser.ts';
import { startConsole } from './harness/console_server.ts';

const HASH = '$2b$10$abcdefghijklmnopqrstuuAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';

describe('files in the console', () => {
  let own: Awaited<ReturnType<typeof startConsole>>;
  let ada: Browser;
  const at = (path: string) => new URL(path, own.url).href;

  before(async () => {
    own = await startConsole();
    await own.addUser('ada', ['admins']);
    ada = await own.browserOf('ada');
  });
  after(() => own.close());

  /** Sends a form with a file, as a browser does. The file comes last. */
  async function upload(
    browser: Browser,
    path: string,
    file: string | Uint8Array<ArrayBuffer>,
    fields: Readonly<Record<string, string>> = {},
  ): Promise<Page> {
    const form = new FormData();
    const hidden = fields.form_token === undefined ? hiddenFields(await browser.get(at(path))) : {};
    for (const [name, value] of Object.entries({ ...hidden, ...fields })) form.set(name, value);
    form.set('file', new File([file], 'file.txt'));
    const response = await browser.send(at(path), { method: 'POST', body: form });
    const html = await response.text();
    return { url: at(path), status: response.status, headers: response.headers, html, isAnswer: true };
  }

  const lines = (...users: readonly object[]) => users.map((user) => JSON.stringify(user)).join('\n');
  const check = (file: string, fields = {}) =>
    upload(ada, '/console/import', file, { do: 'check', format: 'grantd', ...fields });
  const counts = ({ html }: Page) =>
    Object.fromEntries(
      [...html.matchAll(/<dt>([^<]*)<\/dt><dd>(.*?)<\/dd>/g)].map(([, name, value]) => [name, value]),
    );

  test('an import is planned, done once, and reported; nothing is stored before', async () => {
    const file = lines(
      { username: 'bob', claims: { email: 'bob@example.com', birthdate: 7 }, password_hash: HASH },
      { username: 'carol', groups: ['nowhere'] },
      { username: 'dave', password: 'plain' },
    );
    const plan = await check(file);
    assert.equal(plan.status, 200, plan.html);
    assert.deepEqual(counts(plan), {
      Added: '1',
      Changed: '0',
      Unchanged: '0',
      'Skipped, because they are no users': '0',
      'Refused, because the user exists with other data': '0',
      'Refused for another reason': '2',
    });
    assert.match(plan.html, /Line 2 <bdi>carol<\/bdi>/);
    assert.equal(plan.html.includes(HASH), false, 'no page contains a hash');
    assert.equal(await own.instance.people.byName('bob'), undefined);
    const twice = await Promise.all([1, 2].map(() => ada.submit(plan, { do: 'run' })));
    for (const done of twice) {
      assert.match(done.html, /The import is done/, done.html);
      assert.equal(counts(done).Added, '1');
    }
    assert.ok(await own.instance.people.byName('bob'));
    const report = await ada.get(at('/console/import.jsonl'));
    const reported = report.html
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      reported.map(({ line, outcome }) => [line, outcome]),
      [
        [1, 'imported'],
        [2, 'failed'],
        [3, 'failed'],
      ],
    );
    assert.equal(report.html.includes(HASH), false);
    const form = await ada.get(at('/console/import'));
    assert.match(
      form.html,
      /<time [^>]*>[^<]*<\/time>\. <a id="import-report" href="[^"]*\/console\/import\.jsonl"/,
    );
    assert.equal(own.log().includes(HASH), false);
    // The file is gone, and so is the plan.
    const later = await ada.submit(await ada.get(at('/console/import')), { do: 'run', plan: 'any' });
    assert.match(later.html, /The file is not kept any more/);
  });

  test('a plan shows the first users, and everything that is wrong with each line, in the language of the page', async () => {
    const good = Array.from({ length: 12 }, (_, at) => ({
      ...{ username: `first${at}`, claims: { email: `first${at}@example.com` }, groups: ['admins'] },
    }));
    const bad = Array.from({ length: 103 }, () => ({ username: 7, groups: 1, password_hash: 'x' }));
    const stored = { username: 'gil', groups: ['lost', 'gone'] };
    const plan = await check(lines(...good, stored, ...bad), { allow_administrators: 'yes' });
    const rows = [...plan.html.matchAll(/<tr><th scope="row">(.*?)<\/tr>/g)].map(([row]) =>
      row
        .replaceAll(/<[^>]*>/g, ' ')
        .trim()
        .split(/ +/),
    );
    assert.deepEqual([rows.length, rows[0]], [10, ['first0', 'first0@example.com', 'admins']]);
    assert.match(plan.html, /And 2 more\./);
    assert.match(plan.html, /<code>grantd help import<\/code>, section <cite lang="en">Lines</);
    const faults = (html: string, line: number) => {
      const [, found = ''] = new RegExp(`Line ${line}(?: <bdi>.*?</bdi>)?</p>(.*?)</li>`).exec(html) ?? [];
      return [...unescaped(found).matchAll(/<bdi>(.*?)<\/bdi>/g)].map(([, text]) => text);
    };
    assert.deepEqual(faults(plan.html, 13), [
      'groups: there is no group gone: add it with grantd group add, or use --create-groups.',
      'groups: there is no group lost: add it with grantd group add, or use --create-groups.',
    ]);
    assert.deepEqual(
      faults(plan.html, 14).map((text) => text?.split(':')[0]),
      ['username', 'groups', 'password_hash'],
    );
    assert.equal([...plan.html.matchAll(/<p>Line \d/g)].length, 100);
    assert.match(plan.html, /And 4 more\./);
    // What lines have in common comes before them.
    const [before = ''] = plan.html.split('<details><summary>Line by line</summary>');
    assert.match(before, /<li>103 × <bdi>groups: /);
    assert.match(before, /<li>1 × <bdi>groups: there is no group gone/);
    assert.doesNotMatch(before, /<p>Line \d/);
    const alone = await check(lines(stored));
    assert.match(alone.html, /<p>Line 1 /);
    assert.doesNotMatch(alone.html, /Line by line| × /);

    await ada.get(at('/console/import?ui_language=de'));
    const leaving = { username: 'lea', claims: { birthdate: 'today', acr: '1' } };
    const german = await check(lines(...good.slice(0, 1), leaving, stored, ...bad.slice(0, 1)), {
      allow_administrators: 'yes',
    });
    const broken = await check('[{"username": "x"', { format: 'csv' });
    await ada.get(at('/console/import?ui_language=en'));
    for (const { html } of [german, broken])
      assert.doesNotMatch(html, /there is no|expected|left out|not imported|the file/i);
    assert.match(german.html, /1 Benutzer: <bdi>claims: birthdate: weggelassen/);
    assert.match(german.html, /password_hash: Diesen Hash kann der Server nicht prüfen/);
    assert.match(broken.html, /Die Datei endet mitten im JSON-Dokument/);
  });

  test('each format has a section in the documentation', () => {
    const page = readFileSync(new URL('../../docs/import.md', import.meta.url), 'utf8');
    for (const format of IMPORT_FORMATS)
      assert.ok(page.includes(`\n## ${SECTIONS[format] ?? 'Exports'}\n`), format);
  });

  test('an import whose plan is not true any more does nothing, and shows the new plan', async () => {
    const plan = await check(lines({ username: 'erin' }, { username: 'frank' }));
    await own.addUser('erin');
    const refused = await ada.submit(plan, { do: 'run' });
    assert.match(refused.html, /Something has changed since the plan/);
    assert.equal(await own.instance.people.byName('frank'), undefined);
    const done = await ada.submit(refused, { do: 'run' });
    assert.match(done.html, /The import is done/);
    assert.ok(await own.instance.people.byName('frank'));
  });

  test('an import whose username belongs to another user by now is planned again', async () => {
    const { subject } = await own.addUser('heidi');
    const plan = await check(lines({ username: 'heidi', claims: { name: 'Heidi' } }), { update: 'yes' });
    const calls = localCalls({ ...own.instance.actingAs('cli'), configuration: own.configuration });
    await call(calls, 'removeUser', { sub: subject });
    const other = await own.addUser('heidi');
    assert.match((await ada.submit(plan, { do: 'run' })).html, /Something has changed since the plan/);
    assert.deepEqual((await own.instance.people.bySubject(other.subject))?.claims, {});
  });

  test('a plan with thousands of users says that the import takes long', async () => {
    const users = (count: number) =>
      lines(...Array.from({ length: count }, (_, at) => ({ username: `many${at}` })));
    assert.match((await check(users(5_000))).html, /can take a minute/);
    assert.doesNotMatch((await check(users(10))).html, /can take a minute/);
  });

  test('an import that leaves nothing out says it, and offers no report', async () => {
    const done = await ada.submit(await check(lines({ username: 'whole' })), { do: 'run' });
    assert.match(done.html, /Nothing was left out/);
    assert.doesNotMatch(done.html, /the report|import-report/);
  });

  test('the exports of other programs, in other encodings, and administrators only if that is asked', async () => {
    const table = 'username,email,groups\ngina,gina@example.com,admins\n';
    const utf16 = new Uint8Array(Buffer.from(`\ufeff${table}`, 'utf16le'));
    const plan = await upload(ada, '/console/import', utf16, { do: 'check', format: 'csv' });
    assert.match(plan.html, /would add and change no user/);
    assert.match(plan.html, /Line 2 <bdi>gina<\/bdi>/);
    const allowed = await upload(ada, '/console/import', utf16, {
      ...{ do: 'check', format: 'csv', allow_administrators: 'yes' },
    });
    assert.equal(counts(allowed).Added, '1', allowed.html);
    const wrong = await check('no JSON', { format: 'keycloak' });
    assert.match(wrong.html, /Expected JSON, as keycloak exports it/);
  });

  test('a plan is that of its file: another one with the same outcomes is planned again', async () => {
    const first = await check(lines({ username: 'fay' }), { update: 'yes' });
    await check(lines({ username: 'fay', claims: { name: 'Fay' } }), { update: 'yes' });
    const refused = await ada.submit(first, { do: 'run' });
    assert.match(refused.html, /id="import-run"/, refused.html);
    assert.equal(await own.instance.people.byName('fay'), undefined);
  });

  test('a configuration of many members is read quickly, and one that is too long is refused', async () => {
    const groups = Array.from({ length: 20_000 }, (_, at) => `  g${at}: {}\n`).join('');
    const before = performance.now();
    const plan = await upload(ada, '/console/apply', `groups:\n${groups}`, { do: 'plan' });
    assert.ok(performance.now() - before < 10_000, `${performance.now() - before} ms`);
    assert.equal(plan.status, 400);
    const twice = await upload(ada, '/console/apply', 'groups:\n  a: {}\n  a: {}\n', { do: 'plan' });
    assert.match(twice.html, /Line 3, column 3: <bdi>Expected each key of a map once/);
    const number = await upload(ada, '/console/apply', 'groups:\n  1: {}\n  "1": {}\n', { do: 'plan' });
    assert.match(number.html, /Line 3, column 3: <bdi>Expected each key of a map once/);
    const long = await upload(ada, '/console/apply', `# ${'x'.repeat(512 * 1024)}`, { do: 'plan' });
    assert.match(long.html, /larger than the console accepts/);
  });

  test('a file is checked again with other choices, which stay for the next file', async () => {
    const plan = await check(lines({ username: 'kim', groups: ['crew'] }));
    assert.match(plan.html, /<bdi>file\.txt<\/bdi>/);
    assert.doesNotMatch(plan.html, /may be of another format/);
    assert.equal(counts(plan).Added, '0');
    const planned = await ada.submit(plan, { do: 'replan', format: 'grantd', create_groups: 'yes' });
    assert.equal(counts(planned).Added, '1', planned.html);
    assert.match((await ada.get(at('/console/import'))).html, /name="create_groups"[^>]* checked/);
    const wrong = await check('username,email\nlee,lee@example.com\n');
    assert.match(wrong.html, /may be of another format/);
    const table = await ada.submit(wrong, { do: 'replan', format: 'csv' });
    assert.match((await ada.submit(table, { do: 'run' })).html, /The import is done/);
    assert.ok(await own.instance.people.byName('lee'));
    const late = await ada.submit(wrong, { do: 'replan', format: 'auth0' });
    assert.match(late.html, /The file is not kept any more/);
  });

  test('a form that is sent again with another file gets the plan of that file', async () => {
    const fields = { ...hiddenFields(await ada.get(at('/console/import'))), do: 'check', format: 'grantd' };
    for (const [file, added] of [
      [lines({ username: 'hal' }), '1'],
      [lines({ username: 'ida' }, { username: 'jon' }), '2'],
    ] as const)
      assert.equal(counts(await upload(ada, '/console/import', file, fields)).Added, added);
  });

  test('a file that is too large, or missing, is refused with the way to import it', async () => {
    const large = `{"username":"${'x'.repeat(MAX_FILE)}"}`;
    const cases = [
      [large, /larger than the console accepts/],
      [large.repeat(2), /larger than the console accepts/],
      ['', /not empty/],
    ] as const;
    for (const [file, says] of cases) {
      const page = await check(file);
      assert.equal(page.status, 400);
      assert.match(page.html, says);
    }
  });

  test('a file of millions of lines is refused, and other requests do not wait for it', async () => {
    let longestMs = 0;
    let lastMs = performance.now();
    const timer = setInterval(() => {
      longestMs = Math.max(longestMs, performance.now() - lastMs);
      lastMs = performance.now();
    }, 10);
    const files = [
      ['x\n', 'grantd'],
      ['\n', 'grantd'],
      ['x\n', 'csv'],
      ['{},', 'keycloak'],
    ] as const;
    for (const [line, format] of files) {
      const begin = format === 'keycloak' ? '[' : '';
      const page = await check(begin + line.repeat(Math.floor((MAX_FILE - 1) / line.length)), { format });
      assert.equal(page.status, 200);
      if (line !== '\n') assert.match(page.html, /Expected at most 50000 users/, format);
    }
    clearInterval(timer);
    assert.ok(longestMs < 5000, `${longestMs} ms`);
    const yaml = await check(`users: {}\n# ${'x'.repeat(512 * 1024)}`, { format: 'authelia' });
    assert.match(yaml.html, /larger than the console accepts/);
  });

  test('only an administrator sends a large body, and only with a form of this server', async () => {
    await own.addUser('mallory');
    const mallory = await own.browserOf('mallory');
    const form = new FormData();
    form.set('do', 'check');
    form.set('file', new File(['x'.repeat(100_000)], 'file'));
    const sent = await mallory.send(at('/console/import'), { method: 'POST', body: form });
    assert.equal(sent.status, 413);
    await sent.body?.cancel();
    const small = new FormData();
    small.set('do', 'check');
    small.set('file', new File(['{"username":"eve"}'], 'file'));
    const forged = await ada.send(at('/console/import'), { method: 'POST', body: small });
    assert.equal(forged.status, 403);
    await forged.body?.cancel();
    const nonsense = await ada.send(at('/console/apply'), {
      method: 'POST',
      body: '--b\r\nnonsense',
      headers: {},
    });
    assert.equal(nonsense.status, 403);
    await nonsense.body?.cancel();
  });

  const FILE = `groups:
  staff: { description: Everyone }
clients:
  notes:
    token_endpoint_auth_method: none
    redirect_uris: [https://notes.example/]
    scope: openid
`;
  const plan = (file: string, fields = {}) => upload(ada, '/console/apply', file, { do: 'plan', ...fields });

  test('a configuration is planned, applied once, and unchanged after that', async () => {
    const planned = await plan(FILE);
    assert.equal(planned.status, 200, planned.html);
    assert.match(planned.html, /Add:<\/span> group <bdi>staff/);
    assert.match(planned.html, /Add:<\/span> client <bdi>notes/);
    assert.equal(await own.instance.storage.clients.get('notes'), undefined);
    const twice = await Promise.all([1, 2].map(() => ada.submit(planned, { do: 'apply' })));
    for (const done of twice) assert.match(done.html, /The file is applied/, done.html);
    assert.deepEqual((await own.instance.storage.clients.get('notes'))?.redirectUris, [
      'https://notes.example/',
    ]);
    const again = await plan(FILE);
    assert.match(again.html, /Everything is as in the file/);
    assert.doesNotMatch(again.html, /id="apply-run"/);
  });

  test('a file with hundreds of changes is applied once, and a second press gets the same answer', async () => {
    const groups = Array.from({ length: 400 }, (_, at) => `  many-${at}: { description: Group ${at} }\n`);
    const planned = await plan(`groups:\n${groups.join('')}`);
    const twice = await Promise.all([1, 2].map(() => ada.submit(planned, { do: 'apply' })));
    for (const done of twice) assert.match(done.html, /<h1[^>]*>The file is applied/);
  });

  test('thousands of groups that are stored are planned again without a long turn', async () => {
    const file = `groups:\n${Array.from({ length: 4000 }, (_, at) => `  stored-${at}: {}\n`).join('')}`;
    const planned = await plan(file);
    assert.match((await ada.submit(planned, { do: 'apply' })).html, /The file is applied/);
    const before = process.cpuUsage();
    assert.match((await plan(file)).html, /Everything is as in the file/);
    const { user } = process.cpuUsage(before);
    assert.ok(user < 4_000_000, `${user} µs`);
  });

  test('a plan for many groups lets other requests in between, however many clients there are', async () => {
    const client = (at: number) =>
      `  app-${at}: { redirect_uris: [https://app.example/], token_endpoint_auth_method: none, scope: openid }\n`;
    const planned = await plan(`clients:\n${Array.from({ length: 600 }, (_, at) => client(at)).join('')}`);
    assert.match((await ada.submit(planned, { do: 'apply' })).html, /The file is applied/);
    const picked = Array.from({ length: 200 }, (_, at) => `&picked=stored-${at}`).join('');
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 1);
    const asked = await ada.get(at(`/console/groups?ask=bulk&do=remove${picked}`));
    clearInterval(timer);
    assert.match(asked.html, /200 groups/);
    assert.ok(turns >= 15, `${turns} turns`);
  });

  test('a change in between is shown as a new plan, and overwrites nothing', async () => {
    const planned = await plan(FILE.replace('Everyone', 'All'));
    await own.instance.groups.add({ name: 'other', description: '' }, Date.now());
    const same = await plan(
      `${FILE.replace('Everyone', 'All')}  more: { redirect_uris: [https://more.example/], token_endpoint_auth_method: none, scope: openid }\n`,
    );
    await own.addClient('more', { token_endpoint_auth_method: 'none' });
    const refused = await ada.submit(same, { do: 'apply' });
    assert.match(refused.html, /Something has changed since the plan/, refused.html);
    assert.match(refused.html, /Change:<\/span> client <bdi>more/);
    // The earlier plan was for another file.
    assert.match((await ada.submit(planned, { do: 'apply' })).html, /Something has changed since the plan/);
    const done = await ada.submit(refused, { do: 'apply' });
    assert.match(done.html, /The file is applied/, done.html);
  });

  test('problems of a file have their line, and secrets are typed', async () => {
    const wrong = await plan('clients:\n  bad:\n    redirect_uris: 7\n    scope: openid\n');
    assert.equal(wrong.status, 400);
    assert.match(unescaped(wrong.html), /<li>Line 3, column 5: <code>clients\.bad\.redirect_uris<\/code> /);
    assert.match((await plan('a: [')).html, /<li>Line \d+, column \d+: /);
    const asked = await plan(
      'clients:\n  shop:\n    redirect_uris: [https://shop.example/]\n    scope: openid\n    secret: { env: SHOP_SECRET }\n',
    );
    assert.match(asked.html, /name="secret:shop" type="password"/);
    const secret = 'a secret of at least 32 characters, typed';
    const planned = await ada.submit(asked, { 'secret:shop': secret, do: 'secrets' });
    assert.match(planned.html, /Add:<\/span> client <bdi>shop/, planned.html);
    assert.equal(planned.html.includes(secret), false);
    assert.match((await ada.submit(planned, { do: 'apply' })).html, /The file is applied/);
    assert.equal((await own.instance.storage.clients.get('shop'))?.secrets?.length, 1);
    assert.equal(own.log().includes(secret), false);
  });

  test('one answer has everything that is wrong, each at its line, before secrets are typed', async () => {
    const { html, status } = await plan(
      'clients:\n  bad:\n    redirect_uris:\n      - https://fine.example/\n      - /\n      - x y\n    scope: openid\n    colour: red\n    secret: { env: BAD }\ngroups: { lost: { members: [nobody] } }\n',
    );
    assert.equal(status, 400);
    const list = [...unescaped(html).matchAll(/<li>(Line .*?)<\/code>/g)].map(([, text = '']) =>
      text.replace('<code>', ''),
    );
    assert.deepEqual(list, [
      'Line 8, column 5: clients.bad.colour',
      'Line 10, column 19: groups.lost.members',
      'Line 5, column 9: clients.bad.redirect_uris.1',
      'Line 6, column 9: clients.bad.redirect_uris.2',
    ]);
  });

  test('what is wrong with a file is said in the language of the page', async () => {
    const files: Readonly<Record<string, string>> = {
      syntax: 'a: [',
      'second document': 'a: {}\n---\nb: {}',
      'repeated key': 'groups: { a: {}, a: {} }',
      sections: 'groups:\nprovider: 7\nproviders: 7\nusers: 7\nsign_in_policy: 7\nclients: 7\n',
      group:
        'groups: { "a, b": {}, " ": {}, c: { description: 7, members: 7, sign_in_policy: x, member: 7 } }',
      client:
        'clients: { "a b": { secret: 7, disabled: 7, scope_texts: 7, grant_type: 7, scope: null, <<: 7 }, api: { secret: { x: y } } }',
      stored:
        'groups: { staff: { members: [nobody] } }\nclients: { grantd: { scope: openid }, app: { redirect_uris: 7, allowed_groups: [lost], apis: ["https://lost.example"] } }',
    };
    await ada.get(at('/console/apply?ui_language=de'));
    const shown: string[] = [];
    for (const [name, file] of Object.entries(files)) {
      const { html } = await plan(file);
      const [list = ''] = /<ul class="bullets">[\s\S]*?<\/ul>/.exec(html) ?? [];
      assert.match(list, /<li>/, name);
      assert.doesNotMatch(unescaped(list), /lang="en"|expected|there is|unknown|undefined/i, name);
      shown.push(...(list.match(/<li>/g) ?? []));
    }
    await ada.get(at('/console/apply?ui_language=en'));
    assert.ok(shown.length >= 24, String(shown.length));
  });

  test('a secret that is too short is asked for again, and the file and the other secrets are kept', async () => {
    const client = (name: string) =>
      `  ${name}:\n    redirect_uris: [https://${name}.example/]\n    scope: openid\n    secret: { env: SECRET }\n`;
    const asked = await plan(`clients:\n${client('good')}${client('short')}`);
    const secret = 'a secret of at least 32 characters, typed';
    const wrong = await ada.submit(asked, { 'secret:good': secret, 'secret:short': 'tiny7', do: 'secrets' });
    assert.equal(wrong.status, 400);
    assert.match(wrong.html, /id="secret-0" name="secret:short"[^>]* aria-invalid="true"/);
    assert.match(wrong.html, /id="secret-0-problem".*8 .*characters/);
    assert.doesNotMatch(wrong.html, /name="file"|secret:good|tiny7/);
    assert.equal(wrong.html.includes(secret), false);
    const planned = await ada.submit(wrong, { 'secret:short': secret, do: 'secrets' });
    assert.match((await ada.submit(planned, { do: 'apply' })).html, /The file is applied/);
    for (const id of ['good', 'short'])
      assert.equal((await own.instance.storage.clients.get(id))?.secrets?.length, 1);
    assert.equal(own.log().includes('tiny7'), false);
  });

  test('plans name who becomes or stops being an administrator, and their buttons are red', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `new${String(index).padStart(2, '0')}`);
    for (const name of ['eve', ...names.slice(0, 2)]) await own.addUser(name);
    const subject = (await own.addUser('dan', ['admins'])).subject;
    const RED = / type="submit" class="final"/;
    const MAKES = 'make other users administrators.';
    const file = (members: readonly string[]) => `groups:\n  admins: { members: [${members}] }\n`;
    const joining = await plan(file(['ada', 'dan', 'eve']));
    assert.match(joining.html, RED);
    assert.equal(counts(joining)['New administrators'], '1 user: <bdi>eve</bdi>');
    assert.ok(unescaped(joining.html).includes(MAKES), joining.html);
    const leaving = await plan(file(['ada', 'eve']), { prune: 'yes' });
    assert.equal(counts(leaving)['No longer administrators'], '1 user: <bdi>dan</bdi>');
    assert.match(leaving.html, /They are no longer administrators and cannot open this console/);
    assert.doesNotMatch((await plan(file(['ada', 'dan']))).html, /class="final"|administrators<\/dt>/);

    const users = lines(
      ...names.map((username) => ({ username, groups: ['admins'] })),
      { username: 'dan', subject, groups: [] },
      { username: 'ada', groups: ['admins'], claims: { nickname: 'Ada' } },
    );
    const imported = await check(users, { allow_administrators: 'yes', update: 'yes' });
    assert.equal(
      counts(imported)['New administrators'],
      `12 users: <bdi>${names.slice(0, 10).join(', ')} …</bdi>`,
    );
    assert.ok(unescaped(imported.html).includes(MAKES), imported.html);
    assert.match(imported.html, RED);
    assert.doesNotMatch((await check(users)).html, /class="final"/);
    const zoe = lines({ username: 'zoe', groups: ['admins'] });
    const done = await ada.submit(await check(zoe, { allow_administrators: 'yes' }), { do: 'run' });
    assert.match(done.html, /The import is done/);
    assert.equal(counts(done)['New administrators'], '1 user: <bdi>zoe</bdi>');
  });

  test('pruning names what is removed, and the button is red', async () => {
    const planned = await plan('groups:\n  staff: {}\n  admins: {}\n', { prune: 'yes' });
    assert.match(planned.html, /Remove:<\/span> group <bdi>other/, planned.html);
    assert.match(planned.html, /id="apply-run" type="submit" class="final"/);
  });
});
