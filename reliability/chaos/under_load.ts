/**
 * Runs an action while several loops generate load. Each loop finishes its current step when the action ends. If one
 * fails, everything ends.
 */
export async function underLoad(
  lanes: readonly (() => Promise<unknown>)[],
  act: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const stop = () => stopping.abort();
  const load = lanes.map(async (step) => {
    while (!signal.aborted) await step();
  });
  for (const lane of load) lane.catch(stop);
  await act(signal).finally(stop);
  await Promise.all(load);
}
