// In which order a request calls functions for the first time.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Debugger, Profiler } from 'node:inspector';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Breakpoints, FirstCall } from './breakpoints.ts';

/** The first call of a function. */
export interface Call {
  /** Path from the root of the repository. */
  readonly file: string;
  /** Empty for a function without a name. */
  readonly name: string;
  /** The caller's file; absent if the call came from Node. */
  readonly caller?: string;
}

/**
 * The first call of each function of grantd during a request, in order.
 * @param scripts what an earlier request of the same kind called
 */
export async function firstCalls(
  root: string,
  scripts: readonly Profiler.ScriptCoverage[],
  send: () => Promise<void>,
): Promise<readonly Call[]> {
  const own = scripts.filter(({ url }) => /^file:.*\/(?:core|server)\/src\//.test(url));
  const files = new Map(own.map(({ scriptId, url }) => [scriptId, relative(root, fileURLToPath(url))]));
  const worker = new Worker(join(import.meta.dirname, 'breakpoints.ts'), {
    workerData: { starts: own.flatMap(startsIn) } satisfies Breakpoints,
  });
  await once(worker, 'message');
  await send();
  const message = once(worker, 'message');
  worker.postMessage('end');
  const [found] = (await message) as [readonly FirstCall[]];
  await worker.terminate();
  return found.map(({ scriptId, name, stack }) => {
    const caller = stack.map((item) => files.get(item)).find((file) => file !== undefined);
    return { file: files.get(scriptId) ?? '', name, ...(caller !== undefined && { caller }) };
  });
}

/** Where the functions of a script begin that were called. */
function startsIn({ scriptId, url, functions }: Profiler.ScriptCoverage): readonly Debugger.Location[] {
  // Node replaces types by spaces, so positions are those of the file.
  const lines = readFileSync(fileURLToPath(url), 'utf8').split('\n');
  return functions.flatMap(({ ranges: [whole] }) => {
    if (whole === undefined || whole.count === 0 || whole.startOffset === 0) return [];
    let lineNumber = 0;
    let columnNumber = whole.startOffset;
    for (let line = lines[0]; line !== undefined && columnNumber > line.length; line = lines[lineNumber]) {
      columnNumber -= line.length + 1;
      lineNumber += 1;
    }
    return [{ scriptId, lineNumber, columnNumber }];
  });
}
