// Begins early: it waits until servers are given up.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { AdministrableStorage } from '@grantd/core';
import { openPostgresStorage, type PostgresPool } from '@grantd/core/postgres';
import { LEASE_MS } from '../../src/storage/postgres/primary.ts';
import { type PostgresCluster, startPostgres } from '../harness/postgres_cluster.ts';
import { disposableDatabase } from '../harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../harness/postgres_installation.ts';
import { until } from '../harness/postgres_processes.ts';
import { throughPort } from '../harness/postgres_server.ts';
import { type PostgresStandby, startStandby } from '../harness/postgres_standby.ts';
import { PostgresStores } from '../harness/postgres_store.ts';
import { faultBy } from '../harness/storage_fault.ts';
import { newToken } from './samples.ts';

const ISSUER = 'https://issuer.example';
const DEADLINES = { connectionTimeoutMs: 1000, statementTimeoutMs: 1000 };
/** For a wait that must be cut short. Its own deadline must not pass earlier, however busy the machine is. */
const PATIENT_DEADLINES = { ...DEADLINES, statementTimeoutMs: 20_000 };

describe('a failover to a synchronous standby', { skip: POSTGRES_ABSENCE, timeout: 120_000 }, () => {
  let primary: PostgresCluster;
  let standby: PostgresStandby;
  let oldStores: PostgresStores;
  let newStores: PostgresStores;
  let onOldPrimary: AdministrableStorage;
  let onOldPrimaryUrl: string;

  before(async () => {
    primary = await startPostgres();
    const url = await disposableDatabase(primary);
    onOldPrimaryUrl = url;
    standby = await startStandby(primary, { synchronous: true });
    oldStores = new PostgresStores(url);
    newStores = new PostgresStores(throughPort(url, standby.place.port));
    onOldPrimary = await oldStores.open({ issuer: ISSUER, ...DEADLINES });
    await onOldPrimary.clients.add({ id: 'client', grantTypes: [], scopes: [], redirectUris: [] });
  });
  after(async () => {
    await oldStores.end();
    await newStores.end();
    await standby.remove();
    await primary.remove();
  });

  test('a standby is refused with a clear message', async () => {
    await assert.rejects(
      newStores.open({ issuer: ISSUER, ...DEADLINES }),
      /^Error: PostgreSQL is a standby here: grantd needs the primary$/,
    );
  });

  test('a connection that leads to a standby after the start is not believed, and not met again', async () => {
    const token = newToken('client', { id: 'seen-on-a-standby' });
    assert.equal(await onOldPrimary.tokens.issue([token], {}), 'issued');
    // It acknowledges what is on its disk, and applies it a little later.
    const applied = 'SELECT FROM pg_stat_replication WHERE replay_lsn >= pg_current_wal_flush_lsn()';
    await until('the standby to catch up', 30_000, async () => (await primary.ask(applied)).length === 1);
    // As with one name for both servers: the target of the next connections.
    const leadsTo: PostgresStores[] = [];
    const pool: PostgresPool = { connect: (use) => (leadsTo.shift() ?? oldStores).pool.connect(use) };
    const mixed = await openPostgresStorage({ pool, issuer: ISSUER, ...DEADLINES });

    leadsTo.push(newStores);
    const { totalCount } = newStores.pool;
    assert.equal((await mixed.tokens.getByAccessToken(token.id))?.id, token.id);
    assert.equal(newStores.pool.totalCount, Math.max(0, totalCount - 1));

    leadsTo.push(newStores, newStores, newStores);
    await assert.rejects(async () => mixed.tokens.getByAccessToken(token.id), faultBy(/is a standby here/));
  });

  test('a write that its standby does not confirm is rejected in time, and is not answered as done', async () => {
    const token = newToken('client', { id: 'unconfirmed' });
    await standby.pause();
    try {
      const begun = performance.now();
      await assert.rejects(
        async () => onOldPrimary.tokens.issue([token], {}),
        faultBy(/did not answer within 1000 ms/),
      );
      assert.ok(performance.now() - begun < 2500);
    } finally {
      await standby.resume();
    }
  });

  test('a commit whose wait for the standby is cut short is not answered as done', async () => {
    const patient = await oldStores.open({ issuer: ISSUER, ...PATIENT_DEADLINES });
    await standby.pause();
    try {
      const issuing = Promise.resolve(patient.tokens.issue([newToken('client', { id: 'cut-short' })], {}));
      issuing.catch(() => {}); // handled below
      const waiting = "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
      await until('the commit to wait', 5000, async () => (await primary.ask(waiting)).length > 0);
      await primary.ask("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
      await assert.rejects(
        issuing,
        faultBy(/PostgreSQL warned during a write: canceling wait for synchronous replication/),
      );
    } finally {
      await standby.resume();
    }
  });

  test('what is done already is not answered as done before the standby has it as well', async () => {
    const token = newToken('client', { id: 'done-already' });
    assert.equal(await onOldPrimary.tokens.issue([token], {}), 'issued');
    await standby.pause();
    try {
      const first = Promise.resolve(onOldPrimary.tokens.revoke({ ...token }));
      first.catch(() => {}); // handled below
      const waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
      await until(
        'the commit to wait',
        5000,
        async () => (await primary.ask(`SELECT ${waiting}`)).length > 0,
      );
      await primary.ask(`SELECT pg_terminate_backend(pid) ${waiting}`);
      await assert.rejects(first, faultBy(/./));
      await assert.rejects(
        async () => onOldPrimary.tokens.revoke({ ...token }),
        faultBy(/did not answer within 1000 ms/),
      );
    } finally {
      await standby.resume();
    }
    await onOldPrimary.tokens.revoke({ ...token });
  });

  test('what is taken already is not refused before the standby knows of it as well', async () => {
    const until = Math.floor(Date.now() / 1000) + 3600;
    const row = {
      kind: 'pushed_request',
      id: 'pushed',
      clientId: 'client',
      data: {},
      expiresAt: until,
    } as const;
    assert.equal(await onOldPrimary.oneTimeIdentifiers.take('taken', until), true);
    await onOldPrimary.pending.add(row);
    await standby.pause();
    try {
      const takingAgain = async () => onOldPrimary.oneTimeIdentifiers.take('taken', until);
      await assert.rejects(takingAgain, faultBy(/did not answer within 1000 ms/));
      await assert.rejects(
        async () => onOldPrimary.pending.take('pushed_request', 'pushed'),
        faultBy(/did not answer within 1000 ms/),
      );
    } finally {
      await standby.resume();
    }
    assert.equal(await onOldPrimary.oneTimeIdentifiers.take('taken', until), false);
  });

  for (const setting of ["synchronous_commit = 'local'", "client_min_messages = 'error'"]) {
    test(`a role that is set to ${setting} afterwards loses no commit unnoticed`, async () => {
      await primary.ask(`ALTER ROLE grantd SET ${setting}`);
      const stores = new PostgresStores(throughPort(onOldPrimaryUrl, primary.place.port));
      try {
        const pool: PostgresPool = { connect: (use) => opened.pool.connect(use) };
        let opened = oldStores;
        const storage = await openPostgresStorage({ pool, issuer: ISSUER, ...PATIENT_DEADLINES });
        opened = stores;
        await standby.pause();
        const issuing = Promise.resolve(storage.tokens.issue([newToken('client', { id: setting })], {}));
        issuing.catch(() => {}); // handled below
        const waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        await until(
          'the commit to wait',
          5000,
          async () => (await primary.ask(`SELECT ${waiting}`)).length > 0,
        );
        await primary.ask(`SELECT pg_cancel_backend(pid) ${waiting}`);
        await assert.rejects(issuing, faultBy(/PostgreSQL warned during a write/));
      } finally {
        await standby.resume();
        await stores.end();
        await primary.ask(`ALTER ROLE grantd RESET ${setting.split(' ')[0]}`);
      }
    });
  }

  test('a deposed primary that still answers is not trusted, and no acknowledged write is lost', async () => {
    const kept = newToken('client', { id: 'kept' });
    const revoked = newToken('client', { id: 'revoked' });
    const revokedLater = newToken('client', { id: 'revoked-later' });
    assert.equal(await onOldPrimary.tokens.issue([kept, revoked, revokedLater], {}), 'issued');
    await onOldPrimary.tokens.revoke({ ...revoked });
    assert.equal((await onOldPrimary.tokens.getByAccessToken('revoked-later'))?.revokedAtMs, undefined);
    // They all have numbers from here on, so the old primary can read them without a change.
    assert.notDeepEqual(await onOldPrimary.eventsAfter(0, 100), []);

    await standby.promote();
    const promotedAt = performance.now();
    const onNew = await newStores.open({ issuer: ISSUER, ...DEADLINES });
    assert.equal((await onNew.tokens.getByAccessToken('kept'))?.id, 'kept');
    assert.notEqual((await onNew.tokens.getByAccessToken('revoked'))?.revokedAtMs, undefined);

    // Acknowledged only when no process trusts the previous primary any more.
    await onNew.tokens.revoke({ ...revokedLater });
    assert.ok(performance.now() - promotedAt >= LEASE_MS - 100);
    await assert.rejects(
      async () => onOldPrimary.tokens.getByAccessToken('revoked-later'),
      faultBy(/PostgreSQL/),
    );
    await assert.rejects(
      async () => onOldPrimary.tokens.getByAccessToken('never-issued'),
      faultBy(/PostgreSQL/),
    );
    await assert.rejects(async () => onOldPrimary.clients.get('client'), faultBy(/PostgreSQL/));
    await assert.rejects(async () => onOldPrimary.keys.get('made-since'), faultBy(/PostgreSQL/));
    await assert.rejects(async () => onOldPrimary.eventsAfter(0, 1), faultBy(/PostgreSQL/));
    await assert.rejects(async () => onOldPrimary.eventsAfter(0, 100), faultBy(/PostgreSQL/));
    await assert.rejects(
      async () => onOldPrimary.authorizationCodes.get('made-since'),
      faultBy(/PostgreSQL/),
    );
    await assert.rejects(
      async () => onOldPrimary.getPrincipalState('subject', 'somebody'),
      faultBy(/PostgreSQL/),
    );
    await assert.rejects(async () => onOldPrimary.tokens.revoke({ ...revoked }), faultBy(/PostgreSQL/));
    await assert.rejects(
      async () => onOldPrimary.revokeAll({ principal: 'subject', id: 'nobody' }),
      faultBy(/PostgreSQL/),
    );
    await assert.rejects(
      async () => onOldPrimary.tokens.issue([newToken('client', { id: 'lost' })], {}),
      faultBy(/PostgreSQL/),
    );
    assert.notEqual((await onNew.tokens.getByAccessToken('revoked-later'))?.revokedAtMs, undefined);

    const until = Math.floor(Date.now() / 1000) + 3600;
    await assert.rejects(
      async () => onOldPrimary.oneTimeIdentifiers.take('taken', until),
      faultBy(/PostgreSQL/),
    );
    await assert.rejects(
      async () => onOldPrimary.oneTimeIdentifiers.take('another', until),
      faultBy(/PostgreSQL/),
    );
    await assert.rejects(
      async () => onOldPrimary.pending.get('pushed_request', 'unknown'),
      faultBy(/PostgreSQL/),
    );
    await assert.rejects(
      async () => onOldPrimary.clients.findApis?.({ resources: ['https://unknown'], scopes: [] }),
      faultBy(/PostgreSQL/),
    );
    await assert.rejects(async () => onOldPrimary.clients.remove('unknown'), faultBy(/PostgreSQL/));
    await assert.rejects(async () => onOldPrimary.revokeGrants('nobody', 'client'), faultBy(/PostgreSQL/));
    assert.equal(await onNew.oneTimeIdentifiers.take('taken', until), false);

    // From then on, writes do not wait.
    const begun = performance.now();
    await onNew.tokens.revoke({ ...kept });
    assert.ok(performance.now() - begun < 500);
  });
});
