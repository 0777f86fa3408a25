import type { Configuration } from '../config/configuration.ts';
import { OPTION_NAMES, type Settings } from '../config/options.ts';
import { ConfigurationRefused, Refused } from '../config/refused.ts';
import type { Sample } from '../monitoring/history.ts';
import type { Snapshot } from '../monitoring/meter.ts';
import type { Reloaded } from './reload.ts';
import type { Started } from './shutdown.ts';

/** Messages from the supervisor to a worker. The channel closes when either process dies. */
export type ToWorker =
  | { readonly type: 'serve'; readonly order: Order }
  /** Serve another configuration from now on. */
  | { readonly type: 'reload'; readonly order: Order }
  /** Carries a socket, unless the caller has disconnected. */
  | { readonly type: 'connection' }
  /** The supervisor received this signal. Connections still arrive. */
  | { readonly type: 'ending'; readonly signal: NodeJS.Signals }
  /** The port closes shortly. */
  | { readonly type: 'nearly_closing' }
  /** What all workers have counted, for the console: the last hour to a new worker, then each new sample. */
  | { readonly type: 'sampled'; readonly samples: readonly Sample[] }
  /** Asks for `measured`, if metrics are on. */
  | { readonly type: 'measure' }
  /** No more connections arrive. */
  | { readonly type: 'end' };

/** Messages from a worker to the supervisor. */
export type FromWorker =
  /** Contains the server’s secret as this worker uses it, for the other workers. */
  | { readonly type: 'ready'; readonly started: Started; readonly secret: readonly string[] }
  /** Sent every second, because a hanging process cannot report itself. */
  | { readonly type: 'beat' }
  /** Sent every few seconds, because a killed process cannot report its last counts. */
  | { readonly type: 'counts'; readonly snapshot: Snapshot }
  /** The answer to `measure`. */
  | { readonly type: 'measured'; readonly snapshot: Snapshot }
  | { readonly type: 'taken' }
  | { readonly type: 'declined' }
  /** The worker takes no more connections. */
  | { readonly type: 'leaving' }
  /** The answer to `reload`. */
  | { readonly type: 'reloaded'; readonly reloaded: Reloaded }
  /** The worker keeps its configuration. */
  | { readonly type: 'reload_failed'; readonly failure: Failure }
  | { readonly type: 'failed'; readonly failure: Failure };

/** What a worker serves. The options are as the supervisor last read them. */
export interface Order {
  /** Starts at 1. A replacement has the number of the worker that it replaces. */
  readonly worker: number;
  /** With the ports in use. */
  readonly settings: Settings;
  /** The source of each option, for messages. */
  readonly sources: Readonly<Record<string, string>>;
  readonly bringsDemo: boolean;
  /**
   * The server’s secret as the first worker read it, at the start or at a reload. All workers use the same one for new
   * values, even if the file has changed.
   */
  readonly secretOfStart?: readonly string[];
}

export function sourcesOf({ sourceOf }: Configuration): Order['sources'] {
  return Object.fromEntries(OPTION_NAMES.map((name) => [name, sourceOf(name)]));
}

export function configurationOf({ settings, sources }: Order): Configuration {
  return { settings, sourceOf: (name) => sources[name] ?? name };
}

/** An error in the form in which it crosses the process boundary. */
export interface Failure {
  readonly kind: 'configuration_refused' | 'refused' | 'unexpected';
  readonly message: string;
  readonly causeMessage?: string;
}

export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { kind: 'unexpected', message: String(error) };
  const { message, cause } = error;
  return {
    kind:
      error instanceof ConfigurationRefused
        ? 'configuration_refused'
        : error instanceof Refused
          ? 'refused'
          : 'unexpected',
    message,
    ...(cause instanceof Error && { causeMessage: cause.message }),
  };
}

export function errorOf({ kind, message, causeMessage }: Failure): Error {
  const options = causeMessage === undefined ? {} : { cause: new Error(causeMessage) };
  if (kind === 'configuration_refused') return new ConfigurationRefused(message, options);
  return kind === 'refused' ? new Refused(message, options) : new Error(message, options);
}
