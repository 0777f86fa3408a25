// Who has acted for users: counted in memory, to the hour, and written together.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { StorageFault } from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import type { ActingUse } from '../src/data/acting_uses.ts';
import type { TokenUse } from '../src/data/personal_tokens.ts';
import { applicationsOf } from '../src/pages/account/applications.ts';
import { actingFor, UseRecorder } from '../src/people/acting.ts';
import { DATABASES } from './harness/databases.ts';
import { deletionLimitAt, giveConsent, openDatabase } from './harness/program_data.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const START_MS = 500_000 * HOUR_MS + 1234;

function recorderOf(
  note: (uses: readonly ActingUse[]) => Promise<void>,
  noteTokens: (uses: readonly TokenUse[]) => Promise<void> = async () => {},
) {
  const clock = { nowMs: START_MS };
  const lines: object[] = [];
  const recorder = new UseRecorder({
    actingUses: { note },
    personalTokens: { note: noteTokens },
    clock: () => clock.nowMs,
    log: { error: (line) => lines.push(line) },
  });
  return { clock, lines, recorder };
}

const acting = (clientId: string, subject = 'alice', application = 'web') => ({
  clientId,
  subject,
  application,
});

test('a use is written once in an hour, and not while it is noted', async () => {
  const written: (readonly ActingUse[])[] = [];
  const { clock, recorder } = recorderOf(async (uses) => {
    if (uses.length > 0) written.push(uses);
  });
  const all = () => written.flat();
  for (let times = 0; times < 3; times++) recorder.note(acting('agent'));
  recorder.note(acting('agent', 'bob'));
  recorder.note(acting('web'));
  assert.equal(all().length, 0);
  await recorder.write();
  const use = { subject: 'alice', clientId: 'agent', applicationId: 'web' };
  const times = { sinceMs: START_MS, lastUsedMs: START_MS - 1234 };
  assert.deepEqual(all(), [
    { ...use, ...times },
    { ...use, ...times, subject: 'bob' },
  ]);
  recorder.note(acting('agent'));
  await recorder.write();
  assert.equal(all().length, 2);
  clock.nowMs += HOUR_MS;
  recorder.note(acting('agent'));
  await recorder.write();
  assert.equal(all().at(-1)?.lastUsedMs, START_MS - 1234 + HOUR_MS);
});

test('the use of a personal access token is written once in an hour', async () => {
  const written: TokenUse[] = [];
  const { clock, recorder } = recorderOf(
    async (uses) => assert.deepEqual(uses, []),
    async (uses) => void written.push(...uses),
  );
  const use = { clientId: 'personal-tokens', subject: 'alice', application: 'personal-tokens' };
  for (const personal of ['one', 'two', 'one']) recorder.note({ ...use, personal });
  assert.deepEqual(written, []);
  await recorder.write();
  recorder.note({ ...use, personal: 'one' });
  await recorder.write();
  const hourMs = START_MS - 1234;
  assert.deepEqual(written, [
    { id: 'one', lastUsedMs: hourMs },
    { id: 'two', lastUsedMs: hourMs },
  ]);
  clock.nowMs += HOUR_MS;
  recorder.note({ ...use, personal: 'one' });
  await recorder.write();
  assert.deepEqual(written.at(-1), { id: 'one', lastUsedMs: hourMs + HOUR_MS });
});

test('uses that cannot be written are lost, and the log says how many', async () => {
  const { lines, recorder } = recorderOf(() => Promise.reject(new StorageFault(new Error('full'))));
  for (const client of ['one', 'two']) recorder.note(acting(client));
  await recorder.write();
  assert.deepEqual(
    lines.map((line) => ({ ...line, cause: undefined })),
    [{ event: 'uses_not_recorded', uses: 2, cause: undefined }],
  );
});

for (const database of DATABASES) {
  describe(`who has acted for users, on ${database.name}`, { skip: database.absence }, () => {
    test('the latest use counts, for 30 days, until the user ends the client or is removed', async (t) => {
      const { actingUses, consents, sweepProgram } = await openDatabase(t, database);
      const use = { subject: 'alice', clientId: 'agent', applicationId: 'web' };
      const at = (sinceMs: number, more: Partial<ActingUse> = {}) => ({
        ...{ ...use, sinceMs, lastUsedMs: sinceMs - (sinceMs % HOUR_MS), ...more },
      });
      await actingUses.note([at(START_MS + HOUR_MS), at(START_MS, { clientId: 'other' })]);
      await actingUses.note([at(START_MS)]);
      await actingUses.note([at(START_MS + 2 * HOUR_MS), at(START_MS, { subject: 'bob' })]);
      const shown = async () =>
        (await actingFor(memoryStorage(), actingUses, 'alice')).map(({ clientId, ...one }) => [
          clientId,
          one,
        ]);
      const none = { scopes: [], resources: [], applications: ['web'], isActive: false };
      const hourMs = START_MS - 1234;
      assert.deepEqual(await shown(), [
        ['agent', { ...none, sinceMs: START_MS + HOUR_MS, lastUsedMs: hourMs + 2 * HOUR_MS }],
        ['other', { ...none, sinceMs: START_MS, lastUsedMs: hourMs }],
      ]);
      const sweep = async (nowMs: number) =>
        sweepProgram(10, { unusedFor: 0, untilMs: await deletionLimitAt(nowMs) });
      await sweep(hourMs + 30 * DAY_MS - 1);
      assert.equal((await actingUses.ofSubject('alice')).length, 2);
      await sweep(hourMs + 30 * DAY_MS);
      assert.deepEqual(
        (await actingUses.ofSubject('alice')).map(({ clientId }) => clientId),
        ['agent'],
      );
      assert.deepEqual(await actingUses.ofSubject('bob'), []);

      await actingUses.note([at(START_MS, { clientId: 'other' }), at(START_MS, { subject: 'bob' })]);
      await consents.finishWithdrawal({ subject: 'alice', clientId: 'agent' });
      assert.deepEqual(
        (await actingUses.ofSubject('alice')).map(({ clientId }) => clientId),
        ['other'],
      );
      await consents.forgetPerson('alice');
      assert.deepEqual(await actingUses.ofSubject('alice'), []);
      assert.equal((await actingUses.ofSubject('bob')).length, 1);
    });

    test('a service has no access any more after the end of the application through which it acted', async (t) => {
      const opened = await openDatabase(t, database);
      const { actingUses, consents } = opened;
      const storage = memoryStorage();
      for (const id of ['web', 'agent', 'workload'])
        await storage.clients.add({ id, grantTypes: [], redirectUris: [], scopes: [] });
      const times = { subject: 'alice', sinceMs: START_MS, lastUsedMs: START_MS - 1234 };
      await actingUses.note([
        { ...times, clientId: 'agent', applicationId: 'web' },
        // It can come back by itself, with the next JWT of a trusted issuer.
        { ...times, clientId: 'workload', applicationId: 'workload' },
      ]);
      const needs = {
        ...{ consents, actingUses, grants: storage, clients: storage.clients, detailsTypes: new Map() },
        drawing: { basePath: '', application: ({ id }: { readonly id: string }) => ({ name: id }) },
        scopeTexts: { list: async () => [] },
      };
      const ended = async () => {
        const shown = await applicationsOf(needs as never, { person: { subject: 'alice' } } as never, 'en');
        return shown.filter(({ acts }) => acts?.hasEnded).map(({ clientId }) => clientId);
      };
      const parties = { subject: 'alice', clientId: 'web' };
      const asked = { scopes: ['read'], resources: [], claims: [], details: [] };
      await giveConsent(opened, parties, { ...asked, clientGeneration: 0, clientRevision: 0 }, START_MS);
      assert.deepEqual(await ended(), []);
      await consents.beginWithdrawal(parties, START_MS);
      await consents.finishWithdrawal(parties);
      assert.deepEqual(await ended(), ['agent']);
    });
  });
}
