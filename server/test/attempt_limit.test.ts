import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { ServerSecret } from '@grantd/core';
import type { ProgramSecretUse } from '../src/data/secrets.ts';
import { AttemptLimit } from '../src/people/sign_in.ts';
import { DATABASES } from './harness/databases.ts';
import { openDatabase, openDatabases } from './harness/program_data.ts';

const SECRET = new ServerSecret<ProgramSecretUse>('s'.repeat(32));

for (const database of DATABASES) {
  describe(`the limit on attempts on ${database.name}`, { skip: database.absence }, () => {
    async function limitAt(t: TestContext, clock: { nowMs: number }): Promise<AttemptLimit> {
      const { attempts } = await openDatabase(t, database);
      return new AttemptLimit(attempts, SECRET, () => clock.nowMs);
    }

    test('ten attempts of a window are let through, the next one has to wait for its end', async (t) => {
      const clock = { nowMs: 0 };
      const limit = await limitAt(t, clock);
      for (let attempt = 0; attempt < 10; attempt += 1)
        assert.equal(await limit.begin('alice', '192.0.2.1'), 0);
      clock.nowMs = 60_000;
      assert.equal(await limit.begin('alice', '192.0.2.1'), 240);
      clock.nowMs = 300_000;
      assert.equal(await limit.begin('alice', '192.0.2.1'), 0);
    });

    test('a stranger’s attempts do not lock out users at other addresses or with other names', async (t) => {
      const limit = await limitAt(t, { nowMs: 0 });
      for (let attempt = 0; attempt < 50; attempt += 1) await limit.begin('alice', '203.0.113.9');
      assert.equal(await limit.begin('alice', '192.0.2.1'), 0);
      assert.equal(await limit.begin('alice', 'browser b'), 0);
      assert.equal(await limit.begin('bob', '203.0.113.9'), 0);
    });

    test('signing in ends the count', async (t) => {
      const limit = await limitAt(t, { nowMs: 0 });
      for (let attempt = 0; attempt < 9; attempt += 1) await limit.begin('alice', '192.0.2.1');
      await limit.succeeded('alice', '192.0.2.1');
      for (let attempt = 0; attempt < 10; attempt += 1)
        assert.equal(await limit.begin('alice', '192.0.2.1'), 0);
    });

    test('several processes count together', async (t) => {
      const limits = (await openDatabases(t, database, 3)).map(
        ({ attempts }) => new AttemptLimit(attempts, SECRET, () => 0),
      );
      const waits = await Promise.all(
        Array.from({ length: 15 }, (_, index) => limits[index % 3]?.begin('alice', '192.0.2.1')),
      );
      assert.equal(waits.filter((wait) => wait === 0).length, 10);
    });
  });
}
