// Long: every format of users and of password hashes.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ServerSecret } from '@grantd/core';
import { newClient } from '../../core/test/storage/samples.ts';
import { requireClaims } from '../src/admin/user_rules.ts';
import type { OpenDatabase } from '../src/data/database.ts';
import { nameKey } from '../src/data/names.ts';
import type { ProgramSecretUse } from '../src/data/secrets.ts';
import { claimsInForm } from '../src/people/claim_forms.ts';
import { convertUser, IMPORT_FORMATS, type ImportFormat } from '../src/people/exports/formats.ts';
import { type LineReport, PeopleImport } from '../src/people/import.ts';
import { ImportFault } from '../src/people/import_faults.ts';
import { readImportLine } from '../src/people/import_lines.ts';
import { readPasswordHash } from '../src/people/password_formats.ts';
import { PasswordHasher } from '../src/people/password_hasher.ts';
import { SessionEnding } from '../src/people/sessions.ts';
import { Browser, isConsent } from './harness/browser.ts';
import { cheapHash } from './harness/cheap_hash.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { ANY_DATABASE, DATABASES } from './harness/databases.ts';
import { IMPORTED_HASHES } from './harness/imported_hashes.ts';
import { environmentOf, type RunningServer, SOURCES, until, Workbench } from './harness/program.ts';
import { addPerson, openDatabase } from './harness/program_data.ts';
import { authorizationUrl, newPkce } from './harness/protocol.ts';
import { withDatabaseOf } from './harness/stored.ts';

const PASSWORD = 'correct horse';

/** Made by Python’s hashlib, node:crypto and bcryptjs, in the forms of several servers. */
const HASHES: Readonly<Record<string, string>> = {
  argon2id:
    '$argon2id$v=19$m=7168,t=5,p=1$MDEyMzQ1Njc4OWFiY2RlZg$2Ek5zMZVGrFVTlHZZgywf+fd0fS6/y+DB3Z5fAX1+zM',
  bcrypt: '$2b$06$RO8ssqjNIF2XroTHENkJO.EMzwhcOTPNbW91IetmNbktKyde1e4M.',
  bcrypt_of_php: '$2y$06$RO8ssqjNIF2XroTHENkJO.EMzwhcOTPNbW91IetmNbktKyde1e4M.',
  scrypt: '$scrypt$ln=14,r=8,p=1$MDEyMzQ1Njc4OWFiY2RlZg$0LupyHkzAIgDr9UDsriAAf87vMbCbcaUfDvFOAHk0D0',
  scrypt_of_kratos:
    '$scrypt$ln=16384,r=8,p=1$MDEyMzQ1Njc4OWFiY2RlZg==$0LupyHkzAIgDr9UDsriAAf87vMbCbcaUfDvFOAHk0D0=',
  pbkdf2:
    '$pbkdf2-sha256$i=27500,l=64$MDEyMzQ1Njc4OWFiY2RlZg$H5R9LZ0QvKxHLm1Lg0IeQXdtUAa+9gf2NeOZns+WHBTpnlaWE/+JwnJ/2OXEjNPW5EusP1xxGLqEqjWDbIcGlg',
  pbkdf2_of_passlib:
    '$pbkdf2-sha512$25000$MDEyMzQ1Njc4OWFiY2RlZg$NAtVcXr7DbXedVbBm.JvbbmENXwAmeETSMIk.8rC9F5GBbGumPcNIpwLppBM7vaXnbPUqZhH3UgUjzNRgCPZMg',
};

/** From the documentation of Firebase’s scrypt, and test vectors of the standards of PBKDF2. */
const PUBLISHED: readonly (readonly [password: string, hash: string])[] = [
  [
    'user1password',
    '$firescrypt$ln=14,r=8,p=1$42xEC+ixf3L2lw==$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==$Bw==$jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==',
  ],
  [
    'password',
    `$pbkdf2-sha1$i=4096$${base64('73616c74')}$${base64('4b007901b765489abead49d926f721d065a429c1')}`,
  ],
  [
    'passwd',
    `$pbkdf2-sha256$i=1$${base64('73616c74')}$${base64('55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783')}`,
  ],
];

/** One for each algorithm that is stored. */
const OF_OTHER_ALGORITHMS = Object.fromEntries(
  Object.entries(IMPORTED_HASHES).filter(([name]) =>
    /^(?:django_bcrypt_sha256|wordpress_6_8|phpass|sha512_crypt|ldap_salted_sha1|better_auth)$/.test(name),
  ),
);

function base64(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64');
}

test('hashes of published examples fit their password alone', async () => {
  const own = Object.values(HASHES).map((text) => [PASSWORD, text] as const);
  for (const [password, text] of [...PUBLISHED, ...own]) {
    const hash = readPasswordHash(text);
    assert.ok('matches' in hash, text);
    assert.equal(hash.isCurrent, false);
    assert.deepEqual([await hash.matches(password), await hash.matches(`${password}x`)], [true, false], text);
  }
});

const partsOf = (opened: OpenDatabase) => ({
  issuer: 'https://id.example',
  ...opened,
  ending: new SessionEnding(opened),
  languageOf: () => 'en',
  clock: Date.now,
  secret: () => new ServerSecret<ProgramSecretUse>('s'.repeat(32)),
});

for (const database of DATABASES)
  test(`a line that names the subject of another user disables nobody on ${database.name}`, {
    skip: database.absence,
  }, async (t) => {
    const opened = await openDatabase(t, database);
    const { subject } = await addPerson(opened, 'alice');
    const wish = {
      id: 'import',
      isDryRun: false,
      updates: true,
      createsGroups: false,
      keepsOldNames: true,
    };
    const work = await PeopleImport.open(partsOf(opened), wish);
    const line = (username: string, disabledSubject: string) => {
      return {
        username,
        subject: disabledSubject,
        claims: {},
        disabled: true,
        digest: username,
        warnings: [],
      };
    };
    const reports: LineReport[] = [];
    const lines = [line('mallory', subject), line('bob', 'new')].map((read, index) => ({
      line: index,
      read,
    }));
    await work.run(lines, (one) => reports.push(one));
    assert.deepEqual(
      reports.map(({ outcome }) => outcome),
      ['failed', 'imported'],
    );
    const isDisabled = async (one: string) =>
      (await opened.storage.getPrincipalState('subject', one))?.disabledAtMs !== undefined;
    assert.deepEqual([await isDisabled(subject), await isDisabled('new')], [false, true]);
  });

for (const database of DATABASES)
  test(`links, entries and invitations come with their user, or not at all, on ${database.name}`, {
    skip: database.absence,
  }, async (t) => {
    const opened = await openDatabase(t, database);
    const link = { provider: 'google', upstreamIssuer: 'https://accounts.google.com', label: 'x' };
    const line = (username: string, upstreamSub: string, directoryId: string) => ({
      ...{ username, subject: `sub-of-${username}`, directoryId, invite: true as const, digest: username },
      ...{ claims: { email: `${username}@example.com` }, links: [{ ...link, upstreamSub }], warnings: [] },
    });
    const lines = [line('ann', '1', 'entry-1'), line('bob', '1', 'entry-2'), line('cat', '2', 'entry-1')];
    const wish = {
      id: 'import',
      isDryRun: false,
      updates: false,
      createsGroups: false,
      keepsOldNames: true,
    };
    for (const outcomes of [
      ['imported', 'imported', 'failed'],
      ['unchanged', 'unchanged', 'failed'],
    ]) {
      const work = await PeopleImport.open(partsOf(opened), wish);
      const reports: LineReport[] = [];
      await work.run(
        lines.map((read, index) => ({ line: index + 1, read })),
        (one) => reports.push(one),
      );
      assert.deepEqual(
        reports.map(({ outcome }) => outcome),
        outcomes,
      );
      const links = await Promise.all(
        lines.map(({ subject }) => opened.upstreamIdentities.ofSubject(subject ?? '')),
      );
      assert.deepEqual(
        links.map((own) => own.map(({ upstreamSub }) => upstreamSub)),
        [['1'], [], []],
      );
      const mails = await opened.mails.list(false, 10);
      assert.deepEqual(mails.map(({ recipient }) => recipient).sort(), [
        'ann@example.com',
        'bob@example.com',
      ]);
      assert.equal((await opened.people.byDirectoryId('entry-1'))?.name, 'ann');
    }
  });

for (const database of ANY_DATABASE)
  test(`a caller who may not import old names adds no name that nobody may choose on ${database.name}`, async (t) => {
    const opened = await openDatabase(t, database);
    await addPerson(opened, 'kate');
    const lines = ['k\u0430te', 'al\u0456ce', '\u2460', 'bob'].map((username, index) => ({
      line: index + 1,
      read: { username, subject: `s-${index}`, claims: {}, digest: username, warnings: [] },
    }));
    const outcomes = async (keepsOldNames: boolean) => {
      const wish = { id: 'import', isDryRun: false, updates: false, createsGroups: false, keepsOldNames };
      const reports: LineReport[] = [];
      await (await PeopleImport.open(partsOf(opened), wish)).run(lines, (one) => reports.push(one));
      return reports.map(({ outcome }) => outcome);
    };
    assert.deepEqual(await outcomes(false), ['exists', 'failed', 'failed', 'imported']);
    assert.deepEqual(await outcomes(true), ['imported', 'imported', 'imported', 'unchanged']);
    assert.deepEqual(await outcomes(false), ['exists', 'unchanged', 'unchanged', 'unchanged']);
  });

/** A user of each format whose groups or roles have the name of the administrators’ group. `undefined` without either. */
const IN_GROUP_OF_ADMINISTRATORS: Readonly<Record<ImportFormat, object | undefined>> = {
  grantd: { username: 'eve', groups: ['admins'] },
  csv: { username: 'eve', groups: 'staff,admins' },
  aspnet: { Id: '1', UserName: 'eve', Roles: 'admins' },
  auth0: undefined,
  authelia: { username: 'eve', groups: ['admins'] },
  'better-auth': { id: '1', email: 'eve@example.com', role: 'user,admins' },
  django: { model: 'auth.user', pk: 1, fields: { username: 'eve', password: '!', groups: [['admins']] } },
  firebase: undefined,
  gitea: { id: 1, name: 'eve', is_admin: 1 },
  keycloak: { id: '1', username: 'eve', groups: ['/admins'] },
  kratos: undefined,
  nextcloud: { uid: 'eve', groups: 'admins' },
  wordpress: { ID: '1', user_login: 'eve', roles: 'admins' },
};

/** Roles besides groups. */
const WITH_ROLE_OF_ADMINISTRATORS: readonly (readonly [ImportFormat, object, string])[] = [
  ['django', { pk: 1, fields: { username: 'eve', password: '!', is_superuser: true } }, 'superuser'],
  ['keycloak', { id: '1', username: 'eve', realmRoles: ['Admins'] }, 'admins'],
  ['keycloak', { id: '1', username: 'eve', clientRoles: { billing: ['admin'] } }, 'billing/admin'],
];

for (const database of ANY_DATABASE)
  test(`no format makes an administrator of a group or a role on ${database.name}`, async (t) => {
    const opened = await openDatabase(t, database);
    const wish = { id: 'import', isDryRun: false, updates: false, createsGroups: true, keepsOldNames: true };
    const outcomeOf = async (format: ImportFormat, user: object, adminGroup: string) => {
      const isAdminGroup = (name: string) => nameKey(name) === nameKey(adminGroup);
      const work = await PeopleImport.open({ ...partsOf(opened), isAdminGroup }, wish);
      const reports: LineReport[] = [];
      const read = convertUser(format, user, { rolesAreGroups: true, dropsUnusableHashes: true });
      await work.run([{ line: 1, read }], (one) => reports.push(one));
      return reports.map(({ outcome, reasons }) => [outcome, String(reasons)]);
    };
    const ofGroups = Object.entries(IN_GROUP_OF_ADMINISTRATORS).flatMap(([name, user]) => {
      const format = IMPORT_FORMATS.find((known) => known === name);
      if (format === undefined || user === undefined) return [];
      return [[format, user, format === 'gitea' ? 'admin' : 'admins'] as const];
    });
    for (const [format, user, group] of [...ofGroups, ...WITH_ROLE_OF_ADMINISTRATORS]) {
      const reason = `groups: ${group} is the group of the administrators: use --allow-administrators`;
      assert.deepEqual(await outcomeOf(format, user, group), [['failed', reason]], format);
    }
    assert.deepEqual((await opened.people.list()).length, 0);
  });

for (const database of ANY_DATABASE)
  test(`RFC 9700 §4.15 no imported user gets the ID of a client as subject on ${database.name}`, async (t) => {
    const opened = await openDatabase(t, database);
    await opened.storage.clients.add(newClient('billing'));
    for (const isDryRun of [true, false]) {
      const wish = { id: 'import', isDryRun, updates: false, createsGroups: false, keepsOldNames: true };
      const work = await PeopleImport.open(partsOf(opened), wish);
      const reports: LineReport[] = [];
      const read = { username: 'mallory', subject: 'billing', claims: {}, digest: 'mallory', warnings: [] };
      await work.run([{ line: 1, read }], (one) => reports.push(one));
      assert.deepEqual(reports, [
        {
          line: 1,
          username: 'mallory',
          outcome: 'failed',
          reasons: [new ImportFault('subject_of_client')],
        },
      ]);
    }
    assert.equal(await opened.people.bySubject('billing'), undefined);
  });

test('a line names everything that is wrong with it, and not more than 20 things', () => {
  const wrong = {
    ...{ username: 7, subject: '-', claims: { sub: '1', x: 'x'.repeat(20_000) }, groups: 'staff' },
    ...{ disabled: 'yes', invite: 1, links: [{}], directory_id: '', created_at: 'today', totp_secret: 'a' },
    ...{ password_hash: 'plain', password: 'plain' },
  };
  const codesOf = (value: object) => {
    const read = readImportLine(value);
    return 'reasons' in read ? read.reasons.map(({ said: [code, first] }) => [code, first]) : [];
  };
  const form = ['subject', 'long_claims', 'claim_sub', 'groups', 'flag', 'flag', 'links', 'directory_id'];
  assert.deepEqual(
    codesOf(wrong).map(([code]) => code),
    [
      'unknown_member',
      'no_username',
      ...form,
      'created_at',
      'totp_secret',
      'hash_beside_directory',
      'password_hash',
    ],
  );
  const beside = {
    username: '',
    claims: 1,
    password_hash: '$2b$10$abcdefghijklmnopqrstuuAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    invite: true,
  };
  assert.deepEqual(
    codesOf(beside).map(([code]) => code),
    ['username', 'claims', 'hash_beside_invitation'],
  );
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`other${at}`, 1]));
  assert.equal(codesOf(many).length, 20);
});

test('a member __proto__ is refused at any depth, in a line and in claims that a command sets', () => {
  for (const claims of [
    '{"__proto__":{"admin":true}}',
    '{"address":{"__proto__":1}}',
    '{"x":[{"\\u005f_proto__":1}]}',
  ]) {
    assert.deepEqual(readImportLine(JSON.parse(`{"username":"x","claims":${claims}}`)), {
      username: 'x',
      reasons: [new ImportFault('prototype')],
    });
    assert.throws(() => requireClaims(JSON.parse(claims)), /expected no member __proto__/);
  }
  const allowed = { nickname: 'my "__proto__": value', constructor: 'x' };
  requireClaims(allowed);
  assert.ok('claims' in readImportLine({ username: 'x', claims: allowed }));
});

test('OpenID Connect Core §5.1 email addresses and phone numbers have one form, however they come', () => {
  const wrong = [
    ...['ada', 'a@b@c', 'a\0@example.com', 'a\u202E@example.com', '<a@example.com>'].map((email) => ({
      email,
    })),
    ...['0', '+44;ext=1', '+441865000000;ext=a', '+44 1865 000000\nx'].map((number) => ({
      phone_number: number,
    })),
  ];
  for (const claims of wrong) {
    const said = JSON.stringify(claims);
    assert.throws(() => requireClaims(claims), /expected an? (address|number)/, said);
    const read = readImportLine({ username: 'x', claims });
    assert.deepEqual('claims' in read && [read.claims, read.warnings.length], [{}, 1], said);
  }
  // The first number is the example of the specification.
  for (const number of ['+1 (604) 555-1234;ext=5678', '06221/12-34', '+44 1865 000000 ext. 5']) {
    const right = { email: 'ada@m\u00FCnchen.example', phone_number: number };
    requireClaims(right);
    const read = readImportLine({ username: 'x', claims: right });
    assert.deepEqual('claims' in read && read.claims, right);
  }
});

test('RFC 8259 §6 a number in a claim that has lost digits is refused, however deep', () => {
  const deep = `${'['.repeat(8000)}1e999${']'.repeat(8000)}`;
  for (const value of ['12345678901234567890', '-1e300', '{"id":[9007199254740993]}', deep])
    for (const name of ['employee', ...(value.startsWith('-') ? ['updated_at'] : [])]) {
      const claims = JSON.parse(`{"${name}":${value}}`);
      assert.throws(() => requireClaims(claims), /expected numbers up to 9007199254740991/, name);
      const read = readImportLine({ username: 'x', claims });
      assert.deepEqual('claims' in read && [read.claims, read.warnings.length], [{}, 1], name);
    }
  const claims = { employee: 9007199254740991, rate: 0.1, id: '12345678901234567890' };
  // An embedding application can have claims of any length.
  assert.deepEqual(claimsInForm({ list: new Array(200_000).fill(1) }).list, new Array(200_000).fill(1));
  requireClaims(claims);
  assert.ok('claims' in readImportLine({ username: 'x', claims }));
});

for (const database of ANY_DATABASE)
  test(`an import makes groups only with names that other ways allow on ${database.name}`, async (t) => {
    const opened = await openDatabase(t, database);
    const wish = { id: 'import', isDryRun: false, updates: false, createsGroups: true, keepsOldNames: true };
    const names = ['', 'ops\nadmins', 'a\0b', 'a\u202Eb', 'adm\u0456ns', 'x'.repeat(129), 'a,b'];
    for (const name of names) {
      const work = await PeopleImport.open(partsOf(opened), wish);
      const reports: LineReport[] = [];
      await work.run([{ line: 1, read: readImportLine({ username: 'eve', groups: [name] }) }], (one) =>
        reports.push(one),
      );
      assert.match(String(reports[0]?.reasons), /^groups: .*: expected /, JSON.stringify(name));
    }
    assert.deepEqual(await opened.groups.list(), []);
  });

test('a text is true or false only if it says so, and no name of a property of all objects', () => {
  for (const text of ['__proto__', 'constructor', 'toString', 'valueOf', 'yes', '1', ''])
    for (const name of ['email_verified', 'phone_number_verified']) {
      const read = readImportLine({ username: 'x', claims: { [name]: text } });
      assert.deepEqual('claims' in read && [read.claims, read.warnings.length], [{}, 1], text);
    }
  const read = readImportLine({
    username: 'x',
    claims: { email_verified: ' TRUE', phone_number_verified: ['false'] },
  });
  assert.deepEqual('claims' in read && read.claims, { email_verified: true, phone_number_verified: false });
});

test('hashes of absurd cost, of other kinds and damaged ones are refused, and say what is expected', () => {
  for (const [text, problem] of [
    [`$2b$31$${'a'.repeat(53)}`, /cost from 4 to 14/],
    [
      '$argon2id$v=19$m=4194304,t=3,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
      /m of at most/,
    ],
    ['$scrypt$ln=24,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD', /N × r × p/],
    ['$scrypt$ln=100,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD', /power of two/],
    ['$pbkdf2-sha256$i=99999999,l=32$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBs', /iterations/],
    ['$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$CTFh', /hash of 16 to 128 bytes/],
    ['wonderland', /argon2/],
  ] as const) {
    const read = readPasswordHash(text);
    assert.ok('problem' in read, text);
    assert.match(read.problem, problem);
  }
});

test('a check of an imported hash makes our own hash too, whether the password fits or not', async () => {
  const hasher = new PasswordHasher();
  const wrong = await hasher.check('wrong', HASHES.bcrypt);
  assert.deepEqual(wrong, { fits: false });
  const { fits, upgraded = '' } = await hasher.check(PASSWORD, HASHES.bcrypt);
  assert.equal(fits, true);
  assert.deepEqual(await hasher.check(PASSWORD, upgraded), { fits: true });
  assert.deepEqual(await hasher.check(PASSWORD, 'no hash'), { fits: false }, 'no error at a sign-in');

  const timed = async (stored: string | undefined) => {
    const begun = performance.now();
    await hasher.check('wrong', stored);
    return performance.now() - begun;
  };
  const [imported, nobody] = [await timed(HASHES.bcrypt), await timed(undefined)];
  assert.ok(imported > nobody / 3, `${imported} ms for somebody, ${nobody} ms for nobody`);
});

for (const database of DATABASES) {
  describe(`import of users on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());
    let server: RunningServer;
    before(async () => {
      server = await workbench.start(await workbench.home(), ['--demo']);
    });

    const prints = (...args: readonly string[]) => grantdPrints(server.folder, args);
    const file = (name: string, ...lines: readonly unknown[]) => {
      const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');
      writeFileSync(join(server.folder, name), `${text}\n`);
      return name;
    };
    const run = async (...args: readonly string[]) => {
      const { code, stdout, stderr } = await grantd(server.folder, ['user', 'import', '--json', ...args]);
      const { import: id, ...counts } = stdout === '' ? { import: '' } : JSON.parse(stdout);
      return { code, stderr, id, counts: Object.values(counts).slice(1) };
    };
    const reportIn = (name: string) =>
      readFileSync(join(server.folder, name), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));

    test('imported users sign in with their password, whose hash becomes argon2id', async () => {
      // In the tests, the program computes argon2 at one low cost.
      const hashes = { ...HASHES, ...OF_OTHER_ALGORITHMS, argon2id: cheapHash(PASSWORD) };
      const lines = Object.entries(hashes).map(([username, password_hash]) => ({ username, password_hash }));
      const { code, counts } = await run(file('hashes.jsonl', ...lines));
      assert.deepEqual([code, counts], [0, [lines.length, 0, 0, 0, 0, 0]]);
      const hashOf = (name: string) =>
        withDatabaseOf(server, async ({ people }) => (await people.byName(name))?.passwordHash ?? '');
      for (const [username, hash] of Object.entries(hashes)) {
        const [browser, stranger, other] = [1, 2, 3].map(() => new Browser(server.url));
        assert.ok(browser && stranger && other);
        const url = authorizationUrl(server.url, newPkce());
        const form = await stranger.get(url);
        assert.equal((await stranger.submit(form, { username, password: 'wrong' })).status, 403, username);
        assert.equal(await hashOf(username), hash, `${username}: a wrong password changes nothing`);
        // Two at once: one replaces the hash, and the other signs in with the new one.
        const pages = await Promise.all(
          [browser, other].map(async (one) =>
            one.submit(await one.get(url), { username, password: PASSWORD }),
          ),
        );
        const shown = pages.map(({ status, html }) => `${status} ${/<h1[^>]*>([^<]*)/.exec(html)?.[1]}`);
        assert.deepEqual(pages.map(isConsent), [true, true], `${username}: ${shown.join(', ')}`);
        const upgraded = await hashOf(username);
        assert.match(upgraded, /^\$argon2id\$v=19\$m=65536,t=3,p=4\$/, username);
        const again = new Browser(server.url);
        assert.ok(isConsent(await again.submit(await again.get(url), { username, password: PASSWORD })));
        assert.equal(await hashOf(username), upgraded, username);
      }
    });

    test('one bad line does not lose the others, and the report says why', async () => {
      await prints('group', 'add', 'staff');
      const name = file(
        'mixed.jsonl',
        { username: 'carol', claims: { name: 'Carol' }, groups: ['Staff'], subject: 'carol-before' },
        '{"username":',
        '',
        { username: 'dora', password_hash: 'wonderland' },
        { username: 'erik', groups: ['unknown'] },
        { username: 'gil', subject: 'carol-before' },
        { username: 'finn', password: 'wonderland' },
        { username: 'CAROL' },
        { username: 'hal', groups: 'staff' },
        { username: 'ida', disabled: true },
      );
      const dry = await run(name, '--dry-run');
      assert.deepEqual([dry.code, dry.counts], [1, [2, 0, 0, 0, 0, 7]]);
      assert.ok(!(await prints('user', 'list')).includes('carol'));
      const { code, stderr, counts } = await run(name, '--report', 'mixed-report.jsonl');
      assert.deepEqual([code, counts], [1, [2, 0, 0, 0, 1, 6]]);
      assert.match(stderr, /7 of 9 lines were not imported: mixed-report.jsonl says why/);
      const report = reportIn('mixed-report.jsonl').sort((one, other) => one.line - other.line);
      assert.deepEqual(
        report.map(({ line, outcome, reasons = [] }) => [line, outcome, reasons.join('; ').split(':')[0]]),
        [
          [1, 'imported', ''],
          [2, 'failed', 'expected JSON'],
          [4, 'failed', 'password_hash'],
          [5, 'failed', 'groups'],
          [6, 'failed', report[4].reasons.join()],
          [7, 'failed', 'password'],
          [8, 'exists', 'the user exists with another username'],
          [9, 'failed', 'groups'],
          [10, 'imported', ''],
        ],
      );
      assert.ok(!readFileSync(join(server.folder, 'mixed-report.jsonl'), 'utf8').includes('wonderland'));
      assert.equal(statSync(join(server.folder, 'mixed-report.jsonl')).mode & 0o777, 0o600);
      const [carol] = JSON.parse(await prints('user', 'list', '--search', 'carol', '--json'));
      assert.deepEqual([carol.sub, carol.groups], ['carol-before', ['staff']]);
      const ida = JSON.parse(await prints('user', 'show', 'ida', '--json'));
      assert.deepEqual([typeof ida.disabled_at, ida.has_password], ['string', false]);
      assert.equal((await run(name, '--report', 'mixed-report.jsonl')).code, 1, 'no report is overwritten');
    });

    test('--update changes what a line says, ends sessions of a new password, and keeps later changes', async () => {
      const line = { username: 'kai', password_hash: HASHES.bcrypt, claims: { name: 'Kai' } };
      const { id } = await run(file('kai.jsonl', line));
      const events: { type: string; target: string }[] = JSON.parse(await prints('events', 'list', '--json'));
      assert.equal(
        events.filter(({ type, target }) => type === 'people_imported' && target === id).length,
        1,
      );
      const browser = new Browser(server.url);
      const url = authorizationUrl(server.url, newPkce());
      const who = { username: 'kai', password: PASSWORD };
      assert.ok(isConsent(await browser.submit(await browser.get(url), who)));
      // The stored hash is another one now, and the line is still the same.
      assert.deepEqual((await run('kai.jsonl')).counts, [0, 0, 1, 0, 0, 0]);
      await prints('user', 'update', 'kai', '--claim', 'nickname=K');
      assert.deepEqual((await run('kai.jsonl', '--update')).counts, [0, 0, 1, 0, 0, 0]);
      const changed = file('kai.jsonl', {
        ...line,
        password_hash: HASHES.scrypt,
        claims: { name: 'Kai B.' },
      });
      assert.deepEqual((await run(changed)).counts, [0, 0, 0, 0, 1, 0]);
      assert.deepEqual((await run(changed, '--update')).counts, [0, 1, 0, 0, 0, 0]);
      const { claims, sessions } = JSON.parse(await prints('user', 'show', 'kai', '--json'));
      assert.deepEqual([claims, sessions], [{ name: 'Kai B.' }, []]);
    });

    test('what export writes, import reads, and hashes are in it only if wanted', async () => {
      await prints('user', 'export', 'all.jsonl', '--with-password-hashes');
      const path = join(server.folder, 'all.jsonl');
      assert.equal(statSync(path).mode & 0o777, 0o600);
      const people = reportIn('all.jsonl');
      assert.ok(people.find(({ username }) => username === 'alice').password_hash.startsWith('$argon2id$'));
      assert.ok(!(await prints('user', 'export')).includes('password_hash'));
      assert.equal((await grantd(server.folder, ['user', 'export', 'all.jsonl'])).code, 1, 'it exists');
      assert.deepEqual((await run('all.jsonl')).counts, [0, 0, people.length, 0, 0, 0]);
      const elsewhere = await workbench.home();
      writeFileSync(join(elsewhere, 'all.jsonl'), readFileSync(path));
      await grantdPrints(elsewhere, ['user', 'import', 'all.jsonl', '--create-groups']);
      await grantdPrints(elsewhere, ['user', 'export', 'back.jsonl', '--with-password-hashes']);
      assert.equal(readFileSync(join(elsewhere, 'back.jsonl'), 'utf8'), readFileSync(path, 'utf8'));
    });

    test('an import that was killed goes on where it was', async () => {
      const howMany = 4000;
      const lines = Array.from({ length: howMany }, (_, index) => ({
        username: `many-${index}`,
        claims: { email: `many-${index}@example.com` },
        groups: ['staff'],
      }));
      const name = file('many.jsonl', ...lines);
      const [node, main] = SOURCES;
      const child = spawn(
        node,
        [main, 'user', 'import', name, '--create-groups', '--report', 'first.jsonl'],
        {
          cwd: server.folder,
          env: { PATH: process.env.PATH, ...environmentOf(server.folder) },
          stdio: ['ignore', 'ignore', 'inherit'],
        },
      );
      const report = join(server.folder, 'first.jsonl');
      await until(() => existsSync(report) && statSync(report).size > 0, 'something is imported', 60_000);
      child.kill('SIGKILL');
      const [, signal] = await once(child, 'exit');
      assert.equal(signal, 'SIGKILL');
      const { code, counts } = await run(name, '--create-groups');
      const [imported = 0, , unchanged = 0] = counts.map(Number);
      assert.deepEqual([code, imported + unchanged], [0, howMany]);
      assert.ok(imported > 0 && unchanged > 0, `${imported} imported, ${unchanged} skipped`);
      const found = JSON.parse(
        await prints('user', 'list', '--search', 'many-', '--group', 'staff', '--json'),
      );
      assert.equal(found.length, howMany);
    });
  });
}

describe('exports of other servers', () => {
  const workbench = new Workbench();
  after(() => workbench.clear());

  /** Imports a file, and returns the users without the hash of their password. */
  async function imported(format: string, content: string) {
    const folder = workbench.folder();
    writeFileSync(join(folder, 'export'), content);
    await grantdPrints(folder, ['user', 'import', 'export', '--format', format, '--create-groups']);
    const lines = (await grantdPrints(folder, ['user', 'export', '--with-password-hashes'])).split('\n');
    const hasher = new PasswordHasher();
    const users: unknown[] = [];
    for (const line of lines) {
      const { password_hash: hash, created_at: _, ...user } = JSON.parse(line);
      assert.equal((await hasher.check(PASSWORD, hash)).fits, true, line);
      users.push(user);
    }
    return users;
  }

  test('a realm export of Keycloak, with PBKDF2 and argon2, but without service accounts', async () => {
    const [, , , salt = '', pbkdf2 = ''] = HASHES.pbkdf2?.split('$') ?? [];
    const [, , , , , argon2 = ''] = HASHES.argon2id?.split('$') ?? [];
    const password = (secretData: object, credentialData: object) => ({
      type: 'password',
      secretData: JSON.stringify(secretData),
      credentialData: JSON.stringify(credentialData),
    });
    const realm = {
      realm: 'acme',
      users: [
        {
          id: '0b3c',
          username: 'kim',
          email: 'kim@example.com',
          emailVerified: true,
          firstName: 'Kim',
          lastName: 'Lee',
          enabled: true,
          attributes: { locale: ['de'], sites: ['a', 'b'] },
          credentials: [
            { type: 'otp', secretData: '{}', credentialData: '{}' },
            password(
              { value: pbkdf2, salt: `${salt}==` },
              { hashIterations: 27500, algorithm: 'pbkdf2-sha256' },
            ),
          ],
          groups: ['/staff', '/staff/berlin'],
        },
        {
          id: '0b3d',
          username: 'lou',
          enabled: false,
          credentials: [
            password(
              { value: `${argon2}=`, salt: `${salt}==` },
              {
                hashIterations: 5,
                algorithm: 'argon2',
                additionalParameters: {
                  hashLength: ['32'],
                  memory: ['7168'],
                  type: ['id'],
                  version: ['1.3'],
                  parallelism: ['1'],
                },
              },
            ),
          ],
        },
        { id: '0b3e', username: 'service-account-x', serviceAccountClientId: 'x', enabled: true },
      ],
    };
    assert.deepEqual(await imported('keycloak', JSON.stringify(realm)), [
      {
        username: 'kim',
        subject: '0b3c',
        claims: {
          locale: 'de',
          sites: ['a', 'b'],
          email: 'kim@example.com',
          email_verified: true,
          given_name: 'Kim',
          family_name: 'Lee',
          name: 'Kim Lee',
        },
        groups: ['staff', 'staff/berlin'],
      },
      { username: 'lou', subject: '0b3d', claims: {}, disabled: true },
    ]);
  });

  test('a password hash export of Auth0', async () => {
    const user = {
      _id: { $oid: '60425da9' },
      email_verified: true,
      email: 'mia@example.com',
      passwordHash: HASHES.bcrypt,
      tenant: 'acme',
      connection: 'Username-Password-Authentication',
      _tmp_is_unique: true,
    };
    assert.deepEqual(await imported('auth0', `${JSON.stringify(user)}\n`), [
      {
        username: 'mia@example.com',
        subject: 'auth0|60425da9',
        claims: { email: 'mia@example.com', email_verified: true },
      },
    ]);
  });

  test('identities of Ory Kratos', async () => {
    const identity = {
      id: '5e1c',
      schema_id: 'default',
      state: 'active',
      traits: { email: 'noa@example.com', name: { first: 'Noa', last: 'Levi' } },
      verifiable_addresses: [{ value: 'noa@example.com', verified: true, via: 'email' }],
      credentials: {
        password: {
          type: 'password',
          identifiers: ['noa@example.com'],
          config: { hashed_password: HASHES.scrypt_of_kratos },
        },
      },
    };
    assert.deepEqual(await imported('kratos', JSON.stringify([identity])), [
      {
        username: 'noa@example.com',
        subject: '5e1c',
        claims: {
          email: 'noa@example.com',
          email_verified: true,
          name: 'Noa Levi',
          given_name: 'Noa',
          family_name: 'Levi',
        },
      },
    ]);
  });
});

describe('what an import leaves out is in the report', () => {
  const workbench = new Workbench();
  after(() => workbench.clear());

  async function reported(format: string, content: string, ...flags: readonly string[]) {
    const folder = workbench.folder();
    writeFileSync(join(folder, 'export'), content);
    const args = ['user', 'import', 'export', '--format', format, '--create-groups', '--report', 'report'];
    const { code, stderr } = await grantd(folder, [...args, ...flags]);
    const lines = readFileSync(join(folder, 'report'), 'utf8').trim().split('\n');
    const exported = await grantdPrints(folder, ['user', 'export', '--with-password-hashes']);
    return {
      ...{ folder, code, stderr, reports: lines.map((line) => JSON.parse(line)) },
      users: exported.split('\n').map((line) => JSON.parse(line)),
    };
  }

  const temporary = {
    ...{ id: 'temp', username: 'tea', email: 'tea@example.com', enabled: true },
    requiredActions: ['UPDATE_PASSWORD', 'VERIFY_EMAIL'],
    credentials: [
      {
        type: 'password',
        temporary: true,
        secretData: JSON.stringify({
          value: 'H5R9LZ0QvKxHLm1Lg0IeQXdtUAa+9gf2NeOZns+WHBQ=',
          salt: 'MDEyMw==',
        }),
        credentialData: JSON.stringify({ hashIterations: 1, algorithm: 'pbkdf2-sha256' }),
      },
    ],
  };

  test('everything that a user of Keycloak can have is imported or reported', async () => {
    const realm = {
      identityProviders: [
        { alias: 'google', providerId: 'google', config: {} },
        { alias: 'partner', providerId: 'oidc', config: { issuer: 'https://partner.example' } },
        { alias: 'azure', providerId: 'microsoft', config: {} },
      ],
      users: [
        {
          ...{ id: 'full', username: 'fee', email: 'fee@example.com', emailVerified: true, enabled: true },
          ...{ firstName: 'Fee', lastName: 'Lee', createdTimestamp: 1, notBefore: 0, totp: true },
          attributes: {
            phoneNumber: ['+441865000000'],
            phone_number_verified: ['true'],
            updated_at: ['1700000000'],
            birthdate: ['1990-01-31'],
            zoneinfo: ['Central Europe'],
            picture: ['me.png'],
            street: ['1 High Street'],
            locality: ['Oxford'],
            country: ['UK'],
            department: ['staff', 'press'],
          },
          credentials: [{ type: 'otp' }, { type: 'webauthn' }, { type: 'recovery-authn-codes' }],
          realmRoles: ['default-roles-acme', 'auditor'],
          clientRoles: { account: ['view-profile'], billing: ['admin'] },
          federatedIdentities: [
            { identityProvider: 'google', userId: '1234', userName: 'fee@gmail.com' },
            { identityProvider: 'partner', userId: 'p-1', userName: 'fee' },
            { identityProvider: 'azure', userId: 'a-1', userName: 'fee' },
          ],
          requiredActions: ['CONFIGURE_TOTP'],
          clientConsents: [{ clientId: 'shop' }],
          groups: [],
        },
        {
          ...{ id: 'entry', username: 'ldap', federationLink: 'ldap-1', enabled: true },
          attributes: { LDAP_ID: ['8f1c'], LDAP_ENTRY_DN: ['uid=ldap,dc=example'] },
        },
        { id: 'lost', username: 'lost', federationLink: 'ldap-1', enabled: true },
        temporary,
        { ...temporary, id: 'silent', username: 'sam', email: undefined },
      ],
    };
    const { folder, code, stderr, reports, users } = await reported('keycloak', JSON.stringify(realm));
    assert.equal(code, 0, stderr);
    assert.match(stderr, /4 of 5 lines have something that was left out: report says of whom/);
    const warningsOf = (name: string) => reports.find(({ username }) => username === name)?.warnings;
    assert.deepEqual(warningsOf('fee'), [
      'credentials: otp: not imported: the user adds it again',
      'credentials: webauthn: not imported: the user adds it again',
      'credentials: recovery-authn-codes: not imported: the user adds it again',
      'requiredActions (CONFIGURE_TOTP): not imported',
      'clientConsents: not imported',
      'roles (auditor, billing/admin): not imported: use --roles-as-groups, or groups or claims',
      'links (azure): not imported, because the issuer is unknown: the user connects the account again on the account page',
      'claims: zoneinfo: left out: expected a time zone such as Europe/Paris',
      'claims: picture: left out: expected a URL such as https://example.com/ada',
    ]);
    const user = (name: string) => users.find(({ username }) => username === name);
    assert.deepEqual(user('fee').claims, {
      address: { street_address: '1 High Street', locality: 'Oxford', country: 'UK' },
      ...{ phone_number: '+441865000000', phone_number_verified: true, updated_at: 1700000000 },
      ...{ birthdate: '1990-01-31', department: ['staff', 'press'] },
      ...{ email: 'fee@example.com', email_verified: true },
      ...{ given_name: 'Fee', family_name: 'Lee', name: 'Fee Lee' },
    });
    const byProvider = (one: { provider: string }, other: { provider: string }) =>
      one.provider < other.provider ? -1 : 1;
    assert.deepEqual(user('fee').links.toSorted(byProvider), [
      { provider: 'google', issuer: 'https://accounts.google.com', sub: '1234', label: 'fee@gmail.com' },
      { provider: 'partner', issuer: 'https://partner.example', sub: 'p-1', label: 'fee' },
    ]);
    assert.deepEqual(
      [user('ldap').directory_id, warningsOf('ldap'), user('ldap').claims],
      ['8f1c', undefined, {}],
    );
    assert.deepEqual(warningsOf('lost'), [
      'federationLink: the entry in the directory is unknown: run grantd directory link',
    ]);
    // A temporary password lets nobody in for longer than one sign-in, so it is not imported.
    assert.deepEqual([user('tea').password_hash, user('sam').password_hash], [undefined, undefined]);
    assert.deepEqual(warningsOf('tea'), [
      'password: it was temporary: the user chooses one by an invitation',
      'requiredActions (VERIFY_EMAIL): not imported',
    ]);
    assert.match(
      warningsOf('sam').at(-1),
      /no email address to send a link to: run grantd user set-password/,
    );
    const mails = JSON.parse(await grantdPrints(folder, ['mail', 'list', '--json']));
    assert.deepEqual(
      mails.map(({ recipient, template }: Record<string, string>) => [recipient, template]),
      [['tea@example.com', 'invite']],
    );
    const again = await grantd(folder, ['user', 'import', 'export', '--format', 'keycloak', '--json']);
    assert.equal(JSON.parse(again.stdout).unchanged, 5);
    assert.equal(
      JSON.parse(await grantdPrints(folder, ['mail', 'list', '--json'])).length,
      1,
      'one invitation',
    );
  });

  test('an attribute of Keycloak is a claim, part of the address, or in the report', () => {
    const convert = (attributes: Readonly<Record<string, readonly string[]>>) => {
      const line = convertUser('keycloak', {
        username: 'ida',
        email: 'i@e.example',
        emailVerified: true,
        attributes,
      });
      return 'reasons' in line ? assert.fail(line.reasons.join()) : line;
    };
    const parts = { street: ['1 High Street'], country: ['UK'] };
    const address = { street_address: '1 High Street', country: 'UK' };
    assert.deepEqual(convert(parts).claims.address, address);
    assert.deepEqual(convert({ ...parts, address: ['By the river'] }).claims.address, {
      formatted: 'By the river',
      ...address,
    });
    assert.deepEqual(convert({ ...parts, address: ['1 High Street', 'UK'] }).claims.address, {
      formatted: '1 High Street\nUK',
      ...address,
    });
    assert.deepEqual(convert({ constructor: ['Ltd'] }).claims, {
      ...{ email: 'i@e.example', email_verified: true, constructor: 'Ltd' },
    });
    for (const name of ['sub', 'groups', 'preferred_username']) {
      const { claims, warnings } = convert({ [name]: ['root'] });
      assert.deepEqual(claims, { email: 'i@e.example', email_verified: true });
      assert.deepEqual(warnings.map(String), [
        `attributes: ${name}: not imported, because grantd sets this claim`,
      ]);
    }
  });

  test('each format reports users who have nothing to sign in with', () => {
    const warningsOf = (format: ImportFormat, user: object) => {
      const line = convertUser(format, user);
      return 'reasons' in line ? assert.fail(line.reasons.join()) : line.warnings.map(String);
    };
    const nothing = 'sign-in: nothing to sign in with is imported: run grantd user set-password';
    const lost: readonly (readonly [ImportFormat, object])[] = [
      ['keycloak', { username: 'ida', email: 'i@e.example', emailVerified: false }],
      ['keycloak', { username: 'ida', federatedIdentities: [{ identityProvider: 'saml', userId: '1' }] }],
      ['auth0', { user_id: 'auth0|1', email: 'i@e.example', email_verified: false }],
      [
        'kratos',
        { id: '1', traits: { email: 'i@e.example' }, credentials: { code: { identifiers: ['i'] } } },
      ],
    ];
    for (const [format, user] of lost) assert.equal(warningsOf(format, user).at(-1), nothing, format);
    // A link to a verified address lets them choose a password.
    assert.deepEqual(
      warningsOf('auth0', { user_id: 'auth0|1', email: 'i@e.example', email_verified: true }),
      [],
    );
    assert.deepEqual(warningsOf('keycloak', { username: 'ida', federationLink: 'ldap' }), [
      'federationLink: the entry in the directory is unknown: run grantd directory link',
    ]);
    assert.deepEqual(warningsOf('grantd', { username: 'ida' }), [], 'as its line says');
  });

  test('a dry run says the same, and invites nobody', async () => {
    const folder = workbench.folder();
    writeFileSync(join(folder, 'export'), JSON.stringify({ users: [temporary] }));
    const args = ['user', 'import', 'export', '--format', 'keycloak', '--dry-run', '--report', 'report'];
    await grantd(folder, args);
    assert.match(readFileSync(join(folder, 'report'), 'utf8'), /it was temporary/);
    assert.deepEqual(JSON.parse(await grantdPrints(folder, ['mail', 'list', '--json'])), []);
  });

  test('links and metadata of Auth0 and Kratos', async () => {
    const ofAuth0 = {
      ...{
        user_id: 'google-oauth2|77',
        email: 'amy@example.com',
        email_verified: true,
        phone_verified: false,
      },
      identities: [
        { provider: 'google-oauth2', user_id: '77', connection: 'google-oauth2', isSocial: true },
        { provider: 'samlp', user_id: 'x', connection: 'corp', isSocial: false },
      ],
      ...{ app_metadata: { roles: ['admin'] }, user_metadata: {}, multifactor: ['guardian'] },
    };
    const auth0 = await reported('auth0', JSON.stringify(ofAuth0));
    assert.deepEqual(auth0.reports[0].warnings, [
      'app_metadata: not imported',
      'multifactor: not imported',
      'links (samlp): not imported, because the issuer is unknown: the user connects the account again on the account page',
    ]);
    assert.deepEqual(auth0.users[0].links, [
      { provider: 'google', issuer: 'https://accounts.google.com', sub: '77', label: 'amy@example.com' },
    ]);
    const ofKratos = {
      ...{
        id: 'k1',
        state: 'active',
        traits: { email: 'kay@example.com', plan: 'gold' },
        metadata_admin: { x: 1 },
      },
      credentials: {
        oidc: { config: { providers: [{ provider: 'github', subject: '99' }] } },
        totp: { type: 'totp', identifiers: ['k1'] },
      },
    };
    const kratos = await reported('kratos', JSON.stringify([ofKratos]));
    assert.deepEqual(kratos.reports[0].warnings, [
      'metadata_admin: not imported',
      'traits: plan: not imported',
      'credentials: totp: not imported',
    ]);
    assert.deepEqual(kratos.users[0].links, [
      { provider: 'github', issuer: 'https://github.com', sub: '99', label: 'kay@example.com' },
    ]);
  });

  test('a link belongs to one user, and a line with another form of it is refused', async () => {
    const link = { provider: 'google', issuer: 'https://accounts.google.com', sub: '1' };
    const lines = [
      { username: 'one', subject: 'one', links: [link] },
      { username: 'two', subject: 'two', links: [link, { ...link, sub: '2' }] },
      { username: 'three', links: [{ ...link, provider: 'Not A Name' }] },
      { username: 'four', links: [{ ...link, issuer: 'google' }] },
      { username: 'five', directory_id: 'x', password_hash: HASHES.bcrypt },
      { username: 'six', invite: true, password_hash: HASHES.bcrypt },
    ];
    const content = lines.map((line) => JSON.stringify(line)).join('\n');
    const { folder, reports, users } = await reported('grantd', content);
    const outcomes = reports.toSorted((one, other) => one.line - other.line);
    assert.deepEqual(
      outcomes.map(({ outcome }) => outcome),
      ['imported', 'imported', 'failed', 'failed', 'failed', 'failed'],
    );
    assert.match(
      outcomes[1].warnings[0],
      /links \(1 at google\): not imported, because another user has this link/,
    );
    assert.deepEqual(
      users.map(({ links }) => links.map(({ sub }: { sub: string }) => sub)),
      [['1'], ['2']],
    );
    // Adds what is missing.
    const more = { ...lines[0], links: [link, { ...link, sub: '3' }] };
    writeFileSync(join(folder, 'more.jsonl'), JSON.stringify(more));
    const updated = await grantd(folder, ['user', 'import', 'more.jsonl', '--update', '--json']);
    assert.equal(JSON.parse(updated.stdout).updated, 1);
    const { links } = JSON.parse(await grantdPrints(folder, ['user', 'show', 'one', '--json']));
    assert.deepEqual(links.length, 2);
  });
});
