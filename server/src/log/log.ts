import { type Logger, pino, stdTimeFunctions } from 'pino';
import type { Settings } from '../config/options.ts';

export type Log = Logger;

/** The log on standard output: JSON lines for machines, or a readable form for people. */
export async function openLog(form: Settings['log']): Promise<Log> {
  const options = {
    base: null,
    enabled: form !== 'off',
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  if (form !== 'pretty') return pino(options);
  const { default: pretty } = await import('pino-pretty');
  const { isTTY } = process.stdout;
  return pino(
    options,
    pretty({ sync: true, colorize: isTTY, singleLine: true, translateTime: 'SYS:HH:MM:ss.l' }),
  );
}
