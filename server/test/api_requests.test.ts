// Requests with an Idempotency-Key, as both databases keep them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
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
