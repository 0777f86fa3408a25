// Operators end one session of a user, and remove one factor.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { Caller } from '../src/admin/caller.ts';
import { call, inProcess } from '../src/admin/in_process.ts';
import { OperationRefused } from '../src/admin/operation_refused.ts';
import { localParts } from '../src/cli/local_calls.ts';
import { readConfiguration } from '../src/config/configuration.ts';
import type { AdminScope } from '../src/instance/admin_access.ts';
import { openInstance } from '../src/instance/instance.ts';
import { DATABASES, type TestDatabase } from './harness/databases.ts';
import { addPerson, addSession, ISSUER, newDatabase } from './harness/program_data.ts';

async function open(t: TestContext, database: TestDatabase) {
  const configuration = readConfiguration(
    {},
    { GRANTD_ISSUER: ISSUER, GRANTD_SECRET: 's'.repeat(32), GRANTD_CREATE: 'true' },
  );
  const instance = await openInstance(configuration, await newDatabase(t, database), ISSUER, 'server');
  const scopes: readonly AdminScope[] = ['grantd:users:read', 'grantd:users:write'];
  const caller = Caller.ofApi('ops', undefined, scopes, undefined);
  return { instance, calls: inProcess({ ...localParts({ ...instance, configuration }), caller }) };
}

const isNotFound = (error: unknown) => error instanceof OperationRefused && error.kind === 'not_found';

for (const database of DATABASES)
  describe(`single endings on ${database.name}`, { skip: database.absence }, () => {
    test('one session of a user ends, and neither the others nor those of other users', async (t) => {
      const { instance, calls } = await open(t, database);
      const [bob, eve] = [await addPerson(instance, 'bob'), await addPerson(instance, 'eve')];
      for (const id of ['one', 'two']) await addSession(instance, bob.subject, id);
      await addSession(instance, eve.subject, 'of eve');
      const sub = bob.subject;
      const idsOf = async (subject: string) =>
        (await call(calls, 'listSessions', { sub: subject })).items.map(({ id }) => id);
      await assert.rejects(call(calls, 'endSession', { sub, session: 'of eve' }), isNotFound);
      const { id, user_agent: userAgent } = await call(calls, 'endSession', { sub, session: 'one' });
      assert.deepEqual([id, userAgent], ['one', 'Test']);
      assert.deepEqual([await idsOf(sub), await idsOf(eve.subject)], [['two'], ['of eve']]);
      assert.equal(await instance.sessions.isOpen('one'), false);
      await assert.rejects(call(calls, 'endSession', { sub, session: 'one' }), isNotFound);
    });
  });
