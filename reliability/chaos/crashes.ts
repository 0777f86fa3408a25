import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster } from '../deployments/cluster.ts';
import type { ServerProcess } from '../deployments/server_process.ts';
import { oneOf } from '../load/choice.ts';
import { Connection } from '../load/connection.ts';
import { conclusiveLook, countUnlike, Ledger } from './ledger.ts';
import { Lineage } from './lineage.ts';
import { refreshTokens } from './load_tokens.ts';
import { issueAndRevoke } from './revocation_load.ts';

export interface CrashOrder {
  readonly kills: number;
  /** Milliseconds in which a retry of a refresh is promised to be good: the cluster's `--refresh-grace`. */
  readonly graceMs: number;
  readonly onKill?: (kills: number, faults: number) => void;
}

export interface CrashReport {
  readonly kills: number;
  /** Milliseconds from the start of a killed server to its first answer, each. */
  readonly recoveriesMs: readonly number[];
  readonly acknowledgedRevocations: number;
  readonly acknowledgedIssues: number;
  readonly refreshes: number;
  /** Refreshes that were sent again since their answer was lost. */
  readonly retries: number;
  /** Retries that came after the grace, since no server was there in time. */
  readonly overdue: number;
  readonly unanswered: number;
  /** What was broken; must be empty. */
  readonly faults: readonly string[];
}

const REVOKERS = 6;
const LINEAGES = 12;
const CONNECTIONS_EACH = 4;
const LONGEST_LOAD_MS = 250;

const TWO_LIVES = `
  SELECT family_id FROM tokens
  WHERE kind = 'refresh_token' AND superseded_at_ms IS NULL AND revoked_at_ms IS NULL AND family_id IS NOT NULL
  GROUP BY family_id HAVING count(*) > 1`;

/** Kills servers with SIGKILL while clients revoke and refresh, starts them again, and looks for broken promises. */
export async function crashes(cluster: Cluster, order: CrashOrder): Promise<CrashReport> {
  const { kills, graceMs, onKill } = order;
  const ledger = new Ledger();
  const connections = cluster.servers.flatMap(({ address }) =>
    Array.from({ length: CONNECTIONS_EACH }, () => new Connection(address)),
  );
  const anywhere = () => oneOf(connections);
  const lineages = (await refreshTokens(cluster, LINEAGES)).map(
    (token, index) => new Lineage(`lineage ${index}`, token, ledger, graceMs),
  );

  const stopping = new AbortController();
  const load = [
    ...Array.from({ length: REVOKERS }, async () => {
      while (!stopping.signal.aborted) await issueAndRevoke(ledger, anywhere);
    }),
    ...lineages.map(async (lineage) => {
      while (!stopping.signal.aborted && !lineage.isLockedOut) await lineage.advance(anywhere);
    }),
  ];

  const recoveriesMs: number[] = [];
  const checked = { revoked: 0, kept: 0 };
  const chaos = async () => {
    for (let kill = 1; kill <= kills && !stopping.signal.aborted; kill++) {
      await pause(Math.random() * LONGEST_LOAD_MS);
      const victim = oneOf(cluster.servers);
      await victim.end('SIGKILL');
      const [revoked, kept] = [ledger.revoked.length, ledger.kept.length];
      recoveriesMs.push(await recovery(victim));
      await check(
        ledger.revoked.slice(checked.revoked, revoked),
        ledger.kept.slice(checked.kept, kept),
        `kill ${kill}`,
      );
      Object.assign(checked, { revoked, kept });
      onKill?.(kill, ledger.faults.length);
    }
  };

  /** What clients were told holds on every server. */
  async function check(revoked: readonly string[], kept: readonly string[], when: string): Promise<void> {
    for (const { address } of cluster.servers) {
      const there = connections.filter((connection) => connection.address === address);
      const forgotten = await countUnlike(there, revoked, 'inactive');
      if (forgotten > 0) ledger.fault(`${when}: ${forgotten} acknowledged revocations are not in force`);
      const lost = await countUnlike(there, kept, 'active');
      if (lost > 0) ledger.fault(`${when}: ${lost} acknowledged tokens are not known`);
    }
    const integrityFault = await cluster.integrityFault();
    if (integrityFault !== undefined) ledger.fault(`${when}: the database says ${integrityFault}`);
    const forked = (await cluster.rows(TWO_LIVES)).length;
    if (forked > 0) ledger.fault(`${when}: ${forked} refresh tokens have two live lineages`);
  }

  try {
    const stop = () => stopping.abort();
    for (const task of load) task.catch(stop);
    await chaos().finally(stop);
    await Promise.all(load);
    await check(ledger.revoked, ledger.kept, 'at the end');
    for (const lineage of lineages.filter(({ isLockedOut }) => !isLockedOut)) {
      if ((await conclusiveLook(anywhere(), lineage.current)) !== 'active')
        ledger.fault('an honest client ended with a dead refresh token');
      const alive = await countUnlike(connections, lineage.spent, 'inactive');
      if (alive > 0) ledger.fault(`${alive} spent refresh tokens are active`);
    }
  } finally {
    for (const connection of connections) connection.close();
  }
  return {
    kills: recoveriesMs.length,
    recoveriesMs,
    acknowledgedRevocations: ledger.revoked.length,
    acknowledgedIssues: ledger.kept.length,
    refreshes: lineages.reduce((sum, { refreshes }) => sum + refreshes, 0),
    retries: lineages.reduce((sum, { retries }) => sum + retries, 0),
    overdue: lineages.reduce((sum, { overdue }) => sum + overdue, 0),
    unanswered: ledger.unanswered,
    faults: ledger.faults,
  };
}

/** @returns milliseconds from the start to the first answer */
async function recovery(server: ServerProcess): Promise<number> {
  const startedAtMs = performance.now();
  await server.start();
  const connection = new Connection(server.address);
  await conclusiveLook(connection, 'no token of ours'.replaceAll(' ', '-'));
  connection.close();
  return performance.now() - startedAtMs;
}
