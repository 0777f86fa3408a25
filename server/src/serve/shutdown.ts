import { setTimeout as pause } from 'node:timers/promises';
import { isatty } from 'node:tty';
import type { Settings } from '../config/options.ts';
import type { Log } from '../log/log.ts';

const LONGEST_MS = 10_000;

/** The open connections between a server and its callers. A listening server of `node:http` is one. */
export interface Connections {
  /** Accepts nothing new. @param done called when the last connection is closed */
  close(done?: () => void): void;
  closeIdleConnections(): void;
  closeAllConnections(): void;
}

/** The end of a server has two steps, so that balancers stop sending requests before connections close. */
export interface Ending {
  /** Resolves with the signal that asks the program to end. The server still accepts connections. */
  readonly asked: Promise<NodeJS.Signals>;
  /** Resolves when the server should accept nothing new and close. */
  readonly closing: Promise<void>;
}

/**
 * Listens for signals. After SIGTERM, `closing` follows `delaySeconds` later, after SIGINT immediately; a second signal
 * ends the delay. Later ones change nothing, since the rest of the end is bounded. SIGHUP ends the program only if a
 * terminal hangs up.
 */
export function listenForEnd(delaySeconds: number, log: Log): Ending {
  const asked = Promise.withResolvers<NodeJS.Signals>();
  const closing = Promise.withResolvers<void>();
  let isAsked = false;
  const end = (signal: NodeJS.Signals): void => {
    if (isAsked || signal !== 'SIGTERM') closing.resolve();
    else setTimeout(closing.resolve, delaySeconds * 1000).unref();
    isAsked = true;
    asked.resolve(signal);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, end);
  process.on('SIGHUP', (signal) => {
    // Without a terminal it is a request to reload; nothing can be reloaded yet.
    if (isatty(0)) end(signal);
    else log.warn({ event: 'hangup', reloaded: [] });
  });
  if (process.env.npm_lifecycle_event !== undefined) onceOrphaned(() => end('SIGTERM'));
  return { asked: asked.promise, closing: closing.promise };
}

/** npm starts programs through a shell that keeps SIGTERM to itself. If the shell is gone, we have to end. */
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
 * Accepts nothing new, lets requests in flight finish, and closes the rest after ten seconds.
 * @returns whether everything finished by itself
 */
export async function finish(connections: Connections, longestMs = LONGEST_MS): Promise<boolean> {
  const closed = new Promise<true>((resolve) => connections.close(() => resolve(true)));
  // A busy connection becomes idle when its answer is out, and would otherwise stay open.
  const idle = setInterval(() => connections.closeIdleConnections(), 50);
  const isFinished = await Promise.race([closed, pause(longestMs, false, { ref: false })]);
  clearInterval(idle);
  if (!isFinished) connections.closeAllConnections();
  await closed;
  return isFinished;
}

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
