import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { ServerSecret } from '@grantd/core';
import type { OpenDatabase } from '../src/data/database.ts';
import type { ProgramSecretUse } from '../src/data/secrets.ts';
import { DirectoryFault } from '../src/directory/contract.ts';
import { DirectorySignIn } from '../src/people/directory.ts';
import { AccessEnding } from '../src/people/groups.ts';
import { Locks } from '../src/people/locks.ts';
import { PasswordHasher, type Place } from '../src/people/password_hasher.ts';
import { CODE_LIMITS, codeCountName } from '../src/people/second_factors.ts';
import {
  ATTEMPTS_OF_NAME,
  AttemptLimits,
  attemptName,
  type Count,
  entryCountName,
  linkCountName,
  personCountName,
  type SignInParts,
  signIn,
} from '../src/people/sign_in.ts';
import { cheapHash } from './harness/cheap_hash.ts';
import { hashCheaply } from './harness/cheap_hasher.ts';
import { DATABASES } from './harness/databases.ts';
import { addPerson, openDatabase, openDatabases } from './harness/program_data.ts';

hashCheaply();

const SECRET = new ServerSecret<ProgramSecretUse>('s'.repeat(32));

for (const database of DATABASES) {
  describe(`the limit on attempts on ${database.name}`, { skip: database.absence }, () => {
    async function limitAt(t: TestContext, clock: { nowMs: number }): Promise<AttemptLimits> {
      const { attempts } = await openDatabase(t, database);
      return new AttemptLimits(attempts, SECRET, () => clock.nowMs);
    }

    test('ten attempts of a window are let through, the next one has to wait for its end', async (t) => {
      const clock = { nowMs: 0 };
      const limit = await limitAt(t, clock);
      for (let attempt = 0; attempt < 10; attempt += 1)
        assert.equal(await waitOf(limit, 'alice', '192.0.2.1'), 0);
      clock.nowMs = 60_000;
      assert.equal(await waitOf(limit, 'alice', '192.0.2.1'), 240);
      clock.nowMs = 300_000;
      assert.equal(await waitOf(limit, 'alice', '192.0.2.1'), 0);
    });

    test('a stranger’s attempts do not lock out users at other addresses or with other names', async (t) => {
      const limit = await limitAt(t, { nowMs: 0 });
      for (let attempt = 0; attempt < 50; attempt += 1) await waitOf(limit, 'alice', '203.0.113.9');
      assert.equal(await waitOf(limit, 'alice', '192.0.2.1'), 0);
      assert.equal(await waitOf(limit, 'alice', 'browser b'), 0);
      assert.equal(await waitOf(limit, 'bob', '203.0.113.9'), 0);
    });

    test('signing in ends the count', async (t) => {
      const limit = await limitAt(t, { nowMs: 0 });
      for (let attempt = 0; attempt < 9; attempt += 1) await waitOf(limit, 'alice', '192.0.2.1');
      await limit.end({ forgotten: [countOf('alice', '192.0.2.1')] });
      for (let attempt = 0; attempt < 10; attempt += 1)
        assert.equal(await waitOf(limit, 'alice', '192.0.2.1'), 0);
    });

    test('unlocking forgets every count of a user, at all places, and no other', async (t) => {
      const { attempts } = await openDatabase(t, database);
      const limit = new AttemptLimits(attempts, SECRET, () => 0);
      const locks = new Locks(attempts, SECRET, () => 0);
      const claims = { email: 'alice@example.com', email_verified: true };
      const alice = { subject: 'sub-of-alice', name: 'Alice', directoryId: 'entry', claims };
      const bob = { subject: 'sub-of-bob', name: 'bob', claims: {} };
      const names = (person: typeof alice) => [
        attemptName(person.name),
        attemptName(person.claims.email),
        personCountName(person.subject),
        entryCountName(person.directoryId),
        linkCountName(person.subject),
        ...CODE_LIMITS.map((_, index) => codeCountName(person.subject, index)),
      ];
      const tryAll = async () => {
        for (const name of [...names(alice), attemptName(bob.name)])
          for (const place of ['192.0.2.1', '2001:db8::/64'])
            for (let attempt = 0; attempt < 50; attempt += 1) await waitOf(limit, name, place);
      };
      assert.deepEqual(await locks.of(alice), []);
      await tryAll();
      const fiveMinutes = 5 * 60 * 1000;
      assert.deepEqual(await locks.of(alice), [
        { step: 'password', places: 2, endsAtMs: fiveMinutes },
        { step: 'code', places: 2, endsAtMs: fiveMinutes },
        { step: 'mailed_link', places: 2, endsAtMs: fiveMinutes },
      ]);
      await locks.unlock(alice);
      assert.deepEqual(await locks.of(alice), []);
      for (const name of names(alice)) assert.equal(await waitOf(limit, name, '192.0.2.1'), 0, name);
      assert.equal((await locks.of(bob)).length, 1);
    });

    test('several processes count together', async (t) => {
      const limits = (await openDatabases(t, database, 3)).map(
        ({ attempts }) => new AttemptLimits(attempts, SECRET, () => 0),
      );
      const waits = await Promise.all(
        Array.from({ length: 15 }, (_, index) =>
          waitOf(limits[index % 3] ?? assert.fail(), 'alice', '192.0.2.1'),
        ),
      );
      assert.equal(waits.filter((wait) => wait === 0).length, 10);
    });

    test('failed sign-ins of one address are limited over all names, across processes, and then no password is checked', async (t) => {
      const { clock, processes, add } = await signInAt(t, 3);
      const { subject } = await add('alice');
      const from = (place: Place) => (name: string, password: string, index: number) =>
        processes[index % 3]?.signIn(name, password, place) ?? assert.fail();
      const [here, elsewhere] = [from(HERE), from({ name: '198.51.100.7', isKnown: false })];

      const sprayed = await inGroups(130, (index) => here(`name-${index}`, 'Spring2026!', index));
      const refusals = (all: readonly string[]) => Object.groupBy(all, (reason) => reason);
      const { person_unknown, too_many_failures, ...others } = refusals(sprayed.map(reasonOf));
      assert.deepEqual([person_unknown?.length, too_many_failures?.length, others], [100, 30, {}]);
      assert.equal(checks(processes), 100);

      clock.nowMs = 5 * 60 * 1000;
      for (const name of ['alice', 'nobody', ''])
        assert.deepEqual(await here(name, PASSWORD, 0), {
          ...{ refused: 'too_many_failures', secondsToWait: 600, isFirst: false },
          ...(name === 'alice' && { triedSubject: subject }),
        });
      assert.equal(checks(processes), 100, 'no password was checked');
      assert.equal(reasonOf(await elsewhere('alice', PASSWORD, 1)), 'signed in');
      const known = { name: 'browser b', isKnown: true };
      assert.equal(reasonOf(await from(known)('alice', PASSWORD, 2)), 'signed in');
      assert.equal(reasonOf(await from(known)('alice', 'wrong', 2)), 'password_wrong');

      clock.nowMs = 15 * 60 * 1000;
      assert.equal(reasonOf(await here('alice', PASSWORD, 0)), 'signed in');
    });

    test('names that are tried after the limit of an address add no rows', async (t) => {
      const { processes, add } = await signInAt(t, 1);
      await add('alice');
      const [only] = processes;
      assert.ok(only);
      for (let index = 0; index < 150; index += 1) await only.signIn(`name-${index}`, 'wrong', HERE);
      // One for what was typed, and one for the user.
      assert.equal(only.rows(), 1 + 2 * 100);
    });

    test('neither correct sign-ins nor attempts that the limit of a name refuses use up the limit of their address', async (t) => {
      const { processes, add } = await signInAt(t, 2);
      for (let index = 0; index < 30; index += 1) await add(`user-${index}`);
      await add('bob');
      const attempt = (name: string, password: string, index: number) =>
        processes[index % 2]?.signIn(name, password, HERE) ?? assert.fail();
      const right = await inGroups(120, (index) => attempt(`user-${index % 30}`, PASSWORD, index));
      assert.deepEqual(new Set(right.map(reasonOf)), new Set(['signed in']));
      const wrong = await inGroups(120, (index) => attempt('bob', 'wrong', index));
      assert.equal(wrong.filter((one) => reasonOf(one) === 'password_wrong').length, 10);
      assert.equal(reasonOf(await attempt('user-0', PASSWORD, 0)), 'signed in');
      const sprayed = await inGroups(100, (index) => attempt(`name-${index}`, 'wrong', index));
      assert.equal(sprayed.filter((one) => reasonOf(one) === 'person_unknown').length, 90);
    });

    test('an outage of a directory uses up no limit', async (t) => {
      const opened = await openDatabase(t, database);
      let isOut = true;
      const directory = {
        ...{ groups: [], claims: [], areEmailsVerified: false, byId: async () => undefined, close() {} },
        async authenticate() {
          if (isOut) throw new DirectoryFault('out of reach');
          return { refused: 'person_unknown' as const };
        },
      };
      const { people, groups, storage } = opened;
      const access = new AccessEnding({ people, groups, storage });
      const only = processOver(
        opened,
        { nowMs: 0 },
        new DirectorySignIn({ directory, people, groups, access, clients: storage.clients }),
      );
      const attempt = (index: number) => only.signIn(`name-${index}`, 'wrong', HERE);
      for (let index = 0; index < 101; index += 1) await assert.rejects(attempt(index), DirectoryFault);
      isOut = false;
      const refusals = await inGroups(101, async (index) => reasonOf(await attempt(index)));
      assert.deepEqual(refusals.sort(), ['too_many_failures', ...Array(100).fill('person_unknown')].sort());
    });
  });

  /** Several processes at which users sign in. */
  async function signInAt(t: TestContext, howMany: number) {
    const clock = { nowMs: 0 };
    const databases = await openDatabases(t, database, howMany);
    const [first] = databases;
    assert.ok(first);
    return {
      clock,
      processes: databases.map((opened) => processOver(opened, clock)),
      add: (name: string) => addPerson(first, name, cheapHash(PASSWORD)),
    };
  }
}

const countOf = (name: string, place: string): Count => ({ name, place, most: ATTEMPTS_OF_NAME });

/** @returns seconds to wait; 0 if the attempt may proceed */
async function waitOf(limits: AttemptLimits, name: string, place: string): Promise<number> {
  return (await limits.begin(countOf(name, place)))?.secondsToWait ?? 0;
}

const PASSWORD = 'correct horse';
const HERE: Place = { name: '192.0.2.1', isKnown: false };

/** Counts the checks, and the rows that they need. */
function processOver(
  { people, storage, attempts }: OpenDatabase,
  clock: { readonly nowMs: number },
  directory?: DirectorySignIn,
) {
  const keys = new Set<string>();
  const counted = {
    ...attempts,
    async count(...of: Parameters<typeof attempts.count>) {
      const counts = await attempts.count(...of);
      for (const { keyDigest } of of[0].slice(0, counts.length)) keys.add(keyDigest);
      return counts;
    },
  };
  const hasher = new CountingHasher();
  const parts: SignInParts = {
    ...{ people, storage, hasher, directory },
    limits: new AttemptLimits(counted, SECRET, () => clock.nowMs),
    passwords: { areAskedOf: () => true },
    byAddress: undefined,
  };
  return {
    signIn: (name: string, password: string, place: Place) =>
      signIn(parts, name, password, async () => place),
    checks: () => hasher.checks,
    rows: () => keys.size,
  };
}

class CountingHasher extends PasswordHasher {
  checks = 0;

  override check(...of: Parameters<PasswordHasher['check']>) {
    this.checks += 1;
    return super.check(...of);
  }
}

function checks(processes: readonly { readonly checks: () => number }[]): number {
  return processes.reduce((sum, { checks: of }) => sum + of(), 0);
}

function reasonOf(outcome: Awaited<ReturnType<typeof signIn>>): string {
  return 'refused' in outcome ? outcome.refused : 'signed in';
}

/** So many at once as one process admits. */
async function inGroups<T>(howMany: number, attempt: (index: number) => Promise<T>): Promise<T[]> {
  const outcomes: T[] = [];
  while (outcomes.length < howMany) {
    const size = Math.min(30, howMany - outcomes.length);
    outcomes.push(
      ...(await Promise.all(Array.from({ length: size }, (_, index) => attempt(outcomes.length + index)))),
    );
  }
  return outcomes;
}
