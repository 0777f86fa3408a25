// Requests with an Idempotency-Key, as both databases keep them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ServerSecret } from '@grantd/core';
import { ShownOnce } from '../src/console/kept_secrets.ts';
import { AnsweredRequests } from '../src/data/answered_requests.ts';
import type { ProgramSecretUse } from '../src/data/secrets.ts';
import { DATABASES } from './harness/databases.ts';
import { deletionLimitAt, openDatabases } from './harness/program_data.ts';

for (const database of DATABASES) {
  describe(`on ${database.name}`, { skip: database.absence }, () => {
    test('of processes that take a key at the same time, one gets it, until it expires', async (t) => {
      const [one, other] = await openDatabases(t, database, 2);
      assert.ok(one && other);
      const begun = await Promise.all(
        [one, other, one, other].map(({ apiRequests }) => apiRequests.begin('key', 'request', 1000, 2000)),
      );
      const taken = begun.filter((outcome) => 'attempt' in outcome);
      assert.equal(taken.length, 1);
      const pending = { requestDigest: 'request' };
      assert.deepEqual(
        begun.filter((outcome) => !('attempt' in outcome)),
        [pending, pending, pending],
      );

      const [{ attempt } = { attempt: '' }] = taken;
      const again = await other.apiRequests.begin('key', 'another', 2000, 3000);
      assert.ok('attempt' in again);
      // The lost attempt must not answer for the one that took its place.
      await one.apiRequests.finish('key', attempt, 'too late', 9000);
      await one.apiRequests.forget('key', attempt);
      await other.apiRequests.finish('key', again.attempt, 'sealed', 9000);
      const stored = { requestDigest: 'another', sealed: 'sealed' };
      assert.deepEqual(await one.apiRequests.begin('key', 'another', 3000, 4000), stored);
      await other.apiRequests.forget('key', again.attempt);
      assert.ok('attempt' in (await one.apiRequests.begin('key', 'third', 3000, 4000)));
    });

    test('secrets that two processes keep at the same time are all shown, until each is acknowledged', async (t) => {
      const [one, other] = await openDatabases(t, database, 2);
      assert.ok(one && other);
      const clock = { nowMs: 1000 };
      const shownIn = ({ apiRequests }: typeof one, secret: string | readonly string[]) =>
        new ShownOnce(
          new AnsweredRequests({
            ...{ apiRequests, secret: new ServerSecret<ProgramSecretUse>(secret), use: 'answered_form' },
            clock: () => clock.nowMs,
          }),
        );
      const [OLD, NEW] = ['o'.repeat(32), 'n'.repeat(32)];
      const [first, second] = [shownIn(one, OLD), shownIn(other, [NEW, OLD])];
      const made = Array.from({ length: 10 }, (_, at) => `secret ${at}`);
      await Promise.all(
        made.map((secret, at) => (at % 2 === 0 ? first : second).add('alice', 'place', secret)),
      );
      await first.add('alice', 'another place', 'other');
      await first.add('bob', 'place', 'of bob');
      const shown = await second.secrets('alice', 'place');
      assert.deepEqual(shown.map(({ secret }) => secret).toSorted(), made);
      clock.nowMs += 1;
      await second.add('alice', 'place', 'made meanwhile');
      await second.acknowledge(
        'alice',
        'place',
        shown.map(({ name }) => name),
      );
      assert.deepEqual(
        (await second.secrets('alice', 'place')).map(({ secret }) => secret),
        ['made meanwhile'],
      );
      assert.equal((await first.secrets('bob', 'place')).length, 1);
      // As an earlier version has kept it.
      await first.keep('alice', 'place', 'of an earlier version');
      const both = await second.secrets('alice', 'place');
      assert.deepEqual(both.map(({ secret }) => secret).toSorted(), [
        'made meanwhile',
        'of an earlier version',
      ]);
      await second.acknowledge('alice', 'place', ['']);
      assert.equal((await second.secrets('alice', 'place')).length, 1);
      clock.nowMs += 24 * 60 * 60 * 1000;
      assert.deepEqual(await second.secrets('alice', 'place'), []);
    });

    test('a value that replaces another is always there, also while two processes keep one', async (t) => {
      const processes = await openDatabases(t, database, 2);
      const secret = new ServerSecret<ProgramSecretUse>('s'.repeat(32));
      const [one, other] = processes.map(
        ({ apiRequests }) =>
          new ShownOnce(
            new AnsweredRequests({ ...{ apiRequests, secret, use: 'answered_form' }, clock: () => 1000 }),
          ),
      );
      assert.ok(one && other);
      await one.keep('alice', 'file', 'first');
      const keeping = Promise.all(
        Array.from({ length: 40 }, (_, at) => (at % 2 === 0 ? one : other).keep('alice', 'file', `${at}`)),
      );
      let isOver = false;
      void keeping.finally(() => {
        isOver = true;
      });
      while (!isOver) assert.notEqual(await other.find('alice', 'file'), undefined);
      await keeping;
      await one.keep('alice', 'file', 'last');
      assert.equal(await other.find('alice', 'file'), 'last');
    });

    test('expired requests are swept', async (t) => {
      const [one] = await openDatabases(t, database);
      assert.ok(one);
      const bounds = { unusedFor: 0, untilMs: await deletionLimitAt(2000) };
      for (const key of ['a', 'b', 'c']) await one.apiRequests.begin(key, 'request', 1000, 2000);
      assert.equal(await one.sweepProgram(2, bounds), 2);
      assert.equal(await one.sweepProgram(2, bounds), 1);
      assert.equal(await one.sweepProgram(2, bounds), 0);
    });

    test('of two changes of a group that was read, one is lost', async (t) => {
      const [one] = await openDatabases(t, database);
      assert.ok(one);
      await one.groups.add({ name: 'staff', description: 'old' }, 1000);
      const read = await one.groups.byName('staff');
      assert.ok(read);
      const both = ['one', 'two'].map((description) =>
        one.groups.change('staff', { ...read, description }, read),
      );
      assert.deepEqual((await Promise.all(both)).sort(), [false, true]);
      const now = await one.groups.byName('staff');
      assert.ok(now);
      const strict = { ...now, signInPolicy: 'second_factor' } as const;
      assert.equal(await one.groups.change('staff', strict, now), true);
      assert.equal(
        await one.groups.change('staff', now, now),
        false,
        'the policy is a part of what was read',
      );
      assert.equal((await one.groups.byName('staff'))?.signInPolicy, 'second_factor');
      assert.equal(await one.groups.change('staff', now, strict), true);
      assert.equal((await one.groups.byName('staff'))?.signInPolicy, undefined);
    });
  });
}
