import type { HttpConnection, ParsedForm } from '../../protocol/http.ts';

/** @typeParam Host what the framework hands to its handlers: a `Request`, or its own object around one */
export interface FetchOptions<Host = Request> {
  /**
   * Who answers what an operation throws: the server itself (`render`), or the framework's own error handling
   * (`forward`), which is given the `OAuthError` and makes a response of it by `errorResponse`. Default: `render`.
   */
  readonly errors?: 'render' | 'forward';
  /** Headers of each response beside the answer's own, which win. */
  readonly headers?: (host: Host) => Readonly<Record<string, string>>;
  /** What is known of the connection; Fetch itself says nothing about it. */
  readonly connection?: (host: Host) => HttpConnection;
  /** The body, where the host has read it already: its text, or the form; `undefined` where it has not. */
  readonly body?: (host: Host) => Body | Promise<Body>;
  /**
   * A path, such as `/auth`, that a proxy or the framework takes off the front of each path before the request gets here;
   * it is put back. Neither scheme, host nor port need mending: none of them is looked at.
   */
  readonly strippedPrefix?: string;
}

type Body = string | ParsedForm | undefined;
