import { type Logger, pino, stdTimeFunctions } from 'pino';
import type { Settings } from '../config/options.ts';
import { LogOutput } from './log_output.ts';

export type Log = Logger;

/**
 * The log on standard output: JSON lines for machines, or a readable form for people.
 * @param worker number of the worker that writes it, for every line; `undefined` in a process that is none
 */
export async function openLog(form: Settings['log'], worker?: number): Promise<Log> {
  const options = {
    base: worker === undefined ? null : { worker },
    enabled: form !== 'off',
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const output = new LogOutput();
  if (form !== 'pretty') return pino(options, output);
  const { default: pretty } = await import('pino-pretty');
  const { isTTY } = process.stdout;
  return pino(
    options,
    pretty({
      destination: output,
      colorize: isTTY,
      hideObject: true,
      translateTime: 'SYS:HH:MM:ss.l',
      messageFormat: (line) => readable(line),
    }),
  );
}

/** A request as `POST /token 200 4 ms`, an event by its name; what else is known follows as `name=value`. */
function readable({ level: _, time: __, event, ...known }: Readonly<Record<string, unknown>>): string {
  const { method, path, status, durationMs, requestId, ...rest } = known;
  const subject =
    event === 'request'
      ? `${method} ${path} ${status ?? 'aborted'} ${Math.round(Number(durationMs))} ms`
      : [event, status].filter((word) => word !== undefined).join(' ');
  const named = Object.entries({ ...rest, requestId }).filter(([, value]) => value !== undefined);
  return [subject, ...named.map(([name, value]) => `${name}=${textOf(value)}`)].join(' ');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
