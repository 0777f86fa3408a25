// Metrics of a supervisor and its workers in one scrape, and in one history. Loaded only if metrics or the console are on.
import type { Settings } from '../config/options.ts';
import type { Log } from '../log/log.ts';
import { History, type Sample } from '../monitoring/history.ts';
import { Meter, type Snapshot, WorkerSnapshots } from '../monitoring/meter.ts';
import { measureRuntime, readRuntime } from '../monitoring/runtime.ts';
import { type MetricsServer, serveMetrics } from './metrics_server.ts';

/** Milliseconds that a scrape waits for workers. Of a worker that does not answer, it has the latest values. */
const MAX_WAIT_MS = 3_000;

/** A worker, as a scrape sees it. */
export interface MeasuredWorker {
  readonly isReady: boolean;
  /** Asks for its values. Resolves when they have arrived, or when the worker has ended. */
  measure(): Promise<void>;
}

/** Collects the values of workers. The counters of those that have died stay, so that no counter goes backwards. */
export class WorkersMonitor {
  readonly #size: number;
  readonly #meter = new Meter();
  readonly #snapshots = new WorkerSnapshots();
  readonly #history = new History();
  #workers: () => readonly MeasuredWorker[] = () => [];

  /** @param size the number of workers that are wanted */
  constructor(size: number) {
    this.#size = size;
    measureRuntime(this.#meter);
  }

  /**
   * Serves the metrics.
   * @param workers returns those that run
   * @throws {Refused} the address is in use or not available on this machine
   */
  serve(settings: Settings, workers: () => readonly MeasuredWorker[], log: Log): Promise<MetricsServer> {
    this.#workers = workers;
    return serveMetrics(settings, () => this.#collect(), log);
  }

  /** The samples of the last hour, of all workers together. */
  get samples(): readonly Sample[] {
    return this.#history.samples;
  }

  /** Takes samples from now on, of the values that workers have sent of themselves. */
  takeSamples(onSample: (sample: Sample) => void): void {
    this.#history.takeEverySoOften(() => this.#snapshots.with(this.#meter.snapshot()), onSample);
  }

  received(worker: number, snapshot: Snapshot): void {
    this.#snapshots.received(worker, snapshot);
  }

  /** @param isDeath whether it ended without an order */
  ended(worker: number, isDeath: boolean): void {
    this.#snapshots.ended(worker);
    if (isDeath) this.#meter.add('grantd_worker_deaths_total', 1);
  }

  async #collect(): Promise<Snapshot> {
    const ready = this.#workers().filter(({ isReady }) => isReady);
    const { promise: overtime, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, MAX_WAIT_MS);
    await Promise.race([Promise.all(ready.map((worker) => worker.measure())), overtime]);
    clearTimeout(timer);
    readRuntime(this.#meter);
    this.#meter.set('grantd_workers', this.#size, 'wanted');
    this.#meter.set('grantd_workers', ready.length, 'ready');
    return this.#snapshots.with(this.#meter.snapshot());
  }
}
