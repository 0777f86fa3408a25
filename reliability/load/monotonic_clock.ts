/**
 * Nanoseconds of CLOCK_MONOTONIC. All processes and threads of one machine read the same clock, so that times which
 * different ones recorded can be compared.
 */
export function monotonicNs(): number {
  return Number(process.hrtime.bigint());
}
