// Every metric of the program. Names follow Prometheus; those that OpenTelemetry’s conventions define have its names.

/**
 * How the values of several processes become one. `each`: every process has its own value, with the label `worker`.
 */
type Across = 'sum' | 'max' | 'min' | 'each';

export interface Metric {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  /** What it measures, for the scrape and the guide. */
  readonly about: string;
  /** Names of its labels. Clients cannot create many values. */
  readonly labels: readonly string[];
  readonly across: Across;
  /** Upper bounds of a histogram’s buckets. */
  readonly bounds: readonly number[];
}

function counter(about: string, ...labels: readonly string[]): Metric {
  return { kind: 'counter', about, labels, across: 'sum', bounds: [] };
}

function gauge(across: Across, about: string, ...labels: readonly string[]): Metric {
  return { kind: 'gauge', about, labels, across, bounds: [] };
}

function histogram(bounds: readonly number[], about: string, ...labels: readonly string[]): Metric {
  return { kind: 'histogram', about, labels, across: 'sum', bounds };
}

/** Seconds. The bounds of OpenTelemetry for HTTP, with finer ones below 5 ms, where introspection is. */
const REQUEST_SECONDS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
];
const STORAGE_SECONDS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];
const PAUSE_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];
const SWEEP_SECONDS = [0.01, 0.1, 1, 10, 60, 600];

export const METRICS = {
  grantd_requests_total: counter(
    'Completed requests. The operation is the endpoint or page, or `other`. The status is the HTTP status, or `aborted` if the client disconnected. The result is `ok`, `refused` (4xx), `fault` (5xx), `aborted`, `inactive` (an introspected token that is not active) or `ignored` (a revocation request for an unknown or foreign token, with the status 200). The reason is a reason code.',
    ...['operation', 'client_id', 'status', 'result', 'reason'],
  ),
  http_server_request_duration_seconds: histogram(
    REQUEST_SECONDS,
    'Seconds from the head of a request to the end of its response.',
    ...['operation', 'http_request_method', 'http_response_status_code'],
  ),
  grantd_tokens_issued_total: counter(
    'Tokens in responses of the token endpoint. The type is `access_token`, `refresh_token` or `id_token`.',
    ...['type', 'grant_type'],
  ),
  grantd_revocations_total: counter(
    'Revocations by cause: a request at the revocation endpoint (`request`), the reuse of a refresh token (`refresh_token_reused`) or code (`authorization_code_reused`), the end of a session (`session_ended`), or the user (`consent_withdrawn`). Revocations by commands are not counted.',
    'cause',
  ),
  grantd_sign_ins_total: counter(
    'Sign-in attempts. The result is `signed_in` or the reason code of the failure.',
    'result',
  ),
  grantd_logout_deliveries_total: counter(
    'Attempts to send a back-channel logout notification to a client. The result is `delivered`, `postponed` (the server tries again later) or `given_up`.',
    'result',
  ),
  grantd_peer_answered_timestamp_seconds: gauge(
    'max',
    'Unix time of the last answer of an identity provider (kind `provider`), the directory or users of the application (`directory`), or a trusted issuer (`issuer`). The name is that of the configuration.',
    ...['kind', 'name'],
  ),
  grantd_peer_failed_timestamp_seconds: gauge(
    'max',
    'Unix time of the last request that a provider, directory or issuer did not answer, or answered with 5xx. Later than its last answer: it is down.',
    ...['kind', 'name'],
  ),
  grantd_errors_total: counter(
    'Log lines of the level error or fatal, by event. The metric counts them even if the log is off.',
    'event',
  ),

  grantd_ready: gauge(
    'min',
    '1 if every process could read and write its database at this scrape, otherwise 0.',
  ),
  grantd_workers: gauge(
    'sum',
    'Processes that serve requests: as many as configured (state `wanted`), and as many as run (state `ready`).',
    'state',
  ),
  grantd_followers: gauge(
    'sum',
    'Streams to APIs that follow endings (docs/follow.md). An API without one introspects each token.',
    'client_id',
  ),
  grantd_worker_deaths_total: counter('Workers that died and were replaced.'),

  db_client_operation_duration_seconds: histogram(
    STORAGE_SECONDS,
    'Seconds of storage operations, including the wait in queues and for connections. The error type is `fault`, or empty after a success.',
    ...['db_system_name', 'db_operation_name', 'error_type'],
  ),
  db_client_connection_count: gauge(
    'sum',
    'PostgreSQL connections. The state is `idle` or `used`.',
    'db_client_connection_state',
  ),
  db_client_connection_pending_requests: gauge('sum', 'Requests that wait for a PostgreSQL connection.'),
  grantd_storage_waiting_writes: gauge('sum', 'Writes that wait for their commit (SQLite).'),
  grantd_storage_commits_total: counter(
    'Transactions that wrote to the database and were committed (SQLite).',
  ),
  grantd_cache_lookups_total: counter(
    'Lookups in the caches of the store. The result is `hit` or `miss`.',
    ...['cache', 'result'],
  ),
  grantd_cache_entries: gauge('each', 'Entries of each cache. A few entries can count twice.', 'cache'),

  grantd_sweeps_total: counter('Deletions of expired rows. The result is `done` or `failed`.', 'result'),
  grantd_swept_rows_total: counter('Expired rows that were deleted.'),
  grantd_sweep_duration_seconds: histogram(
    SWEEP_SECONDS,
    'Duration in seconds of each deletion of expired rows.',
  ),
  grantd_sweep_last_success_timestamp_seconds: gauge('max', 'Unix time of the last successful deletion.'),

  grantd_clock_skew_seconds: gauge(
    'max',
    'Seconds by which the clock of a process differs from that of the database, or from the newest event. 0 below 30.',
  ),

  grantd_signing_key_age_seconds: gauge(
    'max',
    'Seconds since the current signing key of each algorithm was created.',
    'alg',
  ),
  grantd_tls_certificate_remaining_seconds: gauge('min', 'Seconds until the TLS certificate expires.'),

  nodejs_eventloop_delay_seconds: histogram(
    PAUSE_SECONDS,
    'Seconds by which a timer was late, sampled twenty times per second in every process.',
  ),
  nodejs_eventloop_time_seconds_total: counter(
    'Seconds that event loops were `active` or `idle`.',
    'nodejs_eventloop_state',
  ),
  v8js_gc_duration_seconds: histogram(
    PAUSE_SECONDS,
    'Duration in seconds of each garbage collection. The type is `major`, `minor`, `incremental` or `weakcb`.',
    'v8js_gc_type',
  ),
  v8js_memory_heap_used_bytes: gauge('each', 'Bytes of memory that JavaScript objects use.'),
  process_memory_usage_bytes: gauge('each', 'Bytes of physical memory (RSS).'),
  process_cpu_time_seconds_total: counter('Seconds of CPU time, in the mode `user` or `system`.', 'cpu_mode'),
  process_uptime_seconds: gauge('each', 'Seconds since the process started.'),
} as const satisfies Readonly<Record<string, Metric>>;

export type MetricName = keyof typeof METRICS;

export const METRIC_NAMES = Object.keys(METRICS) as readonly MetricName[];

/** The label of values that every process has for itself: a worker’s number, or `supervisor`. */
export const WORKER_LABEL = 'worker';

/** The labels of a metric in a scrape. */
export function labelsOf(name: MetricName): readonly string[] {
  const { labels, across }: Metric = METRICS[name];
  return across === 'each' ? [...labels, WORKER_LABEL] : labels;
}
