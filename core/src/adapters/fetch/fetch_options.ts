import type { HttpConnection, ParsedForm } from '../../protocol/http.ts';
import { anyFunction, anyText, type KindsOf } from '../../protocol/option_kinds.ts';
import { ADAPTER_OPTIONS, type AdapterOptions, type MountOptions } from '../adapter_options.ts';

/** What a host that speaks Fetch knows and a `Request` does not tell. */
interface FromHost<Host, Rest extends readonly unknown[]> {
  /** What is known of the connection, such as the peer's address. Default: what the framework says, if anything. */
  readonly connection?: (host: Host, ...rest: Rest) => HttpConnection;
  /**
   * The body, where the host has read it already: its text, or the form; `undefined` where it has not. Default: what the
   * framework has kept, if anything.
   */
  readonly body?: (host: Host, ...rest: Rest) => ReadBody | Promise<ReadBody>;
}

export type ReadBody = string | ParsedForm | undefined;

/**
 * @typeParam Host what the framework hands to its handlers: a `Request`, or its own object around one
 * @typeParam Rest what it hands over besides, such as `info` of Deno, the server of Bun, `env` and `ctx` of a Worker
 */
export interface FetchOptions<Host = Request, Rest extends readonly unknown[] = []>
  extends AdapterOptions<Host, Rest>,
    FromHost<Host, Rest> {}

export const FETCH_OPTIONS: KindsOf<FetchOptions<never>> = {
  ...ADAPTER_OPTIONS,
  connection: anyFunction,
  body: anyFunction,
};

export const FETCH_MOUNT_OPTIONS: KindsOf<FetchMountOptions<never>> = {
  ...FETCH_OPTIONS,
  strippedPath: anyText,
};

export interface FetchMountOptions<Host = Request, Rest extends readonly unknown[] = []>
  extends MountOptions<Host, Rest>,
    FromHost<Host, Rest> {}
