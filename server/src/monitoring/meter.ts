// Counts in plain memory, because OpenTelemetry’s instruments cost more than the requests that they would measure may.
import { METRIC_NAMES, METRICS, type Metric, type MetricName } from './metrics.ts';

/** A histogram: the sum, and the number of values in each bucket. The last bucket has no upper bound. */
export interface Distribution {
  readonly sum: number;
  readonly counts: readonly number[];
}

/** A value with its labels, in the order of the metric’s label names. */
export type Point = readonly [labels: readonly string[], value: number | Distribution];

/** The values of one process, or of several merged ones. Plain data, because workers send it to their supervisor. */
export type Snapshot = Readonly<Partial<Record<MetricName, readonly Point[]>>>;

type Label = string | number;

/** The most series per metric. Further ones are counted together, with `other` in each label. */
const MAX_SERIES = 5_000;

class Cell {
  value = 0;
  readonly counts: number[];
  readonly #bounds: readonly number[];

  constructor({ kind, bounds }: Metric) {
    this.counts = kind === 'histogram' ? new Array<number>(bounds.length + 1).fill(0) : [];
    this.#bounds = bounds;
  }

  /** Adds a value to a histogram. */
  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] ?? 0)) bucket += 1;
    this.value += value;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
  }
}

/**
 * The series of one metric. Labels are looked up one by one, which is faster than a key that is made of all of them,
 * because the engine knows the hash of each.
 */
class Series {
  readonly #metric: Metric;
  readonly #root: Map<Label, unknown> = new Map();
  /** The only cell of a metric without labels. */
  readonly #only: Cell | undefined;
  #overflow: Cell | undefined;
  #size: number;

  constructor(metric: Metric) {
    this.#metric = metric;
    this.#only = metric.labels.length === 0 ? new Cell(metric) : undefined;
    // Counters start at zero. A gauge has no value until it is set.
    this.#size = this.#only !== undefined && metric.kind !== 'gauge' ? 1 : 0;
  }

  cell(labels: readonly Label[]): Cell {
    if (this.#only !== undefined) {
      this.#size = 1;
      return this.#only;
    }
    let node: unknown = this.#root;
    for (const label of labels) {
      node = (node as Map<Label, unknown>).get(label);
      if (node === undefined) return this.#newCell(labels);
    }
    return node as Cell;
  }

  #newCell(labels: readonly Label[]): Cell {
    if (this.#size >= MAX_SERIES) {
      this.#overflow ??= new Cell(this.#metric);
      return this.#overflow;
    }
    this.#size += 1;
    const cell = new Cell(this.#metric);
    let node = this.#root;
    for (const label of labels.slice(0, -1)) {
      const next = (node.get(label) as Map<Label, unknown> | undefined) ?? new Map<Label, unknown>();
      node.set(label, next);
      node = next;
    }
    node.set(labels.at(-1) ?? '', cell);
    return cell;
  }

  points(): readonly Point[] {
    if (this.#only !== undefined) return this.#size === 0 ? [] : [this.#point([], this.#only)];
    const found: Point[] = [];
    const visit = (node: unknown, labels: readonly string[]): void => {
      if (node instanceof Cell) found.push(this.#point(labels, node));
      else for (const [label, next] of node as Map<Label, unknown>) visit(next, [...labels, String(label)]);
    };
    visit(this.#root, []);
    const others = this.#metric.labels.map(() => 'other');
    if (this.#overflow !== undefined) found.push(this.#point(others, this.#overflow));
    return found;
  }

  #point(labels: readonly string[], { value, counts }: Cell): Point {
    return [labels, this.#metric.kind === 'histogram' ? { sum: value, counts: [...counts] } : value];
  }
}

/** The metrics of one process (ADR 80). */
export class Meter {
  readonly #series = Object.fromEntries(
    METRIC_NAMES.map((name) => [name, new Series(METRICS[name])]),
  ) as Readonly<Record<MetricName, Series>>;

  /** Increases a counter. */
  add(name: MetricName, amount: number, ...labels: readonly Label[]): void {
    this.#series[name].cell(labels).value += amount;
  }

  /** Sets a gauge, or a counter whose total is known. */
  set(name: MetricName, value: number, ...labels: readonly Label[]): void {
    this.#series[name].cell(labels).value = value;
  }

  /** Adds a value to a histogram. */
  observe(name: MetricName, value: number, ...labels: readonly Label[]): void {
    this.#series[name].cell(labels).observe(value);
  }

  /** As `observe`, for labels that are the same each time: looks the series up only once, at the first value. */
  observer(name: MetricName, ...labels: readonly Label[]): (value: number) => void {
    let cell: Cell | undefined;
    return (value) => {
      cell ??= this.#series[name].cell(labels);
      cell.observe(value);
    };
  }

  snapshot(): Snapshot {
    return Object.fromEntries(METRIC_NAMES.map((name) => [name, this.#series[name].points()]));
  }
}

/** The values of one process, with the name of that process for the label `worker`. */
export interface ProcessSnapshot {
  readonly worker: string;
  readonly snapshot: Snapshot;
}

/** Merges the values of several processes. */
export function merged(processes: readonly ProcessSnapshot[]): Snapshot {
  return Object.fromEntries(METRIC_NAMES.map((name) => [name, mergedPoints(name, processes)]));
}

function mergedPoints(name: MetricName, processes: readonly ProcessSnapshot[]): readonly Point[] {
  const { across }: Metric = METRICS[name];
  const points = new Map<string, Point>();
  for (const { worker, snapshot } of processes) {
    for (const [own, value] of snapshot[name] ?? []) {
      const labels = across === 'each' ? [...own, worker] : own;
      const key = JSON.stringify(labels);
      const other = points.get(key)?.[1];
      points.set(key, [labels, other === undefined ? value : combine(across, other, value)]);
    }
  }
  return [...points.values()];
}

type Value = Point[1];

function combine(across: Metric['across'], a: Value, b: Value): Value {
  if (typeof a === 'number' && typeof b === 'number') {
    if (across === 'sum') return a + b;
    return across === 'min' ? Math.min(a, b) : Math.max(a, b);
  }
  if (typeof a === 'number' || typeof b === 'number') throw new TypeError('a histogram is no number');
  return {
    sum: a.sum + b.sum,
    counts: a.counts.map((count, at) => count + (b.counts[at] ?? 0)),
  };
}

/** What remains of a process that has ended: its counters and histograms, which must not go backwards. */
function remains(snapshot: Snapshot): Snapshot {
  return Object.fromEntries(Object.entries(snapshot).filter(([name]) => isCumulative(name as MetricName)));
}

function isCumulative(name: MetricName): boolean {
  const { kind }: Metric = METRICS[name];
  return kind !== 'gauge';
}

/** The latest values of every worker, and what remains of those that have died. */
export class WorkerSnapshots {
  readonly #latest = new Map<number, Snapshot>();
  #ended: Snapshot = {};

  received(worker: number, snapshot: Snapshot): void {
    this.#latest.set(worker, snapshot);
  }

  /** Keeps the counters of a process that has ended. Its successor starts at zero. */
  ended(worker: number): void {
    const last = this.#latest.get(worker);
    this.#latest.delete(worker);
    if (last !== undefined) this.#ended = remains(this.#together([{ worker: '', snapshot: last }]));
  }

  /** @param own the values of the supervisor */
  with(own: Snapshot): Snapshot {
    const workers = [...this.#latest].map(([worker, snapshot]) => ({ worker: String(worker), snapshot }));
    return this.#together([...workers, { worker: 'supervisor', snapshot: own }]);
  }

  #together(processes: readonly ProcessSnapshot[]): Snapshot {
    return merged([{ worker: '', snapshot: this.#ended }, ...processes]);
  }
}
