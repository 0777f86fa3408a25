// What the console says if the server refuses what an administrator has typed.
import assert from 'node:assert/strict';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { INACTIVE_REASONS, REFUSAL_REASONS } from '../../core/src/http/errors.ts';
import { call } from '../src/admin/in_process.ts';
import { sentenceAbout } from '../src/admin/operation_refused.ts';
import { localCalls } from '../src/cli/local_calls.ts';
import { FileRefused } from '../src/config/refused.ts';
import { sentenceIn } from '../src/config/said.ts';
import { chartsSection } from '../src/console/charts.ts';
import { NO_NAMES } from '../src/console/names.ts';
import { refusalsTable } from '../src/console/refusals.ts';
import { changeSecretFile, createSecretFile } from '../src/data/secrets.ts';
import { PAGE_REASONS } from '../src/log/page_events.ts';
import { DE, EN } from '../src/texts/texts.ts';
import { type Browser, unescaped } from './harness/browser.ts';
import { startConsole } from './harness/console_server.ts';

test('each refusal of an operation has a code that is used, and a sentence in every language', () => {
  const sources = globSync(
    '{server/src/{admin,console,data,mail,people},core/src/{registration,server}}/*.ts',
  ).map((path) => readFileSync(path, 'utf8'));
  const codes = sources.flatMap((source) => [...source.matchAll(/\['([a-z]+_[a-z_]+|required)'[,\]]/g)]);
  const used = new Set(codes.map(([, code]) => code));
  const unused = Object.keys(EN.console.refusals).filter(
    (code) => !used.has(code) && !sources.some((source) => source.includes(`'${code}'`)),
  );
  assert.deepEqual(unused, []);
  for (const code of Object.keys(EN.console.refusals)) {
    const said = [code, 'X1', 'X2', 'X3', 'X4', 'X5', 'X6'] as never;
    const [english, german] = [sentenceAbout(said), sentenceAbout(said, DE.console.refusals)];
    assert.notEqual(english, german, code);
    assert.doesNotMatch(german, /\b(?:the|there|expected|has|is)\b|undefined/, code);
  }
});

/** What the page says is wrong, and whether it says it in English. */
async function refused(browser: Browser, url: string, fields: Readonly<Record<string, string>>) {
  const form = await browser.get(`${url}&ui_language=de`);
  const { html } = await browser.submit(form, fields);
  const wrong = [
    ...html.matchAll(/<p[^>]*class="wrong"[^>]*>[\s\S]*?<\/p>/g),
    ...html.matchAll(/<div[^>]*class="problem"[^>]*>[\s\S]*?<\/div><\/div>/g),
  ];
  const shown = wrong.join('\n');
  assert.notEqual(shown, '', url);
  return { text: unescaped(shown.replaceAll(/<[^>]*>/g, '')), isEnglish: shown.includes('lang="en"') };
}

test('refusals of what an administrator types are in the language of the page', async (t) => {
  const set = await startConsole();
  t.after(() => set.close());
  await set.addUser('alice', ['admins']);
  await set.addClient('shop');
  const browser = await set.browserOf('alice');
  const at = (path: string) => `${set.url}/console/${path}`;
  const client = { do: 'add_web', client_id: 'new', redirect_uris: 'https://app.example/cb' };
  for (const [path, fields, expected] of [
    ['clients?ask=add_web', { ...client, client_id: 'shop' }, /Die Anwendung shop gibt es schon/],
    [
      'clients?ask=add_web',
      { ...client, redirect_uris: 'app.example/cb' },
      /Beginnen Sie mit https|vollständige/,
    ],
    ['clients?ask=add_web', { ...client, redirect_uris: 'javascript:alert(1)' }, /https/],
    ['clients?ask=add_web', { ...client, redirect_uris: 'https://a.example/*' }, /Platzhalter/],
    ['clients?ask=add_web', { ...client, redirect_uris: 'http://app.example/cb' }, /Erwartet wird https/],
    ['clients?ask=add_web', { ...client, client_id: 'ä' }, /Zeichen/],
    ['groups?ask=add', { do: 'add', name: 'admins' }, /Die Gruppe admins gibt es schon/],
    ['groups?ask=add', { do: 'add', name: 'a\u200bb' }, /sichtbare Zeichen/],
    [
      'users?ask=add',
      { do: 'add', username: 'alice', password: 'long enough' },
      /Den Benutzer alice gibt es/,
    ],
    ['users?ask=add', { do: 'add', username: 'bob', password: 'short' }, /mindestens 8 Zeichen/],
  ] as const) {
    const { text, isEnglish } = await refused(browser, at(path), fields);
    assert.match(text, expected, `${path} ${JSON.stringify(fields)}`);
    assert.equal(isEnglish, false, text);
  }
  for (const { hints } of [EN.console.forms, DE.console.forms]) assert.match(hints.password, /\b8\b/);
});

test('files that cannot be written and emails that cannot be sent are refused in the language of the page', async (t) => {
  const set = await startConsole({
    ...{ GRANTD_SECRET: '', GRANTD_SMTP_URL: 'smtp://127.0.0.1:1', GRANTD_MAIL_FROM: 'a@example.com' },
  });
  t.after(() => set.close());
  await set.addUser('alice', ['admins']);
  const browser = await set.browserOf('alice');
  const path = set.instance.database.changeKeptSecret((secrets) => secrets);
  writeFileSync(`${path}.new`, '');
  const rotate = { do: 'rotate', confirmed: 'yes' };
  const busy = await refused(browser, `${set.url}/console/secrets?ask=rotate`, rotate);
  assert.match(
    busy.text,
    /\.secret\.new ist schon da: Ein anderer Befehl ändert gerade .*\.secret oder wurde/,
  );
  rmSync(`${path}.new`);
  rmSync(path);
  const missing = await refused(browser, `${set.url}/console/secrets?ask=rotate`, rotate);
  assert.match(missing.text, /Die Datei .*\.secret fehlt\./);
  const mail = { do: 'test', address: 'bob@example.com' };
  const unsent = await refused(browser, `${set.url}/console/mails?ask=test`, mail);
  assert.match(
    unsent.text,
    /nicht verschickt\. 127\.0\.0\.1:1: keine Verbindung möglich: „.*ECONNREFUSED.*“\./,
  );
  assert.deepEqual(
    [busy, missing, unsent].map(({ isEnglish }) => isEnglish),
    [false, false, false],
  );
});

test('a file that cannot be changed says why', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-file-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const database = join(folder, 'grantd.db');
  createSecretFile(database);
  for (const [code, problem] of [
    ['EACCES', 'file_denied'],
    ['EROFS', 'file_denied'],
    ['ENOSPC', 'file_without_space'],
    ['EIO', 'file_unwritable'],
  ] as const) {
    const failing = () => {
      throw Object.assign(new Error(code), { code, syscall: 'write' });
    };
    const isSaid = (error: unknown) => error instanceof FileRefused && error.said[0] === problem;
    assert.throws(() => changeSecretFile(database, failing), isSaid, code);
  }
});

test('each reason that the overview can show is in words, and its code is beside them', async () => {
  const codes = [REFUSAL_REASONS, INACTIVE_REASONS, PAGE_REASONS].flatMap((list) => Object.keys(list));
  const view = { base: '/console', names: NO_NAMES };
  for (const texts of [EN, DE])
    for (const code of new Set(codes)) {
      const samples = [
        {
          ...{ atMs: 0, seconds: 10, requests: {}, refusals: { [code]: 1 }, clients: {}, latencies: [] },
          ...{ storage: [], storageFaults: 0, issued: 0, revocations: 0, sweptRows: 0, failedSignIns: 0 },
        },
      ];
      const charts = String(await chartsSection('/console', samples, texts));
      const [, linked = '', title, shown = '', label = ''] =
        /<a href="\/console\/help\?about=([^"]*)" title="([^"]*)">(.*?)<\/a><span class="why">(.*?)<\/span>/.exec(
          charts,
        ) ?? [];
      assert.equal(linked, code);
      assert.equal(shown.replaceAll(/<[^>]*>/g, ''), code);
      assert.match(label, / .*[^.]$/, code);
      assert.equal(title, label);
      const table = String(await refusalsTable(samples, view, texts));
      assert.match(table, /<p class="reason">\S+ .*\. <code class="raw">/, code);
    }
});

test('each warning of an operation has a code that is used, and a sentence in every language', () => {
  const sources = globSync('server/src/{admin,console}/*.ts').map((path) => readFileSync(path, 'utf8'));
  const codes = Object.keys(EN.console.warnings);
  assert.ok(codes.length > 20);
  assert.deepEqual(
    codes.filter((code) => !sources.some((source) => source.includes(`'${code}'`))),
    [],
  );
  for (const code of codes) {
    const said = [code, 'X1', 'X2', 'X3', 'X4'] as never;
    const german = sentenceIn(DE.console.warnings, said);
    assert.notEqual(german, sentenceIn(EN.console.warnings, said), code);
    assert.doesNotMatch(german, /\b(?:the|there|expected|has|is)\b|undefined/, code);
  }
});

test('what an operation warns of is in the language of the page, and in English for commands', async (t) => {
  const set = await startConsole();
  t.after(() => set.close());
  await set.addUser('alice', ['admins']);
  const { subject: sub } = await set.addUser('gail', [], { groups: ['forged'] });
  await set.addClient('edited');
  const browser = await set.browserOf('alice');
  const warned = async (path: string, fields: Readonly<Record<string, string>>) => {
    const form = await browser.get(`${set.url}/console/${path}&ui_language=de`);
    const answered = await browser.submit(form, fields);
    // A change that can end access is asked about.
    const { html } = answered.html.includes('id="console-yes"')
      ? await browser.submit(answered, { do: fields.do ?? '', confirmed: 'yes' })
      : answered;
    return [...html.matchAll(/<p class="caution"([^>]*)>.*?<span><bdi>([^<]*)</g)].map(
      ([, more = '', text = '']) => `${more}${unescaped(text)}`,
    );
  };
  const pkce =
    'edited darf PKCE weglassen. Das erlaubt Angriffe mit untergeschobenen Codes (RFC 9700 Abschnitt 2.1.1). Sobald die Anwendung PKCE benutzt, nehmen Sie das zurück (insecure_allow_missing_pkce).';
  assert.deepEqual(
    await warned('clients?id=edited&ask=edit', { do: 'edit', insecure_allow_missing_pkce: 'yes' }),
    [pkce],
  );
  assert.deepEqual(await warned('clients?ask=add_machine', { do: 'add_machine', client_id: 'worker' }), [
    'Diese Anwendung kann keine Berechtigung erhalten, weil sie für keine registriert ist.',
  ]);
  assert.deepEqual(await warned('clients?ask=registration_token', { do: 'registration_token' }), [
    'Der Server nimmt dieses Token nur an, wenn sich Anwendungen mit einem Token registrieren dürfen (registration: token).',
  ]);
  assert.deepEqual(await warned('groups?name=admins&ask=join', { do: 'join', username: 'gail' }), [
    'gail ist jetzt Administrator, denn Mitglieder der Gruppe admins können auf diesem Server alles ändern.',
    'Anwendungen sehen die Gruppen von gail nicht, weil eine Angabe groups gespeichert ist. Entfernen Sie diese Angabe.',
  ]);
  const parts = { ...set.instance.actingAs('cli'), configuration: set.configuration };
  const { warnings } = await call(localCalls(parts), 'addMember', { group: 'admins', sub });
  assert.deepEqual(JSON.parse(JSON.stringify(warnings)), [
    'applications do not see the groups of gail, because a claim groups is stored: grantd user update gail --remove-claim groups removes it',
  ]);
});
