import { readFileSync } from 'node:fs';

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string };
  readonly children?: readonly number[];
}

/** V8's format (`--cpu-prof`). Times are in microseconds of the system's monotonic clock. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** Microseconds of the clock that profiles use. */
export function nowMicroseconds(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

export function readCpuProfile(file: string): CpuProfile {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/**
 * Microseconds that a thread spent in each part between two times, without idle time.
 * @param partOf names the part of a call from its frames, `function url` each, innermost first
 */
export function timeByPart(
  { nodes, startTime, samples, timeDeltas }: CpuProfile,
  { from, until }: { readonly from: number; readonly until: number },
  partOf: (frames: readonly string[]) => string,
): ReadonlyMap<string, number> {
  const framesOf = framesByNode(nodes);
  const partByNode = new Map(nodes.map(({ id }) => [id, partOf(framesOf(id))]));
  const times = new Map<string, number>();
  let at = startTime;
  for (const [index, id] of samples.entries()) {
    const took = timeDeltas[index + 1] ?? 0;
    at += timeDeltas[index] ?? 0;
    const [innermost = ''] = framesOf(id);
    if (at < from || at > until || innermost.startsWith('(idle)')) continue;
    const part = partByNode.get(id) ?? '';
    times.set(part, (times.get(part) ?? 0) + took);
  }
  return times;
}

function framesByNode(nodes: readonly ProfileNode[]): (id: number) => readonly string[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const callers = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  return (id) => {
    const frames: string[] = [];
    for (let at: number | undefined = id; at !== undefined; at = callers.get(at)) {
      const frame = byId.get(at)?.callFrame;
      if (frame !== undefined) frames.push(`${frame.functionName} ${frame.url}`);
    }
    return frames;
  };
}
