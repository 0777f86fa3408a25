import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { disposableDatabase, sharedPostgres } from '../../core/test/harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../../core/test/harness/postgres_installation.ts';
import type { PlannedRequest } from '../load/request_file.ts';
import { BENCH_CLIENTS } from '../population/clients.ts';
import { copySqlite } from '../population/population.ts';
import { startMeasured } from '../processes/measured_process.ts';
import { peerProcess } from '../subjects/contestants.ts';
import { openSqlite } from '../subjects/databases.ts';
import {
  PEERS,
  type Peer,
  type PeerName,
  type PeerState,
  peerState,
  runPeer,
  sqliteFileOf,
} from '../subjects/peer_state.ts';
import { splitPassword } from '../subjects/postgres.ts';
import { introspecting, issuing, refreshing, revoking } from '../works/requests.ts';
import { linesOf } from '../works/stage.ts';

const folder = mkdtempSync(join(tmpdir(), 'grantd-bench-test-'));
after(() => rmSync(folder, { recursive: true }));

for (const name of Object.keys(PEERS) as PeerName[])
  if (PEERS[name].storage !== 'memory')
    test(`${name}: what was answered is still so after the process was killed`, {
      skip: PEERS[name].storage === 'PostgreSQL' && POSTGRES_ABSENCE,
    }, async () => {
      const peer = PEERS[name];
      const state = await peerState(name, { machine: 8, refresh: 2, revoked: 1 }, () => {}, folder);
      const [kept = '', ...ended] = linesOf(state.tokenFile('machine'));
      const [refreshToken = '', other = ''] = linesOf(state.tokenFile('refresh'));
      const order = await processOf(peer, state, join(folder, `${name.replaceAll('/', '_')}.db`));

      const first = await startMeasured(order);
      assert.equal(await isActive(first.address, peer, kept), true);
      const issued = await Promise.all(
        Array.from({ length: 8 }, () => granted(first.address, issuing(peer.machine))),
      );
      const answers = await Promise.all(
        revoking(ended, peer.machine).map((request) => send(first.address, request)),
      );
      assert.deepEqual(
        answers.map(({ status }) => status),
        ended.map(() => 200),
      );
      const refreshed = await granted(first.address, refresh(refreshToken));
      process.kill(first.pid, 'SIGKILL');
      await first.end();

      const second = await startMeasured(order);
      try {
        const ask = (token: string) => isActive(second.address, peer, token);
        assert.deepEqual(await Promise.all([kept, ...issued.map(accessToken)].map(ask)), Array(9).fill(true));
        assert.deepEqual(
          await Promise.all(ended.map(ask)),
          ended.map(() => false),
        );
        await granted(second.address, refresh(String(refreshed.refresh_token)));
        await granted(second.address, refresh(other));
        assert.equal((await send(second.address, refresh(refreshToken))).status, 400);
      } finally {
        await second.end();
      }
    });

test('a commit of a peer to SQLite is on disk before it returns', () => {
  const database = openSqlite(join(folder, 'settings.db'));
  assert.deepEqual({ ...database.prepare('PRAGMA synchronous').get() }, { synchronous: 2 });
  assert.deepEqual({ ...database.prepare('PRAGMA journal_mode').get() }, { journal_mode: 'wal' });
  database.close();
});

async function processOf(peer: Peer, state: PeerState, file: string) {
  if (peer.storage === 'SQLite') {
    copySqlite(sqliteFileOf(state), file);
    return peerProcess(peer, state, `sqlite:${file}`);
  }
  const { url, password } = splitPassword(await disposableDatabase(await sharedPostgres()));
  const environment = { PGPASSWORD: password };
  await runPeer(peer, ['fill', state.folder, url], environment);
  return peerProcess(peer, state, url, environment);
}

function refresh(token: string): PlannedRequest {
  const [request] = refreshing([token], BENCH_CLIENTS.web);
  assert.ok(request);
  return request;
}

async function isActive(address: string, { introspector }: Peer, token: string): Promise<boolean> {
  const [request] = introspecting([token], introspector);
  assert.ok(request);
  return Object((await send(address, request)).body).active === true;
}

async function granted(address: string, request: PlannedRequest): Promise<Readonly<Record<string, unknown>>> {
  const { status, body } = await send(address, request);
  assert.equal(status, 200, JSON.stringify(body));
  return Object(body);
}

function accessToken(answer: Readonly<Record<string, unknown>>): string {
  return String(answer.access_token);
}

async function send(address: string, { method, path, authorization = '', body = '' }: PlannedRequest) {
  const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded' };
  const response = await fetch(`${address}${path}`, { method, headers, body });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}
