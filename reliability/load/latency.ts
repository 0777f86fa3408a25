import type { Arrival } from './open_loop.ts';
import { percentile } from './percentiles.ts';

/** Latencies in milliseconds. */
export interface Latency {
  readonly requests: number;
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

/** A period, by `performance.now()`. */
export interface Phase {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** All arrivals that were due in one of the phases. */
export function latencyIn(phases: readonly Phase[], arrivals: readonly Arrival[]): Latency {
  const latencies = arrivals
    .filter(({ dueMs }) => phases.some(({ fromMs, untilMs }) => dueMs >= fromMs && dueMs < untilMs))
    .map(({ latencyMs }) => latencyMs);
  return {
    requests: latencies.length,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    p999: percentile(latencies, 0.999),
    max: percentile(latencies, 1),
  };
}
