import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster } from '../deployments/cluster.ts';
import type { ServerProcess } from '../deployments/server_process.ts';
import { oneOf } from '../load/choice.ts';
import { Connection } from '../load/connection.ts';
import { checkLineages, checkPromises } from './keeping_promises.ts';
import { conclusiveLook, Ledger } from './ledger.ts';
import { Lineage } from './lineage.ts';
import { refreshTokens } from './load_tokens.ts';
import { issueAndRevoke } from './revocation_load.ts';
import { underLoad } from './under_load.ts';

interface CrashOrder {
  readonly kills: number;
  /** The cluster's `--refresh-grace`, in milliseconds. */
  readonly graceMs: number;
  /** How long each client waits between its requests, in milliseconds. Default: not at all. */
  readonly restMs?: number;
  readonly onKill?: (kills: number, faults: number) => void;
}

interface CrashReport {
  readonly kills: number;
  /** Milliseconds from each start of a killed server to its first response. */
  readonly recoveriesMs: readonly number[];
  readonly acknowledgedRevocations: number;
  readonly acknowledgedIssues: number;
  readonly refreshes: number;
  /** Refreshes that were sent again because their response was lost. */
  readonly retries: number;
  /** Clients that were locked out because no server ran within the grace period. */
  readonly overdue: number;
  readonly unanswered: number;
  /** Broken promises; must be empty. */
  readonly faults: readonly string[];
}

const REVOKERS = 6;
const LINEAGES = 12;
const CONNECTIONS_EACH = 4;
const LONGEST_LOAD_MS = 250;

/** Kills servers with SIGKILL while clients revoke and refresh, starts them again, and looks for broken promises. */
export async function crashes(cluster: Cluster, order: CrashOrder): Promise<CrashReport> {
  const { kills, graceMs, restMs = 0, onKill } = order;
  const ledger = new Ledger();
  const connections = cluster.servers.flatMap(({ address }) =>
    Array.from({ length: CONNECTIONS_EACH * cluster.connectionsToReachAll }, () => new Connection(address)),
  );
  const anywhere = () => oneOf(connections);
  const lineages = (await refreshTokens(cluster, LINEAGES)).map(
    (token, index) => new Lineage(`lineage ${index}`, token, ledger, graceMs),
  );
  const steps = [
    ...Array.from({ length: REVOKERS }, () => () => issueAndRevoke(ledger, anywhere)),
    ...lineages.map((lineage) => () => lineage.advance(anywhere)),
  ];
  const lanes = restMs === 0 ? steps : steps.map((step) => () => step().then(() => pause(restMs)));
  const recoveriesMs: number[] = [];
  const checked = { revoked: 0, kept: 0 };

  const killOne = async (kill: number): Promise<void> => {
    await pause(Math.random() * LONGEST_LOAD_MS);
    const victim = oneOf(cluster.servers);
    await victim.end('SIGKILL');
    // What is acknowledged from now on is checked after the next kill.
    const [revoked, kept] = [ledger.revoked.slice(checked.revoked), ledger.kept.slice(checked.kept)];
    checked.revoked += revoked.length;
    checked.kept += kept.length;
    recoveriesMs.push(await recovery(victim));
    await checkPromises(cluster, connections, ledger, { revoked, kept }, `kill ${kill}`);
    onKill?.(kill, ledger.faults.length);
  };
  try {
    await underLoad(lanes, async (signal) => {
      for (let kill = 1; kill <= kills && !signal.aborted; kill++) await killOne(kill);
    });
    await checkPromises(cluster, connections, ledger, ledger, 'at the end');
    await checkLineages(connections, ledger, lineages);
  } finally {
    for (const connection of connections) connection.close();
  }
  const sum = (figure: 'refreshes' | 'retries' | 'overdue') =>
    lineages.reduce((total, lineage) => total + lineage[figure], 0);
  return {
    kills: recoveriesMs.length,
    recoveriesMs,
    acknowledgedRevocations: ledger.revoked.length,
    acknowledgedIssues: ledger.kept.length,
    refreshes: sum('refreshes'),
    retries: sum('retries'),
    overdue: sum('overdue'),
    unanswered: ledger.unanswered,
    faults: ledger.faults,
  };
}

/** @returns milliseconds from the start to the first response */
async function recovery(server: ServerProcess): Promise<number> {
  const startedAtMs = performance.now();
  await server.start();
  const connection = new Connection(server.address);
  await conclusiveLook(connection, 'unknown');
  connection.close();
  return performance.now() - startedAtMs;
}
