import pretty from 'pino-pretty';
import type { LogOutput } from './log.ts';

/**
 * Formats JSON lines for people. Writes synchronously to the output, because an exiting process waits for no stream.
 */
export function readableLines(output: Pick<LogOutput, 'write'>): { write(line: string): void } {
  const readableLine = pretty.prettyFactory({
    colorize: process.stdout.isTTY,
    hideObject: true,
    translateTime: 'SYS:HH:MM:ss.l',
    messageFormat: (line) => withoutControls(readable(line)),
  });
  return {
    write(line) {
      output.write(readableLine(line));
    },
  };
}

/**
 * `POST /token 200 4 ms` for a request, the name for any other event, followed by the remaining members as
 * `name=value`.
 */
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

/** Escapes control characters, because a terminal obeys them and callers choose the path. */
function withoutControls(text: string): string {
  return text.replace(/\p{Cc}/gu, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
