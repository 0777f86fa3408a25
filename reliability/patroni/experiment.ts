// Runs in namespaces of its own, which `patroni.ts` makes.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Workbench } from '../../server/test/harness/program.ts';
import { checkLineages, checkPromises } from '../chaos/keeping_promises.ts';
import { Ledger } from '../chaos/ledger.ts';
import { Lineage } from '../chaos/lineage.ts';
import { refreshTokens } from '../chaos/load_tokens.ts';
import { issueAndRevoke } from '../chaos/revocation_load.ts';
import { underLoad } from '../chaos/under_load.ts';
import { runHistories } from '../histories/run_histories.ts';
import type { Tally } from '../histories/tally.ts';
import { oneOf } from '../load/choice.ts';
import { Connection } from '../load/connection.ts';
import { Application, clusterOf, createDatabase } from './application.ts';
import { Availability } from './availability.ts';
import { Database, startProxy } from './database.ts';
import { FAULTS, type Fault } from './faults.ts';
import { createBridge, eventually, Host } from './network.ts';
import type { EtcdApi } from './requirements.ts';

interface ExperimentOrder {
  readonly folder: string;
  readonly logs: string;
  readonly etcdApi: EtcdApi;
  /** The faults, in the order in which they happen. */
  readonly faults: readonly Fault[];
  readonly onRound: (round: Round, number: number) => void;
}

export interface Round {
  readonly fault: string;
  /** The longest time without a write, in seconds, of the servers that the fault does not cut off itself. */
  readonly secondsWithoutWrites: number;
  /** The nodes before and after. */
  readonly primaries: readonly [string, string];
}

export interface ExperimentReport {
  readonly tally: Tally;
  readonly acknowledgedRevocations: number;
  readonly acknowledgedIssues: number;
  readonly refreshes: number;
  readonly unanswered: number;
  readonly faults: readonly string[];
}

const REVOKERS = 3;
const LINEAGES = 4;
const CONNECTIONS_EACH = 4;
const SOCKETS = 8;
/** The two cores also run three databases, so the load is moderate. */
const REST_MS = 100;
const LANES = 4;
const GRACE_MS = 600_000;

const BEFORE_MS = 2000;
const WITHOUT_FAILOVER_MS = 12_000;
const LONGEST_FAILOVER_MS = 90_000;
const LONGEST_RECOVERY_MS = 120_000;

/** Breaks the machines under load, one after another, and looks for broken promises. */
export async function experiment(workbench: Workbench, order: ExperimentOrder): Promise<ExperimentReport> {
  const { folder, logs, faults, onRound } = order;
  createBridge();
  const database = await Database.start(order, randomBytes(16).toString('hex'));
  startProxy(join(folder, 'operator.cfg'), database.nodes, (program, args) => {
    const log = openSync(join(logs, 'operator-haproxy.log'), 'a');
    spawn(program, args, { stdio: ['ignore', log, log] });
  });
  await eventually('the proxy to lead to the primary', 60_000, () => createDatabase(database));
  const place = { database, folder, logs };
  const applications = [
    new Application(await Host.join('server1', 11), workbench, place),
    new Application(await Host.join('server2', 12), workbench, place),
  ] as const;
  await pause(2000); // Each proxy has asked each Patroni.
  for (const application of applications) await application.start();

  const cluster = clusterOf(workbench, database, applications);
  const ledger = new Ledger();
  const connections = applications.flatMap(({ address }) =>
    Array.from({ length: CONNECTIONS_EACH }, () => new Connection(address, { sockets: SOCKETS })),
  );
  const anywhere = () => oneOf(connections);
  const lineages = (await refreshTokens(cluster, LINEAGES)).map(
    (token, index) => new Lineage(`lineage ${index}`, token, ledger, GRACE_MS),
  );
  const lanes = [
    ...Array.from({ length: REVOKERS }, () => () => issueAndRevoke(ledger, anywhere)),
    ...lineages.map((lineage) => () => lineage.advance(anywhere)),
  ].map((step) => () => step().then(() => pause(REST_MS)));

  const stopping = new AbortController();
  let begun = 0;
  const histories = runHistories(cluster, {
    histories: Number.MAX_SAFE_INTEGER,
    threads: 1,
    eachScenario: true,
    lanes: LANES,
    restMs: REST_MS,
    hasClients: true,
    operatorPatienceMs: LONGEST_RECOVERY_MS,
    signal: stopping.signal,
    onProgress: (soFar) => {
      begun = soFar.histories;
    },
  });
  // It registers its user first, which a fault would prevent.
  await Promise.race([histories, eventually('the first history', 60_000, () => begun > 0)]);
  const availabilities = applications.map(({ address }) => new Availability(address));
  const checked = { revoked: 0, kept: 0 };
  const checkRound = async (name: string) => {
    const [revoked, kept] = [ledger.revoked.slice(checked.revoked), ledger.kept.slice(checked.kept)];
    checked.revoked += revoked.length;
    checked.kept += kept.length;
    await checkPromises(cluster, connections, ledger, { revoked, kept }, name);
  };

  try {
    await underLoad([...lanes, () => histories], async (signal) => {
      for (const [index, fault] of faults.entries()) {
        if (signal.aborted) return;
        onRound(await strike(fault, database, applications, availabilities), index + 1);
        await checkRound(fault.name);
      }
      stopping.abort();
    });
    await checkPromises(cluster, connections, ledger, ledger, 'at the end');
    await checkLineages(connections, ledger, lineages);
  } finally {
    stopping.abort();
    for (const item of [...connections, ...availabilities]) item.close();
  }
  return {
    tally: await histories,
    acknowledgedRevocations: ledger.revoked.length,
    acknowledgedIssues: ledger.kept.length,
    refreshes: lineages.reduce((sum, { refreshes }) => sum + refreshes, 0),
    unanswered: ledger.unanswered,
    faults: ledger.faults,
  };
}

async function strike(
  fault: Fault,
  database: Database,
  applications: readonly [Application, Application],
  availabilities: readonly Availability[],
): Promise<Round> {
  const stage = { ...(await database.untilWhole(LONGEST_RECOVERY_MS)), applications };
  const { primary } = stage;
  const cut = (fault.cuts?.(stage) ?? []).map(({ address }) => address);
  const connected = availabilities.filter(({ address }) => !cut.includes(address));
  await pause(BEFORE_MS);

  const struckAtMs = performance.now();
  await fault.strike(stage);
  if (fault.failsOver) {
    const isOver = async () => (await database.successorOf(primary)) !== undefined;
    await eventually(`a new primary, after ${fault.name}`, LONGEST_FAILOVER_MS, isOver);
  } else {
    await pause(WITHOUT_FAILOVER_MS);
  }
  await untilServed(connected, fault);
  const secondsWithoutWrites = Math.max(...connected.map((item) => item.longestGapMs(struckAtMs))) / 1000;
  // The previous primary is still there, and clients go on.
  await pause(BEFORE_MS);

  await fault.heal(stage);
  const { primary: next } = await database.untilWhole(LONGEST_RECOVERY_MS);
  await untilServed(availabilities, fault);
  return { fault: fault.name, secondsWithoutWrites, primaries: [primary.name, next.name] };
}

async function untilServed(availabilities: readonly Availability[], { name }: Fault): Promise<void> {
  const sinceMs = performance.now();
  const isServed = () => availabilities.every((availability) => availability.hasServedSince(sinceMs));
  await eventually(`service, after ${name}`, LONGEST_RECOVERY_MS, isServed);
}

/** @returns so many faults in their order, from the one with this index, and again from the first */
export function faultsOf(rounds: number, first: number): readonly Fault[] {
  return Array.from({ length: rounds }, (_, index) => FAULTS[(first + index) % FAULTS.length]).filter(
    (fault) => fault !== undefined,
  );
}
