import type { AuthorizationServer, ClientCertificate } from '@grantd/core';

/** A request as a test writes it. */
export interface TestRequest {
  readonly method: string;
  /** With query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Of the TLS connection. Only the transport FUNCTION knows it. */
  readonly clientCertificate?: ClientCertificate;
}

export interface TestResponse {
  readonly status: number;
  /** The server's own headers, without those of the transport. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface OpenTransport {
  send(request: TestRequest): Promise<TestResponse>;
  close(): Promise<void>;
}

/** A framework is loaded when it is opened, because most test files run without it. */
export interface Transport {
  readonly name: string;
  open(server: AuthorizationServer): Promise<OpenTransport>;
}

/** Headers that HTTP or the runtime adds. */
const ADDED = new Set(['connection', 'date', 'keep-alive', 'transfer-encoding', 'content-length']);

export function chosen(
  headers: Iterable<readonly [string, string | readonly string[]]>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...headers].filter(([name]) => !ADDED.has(name)).map(([n, v]) => [n, String(v)]),
  );
}
