import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPasswordHash, PasswordHasher, type Place } from '../src/people/password_hasher.ts';
import { cheapHash } from './harness/cheap_hash.ts';

const hasher = new PasswordHasher();
/** The hash says what its check costs. The tests of the queue do not depend on it. */
const QUICK = cheapHash('wonderland');
const HERE = { name: '192.0.2.1', isKnown: false };

test('a password is stored as argon2id in the PHC form, each time with another salt', async () => {
  const [one, other] = await Promise.all([hasher.hash('wonderland'), hasher.hash('wonderland')]);
  assert.match(one, /^\$argon2id\$v=19\$m=65536,t=3,p=4\$[\w+/]{22}\$[\w+/]{43}$/);
  assert.notEqual(one, other);
  assert.equal(await hasher.fits('wonderland', one), true);
  assert.equal(await hasher.fits('Wonderland', one), false);
});

test('a hash of another implementation and cost is understood', async () => {
  // From the reference implementation: argon2 -id -t 2 -m 16 -p 1, "password" with "somesalt".
  const reference = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
  assert.equal(await hasher.fits('password', reference), true);
});

test('two ways of typing the same characters are the same password', async () => {
  assert.equal(await hasher.fits('cafe\u0301 au lait', await hasher.hash('caf\u00e9 au lait')), true);
});

test('it is full for an address with many waiting checks, and refuses the next one before it waits', async () => {
  const busy = new PasswordHasher();
  const begun: Promise<boolean>[] = [];
  for (let asked = 0; asked < 100; asked += 1) {
    const admitted = busy.admit(HERE, () => busy.fits('wrong', QUICK, HERE));
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
      await busy.fits('wrong', stored, place);
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
  assert.equal(strangers.filter((begun) => begun !== undefined).length, 4 * 34);
  assert.equal(hold('203.0.113.1', false), undefined);
  const known = Array.from({ length: 500 }, (_, index) => hold(`browser ${index}`, true));
  assert.equal(known.filter((begun) => begun !== undefined).length, 34);
  resolve();
  await Promise.all([...strangers, ...known]);
  assert.ok(hold('203.0.113.1', false) !== undefined, 'every place is given back');
});

test('a password for an unknown user costs as much as one for a known user, and never matches', async () => {
  const stored = await hasher.hash('wonderland');
  const timed = async (hash: string | undefined) => {
    const begun = performance.now();
    assert.equal(await hasher.fits('wrong', hash), false);
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
    '{SSHA}DkMTwBl+a/3DQTxCYEApdUtNXGgdUac3',
  ])
    assert.equal(isPasswordHash(hash), true, hash);
  for (const password of ['correct horse', '$2 for tea', '{braces} are fine', 'a$b$c$d$e', '$dollar$signs$'])
    assert.equal(isPasswordHash(password), false, password);
});
