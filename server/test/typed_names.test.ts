// Usernames and addresses as people type them: with white space around them, and in another spelling.
import assert from 'node:assert/strict';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Command } from 'commander';
import { createProgram } from '../src/cli/program.ts';
import { emailKey, nameAsKept, nameKey, nameProblem } from '../src/data/names.ts';
import { isAddress } from '../src/people/mailing.ts';
import { Browser, isLogin, unescaped } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { DATABASES } from './harness/databases.ts';
import { newPerson } from './harness/new_person.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { addPerson, openDatabase } from './harness/program_data.ts';
import { withDatabaseOf } from './harness/stored.ts';

test('white space around a name does not count, and white space in it does', () => {
  for (const typed of [' bob', 'bob ', '\u00a0bob\u3000', 'bob\n', '\ufeffbob']) {
    assert.equal(nameProblem(typed), undefined, JSON.stringify(typed));
    assert.equal(nameAsKept(typed), 'bob');
    assert.equal(nameKey(typed), nameKey('bob'));
  }
  assert.notEqual(nameKey('b ob'), nameKey('bob'));
});

test('what shows nothing does not count around a name, and makes no other name within one', () => {
  for (const blank of [
    '\u200b',
    '\u2060\ufeff',
    '\u00ad',
    '\u034f',
    '\u115f',
    '\u3164',
    '\u2066',
    '\u2800',
    '\ufe0f',
  ]) {
    const shown = JSON.stringify(blank);
    for (const typed of [`${blank}bob1`, `bob1${blank}`, `${blank} ${blank}bob1 ${blank}`])
      assert.deepEqual([nameAsKept(typed), nameProblem(typed)], ['bob1', undefined], shown);
    assert.equal(nameKey(`bo${blank}b1`), 'bob1', shown);
    assert.equal(emailKey(`${blank}bob@example.com${blank}`), 'bob@example.com', shown);
    assert.equal(isAddress(`bo${blank}b@example.com`), false, shown);
  }
  assert.equal(nameKey('bob\u00a0 smith'), nameKey('bob smith'), 'pages show several spaces as one');
  assert.equal(nameAsKept('bob\u2764\ufe0f'), 'bob\u2764\ufe0f', 'an emoji keeps its picture');
  assert.equal(nameKey('bob\u2764\ufe0f'), nameKey('bob\u2764'));
  assert.equal(nameAsKept('\u200b \u2800'), '');
  assert.equal(nameAsKept(`bob${' '.repeat(60_000)}`), 'bob');
  const beginMs = performance.now();
  const blanks = ' \u200b'.repeat(30_000);
  for (const long of [`${blanks}a${blanks}b`, `a${'\u0301\u0316'.repeat(200_000)}`]) {
    assert.equal(nameProblem(long) === undefined, false);
    assert.equal(nameKey(long).length <= 1000 && emailKey(long).length <= 1000, true);
  }
  assert.ok(performance.now() - beginMs < 1000, 'long texts of strangers take no long time');
});

test('the parts of an address are each of one script, and need not be of the same', () => {
  const fine = [
    '\u0438\u0432\u0430\u043d@example.com',
    'bob@\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444',
    'bob@example.com',
  ];
  for (const name of fine) assert.equal(nameProblem(name), undefined, name);
  for (const name of [
    'b\u043eb@example.com', // Cyrillic o
    'bob@ex\u0430mple.com',
    'bob\u043e', // no address
    '\u0438\u0432\u0430\u043d@bob@example.com',
  ])
    assert.match(nameProblem(name) ?? '', /letters of one script/, name);
});

test('an address has one key in Unicode, Punycode, any case and any width, and others have another', () => {
  for (const [address, ...others] of [
    [
      'bob@xn--e1afmkfd.xn--p1ai',
      'Bob@\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444',
      'BOB@XN--E1AFMKFD.XN--P1AI',
      ' bob@\u041f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444 ',
    ],
    ['bob@example.com', 'bob@EXAMPLE.com.', 'bob@\uff45xample.com', 'bob@example\u3002com'],
    ['\u0438\u0432\u0430\u043d@example.com', '\u0418\u0412\u0410\u041d@Example.com'],
    ['jos\u00e9@example.com', 'Jose\u0301@example.com'],
  ] as const)
    for (const other of others) assert.equal(emailKey(other), emailKey(address), other);
  // The Kelvin sign and the dotted I become ASCII letters in lower case, and belong to other mailboxes.
  for (const other of [
    '\u212aate@example.com',
    '\u0130ate@example.com',
    'kate@example.org',
    'kate@@example.com',
  ])
    assert.notEqual(emailKey(other), emailKey('kate@example.com'), other);
});

for (const database of DATABASES)
  test(`a user is found by each spelling of an address on ${database.name}`, {
    skip: database.absence,
  }, async (t) => {
    const opened = await openDatabase(t, database);
    const [unicode, punycode] = [
      'bob@\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444',
      'bob@xn--e1afmkfd.xn--p1ai',
    ];
    for (const [stored, typed] of [
      [unicode, punycode],
      [punycode, unicode],
    ] as const) {
      const person = await addPerson(opened, stored);
      const claims = { email: stored, email_verified: true };
      assert.equal(await opened.people.update({ ...person, claims }), 'updated');
      for (const spelling of [stored, typed, ` ${typed.toUpperCase()} `]) {
        assert.equal((await opened.people.byName(spelling))?.subject, person.subject, spelling);
        assert.equal((await opened.people.byVerifiedEmail(spelling, 2)).length, 1, spelling);
        assert.equal((await opened.people.list({ search: spelling })).length, 1, spelling);
        assert.equal((await opened.people.list({ search: spelling.trim().slice(3) })).length, 1, spelling);
      }
      assert.equal(
        await opened.people.add({ name: typed, passwordHash: '', claims: {} }),
        undefined,
        'taken',
      );
      await opened.people.beginRemoval(person.subject, 1);
      await opened.people.erase(person.subject);
    }
  });

describe('white space around what people type', () => {
  const workbench = new Workbench();
  after(() => workbench.clear());
  let server: RunningServer;
  before(async () => {
    server = await workbench.start(await workbench.home(), ['--demo', '--sign-up', 'open']);
  });

  async function mailTo(address: string): Promise<string> {
    for (let tries = 0; tries < 400; tries++) {
      const { html } = await new Browser(server.url).get(`${server.url}/demo/mailbox`);
      for (const [, mail = ''] of html.matchAll(/<article class="mail">([\s\S]*?)<\/article>/g))
        if (mail.includes(`<bdi>${address}</bdi>`)) return unescaped(/href="([^"]*)"/.exec(mail)?.[1] ?? '');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return assert.fail(`no email to ${address}`);
  }

  const signIn = async (browser: Browser, who: { username: string; password: string }) =>
    browser.submit(await browser.get(`${server.url}/account`), who);

  /** A person with a verified address. */
  async function person(name: string) {
    const { who, browser } = await newPerson(server, name);
    const email = `${name}@example.com`;
    await grantdPrints(server.folder, ['user', 'update', name, '--email', email, '--email-verified']);
    return { who, browser, email };
  }

  /** What is typed into the forms of each file, by the file. */
  const FORMS: Readonly<Record<string, () => Promise<void>>> = {
    async 'pages/sign_in/login.ts'() {
      const { who, browser } = await person('ada');
      for (let attempt = 0; attempt < 12; attempt += 1)
        assert.ok(
          !isLogin(await signIn(new Browser(server.url), { ...who, username: `\u200b\u00a0Ada \t` })),
        );
      const wrong = await signIn(browser, { username: 'ada ', password: 'wrong' });
      assert.match(wrong.html, /name="username" value="ada"/);
    },
    async 'pages/recovery/recovery.ts'() {
      const { email } = await person('ben');
      for (const typed of ['\u200bben ', ` ${email.toUpperCase()}\u200b `]) {
        const browser = new Browser(server.url);
        await browser.submit(await browser.get(`${server.url}/forgot`), { username: typed });
        assert.match(await mailTo(email), /\/link\?token=/);
      }
      const browser = new Browser(server.url);
      await browser.submit(await browser.get(`${server.url}/sign-up`), { email: ' \u200bnew@example.com ' });
      assert.match(await mailTo('new@example.com'), /\/link\?token=/);
    },
    async 'pages/recovery/link.ts'() {
      const owner = await person('cyd');
      // The first sign-in replaces the cheap hash of the tests, and a new hash ends links.
      await signIn(owner.browser, owner.who);
      const browser = new Browser(server.url);
      await browser.submit(await browser.get(`${server.url}/forgot`), { username: 'cyd' });
      const elsewhere = new Browser(server.url);
      const form = await elsewhere.get(await mailTo(owner.email));
      const done = await elsewhere.submit(form, {
        username: ' CYD\u200b ',
        new_password: 'quartz falcon kettle',
      });
      assert.equal(done.status, 200, done.html);
      const visitor = new Browser(server.url);
      await visitor.submit(await visitor.get(`${server.url}/sign-up`), { email: 'newer@example.com' });
      const page = await visitor.get(await mailTo('newer@example.com'));
      await visitor.submit(page, { username: '\u200b newer ', new_password: 'quartz falcon kettle' });
      assert.match(await grantdPrints(server.folder, ['user', 'list']), /^newer {2}/m);
    },
    async 'pages/account/email.ts'() {
      const { who, browser } = await person('dan');
      await signIn(browser, who);
      const page = await browser.get(`${server.url}/account/email`);
      await browser.submit(page, { email: ' dan@example.org\u200b\t', current_password: who.password });
      assert.match(await mailTo('dan@example.org'), /\/link\?token=/);
    },
  };

  test('each form that takes a name or an address is tried', () => {
    const folder = join(import.meta.dirname, '..', 'src');
    const files = globSync('{pages,console}/**/*.ts', { cwd: folder });
    const taking = files.filter((file) =>
      /form\.get\('(username|email|address|user)'\)/.test(readFileSync(join(folder, file), 'utf8')),
    );
    // `email_code_pages.test.ts` types a name with blanks into the form for codes.
    assert.deepEqual(taking.sort(), [...Object.keys(FORMS), 'pages/sign_in/email_code.ts'].sort());
  });

  for (const [file, submit] of Object.entries(FORMS)) test(`the forms of ${file}`, submit);

  /** Commands with names and addresses, and how they are typed. `NAME` is a user, `GROUP` a group. */
  const COMMANDS: Readonly<Record<string, readonly (readonly string[])[]>> = {
    'user add': [['user', 'add', ' added ', '--password-stdin', '--email', ' added@example.com ']],
    'user invite': [['user', 'invite', ' invited ', '--email', ' invited@example.com ', '--json']],
    'user update': [
      [
        'user',
        'update',
        ' NAME ',
        '--username',
        ' RENAMED ',
        '--email',
        ' a@example.com ',
        '--add-group',
        ' GROUP ',
      ],
      ['user', 'update', ' RENAMED ', '--username', 'NAME', '--remove-group', ' GROUP ', '--email-verified'],
    ],
    'user show': [['user', 'show', ' NAME ']],
    'user explain': [['user', 'explain', ' NAME ']],
    'user list': [['user', 'list', '--group', ' GROUP ', '--after', ' NAME ', '--search', ' NAME ']],
    'user send-password-link': [['user', 'send-password-link', ' NAME ']],
    'user set-password': [['user', 'set-password', ' NAME ', '--password-stdin']],
    'user end-session': [['user', 'end-session', ' NAME ', 'none']],
    'user end-sessions': [['user', 'end-sessions', ' NAME ']],
    'user end-access': [['user', 'end-access', ' NAME ']],
    'user unlink': [['user', 'unlink', ' NAME ', 'none']],
    'user withdraw-consent': [['user', 'withdraw-consent', ' NAME ', 'none']],
    'user unlock': [['user', 'unlock', ' NAME ']],
    'user disable': [['user', 'disable', ' NAME ']],
    'user enable': [['user', 'enable', ' NAME ']],
    'user confirm-factors': [['user', 'confirm-factors', ' NAME ']],
    'user remove-factor': [['user', 'remove-factor', ' NAME ', 'none']],
    'user reset-factors': [['user', 'reset-factors', ' NAME ']],
    'user export': [['user', 'export', '--group', ' GROUP ']],
    'group add': [['group', 'add', ' another ']],
    'group update': [['group', 'update', ' GROUP ', '--description', 'x']],
    'group show': [['group', 'show', ' GROUP ']],
    'group remove': [['group', 'remove', ' another ', '--yes']],
    'group add-member': [['group', 'add-member', ' GROUP ', ' NAME ']],
    'group remove-member': [['group', 'remove-member', ' GROUP ', ' NAME ']],
    'mail test': [
      [
        'mail',
        'test',
        ' bob@example.com ',
        '--smtp-url',
        'smtp://127.0.0.1:1',
        '--mail-from',
        'a@example.com',
      ],
    ],
    'token issue': [['token', 'issue', '--user', ' NAME ', '--client', 'demo-web']],
    'token revoke': [['token', 'revoke', '--user', ' NAME ']],
    'directory test': [
      ['directory', 'test', ' NAME ', '--ldap-url', 'ldap://127.0.0.1:1', '--ldap-base', 'dc=example'],
    ],
    'directory link': [],
    'personal-token end': [['personal-token', 'end', '--user', ' NAME ']],
    'user remove': [['user', 'remove', ' NAME ', '--yes']],
  };

  test('each command that takes a name or an address takes it with blanks around it', async () => {
    const takesName = (command: Command) =>
      command.registeredArguments.some((one) => /^(NAME|USERNAME|USER|GROUP|ADDRESS)$/.test(one.name())) ||
      command.options.some(({ flags }) =>
        /^--(user|username|email|after|as|group) <(NAME|NEW|ADDRESS)>$/.test(flags),
      );
    const leaves = (command: Command, above: readonly string[]): readonly string[] => {
      const path = [...above, command.name()];
      if (command.commands.length === 0) return takesName(command) ? [path.join(' ')] : [];
      return command.commands.flatMap((one) => leaves(one, path));
    };
    const { commands } = await createProgram();
    const taking = commands.flatMap((command) => leaves(command, []));
    assert.deepEqual(Object.keys(COMMANDS).sort(), [...taking].sort());

    await newPerson(server, 'zoe');
    await grantdPrints(server.folder, ['group', 'add', 'team']);
    for (const args of Object.values(COMMANDS).flat()) {
      const filled = args.map((one) =>
        one
          .replace('RENAMED', 'zoe2')
          .replace('NAME', 'zoe')
          .replace('GROUP', 'team')
          .replaceAll(/^ | $/g, ' \u200b'),
      );
      const { code, stderr } = await grantd(server.folder, filled, { input: 'correct horse' });
      // No server answers at these addresses. What is typed is checked before.
      if (/^(mail|directory)$/.test(filled[0] ?? ''))
        assert.match(stderr, /connect|reach|refused/i, filled.join(' '));
      else if (filled.includes('none'))
        assert.match(stderr, /zoe has (?:no (?:link|session|factor)|given no consent to) none/);
      else assert.equal(code, 0, `${filled.join(' ')}: ${stderr}`);
    }
    const added = JSON.parse(await grantdPrints(server.folder, ['user', 'show', 'added', '--json']));
    assert.deepEqual([added.username, added.claims.email], ['added', 'added@example.com']);
  });

  test('an import and a file of groups take them too', async () => {
    const line = {
      username: ' \u200beve ',
      groups: [' crew\u200b'],
      claims: { email: ' eve@example.com\u200b ', phone_number: ' +441865000000' },
    };
    writeFileSync(join(server.folder, 'people.jsonl'), JSON.stringify(line));
    await grantdPrints(server.folder, ['user', 'import', 'people.jsonl', '--create-groups']);
    const { claims, ...eve } = await withDatabaseOf(server, async ({ people }) => {
      return (await people.byName('eve')) ?? assert.fail('not imported');
    });
    assert.equal(eve.name, 'eve');
    assert.deepEqual(claims, { email: 'eve@example.com', phone_number: '+441865000000' });
    writeFileSync(join(server.folder, 'wrong.yaml'), 'groups: {" staff ": {}}\n');
    const { stderr } = await grantd(server.folder, ['apply', '--file', 'wrong.yaml', '--yes']);
    assert.match(stderr, /expected the name as it is stored, "staff"/);
    writeFileSync(join(server.folder, 'state.yaml'), 'groups: {staff: {members: [" eve "]}}\n');
    await grantdPrints(server.folder, ['apply', '--file', 'state.yaml', '--yes']);
    assert.match(await grantdPrints(server.folder, ['user', 'show', 'eve']), /^groups +crew, staff$/m);
  });
});
