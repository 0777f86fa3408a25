import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { AdministrableStorage } from '@grantd/core';
import { LEASE_MS } from '../../src/storage/sql/postgres/primary.ts';
import { type PostgresCluster, startPostgres } from '../harness/postgres_cluster.ts';
import { disposableDatabase } from '../harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../harness/postgres_installation.ts';
import { throughPort } from '../harness/postgres_server.ts';
import { type PostgresStandby, startStandby } from '../harness/postgres_standby.ts';
import { PostgresStores } from '../harness/postgres_store.ts';
import { newToken } from './samples.ts';

const ISSUER = 'https://issuer.example';
const DEADLINES = { connectionTimeoutMs: 1000, statementTimeoutMs: 1000 };

describe('a failover to a synchronous standby', { skip: POSTGRES_ABSENCE, timeout: 120_000 }, () => {
  let primary: PostgresCluster;
  let standby: PostgresStandby;
  let formerStores: PostgresStores;
  let newStores: PostgresStores;
  let onFormer: AdministrableStorage;

  before(async () => {
    primary = await startPostgres();
    const url = await disposableDatabase(primary);
    standby = await startStandby(primary, { synchronous: true });
    formerStores = new PostgresStores(url);
    newStores = new PostgresStores(throughPort(url, standby.place.port));
    onFormer = await formerStores.open({ issuer: ISSUER, ...DEADLINES });
    await onFormer.clients.add({ id: 'client', grantTypes: [], scopes: [], redirectUris: [] });
  });
  after(async () => {
    await formerStores.end();
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

  test('a write that its standby does not confirm is rejected in time, and is not answered as done', async () => {
    const token = newToken('client', { id: 'unconfirmed' });
    await standby.pause();
    try {
      const begun = performance.now();
      await assert.rejects(async () => onFormer.tokens.issue([token], {}), /did not answer within 1000 ms/);
      assert.ok(performance.now() - begun < 2500);
    } finally {
      await standby.resume();
    }
  });

  test('a commit whose wait for the standby is cut short is not answered as done', async () => {
    await standby.pause();
    try {
      const issuing = Promise.resolve(onFormer.tokens.issue([newToken('client', { id: 'cut-short' })], {}));
      await Promise.race([issuing.catch(() => {}), wait(300)]);
      await primary.ask("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
      await assert.rejects(
        issuing,
        /PostgreSQL warned during a write: canceling wait for synchronous replication/,
      );
    } finally {
      await standby.resume();
    }
  });

  test('a deposed primary that still answers is not believed, and nothing that was acknowledged is lost', async () => {
    const kept = newToken('client', { id: 'kept' });
    const revoked = newToken('client', { id: 'revoked' });
    const revokedLater = newToken('client', { id: 'revoked-later' });
    assert.equal(await onFormer.tokens.issue([kept, revoked, revokedLater], {}), 'issued');
    await onFormer.tokens.revoke({ ...revoked });
    assert.equal((await onFormer.tokens.getByAccessToken('revoked-later'))?.revokedAtMs, undefined);

    await standby.promote();
    const promotedAt = performance.now();
    const onNew = await newStores.open({ issuer: ISSUER, ...DEADLINES });
    assert.equal((await onNew.tokens.getByAccessToken('kept'))?.id, 'kept');
    assert.notEqual((await onNew.tokens.getByAccessToken('revoked'))?.revokedAtMs, undefined);

    // Acknowledged only when the former primary is no longer trusted by anybody.
    await onNew.tokens.revoke({ ...revokedLater });
    assert.ok(performance.now() - promotedAt >= LEASE_MS - 100);
    await assert.rejects(async () => onFormer.tokens.getByAccessToken('revoked-later'), /PostgreSQL/);
    await assert.rejects(async () => onFormer.tokens.getByAccessToken('never-issued'), /PostgreSQL/);
    await assert.rejects(
      async () => onFormer.tokens.issue([newToken('client', { id: 'lost' })], {}),
      /PostgreSQL/,
    );
    assert.notEqual((await onNew.tokens.getByAccessToken('revoked-later'))?.revokedAtMs, undefined);

    // From then on writes do not wait.
    const begun = performance.now();
    await onNew.tokens.revoke({ ...kept });
    assert.ok(performance.now() - begun < 500);
  });
});
