import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:https';
import type { SecureVersion, TLSSocket } from 'node:tls';
import { type MadeCertificate, newCertificate } from '../../../core/test/harness/certificates.ts';
import { grantdPrints } from './commands.ts';

/**
 * A certificate for `localhost`. Default: issued by itself. Its subject is unique: OpenSSL finds a trusted certificate by
 * its subject, and test files in one process add theirs to the same trusted ones.
 */
export function serverCertificate(issuer?: MadeCertificate): Promise<MadeCertificate> {
  const names = [{ type: 'dns', value: 'localhost' }] as const;
  const content = { subject: [{ CN: ['localhost'] }, { O: [randomUUID()] }], names: [...names] };
  return newCertificate(issuer === undefined ? content : { ...content, issuer });
}

/** A request to a server on this machine. */
export interface Ask {
  readonly certificate?: MadeCertificate | undefined;
  readonly form?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: a new connection. */
  readonly agent?: Agent;
  /** To resume. */
  readonly session?: Buffer | undefined;
  readonly maxVersion?: SecureVersion;
}

export interface Answer {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
  /** Its connection. */
  readonly socket: TLSSocket;
}

/**
 * Sends one request over TLS.
 * @param ca the CA of the server
 */
export function askOverTls(
  ca: MadeCertificate,
  port: number,
  path: string,
  { certificate, form, headers, agent = new Agent(), ...options }: Ask = {},
): Promise<Answer> {
  const body = form === undefined ? undefined : new URLSearchParams(form).toString();
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        ...{ host: '127.0.0.1', port, path, servername: 'localhost', ca: ca.pem.cert, agent },
        ...certificate?.pem,
        ...options,
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
          ...headers,
        },
      },
      async (response) => {
        const socket = response.socket as TLSSocket;
        const text = (await response.setEncoding('utf8').toArray()).join('');
        const json = text.startsWith('{') ? JSON.parse(text) : {};
        resolve({ status: response.statusCode ?? 0, json, socket });
      },
    );
    sent.once('error', reject).end(body);
  });
}

/** What `fetchOverTls` reads of a request. */
interface RequestParts {
  readonly method?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
}

/**
 * A `fetch` that presents a certificate on new connections, or none.
 * @param ca the CA of the server
 */
export function fetchOverTls(
  ca: MadeCertificate,
  certificate?: MadeCertificate,
): (url: string, parts?: RequestParts) => Promise<Response> {
  return (url, { method = 'GET', headers = {}, body } = {}) =>
    new Promise((resolve, reject) => {
      const sent = request(
        url,
        { ...certificate?.pem, ca: ca.pem.cert, method, headers, agent: false },
        async (response) => {
          const bytes = Buffer.concat(await response.toArray());
          const answered = new Headers();
          for (const [name, value] of Object.entries(response.headersDistinct))
            for (const one of value ?? []) answered.append(name, one);
          const status = response.statusCode ?? 0;
          resolve(new Response(status === 204 ? null : bytes, { status, headers: answered }));
        },
      );
      sent.once('error', reject).end(body === undefined || body === null ? undefined : String(body));
    });
}

/** Adds a client that gets tokens for itself. */
export function addMachine(folder: string, id: string, flags: readonly string[]): Promise<string> {
  const machine = ['--grant', 'client_credentials', '--scope', 'read'];
  return grantdPrints(folder, ['client', 'add', id, ...machine, ...flags]);
}
