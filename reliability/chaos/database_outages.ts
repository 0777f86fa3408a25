import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster } from '../deployments/cluster.ts';
import type { DatabaseControl } from '../deployments/database_control.ts';
import { oneOf } from '../load/choice.ts';
import { type Answer, Connection } from '../load/connection.ts';
import { requestTokens } from '../load/protocol.ts';
import { CLIENTS } from '../load/registrations.ts';
import { checkLineages, checkPromises } from './keeping_promises.ts';
import { Ledger } from './ledger.ts';
import { Lineage } from './lineage.ts';
import { refreshTokens } from './load_tokens.ts';
import { shortLife } from './short_life.ts';
import { underLoad } from './under_load.ts';

interface OutageOrder {
  readonly rounds: number;
  /** Duration of an outage, in milliseconds. */
  readonly outageMs: number;
  /** Milliseconds within which every request must get a response, at least a 503. */
  readonly answerWithinMs: number;
  /** Milliseconds after the outage within which every request must succeed again. */
  readonly recoverWithinMs: number;
  /** The cluster's `--refresh-grace`, in milliseconds. Longer than an outage. */
  readonly graceMs: number;
  /** How long each client waits between its requests, in milliseconds. Default: not at all. */
  readonly restMs?: number;
  readonly onOutage?: (outages: number, faults: number) => void;
}

export interface OutageReport {
  readonly outages: readonly { readonly kind: 'kill' | 'pause'; readonly recoveryMs: number }[];
  readonly answers: number;
  /** Responses with 503 and Retry-After. */
  readonly unavailable: number;
  /** The slowest response, in milliseconds. */
  readonly slowestMs: number;
  readonly acknowledgedRevocations: number;
  readonly refreshes: number;
  readonly faults: readonly string[];
}

const LIVES = 8;
const LINEAGES = 4;
const CONNECTIONS_EACH = 8;
/** Enough sockets that no request waits for one. */
const SOCKETS = 8;
const LOAD_MS = 1000;
const PAUSE_MS = 20;

/**
 * Kills or stops (SIGSTOP) the database under load, alternately, and brings it back. No server is restarted: each must
 * respond with 503 in time, never with a wrong result, and recover by itself.
 */
export async function databaseOutages(
  cluster: Cluster,
  control: DatabaseControl,
  order: OutageOrder,
): Promise<OutageReport> {
  const { rounds, outageMs, answerWithinMs, recoverWithinMs, graceMs, restMs = 0, onOutage } = order;
  const ledger = new Ledger();
  const seen = { answers: 0, unavailable: 0, slowestMs: 0, lost: 0 };
  const onAnswer = (answer: Answer | 'lost', durationMs: number) => {
    seen.answers += 1;
    seen.slowestMs = Math.max(seen.slowestMs, durationMs);
    if (answer === 'lost') seen.lost += 1;
    else if (answer.status === 503) seen.unavailable += 1;
  };
  const connections = cluster.servers.flatMap(({ address }) =>
    Array.from({ length: CONNECTIONS_EACH }, () => new Connection(address, { onAnswer, sockets: SOCKETS })),
  );
  const anywhere = () => oneOf(connections);
  const pids = () => cluster.servers.map((server) => server.running().pid).join(' ');
  const pidsAtFirst = pids();
  const lineages = (await refreshTokens(cluster, LINEAGES)).map(
    (token, index) => new Lineage(`lineage ${index}`, token, ledger, graceMs),
  );

  const steps = [
    ...Array.from({ length: LIVES }, () => () => shortLife(ledger, anywhere)),
    ...lineages.map((lineage) => () => lineage.advance(anywhere)),
  ];
  const lanes = restMs === 0 ? steps : steps.map((step) => () => step().then(() => pause(restMs)));
  const outages: { kind: 'kill' | 'pause'; recoveryMs: number }[] = [];
  const takeAway = async (round: number): Promise<void> => {
    await pause(LOAD_MS);
    const kind = round % 2 === 0 ? 'kill' : 'pause';
    const before = seen.unavailable;
    await (kind === 'kill' ? control.kill() : control.pause());
    await pause(outageMs);
    if (seen.unavailable === before)
      ledger.fault(`${kind} ${round}: nobody was told that the database is away`);
    await (kind === 'kill' ? control.start() : control.resume());
    const recoveryMs = await recovery(connections, recoverWithinMs);
    if (recoveryMs > recoverWithinMs)
      ledger.fault(`${kind} ${round}: no service after ${Math.round(recoveryMs)} ms`);
    outages.push({ kind, recoveryMs });
    onOutage?.(outages.length, ledger.faults.length);
  };

  try {
    await underLoad(lanes, async (signal) => {
      for (let round = 0; round < rounds && !signal.aborted; round++) await takeAway(round);
    });
    await checkPromises(cluster, connections, ledger, ledger, 'at the end');
    await checkLineages(connections, ledger, lineages);
  } finally {
    for (const connection of connections) connection.close();
  }
  if (seen.lost > 0) ledger.fault(`${seen.lost} requests were not answered at all`);
  if (seen.slowestMs > answerWithinMs) ledger.fault(`an answer took ${Math.round(seen.slowestMs)} ms`);
  if (pids() !== pidsAtFirst) ledger.fault('a server was started again');
  return {
    outages,
    answers: seen.answers,
    unavailable: seen.unavailable,
    slowestMs: seen.slowestMs,
    acknowledgedRevocations: ledger.revoked.length,
    refreshes: lineages.reduce((sum, { refreshes }) => sum + refreshes, 0),
    faults: ledger.faults,
  };
}

/** @returns milliseconds until every connection got a token, or somewhat more than the limit */
async function recovery(connections: readonly Connection[], limitMs: number): Promise<number> {
  const backAtMs = performance.now();
  const sinceMs = () => performance.now() - backAtMs;
  const served = connections.map(async (connection) => {
    while (sinceMs() <= limitMs) {
      const outcome = await requestTokens(
        connection,
        { grant_type: 'client_credentials' },
        CLIENTS.opaque.id,
      );
      if (typeof outcome !== 'string') return;
      await pause(PAUSE_MS);
    }
  });
  await Promise.all(served);
  return sinceMs();
}
