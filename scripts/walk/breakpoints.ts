// A worker that stops the main thread at the first call of each function, and notes who called it. A thread cannot stop
// itself, so this runs in another one.
import { type Debugger, Session } from 'node:inspector/promises';
import { parentPort, workerData } from 'node:worker_threads';

/** The first call of a function. */
export interface FirstCall {
  readonly scriptId: string;
  readonly name: string;
  /** Counted from 1. */
  readonly line: number;
  /** Scripts that are on the stack, the caller's first. */
  readonly stack: readonly string[];
}

/** Where functions begin, as V8 counts: from 0. */
export interface Breakpoints {
  readonly starts: readonly Debugger.Location[];
}

const { starts } = workerData as Breakpoints;
const calls: FirstCall[] = [];
const session = new Session();
session.connectToMainThread();

session.on('Debugger.paused', ({ params: { callFrames, hitBreakpoints = [] } }) => {
  const [called, ...callers] = callFrames;
  if (called?.functionLocation !== undefined)
    calls.push({
      scriptId: called.functionLocation.scriptId,
      name: called.functionName,
      line: called.functionLocation.lineNumber + 1,
      stack: callers.map(({ location }) => location.scriptId),
    });
  for (const breakpointId of hitBreakpoints) void session.post('Debugger.removeBreakpoint', { breakpointId });
  void session.post('Debugger.resume');
});

parentPort?.on('message', async () => {
  await session.post('Debugger.disable');
  parentPort?.postMessage(calls);
});

await session.post('Debugger.enable');
for (const start of starts) {
  const { locations } = await session.post('Debugger.getPossibleBreakpoints', {
    start,
    restrictToFunction: true,
  });
  const [location] = locations;
  if (location !== undefined) await session.post('Debugger.setBreakpoint', { location });
}
parentPort?.postMessage('ready');
