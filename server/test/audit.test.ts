// The audit trail on both databases.
// Long: one trail, on both databases: what is recorded, proven, exported and removed.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { EVENT_TYPES, ServerSecret } from '@grantd/core';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { disposableDatabase, sharedPostgres } from '../../core/test/harness/postgres_databases.ts';
import { ask } from '../../core/test/harness/postgres_server.ts';
import { newClient, newCode, newToken } from '../../core/test/storage/samples.ts';
import { firstOf, verifyAudit } from '../src/admin/audit.ts';
import { ocsfOf } from '../src/admin/ocsf.ts';
import { AuditTrail, AuditTrailBroken } from '../src/data/audit.ts';
import { type AuditEvent, type AuditFilter, withActor } from '../src/data/audit_search.ts';
import type { Database, OpenDatabase } from '../src/data/database.ts';
import { postgresDatabase } from '../src/data/postgres_database.ts';
import type { ProgramSecretUse } from '../src/data/secrets.ts';
import { sqliteDatabase } from '../src/data/sqlite_database.ts';
import {
  migrateProgramTables,
  SQLITE_PROGRAM_TABLES,
  sqliteProgramTables,
} from '../src/data/sqlite_tables.ts';
import { actingAs, ProgramTables } from '../src/data/tables.ts';
import { within } from '../src/log/log.ts';
import { AttemptLimits, FAILURES_OF_ADDRESS, failureRecorder } from '../src/people/sign_in.ts';
import { sealOnce } from '../src/serve/sealer.ts';
import { DATABASES, type TestDatabase } from './harness/databases.ts';
import { deletionLimitAt, giveConsent, ISSUER } from './harness/program_data.ts';

const SECRET = 'a secret of the audit tests that is long enough';
const sealedCodes = (...digests: string[]) => digests.map((digest) => ({ digest, sealed: '' }));
const secretOf = (...texts: string[]) => new ServerSecret<ProgramSecretUse>(texts);
const secret = secretOf(SECRET);

interface Place {
  /** A file or a URL. */
  readonly where: string;
  open(): Promise<OpenDatabase>;
  /** Runs statements behind the program’s back. Tables are named `grantd.NAME`. */
  tamper(sql: string): Promise<void>;
}

async function placeFor(t: TestContext, { name }: TestDatabase): Promise<Place> {
  const opened: Database[] = [];
  t.after(() => Promise.all(opened.map((database) => database.close())));
  const keep = (database: Database) => {
    opened.push(database);
    return database.open(ISSUER);
  };
  if (name === 'SQLite') {
    const folder = mkdtempSync(join(tmpdir(), 'grantd-audit-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const where = join(folder, 'grantd.db');
    return {
      where,
      open: () => keep(sqliteDatabase(where)),
      async tamper(sql) {
        const database = new DatabaseSync(where);
        database.exec(sql.replaceAll('grantd.', ''));
        database.close();
      },
    };
  }
  const where = await disposableDatabase(await sharedPostgres());
  const limits = { connections: 4, connectTimeoutMs: 5000, statementTimeoutMs: 5000 };
  return {
    where,
    open: () => keep(postgresDatabase(where, { ...limits, onConnectionLost: () => {} })),
    async tamper(sql) {
      await ask({ url: where }, sql);
    },
  };
}

async function eventsOf({ storage }: OpenDatabase, after = 0): Promise<readonly AuditEvent[]> {
  return (await storage.eventsAfter(after, 1000)).map(withActor);
}

const EVERY_PAIR = process.env.TEST_EVERY_PAIR === 'yes';
/** One change to each table. Both databases return the same rows to the same check, so SQLite alone has all changes. */
const FOUND_ON_BOTH: readonly string[] = ['a changed row', 'a head with another end', 'an emptied index'];

const described = (description: string) => ({ description, signInPolicy: undefined });

/** Adds events to a database. */
async function addGroups({ groups }: OpenDatabase, howMany: number, prefix = 'group'): Promise<void> {
  for (let at = 0; at < howMany; at++) await groups.add({ name: `${prefix}-${at}`, description: '' }, 0);
}

/** A page of events as the operation reads it. @returns also the number to go on with */
async function pageBefore(
  { auditTrail }: OpenDatabase,
  before: number | undefined,
  filter: AuditFilter,
  { most, mostRead }: { readonly most: number; readonly mostRead?: number },
) {
  const { events, stoppedAt } = await firstOf(auditTrail.before(before, filter, mostRead), most + 1);
  const page = events.slice(0, most);
  return { events: page, next: stoppedAt ?? (events.length > most ? page.at(-1)?.sequence : undefined) };
}

for (const database of DATABASES) {
  describe(`the audit trail on ${database.name}`, { skip: database.absence }, () => {
    test('every kind of change has one event, with its actor, address and request', async (t) => {
      const { open } = await placeFor(t, database);
      const bare = await open();
      const cause = { address: '192.0.2.7', requestId: 'request-1' };
      const { storage } = bare;
      const cli = actingAs('cli', bare);
      const own = actingAs('user', bare);
      const nowMs = Date.now();

      /** The events of one change, as text. */
      const of = async (work: () => unknown): Promise<readonly string[]> => {
        const before = (await eventsOf(bare)).at(-1)?.sequence ?? 0;
        await within(cause, async () => work());
        const events = await eventsOf(bare, before);
        for (const { address, requestId } of events)
          assert.deepEqual({ address, requestId }, cause, JSON.stringify(events));
        return events.map(({ type, target, actor, clientId = '-', subject = '-', reason = '-' }) =>
          [type, target, actor, clientId, subject, reason].join(' '),
        );
      };

      // Users, groups, links and factors.
      const person = await within(cause, () =>
        cli.people.add({ name: 'ada', passwordHash: 'hash', claims: {} }),
      );
      assert.ok(person);
      const { subject } = person;
      const [added] = await eventsOf(bare);
      assert.deepEqual([added?.type, added?.target, added?.actor], ['person_added', subject, 'cli']);
      assert.deepEqual(await of(() => cli.people.add({ name: 'ada', passwordHash: '', claims: {} })), []);
      assert.deepEqual(await of(() => cli.people.update({ ...person, claims: { name: 'Ada' } })), [
        `person_changed ${subject} cli - ${subject} -`,
      ]);
      assert.deepEqual(await of(() => cli.people.update(person)), [], 'another revision');
      assert.deepEqual(await of(() => own.people.setPasswordHash(subject, 'new')), [
        `person_password_set ${subject} user:${subject} - ${subject} -`,
      ]);
      assert.deepEqual(await of(() => bare.people.setDirectoryId(subject, 'entry')), [
        `person_changed ${subject} server - ${subject} -`,
      ]);
      await bare.people.setPasswordHash(subject, 'new');
      assert.deepEqual(await of(() => cli.groups.add({ name: 'staff', description: '' }, nowMs)), [
        'group_added staff cli - - -',
      ]);
      assert.deepEqual(await of(() => cli.groups.change('staff', described('All'), described(''))), [
        'group_changed staff cli - - {"description":["","All"]}',
      ]);
      assert.deepEqual(await of(() => cli.groups.addMember({ subject, group: 'staff' }, nowMs)), [
        `group_member_added staff/${subject} cli - ${subject} -`,
      ]);
      assert.deepEqual(await of(() => cli.groups.beginEnd({ subject, group: 'staff' }, nowMs)), [
        `group_member_removed staff/${subject} cli - ${subject} -`,
      ]);
      assert.deepEqual(await of(() => cli.groups.finishEnd({ subject, group: 'staff' })), []);
      assert.deepEqual(await of(() => cli.groups.remove('staff')), ['group_removed staff cli - - -']);
      const identity = { provider: 'up', upstreamIssuer: 'https://up.example', upstreamSub: '1', label: 'a' };
      assert.deepEqual(await of(() => bare.upstreamIdentities.link(identity, subject, nowMs)), [
        `person_linked up/${subject} user:${subject} - ${subject} -`,
      ]);
      const [linked] = await bare.upstreamIdentities.ofSubject(subject);
      assert.deepEqual(await of(() => cli.upstreamIdentities.unlink(linked?.id ?? '', subject, 'any_way')), [
        `person_unlinked up/${subject} cli - ${subject} -`,
      ]);
      const second = { ...identity, upstreamSub: '2' };
      const newcomer = { name: 'bob', passwordHash: '', claims: {} };
      const joined = await of(() => bare.upstreamIdentities.addPerson(second, newcomer, nowMs));
      const bob = await bare.people.byName('bob');
      assert.deepEqual(joined.toSorted(), [
        `person_added ${bob?.subject} user:${bob?.subject} - ${bob?.subject} -`,
        `person_linked up/${bob?.subject} user:${bob?.subject} - ${bob?.subject} -`,
      ]);
      assert.deepEqual(
        await of(() => bare.upstreamIdentities.addPerson(second, { ...newcomer, name: 'eve' }, nowMs)),
        [],
      );
      const totp = { sealed: 'sealed', createdAtMs: nowMs, countsFromMs: 0 };
      assert.deepEqual(await of(() => own.factors.addTotp(subject, totp, 1)), [
        `person_factor_added ${subject} user:${subject} - ${subject} authenticator_app`,
      ]);
      assert.deepEqual(
        await of(() => own.factors.setRecoveryCodes(subject, sealedCodes('one', 'two'), nowMs)),
        [`person_recovery_codes_made ${subject} user:${subject} - ${subject} -`],
      );
      assert.deepEqual(await of(() => own.factors.useRecoveryCode(subject, 'one')), [
        `person_recovery_code_used ${subject} user:${subject} - ${subject} -`,
      ]);
      assert.deepEqual(await of(() => own.factors.useRecoveryCode(subject, 'one')), []);
      assert.deepEqual(await of(() => cli.factors.reset(subject)), [
        `person_factors_reset ${subject} cli - ${subject} -`,
      ]);
      assert.deepEqual(await of(() => cli.factors.reset(subject)), []);
      const imported = { name: 'carol', passwordHash: '', claims: {}, groups: [], importDigest: 'd' };
      const others = { links: [], mayLookAlike: false };
      assert.deepEqual(
        await of(() =>
          cli.importedPeople.add([{ ...imported, ...others, subject: 'sub-of-carol' }], 'import-1'),
        ),
        ['people_imported import-1 cli - sub-of-carol -'],
      );
      await cli.groups.add({ name: 'crew', description: '' }, nowMs);
      const member = { ...imported, ...others, name: 'dave', subject: 'sub-of-dave', groups: ['crew'] };
      assert.deepEqual(await of(() => cli.importedPeople.add([member], 'import-2')), [
        'people_imported import-2 cli - sub-of-dave -',
        'group_member_added crew/sub-of-dave cli - sub-of-dave -',
      ]);
      const text = { scope: 'photos', api: undefined, texts: { name: 'Photos' } };
      assert.deepEqual(await of(() => cli.scopeTexts.add(text)), [
        'scope_texts_changed photos cli - - {"name":["","Photos"]}',
      ]);
      assert.deepEqual(await of(() => cli.scopeTexts.remove(text)), ['scope_texts_changed photos cli - - -']);

      // Sign-ins, sessions, consents and links.
      const session = {
        ...{ id: 'session', subject, amr: ['pwd', 'otp'], userAgent: '' },
        ...{ signedInAtMs: nowMs, lastSeenAtMs: nowMs },
      };
      const shown = { subject, passwordHash: 'new' };
      assert.deepEqual(await of(() => bare.sessions.add(session, 'digest', nowMs + 1e6, shown)), [
        `signed_in session user:${subject} - ${subject} pwd otp`,
      ]);
      const failed = failureRecorder({
        ...{
          storage,
          sessions: bare.sessions,
          limits: new AttemptLimits(bare.attempts, secret),
          clock: () => nowMs,
        },
      });
      const browser = {
        ...{ userAgent: 'Firefox', network: '203.0.113.0/24' },
        ...{ address: '203.0.113.9', isCounted: true },
      };
      const wrong = { ...browser, reason: 'password_wrong', subject, clientId: 'web' };
      assert.deepEqual(await of(() => failed(wrong)), [
        `sign_in_failed ${subject} anonymous web ${subject} password_wrong`,
      ]);
      assert.deepEqual(await of(() => failed({ ...browser, reason: 'person_unknown' })), [
        'sign_in_failed  anonymous - - person_unknown',
      ]);
      const asked = {
        ...{ scopes: ['openid'], resources: [], claims: [], details: [] },
        ...{ clientGeneration: 0, clientRevision: 0 },
      };
      const parties = { subject, clientId: 'web' };
      assert.deepEqual(await of(() => giveConsent(bare, parties, asked, nowMs)), [
        `consent_given web user:${subject} web ${subject} -`,
      ]);
      assert.deepEqual(await of(() => giveConsent(bare, parties, asked, nowMs)), []);
      assert.deepEqual(await of(() => cli.consents.beginWithdrawal(parties, nowMs)), [
        `consent_withdrawn web cli web ${subject} -`,
      ]);
      assert.deepEqual(await of(() => bare.sessions.beginEnd({ subject, id: 'session' }, nowMs)), [
        `session_ended session user:${subject} - ${subject} -`,
      ]);
      const link = {
        ...({ purpose: 'reset', subject, address: 'a@x.example' } as const),
        ...{ passwordDigest: undefined, browserDigest: undefined, expiresAtMs: nowMs + 1e6 },
      };
      assert.deepEqual(await of(() => bare.mailedLinks.add('link', link)), [
        `mailed_link_made link server - ${subject} reset`,
      ]);
      assert.deepEqual(await of(() => bare.mailedLinks.use('link', nowMs)), [
        `mailed_link_used link user:${subject} - ${subject} reset`,
      ]);
      assert.deepEqual(await of(() => bare.mailedLinks.use('link', nowMs)), []);
      assert.deepEqual(await of(() => bare.pairwiseSecret.add('sealed')), [
        'pairwise_secret_made  server - - -',
      ]);

      // Clients and keys.
      assert.deepEqual(await of(() => cli.storage.clients.add(newClient('web'))), [
        'client_added web cli web - -',
      ]);
      assert.deepEqual(await of(() => cli.storage.clients.add(newClient('web'))), []);
      const registered = {
        ...newClient('self'),
        registrationTokenDigest: 'digest',
        secrets: [{ hash: 'h' }],
      };
      assert.deepEqual(await of(() => storage.clients.add(registered, { mostRegistered: 10 })), [
        'client_added self registration self - -',
      ]);
      const read = async () => (await storage.clients.get('self')) ?? {};
      const basis = await read();
      assert.deepEqual(await of(() => storage.clients.replace(registered, basis)), [
        'client_changed self registration self - -',
      ]);
      const later = await read();
      assert.deepEqual(
        await of(() => storage.clients.replaceSecrets('self', [{ hash: 'h', lastUsedAtMs: 1 }], later)),
        [],
        'the server notes that a secret was used',
      );
      const last = await read();
      assert.deepEqual(await of(() => cli.storage.clients.replaceSecrets('self', [{ hash: 'i' }], last)), [
        'client_secret_rotated self cli self - -',
      ]);
      assert.deepEqual(await of(() => storage.clients.remove('self')), [
        'client_revoked self registration self - -',
        'client_removed self registration self - -',
      ]);
      const key = (kid: string, status: 'current' | 'next') => ({
        ...({ kid, algorithm: 'ES256', status, publicJwk: {}, sealedPrivateKey: 'sealed' } as const),
        createdAtMs: nowMs,
      });
      await storage.keys.initialize([key('one', 'current'), key('two', 'next')]);
      assert.deepEqual(await of(() => cli.storage.keys.rotate('one', key('three', 'next'))), [
        'key_rotated one cli - - -',
      ]);
      assert.deepEqual(
        await of(() => cli.storage.recordAct({ type: 'server_secret_rotated', target: 'f', actor: 'cli' })),
        ['server_secret_rotated f cli - - -'],
      );

      // Tokens.
      const access = newToken('web');
      assert.deepEqual(await of(() => storage.tokens.issue([access], { clientGeneration: 0 })), [
        `token_issued ${access.id} client:web web - client`,
      ]);
      assert.deepEqual(await of(() => storage.tokens.issue([newToken('web')], { clientGeneration: 9 })), []);
      const below = newToken('web', { ancestors: [{ kind: 'access_token', id: access.id }] });
      assert.deepEqual(await of(() => storage.tokens.issue([below], { clientGeneration: 0 })), [
        `token_issued ${below.id} client:web web - token_exchange`,
      ]);
      // Who acts for whom, and through which application.
      const ancestor = { kind: 'access_token', id: access.id, clientId: 'shop' } as const;
      const acting = newToken('web', { subject, ancestors: [ancestor] });
      assert.deepEqual(await of(() => storage.tokens.issue([acting], { clientGeneration: 0 })), [
        `token_issued ${acting.id} client:web web ${subject} token_exchange:shop`,
      ]);
      const assertion = newToken('web', {
        ...{ subject, ancestors: [ancestor], tokenType: 'N_A' },
        ...{ resources: ['https://chat.example/'], scopes: ['chat.read', 'chat.write'] },
      });
      const upon = { clientGeneration: 0, leavesNoRow: true };
      assert.deepEqual(await of(() => storage.tokens.issue([assertion], upon)), [
        `identity_assertion_issued ${assertion.id} client:web web ${subject} https://chat.example/ chat.read chat.write`,
      ]);
      // The row of a JWT of a trusted issuer is no token. What is obtained by the JWT names the issuer.
      const row = newToken('web', { tokenType: 'N_A', sessionId: 'asserted_1' });
      assert.deepEqual(await of(() => storage.tokens.issue([row], { clientGeneration: 0 })), []);
      const ancestors = [
        { kind: 'access_token', id: row.id, clientId: 'web', issuer: 'https://idp' } as const,
      ];
      const asserted = newToken('web', { ancestors, sessionId: 'asserted_1' });
      assert.deepEqual(await of(() => storage.tokens.issue([asserted], { clientGeneration: 0 })), [
        `token_issued ${asserted.id} client:web web - jwt_bearer:https://idp`,
      ]);
      assert.deepEqual(await of(() => cli.storage.revokeAll({ principal: 'session', id: 'asserted_2' })), [
        'session_revoked asserted_2 cli - - -',
      ]);
      assert.deepEqual(await of(() => storage.revokeGrants(subject, 'web')), [
        `exchanges_revoked web server web ${subject} -`,
      ]);
      const code = { ...newCode('web', 'code'), subject, claims: { sub: subject } };
      assert.deepEqual(await of(() => storage.authorizationCodes.issue(code, {})), [
        `code_issued code client:web web ${subject} -`,
      ]);
      const tied = { subject, grantId: code.grantId, pairId: 'pair', familyId: 'family' };
      const tokens = [newToken('web', tied), newToken('web', { ...tied, kind: 'refresh_token' })] as const;
      const stored = await storage.authorizationCodes.get('code');
      assert.ok(stored);
      assert.deepEqual(await of(() => storage.authorizationCodes.redeem(stored, tokens)), [
        `token_issued ${tokens[0].id} ${tokens[1].id} client:web web ${subject} authorization_code`,
      ]);
      const refresh = await storage.tokens.getByRefreshToken(tokens[1].id);
      assert.ok(refresh);
      const successor = newToken('web', { ...tied, pairId: 'pair 2', kind: 'refresh_token' });
      assert.deepEqual(await of(() => storage.tokens.rotate(refresh, successor, [successor])), [
        `token_issued ${successor.id} client:web web ${subject} refresh_token`,
      ]);
      const current = await storage.tokens.getByRefreshToken(successor.id);
      assert.ok(current);
      const narrower = newToken('web', { subject, grantId: code.grantId });
      assert.deepEqual(await of(() => storage.tokens.issueFrom(current, [narrower])), [
        `token_issued ${narrower.id} client:web web ${subject} refresh_token`,
      ]);
      assert.deepEqual(await of(() => storage.tokens.revoke(current)), [
        `token_revoked ${current.id} client:web web ${subject} -`,
      ]);
      assert.deepEqual(await of(() => storage.tokens.revoke(current)), []);
      assert.deepEqual(
        await of(() => actingAs('api:robot', storage).revokeAll({ principal: 'session', id: 'none' })),
        [],
      );
      assert.deepEqual(
        await of(() => actingAs('api:robot', storage).revokeAll({ principal: 'subject', id: subject })),
        [`subject_revoked ${subject} api:robot - ${subject} -`],
      );
      assert.deepEqual(await of(() => actingAs('console:root', storage).setDisabled('client', 'web', true)), [
        'client_disabled web console:root web - -',
      ]);
      const acted = await of(() => cli.people.beginRemoval(subject, nowMs));
      assert.deepEqual(acted, [`person_removed ${subject} cli - ${subject} -`]);

      await bare.auditTrail.seal(secret);
      assert.deepEqual((await verifyAudit({ ...bare, secret: () => secret })).problems, []);
    });

    test('issuance is not recorded if that is off', { skip: database.name !== 'SQLite' }, async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'grantd-audit-'));
      const opened = sqliteDatabase(join(folder, 'grantd.db'), { recordsIssuance: false });
      t.after(async () => {
        await opened.close();
        rmSync(folder, { recursive: true });
      });
      const { storage } = await opened.open(ISSUER, 'cli');
      await storage.clients.add(newClient('web'));
      const token = newToken('web');
      assert.equal(await storage.tokens.issue([token], {}), 'issued');
      await storage.tokens.revoke(token);
      assert.deepEqual(
        (await storage.eventsAfter(0, 10)).map(({ type, actor }) => [type, actor]),
        [
          ['client_added', 'cli'],
          ['token_revoked', 'cli'],
        ],
      );
    });

    const TAMPERINGS: Readonly<Record<string, string>> = {
      'a changed row': "UPDATE grantd.events SET actor = 'cli' WHERE target = 'group-300'",
      'a changed address': "UPDATE grantd.events SET address = '192.0.2.1' WHERE target = 'group-0'",
      'a removed row': "DELETE FROM grantd.events WHERE target = 'group-300'",
      'a removed last row': "DELETE FROM grantd.events WHERE target = 'group-599'",
      'truncated rows and blocks': `
        DELETE FROM grantd.events WHERE sequence > 512; DELETE FROM grantd.audit_blocks WHERE number > 1`,
      'reordered rows': `
        UPDATE grantd.events SET sequence = 100000 WHERE target = 'group-300';
        UPDATE grantd.events SET sequence = 301 WHERE target = 'group-301';
        UPDATE grantd.events SET sequence = 302 WHERE sequence = 100000`,
      'a head of another secret': "UPDATE grantd.audit_heads SET mac = 'forged'",
      'a head with another end': 'UPDATE grantd.audit_heads SET last_sequence = 512',
      'an emptied index': "UPDATE grantd.audit_blocks SET terms = ''",
      'a moved first number': 'UPDATE grantd.audit_blocks SET first_sequence = last_sequence + 1',
      'a moved earliest time': 'UPDATE grantd.audit_blocks SET earliest_ms = latest_ms + 1',
      'a moved latest time': 'UPDATE grantd.audit_blocks SET latest_ms = 0',
      'a removed head': 'DELETE FROM grantd.audit_heads; DELETE FROM grantd.audit_blocks',
    };

    test('of the failures that no limit counts, an address fills the trail with a hundred at most', async (t) => {
      let nowMs = 0;
      const { storage, sessions, attempts, ...opened } = await (await placeFor(t, database)).open();
      const limits = new AttemptLimits(attempts, secret, () => nowMs);
      const failed = failureRecorder({ storage, sessions, limits, clock: () => nowMs });
      const recorded = async () => (await eventsOf({ ...opened, storage, sessions, attempts })).length;
      const stranger = { userAgent: '', address: '203.0.113.9', isCounted: false };
      const flood = () =>
        Promise.all(Array.from({ length: 130 }, () => failed({ ...stranger, reason: 'passkey_unknown' })));
      await flood();
      assert.equal(await recorded(), 100);
      await failed({ ...stranger, reason: 'password_wrong', isCounted: true });
      await failed({ ...stranger, address: '198.51.100.7', reason: 'passkey_wrong' });
      assert.equal(await recorded(), 102);
      nowMs = FAILURES_OF_ADDRESS.windowMs;
      await flood();
      assert.equal(await recorded(), 202);
    });

    test('verification finds rows that were changed, removed, moved or cut off', async (t) => {
      const isWanted = (what: string) =>
        database.name === 'SQLite' || EVERY_PAIR || FOUND_ON_BOTH.includes(what);
      for (const [what, sql] of Object.entries(TAMPERINGS).filter(([what]) => isWanted(what))) {
        const place = await placeFor(t, database);
        const opened = await place.open();
        await addGroups(opened, 600);
        await opened.auditTrail.seal(secret);
        const sound = await opened.auditTrail.verify(secret);
        assert.deepEqual([sound.problems, sound.events, sound.head?.sequence], [[], 600, 600]);
        assert.deepEqual((await opened.auditTrail.verify(secretOf('another secret '.repeat(4)))).problems, [
          { problem: 'head_not_authentic' },
        ]);
        await place.tamper(sql);
        const { problems } = await opened.auditTrail.verify(secret);
        assert.notDeepEqual(problems, [], what);
        if (what === 'a changed row')
          assert.deepEqual(problems, [{ problem: 'rows_changed', from: 1, to: 512 }]);
        if (what === 'an emptied index')
          assert.deepEqual(problems, [
            { problem: 'index_changed', from: 1, to: 512 },
            { problem: 'index_changed', from: 513, to: 600 },
          ]);
        // Another process with the secret goes on, without making the change good.
        const again = await verifyAudit({ ...(await place.open()), secret: () => secret });
        assert.notDeepEqual(again.problems, [], `${what}, sealed again`);
      }
    });

    test('only a server begins a chain, and tells that it did', async (t) => {
      const place = await placeFor(t, database);
      const parts = { ...(await place.open()), secret: () => secret };
      await addGroups(parts, 3);
      const missing = [{ problem: 'head_missing' }];
      assert.deepEqual((await verifyAudit(parts)).problems, missing);
      const warnings: unknown[] = [];
      const log = {
        warn: (line: object) => warnings.push(line),
        error: (line: object) => warnings.push(line),
      };
      const begun = { event: 'audit_chain_begun', events: 3 };
      await place.tamper(`UPDATE grantd.events SET at_ms = ${Date.now() - 61_000}`);
      await sealOnce(parts, log);
      await addGroups(parts, 1, 'later');
      await sealOnce(parts, log);
      assert.deepEqual(warnings, [begun]);
      assert.deepEqual((await verifyAudit(parts)).problems, []);
      await place.tamper('DELETE FROM grantd.audit_heads; DELETE FROM grantd.audit_blocks');
      const restarted = { ...(await place.open()), secret: () => secret };
      assert.deepEqual((await verifyAudit(restarted)).problems, missing);
      await sealOnce(restarted, log);
      assert.deepEqual(warnings, [begun, { ...begun, events: 4 }]);
    });

    test('an earlier head shows that the database returned to an earlier state', async (t) => {
      const place = await placeFor(t, database);
      const opened = await place.open();
      await addGroups(opened, 5);
      await opened.auditTrail.seal(secret);
      const early = await opened.auditTrail.verify(secret);
      await addGroups(opened, 3, 'later');
      await opened.auditTrail.seal(secret);
      const late = await opened.auditTrail.verify(secret);
      assert.deepEqual((await opened.auditTrail.verify(secret, early.head)).problems, []);
      const cut = `
        DELETE FROM grantd.events WHERE sequence > 5;
        UPDATE grantd.audit_blocks SET last_sequence = 5`;
      await place.tamper(cut);
      assert.ok(late.head);
      const { problems } = await opened.auditTrail.verify(secret, late.head);
      assert.ok(problems.some(({ problem }) => problem === 'not_as_expected'));
      await assert.rejects(async () => {
        await place.tamper('DELETE FROM grantd.audit_heads; DELETE FROM grantd.audit_blocks');
        await opened.auditTrail.seal(secret);
      }, AuditTrailBroken);
    });

    test('processes that seal at once make one chain', async (t) => {
      const place = await placeFor(t, database);
      const opened = await Promise.all([place.open()]);
      opened.push(await place.open(), await place.open());
      const writing = opened.map((one, index) => addGroups(one, 300, `of-${index}`));
      let isWriting = true;
      const sealing = opened.map(async ({ auditTrail }) => {
        while (isWriting) {
          await auditTrail.seal(secret);
          await pause(1);
        }
        await auditTrail.seal(secret);
      });
      await Promise.all(writing);
      isWriting = false;
      await Promise.all(sealing);
      const [first] = opened;
      assert.ok(first);
      const { problems, events } = await first.auditTrail.verify(secret);
      assert.deepEqual([problems, events], [[], 900]);
    });

    test('old events go, and the rest is still proved', async (t) => {
      const place = await placeFor(t, database);
      const opened = await place.open();
      await addGroups(opened, 600);
      await opened.auditTrail.seal(secret);
      const sound = await opened.auditTrail.verify(secret);
      assert.equal(
        await opened.auditTrail.removeOldest(secret, 1, await deletionLimitAt(1001)),
        0,
        'none is that old',
      );
      assert.equal(
        await opened.auditTrail.removeOldest(secret, 0, await deletionLimitAt(Date.now() + 1)),
        512,
      );
      assert.deepEqual((await opened.auditTrail.verify(secret, { sequence: 7, hash: '' })).problems, [
        { problem: 'expected_removed', sequence: 7, beginning: 512 },
      ]);
      const rest = await opened.auditTrail.verify(secret, sound.head);
      assert.deepEqual([rest.problems, rest.events], [[], 88]);
      assert.equal(
        await opened.auditTrail.removeOldest(secret, 0, await deletionLimitAt(Date.now() + 1)),
        88,
      );
      assert.equal(await opened.auditTrail.removeOldest(secret, 0, await deletionLimitAt(Date.now() + 1)), 0);
      assert.deepEqual((await opened.auditTrail.verify(secret, sound.head)).problems, []);
      await addGroups(opened, 2, 'new');
      await opened.auditTrail.seal(secret);
      const [event] = await eventsOf(opened);
      assert.equal(event?.sequence, 601, 'numbers continue');
      assert.deepEqual((await opened.auditTrail.verify(secret, sound.head)).problems, []);
      await place.tamper(
        'INSERT INTO grantd.events (issuer_id, sequence, at_ms, type, target) ' +
          "SELECT id, 7, 0, 'group_added', 'forged' FROM grantd.issuers",
      );
      assert.deepEqual((await opened.auditTrail.verify(secret)).problems, [
        { problem: 'rows_before_beginning', rows: 1 },
      ]);
    });

    test('changed blocks remove no events', async (t) => {
      const place = await placeFor(t, database);
      const opened = await place.open();
      await addGroups(opened, 600);
      await opened.auditTrail.seal(secret);
      await place.tamper('UPDATE grantd.audit_blocks SET latest_ms = 0');
      assert.equal(await opened.auditTrail.removeOldest(secret, 1, await deletionLimitAt(1001)), 0);
      await place.tamper('DELETE FROM grantd.audit_blocks WHERE number = 1');
      await assert.rejects(
        opened.auditTrail.removeOldest(secret, 0, await deletionLimitAt(Date.now() + 1)),
        AuditTrailBroken,
      );
      assert.equal((await eventsOf(opened)).length, 600);
    });

    test('the head moves to a new server secret, so that the old one can be dropped', async (t) => {
      const opened = await (await placeFor(t, database)).open();
      await addGroups(opened, 1);
      await opened.auditTrail.seal(secret);
      const both = secretOf('a newer secret that is long enough as well', SECRET);
      assert.equal(await opened.auditTrail.sealedBy(both), 1);
      await opened.auditTrail.seal(both);
      assert.equal(await opened.auditTrail.sealedBy(both), 0);
      assert.deepEqual((await opened.auditTrail.verify(both)).problems, []);
    });

    test('filters find what a full search finds', async (t) => {
      const opened = await (await placeFor(t, database)).open();
      await opened.storage.clients.add(newClient('web'));
      for (let at = 0; at < 30; at++)
        await within({ requestId: `request-${at}`, address: `192.0.2.${at % 7}` }, () =>
          Promise.all(
            Array.from({ length: 25 }, (_, index) => {
              const subject = `sub-${(at * 25 + index) % 90}`;
              return opened.storage.tokens.issue([newToken('web', { subject }), newToken('web')], {});
            }),
          ),
        );
      await opened.auditTrail.seal(secret);
      await addGroups(opened, 3, 'unsealed');
      const all = await eventsOf(opened);
      const some = all[400];
      assert.ok(some?.subject && some.requestId);
      const [target = ''] = some.target.split(' ').slice(-1);
      const filters = [
        {},
        { target },
        { target: 'unsealed-1' },
        { subject: some.subject },
        { requestId: some.requestId, subject: some.subject },
        { address: '192.0.2.3' },
        { type: 'group_added' },
        { actor: 'client:web', requestId: 'request-29' },
        { clientId: 'nobody' },
        { sinceMs: some.atMs, untilMs: some.atMs + 1 },
      ] as const;
      for (const filter of filters) {
        const expected = all.filter((event) =>
          Object.entries(filter).every(([name, value]) => {
            if (name === 'sinceMs') return event.atMs >= Number(value);
            if (name === 'untilMs') return event.atMs < Number(value);
            if (name === 'target') return event.target.split(' ').includes(String(value));
            return event[name as 'type'] === value;
          }),
        );
        const found: AuditEvent[] = [];
        for await (const event of opened.auditTrail.after(0, filter)) found.push(event);
        assert.deepEqual(found, expected, JSON.stringify(filter));
        const backwards: AuditEvent[] = [];
        for (let before: number | undefined; ; ) {
          const page = await pageBefore(opened, before, filter, { most: 70 });
          backwards.push(...page.events);
          if (page.next === undefined) break;
          before = page.next;
        }
        assert.deepEqual(backwards.reverse(), expected, JSON.stringify(filter));
      }
    });

    test('a search stops after a number of events, and goes on', async (t) => {
      const opened = await (await placeFor(t, database)).open();
      await addGroups(opened, 1100, 'sealed');
      await opened.auditTrail.seal(secret);
      await addGroups(opened, 1100, 'unsealed');
      const filter = { target: 'sealed-3' };
      const pages: (readonly string[])[] = [];
      for (let before: number | undefined; ; ) {
        const page = await pageBefore(opened, before, filter, { most: 10, mostRead: 600 });
        pages.push(page.events.map(({ target }) => target));
        if (page.next === undefined) break;
        assert.ok(page.next < (before ?? 2201), `${page.next}`);
        before = page.next;
      }
      assert.deepEqual(pages, [[], ['sealed-3']]);
      const all: number[] = [];
      for (let before: number | undefined; ; ) {
        const page = await pageBefore(opened, before, {}, { most: 700, mostRead: 600 });
        assert.ok(page.events.length <= 700);
        all.push(...page.events.map(({ sequence }) => sequence));
        if (page.next === undefined) break;
        before = page.next;
      }
      assert.deepEqual(
        all,
        Array.from({ length: 2200 }, (_, at) => 2200 - at),
      );
      const forwards: number[] = [];
      const stops: number[] = [];
      for (let after = 0; ; ) {
        const page = await firstOf(opened.auditTrail.after(after, {}, 600), Number.POSITIVE_INFINITY);
        forwards.push(...page.events.map(({ sequence }) => sequence));
        if (page.stoppedAt === undefined) break;
        stops.push(page.stoppedAt);
        after = page.stoppedAt;
      }
      assert.deepEqual(forwards, all.reverse());
      assert.ok(stops.length >= 2, 'it stopped on the way');
    });

    test('a search stops after a number of blocks that cannot have what it looks for, and goes on', async (t) => {
      const opened = await (await placeFor(t, database)).open();
      await addGroups(opened, 512 * 6, 'sealed');
      await opened.auditTrail.seal(secret);
      const filter = { target: 'sealed-3' };
      const pages: (readonly [string[], number | undefined])[] = [];
      for (let before: number | undefined; ; ) {
        const page = await pageBefore(opened, before, filter, { most: 10, mostRead: 32 });
        pages.push([page.events.map(({ target }) => target), page.next]);
        if (page.next === undefined) break;
        before = page.next;
      }
      assert.deepEqual(pages, [
        [[], 512 * 4 + 1],
        [[], 512 * 2 + 1],
        [['sealed-3'], undefined],
      ]);
      const last = { target: `sealed-${512 * 6 - 1}` };
      assert.deepEqual((await firstOf(opened.auditTrail.after(0, last, 32), 10)).stoppedAt, 512 * 2);
    });

    test('a killed process leaves both a change and its event, or neither', async (t) => {
      const place = await placeFor(t, database);
      const opened = await place.open();
      for (let run = 0; run < 3; run++) {
        const program = join(import.meta.dirname, 'audit_process.ts');
        const child = spawn(process.execPath, [program, place.where], {
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        await once(child.stdout, 'data');
        await pause(run * 7);
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      const subjects = async () => (await opened.people.list()).map(({ subject }) => subject);
      let people = await subjects();
      const events: AuditEvent[] = [];
      // PostgreSQL may still be committing what a killed process has sent.
      for (let before: readonly string[] = []; before.length !== people.length; people = await subjects()) {
        before = people;
        events.length = 0;
        for await (const event of opened.auditTrail.after(0)) events.push(event);
      }
      assert.ok(people.length >= 12);
      assert.deepEqual(
        events.map(({ type, actor, target }) => `${type} ${actor} ${target}`).toSorted(),
        people.map((subject) => `person_added cli ${subject}`).toSorted(),
      );
      await opened.auditTrail.seal(secret);
      assert.deepEqual((await opened.auditTrail.verify(secret)).problems, []);
    });
  });
}

/** The trail as a process reads it while another one changes it after each of the first reads. */
function trailBeside(
  t: TestContext,
  { where }: Place,
  { storage }: OpenDatabase,
  change: (read: number) => Promise<unknown>,
): AuditTrail {
  const hostTables = { tables: SQLITE_PROGRAM_TABLES, migrate: migrateProgramTables };
  const handle = openSqliteStorage({ path: where, issuer: ISSUER, hostTables });
  t.after(() => handle.close());
  const { tables } = sqliteProgramTables(handle.connection, ISSUER);
  let reads = 0;
  return new AuditTrail(
    new ProgramTables({
      async list(call, recordOf) {
        const rows = await tables.list(call, recordOf);
        if (reads < 20) await change(reads++);
        return rows;
      },
      write: tables.write,
    }),
    ISSUER,
    storage,
  );
}

describe('beside a running server', () => {
  const [onSqlite] = DATABASES;
  assert.ok(onSqlite);

  test('verification takes no event that is sealed meanwhile for a change', async (t) => {
    const place = await placeFor(t, onSqlite);
    const server = await place.open();
    await addGroups(server, 600);
    await server.auditTrail.seal(secret);
    const { head } = await server.auditTrail.verify(secret);
    const sealMore = async (read: number) => {
      await addGroups(server, 100, `during-read-${read}`);
      await server.auditTrail.seal(secret);
    };
    const beside = await trailBeside(t, place, server, sealMore).verify(secret, head);
    assert.deepEqual(beside.problems, []);
    assert.ok(beside.events >= 600, String(beside.events));
    await place.tamper("UPDATE grantd.events SET target = 'other' WHERE sequence = 590");
    const changed = await trailBeside(t, place, server, sealMore).verify(secret, head);
    assert.deepEqual(changed.problems, [
      { problem: 'rows_changed', from: 513, to: 1024 },
      { problem: 'not_as_expected', sequence: 600 },
    ]);
  });

  test('verification takes no event that is removed meanwhile for a change', async (t) => {
    for (const removesAfter of [0, 1, 2, 3, 4, 5]) {
      const place = await placeFor(t, onSqlite);
      const server = await place.open();
      await addGroups(server, 1100);
      await server.auditTrail.seal(secret);
      let removed = 0;
      const beside = trailBeside(t, place, server, async (read) => {
        if (read === removesAfter || read === removesAfter + 2)
          removed += await server.auditTrail.removeOldest(secret, 0, await deletionLimitAt(Date.now() + 1));
      });
      assert.deepEqual((await beside.verify(secret)).problems, [], `after read ${removesAfter}`);
      assert.ok(removed >= 512, `after read ${removesAfter}`);
    }
  });

  test('a new chain by an operator is no loss, but an earlier head is', async (t) => {
    const place = await placeFor(t, onSqlite);
    const server = await place.open();
    await addGroups(server, 600);
    await server.auditTrail.seal(secret);
    await place.tamper('CREATE TABLE earlier AS SELECT * FROM grantd.audit_heads');
    await addGroups(server, 600, 'later');
    await server.auditTrail.seal(secret);
    const beside = trailBeside(t, place, server, () => server.auditTrail.seal(secret));
    await beside.restart(secret);
    assert.deepEqual((await server.auditTrail.verify(secret)).problems, []);
    await place.tamper(
      'DELETE FROM grantd.audit_heads; INSERT INTO grantd.audit_heads SELECT * FROM earlier',
    );
    await assert.rejects(server.auditTrail.seal(secret), AuditTrailBroken);
  });

  test('an export has every event, also those that are sealed meanwhile', async (t) => {
    const place = await placeFor(t, onSqlite);
    const server = await place.open();
    await addGroups(server, 600);
    await server.auditTrail.seal(secret);
    const beside = trailBeside(t, place, server, async (read) => {
      await addGroups(server, 100, `during-read-${read}`);
      await server.auditTrail.seal(secret);
    });
    const numbers: number[] = [];
    for await (const { sequence } of beside.after(0)) numbers.push(sequence);
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => index + 1),
    );
    assert.ok(numbers.length > 600);
  });
});

test('every type of event has a class and an activity of OCSF', () => {
  for (const type of EVENT_TYPES) {
    const event = { sequence: 7, atMs: 1000, type, target: 'some', actor: 'user:ada', subject: 'ada' };
    const made = ocsfOf({ ...event, address: '192.0.2.7', requestId: 'r', reason: 'why' }, ISSUER) as Record<
      string,
      unknown
    >;
    const { class_uid: classUid, activity_id: activityId } = made as {
      class_uid: number;
      activity_id: number;
    };
    assert.ok([3001, 3002, 3004, 3006].includes(classUid), type);
    assert.equal(made.type_uid, classUid * 100 + activityId);
    assert.deepEqual([made.category_uid, made.time, made.status_detail], [3, 1000, 'why']);
    assert.deepEqual(made.src_endpoint, { ip: '192.0.2.7' });
    assert.deepEqual(made.actor, { user: { uid: 'ada' } });
    // Attributes that the classes require.
    if (classUid === 3001 || classUid === 3002) assert.deepEqual(made.user, { uid: 'ada' });
    if (classUid === 3002) assert.deepEqual(made.service, { name: ISSUER });
    if (classUid === 3004) assert.ok((made.entity as { type: string }).type !== '');
    if (classUid === 3006) assert.deepEqual(made.group, { name: 'some' });
  }
  const failed = ocsfOf(
    {
      sequence: 1,
      atMs: 1,
      type: 'sign_in_failed',
      target: '',
      actor: 'anonymous',
      reason: 'person_unknown',
    },
    ISSUER,
  );
  assert.deepEqual(failed, {
    activity_id: 1,
    activity_name: 'Logon',
    category_uid: 3,
    category_name: 'Identity & Access Management',
    class_uid: 3002,
    class_name: 'Authentication',
    type_uid: 300201,
    type_name: 'Authentication: Logon',
    time: 1,
    severity_id: 2,
    status_id: 2,
    status: 'Failure',
    status_detail: 'person_unknown',
    message: 'sign_in_failed',
    metadata: {
      version: '1.8.0',
      uid: '1',
      event_code: 'sign_in_failed',
      log_name: 'audit',
      product: { name: 'grantd', vendor_name: 'grantd', uid: ISSUER },
    },
    actor: { app_name: 'anonymous' },
    user: { uid: 'unknown' },
    service: { name: ISSUER },
    unmapped: { target: '', actor: 'anonymous' },
  });
});
