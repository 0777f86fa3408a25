import { Writable } from 'node:stream';
import pretty from 'pino-pretty';
import type { LogOutput } from './log_output.ts';

/** Takes JSON lines, and writes them in a form for people. */
export function readableLines(output: LogOutput): { write(line: string): unknown } {
  return pretty({
    destination: new Writable({
      write(text, _encoding, done) {
        output.write(String(text));
        done();
      },
    }),
    colorize: process.stdout.isTTY,
    hideObject: true,
    translateTime: 'SYS:HH:MM:ss.l',
    messageFormat: (line) => readable(line),
  });
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
