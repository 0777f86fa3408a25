// Measures one process that serves: counts from its log lines and events, and asks its parts at a scrape.

import { type AdministrableStorage, type FetchDocument, isUnchecked, type ServerEvent } from '@grantd/core';
import type { Provider } from '../config/providers.ts';
import type { ClockWatch } from '../data/clock_watch.ts';
import type { Database, OpenDatabase } from '../data/database.ts';
import { type Log, logThrough } from '../log/log.ts';
import type { PeerKind } from './history.ts';
import { measuredDatabase } from './measured_storage.ts';
import { Meter, merged, type Snapshot } from './meter.ts';
import type { MetricName } from './metrics.ts';
import { measureRuntime, readRuntime } from './runtime.ts';

/** What a running server is asked at a scrape. */
export interface Watched {
  readonly storage: Pick<AdministrableStorage, 'statistics' | 'keys'> &
    Partial<Pick<AdministrableStorage, 'clients'>>;
  readonly connections?: OpenDatabase['connections'];
  /** Whether the server can answer requests and write. */
  isReady(): Promise<boolean>;
  readonly clock: Pick<ClockWatch, 'skewSeconds'>;
  readonly feed: { readonly streams: ReadonlyMap<string, { readonly length: number }> };
  /** When the certificate expires. Present if the server speaks TLS. */
  readonly tls?: { expiry(): Date } | undefined;
}

/** A line of the program’s log. */
interface Line {
  readonly event?: string;
  readonly operation?: string;
  readonly method?: string;
  readonly status?: number;
  readonly durationMs?: number;
  readonly clientId?: string;
  readonly reason?: string;
}

/** Anyone can send a request with any method. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

const MAX_CLIENTS = 100;

/** Clients that are remembered as not named, so that few requests look one up. */
const MAX_UNNAMED = 1000;

export class Monitor {
  readonly meter = new Meter();
  readonly #maxClients: number;
  readonly #clients = new Set<string>();
  readonly #unnamed = new Set<string>();
  /** Streams of each client, also of those that have left. */
  readonly #followers = new Map<string, number>();
  #watched: Watched | undefined;
  /** Counts of stores that a reload has replaced, by metric and labels. */
  readonly #replaced = new Map<string, number>();

  readonly #clock: () => number;

  /**
   * @param maxClients that metrics name. Strangers who register clients use up only the first half of the names: the
   * others are for clients that have not registered themselves.
   */
  constructor(maxClients = MAX_CLIENTS, clock: () => number = Date.now) {
    this.#maxClients = maxClients;
    this.#clock = clock;
    measureRuntime(this.meter);
  }

  /** A log that is on for requests, counts every line and writes what the given log writes. */
  log(log: Log): Log {
    return logThrough((level, line) => {
      this.#count(line, level);
      log[level](line);
    });
  }

  /** The library’s events, on their way to the log, which leaves some of them out. */
  events(next: (event: ServerEvent) => void): (event: ServerEvent) => void {
    return (event) => {
      if (event.type === 'answered' && event.issued !== undefined) this.#countTokens(event.issued);
      next(event);
    };
  }

  /** The same database, which reports how long its operations take. */
  database(database: Database): Database {
    const system = database.file === undefined ? 'postgresql' : 'sqlite';
    const measuring = (operation: string) => {
      const observer = (error: string) =>
        this.meter.observer('db_client_operation_duration_seconds', system, operation, error);
      const [succeeded, failed] = [observer(''), observer('fault')];
      return (seconds: number, isFault: boolean) => (isFault ? failed : succeeded)(seconds);
    };
    return {
      ...database,
      open: async (...args) => measuredDatabase(await database.open(...args), measuring),
    };
  }

  /** Notes whether a provider has answered. */
  readonly provider = ({ names }: Pick<Provider, 'names'>, isAnswered: boolean): void =>
    this.#noteAnswer('provider', names.name ?? '', isAnswered);

  /** Notes whether the directory has answered. */
  readonly directory = (isAnswered: boolean): void => this.#noteAnswer('directory', '', isAnswered);

  /** What fetches the keys of a trusted issuer, of which the monitor then knows whether it answers. */
  readonly issuer = (name: string, fetchDocument: FetchDocument): FetchDocument => {
    const noting: FetchDocument = async (...request) => {
      try {
        const document = await fetchDocument(...request);
        this.#noteAnswer('issuer', name, document.status < 500);
        return document;
      } catch (error) {
        this.#noteAnswer('issuer', name, false);
        throw error;
      }
    };
    return Object.assign(noting, { refusalOf: fetchDocument.refusalOf });
  };

  #noteAnswer(kind: PeerKind, name: string, isAnswered: boolean): void {
    const metric = isAnswered
      ? 'grantd_peer_answered_timestamp_seconds'
      : 'grantd_peer_failed_timestamp_seconds';
    this.meter.set(metric, this.#clock() / 1000, kind, name);
  }

  /** Counts a sweep that did not fail. */
  readonly swept = ({ rows, durationMs }: { readonly rows: number; readonly durationMs: number }): void => {
    this.meter.add('grantd_sweeps_total', 1, 'done');
    this.meter.add('grantd_swept_rows_total', rows);
    this.meter.observe('grantd_sweep_duration_seconds', durationMs / 1000);
    this.meter.set('grantd_sweep_last_success_timestamp_seconds', Math.floor(this.#clock() / 1000));
  };

  /**
   * From now on, a scrape also asks these parts. After a reload, they replace others, whose counts stay: a counter must
   * not go backwards.
   */
  watch(watched: Watched): void {
    for (const [metric, count, ...labels] of this.#storageCounts()) {
      const key = JSON.stringify([metric, ...labels]);
      this.#replaced.set(key, count);
    }
    this.#watched = watched;
  }

  /** The values of this process, without asking the database. */
  counts(): Snapshot {
    readRuntime(this.meter);
    for (const [metric, count, ...labels] of this.#storageCounts()) this.meter.set(metric, count, ...labels);
    const statistics = this.#watched?.storage.statistics?.();
    for (const [cache, { size }] of Object.entries(statistics?.caches ?? {}))
      this.meter.set('grantd_cache_entries', size, cache);
    const { writes } = statistics ?? {};
    if (writes !== undefined) this.meter.set('grantd_storage_waiting_writes', writes.waiting);
    for (const name of this.#followers.keys()) this.#followers.set(name, 0);
    for (const [clientId, { length }] of this.#watched?.feed.streams ?? []) {
      const name = this.#nameOf(clientId);
      this.#followers.set(name, (this.#followers.get(name) ?? 0) + length);
    }
    for (const [name, streams] of this.#followers) this.meter.set('grantd_followers', streams, name);
    const connections = this.#watched?.connections?.();
    if (connections !== undefined) {
      this.meter.set('db_client_connection_count', connections.idle, 'idle');
      this.meter.set('db_client_connection_count', connections.used, 'used');
      this.meter.set('db_client_connection_pending_requests', connections.pending);
    }
    return this.meter.snapshot();
  }

  /** The values of this process at a scrape. If the database does not answer, the values that need it are old. */
  async snapshot(): Promise<Snapshot> {
    const { tls, storage, clock, isReady } = this.#watched ?? {};
    if (tls !== undefined) {
      const remainingMs = tls.expiry().getTime() - this.#clock();
      this.meter.set('grantd_tls_certificate_remaining_seconds', remainingMs / 1000);
    }
    this.meter.set('grantd_clock_skew_seconds', Math.abs(clock?.skewSeconds ?? 0));
    this.meter.set('grantd_ready', (await isReady?.()) === true ? 1 : 0);
    const keys = await Promise.resolve(storage?.keys.list()).catch(() => undefined);
    for (const { algorithm, status, createdAtMs } of keys ?? []) {
      const ageSeconds = (this.#clock() - createdAtMs) / 1000;
      if (status === 'current') this.meter.set('grantd_signing_key_age_seconds', ageSeconds, algorithm);
    }
    return this.counts();
  }

  /** The values at a scrape, if no other process serves. */
  async alone(): Promise<Snapshot> {
    return merged([{ worker: '1', snapshot: await this.snapshot() }]);
  }

  /** What the store and those before it have counted. */
  #storageCounts(): readonly (readonly [metric: MetricName, count: number, ...labels: string[]])[] {
    const statistics = this.#watched?.storage.statistics?.();
    if (statistics === undefined) return [];
    const total = (count: number, metric: MetricName, ...labels: string[]) => {
      const before = this.#replaced.get(JSON.stringify([metric, ...labels])) ?? 0;
      return [metric, before + count, ...labels] as const;
    };
    return [
      ...(statistics.writes ? [total(statistics.writes.commits, 'grantd_storage_commits_total')] : []),
      ...Object.entries(statistics.caches).flatMap(([cache, { hits, misses }]) => [
        total(hits, 'grantd_cache_lookups_total', cache, 'hit'),
        total(misses, 'grantd_cache_lookups_total', cache, 'miss'),
      ]),
    ];
  }

  #count(line: Line, level: string): void {
    const { event = '', reason = '' } = line;
    if (event === 'request') this.#countRequest(line);
    if (level === 'error' || level === 'fatal') this.meter.add('grantd_errors_total', 1, event);
    if (event === 'sign_in_failed') this.meter.add('grantd_sign_ins_total', 1, reason);
    const counted = COUNTED_BY_EVENT.get(event);
    if (counted !== undefined) this.meter.add(counted[0], 1, counted[1]);
  }

  #countRequest({
    operation = 'other',
    method = '',
    status,
    clientId,
    reason = '',
    durationMs = 0,
  }: Line): void {
    const answered = status ?? 'aborted';
    const result = resultOf(operation, status, reason);
    const client = this.#nameOf(clientId);
    this.meter.add('grantd_requests_total', 1, operation, client, answered, result, reason);
    const known = METHODS.has(method) ? method : '_OTHER';
    const seconds = durationMs / 1000;
    // A stream lasts as long as its follower, which says nothing about the server.
    if (operation === 'follow') return;
    this.meter.observe('http_server_request_duration_seconds', seconds, operation, known, answered);
  }

  #countTokens({ grantType, hasRefreshToken, hasIdToken }: IssuedKinds): void {
    this.meter.add('grantd_tokens_issued_total', 1, 'access_token', grantType);
    if (hasRefreshToken) this.meter.add('grantd_tokens_issued_total', 1, 'refresh_token', grantType);
    if (hasIdToken) this.meter.add('grantd_tokens_issued_total', 1, 'id_token', grantType);
  }

  /** The client’s identifier, if it has a name in the metrics. Events name only registered clients. */
  #nameOf(clientId: string | undefined): string {
    if (clientId === undefined) return '';
    if (this.#clients.has(clientId)) return clientId;
    if (this.#clients.size >= this.#maxClients / 2) {
      if (!this.#unnamed.has(clientId)) void this.#nameIfChecked(clientId);
      return 'other';
    }
    this.#clients.add(clientId);
    return clientId;
  }

  /** Gives a client a name from its next request on, unless it has registered itself. */
  async #nameIfChecked(clientId: string): Promise<void> {
    if (this.#clients.size >= this.#maxClients) return;
    if (this.#unnamed.size >= MAX_UNNAMED) this.#unnamed.clear();
    this.#unnamed.add(clientId);
    try {
      const client = await this.#watched?.storage.clients?.get(clientId);
      if (client && !isUnchecked(client) && this.#clients.size < this.#maxClients)
        this.#clients.add(clientId);
    } catch {
      // The database does not answer, and says so elsewhere. A later request asks again.
      this.#unnamed.delete(clientId);
    }
  }
}

type IssuedKinds = NonNullable<Extract<ServerEvent, { readonly type: 'answered' }>['issued']>;

/** Events of the log that are counted: the metric, and the value of its label. */
const COUNTED: Readonly<Record<string, readonly [MetricName, string]>> = {
  token_revoked: ['grantd_revocations_total', 'request'],
  refresh_token_reused: ['grantd_revocations_total', 'refresh_token_reused'],
  authorization_code_reused: ['grantd_revocations_total', 'authorization_code_reused'],
  session_ended: ['grantd_revocations_total', 'session_ended'],
  signed_out: ['grantd_revocations_total', 'session_ended'],
  consent_withdrawn: ['grantd_revocations_total', 'consent_withdrawn'],
  signed_in: ['grantd_sign_ins_total', 'signed_in'],
  logout_delivered: ['grantd_logout_deliveries_total', 'delivered'],
  logout_postponed: ['grantd_logout_deliveries_total', 'postponed'],
  logout_given_up: ['grantd_logout_deliveries_total', 'given_up'],
  sweep_failed: ['grantd_sweeps_total', 'failed'],
};

const COUNTED_BY_EVENT = new Map(Object.entries(COUNTED));

function resultOf(operation: string, status: number | undefined, reason: string): string {
  if (status === undefined) return 'aborted';
  if (status >= 500) return 'fault';
  if (status >= 400) return 'refused';
  if (reason === '') return 'ok';
  if (operation === 'introspection') return 'inactive';
  return operation === 'revocation' ? 'ignored' : 'refused';
}
