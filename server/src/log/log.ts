import type { Settings } from '../config/options.ts';
import { LogOutput } from './log_output.ts';

/** What a line is made of, its level aside; with `event`, its name. */
export type LogLine = object;

export interface Log {
  /** Whether what is told is written at all. */
  readonly isOn: boolean;
  info(line: LogLine): void;
  warn(line: LogLine): void;
  error(line: LogLine): void;
  fatal(line: LogLine): void;
}

/**
 * The log on standard output: JSON lines for machines, or a readable form for people.
 * @param worker number of the worker that writes it, for every line; `undefined` in a process that is none
 */
export async function openLog(form: Settings['log'], worker?: number): Promise<Log> {
  if (form === 'off') return NO_LOG;
  const output = new LogOutput();
  if (form === 'json') return new JsonLines(output, worker);
  const { readableLines } = await import('./readable_lines.ts');
  return new JsonLines(readableLines(output), worker);
}

const NO_LOG: Log = { isOn: false, info() {}, warn() {}, error() {}, fatal() {} };

/** One JSON object a line, with its level and time. */
class JsonLines implements Log {
  readonly isOn = true;
  readonly #output: { write(line: string): unknown };
  readonly #base: { readonly worker?: number };
  #timeMs = 0;
  #time = '';

  constructor(output: { write(line: string): unknown }, worker?: number) {
    this.#output = output;
    this.#base = worker === undefined ? {} : { worker };
  }

  info(line: LogLine): void {
    this.#write('info', line);
  }

  warn(line: LogLine): void {
    this.#write('warn', line);
  }

  error(line: LogLine): void {
    this.#write('error', line);
  }

  fatal(line: LogLine): void {
    this.#write('fatal', line);
  }

  #write(level: string, line: LogLine): void {
    this.#output.write(`${JSON.stringify({ level, time: this.#now(), ...this.#base, ...line })}\n`);
  }

  /** Many lines are of the same millisecond; to write it out takes longer than the rest of a line. */
  #now(): string {
    const nowMs = Date.now();
    if (nowMs !== this.#timeMs) {
      this.#timeMs = nowMs;
      this.#time = new Date(nowMs).toISOString();
    }
    return this.#time;
  }
}
