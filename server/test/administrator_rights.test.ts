// Rights of administration that are asked for again when a change is made (ADR 150).
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { ClientRecord, EventType } from '@grantd/core';
import { Caller } from '../src/admin/caller.ts';
import { inProcess } from '../src/admin/in_process.ts';
import type { AdminParts } from '../src/admin/operation.ts';
import { OperationRefused } from '../src/admin/operation_refused.ts';
import { ALL_OPERATIONS, type Input, OPERATIONS, type OperationId } from '../src/admin/table.ts';
import { localParts } from '../src/cli/local_calls.ts';
import { readConfiguration } from '../src/config/configuration.ts';
import { adminAudience } from '../src/instance/admin_access.ts';
import { type Instance, openInstance } from '../src/instance/instance.ts';
import { DATABASES, type TestDatabase } from './harness/databases.ts';
import { addConsent, addPerson, addSession, ISSUER, newDatabase } from './harness/program_data.ts';

const FORBIDDEN = (error: unknown) => error instanceof OperationRefused && error.kind === 'forbidden';

async function open(t: TestContext, database: TestDatabase) {
  const configuration = readConfiguration(
    {},
    {
      ...{ GRANTD_ISSUER: ISSUER, GRANTD_ADMIN_GROUP: 'admins', GRANTD_SECRET: 's'.repeat(32) },
      GRANTD_CREATE: 'true',
    },
  );
  const instance = await openInstance(configuration, await newDatabase(t, database), ISSUER, 'server');
  await instance.groups.add({ name: 'admins', description: '' }, Date.now());
  const shop = { id: 'shop', grantTypes: ['client_credentials'], redirectUris: [], scopes: [] } as const;
  await instance.storage.clients.add({ ...shop, secrets: [{ hash: 'h' }] });
  const callsWith = (changed: Partial<AdminParts>) => {
    const caller = Caller.ofApi('ops', undefined, ['grantd:users:write', 'grantd:clients:write'], 'admins');
    return inProcess({ ...localParts({ ...instance, configuration }), caller, ...changed });
  };
  return { instance, callsWith };
}

/** Inputs of every operation that changes a user, with the events by which it begins. */
const USER_CHANGES = {
  updateUser: [({ sub }) => ({ sub, claims: { nickname: 'Changed' } }), ['person_changed']],
  removeUser: [({ sub }) => ({ sub }), ['person_removed']],
  disableUser: [({ sub }) => ({ sub }), ['subject_disabled']],
  enableUser: [({ sub }) => ({ sub }), ['subject_enabled']],
  sendPasswordLink: [({ sub }) => ({ sub }), ['password_link_requested']],
  setPassword: [({ sub }) => ({ sub, password: 'correct horse' }), ['person_password_set']],
  endSession: [({ sub }) => ({ sub, session: `session-${sub}` }), ['session_ended']],
  endSessions: [({ sub }) => ({ sub }), ['session_ended']],
  endAccess: [({ sub }) => ({ sub }), ['session_ended', 'subject_revoked']],
  resetFactors: [({ sub }) => ({ sub }), ['person_factors_reset']],
  removeFactor: [({ sub }) => ({ sub, factor: 'authenticator_app' }), ['person_factor_removed']],
  confirmFactors: [({ sub }) => ({ sub }), ['person_factors_confirmed']],
  removeLink: [({ sub, link }) => ({ sub, link }), ['person_unlinked']],
  withdrawConsent: [({ sub }) => ({ sub, client: 'shop' }), ['consent_withdrawn']],
  unlockUser: [({ sub }) => ({ sub }), ['person_unlocked']],
  revokeAll: [({ sub }) => ({ sub, client_id: 'shop' }), ['grant_revoked', 'exchanges_revoked']],
} as const satisfies {
  readonly [Id in OperationId]?: readonly [
    input: (of: { readonly sub: string; readonly link: string }) => Input<Id>,
    begins: readonly EventType[],
  ];
};

type ChangeId = keyof typeof USER_CHANGES;
const CHANGE_IDS = Object.keys(USER_CHANGES) as readonly ChangeId[];

/** A user with everything that an operation can change. */
async function newUser(instance: Instance, name: string, id: ChangeId) {
  const person = await addPerson(instance, name);
  const { subject: sub } = person;
  const nowMs = Date.now();
  const claims = { email: `${sub}@example.com`, email_verified: true };
  await instance.people.update({ ...person, claims });
  await addSession(instance, sub, `session-${sub}`);
  await instance.factors.addTotp(
    sub,
    { sealed: 'sealed', createdAtMs: nowMs, countsFromMs: nowMs + 60_000 },
    1,
  );
  const identity = { provider: 'google', upstreamIssuer: 'https://google.example', upstreamSub: sub };
  const link = await instance.upstreamIdentities.link({ ...identity, label: name }, sub, nowMs);
  await addConsent(instance, sub, 'shop');
  if (id === 'enableUser') await instance.storage.setDisabled('subject', sub, true);
  return { sub, link: link?.id ?? '' };
}

async function stateOf(instance: Instance, sub: string) {
  const { people, storage, sessions, factors, upstreamIdentities, mails, consents } = instance;
  const { groups: _, ...person } = { groups: [], ...(await people.bySubject(sub)) };
  return {
    person,
    principal: await storage.getPrincipalState('subject', sub),
    sessions: (await sessions.ofSubject(sub, Date.now())).length,
    factors: await factors.of(sub),
    links: (await upstreamIdentities.ofSubject(sub)).length,
    consents: (await consents.ofSubject(sub)).length,
    mails: (await mails.list(false, 1000)).filter(({ subject }) => subject === sub).length,
  };
}

test('every operation that changes a user is raced with the grant of the group', () => {
  const changing = ALL_OPERATIONS.filter(
    ([, { method, path, scope }]) =>
      path.startsWith('/users/{sub}') && method !== 'GET' && scope === 'grantd:users:write',
  ).map(([id]) => id);
  // What a client has for a user is revoked among the tokens.
  assert.deepEqual([...changing, 'revokeAll'].toSorted(), CHANGE_IDS.toSorted());
});

for (const database of DATABASES)
  describe(`rights on ${database.name}`, { skip: database.absence }, () => {
    test('no operation without every scope changes a user who became an administrator meanwhile', async (t) => {
      const { instance, callsWith } = await open(t, database);
      for (const id of CHANGE_IDS) {
        const user = await newUser(instance, `late ${id}`, id);
        const before = await stateOf(instance, user.sub);
        let isGranted = false;
        const bySubject: typeof instance.people.bySubject = async (subject) => {
          const person = await instance.people.bySubject(subject);
          if (!isGranted) {
            isGranted = true;
            await instance.groups.addMember({ subject, group: 'admins' }, Date.now());
          }
          return person;
        };
        const calls = callsWith({ people: { ...instance.people, bySubject } });
        const [input] = USER_CHANGES[id];
        await assert.rejects(calls.versioned(id, input(user)), FORBIDDEN, id);
        assert.deepEqual(await stateOf(instance, user.sub), before, id);
      }
    });

    test('of a change and the grant of the group at the same time, the change comes first or is refused', async (t) => {
      const { instance, callsWith } = await open(t, database);
      const calls = callsWith({});
      for (const id of CHANGE_IDS)
        for (let round = 1; round <= 4; round++) {
          const user = await newUser(instance, `raced ${id} ${round}`, id);
          const [input, begins] = USER_CHANGES[id];
          const [outcome] = await Promise.allSettled([
            calls.versioned(id, input(user)),
            instance.groups.addMember({ subject: user.sub, group: 'admins' }, Date.now()),
          ]);
          if (outcome.status === 'rejected') assert.ok(FORBIDDEN(outcome.reason), String(outcome.reason));
          const events: { type: EventType; subject?: string }[] = [];
          for (let last = 0; ; ) {
            const some = await instance.storage.eventsAfter(last, 1000);
            events.push(...some.filter((event) => event.subject === user.sub));
            last = some.at(-1)?.sequence ?? last;
            if (some.length < 1000) break;
          }
          const types = events.map(({ type }) => type);
          const granted = types.indexOf('group_member_added');
          const acts: readonly EventType[] = begins;
          const late = types.slice(granted + 1).filter((type) => acts.includes(type));
          // The removal of a user who has just gone leaves nothing to grant.
          if (granted >= 0) assert.deepEqual(late, [], `${id}: ${types.join()}`);
        }
    });

    test('an import without every scope changes no user who became an administrator after their line was read', async (t) => {
      const { instance, callsWith } = await open(t, database);
      const { subject: sub } = await addPerson(instance, 'carol');
      const before = await stateOf(instance, sub);
      const byNameKeys: typeof instance.importedPeople.byNameKeys = async (keys) => {
        const found = await instance.importedPeople.byNameKeys(keys);
        await instance.groups.addMember({ subject: sub, group: 'admins' }, Date.now());
        return found;
      };
      const calls = callsWith({ importedPeople: { ...instance.importedPeople, byNameKeys } });
      const hash = '$2b$12$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy';
      const line = JSON.stringify({ username: 'carol', password_hash: hash, claims: { name: 'C' } });
      const reports = [];
      for await (const report of calls.lines('importUsers', { update: true }, [line])) reports.push(report);
      const [first] = reports;
      assert.ok(first !== undefined && 'outcome' in first);
      assert.equal(first.outcome, 'failed');
      assert.match(String(first.reasons), /has just become an administrator/);
      assert.deepEqual(await stateOf(instance, sub), before);
    });

    test('no operation changes a client that got a scope of the admin API meanwhile, which the caller lacks', async (t) => {
      const { instance, callsWith } = await open(t, database);
      const { clients } = instance.storage;
      const inputs = {
        updateClient: (id: string) => ({ client_id: id, client_name: 'Changed' }),
        removeClient: (id: string) => ({ client_id: id }),
        disableClient: (id: string) => ({ client_id: id }),
        enableClient: (id: string) => ({ client_id: id }),
        rotateClientSecret: (id: string) => ({ client_id: id }),
      };
      const changing = Object.entries(OPERATIONS).filter(
        ([, { method, path }]) => path.startsWith('/clients/{client_id}') && method !== 'GET',
      );
      assert.deepEqual(changing.map(([id]) => id).sort(), Object.keys(inputs).sort());
      for (const id of Object.keys(inputs) as readonly (keyof typeof inputs)[]) {
        const record = { id: `late-${id}`, grantTypes: ['client_credentials'] as const, redirectUris: [] };
        await clients.add({ ...record, scopes: ['read'], secrets: [{ hash: 'h' }] });
        if (id === 'enableClient') await instance.storage.setDisabled('client', record.id, true);
        let granted: ClientRecord | null | undefined;
        const get: typeof clients.get = async (clientId) => {
          const client = await clients.get(clientId);
          if (granted === undefined && client) {
            const metadata = { apis: [adminAudience(ISSUER)] };
            const scopes = ['grantd:keys:write'];
            await clients.replace({ ...record, scopes, metadata, secrets: [{ hash: 'h' }] }, client);
            granted = await clients.get(clientId);
          }
          return client;
        };
        const storage = { ...instance.storage, clients: { ...clients, get } };
        await assert.rejects(callsWith({ storage }).versioned(id, inputs[id](record.id)), FORBIDDEN, id);
        assert.deepEqual(await clients.get(record.id), granted, id);
      }
    });
  });
