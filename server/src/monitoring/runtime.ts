// What the process itself does: event loop, garbage collection, memory, CPU.
import { constants, PerformanceObserver, performance } from 'node:perf_hooks';
import type { Meter } from './meter.ts';

const SAMPLE_EVERY_MS = 50;

/** The collector’s own numbers of its kinds (`NodeGCPerformanceDetail`). */
const GC_TYPES: ReadonlyMap<unknown, string> = new Map([
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
]);

/** Starts to measure the process, for as long as it runs. */
export function measureRuntime(meter: Meter): void {
  let lastMs = performance.now();
  setInterval(() => {
    const nowMs = performance.now();
    meter.observe('nodejs_eventloop_delay_seconds', Math.max(0, nowMs - lastMs - SAMPLE_EVERY_MS) / 1000);
    lastMs = nowMs;
  }, SAMPLE_EVERY_MS).unref();

  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const kind: unknown = Reflect.get(Object(Reflect.get(entry, 'detail')), 'kind');
      meter.observe('v8js_gc_duration_seconds', entry.duration / 1000, GC_TYPES.get(kind) ?? 'other');
    }
  }).observe({ entryTypes: ['gc'] });
}

/** Sets what the process knows about itself now. */
export function readRuntime(meter: Meter): void {
  const { active, idle } = performance.eventLoopUtilization();
  meter.set('nodejs_eventloop_time_seconds_total', active / 1000, 'active');
  meter.set('nodejs_eventloop_time_seconds_total', idle / 1000, 'idle');
  const { user, system } = process.cpuUsage();
  meter.set('process_cpu_time_seconds_total', user / 1e6, 'user');
  meter.set('process_cpu_time_seconds_total', system / 1e6, 'system');
  meter.set('process_memory_usage_bytes', process.memoryUsage.rss());
  meter.set('v8js_memory_heap_used_bytes', process.memoryUsage().heapUsed);
  meter.set('process_uptime_seconds', process.uptime());
}
