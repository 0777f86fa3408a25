import type { HttpConnection, ParsedForm } from '../../protocol/http.ts';
import type { AdapterOptions, MountOptions } from '../adapter_options.ts';

/** What a host that speaks Fetch knows and a `Request` does not tell. */
interface FromHost<Host> {
  /** What is known of the connection, such as the peer's address. Default: what the framework says, if anything. */
  readonly connection?: (host: Host) => HttpConnection;
  /**
   * The body, where the host has read it already: its text, or the form; `undefined` where it has not. Default: what the
   * framework has kept, if anything.
   */
  readonly body?: (host: Host) => ReadBody | Promise<ReadBody>;
}

export type ReadBody = string | ParsedForm | undefined;

/** @typeParam Host what the framework hands to its handlers: a `Request`, or its own object around one */
export interface FetchOptions<Host = Request> extends AdapterOptions<Host>, FromHost<Host> {}

export interface FetchMountOptions<Host = Request> extends MountOptions<Host>, FromHost<Host> {}
