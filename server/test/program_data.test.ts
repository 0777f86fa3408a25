import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Attempts } from '../src/data/attempts.ts';
import { type Asked, ConsentSweep, covers } from '../src/data/consents.ts';
import type { OpenDatabase } from '../src/data/database.ts';
import type { Passkey } from '../src/data/factors.ts';
import type { NewPerson, Person } from '../src/data/people.ts';
import { MAX_SIGN_INS, SIGN_IN_KEPT_MS, type StoredSession } from '../src/data/sessions.ts';
import { GatheredWrites, type TableCall } from '../src/data/tables.ts';
import type { WaysToSignIn } from '../src/data/ways_to_sign_in.ts';
import { NO_PASSWORD } from '../src/data/ways_to_sign_in.ts';
import { DATABASES } from './harness/databases.ts';
import {
  addPerson,
  DUE,
  deletionLimitAt,
  giveConsent,
  newId,
  noteClient,
  openDatabase,
  openDatabases,
} from './harness/program_data.ts';

const SESSION: Omit<StoredSession, 'subject'> = {
  id: 'sid-1',
  amr: ['pwd'],
  userAgent: 'Browser on System',
  network: '203.0.113.0/24',
  signedInAtMs: 1000,
  lastSeenAtMs: 1000,
};

const TOLD = { sid: 'sid-of-sector', sub: 'alice-of-sector' };

function sessionOf({ subject }: Person, id = SESSION.id): StoredSession {
  return { ...SESSION, id, subject };
}

const ALICE_AT_WEB = { subject: 'alice-1', clientId: 'web' };

function agreed(
  scopes: readonly string[],
  resources: readonly string[] = [],
  clientGeneration = 0,
  clientRevision = 0,
): Asked {
  return { scopes, resources, claims: [], details: [], clientGeneration, clientRevision };
}

/** Adds a user with one link and one passkey. @param has what else the user has */
async function addLinkedPerson(
  { people, upstreamIdentities, factors }: OpenDatabase,
  name: string,
  {
    isSecurityKey = false,
    ...has
  }: Partial<Pick<NewPerson, 'passwordHash' | 'directoryId'> & Pick<Passkey, 'isSecurityKey'>> = {},
): Promise<{ readonly subject: string; readonly link: string; readonly passkey: string }> {
  const person = await people.add({ name, passwordHash: NO_PASSWORD, claims: {}, ...has });
  const { subject } = person ?? assert.fail();
  const passkey = `key of ${name}`;
  const identity = { provider: 'up', upstreamIssuer: 'https://up.example', upstreamSub: name, label: name };
  const linked = await upstreamIdentities.link(identity, subject, 1000);
  const isAdded = await factors.addPasskey({
    ...{ id: passkey, subject, publicKey: 'key', counter: 0, transports: [], isBackedUp: false },
    ...{ isSecurityKey, name: 'Key', createdAtMs: 1000, countsFromMs: 0 },
  });
  assert.equal(isAdded, true);
  return { subject, link: linked?.id ?? assert.fail(), passkey };
}

test('gathered statements of several callers run in one write, in the order of their rows', async () => {
  const writes: (readonly unknown[])[] = [];
  const gathered = new GatheredWrites({ run: async (...calls) => void writes.push(calls) });
  const callers = [
    ['1b', '2z first'],
    ['1c', '2a'],
    ['1a', '2z second', '2y'],
  ];
  const added = callers.map((each) =>
    gathered.add(...each.map((sql) => [sql.slice(0, 2), { sql } as unknown as TableCall] as const)),
  );
  assert.equal(writes.length, 0);
  await gathered.flush();
  await Promise.all(added);
  const sql = (call: unknown) => (call as TableCall).sql;
  assert.deepEqual(
    writes.map((write) => write.map(sql)),
    [['1a', '1b', '1c', '2a', '2y', '2z first', '2z second']],
  );
});

for (const database of DATABASES) {
  describe(`the program's tables on ${database.name}`, { skip: database.absence }, () => {
    test('a session is found by its secret, and as it was', async (t) => {
      const opened = await openDatabase(t, database);
      const { sessions } = opened;
      const alice = await addPerson(opened, 'alice');
      const session = sessionOf(alice);
      assert.equal(await sessions.add(session, 'digest-1', 9000, alice), true);
      assert.deepEqual(await sessions.bySecret('digest-1'), session);
      assert.equal(await sessions.bySecret('digest-2'), undefined);
      assert.deepEqual(await sessions.ofSubject(alice.subject, 0), [session]);
      assert.deepEqual(await sessions.ofSubject(alice.subject, 9000), []);
      assert.deepEqual(await sessions.ofSubject('bob-1', 0), []);
    });

    test('renewing a session changes its secret once, however many try', async (t) => {
      const [one, other] = await openDatabases(t, database, 2);
      assert.ok(one && other);
      const alice = await addPerson(one, 'alice');
      await one.sessions.add(sessionOf(alice), 'old', 9000, alice);
      const signIn = { amr: ['pwd'], userAgent: 'another', network: '2001:db8:42::/48', signedInAtMs: 2000 };
      const outcomes = await Promise.all(
        [one, other, one, other].map(({ sessions }, index) =>
          sessions.renew('sid-1', { from: 'old', to: `new-${index}` }, signIn, 9000, alice),
        ),
      );
      assert.equal(outcomes.filter((renewed) => renewed).length, 1);
      assert.equal(await one.sessions.bySecret('old'), undefined);
      assert.equal((await one.sessions.byId('sid-1'))?.network, '2001:db8:42::/48');
      assert.deepEqual(await other.sessions.bySecret(`new-${outcomes.indexOf(true)}`), {
        ...sessionOf(alice),
        ...signIn,
        lastSeenAtMs: 2000,
      });
    });

    test('a session whose end has begun has no user, accepts no new clients, and is deleted when it has ended', async (t) => {
      const opened = await openDatabase(t, database);
      const { sessions, logoutDeliveries } = opened;
      const alice = await addPerson(opened, 'alice');
      const { subject } = alice;
      await sessions.add(sessionOf(alice), 'digest-1', 9000, alice);
      assert.equal(await noteClient(opened, 'sid-1', 'web', { sid: 'before', sub: 'before' }), true);
      assert.equal(await noteClient(opened, 'sid-1', 'web', TOLD), true);
      assert.deepEqual(await sessions.beginEnd({ id: 'sid-1', subject: 'bob-1' }, 5000), [], 'not hers');
      const ended = { id: 'sid-1', subject };
      assert.deepEqual(await sessions.beginEnd(ended, 5000), [ended]);
      assert.deepEqual(await sessions.beginEnd(ended, 5001), [], 'once');
      assert.equal(await sessions.bySecret('digest-1'), undefined);
      assert.deepEqual(await sessions.ofSubject(subject, 0), []);
      assert.equal(await noteClient(opened, 'sid-1', 'spa', TOLD), false);
      assert.equal(await sessions.isOpen('sid-1'), false);
      assert.equal(
        await sessions.renew('sid-1', { from: 'digest-1', to: 'x' }, { ...SESSION }, 9000, alice),
        false,
      );

      assert.deepEqual(await sessions.halfEnded(5000, 10), []);
      assert.deepEqual(await sessions.halfEnded(5001, 10), [ended]);
      assert.deepEqual(await sessions.finishEnd('sid-1', 6000), ['web']);
      assert.deepEqual(await sessions.finishEnd('sid-1', 6000), []);
      assert.deepEqual(await sessions.halfEnded(9000, 10), []);
      assert.deepEqual(await logoutDeliveries.take(6000, 1000, DUE), [
        { sessionId: 'sid-1', clientId: 'web', subject, ...TOLD, attempts: 1 },
      ]);
    });

    test('the history has each sign-in with its session, and each failed one with its reason, for thirty days', async (t) => {
      const opened = await openDatabase(t, database);
      const { sessions } = opened;
      const alice = await addPerson(opened, 'alice');
      await sessions.add(sessionOf(alice), 'old', 9000, alice);
      const again = { amr: ['pwd', 'otp', 'mfa'], userAgent: 'another', signedInAtMs: 2000 };
      await sessions.renew(SESSION.id, { from: 'old', to: 'new' }, again, 9000, alice);
      // A renewal that another one was faster than, and a sign-in with an old password.
      await sessions.renew(SESSION.id, { from: 'old', to: 'late' }, again, 9000, alice);
      await sessions.add(sessionOf(alice, 'late'), 'late', 9000, { ...alice, passwordHash: 'old' });
      const failed = { reason: 'password_wrong', userAgent: 'curl', network: '192.0.2.0/24' };
      assert.equal(await sessions.addFailedSignIn({ ...failed, subject: alice.subject }, 3000), true);
      assert.equal(await sessions.addFailedSignIn({ ...failed, subject: 'nobody' }, 3000), false);
      const { userAgent, network, amr, lastSeenAtMs } = SESSION;
      const history = [
        { ...failed, atMs: 3000 },
        { atMs: 2000, userAgent: 'another', session: { id: SESSION.id, amr: again.amr } },
        { atMs: lastSeenAtMs, userAgent, network, session: { id: SESSION.id, amr } },
      ];
      assert.deepEqual(await sessions.signInsOf(alice.subject, 3000), history);
      assert.deepEqual(await sessions.signInsOf(alice.subject, 3000 + SIGN_IN_KEPT_MS), []);
      assert.deepEqual(await sessions.signInsOf('nobody', 3000), []);
    });

    test('guesses of a stranger push no sign-in out of the history, and neither kind grows without limit', async (t) => {
      const opened = await openDatabase(t, database);
      const { sessions } = opened;
      const alice = await addPerson(opened, 'alice');
      const { subject } = alice;
      const { successful, failed } = MAX_SIGN_INS;
      for (let atMs = 1; atMs <= successful + 2; atMs++) {
        const session = { ...sessionOf(alice, `sid-${atMs}`), signedInAtMs: atMs, lastSeenAtMs: atMs };
        await sessions.add(session, `digest-${atMs}`, 9000, alice);
      }
      for (let atMs = 101; atMs <= 100 + failed + 2; atMs++)
        await sessions.addFailedSignIn({ subject, reason: 'password_wrong', userAgent: '' }, atMs);
      const kept = await sessions.signInsOf(subject, 1000);
      const times = (isFailed: boolean) =>
        kept.filter(({ reason }) => (reason !== undefined) === isFailed).map(({ atMs }) => atMs);
      assert.deepEqual([times(false).length, times(false).at(-1)], [successful, 3]);
      assert.deepEqual([times(true).length, times(true).at(-1)], [failed, 103]);
    });

    test('no session starts or continues with a password that has been changed', async (t) => {
      const opened = await openDatabase(t, database);
      const { sessions, people } = opened;
      const alice = await addPerson(opened, 'alice');
      const kept = sessionOf(alice, 'kept');
      assert.equal(await sessions.add(kept, 'kept', 9000, alice), true);
      await people.setPasswordHash(alice.subject, 'another');
      const signIn = { amr: ['pwd'], userAgent: 'another', signedInAtMs: 2000 };
      const secrets = { from: 'kept', to: 'renewed' };
      assert.equal(await sessions.add(sessionOf(alice, 'late'), 'late', 9000, alice), false);
      assert.equal(await sessions.renew('kept', secrets, signIn, 9000, alice), false);
      assert.deepEqual(await sessions.ofSubject(alice.subject, 0), [kept]);

      const asTheyAre = { ...alice, passwordHash: 'another' };
      assert.equal(await sessions.renew('kept', secrets, signIn, 9000, asTheyAre), true);
      const bob = await addPerson(opened, 'bob');
      assert.equal(
        await sessions.renew('kept', { from: 'renewed', to: 'x' }, signIn, 9000, bob),
        false,
        'not his',
      );
    });

    test('a session that begins while the password is changed ends with the others, or never begins', async (t) => {
      const [one, other] = await openDatabases(t, database, 2);
      assert.ok(one && other);
      let alice = await addPerson(one, 'alice');
      for (let round = 0; round < 40; round += 1) {
        const [id, passwordHash] = [newId(), `hash ${round}`];
        const change = async () => {
          await other.people.setPasswordHash(alice.subject, passwordHash);
          await other.sessions.beginEnd({ subject: alice.subject }, 5000);
        };
        await Promise.all([one.sessions.add(sessionOf(alice, id), id, 9000, alice), change()]);
        assert.deepEqual(await one.sessions.ofSubject(alice.subject, 0), [], `round ${round}`);
        alice = { ...alice, passwordHash };
      }
    });

    test('all sessions of a user end except one, and none of other users', async (t) => {
      const opened = await openDatabase(t, database);
      const { sessions } = opened;
      const [alice, bob] = [await addPerson(opened, 'alice'), await addPerson(opened, 'bob')];
      for (const [id, person] of [
        ['a', alice],
        ['b', alice],
        ['c', alice],
        ['d', bob],
      ] as const)
        await sessions.add(sessionOf(person, id), `digest-${id}`, 9000, person);
      const ended = await sessions.beginEnd({ subject: alice.subject, except: 'b' }, 5000);
      assert.deepEqual(ended.map(({ id }) => id).sort(), ['a', 'c']);
      assert.deepEqual(await sessions.beginEnd({ subject: alice.subject }, 5000), [
        { id: 'b', subject: alice.subject },
      ]);
      assert.equal(await sessions.isOpen('d'), true);
    });

    test('a consent covers one decision, and no mixture of several', async (t) => {
      const opened = await openDatabase(t, database);
      const { consents } = opened;
      const [bank, mail] = ['https://bank.example', 'https://mail.example'];
      await giveConsent(opened, ALICE_AT_WEB, agreed(['read', 'openid'], [bank]), 1000);
      await giveConsent(opened, ALICE_AT_WEB, agreed(['write'], [mail]), 2000);
      await giveConsent(opened, ALICE_AT_WEB, { ...agreed(['profile']), claims: ['name'] }, 3000);
      const consent = await consents.get(ALICE_AT_WEB);
      for (const asked of [
        agreed(['read', 'openid'], [bank]),
        agreed(['read'], [bank]),
        agreed(['read']),
        agreed(['write'], [mail]),
        { ...agreed(['profile']), claims: ['name'] },
      ])
        assert.equal(covers(consent, asked), true, JSON.stringify(asked));
      for (const asked of [
        agreed(['write'], [bank]),
        agreed(['read'], [mail]),
        agreed(['read', 'write']),
        agreed(['read', 'write'], [bank, mail]),
        agreed(['openid', 'profile']),
        { ...agreed(['profile']), claims: ['email'] },
      ])
        assert.equal(covers(consent, asked), false, JSON.stringify(asked));
    });

    test('a decision takes the place of those that it covers', async (t) => {
      const opened = await openDatabase(t, database);
      const { consents } = opened;
      const bank = ['https://bank.example'];
      for (const [scopes, resources] of [
        [['read'], bank],
        [['openid'], []],
        [['write'], bank],
        [['read', 'write'], bank],
        [['read'], bank],
      ] as const)
        await giveConsent(opened, ALICE_AT_WEB, agreed(scopes, resources), 1000);
      const shown = (await consents.get(ALICE_AT_WEB))?.entries.map(({ scopes }) => scopes);
      assert.deepEqual(shown, [['openid'], ['read', 'write']]);
    });

    test('decisions add up, also when several are given at once', async (t) => {
      const [one, other] = await openDatabases(t, database, 2);
      assert.ok(one && other);
      const { subject } = await addPerson(one, 'alice');
      const parties = { subject, clientId: 'web' };
      await Promise.all(
        ['a', 'b', 'c', 'd', 'e'].map((scope, index) =>
          giveConsent(
            index % 2 === 0 ? one : other,
            parties,
            agreed([scope], ['https://api.example']),
            1000 + index,
          ),
        ),
      );
      const { entries = [] } = (await one.consents.get(parties)) ?? {};
      assert.deepEqual(
        entries.toSorted((x, y) => x.givenAtMs - y.givenAtMs),
        ['a', 'b', 'c', 'd', 'e'].map((scope, index) => ({
          scopes: [scope],
          resources: ['https://api.example'],
          claims: [],
          details: [],
          givenAtMs: 1000 + index,
        })),
      );
    });

    test('a withdrawn consent does not count, and one that is given again does not bring back what was agreed before', async (t) => {
      const opened = await openDatabase(t, database);
      const { consents } = opened;
      await giveConsent(opened, ALICE_AT_WEB, agreed(['a', 'b']), 1000);
      await consents.beginWithdrawal(ALICE_AT_WEB, 2000);
      assert.equal(await consents.get(ALICE_AT_WEB), undefined);
      assert.deepEqual(await consents.ofSubject('alice-1'), []);
      assert.deepEqual(await consents.halfWithdrawn(2001, 10), [ALICE_AT_WEB]);

      await giveConsent(opened, ALICE_AT_WEB, agreed(['b']), 3000);
      await consents.finishWithdrawal(ALICE_AT_WEB);
      assert.deepEqual((await consents.get(ALICE_AT_WEB))?.entries, [
        { scopes: ['b'], resources: [], claims: [], details: [], givenAtMs: 3000 },
      ]);

      await consents.beginWithdrawal(ALICE_AT_WEB, 4000);
      await consents.finishWithdrawal(ALICE_AT_WEB);
      assert.deepEqual(await consents.halfWithdrawn(9000, 10), []);
      await giveConsent(opened, ALICE_AT_WEB, agreed(['c']), 5000);
      assert.deepEqual(
        (await consents.ofSubject('alice-1')).map(({ entries }) => entries.map(({ scopes }) => scopes)),
        [[['c']]],
      );
    });

    test('consent for a removed client does not count, and adds nothing to a new one', async (t) => {
      const opened = await openDatabase(t, database);
      const { consents } = opened;
      const now = agreed(['b'], [], 1);
      await giveConsent(opened, ALICE_AT_WEB, agreed(['a', 'b']), 1000);
      assert.equal(covers(await consents.get(ALICE_AT_WEB), now), false);
      await giveConsent(opened, ALICE_AT_WEB, now, 2000);
      const { clientGeneration, clientRevision, ...agreedNow } = now;
      const entries = [{ ...agreedNow, givenAtMs: 2000 }];
      const consent = { clientId: 'web', clientGeneration, clientRevision, entries, givenAtMs: 2000 };
      assert.deepEqual(await consents.ofSubject('alice-1'), [
        { ...consent, version: 1001, isWithdrawn: false },
      ]);
      await giveConsent(opened, ALICE_AT_WEB, agreed(['c']), 3000);
      assert.equal(covers(await consents.get(ALICE_AT_WEB), now), true, 'a late one changes nothing');
      assert.equal(covers(await consents.get(ALICE_AT_WEB), agreed(['c'], [], 1)), false);
    });

    test('sweeping removes consents that count no more, in bounded steps, and looks for them once an hour', async (t) => {
      const opened = await openDatabase(t, database);
      const { consents, storage } = opened;
      const { clients } = storage;
      const client = { grantTypes: [], scopes: [], redirectUris: [] };
      for (const id of ['gone', 'kept', 'anew', 'ended']) await clients.add({ ...client, id });
      const give = async (clientId: string, subject: string) => {
        const { generation = 0 } = (await clients.get(clientId)) ?? {};
        await giveConsent(opened, { subject, clientId }, agreed(['a'], [], generation), 1000);
      };
      for (const subject of ['a', 'b', 'c'])
        for (const id of ['gone', 'kept', 'anew', 'ended']) await give(id, subject);
      await clients.remove('gone');
      await clients.remove('anew');
      await clients.add({ ...client, id: 'anew' });
      await storage.revokeAll({ principal: 'client', id: 'ended' });
      await give('anew', 'a');

      let nowMs = 0;
      const sweep = new ConsentSweep({ consents, clients, clock: () => nowMs });
      assert.deepEqual([await sweep.sweep(3), await sweep.sweep(4), await sweep.sweep(4)], [3, 4, 1]);
      const left = await Promise.all(['a', 'b', 'c'].map((subject) => consents.ofSubject(subject)));
      assert.deepEqual(
        left.map((of) => of.map(({ clientId }) => clientId)),
        [['anew', 'kept'], ['kept'], ['kept']],
      );
      await clients.remove('kept');
      nowMs = 60 * 60 * 1000 - 1;
      assert.equal(await sweep.sweep(10), 0);
      nowMs += 1;
      assert.equal(await sweep.sweep(10), 3);
    });

    test('each of many attempts at once is counted, in one window after another', async (t) => {
      const [one, other] = await openDatabases(t, database, 2);
      assert.ok(one && other);
      const counts = await Promise.all(
        Array.from({ length: 20 }, (_, index) => countOnce((index % 2 ? one : other).attempts, 1000)),
      );
      assert.deepEqual(
        counts.map((counted) => Number(counted?.attempts)).sort((a, b) => a - b),
        Array.from({ length: 20 }, (_, index) => index + 1),
      );
      assert.deepEqual(await countOnce(one.attempts, 1499), { attempts: 21, endsAtMs: 1500 });
      assert.deepEqual(await countOnce(one.attempts, 1500), { attempts: 1, endsAtMs: 2000 });
      await one.attempts.end({ takenBack: [], forgotten: ['key'] });
      assert.deepEqual(await countOnce(other.attempts, 1600), { attempts: 1, endsAtMs: 2100 });
      await one.attempts.end({ takenBack: ['key', 'unknown'], forgotten: [] });
      assert.deepEqual(await countOnce(other.attempts, 1700), { attempts: 1, endsAtMs: 2100 });
      const end = one.attempts.endSoon({ takenBack: [], forgotten: ['key'] });
      await one.gatheredWrites.flush();
      assert.deepEqual(await countOnce(other.attempts, 1700), { attempts: 1, endsAtMs: 2200 });
      await end;
    });

    test('an attempt counts under several keys up to the first that has reached its limit, and under no later one', async (t) => {
      const { attempts } = await openDatabase(t, database);
      const keys = [1, 3, 2].map((most, index) => ({
        keyDigest: `key-${index}`,
        attempts: most,
        windowMs: 500,
      }));
      const counted = async (nowMs: number) => (await attempts.count(keys, nowMs)).map((one) => one.attempts);
      assert.deepEqual(await counted(0), [1, 1, 1]);
      assert.deepEqual(await counted(0), [2]);
      await attempts.end({ takenBack: ['key-0', 'key-0'], forgotten: ['key-1'] });
      assert.deepEqual(await counted(0), [1, 1, 2]);
      assert.deepEqual(await attempts.count(keys.slice(2), 0), [{ attempts: 3, endsAtMs: 500 }]);
      assert.deepEqual(await counted(500), [1, 1, 1], 'a new window');
      const all = await Promise.all(Array.from({ length: 20 }, () => attempts.count(keys.slice(1), 1000)));
      const ofLast = all.flatMap(([, last]) => last ?? []);
      assert.equal(ofLast.length, 3, 'as many as the limit of the key before');
    });

    test('of several processes that take deliveries at once each is taken by one, until its lease ends', async (t) => {
      const [one, other] = await openDatabases(t, database, 2);
      assert.ok(one && other);
      const alice = await addPerson(one, 'alice');
      for (const id of ['a', 'b', 'c']) {
        await one.sessions.add(sessionOf(alice, id), `digest-${id}`, 9000, alice);
        for (const client of ['web', 'spa']) await noteClient(one, id, `${client}-${id}`, TOLD);
        await one.sessions.beginEnd({ id, subject: alice.subject }, 1000);
        await one.sessions.finishEnd(id, 1000);
      }
      assert.deepEqual(await one.logoutDeliveries.take(999, 100, DUE), []);
      const taken = await Promise.all(
        [one, other, one, other].map(({ logoutDeliveries }) =>
          logoutDeliveries.take(1000, 100, { ...DUE, limit: 2 }),
        ),
      );
      const names = taken.flat().map(({ sessionId, clientId }) => `${sessionId} ${clientId}`);
      assert.equal(new Set(names).size, names.length);
      const rest = await one.logoutDeliveries.take(1000, 100, DUE);
      assert.equal(names.length + rest.length, 6);
      assert.deepEqual(await other.logoutDeliveries.take(1099, 100, DUE), []);

      const again = await other.logoutDeliveries.take(1100, 100, DUE);
      assert.deepEqual([again.length, new Set(again.map(({ attempts }) => attempts))], [6, new Set([2])]);
      const [removed, postponed] = again;
      assert.ok(removed && postponed);
      await one.logoutDeliveries.remove(removed);
      await one.logoutDeliveries.postpone(postponed, 5000);
      assert.equal((await one.logoutDeliveries.take(1200, 100, DUE)).length, 4);
      assert.deepEqual(await one.logoutDeliveries.take(5000, 1000, DUE).then((due) => due.length), 5);
    });

    test('one delivery is taken for each client, the longest due first; optionally of one session, or without some clients', async (t) => {
      const opened = await openDatabase(t, database);
      const { sessions, logoutDeliveries } = opened;
      const alice = await addPerson(opened, 'alice');
      for (const [index, id] of ['c', 'b', 'a'].entries()) {
        await sessions.add(sessionOf(alice, id), `digest-${id}`, 9000, alice);
        for (const client of ['web', 'spa']) await noteClient(opened, id, client, TOLD);
        await sessions.beginEnd({ id, subject: alice.subject }, 1000);
        await sessions.finishEnd(id, 1000 + index);
      }
      const take = async (wanted: object) =>
        (await logoutDeliveries.take(2000, 100, { ...DUE, ...wanted }))
          .map(({ sessionId, clientId }) => `${sessionId} ${clientId}`)
          .sort();
      assert.deepEqual(await take({}), ['c spa', 'c web']);
      assert.deepEqual(await take({ exceptClients: ['web'] }), ['b spa']);
      assert.deepEqual(await take({ sessionId: 'a' }), ['a spa', 'a web']);
      assert.deepEqual(await take({ sessionId: 'b', exceptClients: ['web'] }), []);
      assert.deepEqual(await take({}), ['b web']);
      assert.deepEqual(await take({}), []);
    });

    test('a user can remove a link or a passkey only if another way to sign in is left', async (t) => {
      const opened = await openDatabase(t, database);
      const { upstreamIdentities, factors } = opened;
      const none: WaysToSignIn = { hasPasswords: true, hasPasskeys: false, hasDirectory: false, links: [] };
      const all: WaysToSignIn = { hasPasswords: true, hasPasskeys: true, hasDirectory: true, links: [] };

      const carol = await addLinkedPerson(opened, 'carol', { directoryId: 'entry of carol' });
      const dave = await addLinkedPerson(opened, 'dave', { passwordHash: 'hash' });
      assert.equal(await upstreamIdentities.unlink(carol.link, carol.subject, none), undefined);
      assert.equal(await factors.removePasskey(carol.subject, carol.passkey, none), false);
      const directory = { ...none, hasDirectory: true };
      const noPasswords = { ...directory, hasPasswords: false };
      for (const { subject, link } of [carol, dave])
        assert.equal(await upstreamIdentities.unlink(link, subject, noPasswords), undefined);
      assert.ok(await upstreamIdentities.unlink(carol.link, carol.subject, directory));
      assert.equal(await factors.removePasskey(carol.subject, carol.passkey, directory), true);
      assert.ok(await upstreamIdentities.unlink(dave.link, dave.subject, none));
      assert.equal(await factors.removePasskey(dave.subject, dave.passkey, none), true);

      const { subject, link, passkey } = await addLinkedPerson(opened, 'erin');
      assert.equal(await factors.removePasskey(subject, passkey, all), false, 'the link does not count');
      const withoutPasskeys = { ...all, hasPasskeys: false, links: [link, dave.link] };
      assert.equal(await upstreamIdentities.unlink(link, subject, withoutPasskeys), undefined);
      assert.ok(await upstreamIdentities.unlink(link, subject, all));
      assert.equal(await factors.removePasskey(subject, passkey, { ...all, links: [link] }), false);
      const frank = await addLinkedPerson(opened, 'frank');
      assert.ok(await upstreamIdentities.unlink(frank.link, frank.subject, 'any_way'));
      const gina = await addLinkedPerson(opened, 'gina', { isSecurityKey: true });
      assert.equal(
        await upstreamIdentities.unlink(gina.link, gina.subject, all),
        undefined,
        'a key is no way',
      );
    });

    test('of concurrent removals of the last link and the last passkey, one succeeds', async (t) => {
      const [one, other] = await openDatabases(t, database, 2);
      assert.ok(one && other);
      for (const name of ['carol', 'dave', 'erin', 'frank']) {
        const { subject, link, passkey } = await addLinkedPerson(one, name);
        const ways = { hasPasswords: true, hasPasskeys: true, hasDirectory: true, links: [link] };
        const [unlinked, isRemoved] = await Promise.all([
          one.upstreamIdentities.unlink(link, subject, ways),
          other.factors.removePasskey(subject, passkey, ways),
        ]);
        assert.notEqual(unlinked !== undefined, isRemoved);
      }
    });

    test('sweeping deletes what is over and leaves the rest, in bounded steps', async (t) => {
      const opened = await openDatabase(t, database);
      const { sessions, attempts, sweepProgram } = opened;
      const alice = await addPerson(opened, 'alice');
      const nowMs = Date.now();
      for (let index = 0; index < 5; index += 1) {
        const id = newId();
        await sessions.add(sessionOf(alice, id), newId(), nowMs - 1000, alice);
        await noteClient(opened, id, 'web', TOLD);
      }
      await sessions.add(sessionOf(alice), 'alive', nowMs + 60_000, alice);
      await sessions.add(sessionOf(alice, 'ending'), 'ending', nowMs - 1000, alice);
      await sessions.beginEnd({ id: 'ending', subject: alice.subject }, nowMs);
      await countOnce(attempts, nowMs - 2000, 'over', 1000);
      await countOnce(attempts, nowMs, 'open', 60_000);
      const bounds = { unusedFor: 0, untilMs: await deletionLimitAt(nowMs) };
      for (const rows of [7, 5, 1, 0]) assert.equal(await sweepProgram(3, bounds), rows);
      assert.equal(await sessions.isOpen('sid-1'), true);
      assert.equal((await sessions.halfEnded(nowMs + 1, 10)).length, 1);
      assert.equal((await countOnce(attempts, nowMs, 'open', 60_000))?.attempts, 2);
    });
  });
}

async function countOnce({ count }: Attempts, nowMs: number, keyDigest = 'key', windowMs = 500) {
  const [counted] = await count([{ keyDigest, attempts: 10, windowMs }], nowMs);
  return counted;
}
