// Signing in with six digits by email instead of a password.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { ServerSecret } from '@grantd/core';
import { acrOf, afterStep, levelOf, METHODS } from '../src/access/acr.ts';
import type { Provider } from '../src/config/providers.ts';
import type { OpenDatabase } from '../src/data/database.ts';
import type { ProgramSecretUse } from '../src/data/secrets.ts';
import { NO_PASSWORD } from '../src/data/ways_to_sign_in.ts';
import { type CodeRequest, EmailCodes, newCodeRequest } from '../src/people/email_codes.ts';
import { Locks } from '../src/people/locks.ts';
import { OwnPasswords } from '../src/people/own_passwords.ts';
import { AttemptLimits } from '../src/people/sign_in.ts';
import { DATABASES } from './harness/databases.ts';
import { openDatabases } from './harness/program_data.ts';

const SECRET = new ServerSecret<ProgramSecretUse>('s'.repeat(32));
const MINUTE_MS = 60_000;

test('a code by email is of the level of a password, and makes no second factor', () => {
  assert.equal(levelOf(METHODS.emailCode), levelOf(METHODS.password));
  assert.equal(acrOf(METHODS.emailCode), acrOf(METHODS.password));
  assert.equal(levelOf([...METHODS.password, ...METHODS.emailCode]), levelOf(METHODS.password));
  assert.deepEqual(afterStep(METHODS.emailCode, METHODS.code), ['email', 'otp', 'mfa']);
  // What another provider says about its own sign-in is no step here.
  assert.equal(acrOf(['email', 'fed']), undefined);
});

for (const database of DATABASES)
  describe(`codes by email on ${database.name}`, { skip: database.absence }, () => {
    /** Several processes that send and check codes. */
    async function codesAt(
      t: TestContext,
      {
        processes: howMany = 1,
        providers = [],
        onlyGroups,
      }: {
        readonly onlyGroups?: readonly string[];
        readonly processes?: number;
        readonly providers?: readonly Pick<Provider, 'domains'>[];
      } = {},
    ) {
      const clock = { nowMs: 1_000_000 };
      const databases = await openDatabases(t, database, howMany);
      const [first] = databases;
      assert.ok(first);
      const { people, mailedLinks } = first;
      const codesOver = ({ attempts, storage, ...opened }: OpenDatabase, secret = SECRET) =>
        new EmailCodes({
          ...{ storage, people: opened.people, links: opened.mailedLinks, secret },
          passwords: new OwnPasswords({ providers, identities: opened.upstreamIdentities }),
          limits: new AttemptLimits(attempts, secret, () => clock.nowMs),
          ...{ onlyGroups, takesAddresses: true, withoutCodes: 'admins', clock: () => clock.nowMs },
        });
      const processes = databases.map((each) => codesOver(each));
      const [codes] = processes;
      assert.ok(codes);
      return {
        ...{ clock, codes, processes, people, links: mailedLinks, database: first },
        codesWith: (secret: typeof SECRET) => codesOver(first, secret),
        locks: new Locks(first.attempts, SECRET, () => clock.nowMs),
        async add(name: string, { passwordHash = `hash of ${name}`, email = `${name}@example.com` } = {}) {
          const claims = { email, email_verified: true };
          return (await people.add({ name, passwordHash, claims })) ?? assert.fail(name);
        },
        /** @returns the code in the email; `undefined` if there is none */
        async mailed(typed: string, request: CodeRequest, place = '192.0.2.1') {
          return (await codes.make(typed, request, place))?.code;
        },
        /** @returns the username of the user, or why they are refused */
        async redeem(request: CodeRequest, code: string, place = '192.0.2.1', process = codes) {
          const outcome = await process.redeem({ typed: 'ada', ...request }, code, {
            name: place,
            isKnown: false,
          });
          return 'refused' in outcome ? outcome.refused : outcome.person.name;
        },
      };
    }

    /** Whether a code is for one request only. */
    const isShort = (code: string | undefined) => code !== undefined && /^\d{6}$/.test(code);

    /** A new request of a browser. */
    const from = (browser = 'browser') => newCodeRequest(browser, undefined);

    const otherThan = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, '0');

    test('a code signs in its user once, for ten minutes, with the request and in the browser that asked for it', async (t) => {
      const { mailed, redeem, add, clock } = await codesAt(t);
      await add('ada');
      const request = from();
      const code = (await mailed('ADA@example.com', request)) ?? assert.fail();
      assert.match(code, /^\d{6}$/);
      assert.equal(await redeem({ ...request, id: 'another' }, code), 'email_code_wrong');
      assert.equal(await redeem(request, `${code.slice(0, 3)} ${code.slice(3)}`), 'ada');
      assert.equal(await redeem(request, code), 'email_code_wrong', 'used');

      const [inTime, late, relayed] = [from('one'), from('two'), from('three')];
      const codes = [];
      for (const each of [inTime, late, relayed]) codes.push((await mailed('ada', each)) ?? assert.fail());
      const [first = '', second = '', third = ''] = codes;
      assert.equal(await redeem({ ...relayed, browser: 'victim' }, third), 'email_code_wrong');
      assert.equal(await redeem(relayed, third), 'email_code_wrong', 'what was seen elsewhere is used up');
      clock.nowMs += 10 * MINUTE_MS - 1;
      assert.equal(await redeem(inTime, first), 'ada');
      clock.nowMs += 1;
      assert.equal(await redeem(late, second), 'email_code_wrong');
    });

    test('five wrong guesses end a code, whether there is a user or not, and count for their address', async (t) => {
      const { mailed, redeem, add } = await codesAt(t);
      await add('ada');
      const [known, unknown] = [from(), from()];
      const code = (await mailed('ada', known)) ?? assert.fail();
      assert.equal(await mailed('nobody', unknown), undefined);
      for (let guess = 0; guess < 5; guess += 1)
        for (const request of [known, unknown])
          assert.equal(await redeem(request, otherThan(code)), 'email_code_wrong');
      for (const request of [known, unknown]) assert.equal(await redeem(request, code), 'email_code_guessed');
      const outcomes: string[] = [];
      for (let guess = 0; guess < 95; guess += 1) outcomes.push(await redeem(from(), '000000'));
      assert.deepEqual(new Set(outcomes.slice(0, 90)), new Set(['email_code_wrong']));
      assert.deepEqual(new Set(outcomes.slice(90)), new Set(['too_many_failures']));
      const fresh = from();
      const right = (await mailed('ada', fresh)) ?? assert.fail();
      assert.equal(await redeem(fresh, right, '198.51.100.7'), 'ada');
    });

    test('of many redemptions at once in four processes, one succeeds', async (t) => {
      const { mailed, redeem, add, processes } = await codesAt(t, { processes: 4 });
      await add('ada');
      for (let round = 0; round < 5; round += 1) {
        const request = from(`browser ${round}`);
        const code = (await mailed('ada', request)) ?? assert.fail();
        const outcomes = await Promise.all(
          processes.map((process) => redeem(request, code, '192.0.2.1', process)),
        );
        assert.deepEqual(outcomes.sort(), ['ada', ...Array(3).fill('email_code_wrong')]);
      }
    });

    test('a code ends with the password, the address, the right to it, and the user', async (t) => {
      const at = await codesAt(t);
      const { people, database: opened } = at;
      const endings: Readonly<Record<string, (subject: string) => Promise<unknown>>> = {
        password: (subject) => people.setPasswordHash(subject, 'another'),
        async address(subject) {
          const person = (await people.bySubject(subject)) ?? assert.fail();
          return people.update({ ...person, claims: { email: 'other@example.com', email_verified: true } });
        },
        async proof(subject) {
          const person = (await people.bySubject(subject)) ?? assert.fail();
          return people.update({ ...person, claims: { ...person.claims, email_verified: false } });
        },
        disabled: async (subject) => opened.storage.setDisabled('subject', subject, true),
        async administrator(subject) {
          await opened.groups.add({ name: 'admins', description: '' }, 0);
          return opened.groups.addMember({ subject, group: 'admins' }, 0);
        },
        directory: (subject) => people.setDirectoryId(subject, 'entry'),
        async removal(subject) {
          await people.beginRemoval(subject, 1);
          return people.erase(subject);
        },
      };
      for (const [name, end] of Object.entries(endings)) {
        const { subject } = await at.add(name);
        const [before, meanwhile] = [from(), from('other')];
        const code = (await at.mailed(name, before)) ?? assert.fail(name);
        const other = (await at.mailed(name, meanwhile)) ?? assert.fail(name);
        const redeemed = await at.codes.redeem({ typed: name, ...meanwhile }, other, {
          name: '192.0.2.1',
          isKnown: false,
        });
        assert.ok('person' in redeemed && (await redeemed.isStillThere()), name);
        await end(subject);
        assert.match(await at.redeem(before, code), /^(?:person_changed|email_code_wrong)$/, name);
        assert.equal(await redeemed.isStillThere(), false, `${name}, between the code and the session`);
      }
    });

    test('users whose way in is elsewhere get no code, and users without a password do', async (t) => {
      const at = await codesAt(t, { providers: [{ domains: ['corp.example'] }] });
      const { people, database: opened } = at;
      await at.add('new', { passwordHash: NO_PASSWORD });
      await at.add('ada@corp.example');
      await at.add('bob', { email: 'bob@corp.example' });
      const linked = await at.add('linked', { passwordHash: NO_PASSWORD });
      const identity = {
        provider: 'corp',
        upstreamIssuer: 'https://corp.example',
        upstreamSub: 'x',
        label: 'x',
      };
      assert.ok(await opened.upstreamIdentities.link(identity, linked.subject, 1));
      await people.add({
        name: 'entry',
        passwordHash: NO_PASSWORD,
        claims: { email: 'entry@example.com', email_verified: true },
        directoryId: 'entry',
      });
      await people.add({
        name: 'unverified',
        passwordHash: 'x',
        claims: { email: 'unverified@example.com' },
      });
      for (const shared of ['one', 'two']) await at.add(shared, { email: 'team@example.com' });
      for (const typed of [
        'ada@corp.example',
        'bob',
        'linked',
        'entry',
        'unverified',
        'nobody',
        'team@example.com',
      ])
        assert.equal(await at.mailed(typed, from()), undefined, typed);
      for (const typed of ['new', 'new@example.com', 'one'])
        assert.match((await at.mailed(typed, from())) ?? '', /^\d{6}$/, typed);
    });

    test('with groups, only their members get codes', async (t) => {
      const at = await codesAt(t, { onlyGroups: ['staff', 'crew'] });
      const { groups } = at.database;
      for (const name of ['staff', 'crew', 'admins', 'others'])
        await groups.add({ name, description: '' }, 0);
      for (const [name, ...of] of [
        ['ada', 'crew', 'others'],
        ['ben', 'others'],
        ['cyd'],
        ['dan', 'crew', 'admins'],
      ]) {
        const { subject } = await at.add(name ?? '');
        for (const group of of) await groups.addMember({ subject, group }, 0);
      }
      const outcomes = [];
      for (const name of ['ada', 'ben', 'cyd', 'dan'])
        outcomes.push((await at.mailed(name, from())) !== undefined);
      assert.deepEqual(outcomes, [true, false, false, false]);
    });

    test('strangers get 20 codes an hour and 60 a day of a user by all names, and leave the browsers of the user theirs', async (t) => {
      const { mailed, add, clock, locks } = await codesAt(t);
      const ada = await add('ada');
      let [sent, shared] = [0, 0];
      for (let hour = 0; hour < 5; hour += 1, clock.nowMs += 60 * MINUTE_MS)
        for (let mail = 0; mail < 30; mail += 1) {
          const typed = mail % 2 ? 'ada' : 'ada@example.com';
          const code = await mailed(typed, from(`stranger ${mail}`), `192.0.2.${mail}`);
          if (isShort(code)) sent += 1;
          else if (code) shared += 1;
        }
      assert.deepEqual([sent, shared], [60, 15]);
      for (let mail = 0; mail < 11; mail += 1) {
        const code = await mailed('ada', newCodeRequest('own', 'known'));
        assert.equal(code !== undefined, mail < 10);
      }
      assert.equal(isShort(await mailed('ada', from())), false);
      await locks.unlock(ada);
      assert.ok(isShort(await mailed('ada', from())));
    });

    test('strangers who use up the codes of a user keep the user out of no browser', async (t) => {
      const { mailed, add, redeem, clock, locks } = await codesAt(t);
      const ada = await add('ada');
      await add('ben');
      const attack = async () => {
        for (let place = 0; place < 30; place += 1)
          await mailed('ada', from('stranger'), `198.51.100.${place}`);
      };
      await attack();
      clock.nowMs += 60 * MINUTE_MS;
      const first = (await mailed('ada', from('elsewhere'))) ?? assert.fail();
      assert.ok(isShort(first), 'another hour');
      await attack();
      clock.nowMs += 59 * MINUTE_MS;
      assert.equal(await mailed('ada', from(), '203.0.113.1'), undefined, 'at most three an hour');
      clock.nowMs += MINUTE_MS;
      await attack();
      clock.nowMs += 60 * MINUTE_MS;
      // The limit of the day.
      const codes = [];
      for (let mail = 0; mail < 40; mail += 1)
        codes.push(await mailed('ada', from(`b${mail}`), `203.0.113.${mail}`));
      const [shared = '', other = '', third = ''] = codes.filter((code) => code && !isShort(code));
      assert.match(shared, /^\d{4} \d{4} \d{4} \d{4}$/);
      assert.equal(await redeem({ ...from('own'), typed: 'ben' } as CodeRequest, shared), 'email_code_wrong');
      assert.equal(await redeem(from('own'), other), 'ada', 'in a browser that asked for none of them');
      assert.equal(await redeem(from('own'), other), 'email_code_wrong', 'it works once');
      const next = (await mailed('ada', from('phone'))) ?? assert.fail('one more after each use');
      assert.equal(await redeem(from('tablet'), next.replaceAll(' ', '')), 'ada');
      clock.nowMs += 60 * MINUTE_MS;
      assert.equal(await redeem(from('own'), third), 'email_code_wrong', 'it has expired');
      await locks.unlock(ada);
      assert.ok(isShort(await mailed('ada', from())));
    });

    test('places use up only their own part: 5 codes an hour and 15 a day of a user, for each place', async (t) => {
      const { mailed, add, clock, locks } = await codesAt(t);
      const ada = await add('ada');
      const askAt = async (place: string, times: number) => {
        let sent = 0;
        for (let mail = 0; mail < times; mail += 1)
          if (isShort(await mailed(mail % 2 ? 'ada' : 'ada@example.com', from(`${place} ${mail}`), place)))
            sent += 1;
        return sent;
      };
      const hours = async (place: string) => {
        const sent = [];
        for (let hour = 0; hour < 5; hour += 1, clock.nowMs += 60 * MINUTE_MS)
          sent.push(await askAt(place, 12));
        return sent;
      };
      for (const place of ['192.0.2.1', '2001:db8::/64', '198.51.100.1'])
        assert.deepEqual(await hours(place), [5, 5, 5, 0, 0], place);
      assert.equal(await askAt('192.0.2.9', 1), 1, 'a new browser elsewhere still gets a code');
      assert.equal(await askAt('192.0.2.1', 1), 0);
      await locks.unlock(ada);
      assert.equal(await askAt('192.0.2.1', 1), 1, 'also the counts of places are forgotten');
    });

    test('an email that is sent again has the same code, which counts once and signs in once', async (t) => {
      const { mailed, add, redeem, clock } = await codesAt(t);
      await add('ada');
      for (let mail = 1; mail <= 5; mail += 1) {
        const request = from(`browser ${mail}`);
        const codes: (string | undefined)[] = [];
        for (let attempt = 1; attempt <= 5; attempt += 1) codes.push(await mailed('ada', request));
        const [code = ''] = codes;
        assert.ok(isShort(code));
        assert.deepEqual(codes, Array(5).fill(code));
        if (mail === 1) {
          clock.nowMs += 9 * MINUTE_MS;
          assert.equal(await mailed('ada', request), code);
          clock.nowMs += 9 * MINUTE_MS;
        }
        const outcomes = [];
        for (const each of codes) outcomes.push(await redeem(request, each ?? ''));
        assert.deepEqual(outcomes, ['ada', ...Array(4).fill('email_code_wrong')]);
        assert.equal(await mailed('ada', request), undefined, 'it was used');
      }
      assert.equal(await mailed('ada', from()), undefined, 'five were counted');
    });

    test('beyond the limits of all places, an email that is sent again has the same long code, and no short one', async (t) => {
      const { codes, mailed, add, redeem } = await codesAt(t);
      await add('ada');
      for (let place = 0; place < 20; place += 1)
        assert.ok(isShort(await mailed('ada', from(), `198.51.100.${place}`)));
      const request = from('stranger');
      const made = [];
      for (let attempt = 1; attempt <= 5; attempt += 1)
        made.push(await codes.make('ada', request, '203.0.113.1'));
      assert.deepEqual(
        made.map((each) => [each?.isShared, each?.code]),
        Array(5).fill([true, made[0]?.code]),
      );
      assert.equal(await redeem(from('own'), made[0]?.code ?? ''), 'ada');
      assert.equal(await codes.make('ada', request, '203.0.113.1'), undefined, 'it was used');
    });

    test('an email that is sent again after a new secret or password has the same code or none', async (t) => {
      const { codes, mailed, add, redeem, people, codesWith } = await codesAt(t);
      const { subject } = await add('ada');
      const rotated = codesWith(new ServerSecret(['n'.repeat(32), 's'.repeat(32)]));
      const [request, used, other] = [from('one'), from('two'), from('three')];
      const code = (await mailed('ada', request)) ?? assert.fail();
      assert.equal((await rotated.make('ada', request, '192.0.2.1'))?.code, code);
      assert.equal(await redeem(request, code, '192.0.2.1', rotated), 'ada');
      assert.equal(await redeem(used, (await mailed('ada', used)) ?? ''), 'ada');
      assert.equal(await rotated.make('ada', used, '192.0.2.1'), undefined, 'it was used');
      assert.ok(await mailed('ada', other));
      await people.setPasswordHash(subject, 'another');
      assert.equal(await codes.make('ada', other, '192.0.2.1'), undefined, 'it has ended');
    });

    test('an attempt that fails on the way is made up for', async (t) => {
      const { mailed, add, redeem, links, database: opened } = await codesAt(t);
      await add('ada');
      const fault = async () => {
        throw new Error('outage');
      };
      const before = t.mock.method(links, 'add', fault);
      const [unstored, unmarked] = [from('one'), from('two')];
      await assert.rejects(mailed('ada', unstored), /outage/);
      before.mock.restore();
      const code = (await mailed('ada', unstored)) ?? assert.fail();
      assert.equal(await redeem(unstored, code), 'ada');

      const { count } = opened.attempts;
      const after = t.mock.method(opened.attempts, 'count', (...args: Parameters<typeof count>) =>
        args[0].length === 1 ? fault() : count(...args),
      );
      await assert.rejects(mailed('ada', unmarked), /outage/);
      after.mock.restore();
      const again = (await mailed('ada', unmarked)) ?? assert.fail();
      assert.equal(await mailed('ada', unmarked), again);
      assert.equal(await redeem(unmarked, again), 'ada');
      assert.equal(await redeem(unmarked, again), 'email_code_wrong');
    });

    test('the database has neither the digits nor a digest that can be tried without the secret', async (t) => {
      const { add, codes, links } = await codesAt(t);
      await add('ada');
      const kept: unknown[] = [];
      const { add: addLink } = links;
      t.mock.method(links, 'add', (...args: Parameters<typeof addLink>) => {
        kept.push(args);
        return addLink(...args);
      });
      const { code } = (await codes.make('ada', from(), '192.0.2.1')) ?? assert.fail();
      assert.equal(kept.length, 1);
      assert.doesNotMatch(JSON.stringify(kept), new RegExp(`\\b${code}\\b`));
    });
  });
