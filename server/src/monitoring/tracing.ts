// Traces of requests. Loads OpenTelemetry, so it is loaded only if traces are on.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { RequestListener } from 'node:http';
import type { FetchDocument } from '@grantd/core';
import { plainAddress } from '@grantd/core/node';
import {
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { parseTraceParent } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import packageJson from '../../package.json' with { type: 'json' };
import { networkCheck } from '../config/networks.ts';
import type { Settings } from '../config/options.ts';
import { ConfigurationRefused } from '../config/refused.ts';
import { type Log, logThrough } from '../log/log.ts';

/** Milliseconds between two log lines about a collector that does not answer. */
const COMPLAIN_EVERY_MS = 60_000;

/** Milliseconds that an ending process waits for the collector. */
const MAX_FLUSH_MS = 2_000;

/** A line of the program’s log. */
interface Line {
  readonly event?: string;
  readonly requestId?: string;
  readonly operation?: string;
  readonly status?: number;
  readonly clientId?: string;
  readonly reason?: string;
}

/** Every attribute is a short text or number from a table, an identifier of a client, or random. */
type Attributes = Readonly<Record<string, string | number>>;

/** Makes a span of each request and of each document that the server fetches. */
export class Tracing {
  readonly #provider: TracerProvider;
  readonly #root: TraceIdRatioBasedSampler;
  readonly #isTrusted: (address: string) => boolean;
  readonly #current = new AsyncLocalStorage<Span>();
  /** Spans of open requests by request ID. */
  readonly #open = new Map<string, Span>();

  /**
   * @param environment has the variables OTEL_EXPORTER_OTLP_… of OpenTelemetry
   * @throws {ConfigurationRefused} a variable is wrong
   */
  constructor({ trustedProxies = [] }: Settings, environment: NodeJS.ProcessEnv, log: Log) {
    requireVariables(environment);
    complainTo(log);
    this.#isTrusted = networkCheck(trustedProxies);
    this.#root = new TraceIdRatioBasedSampler(ratioIn(environment));
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({
        'service.name': process.env.OTEL_SERVICE_NAME || 'grantd',
        'service.version': packageJson.version,
        'process.runtime.version': process.versions.node,
      }),
      sampler: new ParentBasedSampler({ root: this.#root }),
      spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
    });
  }

  /** A log that adds the trace to lines of requests. The line of a request ends its span. */
  log(log: Log): Log {
    return logThrough((level, line: Line) => {
      const span = this.#open.get(line.requestId ?? '') ?? this.#current.getStore();
      log[level](span === undefined ? line : { ...line, traceId: span.spanContext().traceId });
      if (line.event === 'request') this.#end(line);
    });
  }

  /** The same listener, with a span around each request. */
  listener(listener: RequestListener): RequestListener {
    return (request, response) => {
      const { method = '', headers, socket } = request;
      const isTrusted = this.#isTrusted(plainAddress(socket.remoteAddress ?? '') ?? '');
      const parent = this.#parentIn(headers.traceparent, isTrusted);
      const span = this.#start('request', SpanKind.SERVER, { 'http.request.method': method }, parent);
      this.#current.run(span, () => listener(request, response));
      const id: unknown = Reflect.get(request, 'id');
      if (typeof id === 'string') this.#open.set(id, span);
      else span.end();
    };
  }

  /** The same function, with a span around each request, which takes the trace along (Trace Context §3.2). */
  fetchDocument(fetchDocument: FetchDocument): FetchDocument {
    const traced: FetchDocument = async (url, request = {}) => {
      const { method = 'GET' } = request;
      const attributes = { 'http.request.method': method, 'server.address': hostOf(url) };
      const span = this.#start(method, SpanKind.CLIENT, attributes, this.#current.getStore()?.spanContext());
      try {
        const headers = { ...request.headers, traceparent: traceparentOf(span.spanContext()) };
        const document = await fetchDocument(url, { ...request, headers });
        span.setAttribute('http.response.status_code', document.status);
        return document;
      } catch (error) {
        span.setStatus({ code: SpanStatusCode.ERROR });
        throw error;
      } finally {
        span.end();
      }
    };
    return Object.assign(traced, { refusalOf: fetchDocument.refusalOf });
  }

  /** Sends the spans that still wait. Never rejects. */
  async close(): Promise<void> {
    await this.#provider.forceFlush({ timeoutMillis: MAX_FLUSH_MS }).catch(() => undefined);
  }

  #start(name: string, kind: SpanKind, attributes: Attributes, parent: SpanContext | undefined): Span {
    const context = parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
    return this.#provider.getTracer('grantd').startSpan(name, { kind, attributes }, context);
  }

  /**
   * The caller’s span. Everyone may continue a trace, because its identifiers grant nothing. Only trusted proxies decide
   * whether it is recorded: otherwise strangers could fill the collector.
   */
  #parentIn(header: string | string[] | undefined, isTrusted: boolean): SpanContext | undefined {
    const parent = typeof header === 'string' ? parseTraceParent(header) : null;
    if (parent === null) return undefined;
    if (isTrusted) return { ...parent, isRemote: true };
    const { decision } = this.#root.shouldSample(ROOT_CONTEXT, parent.traceId);
    const isSampled = decision === SamplingDecision.RECORD_AND_SAMPLED;
    return { ...parent, isRemote: true, traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE };
  }

  /** Ends the span of a request. Without its path, which can contain anything. */
  #end({ requestId = '', operation = 'other', status, clientId, reason }: Line): void {
    const span = this.#open.get(requestId);
    if (span === undefined) return;
    this.#open.delete(requestId);
    span.updateName(operation);
    span.setAttributes({
      'grantd.operation': operation,
      'grantd.request_id': requestId,
      ...(status !== undefined && { 'http.response.status_code': status }),
      ...(status === undefined && { 'error.type': 'aborted' }),
      ...(clientId !== undefined && { 'grantd.client_id': clientId }),
      ...(reason !== undefined && { 'grantd.reason': reason }),
    });
    if (status !== undefined && status >= 500) {
      span.setAttribute('error.type', String(status));
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end();
  }
}

function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

function hostOf(url: string): string {
  return URL.parse(url)?.hostname ?? '';
}

/** @throws {ConfigurationRefused} names the variable and what was expected */
function requireVariables(environment: NodeJS.ProcessEnv): void {
  for (const name of ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']) {
    const value = environment[name];
    const protocol = value ? URL.parse(value)?.protocol : 'http:';
    if (protocol !== 'http:' && protocol !== 'https:')
      throw new ConfigurationRefused(`${name}: expected an http or https URL`);
  }
  for (const name of ['OTEL_EXPORTER_OTLP_PROTOCOL', 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL']) {
    if (environment[name] && environment[name] !== 'http/json')
      throw new ConfigurationRefused(`${name}: expected http/json, got ${environment[name]}`);
  }
}

/** The share of traces that are recorded. */
function ratioIn({ OTEL_TRACES_SAMPLER_ARG: text = '' }: NodeJS.ProcessEnv): number {
  const ratio = text === '' ? 1 : Number(text);
  if (ratio >= 0 && ratio <= 1) return ratio;
  throw new ConfigurationRefused(`OTEL_TRACES_SAMPLER_ARG: expected a number from 0 to 1, got ${text}`);
}

/** Logs errors of the exporter, without details, because those can contain its headers. */
function complainTo(log: Log): void {
  let quietUntilMs = 0;
  const complain = (): void => {
    if (performance.now() < quietUntilMs) return;
    quietUntilMs = performance.now() + COMPLAIN_EVERY_MS;
    log.warn({ event: 'traces_not_sent' });
  };
  const ignore = (): void => {};
  const logger = { error: complain, warn: ignore, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(logger, { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true });
}
