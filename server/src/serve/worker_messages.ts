import type { Configuration } from '../config/configuration.ts';
import { OPTION_NAMES, type Settings } from '../config/options.ts';
import { ConfigurationRefused, Refused } from '../config/refused.ts';
import type { Started } from './shutdown.ts';

/** What the supervisor tells a worker, over the channel that closes when either of them dies. */
export type ToWorker =
  | { readonly type: 'serve'; readonly order: Order }
  /** Comes with a socket, unless its caller has gone meanwhile. */
  | { readonly type: 'connection' }
  /** The supervisor got this signal. Connections still come. */
  | { readonly type: 'ending'; readonly signal: NodeJS.Signals }
  /** No more connections come. */
  | { readonly type: 'end' };

/** What a worker tells the supervisor. */
export type FromWorker =
  /** With the server's secret as this worker uses it, for those that serve beside it. */
  | { readonly type: 'ready'; readonly started: Started; readonly secret: readonly string[] }
  /** Sent every second, since a process that hangs cannot say so. */
  | { readonly type: 'beat' }
  | { readonly type: 'taken' }
  | { readonly type: 'declined' }
  /** It takes no more connections. */
  | { readonly type: 'leaving' }
  | { readonly type: 'failed'; readonly failure: Failure };

/** What a worker has to serve. The options are those of the start, even if their file has changed since. */
export interface Order {
  /** From 1; a worker that replaces another one has its number. */
  readonly worker: number;
  readonly settings: Settings;
  /** Where each option was written, for messages. */
  readonly sources: Readonly<Record<string, string>>;
  readonly port: number;
  readonly bringsDemo: boolean;
  /** The server's secret as the first worker had it: all use the same one for new values, even if its file has changed. */
  readonly secretOfStart?: readonly string[];
}

export function sourcesOf({ sourceOf }: Configuration): Order['sources'] {
  return Object.fromEntries(OPTION_NAMES.map((name) => [name, sourceOf(name)]));
}

export function configurationOf({ settings, sources }: Order): Configuration {
  return { settings, sourceOf: (name) => sources[name] ?? name };
}

/** An error on its way to the process that says it. */
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
