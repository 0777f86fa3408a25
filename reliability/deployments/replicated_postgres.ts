import { type PostgresCluster, startPostgres } from '../../core/test/harness/postgres_cluster.ts';
import { type PostgresStandby, startStandby } from '../../core/test/harness/postgres_standby.ts';
import type { Workbench } from '../../server/test/harness/program.ts';
import type { Cluster, ClusterOrder } from './cluster.ts';
import { startOnPostgres } from './postgres.ts';
import { SwitchPoint } from './switch_point.ts';

/** Servers on a primary with a synchronous standby. Each reaches it through its own switch point. */
export interface ReplicatedCluster {
  readonly cluster: Cluster;
  readonly primary: PostgresCluster;
  readonly standby: PostgresStandby;
  /** One per server, in the same order. */
  readonly switchPoints: readonly SwitchPoint[];
  /** Ends the databases, after the servers have ended. */
  remove(): Promise<void>;
}

export async function startReplicated(
  workbench: Workbench,
  { processes, ...order }: ClusterOrder,
): Promise<ReplicatedCluster> {
  const primary = await startPostgres();
  const standby = await startStandby(primary, { synchronous: true });
  const opening = Array.from({ length: processes }, () => SwitchPoint.open(primary.place.port));
  const switchPoints = await Promise.all(opening);
  const ports = switchPoints.map(({ port }) => port);
  const cluster = await startOnPostgres(workbench, primary, ports, order);
  return {
    cluster,
    primary,
    standby,
    switchPoints,
    async remove() {
      for (const point of switchPoints) point.close();
      await standby.remove();
      await primary.remove();
    },
  };
}
