/**
 * Nanoseconds of CLOCK_MONOTONIC. All processes and threads of a machine read the same clock, so their times can be
 * compared.
 */
export function monotonicNs(): number {
  return Number(process.hrtime.bigint());
}
