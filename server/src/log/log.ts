import { type Logger, pino } from 'pino';
import type { Settings } from '../config/options.ts';
import { LogOutput } from './log_output.ts';

export type Log = Logger;

/** Who writes a log, where it is not a process that serves alone. */
export interface LogWriter {
  /** Number of the worker, for every line. */
  readonly worker?: number;
  /** Whether other processes write to the same standard output. */
  readonly isShared?: boolean;
}

/** The log on standard output: JSON lines for machines, or a readable form for people. */
export async function openLog(
  form: Settings['log'],
  { worker, isShared = false }: LogWriter = {},
): Promise<Log> {
  const options = {
    base: worker === undefined ? null : { worker },
    enabled: form !== 'off',
    timestamp: timeOfLines(),
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const output = new LogOutput(isShared);
  if (form !== 'pretty') return pino(options, output);
  const { readableLines } = await import('./readable_lines.ts');
  return pino(options, readableLines(output));
}

/** The time as a member of a line. Many lines are of one millisecond; to write it out takes longer than the rest. */
function timeOfLines(): () => string {
  let writtenMs = 0;
  let written = '';
  return () => {
    const nowMs = Date.now();
    if (nowMs !== writtenMs) {
      writtenMs = nowMs;
      written = `,"time":"${new Date(nowMs).toISOString()}"`;
    }
    return written;
  };
}
