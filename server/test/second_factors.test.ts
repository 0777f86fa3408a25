import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { ServerSecret } from '@grantd/core';
import { HOTP, Secret, TOTP } from 'otpauth';
import { NO_FACTORS, type Passkey, resealTotps, sealsOfTotps } from '../src/data/factors.ts';
import type { ProgramSecretUse } from '../src/data/secrets.ts';
import { Passkeys } from '../src/people/passkeys.ts';
import { SecondFactors } from '../src/people/second_factors.ts';
import { AttemptLimits } from '../src/people/sign_in.ts';
import { type AttestationKind, Authenticator } from './harness/authenticator.ts';
import { ANY_DATABASE, DATABASES } from './harness/databases.ts';
import { addPerson, ISSUER, openDatabase, openDatabases } from './harness/program_data.ts';

const SECRET = new ServerSecret<ProgramSecretUse>('s'.repeat(32));
const START_MS = Date.UTC(2026, 0, 1);
const STEP_MS = 30_000;
const MINUTE_MS = 60_000;
/** The user has a local password. */
const ONLY_PASSWORD = { hasPasswords: true, hasPasskeys: false, hasDirectory: false, links: [] };

const sealedCodes = (...digests: string[]) =>
  digests.map((digest) => ({ digest, sealed: `sealed ${digest}` }));

function passkeyOf(subject: string, id: string, counter = 0): Passkey {
  return {
    ...{
      id,
      subject,
      publicKey: 'key',
      counter,
      transports: ['internal'],
      isBackedUp: true,
      isSecurityKey: false,
      name: 'Phone',
    },
    ...{ createdAtMs: 1000, countsFromMs: 0 },
  };
}

for (const database of DATABASES) {
  describe(`the tables of factors on ${database.name}`, { skip: database.absence }, () => {
    test('a passkey comes back as it was, and its use is recorded', async (t) => {
      const opened = await openDatabase(t, database);
      const { factors } = opened;
      const { subject } = await addPerson(opened, 'alice');
      const passkey = passkeyOf(subject, 'k1');
      assert.equal(await factors.addPasskey(passkey), true);
      assert.equal(await factors.addPasskey(passkeyOf(subject, 'k1')), false, 'the ID is taken');
      assert.equal(await factors.addPasskey(passkeyOf('nobody', 'k2')), false);
      assert.deepEqual(await factors.passkey('k1'), passkey);
      assert.equal(await factors.usePasskey('k1', { counter: 0, isBackedUp: false, nowMs: 2000 }), true);
      const used = { ...passkey, isBackedUp: false, isSecurityKey: false, lastUsedAtMs: 2000 };
      assert.deepEqual(await factors.passkeysOf(subject), [used]);
      assert.deepEqual(await factors.of(subject), {
        ...NO_FACTORS,
        passkeys: 1,
        passkeysCountFromMs: 0,
      });
      assert.equal(await factors.removePasskey('another', 'k1', ONLY_PASSWORD), false);
      assert.equal(await factors.removePasskey(subject, 'k1', ONLY_PASSWORD), true);
      assert.equal(await factors.usePasskey('k1', { counter: 0, isBackedUp: false, nowMs: 3000 }), false);
    });

    test('a removal with a recovery code holds the level that the factors reached, until it ends or is confirmed', async (t) => {
      const [one, other] = await openDatabases(t, database, 2);
      assert.ok(one && other);
      const { factors } = one;
      const { subject } = await addPerson(one, 'alice');
      const hold = { nowMs: 1000, untilMs: 5000 };
      const add = () =>
        Promise.all([
          factors.addPasskey(passkeyOf(subject, 'k1')),
          factors.addTotp(subject, { sealed: 'sealed', createdAtMs: 1, countsFromMs: 0 }, 1),
        ]);
      const held = async () => (await factors.of(subject)).held;
      // In whatever order concurrent removals take place, the first sees both factors.
      await add();
      await Promise.all([
        factors.removePasskey(subject, 'k1', ONLY_PASSWORD, undefined, hold),
        other.factors.removeTotp(subject, undefined, hold),
      ]);
      assert.deepEqual(await held(), { level: 3, untilMs: 5000 });
      assert.equal(await other.factors.confirm(subject, 2000), true);
      assert.equal(await other.factors.confirm(subject, 2000), false);
      assert.deepEqual(await held(), { level: 0, untilMs: 0 });

      // What does not count yet reaches nothing, and an earlier hold ends by time.
      await factors.addPasskey({ ...passkeyOf(subject, 'k2'), countsFromMs: 4000 });
      await factors.addTotp(subject, { sealed: 'sealed', createdAtMs: 1, countsFromMs: 0 }, 1);
      await factors.removePasskey(subject, 'k2', ONLY_PASSWORD, undefined, hold);
      assert.deepEqual(await held(), { level: 2, untilMs: 5000 });
      await factors.removeTotp(subject, undefined, { nowMs: 5000, untilMs: 9000 });
      assert.deepEqual(await held(), { level: 2, untilMs: 9000 });
      await factors.removeTotp(subject, undefined, { nowMs: 9001, untilMs: 12_000 });
      assert.deepEqual(await held(), { level: 1, untilMs: 12_000 });

      // The hold lasts until everything counts that was added.
      await factors.addPasskey({ ...passkeyOf(subject, 'k4'), createdAtMs: 11_000, countsFromMs: 50_000 });
      assert.deepEqual(await held(), { level: 1, untilMs: 50_000 });

      // Factors that wait count by a confirmation, and a reset ends every hold.
      await factors.addPasskey({ ...passkeyOf(subject, 'k3'), countsFromMs: 99_000 });
      await factors.addTotp(subject, { sealed: 'sealed', createdAtMs: 1, countsFromMs: 99_000 }, 1);
      assert.equal(await factors.confirm(subject, 20_000), true);
      const { passkeysCountFromMs, totpCountsFromMs } = await factors.of(subject);
      assert.deepEqual(
        { passkeysCountFromMs, totpCountsFromMs },
        { passkeysCountFromMs: 0, totpCountsFromMs: 0 },
      );
      await factors.removeTotp(subject, undefined, { nowMs: 20_000, untilMs: 30_000 });
      await factors.reset(subject);
      assert.deepEqual(await factors.of(subject), NO_FACTORS);
    });

    test('WebAuthn §7.2 of several uses with one counter, one succeeds', async (t) => {
      const [one, other] = await openDatabases(t, database, 2);
      assert.ok(one && other);
      const { subject } = await addPerson(one, 'alice');
      await one.factors.addPasskey(passkeyOf(subject, 'k1', 5));
      const use = { counter: 6, isBackedUp: false, isSecurityKey: false, nowMs: 2000 };
      const uses = await Promise.all(
        [one, other, one, other].map(({ factors }) => factors.usePasskey('k1', use)),
      );
      assert.equal(uses.filter((isUsed) => isUsed).length, 1);
      assert.equal(await one.factors.usePasskey('k1', { ...use, counter: 0 }), false, 'it has a counter');
    });

    test('RFC 6238 §5.2 a time step, a recovery code and a challenge count once, however many try', async (t) => {
      const [one, other] = await openDatabases(t, database, 2);
      assert.ok(one && other);
      const { subject } = await addPerson(one, 'alice');
      const totp = { sealed: 'sealed', createdAtMs: 1000, countsFromMs: 0 };
      const both = [one.factors, other.factors, one.factors, other.factors];
      const once = async (outcomes: readonly Promise<boolean>[]) =>
        assert.equal((await Promise.all(outcomes)).filter((done) => done).length, 1);
      assert.equal(
        await one.factors.setRecoveryCodes(subject, sealedCodes('d'), 1000),
        false,
        'there is no factor',
      );
      await once(both.map((factors) => factors.addTotp(subject, totp, 10)));
      assert.equal(await one.factors.useTotp(subject, totp, 10), false, 'it was used to add the app');
      await once(both.map((factors) => factors.useTotp(subject, totp, 11)));
      assert.equal(await one.factors.useTotp(subject, { ...totp, createdAtMs: 999 }, 12), false);
      assert.equal(await one.factors.setRecoveryCodes(subject, sealedCodes('a', 'b'), 1000), true);
      await once(both.map((factors) => factors.useRecoveryCode(subject, 'a')));
      assert.equal(await one.factors.useRecoveryCode('another', 'b'), false);
    });

    test('a user has at most 20 passkeys, however many they add at once', async (t) => {
      const [one, other] = await openDatabases(t, database, 2);
      assert.ok(one && other);
      const { subject } = await addPerson(one, 'alice');
      const added = await Promise.all(
        Array.from({ length: 26 }, (_, at) =>
          (at % 2 === 0 ? one : other).factors.addPasskey(passkeyOf(subject, `k${at}`)),
        ),
      );
      assert.equal(added.filter((isAdded) => isAdded).length, 20);
    });

    test('recovery codes end with the last other factor', async (t) => {
      const opened = await openDatabase(t, database);
      const { factors } = opened;
      const { subject } = await addPerson(opened, 'alice');
      await factors.addPasskey(passkeyOf(subject, 'k1'));
      await factors.addTotp(subject, { sealed: 'sealed', createdAtMs: 1000, countsFromMs: 0 }, 1);
      await factors.setRecoveryCodes(subject, sealedCodes('a'), 1000);
      await factors.removeTotp(subject);
      assert.equal((await factors.of(subject)).recoveryCodes, 1);
      await factors.removePasskey(subject, 'k1', ONLY_PASSWORD);
      assert.deepEqual(await factors.of(subject), NO_FACTORS);
    });

    test('secrets of apps move to the newest server secret, and those of other users never fit', async (t) => {
      const opened = await openDatabase(t, database);
      const { factors, attempts } = opened;
      const clock = () => START_MS;
      const older = 'o'.repeat(32);
      const newer = 'n'.repeat(32);
      const under = (...texts: string[]) => new ServerSecret<ProgramSecretUse>(texts);
      const seals = async (...texts: string[]) => [...(await sealsOfTotps(factors, under(...texts), ISSUER))];
      const before = new SecondFactors({
        ...{ issuer: ISSUER, issuerName: 'Example', factors, clock, secret: under(older) },
        limits: new AttemptLimits(attempts, under(older), clock),
      });
      const alice = await addPerson(opened, 'alice');
      const offer = await before.offerTotp(alice);
      assert.equal(await before.addTotp(alice, offer.sealed, codeOf(offer.secret, START_MS)), undefined);
      const bob = await addPerson(opened, 'bob');
      const code = codeOf(offer.secret, START_MS);
      assert.equal(
        await before.addTotp(bob, offer.sealed, code),
        'totp_offer_wrong',
        'the secret of another user',
      );

      assert.deepEqual(await seals(newer, older), [[1, 1]]);
      assert.deepEqual(await seals(newer), [[-1, 1]]);
      await resealTotps(factors, under(newer, older), ISSUER);
      assert.deepEqual(await seals(newer, older), [[0, 1]]);
      const later = new SecondFactors({
        ...{ issuer: ISSUER, issuerName: 'Example', factors },
        ...{ clock: () => START_MS + STEP_MS, secret: under(newer) },
        limits: new AttemptLimits(attempts, under(newer), clock),
      });
      assert.equal(await later.checkTotp(alice, codeOf(offer.secret, START_MS + STEP_MS)), undefined);
    });
  });
}

function codeOf(secret: string, atMs: number): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: atMs });
}

for (const database of ANY_DATABASE) {
  describe(`authenticator apps and recovery codes on ${database.name}`, { skip: database.absence }, () => {
    async function withApp(t: TestContext) {
      const opened = await openDatabase(t, database);
      const now = { ms: START_MS };
      const { factors, attempts } = opened;
      const second = new SecondFactors({
        ...{ issuer: ISSUER, issuerName: 'Example: Ltd', factors, secret: SECRET },
        clock: () => now.ms,
        limits: new AttemptLimits(attempts, SECRET, () => now.ms),
      });
      const alice = await addPerson(opened, 'alice');
      const offer = await second.offerTotp(alice);
      assert.equal(await second.addTotp(alice, offer.sealed, codeOf(offer.secret, now.ms)), undefined);
      const code = (steps = 0) => codeOf(offer.secret, now.ms + steps * STEP_MS);
      return { second, alice, now, code, offer, factors };
    }

    test('RFC 6238 §4 codes are those of RFC 4226, of 30 seconds and six digits', async (t) => {
      const { offer, now, code, second, alice } = await withApp(t);
      const { searchParams, protocol, host } = new URL(offer.uri);
      assert.deepEqual([protocol, host], ['otpauth:', 'totp']);
      const { issuer, secret, algorithm, digits, period } = Object.fromEntries(searchParams);
      assert.deepEqual(
        { issuer, secret, algorithm, digits, period },
        { issuer: 'Example Ltd', secret: offer.secret, algorithm: 'SHA1', digits: '6', period: '30' },
      );
      assert.equal(decodeURIComponent(new URL(offer.uri).pathname), '/Example Ltd:alice');
      const named = { ...alice, name: 'alice:lee' };
      assert.equal(
        decodeURIComponent(new URL((await second.offerTotp(named)).uri).pathname),
        '/Example Ltd:alice lee',
      );
      assert.equal(Secret.fromBase32(offer.secret).bytes.length, 20);
      const hotp = new HOTP({ secret: Secret.fromBase32(offer.secret) });
      assert.equal(code(), hotp.generate({ counter: Math.floor(now.ms / STEP_MS) }));
    });

    test('RFC 6238 §5.2 a code of the step before or after counts, others do not', async (t) => {
      const { second, alice, now, code } = await withApp(t);
      now.ms += 10 * STEP_MS;
      for (const steps of [-3, -2, 2, 3])
        assert.deepEqual(await second.checkTotp(alice, code(steps)), { refused: 'code_wrong' });
      assert.equal(await second.checkTotp(alice, code(-1)), undefined);
      assert.deepEqual(await second.checkTotp(alice, code(-1)), { refused: 'code_used' });
      assert.equal(await second.checkTotp(alice, ` ${code(1).slice(0, 3)} ${code(1).slice(3)} `), undefined);
      assert.deepEqual(await second.checkTotp(alice, code()), { refused: 'code_used' }, 'an earlier step');
    });

    test('TOTP brute force: ten wrong codes in five minutes, and fifty in a day, whoever tries', async (t) => {
      const { second, alice, now } = await withApp(t);
      let checked = 0;
      let refused = 0;
      for (let minute = 0; minute < 60; minute += 5) {
        for (let at = 0; at < 12; at += 1) {
          const outcome = await second.checkTotp(alice, '');
          if (outcome?.refused === 'too_many_codes') refused += 1;
          else checked += 1;
        }
        now.ms += 5 * MINUTE_MS;
      }
      assert.deepEqual({ checked, refused }, { checked: 50, refused: 94 });
      const outcome = await second.checkTotp(alice, '');
      assert.ok(outcome?.refused === 'too_many_codes');
      assert.equal(outcome.secondsToWait, 23 * 60 * 60);
      now.ms += 23 * 60 * MINUTE_MS;
      assert.deepEqual(await second.checkTotp(alice, ''), { refused: 'code_wrong' });
    });

    test('a right code ends the count of wrong ones', async (t) => {
      const { second, alice, now, code } = await withApp(t);
      for (let round = 0; round < 8; round += 1) {
        now.ms += STEP_MS;
        for (let at = 0; at < 9; at += 1) await second.checkTotp(alice, '');
        assert.equal(await second.checkTotp(alice, code()), undefined);
      }
    });

    test('recovery code guessing: ten codes of 79 bits each, which count like codes of the app', async (t) => {
      const { second, alice, factors } = await withApp(t);
      assert.ok(await second.newRecoveryCodes(alice.subject));
      const codes = await second.unsavedRecoveryCodes(alice.subject);
      assert.equal(new Set(codes).size, 10);
      for (const code of codes) assert.match(code, /^([a-hj-km-np-z2-9]{4}-){3}[a-hj-km-np-z2-9]{4}$/);
      const [first = '', last = ''] = codes;
      for (let at = 0; at < 9; at += 1)
        assert.deepEqual(await second.useRecoveryCode(alice, `${first}x`), {
          refused: 'recovery_code_wrong',
        });
      assert.equal(await second.useRecoveryCode(alice, first.replaceAll('-', '')), undefined);
      assert.deepEqual(await second.useRecoveryCode(alice, first), { refused: 'recovery_code_wrong' });
      assert.ok(await second.newRecoveryCodes(alice.subject));
      assert.deepEqual(await second.useRecoveryCode(alice, last), { refused: 'recovery_code_wrong' });
      assert.equal((await factors.of(alice.subject)).recoveryCodes, 10);
    });

    test('recovery codes stay until they are saved: the user says so, or uses one', async (t) => {
      const { second, alice, factors } = await withApp(t);
      assert.deepEqual(await second.unsavedRecoveryCodes(alice.subject), []);
      assert.ok(await second.newRecoveryCodes(alice.subject));
      const codes = await second.unsavedRecoveryCodes(alice.subject);
      assert.equal(codes.length, 10);
      for (const sealed of await factors.unsavedCodesOf(alice.subject))
        assert.ok(!codes.some((code) => sealed.includes(code)));
      await second.useRecoveryCode(alice, 'wrong');
      assert.deepEqual(await second.unsavedRecoveryCodes(alice.subject), codes);
      assert.ok(await second.newRecoveryCodes(alice.subject));
      const newer = await second.unsavedRecoveryCodes(alice.subject);
      assert.equal(new Set([...codes, ...newer]).size, 20);
      await factors.codesSaved(alice.subject);
      assert.deepEqual(await second.unsavedRecoveryCodes(alice.subject), []);
      assert.equal((await factors.of(alice.subject)).recoveryCodes, 10);

      assert.ok(await second.newRecoveryCodes(alice.subject));
      const [used = ''] = await second.unsavedRecoveryCodes(alice.subject);
      assert.equal(await second.useRecoveryCode(alice, used), undefined);
      assert.deepEqual(await second.unsavedRecoveryCodes(alice.subject), []);
    });

    test('WebAuthn §5.1.3 an attestation with certificates is refused, and nothing that they name is fetched', async (t) => {
      const opened = await openDatabase(t, database);
      const passkeys = new Passkeys({
        ...{ issuer: ISSUER, rpId: 'id.example', rpName: 'Example', secret: SECRET },
        ...{ factors: opened.factors, storage: opened.storage },
        clock: () => START_MS,
      });
      const alice = await addPerson(opened, 'alice');
      const fetched: unknown[] = [];
      t.mock.method(globalThis, 'fetch', async (address: unknown) => {
        fetched.push(address);
        throw new TypeError('the test allows no request');
      });
      const outcomeOf = async (kind: AttestationKind) => {
        const { sealed, options } = await passkeys.creationChallenge('form', alice);
        const lists = 'http://127.0.0.1:1/revoked';
        const response = await new Authenticator(ISSUER).createAttested(options as never, kind, lists);
        const outcome = await passkeys.create({ sealed, response, boundTo: 'form' }, alice, 'Phone');
        return 'refused' in outcome ? outcome.refused : 'added';
      };
      assert.equal(await outcomeOf('android-key'), 'passkey_wrong');
      assert.equal(await outcomeOf('packed with certificates'), 'passkey_wrong');
      assert.equal(await outcomeOf('packed by itself'), 'added');
      assert.deepEqual(fetched, []);
    });

    test('WebAuthn §7.1 a key that does not verify its user is only a security key, as its challenge says', async (t) => {
      const opened = await openDatabase(t, database);
      const passkeys = new Passkeys({
        ...{ issuer: ISSUER, rpId: 'id.example', rpName: 'Example', secret: SECRET },
        ...{ factors: opened.factors, storage: opened.storage },
        clock: () => START_MS,
      });
      const alice = await addPerson(opened, 'alice');
      const create = async (
        authenticator: Authenticator,
        kind: 'passkey' | 'security_key',
        deviation: Parameters<Authenticator['create']>[1] = {},
      ) => {
        const { sealed, options } = await passkeys.creationChallenge('form', alice, kind);
        const response = authenticator.create(options as never, deviation);
        return passkeys.create({ sealed, response, boundTo: 'form' }, alice, 'Key');
      };
      const key = new Authenticator(ISSUER, 5);
      const unverified = { isVerified: false };
      assert.deepEqual(await create(key, 'passkey', unverified), { refused: 'passkey_unverified' });
      for (const deviation of [
        { origin: 'https://evil.example' },
        { rpId: 'evil.example' },
        { type: 'webauthn.get' },
      ]) {
        const refused = await create(key, 'security_key', { ...unverified, ...deviation });
        assert.deepEqual(refused, { refused: 'passkey_wrong' }, JSON.stringify(deviation));
      }
      const added = await create(key, 'security_key', unverified);
      assert.ok('passkey' in added);
      assert.equal((await opened.factors.passkey(key.id))?.isSecurityKey, true);
      assert.equal(await opened.factors.hasPasskeys(), false, 'the sign-in page offers nothing');

      const verify = async (
        authenticator: Authenticator,
        deviation: Parameters<Authenticator['get']>[1],
        isSecond = true,
      ) => {
        const allowed = await opened.factors.passkeysOf(alice.subject);
        const { sealed, options } = await passkeys.signInChallenge('form', allowed);
        const response = authenticator.get(options as never, deviation);
        const outcome = await passkeys.verify({ sealed, response, boundTo: 'form' }, { isSecond });
        return 'refused' in outcome ? outcome.refused : options.userVerification;
      };
      assert.equal(await verify(key, unverified), 'discouraged');
      assert.equal(await verify(key, {}), 'discouraged');
      assert.equal(await verify(key, unverified, false), 'security_key_alone');
      assert.equal(await verify(key, {}, false), 'security_key_alone', 'its kind counts, not its PIN');
      assert.equal(await verify(key, { ...unverified, counter: 5 }), 'passkey_counter_wrong');
      assert.equal(await verify(key, { ...unverified, origin: 'https://evil.example' }), 'passkey_wrong');
      assert.equal(await verify(key, { ...unverified, rpId: 'evil.example' }), 'passkey_wrong');
      const phone = new Authenticator(ISSUER);
      assert.ok('passkey' in (await create(phone, 'passkey')));
      assert.equal(await opened.factors.hasPasskeys(), true);
      assert.equal(await verify(phone, unverified), 'passkey_unverified');
      assert.equal(await verify(phone, {}), 'preferred');
    });

    test('WebAuthn §13.4.3 a challenge lives for five minutes', async (t) => {
      const opened = await openDatabase(t, database);
      const now = { ms: START_MS };
      const passkeys = new Passkeys({
        ...{ issuer: ISSUER, rpId: 'id.example', rpName: 'Example', secret: SECRET },
        ...{ factors: opened.factors, storage: opened.storage },
        clock: () => now.ms,
      });
      const alice = await addPerson(opened, 'alice');
      const authenticator = new Authenticator(ISSUER);
      const creation = await passkeys.creationChallenge('form', alice);
      const create = { sealed: creation.sealed, boundTo: 'form' };
      const created = authenticator.create(creation.options as never);
      const outcome = await passkeys.create({ ...create, response: created }, alice, 'Phone');
      assert.ok('passkey' in outcome);
      const crossed = await passkeys.verify({ ...create, response: created });
      assert.deepEqual(crossed, { refused: 'passkey_challenge_wrong' }, 'it is for a creation');

      const signIn = async (waitMs: number) => {
        const { sealed, options } = await passkeys.signInChallenge('form');
        const response = authenticator.get(options as never);
        now.ms += waitMs;
        const { refused } = {
          refused: undefined,
          ...(await passkeys.verify({ sealed, response, boundTo: 'form' })),
        };
        return refused;
      };
      assert.equal(await signIn(5 * MINUTE_MS - 1), undefined);
      assert.equal(await signIn(5 * MINUTE_MS), 'passkey_challenge_wrong');
      const nonsense = [
        '',
        '{}',
        '[]',
        '{"id":"x","response":{}}',
        'x'.repeat(20_000),
        '{"id":7,"response":{}}',
      ];
      for (const response of nonsense) {
        const { sealed } = await passkeys.signInChallenge('form');
        const refused = await passkeys.verify({ sealed, response, boundTo: 'form' });
        assert.deepEqual(refused, { refused: 'passkey_unknown' }, response.slice(0, 30));
      }
    });
  });
}
