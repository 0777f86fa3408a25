// Long: a file of each program, from the file to the report.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { csvRows } from '../src/people/exports/csv_rows.ts';
import { readFirebaseHash } from '../src/people/exports/firebase.ts';
import { convertUser, IMPORT_FORMATS, type ImportFormat } from '../src/people/exports/formats.ts';
import { jsonElements } from '../src/people/exports/json_elements.ts';
import { PasswordHasher } from '../src/people/password_hasher.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import {
  FIREBASE_CONFIG,
  IMPORTED_HASHES,
  IMPORTED_PASSWORD,
  REFUSED_HASHES,
} from './harness/imported_hashes.ts';
import { Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());
const hasher = new PasswordHasher();

const DJANGO_HASH = IMPORTED_HASHES.django_pbkdf2_sha256 ?? '';
const WORDPRESS_HASH = IMPORTED_HASHES.wordpress_6_8 ?? '';

interface Exported {
  readonly username: string;
  readonly password_hash?: string;
  readonly created_at: string;
}

const BEGIN = Date.now();

/** Imports a file, and returns what became of its users. A hash of the right password is `fits`. */
async function imported(format: ImportFormat, content: string | Buffer, ...flags: readonly string[]) {
  const folder = workbench.folder();
  writeFileSync(join(folder, 'export'), content);
  const args = ['user', 'import', 'export', '--format', format, '--create-groups', '--report', 'report'];
  const { code, stderr } = await grantd(folder, [...args, ...flags]);
  const reports = readFileSync(join(folder, 'report'), 'utf8').split('\n').filter(Boolean);
  const users: Record<string, unknown> = {};
  for (const line of (await grantdPrints(folder, ['user', 'export', '--with-password-hashes'])).split('\n')) {
    if (line === '') continue;
    const { username, password_hash: hash, created_at: createdAt, ...user }: Exported = JSON.parse(line);
    const password = hash === undefined ? {} : { password: await passwordOf(hash) };
    const kept = Date.parse(createdAt) < BEGIN ? { created_at: createdAt } : {};
    users[username] = { ...user, ...kept, ...password };
  }
  const warnings = Object.fromEntries(
    reports
      .map((line) => JSON.parse(line))
      .map((one) => [one.username ?? one.line, one.warnings ?? one.reasons?.join('; ')]),
  );
  return { code, stderr, users, warnings };
}

async function passwordOf(hash: string): Promise<string> {
  return (await hasher.check(IMPORTED_PASSWORD, hash)).fits ? 'fits' : 'does not fit';
}

const csv = (...rows: readonly (readonly string[])[]) =>
  rows.map((row) => row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')).join('\r\n');

const DJANGO_FIELDS = {
  ...{ last_login: null, is_superuser: false, first_name: '', last_name: '', email: '', is_staff: false },
  ...{ is_active: true, date_joined: '2026-11-29T20:43:22.115Z', groups: [], user_permissions: [] },
};
/** As Django 5.2 writes it. */
const DJANGO = [
  {
    ...{ model: 'auth.user', pk: 1 },
    fields: {
      ...{ ...DJANGO_FIELDS, username: 'ann', password: DJANGO_HASH, first_name: 'Ann', last_name: 'Lee' },
      ...{ email: 'ann@example.com', groups: [['staff']] },
    },
  },
  {
    ...{ model: 'auth.user', pk: 2 },
    fields: {
      ...{ ...DJANGO_FIELDS, username: 'bob', password: DJANGO_HASH, email: 'bob@example.com' },
      ...{ is_superuser: true, is_staff: true, is_active: false },
    },
  },
  { model: 'auth.user', pk: 3, fields: { ...DJANGO_FIELDS, username: 'cat', password: '!cH1DjTz4KCTuPpq3' } },
];

const NOTHING = 'sign-in: nothing to sign in with is imported: run grantd user set-password';

describe('Django', () => {
  const JOINED = { created_at: DJANGO_FIELDS.date_joined };
  const EXPECTED = {
    ann: {
      subject: '1',
      claims: { email: 'ann@example.com', given_name: 'Ann', family_name: 'Lee', name: 'Ann Lee' },
      groups: ['staff'],
      password: 'fits',
      ...JOINED,
    },
    bob: { subject: '2', claims: { email: 'bob@example.com' }, disabled: true, password: 'fits', ...JOINED },
    cat: { subject: '3', claims: {}, ...JOINED },
  };

  test('a dump of users, with what is left out', async () => {
    const { code, users, warnings, stderr } = await imported('django', JSON.stringify(DJANGO));
    assert.deepEqual([code, users], [0, EXPECTED], stderr);
    assert.deepEqual(warnings, {
      ann: undefined,
      bob: ['roles (staff, superuser): not imported: use --roles-as-groups, or groups or claims'],
      cat: [NOTHING],
    });
    assert.match(
      stderr,
      /^grantd: 1 user: roles: not imported: use --roles-as-groups, or groups or claims$/m,
    );
    assert.match(stderr, /^grantd: 2 of 3 lines have something that was left out: report says of whom\.$/m);
  });

  test('options: roles become groups, and addresses are verified', async () => {
    const { users } = await imported(
      'django',
      JSON.stringify(DJANGO),
      ...['--roles-as-groups', '--emails-verified'],
    );
    const { ann, bob, cat } = EXPECTED;
    const isVerified = { email_verified: true };
    assert.deepEqual(users, {
      ann: { ...ann, claims: { ...ann.claims, ...isVerified } },
      bob: { ...bob, claims: { ...bob.claims, ...isVerified }, groups: ['staff', 'superuser'] },
      cat,
    });
  });

  test('another model is skipped, and groups by number are reported', async () => {
    const other = { model: 'auth.group', pk: 1, fields: { name: 'staff', permissions: [] } };
    const [ann] = DJANGO;
    const numbered = { ...ann, fields: { ...ann?.fields, groups: [1] } };
    const { warnings } = await imported('django', JSON.stringify([other, numbered]));
    assert.deepEqual(warnings, {
      1: 'auth.group is no model of users, which have a password',
      ann: ['groups (1): not imported: export with --natural-foreign'],
    });
  });

  const PYTHON = process.env.PYTHON ?? 'python3';
  const hasDjango = spawnSync(PYTHON, ['-c', 'import django'], { stdio: 'ignore' }).status === 0;
  const skip = hasDjango ? false : 'Python or Django is not installed (pip install django, PYTHON=…)';
  test('a dump that Django itself makes', { skip }, async () => {
    const script = fileURLToPath(new URL('harness/django_users.py', import.meta.url));
    const { stdout, stderr } = spawnSync(PYTHON, [script], { encoding: 'utf8' });
    assert.deepEqual((await imported('django', stdout)).users, EXPECTED, stderr);
  });
});

/** From the documentation of Firebase’s scrypt. */
const FIREBASE_HASH = {
  passwordHash: 'lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==',
  salt: '42xEC+ixf3L2lw==',
};

describe('Firebase', () => {
  const user = {
    ...{ localId: 'uid-1', email: 'ann@example.com', emailVerified: true, ...FIREBASE_HASH },
    ...{ displayName: 'Lee, Ann', photoUrl: 'https://example.com/a.png', phoneNumber: '+441865000000' },
  };
  const claims = {
    ...{ email: 'ann@example.com', email_verified: true, name: 'Lee, Ann' },
    ...{ picture: 'https://example.com/a.png', phone_number: '+441865000000', phone_number_verified: true },
  };
  const link = {
    ...{ provider: 'google', issuer: 'https://accounts.google.com', sub: '1234', label: 'ann@gmail.com' },
  };

  test('an export as JSON and as CSV, with the parameters of the project', async () => {
    const config = join(workbench.folder(), 'hash_config');
    writeFileSync(config, FIREBASE_CONFIG, { mode: 0o600 });
    const google = { providerId: 'google.com', rawId: '1234', email: 'ann@gmail.com' };
    const json = {
      users: [
        {
          ...{
            ...user,
            lastSignedInAt: '1',
            createdAt: '1600000000000',
            disabled: false,
            customAttributes: '{"a":1}',
          },
          providerUserInfo: [google, { providerId: 'facebook.com', rawId: '9' }],
        },
        { localId: 'uid-2', phoneNumber: '+441865000001', disabled: true, createdAt: '1600000000000' },
      ],
    };
    // As firebase-tools writes a row: unquoted unless there is a comma, and with a comma at the end.
    const row = [
      ...['uid-1', user.email, 'true', user.passwordHash, user.salt, `"${user.displayName}"`, user.photoUrl],
      ...['1234', 'ann@gmail.com', '', '', '9', '', '', '', '', '', '', '', '', '', '', ''],
      ...['1600000000000', '1', user.phoneNumber, 'false', '"{""a"":1}"', ''],
    ];
    const other = `uid-2,,false,,,,,${','.repeat(15)},1600000000000,1,+441865000001,true,,`;
    for (const content of [JSON.stringify(json), `${row.join(',')}\n${other}\n`]) {
      const { users, warnings } = await imported('firebase', content, '--firebase-hash-config', config);
      const { 'ann@example.com': ann, '+441865000001': bob } = users;
      const created = { created_at: '2020-09-13T12:26:40.000Z' };
      assert.deepEqual(ann, {
        subject: 'uid-1',
        ...created,
        claims,
        links: [link],
        password: 'does not fit',
      });
      assert.deepEqual(bob, {
        ...{ subject: 'uid-2', disabled: true, ...created },
        claims: { phone_number: '+441865000001', phone_number_verified: true },
      });
      assert.deepEqual(warnings, {
        'ann@example.com': [
          'customAttributes: not imported',
          'links (facebook.com): not imported, because the issuer is unknown: the user connects the account again on the account page',
        ],
        '+441865000001': [NOTHING],
      });
    }
    const line = convertUser('firebase', user, { firebaseHash: readFirebaseHash(FIREBASE_CONFIG) });
    assert.ok('passwordHash' in line);
    assert.equal((await hasher.check('user1password', line.passwordHash)).fits, true);
  });

  test('without the parameters, a user with a password is refused, and the reason says what is missing', async () => {
    const { code, warnings } = await imported('firebase', JSON.stringify({ users: [user] }));
    assert.equal(code, 1);
    assert.match(String(warnings['ann@example.com']), /expected --firebase-hash-config FILE/);
  });

  test('the file with the parameters is private, complete, and for Firebase alone', async () => {
    const folder = workbench.folder();
    writeFileSync(join(folder, 'export'), '{"users":[]}');
    const tried = async (mode: number, content: string, format = 'firebase') => {
      const name = `config-${mode}-${content.length}`;
      writeFileSync(join(folder, name), content, { mode });
      const args = ['user', 'import', 'export', '--format', format, '--firebase-hash-config', name];
      const { code, stderr } = await grantd(folder, [...args, '--create']);
      return `${code} ${stderr}`;
    };
    assert.match(await tried(0o600, FIREBASE_CONFIG), /^0 /);
    assert.match(await tried(0o644, FIREBASE_CONFIG), /^2 .*--firebase-hash-config: .* is open to others/);
    assert.match(await tried(0o600, 'rounds: 8'), /^1 .*expected base64_signer_key/);
    assert.match(await tried(0o600, FIREBASE_CONFIG, 'keycloak'), /^2 .*with --format firebase/);
  });
});

describe('WordPress', () => {
  const columns = ['ID', 'user_login', 'user_email', 'display_name', 'user_registered', 'roles', 'user_pass'];
  const row = ['7', 'ann', 'ann@example.com', 'Ann "A" Lee', '2016-06-03 04:37:00', 'editor', WORDPRESS_HASH];

  test('a list of users as CSV and as JSON', async () => {
    const json = Object.fromEntries(columns.map((name, index) => [name, row[index] ?? '']));
    for (const content of [csv(columns, row), JSON.stringify([{ ...json, ID: 7 }])]) {
      const { code, users, warnings } = await imported('wordpress', content);
      assert.equal(code, 0);
      assert.deepEqual(users, {
        ann: {
          ...{ subject: '7', claims: { email: 'ann@example.com', name: 'Ann "A" Lee' }, password: 'fits' },
          created_at: '2016-06-03T04:37:00.000Z',
        },
      });
      assert.deepEqual(warnings, {
        ann: ['roles (editor): not imported: use --roles-as-groups, or groups or claims'],
      });
    }
  });
});

test('Authelia: users of users_database.yml, with unknown members in the report', async () => {
  const yaml = `
users:
  ann:
    disabled: false
    displayname: "Ann Lee"
    password: "${IMPORTED_HASHES.authelia_pbkdf2}"
    email: ann@example.com
    groups: [admins, dev]
    given_name: Ann
    address: { locality: Oxford }
    extra: { floor: 3 }
  bob:
    disabled: true
    displayname: Bob
    password: "${IMPORTED_HASHES.sha512_crypt}"
    email: bob@example.com
`;
  const { code, users, warnings } = await imported('authelia', yaml);
  assert.equal(code, 0);
  assert.equal(typeof (users.ann as { subject: string }).subject, 'string');
  const withoutSubject = Object.entries(users).map(([name, user]) => [
    name,
    { ...(user as object), subject: undefined },
  ]);
  assert.deepEqual(Object.fromEntries(withoutSubject), {
    ann: {
      ...{ subject: undefined, groups: ['admins', 'dev'], password: 'fits' },
      claims: {
        ...{ given_name: 'Ann', address: { locality: 'Oxford' }, email: 'ann@example.com', name: 'Ann Lee' },
      },
    },
    bob: {
      ...{ subject: undefined, claims: { email: 'bob@example.com', name: 'Bob' } },
      ...{ disabled: true, password: 'fits' },
    },
  });
  assert.deepEqual(warnings.ann, ['extra: not imported']);
});

test('Nextcloud, Gitea, ASP.NET Identity and better-auth: rows as their databases write them', async () => {
  const cases: readonly (readonly [
    ImportFormat,
    string,
    Record<string, unknown>,
    Record<string, unknown>,
  ])[] = [
    [
      'nextcloud',
      // As mysql --batch prints it.
      [
        'uid\tdisplayname\tpassword\temail\tenabled\tgroups',
        `ann\tAnn Lee\t${IMPORTED_HASHES.nextcloud_3}\tann@example.com\tNULL\tstaff,press`,
        `bob\tNULL\t${IMPORTED_HASHES.nextcloud_1}\tNULL\tfalse\tNULL`,
      ].join('\n'),
      {
        ann: {
          claims: { email: 'ann@example.com', name: 'Ann Lee' },
          ...{ groups: ['press', 'staff'], password: 'fits' },
        },
        bob: { claims: {}, disabled: true, password: 'fits' },
      },
      {},
    ],
    [
      'gitea',
      JSON.stringify([
        {
          ...{
            id: 3,
            lower_name: 'ann',
            name: 'Ann',
            full_name: 'Ann Lee',
            email: 'ann@example.com',
            type: 0,
          },
          ...{
            login_type: 0,
            is_active: 1,
            prohibit_login: 0,
            is_admin: 1,
            created_unix: 1600000000,
            num_repos: 4,
          },
          ...{ passwd_hash_algo: 'pbkdf2$50000$50', salt: '0f1e2d3c4b5a69788796a5b4c3d2e1f0' },
          passwd:
            '9b03bb3ea5daa81303a3821a3d106714e1591ddfd4ca1cca9de438a26abec7da755751ad2f822cdc79e80f321fb91464a96a',
        },
        { id: 4, name: 'acme', type: 1 },
        { id: 5, name: 'bob', type: 0, login_type: 2, is_active: 1, passwd: 'aa', email: 'bob@example.com' },
      ]),
      {
        Ann: {
          subject: '3',
          claims: { email: 'ann@example.com', email_verified: true, name: 'Ann Lee' },
          created_at: '2020-09-13T12:26:40.000Z',
          password: 'fits',
        },
        bob: { subject: '5', claims: { email: 'bob@example.com', email_verified: true } },
      },
      {
        Ann: ['roles (admin): not imported: use --roles-as-groups, or groups or claims'],
        acme: 'an organisation or a reserved name',
        bob: ['login_type: the password is elsewhere, so none is imported'],
      },
    ],
    [
      'aspnet',
      csv(
        [
          'Id',
          'UserName',
          'Email',
          'EmailConfirmed',
          'PasswordHash',
          'TwoFactorEnabled',
          'LockoutEnd',
          'Plan',
        ],
        [
          'a-1',
          'ann',
          'ann@example.com',
          'True',
          IMPORTED_HASHES.aspnet_v3_sha512 ?? '',
          '1',
          'NULL',
          'gold',
        ],
        ['a-2', 'bob', '', '0', IMPORTED_HASHES.aspnet_v2 ?? '', '0', '9999-12-31 23:59:59 +00:00', ''],
      ),
      {
        ann: {
          subject: 'a-1',
          claims: { email: 'ann@example.com', email_verified: true },
          password: 'fits',
        },
        bob: { subject: 'a-2', claims: {}, disabled: true, password: 'fits' },
      },
      {
        ann: [
          'Plan: not imported',
          'TwoFactorEnabled: second factors are not imported: the user adds them again',
        ],
      },
    ],
    [
      'better-auth',
      `${JSON.stringify({
        ...{ id: 'b-1', name: 'Ann', email: 'ann@example.com', emailVerified: true, role: 'user' },
        accounts: [
          { providerId: 'credential', accountId: 'b-1', password: IMPORTED_HASHES.better_auth },
          { providerId: 'google', accountId: '1234', password: null },
        ],
      })}\n`,
      {
        'ann@example.com': {
          subject: 'b-1',
          claims: { name: 'Ann', email: 'ann@example.com', email_verified: true },
          links: [
            {
              ...{ provider: 'google', issuer: 'https://accounts.google.com' },
              ...{ sub: '1234', label: 'ann@example.com' },
            },
          ],
          password: 'fits',
        },
      },
      {},
    ],
  ];
  for (const [format, content, expected, left] of cases) {
    const { code, stderr, users, warnings } = await imported(format, content);
    assert.equal(code, 0, stderr);
    for (const [name, user] of Object.entries(expected)) {
      const { subject, ...others } = users[name] as { subject: string };
      const hasSubject = format !== 'nextcloud';
      assert.deepEqual(hasSubject ? { subject, ...others } : others, user, `${format}: ${name}`);
    }
    assert.equal(Object.keys(users).length, Object.keys(expected).length, format);
    for (const [name, texts] of Object.entries(warnings))
      assert.deepEqual(texts, left[name], `${format}: ${name}`);
  }
});

test('a table names its columns like the members of a line, and other columns are claims', async () => {
  const { code, users } = await imported(
    'csv',
    `\ufeffusername;password_hash;groups;disabled;email;email_verified;department\r\nann;${DJANGO_HASH};staff,press;no;ann@example.com;true;"a;b"\r\n\r\nbob;;;yes;;;\r\n`,
  );
  assert.equal(code, 0);
  const { ann, bob } = users as Record<string, { subject: string }>;
  assert.deepEqual(
    { ...ann, subject: 'x' },
    {
      ...{ subject: 'x', groups: ['press', 'staff'], password: 'fits' },
      claims: { email: 'ann@example.com', email_verified: true, department: 'a;b' },
    },
  );
  assert.deepEqual({ ...bob, subject: 'x' }, { subject: 'x', claims: {}, disabled: true });
});

test('a hash that is too weak refuses its line, or is dropped if the operator says so', async () => {
  const table = csv(
    ['username', 'password_hash', 'email'],
    ['ann', REFUSED_HASHES.django_md5 ?? '', 'a@b.example'],
  );
  const refused = await imported('csv', table);
  assert.equal(refused.code, 1);
  assert.match(String(refused.warnings.ann), /^password_hash: expected a stronger hash/);
  const dropped = await imported('csv', table, '--drop-unusable-hashes', '--emails-verified');
  assert.equal(dropped.code, 0);
  assert.match(String(dropped.warnings.ann), /^password_hash: not imported: expected a stronger hash/);
});

test('Keycloak: roles become groups if the operator says so, and providers may be behind the users', async () => {
  const realm = {
    users: [
      {
        ...{ id: '1', username: 'ann', groups: ['/staff'], realmRoles: ['default-roles-x', 'auditor'] },
        federatedIdentities: [{ identityProvider: 'partner', userId: 'p-1', userName: 'ann' }],
      },
    ],
    identityProviders: [
      { alias: 'partner', providerId: 'oidc', config: { issuer: 'https://partner.example' } },
    ],
  };
  const { users, warnings } = await imported('keycloak', JSON.stringify(realm, null, 2), '--roles-as-groups');
  assert.deepEqual(users.ann, {
    ...{ subject: '1', claims: {}, groups: ['auditor', 'staff'] },
    links: [{ provider: 'partner', issuer: 'https://partner.example', sub: 'p-1', label: 'ann' }],
  });
  assert.deepEqual(warnings, { ann: undefined });
});

test('a file that is cut off or in another format is refused, and says what was expected', async () => {
  const cases: readonly (readonly [ImportFormat, string, RegExp])[] = [
    ['keycloak', '{"users":[{"username":"ann"},{"user', /export: the file ends in the middle of the JSON/],
    ['keycloak', '{"realm":"x","roles":["users"]}', /export: the file has no JSON list, and no list users/],
    ['keycloak', 'username,email\n', /export: expected JSON, as keycloak exports it/],
    ['django', ']', /export: expected JSON, as django exports it/],
    ['authelia', 'users: [', /export: expected YAML, as in users_database.yml/],
    ['authelia', '- a\n- b\n', /export: expected the member users/],
    ['csv', '', /export: the file is empty/],
    ['csv', 'username,name\nann,"Ann\n', /export: the file ends inside of a quoted field/],
  ];
  for (const [format, content, message] of cases) {
    const { code, stderr } = await imported(format, content);
    assert.match(stderr, message, `${format}: ${content}`);
    assert.equal(code, 1, stderr);
  }
});

async function* inParts(text: string, size: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}

test('JSON and CSV in parts of any size are read like the whole', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.jsonValue(), { maxLength: 5 }),
      fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 }),
      fc.integer({ min: 1, max: 9 }),
      fc.boolean(),
      async (users, { users: _, ...others }, size, isIndented) => {
        const [before, after] = [Object.entries(others).slice(0, 2), Object.entries(others).slice(2)];
        const document = { ...Object.fromEntries(before), users, ...Object.fromEntries(after) };
        const pages = [document, users].map((json) => JSON.stringify(json, null, isIndented ? 1 : 0));
        for (const [index, text] of [...pages, `${pages[1]}\n${pages[1]}`].entries()) {
          const read: unknown[] = [];
          for await (const element of jsonElements(inParts(text, size), 'users'))
            read.push(JSON.parse(element ?? ''));
          const expected = JSON.parse(JSON.stringify(users));
          assert.deepEqual(read, index === 2 ? [...expected, ...expected] : expected, text);
        }
      },
    ),
    { numRuns: 300 },
  );
  const cell = fc.string({ unit: fc.constantFrom(...'ab",;\n\r\t é'), maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 9 }),
      async (cells, size) => {
        const all = [['a', 'b', 'c'], ...cells];
        const read: unknown[] = [];
        for await (const row of csvRows(inParts(csv(...all), size))) read.push(row);
        assert.deepEqual(read, all);
      },
    ),
    { numRuns: 300 },
  );
});

test('whatever a user of an export contains, the outcome is a user or a problem of the line', async () => {
  const names = [
    ...[
      'username',
      'subject',
      'password_hash',
      'groups',
      'claims',
      'links',
      'id',
      'ID',
      'email',
      'credentials',
    ],
    ...[
      'attributes',
      'federatedIdentities',
      'requiredActions',
      'realmRoles',
      'clientRoles',
      'model',
      'pk',
      'fields',
    ],
    ...[
      'password',
      'passwd',
      'passwd_hash_algo',
      'salt',
      'passwordHash',
      'providerUserInfo',
      'identities',
      'traits',
    ],
    ...[
      'accounts',
      'user_login',
      'user_pass',
      'roles',
      'uid',
      'name',
      'UserName',
      'PasswordHash',
      '_id',
      '__proto__',
    ],
    ...[
      'secretData',
      'credentialData',
      'type',
      'additionalParameters',
      'verifiable_addresses',
      'displayname',
    ],
    ...[
      'localId',
      'is_active',
      'user_id',
      'address',
      'invite',
      'disabled',
      'federationLink',
      'login_type',
      'LockoutEnd',
    ],
  ];
  const scalar = fc.oneof(
    ...[fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.constantFrom(...names)],
    ...[fc.constantFrom(...Object.values(IMPORTED_HASHES), '{}', '[]', '[{}]', 'true', 'NULL', '9999-12-31')],
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, depthSize: 'medium' },
      scalar,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...names), tie('value'), { maxKeys: 8 }),
    ),
  }));
  const user = fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 14 });
  const options = {
    rolesAreGroups: true,
    emailsAreVerified: true,
    firebaseHash: readFirebaseHash(FIREBASE_CONFIG),
  };
  fc.assert(
    fc.property(fc.oneof(user, value), fc.boolean(), (any, dropsUnusableHashes) => {
      const json: unknown = JSON.parse(JSON.stringify(any) ?? 'null');
      for (const format of IMPORT_FORMATS) {
        const line = convertUser(format, json, { ...options, dropsUnusableHashes });
        if ('reasons' in line) assert.ok(line.reasons.join().length > 0, format);
        else assert.equal(typeof line.digest, 'string');
      }
    }),
    { numRuns: 3000 },
  );
});
