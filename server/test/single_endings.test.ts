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

async function open(t: TestContext, database: TestDatabase, settings: Record<string, string> = {}) {
  const configuration = readConfiguration(
    {},
    { GRANTD_ISSUER: ISSUER, GRANTD_SECRET: 's'.repeat(32), GRANTD_CREATE: 'true', ...settings },
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

    test('one factor is removed, and all access of the user ends, while the other factors stay', async (t) => {
      const { instance, calls } = await open(t, database);
      const { factors } = instance;
      const { subject: sub } = await addPerson(instance, 'bob');
      const key = { subject: sub, publicKey: '', counter: 0, transports: [], isBackedUp: false };
      const times = { createdAtMs: 1, countsFromMs: 0 };
      await factors.addPasskey({ ...key, ...times, id: 'k1', name: 'Phone', isSecurityKey: false });
      await factors.addPasskey({ ...key, ...times, id: 'k2', name: 'Ring', isSecurityKey: true });
      await factors.addTotp(sub, { sealed: 'sealed', ...times }, 1);
      const addCodes = () =>
        factors.setRecoveryCodes(
          sub,
          [
            { digest: 'a', sealed: '' },
            { digest: 'b', sealed: '' },
          ],
          1,
        );
      await addCodes();
      await addSession(instance, sub, 'one');
      const remove = (factor: string) => call(calls, 'removeFactor', { sub, factor });
      const left = async () => {
        const view = await call(calls, 'getFactors', { sub });
        const app = view.authenticator_app_added_at === undefined ? [] : ['app'];
        return [
          ...[...view.passkeys, ...view.security_keys].map(({ id }) => id),
          ...app,
          view.recovery_codes,
        ];
      };
      const removed = (document: object) => ({ sessions_ended: 0, ...document });
      assert.deepEqual(await remove('k1'), { kind: 'passkey', name: 'Phone', sessions_ended: 1 });
      assert.deepEqual(await left(), ['k2', 'app', 2]);
      assert.ok(
        (await instance.storage.getPrincipalState('subject', sub))?.raisedAtMs,
        'all tokens are revoked',
      );
      assert.deepEqual(await remove('recovery_codes'), removed({ kind: 'recovery_codes' }));
      await assert.rejects(remove('recovery_codes'), isNotFound);
      await addCodes();
      assert.deepEqual(await remove('authenticator_app'), removed({ kind: 'authenticator_app' }));
      assert.deepEqual(await left(), ['k2', 2]);
      assert.deepEqual(await remove('k2'), removed({ kind: 'security_key', name: 'Ring' }));
      assert.deepEqual(await left(), [0]);
      for (const factor of ['k1', 'authenticator_app', 'recovery_codes', 'none'])
        await assert.rejects(remove(factor), isNotFound);
      const events = (await instance.storage.eventsAfter(0, 1000)).filter(
        ({ type }) => type === 'person_factor_removed',
      );
      assert.deepEqual(
        events.map(({ reason }) => reason),
        ['passkey', 'recovery_codes', 'authenticator_app', 'security_key'],
      );
    });

    test('the user gets an email about each removed factor', async (t) => {
      const { instance, calls } = await open(t, database, {
        GRANTD_SMTP_URL: 'smtp://127.0.0.1:1',
        GRANTD_MAIL_FROM: 'a@example.com',
      });
      const { factors } = instance;
      const claims = { email: 'bob@example.com', email_verified: true };
      const bob = await instance.people.add({ name: 'bob', passwordHash: 'hash', claims });
      assert.ok(bob);
      const { subject: sub } = bob;
      await factors.addTotp(sub, { sealed: 'sealed', createdAtMs: 1, countsFromMs: 0 }, 1);
      await factors.setRecoveryCodes(sub, [{ digest: 'a', sealed: '' }], 1);
      await call(calls, 'removeFactor', { sub, factor: 'recovery_codes' });
      await call(calls, 'removeFactor', { sub, factor: 'authenticator_app' });
      const taken = await instance.mails.take(Date.now() + 1000, 1000, 10);
      assert.deepEqual(
        taken.map(({ template, recipient }) => [template, recipient]),
        Array(2).fill(['factor_changed', 'bob@example.com']),
      );
    });
  });
