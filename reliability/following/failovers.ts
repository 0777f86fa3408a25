import { setTimeout as pause } from 'node:timers/promises';
import type { PostgresCluster } from '../../core/test/harness/postgres_cluster.ts';
import { type PostgresStandby, startStandby } from '../../core/test/harness/postgres_standby.ts';
import type { ReplicatedCluster } from '../deployments/replicated_postgres.ts';
import type { SwitchPoint } from '../deployments/switch_point.ts';
import { oneOf } from '../load/choice.ts';
import type { Disturbance } from './run_following.ts';

const MOST_TRIES = 10;

interface Failover {
  readonly old: PostgresCluster;
  readonly standby: PostgresStandby;
  /** Servers that reach only the previous primary, for longer than its lease. */
  readonly misled: readonly SwitchPoint[];
  readonly others: readonly SwitchPoint[];
}

/** In which followers have contact, and most histories begin. */
const [SHORTEST_REST_MS, LONGEST_REST_MS] = [10_000, 30_000];
/** Longer than a lease, and than the bound of followers. */
const LONGEST_MISLED_MS = 6000;

const KINDS: Readonly<Record<string, (failover: Failover) => Promise<void>>> = {
  async 'a standby is promoted, and the previous primary answers'(failover) {
    await promote(failover);
  },
  async 'a primary is cut off, and answers late'(failover) {
    const { misled, others } = failover;
    for (const point of [...misled, ...others]) point.hold();
    await promote(failover);
    await pause(Math.random() * LONGEST_MISLED_MS);
    for (const point of misled) point.release();
  },
  async 'a primary is suspended, and continues'(failover) {
    await failover.old.pause();
    await promote(failover);
    await pause(Math.random() * LONGEST_MISLED_MS);
    await failover.old.resume();
  },
  async 'a primary is killed'(failover) {
    await failover.old.kill();
    await promote(failover);
  },
};

/** Replaces the primary again and again. */
export function failovers({ primary, standby, switchPoints }: ReplicatedCluster): Disturbance {
  return async (tally, isOver) => {
    let [old, next] = [primary, standby];
    while (!isOver()) {
      await pause(SHORTEST_REST_MS + Math.random() * (LONGEST_REST_MS - SHORTEST_REST_MS));
      const [name, happen] = oneOf(Object.entries(KINDS));
      const isMisled = switchPoints.map(() => Math.random() < 0.5);
      const misled = switchPoints.filter((_, at) => isMisled[at]);
      await happen({ old, standby: next, misled, others: switchPoints.filter((_, at) => !isMisled[at]) });
      await pause(Math.random() * LONGEST_MISLED_MS);
      for (const point of misled) point.switchTo(next.place.port);
      tally.disturb(name);
      await old.remove();
      old = next;
      next = await standbyOf(old);
    }
  };
}

/** On a busy machine, a step may take longer than it is given. */
async function standbyOf(primary: PostgresCluster): Promise<PostgresStandby> {
  for (let tries = 1; ; tries++) {
    try {
      return await startStandby(primary, { synchronous: true });
    } catch (error) {
      if (tries === MOST_TRIES) throw error;
      // Otherwise its commits wait for the standby that failed, until there are no connections left.
      if (primary.isRunning) await primary.stop('immediate');
      await primary.start();
      await primary.ask('ALTER SYSTEM RESET synchronous_standby_names');
      await primary.ask('SELECT pg_reload_conf()');
    }
  }
}

async function promote({ standby, others }: Failover): Promise<void> {
  for (let tries = 1; await isStandby(standby); tries++) {
    await standby.promote().catch((error: unknown) => {
      if (tries === MOST_TRIES) throw error;
    });
  }
  for (const point of others) point.switchTo(standby.place.port);
}

async function isStandby(cluster: PostgresCluster): Promise<boolean> {
  for (let tries = 1; ; tries++) {
    try {
      const [row] = await cluster.ask('SELECT pg_is_in_recovery() AS is_standby');
      return row?.is_standby === true;
    } catch (error) {
      if (tries === MOST_TRIES) throw error;
    }
  }
}
