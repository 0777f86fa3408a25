import type { Say } from './report/progress.ts';

/** The steps of a long run, in order. If one fails, its error is shown and the others continue. */
export class Steps {
  readonly #say: Say;
  readonly #clock: () => number;
  readonly #steps: (readonly [name: string, run: () => Promise<void>])[] = [];

  /** @param clock milliseconds */
  constructor(say: Say, clock: () => number = () => performance.now()) {
    this.#say = say;
    this.#clock = clock;
  }

  add(name: string, run: () => Promise<void>): void {
    this.#steps.push([name, run]);
  }

  /** @returns the failed steps with their errors */
  async run(): Promise<Readonly<Record<string, string>>> {
    const failed: Record<string, string> = {};
    const startedAtMs = this.#clock();
    for (const [index, [name, run]] of this.#steps.entries()) {
      const left = ((this.#clock() - startedAtMs) / index) * (this.#steps.length - index);
      this.#say(`${index + 1} of ${this.#steps.length}: ${name}${index === 0 ? '' : `, ${remaining(left)}`}`);
      try {
        await run();
      } catch (error) {
        failed[name] = error instanceof Error ? error.message : String(error);
        this.#say(`${name} failed: ${failed[name]}`);
      }
    }
    return failed;
  }
}

/** By how long the ones before took. */
function remaining(leftMs: number): string {
  const minutes = Math.ceil(leftMs / 60_000);
  return `about ${minutes} ${minutes === 1 ? 'minute' : 'minutes'} left`;
}
