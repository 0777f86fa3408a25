import type { Workbench } from '../../server/test/harness/program.ts';
import type { Deployment } from '../deployments/cluster.ts';
import { percentile } from '../load/percentiles.ts';
import { crashes } from './crashes.ts';
import { databaseOutages, type OutageReport } from './database_outages.ts';
import { diskFull } from './disk_full.ts';
import { type Fate, failover } from './failover.ts';

/** Figures and broken promises, or the reason why the part cannot run here. */
export type PartReport =
  | (Readonly<Record<string, unknown>> & { readonly faults: readonly string[] })
  | { readonly skipped: string };

interface PartOrder {
  readonly processes: number;
  readonly kills: number;
  readonly outages: number;
  readonly onProgress: (text: string) => void;
}

type Part = (workbench: Workbench, deployment: Deployment, order: PartOrder) => Promise<PartReport>;

/** The program's default. */
const GRACE_SECONDS = 10;
/** Longer than any outage. */
const LONG_GRACE_SECONDS = 600;

/** The kinds of failure. Each runs on a new cluster. */
export const CHAOS_PARTS: Readonly<Record<string, Part>> = {
  async crashes(_workbench, deployment, { processes, kills, onProgress }) {
    const cluster = await deployment.start({ processes, flags: flagsOf(GRACE_SECONDS) });
    const { recoveriesMs, ...report } = await crashes(cluster, {
      kills,
      graceMs: GRACE_SECONDS * 1000,
      onKill: (killed, faults) => onProgress(`${killed} of ${kills} kills, ${faults} faults`),
    });
    await stop(cluster.servers);
    return { ...report, recoveryMs: spread(recoveriesMs) };
  },

  async disk_full(workbench, { name }) {
    if (!name.startsWith('sqlite')) return { skipped: 'the database has its own disk' };
    const report = await diskFull(workbench);
    return typeof report === 'string' ? { skipped: report } : { ...report };
  },

  async database_outages(_workbench, deployment, { processes, outages, onProgress }) {
    const cluster = await deployment.start({
      processes,
      flags: ['--refresh-grace', `${LONG_GRACE_SECONDS}`],
    });
    const { databaseServer } = cluster;
    if (databaseServer === undefined) {
      await stop(cluster.servers);
      return { skipped: 'the database is a file of the servers' };
    }
    const { outages: seen, ...report } = await databaseOutages(cluster, databaseServer, {
      rounds: outages,
      outageMs: 5000,
      answerWithinMs: 8000,
      recoverWithinMs: 10_000,
      graceMs: LONG_GRACE_SECONDS * 1000,
      onOutage: (ended, faults) => onProgress(`${ended} of ${outages} outages, ${faults} faults`),
    });
    await stop(cluster.servers);
    const recoveries = (wanted: string) =>
      seen.filter(({ kind }) => kind === wanted).map(({ recoveryMs }) => recoveryMs);
    return {
      ...report,
      recoveryAfterKillMs: spread(recoveries('kill')),
      recoveryAfterPauseMs: spread(recoveries('pause')),
    };
  },

  failover: failovers('killed'),

  deposed_primary: failovers('deposed'),
};

function failovers(fate: Fate): Part {
  return async (workbench, { name }, { processes, outages, onProgress }) => {
    if (name !== 'postgres') return { skipped: 'the database has no standby' };
    const reports: OutageReport[] = [];
    for (let round = 1; round <= outages; round++) {
      reports.push(await failover(workbench, { fate, processes }));
      onProgress(`${round} of ${outages} failovers`);
    }
    const sum = (of: (report: OutageReport) => number) =>
      reports.reduce((total, report) => total + of(report), 0);
    return {
      failovers: reports.length,
      answers: sum(({ answers }) => answers),
      unavailable: sum(({ unavailable }) => unavailable),
      slowestMs: Math.max(...reports.map(({ slowestMs }) => slowestMs)),
      acknowledgedRevocations: sum(({ acknowledgedRevocations }) => acknowledgedRevocations),
      refreshes: sum(({ refreshes }) => refreshes),
      recoveryMs: spread(reports.flatMap(({ outages: seen }) => seen.map(({ recoveryMs }) => recoveryMs))),
      faults: reports.flatMap(({ faults }) => faults),
    };
  };
}

/** Tokens outlive the longest run. */
function flagsOf(graceSeconds: number): readonly string[] {
  return ['--refresh-grace', String(graceSeconds), '--access-token-lifetime', '86400'];
}

async function stop(servers: readonly { end(signal: NodeJS.Signals): Promise<void> }[]): Promise<void> {
  await Promise.all(servers.map((server) => server.end('SIGTERM')));
}

function spread(values: readonly number[]) {
  const at = (share: number) => Math.round(percentile(values, share));
  return { count: values.length, p50: at(0.5), p99: at(0.99), max: at(1) };
}
