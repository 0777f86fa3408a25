// TLS in the program: its servers, and the files that they use. Loaded only if the option tlsCertificate is set.

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ServerOptions } from 'node:http';
import { createServer, type Server } from 'node:https';
import { createSecureContext, createServer as createTlsServer, type Server as TlsServer } from 'node:tls';
import { type Configuration, typedPath } from '../config/configuration.ts';
import type { OptionName } from '../config/options.ts';
import { readPrivateBytes } from '../config/private_file.ts';
import { ConfigurationRefused } from '../config/refused.ts';
import { utf8Of } from '../config/text_file.ts';
import type { Log } from '../log/log.ts';
import { causeOf } from '../log/logged_error.ts';

/** The options whose values are files. */
const FILE_OPTIONS = ['tlsCertificate', 'tlsKey', 'tlsClientCa'] as const satisfies OptionName[];

type FileOption = (typeof FILE_OPTIONS)[number];

type Paths = Readonly<Partial<Record<FileOption, string>>>;

/** The content of these files. */
type Content = Readonly<Partial<Record<FileOption, Buffer>>>;

/** The servers for TLS, which share one HTTP server. */
export interface TlsServers {
  readonly http: Server;
  /** Asks clients for certificates. Present with the option `mtlsPort`. */
  readonly mtls: TlsServer | undefined;
}

/** TLS 1.2 and 1.3 with the cipher suites of RFC 9325 §4.2. The client chooses among them, as it knows its hardware. */
const PROTOCOL = {
  minVersion: 'TLSv1.2',
  honorCipherOrder: false,
  ciphers: [
    ...['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'],
    ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
    ...['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
    ...['ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
  ].join(':'),
} as const;

const LOOK_EVERY_MS = 5_000;

const DAY_MS = 24 * 60 * 60 * 1000;
const EXPIRES_SOON_MS = 14 * DAY_MS;

/** The TLS files of a configuration, as last read. */
export class TlsFiles {
  readonly #hasMtls: boolean;
  #paths: Paths;
  #content: Content;
  #servers: TlsServers | undefined;
  #warnedAt = 0;

  /** @throws {ConfigurationRefused} a file is not readable or not what was expected */
  constructor(configuration: Configuration, environment: NodeJS.ProcessEnv) {
    const { paths, content } = filesOf(configuration, environment);
    this.#paths = paths;
    this.#content = content;
    this.#hasMtls = configuration.settings.mtlsPort !== undefined;
  }

  /** Creates the servers. Neither listens. */
  createServers(options: ServerOptions & { readonly headersTimeout: number }): TlsServers {
    // A handshake has the limit of headers, because an unknown caller can keep both open.
    const limits = { handshakeTimeout: options.headersTimeout };
    const http = createServer({
      ...options,
      ...PROTOCOL,
      ...this.#identity(),
      ...limits,
    });
    if (!this.#hasMtls) {
      this.#servers = { http, mtls: undefined };
      return this.#servers;
    }
    const mtls = createTlsServer(
      {
        ...PROTOCOL,
        ...this.#identityWithCa(),
        requestCert: true,
        // Clients that authenticate otherwise need no certificate, and a certificate that only binds tokens needs no CA.
        rejectUnauthorized: false,
        ...limits,
        ALPNProtocols: ['http/1.1'],
        noDelay: true,
      },
      (connection) => http.emit('secureConnection', connection),
    );
    mtls.on('tlsClientError', (error, connection) => http.emit('tlsClientError', error, connection));
    this.#servers = { http, mtls };
    return this.#servers;
  }

  /**
   * Reads the files of another configuration.
   * @returns the options whose files have another content, and a function that uses these files from then on
   * @throws {ConfigurationRefused} a file is not readable or not what was expected
   */
  prepare(
    configuration: Configuration,
    environment: NodeJS.ProcessEnv,
  ): { readonly changed: readonly FileOption[]; use(onOtherCas: () => void): void } {
    const { paths, content } = filesOf(configuration, environment);
    return {
      changed: FILE_OPTIONS.filter((name) => !areSame(content[name], this.#content[name])),
      use: (onOtherCas) => {
        this.#paths = paths;
        this.#use(content, onOtherCas);
      },
    };
  }

  #use(content: Content, onOtherCas: () => void): void {
    const hasOtherCas = !areSame(content.tlsClientCa, this.#content.tlsClientCa);
    this.#content = content;
    this.#servers?.http.setSecureContext({ ...PROTOCOL, ...this.#identity() });
    this.#servers?.mtls?.setSecureContext({ ...PROTOCOL, ...this.#identityWithCa() });
    if (hasOtherCas) onOtherCas();
  }

  /**
   * Loads changed files every few seconds, until the signal. Files that do not fit together change nothing.
   * @param onOtherCas called when other CAs are trusted, which open connections do not know
   */
  keepFresh(log: Log, signal: AbortSignal, onOtherCas: () => void): void {
    let refused: string | undefined;
    const look = () => {
      try {
        this.#warnOfExpiry(log);
        const content = contentOf(this.#paths, (name) => name);
        if (FILE_OPTIONS.every((name) => areSame(content[name], this.#content[name]))) return;
        const fault = faultIn(content);
        if (fault !== undefined) throw new ConfigurationRefused(`${fault.option}: ${fault.expected}`);
        this.#use(content, onOtherCas);
        refused = undefined;
        log.info({ event: 'tls_reloaded', expires: this.expiry().toISOString() });
      } catch (error) {
        // Once for each fault, because a new certificate can be there before its key.
        const cause = causeOf(error);
        if (JSON.stringify(cause) === refused) return;
        refused = JSON.stringify(cause);
        log.error({ event: 'tls_reload_failed', cause });
      }
    };
    look();
    const timer = setInterval(look, LOOK_EVERY_MS).unref();
    signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  }

  /** Once a day. */
  #warnOfExpiry(log: Log, clock: () => number = Date.now): void {
    const now = clock();
    const expiry = this.expiry();
    if (expiry.getTime() - now > EXPIRES_SOON_MS || now - this.#warnedAt < DAY_MS) return;
    this.#warnedAt = now;
    log.warn({ event: 'tls_certificate_expires', expires: expiry.toISOString() });
  }

  /** When the server’s certificate expires. */
  expiry(): Date {
    return new Date(new X509Certificate(this.#content.tlsCertificate ?? '').validTo);
  }

  #identity() {
    return { cert: this.#content.tlsCertificate, key: this.#content.tlsKey };
  }

  #identityWithCa() {
    // Without a list, Node would trust every public CA.
    return { ...this.#identity(), ca: this.#content.tlsClientCa ?? [] };
  }
}

/** @throws {ConfigurationRefused} a file is not readable or not what was expected */
function filesOf(
  { settings, sourceOf }: Configuration,
  environment: NodeJS.ProcessEnv,
): { readonly paths: Paths; readonly content: Content } {
  const paths: Partial<Record<FileOption, string>> = {};
  for (const name of FILE_OPTIONS) {
    const path = settings[name];
    if (path !== undefined) paths[name] = typedPath(environment, path);
  }
  const content = contentOf(paths, sourceOf);
  const fault = faultIn(content);
  if (fault !== undefined) throw new ConfigurationRefused(`${sourceOf(fault.option)}: ${fault.expected}`);
  return { paths, content };
}

function contentOf(paths: Paths, sourceOf: (name: FileOption) => string): Content {
  const content: Partial<Record<FileOption, Buffer>> = {};
  for (const name of FILE_OPTIONS) {
    const path = paths[name];
    if (path === undefined) continue;
    const source = sourceOf(name);
    content[name] = name === 'tlsKey' ? readPrivateBytes(path, source) : readBytes(path, source);
  }
  return content;
}

function readBytes(path: string, source: string): Buffer {
  try {
    return utf8Of(readFileSync(path));
  } catch (error) {
    throw new ConfigurationRefused(`${source}: expected a readable file`, { cause: error });
  }
}

/** The first file that is not as it should be. */
function faultIn(content: Content): { option: FileOption; expected: string } | undefined {
  const { tlsCertificate = '', tlsKey = '', tlsClientCa } = content;
  const certificate = parseIfPossible(() => new X509Certificate(tlsCertificate));
  if (certificate === undefined) return { option: 'tlsCertificate', expected: 'expected a PEM certificate' };
  const key = parseIfPossible(() => createPrivateKey(tlsKey));
  if (key === undefined) return { option: 'tlsKey', expected: 'expected an unencrypted PEM private key' };
  if (!certificate.checkPrivateKey(key))
    return {
      option: 'tlsKey',
      expected: 'expected the private key of the first certificate in tlsCertificate',
    };
  if (parseIfPossible(() => createSecureContext({ cert: tlsCertificate, key: tlsKey })) === undefined)
    return { option: 'tlsCertificate', expected: 'expected PEM certificates, each issued by the next' };
  if (tlsClientCa !== undefined && !isListOfCertificates(tlsClientCa.toString('latin1')))
    return { option: 'tlsClientCa', expected: 'expected PEM certificates' };
  return undefined;
}

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Node itself ignores what it cannot read. */
function isListOfCertificates(pem: string): boolean {
  const certificates = pem.match(PEM_CERTIFICATE) ?? [];
  return (
    certificates.length > 0 &&
    certificates.length === pem.split('-----BEGIN').length - 1 &&
    certificates.every((certificate) => parseIfPossible(() => new X509Certificate(certificate)) !== undefined)
  );
}

function parseIfPossible<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    // The parser’s messages say nothing about the file.
    return undefined;
  }
}

function areSame(a: Buffer | undefined, b: Buffer | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.equals(b));
}
