import { setTimeout as pause } from 'node:timers/promises';

const LONGEST_MS = 10_000;

/** What is open between a server and its callers. A server of `node:http` that listens is one. */
export interface Connections {
  /** Accepts nothing new. @param done called when the last connection is closed */
  close(done?: () => void): void;
  closeIdleConnections(): void;
  closeAllConnections(): void;
}

/** Resolves with the signal that asks the program to end. Later ones change nothing: the end is bounded anyway. */
export function askedToEnd(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => resolve(signal));
    if (process.env.npm_lifecycle_event !== undefined) onceOrphaned(() => resolve('SIGTERM'));
  });
}

/** npm starts programs through a shell that keeps SIGTERM to itself: when the shell is gone, we were told to end. */
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
 * Accepts nothing new, lets what is in flight finish, and closes what has not after ten seconds.
 * @returns whether everything finished by itself
 */
export async function finish(connections: Connections, longestMs = LONGEST_MS): Promise<boolean> {
  const closed = new Promise<true>((resolve) => connections.close(() => resolve(true)));
  // A connection that was busy becomes idle once its answer is out, and would stay open for more.
  const idle = setInterval(() => connections.closeIdleConnections(), 50);
  const isFinished = await Promise.race([closed, pause(longestMs, false, { ref: false })]);
  clearInterval(idle);
  if (!isFinished) connections.closeAllConnections();
  await closed;
  return isFinished;
}
