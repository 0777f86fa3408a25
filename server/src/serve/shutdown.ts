import { setTimeout as pause } from 'node:timers/promises';
import { isatty } from 'node:tty';
import { isLoopback } from '../config/networks.ts';
import type { Settings } from '../config/options.ts';
import type { Log } from '../log/log.ts';

const MAX_DRAIN_MS = 10_000;

/** Milliseconds between the last step before the port closes, and its closing. */
const LAST_MS = 500;

/** A server’s open connections. A listening server of `node:http` implements this. */
export interface Connections {
  /** Accepts no new connections. @param done called when the last connection has closed */
  close(done?: () => void): void;
  closeIdleConnections(): void;
  closeAllConnections(): void;
}

/** Shutdown has two steps, so that load balancers stop sending requests before connections close. */
export interface Ending {
  /** Resolves with the signal that requests the shutdown. The server still accepts connections. */
  readonly requested: Promise<NodeJS.Signals>;
  /** Resolves shortly before `closing`, unless there is no delay. */
  readonly nearlyClosing: Promise<void>;
  /** Resolves when the server should stop accepting connections. */
  readonly closing: Promise<void>;
}

/**
 * Listens for signals. After SIGTERM, `closing` resolves `delaySeconds` later; after SIGINT, at once. A second signal
 * skips the delay. Further signals change nothing, because the rest of the shutdown has a time limit. SIGHUP shuts down
 * only if a terminal hangs up; otherwise it means reload (ADR 56).
 * @param delaySeconds returns the delay, which a reload can change
 */
export function listenForEnd(delaySeconds: () => number, reload: () => void): Ending {
  const requested = Promise.withResolvers<NodeJS.Signals>();
  const nearlyClosing = Promise.withResolvers<void>();
  const closing = Promise.withResolvers<void>();
  let isRequested = false;
  let timer: NodeJS.Timeout | undefined;
  const end = (signal: NodeJS.Signals): void => {
    clearTimeout(timer);
    const delayMs = isRequested || signal !== 'SIGTERM' ? 0 : delaySeconds() * 1000;
    if (delayMs === 0) closing.resolve();
    else
      timer = setTimeout(() => {
        nearlyClosing.resolve();
        timer = setTimeout(closing.resolve, LAST_MS);
        timer.unref();
      }, delayMs - LAST_MS).unref();
    isRequested = true;
    requested.resolve(signal);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, end);
  process.on('SIGHUP', (signal) => (isatty(0) ? end(signal) : reload()));
  if (process.env.npm_lifecycle_event !== undefined) onceOrphaned(() => end('SIGTERM'));
  return { requested: requested.promise, nearlyClosing: nearlyClosing.promise, closing: closing.promise };
}

/**
 * npm starts programs through a shell that does not forward SIGTERM, so the program must exit when the shell is gone.
 */
function onceOrphaned(end: () => void): void {
  const shell = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(timer);
    end();
  }, 200);
  timer.unref();
}

/**
 * Resolves when the event loop has accepted the connections and read the requests that have arrived. If it is late, a
 * connection with an unread request seems idle, and closing the port would reset connections that were not accepted.
 */
export async function arrivals(): Promise<void> {
  // Once for connections, and once for what they bring.
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/**
 * Accepts no new connections, lets pending requests finish, and closes the rest after ten seconds.
 * @returns whether all requests finished in time
 */
export async function finish(connections: Connections, maxDrainMs = MAX_DRAIN_MS): Promise<boolean> {
  await arrivals();
  const closed = new Promise<true>((resolve) => connections.close(() => resolve(true)));
  // A busy connection becomes idle after its answer and would otherwise stay open.
  const idle = setInterval(() => arrivals().then(() => connections.closeIdleConnections()), 50);
  const isFinished = await Promise.race([closed, pause(maxDrainMs, false, { ref: false })]);
  clearInterval(idle);
  if (!isFinished) connections.closeAllConnections();
  await closed;
  return isFinished;
}

/** Facts that are known when the server answers requests. */
export interface Started {
  readonly issuer: string;
  /** The name of the database. */
  readonly database: string;
  /** For people: commands to try with demo data, or a warning of demo data that is left. */
  readonly notice?: string;
  /** The URL of the metrics, if they are on. */
  readonly metrics?: string | undefined;
}

/** Announces the start once, regardless of the number of processes. */
export function announce(
  log: Log,
  { host, port, mtlsPort, workers, profile, ...settings }: Settings,
  { issuer, database, notice, metrics }: Started,
): void {
  const isShared = workers > 1;
  log.info({
    ...{ event: 'listening', pid: process.pid, issuer, host, port, database },
    ...(mtlsPort !== undefined && { mtlsPort }),
    ...(profile !== undefined && { profile }),
    ...(isShared && { workers }),
    ...(metrics !== undefined && { metrics }),
  });
  const what = [...(profile ? [`the profile ${profile}`] : []), ...(isShared ? [`${workers} workers`] : [])];
  const by = what.length > 0 ? ` with ${what.join(' and ')}` : '';
  const ports = `port ${port}${mtlsPort === undefined ? '' : `, and port ${mtlsPort} for client certificates`}`;
  console.error(`grantd serves ${issuer}${by} (listening on ${host}, ${ports})`);
  const { protocol, hostname, port: named } = new URL(issuer);
  const expected = Number(named || 80);
  // Behind a proxy, the issuer has https or the name of another machine.
  if (protocol === 'http:' && isLoopback(hostname) && expected !== port)
    console.error(
      `its URLs have port ${expected}: use --port ${expected}, unless something forwards that port`,
    );
  if (settings.console)
    console.error(
      `the console is at ${issuer.replace(/\/$/, '')}/console: sign in as a member of the group ${settings.adminGroup}`,
    );
  if (metrics !== undefined) console.error(`metrics are at ${metrics}`);
  if (notice !== undefined) console.error(notice);
}
