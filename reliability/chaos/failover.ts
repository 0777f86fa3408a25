import type { Workbench } from '../../server/test/harness/program.ts';
import type { DatabaseControl } from '../deployments/database_control.ts';
import { type ReplicatedCluster, startReplicated } from '../deployments/replicated_postgres.ts';
import { databaseOutages, type OutageReport } from './database_outages.ts';

/** What happens to the primary when its standby takes over. */
export type Fate = 'killed' | 'deposed';

interface FailoverOrder {
  readonly fate: Fate;
  readonly processes: number;
  /** How long each client waits between its requests, in milliseconds. Default: not at all. */
  readonly restMs?: number;
}

const GRACE_SECONDS = 600;

/**
 * Promotes a synchronous standby under load. The previous primary is killed, or it is only deposed and still responds.
 * Then one server reaches only the previous primary, as behind a network partition.
 */
export async function failover(
  workbench: Workbench,
  { fate, processes, restMs = 0 }: FailoverOrder,
): Promise<OutageReport> {
  const flags = [
    ...['--refresh-grace', `${GRACE_SECONDS}`],
    ...['--database-statement-timeout-ms', '2000', '--database-connect-timeout-ms', '2000'],
  ];
  const replicated = await startReplicated(workbench, { processes, flags });
  try {
    return await databaseOutages(replicated.cluster, CONTROLS[fate](replicated), {
      rounds: 1,
      outageMs: 5000,
      answerWithinMs: 8000,
      recoverWithinMs: 10_000,
      graceMs: GRACE_SECONDS * 1000,
      restMs,
    });
  } finally {
    await Promise.all(replicated.cluster.servers.map((server) => server.end('SIGTERM')));
    await replicated.remove();
  }
}

const CONTROLS: Readonly<Record<Fate, (replicated: ReplicatedCluster) => DatabaseControl>> = {
  killed: ({ primary, standby, switchPoints }) => ({
    ...neverPaused,
    kill: () => primary.kill(),
    async start() {
      await standby.promote();
      for (const point of switchPoints) point.switchTo(standby.place.port);
    },
  }),
  deposed: ({ standby, switchPoints }) => ({
    ...neverPaused,
    async kill() {
      await standby.promote();
      for (const point of switchPoints.slice(0, -1)) point.switchTo(standby.place.port);
    },
    async start() {
      switchPoints.at(-1)?.switchTo(standby.place.port);
    },
  }),
};

const neverPaused: Pick<DatabaseControl, 'pause' | 'resume'> = {
  async pause() {
    throw new Error('a failover pauses nothing');
  },
  async resume() {
    throw new Error('a failover pauses nothing');
  },
};
