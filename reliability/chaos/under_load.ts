/**
 * Does something while lanes of load repeat what they do. They end with it, each after what it is about; one that
 * fails ends everything.
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
