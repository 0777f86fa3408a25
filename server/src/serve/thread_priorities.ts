import { readdirSync, readFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/** The niceness of V8's threads, from 0, the default, to 19. The serving thread then gets nine tenths of a busy core. */
const NICENESS = 10;

/** As Node 24 and later name these threads. Earlier versions give all threads the same name. */
const NAME_OF_V8_THREADS = /V8Worker$/;

/**
 * Lowers the priority of the threads that collect garbage and compile code for this process. On a single core, they would
 * otherwise get as much time as the thread that serves requests, each of them, and requests would wait for up to 0.1
 * seconds. Only Linux has priorities for threads (ADR 114).
 */
export function lowerV8Threads(): void {
  if (process.platform !== 'linux') return;
  try {
    const threads = '/proc/self/task';
    for (const id of readdirSync(threads))
      if (NAME_OF_V8_THREADS.test(readFileSync(`${threads}/${id}/comm`, 'utf8').trim()))
        setPriority(Number(id), NICENESS);
  } catch {
    // Without access to the threads, the process serves with equal priorities.
  }
}
