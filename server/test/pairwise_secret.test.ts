import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ServerSecret } from '@grantd/core';
import { pairwiseSecretOf } from '../src/data/secrets.ts';
import { DATABASES } from './harness/databases.ts';
import { ISSUER, openDatabase, openDatabases } from './harness/program_data.ts';

const [OLD, NEWER] = ['o'.repeat(40), 'n'.repeat(40)];

for (const database of DATABASES) {
  describe(`the secret of pairwise subjects on ${database.name}`, { skip: database.absence }, () => {
    test('is made once, by whichever process is first, and is the same for all from then on', async (t) => {
      const [one, other] = await openDatabases(t, database, 2);
      assert.ok(one && other);
      const secrets = await Promise.all(
        [one, other, one, other].map(({ pairwiseSecret }) =>
          pairwiseSecretOf(pairwiseSecret, new ServerSecret(OLD), ISSUER),
        ),
      );
      const [first = ''] = secrets;
      assert.match(first, /^[\w-]{43}$/);
      assert.deepEqual(secrets, [first, first, first, first]);
      assert.doesNotMatch((await one.pairwiseSecret.get()) ?? first, new RegExp(first), 'it is sealed');
    });

    test('outlives a change of the server’s secret, once a server has known both', async (t) => {
      const { pairwiseSecret } = await openDatabase(t, database);
      const secretOf = (...secrets: string[]) =>
        pairwiseSecretOf(pairwiseSecret, new ServerSecret(secrets), ISSUER);
      const made = await secretOf(OLD);
      const refused =
        /^Refused: the secret of pairwise .* was encrypted with another server secret: add that secret/;
      await assert.rejects(secretOf(NEWER), refused);
      assert.equal(await secretOf(NEWER, OLD), made);
      assert.equal(await secretOf(NEWER), made);
      await assert.rejects(secretOf(OLD), refused);
    });

    test('is kept for each issuer, and cannot replace another issuer’s', async (t) => {
      const { pairwiseSecret } = await openDatabase(t, database);
      await pairwiseSecretOf(pairwiseSecret, new ServerSecret(OLD), ISSUER);
      await assert.rejects(
        pairwiseSecretOf(pairwiseSecret, new ServerSecret(OLD), 'https://other.example'),
        /encrypted with another server secret/,
      );
    });
  });
}
