import assert from 'node:assert/strict';
import { argon2Sync, createCipheriv, createHash, createHmac, pbkdf2Sync, scryptSync } from 'node:crypto';
import { describe, test } from 'node:test';
import { hashSync } from 'bcryptjs';
import { type CostlyHash, PASSWORD_ALGORITHMS, readPasswordHash } from '../src/people/password_formats.ts';
import { isPasswordHash, PasswordHasher, type Place } from '../src/people/password_hasher.ts';
import { cheapHash } from './harness/cheap_hash.ts';
import { hashCheaply } from './harness/cheap_hasher.ts';
import { IMPORTED_HASHES } from './harness/imported_hashes.ts';

const hasher = new PasswordHasher();
/** The hash says what its check costs. The tests of the queue do not depend on it. */
const QUICK = cheapHash('wonderland');
const fits = async (...given: Parameters<PasswordHasher['check']>) => (await hasher.check(...given)).fits;
const HERE = { name: '192.0.2.1', isKnown: false };

test('a password is stored as argon2id in the PHC form, each time with another salt', async () => {
  const [one, other] = await Promise.all([hasher.hash('wonderland'), hasher.hash('wonderland')]);
  assert.match(one, /^\$argon2id\$v=19\$m=65536,t=3,p=4\$[\w+/]{22}\$[\w+/]{43}$/);
  assert.notEqual(one, other);
  assert.equal(await fits('wonderland', one), true);
  assert.equal(await fits('Wonderland', one), false);
});

test('a hash of another implementation and cost is understood, and replaced by one of ours', async () => {
  // From the reference implementation: argon2 -id -t 2 -m 16 -p 1, "password" with "somesalt".
  const reference = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
  const { fits: isIn, upgraded } = await hasher.check('password', reference);
  assert.equal(isIn, true);
  assert.deepEqual(await hasher.check('password', upgraded), { fits: true });
});

test('two ways of typing the same characters are the same password', async () => {
  assert.equal(await fits('cafe\u0301 au lait', await hasher.hash('caf\u00e9 au lait')), true);
});

test('a password that is longer than any is not normalized, because that can take a second', async () => {
  const isSame = async (length: number) =>
    fits('e\u0301'.repeat(length), await hasher.hash('\u00e9'.repeat(length)));
  assert.deepEqual([await isSame(1000), await isSame(2049)], [true, false]);
  const long = 'e\u0301'.repeat(2049);
  assert.equal(await fits(long, await hasher.hash(long)), true, 'as typed');
});

test('a password for an unknown user costs as much as one for a known user, and never matches', async () => {
  const stored = await hasher.hash('wonderland');
  const timed = async (hash: string | undefined) => {
    const begun = performance.now();
    assert.equal(await fits('wrong', hash), false);
    return performance.now() - begun;
  };
  // Other test processes can delay each check, so the fastest of several counts.
  const known: number[] = [];
  const unknown: number[] = [];
  for (let round = 0; round < 4; round += 1) {
    known.push(await timed(stored));
    unknown.push(await timed(undefined));
  }
  const [ofKnown, ofUnknown] = [Math.min(...known), Math.min(...unknown)];
  assert.ok(ofUnknown > ofKnown / 2, `${ofUnknown} ms for an unknown user, ${ofKnown} ms for a known one`);
});

const SCRYPT = `$scrypt$ln=16,r=8,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;

/** Of each algorithm, a cheap hash, and one whose check takes much longer. */
const CHEAP_AND_DEAR: Readonly<Record<string, readonly [cheap: string, dear: string]>> = {
  argon2: [argon2Text(4096, 1), argon2Text(65536, 4)],
  bcrypt: [`$2b$06$${'x'.repeat(53)}`, `$2b$10$${'x'.repeat(53)}`],
  bcrypt_sha256: [`bcrypt_sha256$$2b$06$${'x'.repeat(53)}`, `$2b$10$${'x'.repeat(53)}`],
  wordpress: [`$wp$2y$06$${'x'.repeat(53)}`, `$2b$10$${'x'.repeat(53)}`],
  phpass: [`$P$8${'x'.repeat(30)}`, `$P$E${'x'.repeat(30)}`],
  sha_crypt: [`$6$rounds=1000$salt$${'x'.repeat(86)}`, `$6$rounds=60000$salt$${'x'.repeat(86)}`],
  salted_digest: [`{SSHA}${'A'.repeat(40)}`, `$2b$10$${'x'.repeat(53)}`],
  scrypt: [`$scrypt$ln=10,r=8,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`, SCRYPT],
  better_auth: [`${'0'.repeat(32)}:${'0'.repeat(128)}`, SCRYPT],
  firescrypt: [`$firescrypt$ln=10,r=8,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}$Bw$${'A'.repeat(43)}`, SCRYPT],
  pbkdf2: [pbkdf2Text(1000), pbkdf2Text(600_000)],
};

test('a wrong password costs one of our hashes, and the most of each algorithm that others have', async () => {
  const checked: string[] = [];
  const asked = ({ work, ...hash }: CostlyHash): CostlyHash => ({
    ...{ ...hash, work },
    async matches(password) {
      checked.push(work.algorithm);
      return hash.matches(password);
    },
  });
  const costly = [QUICK, `$2b$05$${'x'.repeat(53)}`, pbkdf2Text(1000)].map(costlyHash).map(asked);
  const strict = new PasswordHasher(async () => costly);
  const own = await strict.hash('wonderland');
  for (const [stored, others] of [
    [undefined, ['argon2id p=4', 'bcrypt', 'pbkdf2 sha256']],
    [own, ['argon2id p=4', 'bcrypt', 'pbkdf2 sha256']],
    [`{SSHA}${'A'.repeat(40)}`, ['argon2id p=4', 'bcrypt', 'pbkdf2 sha256']],
    ['no hash', ['argon2id p=4', 'bcrypt', 'pbkdf2 sha256']],
    [`$2b$04$${'x'.repeat(53)}`, ['argon2id p=4', 'pbkdf2 sha256']],
    [pbkdf2Text(10), ['argon2id p=4', 'bcrypt']],
  ] as const) {
    checked.length = 0;
    assert.deepEqual(await strict.check('wrong', stored), { fits: false });
    assert.deepEqual(checked, others, String(stored));
  }
  checked.length = 0;
  assert.deepEqual(await strict.check('wonderland', own), { fits: true });
  assert.deepEqual(checked, [], 'the right password is not held up');
});

test('the hash of a password is distinguished from a password', () => {
  for (const hash of [
    '$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW',
    '$2y$10$abcdefghijklmnopqrstuuabcdefghijklmnopqrstuvwxyz012345678',
    '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
    '$scrypt$ln=16,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E',
    '$7$C6..../....SodiumChloride$kBGj9fHznVYFQMEn/qDCfrDevf9YDtcDdKvEqHJLV8D',
    '$pbkdf2-sha256$29000$fa3Vui8.JyQ$nvVvFgGKjYLMHEFGSVKSHL1nyHRwKyJSm0xHmd6qh0M',
    '$6$rounds=5000$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjlO/O817G3uBnIFNjnQJu',
    'pbkdf2_sha256$600000$salt$Wq5bJz0bRkyYQwzDoXqz7K0bJ2YkY0Y2m0l9n3k1Z9E=',
    'pbkdf2:sha256:260000$salt$0123456789abcdef',
    ...Object.entries(IMPORTED_HASHES).flatMap(([name, hash]) =>
      // Base64 or hexadecimal alone could be a password.
      /^(?:aspnet|better_auth)/.test(name) ? [] : [hash],
    ),
  ])
    assert.equal(isPasswordHash(hash), true, hash);
  for (const password of ['correct horse', '$2 for tea', '{braces} are fine', 'a$b$c$d$e', '$dollar$signs$'])
    assert.equal(isPasswordHash(password), false, password);
});

function argon2Text(memory: number, passes: number): string {
  return `$argon2id$v=19$m=${memory},t=${passes},p=4$${'A'.repeat(22)}$${'A'.repeat(43)}`;
}

function costlyHash(text: string): CostlyHash {
  const hash = readPasswordHash(text);
  assert.ok('matches' in hash && hash.work, text);
  return { ...hash, work: hash.work };
}

function pbkdf2Text(iterations: number): string {
  return `$pbkdf2-sha256$i=${iterations}$${'A'.repeat(22)}$${'A'.repeat(43)}`;
}

const SALT = Buffer.from('0123456789abcdef');
const [SALT_64, KEY_64] = [SALT, Buffer.alloc(32, 7)].map((bytes) =>
  bytes.toString('base64').replace(/=+$/, ''),
);

const RIGHT = ['hunter2', 'p\u00e4ssw\u00f6rd', 'b'.repeat(72), 'c'.repeat(80), 'half \ud800'];

/** Made by passlib, in the order of `RIGHT`. */
const SHA_CRYPT = [
  'ovAQitC9t8tgNd4cxpDBhQNw2swVkwEjppzSS1MK4bRcI/6YNmXTIRWSmO7oCtQ7p/Yed3pDPrQTsvlI1GrBt/',
  'EnJZbjWoj15ga4Nv8Mwc/LFH.tCHMBwdLwpPZcVFJfO0/nM6UdCvae1cHvewEWnTXx.6tMgqD6FiWJecqIycS/',
  'W14aSS8LMSdJtNKNcfdPQu9IX.QralxvBSsW1.n4JivhDyKDUBWRtLOoS89k9MiodR3yfHMhc.51eW0WEmgjy1',
  'L4/h2lHPelf3Du9Ju13R/i9oJY2bgtN8gUL7zQz0hKNW2eE6E6cuSDakmiy91Hw.o6D.W7DzUn515xSRa.jiz1',
  'EUjuSKVQO4paK3DH1/WQ.4hQpb3cUuZ1.EAI64qIJhaOs.tzfEr468rD6KEIfzMZ.Nn0pmrncs09oX3pFrMJI/',
];
const PHPASS = [
  ...['H2tOtJzexx.yGctTKla9k0', 'o.7CqKpNVi5SAHpukwqge1', 'XxoQA/WIi0SO8kEaqcQZZ.'],
  ...['09.eC/V1h46NcSPOdrn37.', 'ZPuqPCOBO7AsNo3FG5IAo.'],
];

/** A cheap hash of each algorithm that is imported, as another server would make it. */
const MAKERS: Readonly<Record<string, (password: string) => string>> = {
  argon2(message) {
    const tag = argon2Sync('argon2i', {
      message,
      nonce: SALT,
      memory: 32,
      passes: 1,
      parallelism: 1,
      tagLength: 32,
    });
    return `$argon2i$v=19$m=32,t=1,p=1$${SALT_64}$${tag.toString('base64').replace(/=+$/, '')}`;
  },
  bcrypt: (password) => hashSync(password, 4),
  bcrypt_sha256: (password) =>
    `bcrypt_sha256$${hashSync(createHash('sha256').update(password).digest('hex'), 4)}`,
  wordpress: (password) =>
    `$wp${hashSync(createHmac('sha384', 'wp-sha384').update(password).digest('base64'), 4)}`,
  phpass: (password) => `$P$5saltsalt${PHPASS[RIGHT.indexOf(password)]}`,
  sha_crypt: (password) => `$6$rounds=1000$salt$${SHA_CRYPT[RIGHT.indexOf(password)]}`,
  salted_digest: (password) =>
    `{SSHA}${Buffer.concat([createHash('sha1').update(password).update(SALT).digest(), SALT]).toString('base64')}`,
  better_auth(password) {
    const salt = SALT.toString('hex');
    const cost = { N: 16384, r: 16, p: 1, maxmem: 64 * 1024 * 1024 };
    return `${salt}:${scryptSync(password, salt, 64, cost).toString('hex')}`;
  },
  scrypt: (password) =>
    `$scrypt$ln=4,r=1,p=1$${SALT_64}$${scryptSync(password, SALT, 32, { N: 16, r: 1, p: 1 }).toString('base64')}`,
  firescrypt(password) {
    const derived = scryptSync(password, SALT, 32, { N: 16, r: 1, p: 1 });
    const cipher = createCipheriv('aes-256-ctr', derived, Buffer.alloc(16));
    const tag = Buffer.concat([cipher.update(Buffer.alloc(32, 7)), cipher.final()]).toString('base64');
    return `$firescrypt$ln=4,r=1,p=1$${SALT_64}$${tag}$$${KEY_64}`;
  },
  pbkdf2: (password) =>
    `$pbkdf2-sha256$1$${SALT_64}$${pbkdf2Sync(password, SALT, 1, 32, 'sha256').toString('base64')}`,
};

/** Other passwords, each of which some algorithm takes for the right one: what DES, LM, bcrypt, HMAC and UTF-8 ignore. */
function confusable(right: string): readonly string[] {
  return [
    ...[
      right.slice(0, 8),
      `${right.slice(0, 8)}X`,
      `${right.slice(0, 14)}X`,
      right.slice(0, 72),
      `${right.slice(0, 72)}X`,
    ],
    ...[
      `${right}X`,
      `${right}\0`,
      `${right}\0\0`,
      `${right}\0X`,
      `${right}\0${right}`,
      `X${right}`,
      ` ${right}`,
      `${right} `,
    ],
    ...[right.toUpperCase(), right.toLowerCase(), right.replaceAll(/\P{ASCII}/gu, '?')],
    ...[right.replace('\ud800', '\udfff'), right.replace('\ud800', '\ufffd')],
    Array.from(right, (one) => String.fromCharCode(one.charCodeAt(0) & 127)).join(''),
  ].filter((one) => one !== right);
}

/** How many of the passwords are tried with algorithms that need a thread for each, or much work. */
const SLOW = new Map<string, number>([
  ...['better_auth', 'phpass', 'sha_crypt'].map((name) => [name, -1] as const),
  ...['bcrypt_sha256', 'wordpress'].map((name) => [name, -2] as const),
]);

// What follows does not depend on the cost of new hashes, so it runs without it.
describe('at low cost', () => {
  hashCheaply();

  test('a wrong password costs the same for a cheap imported hash, of each algorithm', async () => {
    assert.deepEqual(Object.keys(CHEAP_AND_DEAR).sort(), [...PASSWORD_ALGORITHMS].sort());
    for (const [algorithm, [cheap, dear]] of Object.entries(CHEAP_AND_DEAR)) {
      const strict = new PasswordHasher(async () => [costlyHash(dear)]);
      const least = { unknown: Number.POSITIVE_INFINITY, cheap: Number.POSITIVE_INFINITY };
      for (let round = 0; round < 2; round += 1)
        for (const [name, stored] of [['unknown', undefined] as const, ['cheap', cheap] as const]) {
          const begun = process.cpuUsage();
          assert.deepEqual(await strict.check('wrong', stored), { fits: false });
          const { user, system } = process.cpuUsage(begun);
          least[name] = Math.min(least[name], user + system);
        }
      const ratio = least.cheap / least.unknown;
      // Without what it costs more, it would take less than half as long.
      assert.ok(ratio > 0.65 && ratio < 1.5, `${algorithm}: ${JSON.stringify(least)}`);
    }
  });

  test('it is full for an address with many waiting checks, and refuses the next one before it waits', async () => {
    const busy = new PasswordHasher();
    const begun: Promise<unknown>[] = [];
    for (let asked = 0; asked < 100; asked += 1) {
      const admitted = busy.admit(HERE, () => busy.check('wrong', QUICK, HERE));
      if (admitted !== undefined) begun.push(admitted);
    }
    assert.equal(begun.length, 2 + 32);
    await Promise.all(begun);
    assert.equal(await busy.admit(HERE, async () => 'let in'), 'let in');
    await assert.rejects(
      async () => busy.admit(HERE, () => Promise.reject(new Error('an outage'))),
      /an outage/,
    );
    assert.equal(await busy.admit(HERE, async () => 'let in'), 'let in');
  });

  test('a user at another address is let in, and waits for one of the crowd, not for all', async () => {
    const busy = new PasswordHasher();
    const done: string[] = [];
    // Long enough that the two threads take turns even if the machine is busy.
    const stored = cheapHash('wonderland', 32 * 1024);
    const check = (place: Place) =>
      busy.admit(place, async () => {
        await busy.check('wrong', stored, place);
        done.push(place.name);
      });
    const crowd = Array.from({ length: 12 }, () => check(HERE)).filter((begun) => begun !== undefined);
    const elsewhere = check({ name: '198.51.100.7', isKnown: false });
    assert.ok(elsewhere !== undefined);
    await elsewhere;
    assert.ok(done.length <= 6, `${done.length} were before`);
    await Promise.all(crowd);
    assert.equal(done.length, 12 + 1);
  });

  test('if strangers have taken all places, known browsers still have some', async () => {
    const busy = new PasswordHasher();
    const { promise, resolve } = Promise.withResolvers<void>();
    const hold = (name: string, isKnown: boolean) => busy.admit({ name, isKnown }, () => promise);
    const strangers = Array.from({ length: 500 }, (_, index) => hold(`192.0.2.${index % 200}`, false));
    assert.equal(strangers.filter((begun) => begun !== undefined).length, 8 * 34);
    assert.equal(hold('203.0.113.1', false), undefined);
    const known = Array.from({ length: 500 }, (_, index) => hold(`browser ${index}`, true));
    assert.equal(known.filter((begun) => begun !== undefined).length, 34);
    resolve();
    await Promise.all([...strangers, ...known]);
    assert.ok(hold('203.0.113.1', false) !== undefined, 'every place is given back');
  });

  test('one site takes no places from others, by many IPv6 /64 or many browsers of its users', async () => {
    const busy = new PasswordHasher();
    const { promise, resolve } = Promise.withResolvers<void>();
    const begun: (Promise<void> | undefined)[] = [];
    const hold = (place: Place) => {
      const admitted = busy.admit(place, () => promise);
      begun.push(admitted);
      return admitted !== undefined;
    };
    const held = (place: (index: number) => Place) =>
      Array.from({ length: 1000 }, (_, index) => hold(place(index))).filter((isHeld) => isHeld).length;
    assert.equal(
      held((index) => ({ name: `2001:db8:1:${index}::/64`, isKnown: false })),
      2 * 34,
    );
    const address = '192.0.2.1';
    assert.equal(
      held(() => ({ name: address, isKnown: false })),
      34,
    );
    const browsers = held((index) => ({ name: `browser ${index}`, isKnown: true, address }));
    assert.equal(browsers, 34, 'users at an address have places that strangers there cannot take');
    for (const name of ['2001:db8:2:1::/64', '198.51.100.7']) assert.ok(hold({ name, isKnown: false }));
    assert.ok(hold({ name: 'browser of another', isKnown: true, address: '198.51.100.7' }));
    resolve();
    await Promise.all(begun);
    assert.equal(
      held((index) => ({ name: `2001:db8:1:${index}::/64`, isKnown: false })),
      2 * 34,
    );
    await Promise.all(begun);
  });

  test('no imported hash lets in a password that differs only in what its algorithm ignores', async () => {
    assert.deepEqual(Object.keys(MAKERS).sort(), [...PASSWORD_ALGORITHMS].sort(), 'each algorithm is tried');
    const ignoring = new Set<string>();
    // The cost of better-auth is fixed.
    for (const [algorithm, make] of Object.entries(MAKERS))
      for (const right of RIGHT.slice(SLOW.get(algorithm) ?? 0)) {
        const stored = make(right);
        const hash = readPasswordHash(stored);
        assert.ok('matches' in hash, stored);
        assert.ok(await hash.matches(right), `${algorithm} reads its own hash`);
        for (const wrong of confusable(right)) {
          if (!(await hash.matches(wrong))) continue;
          // The first 72 bytes are all that bcrypt has stored, so they are a password of their own.
          if (algorithm === 'bcrypt' && wrong === right.slice(0, 72) && !wrong.includes('\0')) continue;
          const about = `${algorithm}: ${JSON.stringify(wrong)} for ${JSON.stringify(right)}`;
          assert.ok(hash.ignoresPartOf(wrong), about);
          ignoring.add(algorithm);
          assert.deepEqual(await hasher.check(wrong, stored), { fits: false, isCutOff: true }, about);
        }
      }
    // UTF-8 ignores a part with every algorithm.
    assert.deepEqual([...ignoring].sort(), Object.keys(MAKERS).sort());
  });

  test('a long password of bcrypt is neither let in nor stored, also if it is the right one', async () => {
    const right = 'c'.repeat(80);
    const stored = hashSync(right, 4);
    assert.deepEqual(await hasher.check(right, stored), { fits: false, isCutOff: true });
    assert.deepEqual(
      await hasher.check(`x${right}`, stored),
      { fits: false },
      'only the owner of the prefix learns it',
    );
    const { fits: isIn, upgraded } = await hasher.check(right.slice(0, 72), stored);
    assert.equal(isIn, true);
    assert.deepEqual(await hasher.check(right, upgraded), { fits: false });
  });

  test('a hash of any Unicode form fits each way to type the password, and becomes one of NFC', async () => {
    const [nfc, nfd] = ['caf\u00e9 au lait', 'cafe\u0301 au lait'];
    const current = (message: string) => {
      const cost = { memory: 65536, passes: 3, parallelism: 4, tagLength: 32 };
      const tag = argon2Sync('argon2id', { message, nonce: SALT, ...cost })
        .toString('base64')
        .replace(/=+$/, '');
      return `$argon2id$v=19$m=65536,t=3,p=4$${SALT_64}$${tag}`;
    };
    const { pbkdf2 = current } = MAKERS;
    const own = current(nfc);
    const other = current(nfd);
    for (const stored of [pbkdf2(nfc), pbkdf2(nfd), own, other])
      for (const typed of [nfc, nfd]) {
        const { fits: isIn, upgraded } = await hasher.check(typed, stored);
        assert.equal(isIn, true, stored);
        if (stored === own) assert.equal(upgraded, undefined, 'it is as this server makes it');
        else assert.equal((await hasher.check(nfc, upgraded)).fits, true, stored);
      }
    assert.deepEqual(await hasher.check('cafe au lait', other), { fits: false });
    // Other servers may hash what was typed, which is in no normal form.
    const mixed = 'e\u0301\u00e9';
    assert.equal((await hasher.check(mixed, MAKERS.pbkdf2?.(mixed))).fits, true);
  });
});
