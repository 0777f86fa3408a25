import { join } from 'node:path';
import { freePort } from './free_port.ts';
import { PostgresCluster } from './postgres_cluster.ts';
import { serverFolder } from './postgres_folders.ts';
import { until } from './postgres_processes.ts';
import { runProgram } from './postgres_programs.ts';
import { ask, type PostgresServer } from './postgres_server.ts';

const REPLICATOR = 'replicator';

interface StandbyOptions {
  /** The primary acknowledges a commit only when this standby has it on disk. */
  readonly synchronous: boolean;
}

/**
 * A streaming standby that has caught up. The primary is stopped while its data are copied, so its connections end
 * once. A primary that was synchronous before continues with this standby alone.
 */
export async function startStandby(
  primary: PostgresCluster,
  { synchronous }: StandbyOptions,
): Promise<PostgresStandby> {
  const { installation, password, port } = primary.place;
  const folder = await serverFolder('standby', installation.account);
  const name = `standby_${folder.slice(-6)}`;
  await primary.ask(`DROP ROLE IF EXISTS ${REPLICATOR}`);
  await primary.ask(`CREATE ROLE ${REPLICATOR} LOGIN REPLICATION PASSWORD '${password}'`);
  await primary.ask('ALTER SYSTEM RESET synchronous_standby_names');

  await primary.stop('fast');
  await runProgram(installation, 'cp', ['-R', primary.dataFolder, folder]);
  await runProgram(installation, 'touch', [join(folder, 'data', 'standby.signal')]);
  await primary.start();

  const standby = new PostgresStandby({ folder, installation, password, port: await freePort() });
  try {
    standby.configure('postgresql.auto.conf', {
      primary_conninfo: `host=127.0.0.1 port=${port} user=${REPLICATOR} password=${password} application_name=${name}`,
    });
    await standby.start();
    if (synchronous) {
      await primary.ask(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
      await primary.ask('SELECT pg_reload_conf()');
    }
    await untilStreaming(primary, name, synchronous ? 'sync' : 'async');
  } catch (error) {
    await standby.remove();
    throw error;
  }
  return standby;
}

export class PostgresStandby extends PostgresCluster {
  /** Promotes it to a primary without synchronous standbys. The old primary must not be written to afterwards. */
  async promote(): Promise<void> {
    const [row] = await this.ask('SELECT pg_promote(true, 30) AS promoted');
    if (row?.promoted !== true) throw new Error(`the standby was not promoted:\n${this.logs()}`);
  }
}

async function untilStreaming(primary: PostgresServer, name: string, syncState: string): Promise<void> {
  await until(`${name} to stream as ${syncState}`, 30_000, async () => {
    const rows = await ask(
      primary,
      `SELECT FROM pg_stat_replication
       WHERE application_name = $1 AND state = 'streaming' AND sync_state = $2
       AND replay_lsn >= pg_current_wal_flush_lsn()`,
      [name, syncState],
    );
    return rows.length === 1;
  });
}
