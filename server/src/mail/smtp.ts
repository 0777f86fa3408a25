import type { Transporter } from 'nodemailer';
import { isLoopback } from '../config/networks.ts';
import { MAIL_FAILURES } from '../data/mails.ts';
import type { RenderedMail } from '../people/mailing.ts';

/** Milliseconds. The lease of an email is longer than all of them together. */
const TIMEOUTS = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 };

/** Settings for `nodemailer`. A host beyond this machine must offer TLS with a valid certificate. */
export function transportOptions(url: string) {
  const { protocol, hostname, port, username, password } = new URL(url);
  const isImplicit = protocol === 'smtps:';
  const isLocal = isLoopback(hostname);
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? (isImplicit ? 465 : 587) : Number(port),
    secure: isImplicit,
    requireTLS: !isImplicit && !isLocal,
    // A local relay often has a certificate for another name. Without TLS, it would be trusted as much.
    tls: { minVersion: 'TLSv1.2' as const, rejectUnauthorized: isImplicit || !isLocal },
    ...(username !== '' && {
      auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
    }),
    ...TIMEOUTS,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** Why an email could not be sent, in words for operators. */
export class MailFailure extends Error {
  override readonly name = 'MailFailure';
  /** Whether the server refused this email for good (RFC 5321 §4.2.1: 5yz). */
  readonly isPermanent: boolean;
  /** For the log, which names no address. */
  readonly code: string;
  readonly kind: MailFailureKind;
  /** What the server said, in its language, or the system about the connection. May be empty. */
  readonly said: string;

  constructor(
    kind: MailFailureKind,
    code: string,
    isPermanent: boolean,
    { server = '', said = '' }: { readonly server?: string; readonly said?: string } = {},
  ) {
    super(`${server && `${server}: `}${MAIL_FAILURES[kind]}${said && `: ${said}`}`);
    this.code = code;
    this.isPermanent = isPermanent;
    this.kind = kind;
    this.said = said;
  }
}

type MailFailureKind = keyof typeof MAIL_FAILURES;

/** Sends emails through an SMTP server. */
export interface Smtp {
  /**
   * @returns the server’s answer
   * @throws {MailFailure} the server did not take the email
   */
  send(to: string, mail: RenderedMail, id: string): Promise<string>;
  close(): void;
}

/** @param options defaults to those of the URL */
export async function openSmtp(url: string, from: string, options = transportOptions(url)): Promise<Smtp> {
  // Loaded only when mail is on.
  const { createTransport } = await import('nodemailer');
  const transport: Transporter = createTransport(options);
  const { host, port } = options;
  return {
    async send(to, { subject, text, html }, id) {
      try {
        const sent = await transport.sendMail({
          from,
          // An object, so that commas in it cannot add recipients.
          to: { name: '', address: to },
          ...{ subject, text, html },
          messageId: `<${id}@${domainOf(from)}>`,
          // RFC 3834 §5: no automatic answers, please.
          headers: { 'Auto-Submitted': 'auto-generated' },
        });
        return String(sent.response);
      } catch (error) {
        throw failureOf(error, `${host}:${port}`);
      }
    },
    close: () => transport.close(),
  };
}

function domainOf(from: string): string {
  return /@([^\s>]+)/.exec(from)?.[1] ?? 'localhost';
}

const MAX_RESPONSE = 300;

/** By the error codes of `nodemailer`. */
const FAILURE_OF_CODE: Readonly<Record<string, MailFailureKind>> = {
  ...({ EAUTH: 'auth', ETLS: 'tls', EENVELOPE: 'envelope', EMESSAGE: 'message', EDNS: 'dns' } as const),
  ...({ ECONNECTION: 'connection', ESOCKET: 'connection', ECONNREFUSED: 'connection' } as const),
  ...({ ETIMEDOUT: 'timeout', EPROTOCOL: 'protocol' } as const),
};

function failureOf(error: unknown, server: string): MailFailure {
  const reply: Record<string, unknown> = typeof error === 'object' && error !== null ? { ...error } : {};
  const code = String(reply.code ?? 'unknown');
  const status = Number(reply.responseCode ?? 0);
  const response =
    typeof reply.response === 'string' ? reply.response : error instanceof Error ? error.message : '';
  const said = response.replaceAll(/\s+/g, ' ').slice(0, MAX_RESPONSE);
  // A refused password or a missing extension is a matter of the settings, which the operator can mend.
  const isPermanent = status >= 500 && (code === 'EENVELOPE' || code === 'EMESSAGE');
  return new MailFailure(
    FAILURE_OF_CODE[code] ?? 'other',
    status === 0 ? code : `${code} ${status}`,
    isPermanent,
    { server, said },
  );
}
