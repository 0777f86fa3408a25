// Exports that other programs have written, from the file to the sign-in.
import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Secret, TOTP } from 'otpauth';
import { convertUser } from '../src/people/exports/formats.ts';
import { readImportLine } from '../src/people/import_lines.ts';
import { Browser, isConsent } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { FIREBASE_CONFIG } from './harness/imported_hashes.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { authorizationUrl, newPkce } from './harness/protocol.ts';
import { withDatabaseOf } from './harness/stored.ts';

const EXPORTS = fileURLToPath(new URL('exports/', import.meta.url));

/** The program has hashed these passwords itself. */
const passwordOf = (name: string) => `tulip ${name} 4711`;

/** The secret of Otto’s app. Keycloak keeps its bytes as a text. */
const OTTO = 'VB02UwHijA57NE3dv3ST';

describe('users of an export sign in', () => {
  const workbench = new Workbench();
  let server: RunningServer;
  before(async () => {
    // Other programs’ hashes fit only at their own cost.
    server = await workbench.start(await workbench.home(), ['--demo'], { NODE_OPTIONS: '' });
  });
  after(() => workbench.clear());

  async function imported(
    file: string,
    format: string,
    flags: readonly string[] = [],
    folder = server.folder,
  ) {
    copyFileSync(join(EXPORTS, file), join(folder, file));
    const report = `report-${format}`;
    const args = ['user', 'import', file, '--format', format, '--create-groups', '--report', report];
    const { code, stderr } = await grantd(folder, [...args, ...flags]);
    assert.equal(code, 0, stderr);
    const lines = readFileSync(join(folder, report), 'utf8').trim().split('\n');
    return new Map(
      lines.map((line) => JSON.parse(line)).map(({ username, warnings }) => [username, warnings]),
    );
  }

  async function afterPassword(browser: Browser, username: string, name = username) {
    const form = await browser.get(authorizationUrl(server.url, newPkce()));
    return browser.submit(form, { username, password: passwordOf(name) });
  }

  const addedAt = async (name: string) =>
    JSON.parse(await grantdPrints(server.folder, ['user', 'show', name, '--json'])).created_at;

  test('of Keycloak 26.0.7, with their authenticator apps', async () => {
    const warnings = await imported('keycloak_26_0_7.json', 'keycloak');
    const left = (facts: string) => [
      `credentials: otp (${facts}): not imported: the server knows totp with HmacSHA1, 6 digits and 30 s: the user adds it again`,
    ];
    assert.deepEqual(Object.fromEntries(warnings), {
      ida: undefined,
      olga: left('totp, HmacSHA1, 8 digits, 30 s'),
      omar: left('totp, HmacSHA256, 6 digits, 30 s'),
      oona: left('hotp, HmacSHA1, 6 digits, 30 s'),
      otto: undefined,
      pia: undefined,
    });
    for (const name of ['ida', 'olga', 'omar', 'oona', 'pia'])
      assert.ok(isConsent(await afterPassword(new Browser(server.url), name)), name);
    const browser = new Browser(server.url);
    const step = await afterPassword(browser, 'otto');
    assert.ok(!isConsent(step), 'the password alone does not let Otto in');
    const app = new TOTP({ secret: Secret.fromUTF8(OTTO) });
    const wrong = await browser.submit(step, { code: app.generate({ timestamp: 0 }) });
    assert.ok(!isConsent(wrong));
    assert.ok(isConsent(await browser.submit(wrong, { code: app.generate() })));
    assert.equal(await addedAt('otto'), '2026-11-30T00:33:09.929Z');
    const sealed = await withDatabaseOf(server, ({ factors }) => factors.sealedTotps());
    assert.equal(sealed.length, 1);
    const stored = JSON.stringify(sealed);
    assert.ok(
      !stored.includes(OTTO) && !stored.includes(Secret.fromUTF8(OTTO).base32),
      'the secret is sealed',
    );
  });

  test('of WordPress 6.1.9', async () => {
    await imported('wordpress_6_1_9.json', 'wordpress');
    for (const name of ['walter', 'wanda'])
      assert.ok(isConsent(await afterPassword(new Browser(server.url), name)), name);
    assert.equal(await addedAt('walter'), '2019-05-31T12:34:56.000Z');
  });

  // Its emulator has made the users, but no hashes: this one is of the npm package firebase-scrypt.
  test('of firebase-tools 15.34.2, from JSON and from CSV', async () => {
    const other = await workbench.home();
    const FIREBASE = 'firebase_tools_15_34_2';
    const outcomes = [];
    for (const [kind, folder] of [
      ['json', server.folder],
      ['csv', other],
    ] as const) {
      writeFileSync(join(folder, 'hash_config'), FIREBASE_CONFIG, { mode: 0o600 });
      const flags = ['--firebase-hash-config', join(folder, 'hash_config')];
      const warnings = await imported(`${FIREBASE}.${kind}`, 'firebase', flags, folder);
      const users = (await grantdPrints(folder, ['user', 'export'])).split('\n');
      const ofFirebase = users.filter((line) => line !== '' && warnings.has(JSON.parse(line).username));
      outcomes.push({ warnings: Object.fromEntries(warnings), users: ofFirebase });
    }
    assert.deepEqual(outcomes[1], outcomes[0]);
    const connect = 'the user connects the account again on the account page';
    assert.deepEqual(outcomes[0]?.warnings, {
      'fay@example.com': ['customAttributes: not imported'],
      'microsoft@example.com': [
        `links (microsoft.com): not imported, because the issuer is unknown: ${connect}`,
      ],
      'github@example.com': undefined,
      'apple@example.com': undefined,
      'google@example.com': undefined,
      '+15555550100': ['sign-in: nothing to sign in with is imported: run grantd user set-password'],
    });
    const links = (outcomes[0]?.users ?? []).flatMap((line) => JSON.parse(line).links ?? []);
    const known = links.map(({ issuer, sub }) => `${issuer} ${sub}`).toSorted();
    assert.deepEqual(known, [
      'https://accounts.google.com g-1',
      'https://appleid.apple.com 001234.abc.0987',
      'https://github.com 4711',
    ]);
    assert.ok(isConsent(await afterPassword(new Browser(server.url), 'fay@example.com', 'fay')));
  });
});

test('each format with a time of creation keeps it, and says if it cannot read it', () => {
  const iso = '2021-04-05T06:07:08.000Z';
  const seconds = Date.parse(iso) / 1000;
  const users = {
    csv: (time: unknown) => ({ username: 'ann', created_at: time }),
    auth0: (time: unknown) => ({ email: 'ann@example.com', created_at: time }),
    'better-auth': (time: unknown) => ({ id: '1', email: 'ann@example.com', createdAt: time }),
    django: (time: unknown) => ({ pk: 1, fields: { username: 'ann', password: '!', date_joined: time } }),
    firebase: (time: unknown) => ({ localId: '1', email: 'ann@example.com', createdAt: time }),
    gitea: (time: unknown) => ({ id: 1, name: 'ann', created_unix: time }),
    keycloak: (time: unknown) => ({ id: '1', username: 'ann', createdTimestamp: time }),
    kratos: (time: unknown) => ({ id: '1', traits: { username: 'ann' }, created_at: time }),
    wordpress: (time: unknown) => ({ ID: 1, user_login: 'ann', user_registered: time }),
  } as const;
  for (const format of [
    'csv',
    'auth0',
    'better-auth',
    'django',
    'firebase',
    'gitea',
    'keycloak',
    'kratos',
    'wordpress',
  ] as const) {
    const read = (time: unknown) => {
      const line = convertUser(format, users[format](time));
      assert.ok(!('reasons' in line), JSON.stringify(line));
      const said = line.warnings.map(String).filter((warning) => warning.startsWith('created_at'));
      return [line.createdAtMs, said];
    };
    for (const time of [
      ...[
        iso,
        '2021-04-05T06:07:08Z',
        '2021-04-05 06:07:08',
        '2021-04-05 08:07:08.000+02',
        '2021-04-05 04:07:08-0200',
      ],
      ...[seconds, seconds * 1000, String(seconds * 1000)],
    ])
      assert.deepEqual(read(time), [seconds * 1000, []], `${format}: ${time}`);
    for (const absent of [undefined, '0000-00-00 00:00:00', 0])
      assert.deepEqual(read(absent), [undefined, []], `${format}: ${absent}`);
    assert.deepEqual(read('yesterday'), [undefined, ['created_at: not imported: expected a time']], format);
  }
  const mongo = convertUser('auth0', { email: 'ann@example.com', created_at: { $date: iso } });
  assert.equal('createdAtMs' in mongo && mongo.createdAtMs, seconds * 1000);
});

test('an app of Keycloak is imported if the server can check its codes', () => {
  const otp = (data: object, value = 'abcdefghijklmnopqrst') => ({
    type: 'otp',
    secretData: JSON.stringify({ value }),
    credentialData: JSON.stringify({
      ...{ subType: 'totp', digits: 6, period: 30, algorithm: 'HmacSHA1', counter: 0, ...data },
    }),
  });
  const read = (...credentials: readonly object[]) => {
    const line = convertUser('keycloak', { id: '1', username: 'ann', credentials });
    assert.ok(!('reasons' in line), JSON.stringify(line));
    return {
      secret: line.totpSecret,
      warnings: line.warnings.map(String).filter((text) => text.startsWith('credentials')),
    };
  };
  const secret = Secret.fromUTF8('abcdefghijklmnopqrst').base32;
  assert.deepEqual(read(otp({})), { secret, warnings: [] });
  assert.deepEqual(read(otp({ secretEncoding: 'BASE32' }, secret)), { secret, warnings: [] });
  assert.deepEqual(read(otp({ secretEncoding: 'BASE32' }, `${secret.toLowerCase()}====`)), {
    secret,
    warnings: [],
  });
  for (const data of [{ period: 60 }, { digits: 8 }, { algorithm: 'HmacSHA512' }, { subType: 'hotp' }]) {
    const left = read(otp(data));
    assert.equal(left.secret, undefined);
    assert.match(
      left.warnings.join(),
      /^credentials: otp \(.*\): not imported: the server knows totp with HmacSHA1/,
    );
    assert.equal(read(otp(data), otp({})).secret, secret, 'another app can be imported');
  }
  for (const short of ['', 'tooshort', 'x'.repeat(65)]) assert.equal(read(otp({}, short)).secret, undefined);
  const two = read(otp({}), otp({}, 'another secret of Ann'));
  assert.equal(two.secret, secret);
  assert.match(two.warnings.join(), /a user has one authenticator app, and the first was imported/);
});

test('a line has a time with a zone, and a secret in base32', () => {
  const reasonOf = (members: object) => {
    const read = readImportLine({ username: 'ann', ...members });
    return 'reasons' in read ? read.reasons.join().split(':')[0] : undefined;
  };
  for (const time of ['2021-04-05T06:07:08Z', '2021-04-05T06:07:08.123456+02:00'])
    assert.equal(reasonOf({ created_at: time }), undefined, time);
  for (const time of [
    1617602828,
    '2021-04-05',
    '2021-04-05T06:07:08',
    '1921-04-05T06:07:08Z',
    '2021-13-05T06:07:08Z',
    '',
  ])
    assert.equal(reasonOf({ created_at: time }), 'created_at', String(time));
  assert.equal(reasonOf({ totp_secret: 'A'.repeat(32) }), undefined);
  for (const secret of [
    'a'.repeat(32),
    'A'.repeat(25),
    'A'.repeat(104),
    `${'A'.repeat(31)}=`,
    'A1'.repeat(16),
    7,
  ])
    assert.equal(reasonOf({ totp_secret: secret }), 'totp_secret', String(secret));
});
