import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hashPassword } from 'better-auth/crypto';
import { readImportLine } from '../src/people/import_lines.ts';
import { PASSWORD_ALGORITHMS, readPasswordHash } from '../src/people/password_formats.ts';
import { PasswordHasher } from '../src/people/password_hasher.ts';
import { giteaHash } from '../src/people/password_spellings.ts';
import { hashCheaply } from './harness/cheap_hasher.ts';
import {
  GITEA_ROWS,
  HASHES_OF_LONG,
  IMPORTED_HASHES,
  IMPORTED_PASSWORD,
  LONG_PASSWORD,
  REFUSED_HASHES,
} from './harness/imported_hashes.ts';

/** What an import stores of a hash. */
function stored(hash: string): string {
  const line = readImportLine({ username: 'carol', password_hash: hash });
  assert.ok('passwordHash' in line && line.passwordHash !== undefined, JSON.stringify(line));
  return line.passwordHash;
}

function refusal(hash: string): string {
  const line = readImportLine({ username: 'carol', password_hash: hash });
  assert.ok('reason' in line, hash);
  return line.reason;
}

describe('hashes of other programs', () => {
  hashCheaply();
  const hasher = new PasswordHasher();

  test('each fits its password alone, and is replaced by argon2id', async () => {
    const own = Object.entries(IMPORTED_HASHES).map(
      ([name, hash]) => [name, hash, IMPORTED_PASSWORD] as const,
    );
    const long = HASHES_OF_LONG.map((hash) => [hash, hash, LONG_PASSWORD] as const);
    const gitea = GITEA_ROWS.map((row) => [`gitea ${row[0]}`, giteaHash(...row), IMPORTED_PASSWORD] as const);
    for (const [name, hash, password] of [...own, ...long, ...gitea]) {
      const kept = stored(hash);
      assert.equal(stored(kept), kept, `${name}: what is exported can be imported`);
      const { fits, upgraded = '' } = await hasher.check(password, kept);
      assert.equal(fits, true, name);
      assert.match(upgraded, /^\$argon2id\$/, name);
      for (const wrong of [`${password}x`, password.slice(0, -1), '', hash])
        assert.equal((await hasher.check(wrong, kept)).fits, false, `${name}: ${wrong}`);
    }
  });

  test('a hash of better-auth itself fits, in each Unicode form of its password', async () => {
    const hash = stored(await hashPassword('ﬁancé 2'));
    for (const typed of ['ﬁancé 2', 'fiance\u0301 2'])
      assert.equal((await hasher.check(typed, hash)).fits, true, typed);
  });

  test('WordPress removes white space around a password, so such a password is not let in', async () => {
    for (const name of ['wordpress_6_8', 'phpass']) {
      const answer = await hasher.check(` ${IMPORTED_PASSWORD}`, stored(IMPORTED_HASHES[name] ?? ''));
      assert.deepEqual(answer, { fits: false, isCutOff: true }, name);
    }
  });

  test('the thread of a slow hash leaves the event loop free', async () => {
    const slow = readPasswordHash(`$6$rounds=200000$salt$${'x'.repeat(86)}`);
    assert.ok('matches' in slow);
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 5);
    const fits = await slow.matches(IMPORTED_PASSWORD);
    clearInterval(timer);
    assert.equal(fits, false);
    assert.ok(turns >= 5, `${turns} turns`);
  });
});

test('hashes without a salt and those of MD5 are refused, with the reason', () => {
  for (const [name, hash] of Object.entries(REFUSED_HASHES))
    assert.match(refusal(hash), /^password_hash: expected a stronger hash: .*let the user choose/, name);
});

test('hashes that cost too much are refused, and say what is expected', () => {
  const digits86 = 'x'.repeat(86);
  for (const [hash, problem] of [
    [`$6$rounds=1000001$salt$${digits86}`, /SHA-crypt with 1000 to 1000000 rounds/],
    [`$5$rounds=999$salt$${'x'.repeat(43)}`, /SHA-crypt with 1000 to 1000000 rounds/],
    [`$P$I${'x'.repeat(30)}`, /phpass with 2\^7 to 2\^19 rounds/],
    [`$wp$2y$15$${'x'.repeat(53)}`, /bcrypt with a cost from 4 to 14/],
    [`bcrypt_sha256$$2b$31$${'x'.repeat(53)}`, /bcrypt with a cost from 4 to 14/],
    [`bcrypt$$2b$31$${'x'.repeat(53)}`, /bcrypt with a cost from 4 to 14/],
    ['pbkdf2_sha256$4000001$salt$Wq5bJz0bRkyYQwzDoXqz7K0bJ2YkY0Y2m0l9n3k1Z9E=', /at most 4000000 iterations/],
    ['pbkdf2:sha256:4000001$salt$00112233445566778899aabbccddeeff', /at most 4000000 iterations/],
    ['scrypt:16777216:8:1$salt$00112233445566778899aabbccddeeff', /scrypt with N a power of two/],
    ['scrypt:1000:8:1$salt$00112233445566778899aabbccddeeff', /scrypt with N a power of two/],
    ['scrypt$16777216$salt$8$5$AAECAwQFBgcICQoLDA0ODw==', /scrypt with N a power of two/],
    ['argon2$argon2id$v=19$m=4194304,t=3,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8', /argon2 with m/],
    [`{SSHA}${'A'.repeat(27)}=`, /a digest of 20 bytes and a salt/],
    [Buffer.from('01000000010fffffff00000010'.padEnd(122, '0'), 'hex').toString('base64'), /at most 4000000/],
    [
      Buffer.from('01000000090000000100000010'.padEnd(122, '0'), 'hex').toString('base64'),
      /or one that Django/,
    ],
    ['$P$', /or one that Django/],
    [giteaHash('yescrypt$1', '0011', '0011'), /or one that Django/],
    [giteaHash('scrypt$1048576$16$2$50', '0f'.repeat(16), '00'.repeat(50)), /scrypt with N a power of two/],
  ] as const)
    assert.match(refusal(hash), problem, hash);
});

test('every algorithm that is stored has a hash of another program', () => {
  const others = [...Object.values(IMPORTED_HASHES), '$firescrypt$'];
  const kept = others.map((hash) => (hash === '$firescrypt$' ? hash : stored(hash)));
  const begin: Readonly<Record<(typeof PASSWORD_ALGORITHMS)[number], RegExp>> = {
    argon2: /^\$argon2/,
    bcrypt: /^\$2/,
    bcrypt_sha256: /^bcrypt_sha256/,
    wordpress: /^\$wp/,
    phpass: /^\$[PH]\$/,
    sha_crypt: /^\$[56]\$/,
    salted_digest: /^\{SSHA/,
    scrypt: /^\$scrypt/,
    better_auth: /^[0-9a-f]{32}:/,
    firescrypt: /^\$firescrypt/,
    pbkdf2: /^\$pbkdf2/,
  };
  for (const [name, form] of Object.entries(begin))
    assert.ok(
      kept.some((hash) => form.test(hash)),
      name,
    );
  assert.deepEqual(Object.keys(begin).sort(), [...PASSWORD_ALGORITHMS].sort());
});
