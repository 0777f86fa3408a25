import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hashPassword } from 'better-auth/crypto';
import { readImportLine } from '../src/people/import_lines.ts';
import { costliestHashes } from '../src/people/imported_hashes.ts';
import { PASSWORD_ALGORITHMS, readPasswordHash } from '../src/people/password_formats.ts';
import { PasswordHasher } from '../src/people/password_hasher.ts';
import { giteaHash } from '../src/people/password_spellings.ts';
import { hashCheaply } from './harness/cheap_hasher.ts';
import { DATABASES } from './harness/databases.ts';
import {
  GITEA_ROWS,
  HASHES_OF_LONG,
  IMPORTED_HASHES,
  IMPORTED_PASSWORD,
  LONG_PASSWORD,
  REFUSED_HASHES,
} from './harness/imported_hashes.ts';
import { addPerson, openDatabase } from './harness/program_data.ts';

/** What an import stores of a hash. */
function stored(hash: string): string {
  const line = readImportLine({ username: 'carol', password_hash: hash });
  assert.ok('passwordHash' in line && line.passwordHash !== undefined, JSON.stringify(line));
  return line.passwordHash;
}

function refusal(hash: string): string {
  const line = readImportLine({ username: 'carol', password_hash: hash });
  assert.ok('reasons' in line, hash);
  return line.reasons.join();
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

/** Hashes of three costs, or two, of each algorithm that has several. The last one costs most. */
const COSTS: Readonly<Record<string, readonly string[]>> = {
  'argon2id p=1': ['m=1024,t=2', 'm=4096,t=1', 'm=2048,t=3'].map((cost) => argon2Text('argon2id', cost, 1)),
  // As our own hashes, but with fewer lanes.
  'argon2id p=2': [argon2Text('argon2id', 'm=65536,t=3', 2)],
  'argon2id p=4': [argon2Text('argon2id', 'm=65536,t=4', 4)],
  'argon2i p=1': ['m=1024,t=2', 'm=1024,t=10'].map((cost) => argon2Text('argon2i', cost, 1)),
  bcrypt: [
    ...[`$2a$05$${'x'.repeat(53)}`, `$2b$04$${'x'.repeat(53)}`, `$wp$2y$06$${'x'.repeat(53)}`],
    `bcrypt_sha256$$2b$09$${'x'.repeat(53)}`,
  ],
  phpass: [`$H$6${'x'.repeat(30)}`, `$P$5${'x'.repeat(30)}`, `$P$8${'x'.repeat(30)}`],
  // Without rounds, they are in front of and behind those with rounds.
  'sha_crypt $5': ['$5$rounds=1000$salt$', '$5$abc$', '$5$xyz$', '$5$rounds=9000$salt$'].map(
    (text) => text + 'x'.repeat(43),
  ),
  'sha_crypt $6': ['$6$rounds=1000$salt$', '$6$xyz$'].map((text) => text + 'x'.repeat(86)),
  scrypt: [
    ...[scryptText('ln=4,r=8,p=1'), scryptText('ln=10,r=1,p=1')],
    `$firescrypt$ln=4,r=8,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}$Bw$${'A'.repeat(43)}`,
    ...['0', 'b', 'f'].map((digit) => `${digit.repeat(32)}:${'0'.repeat(128)}`),
  ],
  'pbkdf2 sha1': [pbkdf2Text('', 1000), pbkdf2Text('-sha1', 2000)],
  'pbkdf2 sha256': [pbkdf2Text('-sha256', 900), pbkdf2Text('-sha256', 100_000)],
  'pbkdf2 sha512': [pbkdf2Text('-sha512', 100)],
};

function argon2Text(type: string, cost: string, lanes: number): string {
  return `$${type}$v=19$${cost},p=${lanes}$${'A'.repeat(22)}$${'A'.repeat(43)}`;
}

function scryptText(cost: string): string {
  return `$scrypt$${cost}$${'A'.repeat(22)}$${'A'.repeat(43)}`;
}

function pbkdf2Text(digest: string, iterations: number): string {
  return `$pbkdf2${digest}$i=${iterations}$${'A'.repeat(22)}$${'A'.repeat(22)}`;
}

for (const database of DATABASES)
  test(`${database.name} finds the costliest hash of each algorithm, as long as a user has it`, {
    skip: database.absence,
  }, async (t) => {
    const open = await openDatabase(t, database);
    const { people } = open;
    const looked: string[] = [];
    const costliest = async () => {
      looked.length = 0;
      const found = await costliestHashes({
        importedHashAfter(text) {
          looked.push(text);
          return people.importedHashAfter(text);
        },
      });
      return Object.fromEntries(found.map(({ work: { algorithm, units } }) => [algorithm, units]));
    };
    assert.deepEqual(await costliest(), {});
    assert.equal(looked.length, 1);

    const own = `$argon2id$v=19$m=65536,t=3,p=4$${'A'.repeat(22)}$${'A'.repeat(43)}`;
    // Of each cost, several users, and some whose check costs nothing or who have no usable hash.
    const others = [own, own, '', `{SSHA}${'A'.repeat(40)}`, `{SSHA512}${'A'.repeat(90)}`, 'no hash', 'abc'];
    const all = [...Object.values(COSTS).flat(), ...others];
    for (const [index, hash] of all.entries())
      for (const last of ['A', '0', 'z'])
        await addPerson(
          open,
          `user ${index} ${last}`,
          hash === '' || hash.includes(':') ? hash : `${hash.slice(0, -1)}${last}`,
        );
    const unitsOf = (hash: string) => {
      const read = readPasswordHash(hash);
      assert.ok('matches' in read && read.work, hash);
      return [read.work.algorithm, read.work.units] as const;
    };
    const expected = new Map<string, number>();
    for (const hash of Object.values(COSTS).flat()) {
      const [algorithm, units] = unitsOf(hash);
      expected.set(algorithm, Math.max(units, expected.get(algorithm) ?? 0));
    }
    assert.deepEqual([...expected.keys()].sort(), Object.keys(COSTS).sort());
    assert.deepEqual(await costliest(), Object.fromEntries(expected));
    assert.ok(looked.length < 64, `${looked.length} look-ups`);

    // The first sign-in replaces the hash.
    for (const [algorithm, hashes] of Object.entries(COSTS))
      for (const hash of hashes)
        for (const last of ['A', '0', 'z']) {
          const person = await people.byName(`user ${all.indexOf(hash)} ${last}`);
          assert.ok(person);
          assert.ok(algorithm in (await costliest()), hash);
          assert.ok(await people.replacePasswordHash(person.subject, person.passwordHash, own));
        }
    assert.deepEqual(await costliest(), {});
  });
