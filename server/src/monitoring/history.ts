// What the console draws: samples of the metrics of the last hour, in memory.
import type { Distribution, Point, Snapshot } from './meter.ts';
import { METRICS, type MetricName } from './metrics.ts';

/** Seconds between two samples. */
export const SAMPLE_SECONDS = 10;

/** An hour. */
const MAX_SAMPLES = 360;

/** The endpoints that have a series of their own. All other requests are `other`. */
export const COUNTED_OPERATIONS = ['introspection', 'token', 'userinfo', 'revocation'] as const;

/** Requests without a known client. No client has this identifier. */
export const UNNAMED = '';

/** Clients that the metrics or a sample do not name. */
export const OTHERS = 'other';

/** Clients with refusals that a sample names, at most, and as many with inactive answers. */
const MAX_CLIENTS = 50;

/** Requests of a client that was refused, or whose introspection found an inactive token. */
export interface ClientCounts {
  /** All of them, refused or not. */
  readonly requests: number;
  /** Refused ones by reason code. */
  readonly refusals: Readonly<Record<string, number>>;
  /** Introspections that were answered inactive, by reason code. Absent if there were none. */
  readonly inactive?: Readonly<Record<string, number>>;
}

/** What happened between two looks at the metrics. Plain data, because the supervisor sends it to its workers. */
export interface Sample {
  /** The end of the time. */
  readonly atMs: number;
  readonly seconds: number;
  /** Requests by operation. */
  readonly requests: Readonly<Record<string, number>>;
  /** Refused requests by reason code, with faults as `fault`. */
  readonly refusals: Readonly<Record<string, number>>;
  /** The clients with the most refusals or inactive answers, `UNNAMED` for requests without a known client, and `OTHERS` for all others. */
  readonly clients: Readonly<Record<string, ClientCounts>>;
  /** Requests per bucket of `http_server_request_duration_seconds`. */
  readonly latencies: readonly number[];
  /** Operations per bucket of `db_client_operation_duration_seconds`. */
  readonly storage: readonly number[];
  readonly storageFaults: number;
  readonly issued: number;
  readonly revocations: number;
  readonly sweptRows: number;
  readonly failedSignIns: number;
  /** What was down at the end of the time. Absent if everything answers. */
  readonly outages?: readonly Outage[];
}

/** What the server asks, besides its database and its mail server. */
export type PeerKind = 'provider' | 'directory' | 'issuer';

/** A provider, directory or issuer that has not answered the last request. */
export interface Outage {
  readonly kind: PeerKind;
  /** As the configuration calls it; empty for the directory. */
  readonly name: string;
  /** When it failed first since its last answer. */
  readonly sinceMs: number;
  /** When it was last asked, in vain. */
  readonly lastMs: number;
}

/** The samples of the last hour, oldest first. */
export class History {
  #samples: readonly Sample[] = [];
  #outages: ReadonlyMap<string, Outage> = new Map();
  #before: { readonly atMs: number; readonly totals: Totals } | undefined;

  get samples(): readonly Sample[] {
    return this.#samples;
  }

  /** Adds samples that another process has taken. */
  add(samples: readonly Sample[]): void {
    this.#samples = [...this.#samples, ...samples].slice(-MAX_SAMPLES);
  }

  /** Takes a sample: the difference to the previous snapshot. @returns `undefined` at the first one */
  take(snapshot: Snapshot, atMs: number): Sample | undefined {
    const totals = totalsOf(snapshot);
    const before = this.#before;
    this.#before = { atMs, totals };
    if (before === undefined || atMs <= before.atMs) return undefined;
    this.#outages = outagesAfter(this.#outages, snapshot);
    const outages = [...this.#outages.values()];
    const sample = {
      ...difference(totals, before.totals),
      ...{ atMs, seconds: (atMs - before.atMs) / 1000 },
      ...(outages.length > 0 && { outages }),
    };
    this.add([sample]);
    return sample;
  }

  /** Takes a sample now and again. The timer does not keep the process alive. @param onSample receives each sample */
  takeEverySoOften(
    read: () => Snapshot,
    onSample: (sample: Sample) => void = () => {},
    clock: () => number = Date.now,
  ): void {
    this.take(read(), clock());
    setInterval(() => {
      const sample = this.take(read(), clock());
      if (sample !== undefined) onSample(sample);
    }, SAMPLE_SECONDS * 1000).unref();
  }
}

/** The outages that go on, and the new ones. One goes on until an answer, even if the worker that saw it has ended. */
function outagesAfter(before: ReadonlyMap<string, Outage>, snapshot: Snapshot): ReadonlyMap<string, Outage> {
  const answeredAtMs = new Map(
    (snapshot.grantd_peer_answered_timestamp_seconds ?? []).map(([labels, seconds]) => [
      labels.join(' '),
      Number(seconds) * 1000,
    ]),
  );
  const after = new Map(before);
  for (const [[kind = '', name = ''], seconds] of snapshot.grantd_peer_failed_timestamp_seconds ?? []) {
    const [key, lastMs] = [`${kind} ${name}`, Number(seconds) * 1000];
    const known = after.get(key);
    const isSame = known !== undefined && (answeredAtMs.get(key) ?? 0) < known.sinceMs;
    const sinceMs = isSame ? known.sinceMs : lastMs;
    after.set(key, { kind: kind as PeerKind, name, sinceMs, lastMs: Math.max(lastMs, known?.lastMs ?? 0) });
  }
  for (const [key, { lastMs }] of after) if ((answeredAtMs.get(key) ?? 0) > lastMs) after.delete(key);
  return after;
}

type Totals = Omit<Sample, 'atMs' | 'seconds' | 'clients' | 'outages'> & {
  readonly clients: ReadonlyMap<string, Required<ClientCounts>>;
};

function totalsOf(snapshot: Snapshot): Totals {
  const requests: Record<string, number> = {};
  const refusals: Record<string, number> = {};
  const clients = new Map<
    string,
    { requests: number; readonly refusals: Record<string, number>; readonly inactive: Record<string, number> }
  >();
  for (const [labels, value] of snapshot.grantd_requests_total ?? []) {
    const [operation = '', clientId = UNNAMED, , result = '', reason = ''] = labels;
    const name = COUNTED_OPERATIONS.find((item) => item === operation) ?? 'other';
    add(requests, name, value);
    const client = clients.get(clientId) ?? { requests: 0, refusals: {}, inactive: {} };
    clients.set(clientId, client);
    client.requests += countOf(value);
    if (result === 'fault') add(refusals, 'fault', value);
    else if (result === 'refused' && reason !== '') {
      add(refusals, reason, value);
      add(client.refusals, reason, value);
    } else if (result === 'inactive') add(client.inactive, reason, value);
  }
  const storage = snapshot.db_client_operation_duration_seconds ?? [];
  return {
    ...{ requests, refusals, clients },
    latencies: bucketsOf('http_server_request_duration_seconds', snapshot),
    storage: bucketsOf('db_client_operation_duration_seconds', snapshot),
    storageFaults: sumOf(storage.filter(([[, , error]]) => error !== '')),
    issued: sumOf(snapshot.grantd_tokens_issued_total),
    revocations: sumOf(snapshot.grantd_revocations_total),
    sweptRows: sumOf(snapshot.grantd_swept_rows_total),
    failedSignIns: sumOf(snapshot.grantd_sign_ins_total?.filter(([[result]]) => result !== 'signed_in')),
  };
}

function add(counts: Record<string, number>, name: string, value: Point[1]): void {
  counts[name] = (counts[name] ?? 0) + countOf(value);
}

function countOf(value: Point[1]): number {
  return typeof value === 'number' ? value : value.counts.reduce((sum, count) => sum + count, 0);
}

function sumOf(points: readonly Point[] = []): number {
  return points.reduce((sum, [, value]) => sum + countOf(value), 0);
}

function bucketsOf(name: MetricName, snapshot: Snapshot): readonly number[] {
  const sums = new Array<number>(METRICS[name].bounds.length + 1).fill(0);
  for (const [, value] of snapshot[name] ?? [])
    for (const [at, count] of (value as Distribution).counts.entries()) sums[at] = (sums[at] ?? 0) + count;
  return sums;
}

/** Counters only grow, except that a killed worker takes its last counts with it. */
function since(now: number, before = 0): number {
  return Math.max(0, now - before);
}

function difference(now: Totals, before: Totals): Omit<Sample, 'atMs' | 'seconds' | 'outages'> {
  return {
    requests: countsSince(now.requests, before.requests),
    refusals: countsSince(now.refusals, before.refusals),
    clients: clientsSince(now.clients, before.clients),
    latencies: now.latencies.map((count, at) => since(count, before.latencies[at])),
    storage: now.storage.map((count, at) => since(count, before.storage[at])),
    storageFaults: since(now.storageFaults, before.storageFaults),
    issued: since(now.issued, before.issued),
    revocations: since(now.revocations, before.revocations),
    sweptRows: since(now.sweptRows, before.sweptRows),
    failedSignIns: since(now.failedSignIns, before.failedSignIns),
  };
}

function countsSince(now: Totals['requests'], before: Totals['requests']): Totals['requests'] {
  const counts = Object.entries(now).map(([name, count]) => [name, since(count, before[name])] as const);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

/** The clients with refusals or inactive answers since then. Each kind has its places, so that neither displaces the other. */
function clientsSince(now: Totals['clients'], before: Totals['clients']): Sample['clients'] {
  const found: (readonly [id: string, Required<ClientCounts>])[] = [];
  for (const [id, { requests, refusals, inactive }] of now) {
    const earlier = before.get(id);
    const recent = {
      refusals: countsSince(refusals, earlier?.refusals ?? {}),
      inactive: countsSince(inactive, earlier?.inactive ?? {}),
    };
    if (total(recent.refusals) + total(recent.inactive) > 0)
      found.push([id, { requests: since(requests, earlier?.requests), ...recent }]);
  }
  const first = (kind: 'refusals' | 'inactive') =>
    found
      .filter(([, counts]) => total(counts[kind]) > 0)
      .toSorted(([, some], [, others]) => total(others[kind]) - total(some[kind]))
      .slice(0, MAX_CLIENTS);
  const named = new Map([...first('refusals'), ...first('inactive')]);
  const others = { requests: 0, refusals: {}, inactive: {}, ...named.get(OTHERS) };
  for (const [id, client] of found) {
    if (named.has(id)) continue;
    others.requests += client.requests;
    others.refusals = sumsOf(others.refusals, client.refusals);
    others.inactive = sumsOf(others.inactive, client.inactive);
  }
  if (others.requests > 0) named.set(OTHERS, others);
  return Object.fromEntries(
    [...named].map(([id, { requests, refusals, inactive }]) => [
      id,
      { requests, refusals, ...(Object.keys(inactive).length > 0 && { inactive }) },
    ]),
  );
}

function sumsOf(some: ClientCounts['refusals'], more: ClientCounts['refusals']): ClientCounts['refusals'] {
  const sums = { ...some };
  for (const [reason, count] of Object.entries(more)) add(sums, reason, count);
  return sums;
}

function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/**
 * A quantile of a histogram, in seconds: within a bucket, values count as evenly spread.
 * @param counts values per bucket of a metric
 * @returns `undefined` if there are no values
 */
export function quantile(
  name: 'http_server_request_duration_seconds' | 'db_client_operation_duration_seconds',
  counts: readonly number[],
  share: number,
): number | undefined {
  const { bounds }: { readonly bounds: readonly number[] } = METRICS[name];
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  let rest = share * total;
  for (const [at, count] of counts.entries()) {
    if (rest > count) {
      rest -= count;
      continue;
    }
    const from = bounds[at - 1] ?? 0;
    // Values beyond the last bound are only known to be larger.
    const to = bounds[at] ?? from;
    return from + (count === 0 ? 0 : (to - from) * (rest / count));
  }
  return bounds.at(-1);
}
