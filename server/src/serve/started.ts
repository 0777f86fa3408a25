import type { Settings } from '../config/options.ts';
import type { Log } from '../log/log.ts';

/** What is known once requests are answered. */
export interface Started {
  readonly issuer: string;
  /** The name of the database. */
  readonly database: string;
  /** Commands to try, where demo data was asked for. */
  readonly demo?: string;
}

/** Says it once, however many processes serve. */
export function announce(
  log: Log,
  { host, workers }: Settings,
  port: number,
  { issuer, database, demo }: Started,
): void {
  const isShared = workers > 1;
  log.info({ event: 'listening', issuer, host, port, database, ...(isShared && { workers }) });
  const by = isShared ? ` with ${workers} workers` : '';
  console.error(`grantd serves ${issuer}${by} (listening on ${host}, port ${port})`);
  if (demo !== undefined) console.error(demo);
}
