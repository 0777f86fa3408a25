import { extname } from 'node:path';
import { isIssuer, SIGN_IN_POLICIES } from '@grantd/core';
import {
  isHttpsOrigin,
  milliseconds,
  oneOf,
  option,
  optionWithoutDefault,
  seconds,
  text,
  textList,
  textOrArray,
  trueOrFalse,
  type ValuesOf,
  wholeNumber,
} from '@grantd/core/options';
import { DIRECTORY_OPTIONS } from './directory_options.ts';
import { ENDPOINT_OPTIONS } from './endpoint_options.ts';
import { parseNetwork } from './networks.ts';
import { FILE } from './option_kinds.ts';
import { PERSONAL_TOKEN_OPTIONS } from './personal_token_options.ts';
import { PICTURE_TYPES } from './picture.ts';

/** The accepted forms of a database URL, for messages that end in “expected …”. */
const DATABASE_URL_FORM =
  'sqlite:PATH with the path of a file (SQLite in memory is not possible), or postgres://USER@HOST:PORT/DATABASE';

/** SQLite's own names for databases in memory and its URIs would be names of files here. */
const SQLITE_FILE = /^sqlite:(?!file:)(?!(?:.*\/)?:memory:$).+/;

export function isDatabaseUrl(url: string): boolean {
  return isPostgresUrl(url) ? isReadable(url) : SQLITE_FILE.test(url);
}

export function isPostgresUrl(url: string): boolean {
  return /^postgres(ql)?:\/\//.test(url);
}

/** Whether a PostgreSQL or SMTP URL contains a password. */
export function hasPassword(url: string): boolean {
  const { password, searchParams } = new URL(url);
  return password !== '' || searchParams.has('password');
}

/** A PostgreSQL or SMTP URL without its password, for messages. */
export function withoutPassword(url: string): string {
  const shown = new URL(url);
  shown.password = '';
  shown.searchParams.delete('password');
  return shown.href;
}

/**
 * Whether a URL survives parsing. Passwords often contain `#`, `%`, `/` or `?`, which must be percent-encoded. An
 * unencoded `/` or `?` leaves an `@` after the host.
 */
function isReadable(url: string): boolean {
  if (!URL.canParse(url) || url.includes('#') || /%(?![0-9a-f]{2})/i.test(url)) return false;
  const { pathname, search } = new URL(url);
  return !`${pathname}${search}`.includes('@');
}

/** Whether a text is the URL of an SMTP server. */
export function isSmtpUrl(url: string): boolean {
  if (!/^smtps?:\/\//.test(url) || !isReadable(url)) return false;
  const { hostname, pathname, search, username, password } = new URL(url);
  return (
    hostname !== '' &&
    (pathname === '' || pathname === '/') &&
    search === '' &&
    (username !== '' || password === '')
  );
}

function isSender(sender: string): boolean {
  return (
    /^(?:[^<>\p{C}]* <)?[^\s@<>,;:"]+@[^\s@<>,;:"]+>?$/u.test(sender) &&
    sender.includes('<') === sender.endsWith('>')
  );
}

/** Whether a text is a domain in lower case. */
export function isDomain(domain: string): boolean {
  return /^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/.test(domain);
}

const PICTURE_ENDS = [...PICTURE_TYPES.keys()];

/** The accepted form of a backup’s passphrase, for messages that end in “expected …”. */
export const PASSPHRASE_FORM = 'a passphrase of at least 12 characters';

export function isPassphrase(passphrase: string): boolean {
  return passphrase.length >= 12;
}

/**
 * Every option of the program. Flags, variables, config file, validation, messages and help derive from this table.
 * Options of the library come from the library’s own table.
 */
export const OPTIONS = {
  port: option('Server', wholeNumber(0, 65535), 'Port to listen on. 0 picks a free port.', 4000, {
    needsRestart: true,
  }),
  host: option(
    'Server',
    text('HOST', 'a host name or an IP address', isHost),
    'Address to listen on.',
    '127.0.0.1',
    { needsRestart: true },
  ),
  issuer: optionWithoutDefault(
    'Server',
    text('URL', 'an http or https URL without query, fragment and credentials', isIssuer),
    'URL that names this server, and is the base of its other URLs. The server stores it in the database at the first start.',
    'the stored one, or http://localhost:PORT',
  ),
  database: option(
    'Server',
    text('URL', DATABASE_URL_FORM, isDatabaseUrl),
    'Database URL: an SQLite file, relative to the current folder, or PostgreSQL. Pass the PostgreSQL password in PGPASSWORD, or in the URL in the variable or the config file. Never pass it in the flag, because every user of the machine can see arguments.',
    'sqlite:grantd-data/grantd.db',
    { needsRestart: true },
  ),
  create: optionWithoutDefault(
    'Server',
    trueOrFalse,
    'Whether to create a missing database.',
    'with SQLite, the file is created, unless files of an earlier database are next to it; with PostgreSQL, an empty database is an error',
  ),
  databaseConnections: option(
    'Server',
    wholeNumber(1, 1000),
    'Maximum PostgreSQL connections per process.',
    10,
  ),
  databaseConnectTimeoutMs: option(
    'Server',
    milliseconds(1),
    'Milliseconds to wait for a PostgreSQL connection before the request fails with 503.',
    2000,
  ),
  databaseStatementTimeoutMs: option(
    'Server',
    milliseconds(1),
    'Milliseconds to wait for the result of a PostgreSQL statement before the request fails with 503.',
    5000,
  ),
  secret: optionWithoutDefault(
    'Server',
    textOrArray(
      'SECRET',
      'a text of at least 32 characters, or a JSON array of such texts, newest first',
      isSecret,
    ),
    'Secret from which the server derives the keys that hash client secrets and encrypt signing keys. To rotate it, set an array: the server uses the first secret for new hashes and encryption, and accepts data that was made with any secret of the array (docs/secrets.md).',
    'with SQLite, the file PATH.secret next to the database, created at the first start; required with PostgreSQL',
    { isSecret: true },
  ),
  secretFile: optionWithoutDefault(
    'Server',
    FILE,
    'File with the value of secret, instead of secret. Others must not be able to read it. The server reads it again at SIGHUP, so a rotation needs no restart (docs/secrets.md).',
    'none',
  ),
  pairwiseSecret: optionWithoutDefault(
    'Server',
    text('SECRET', 'a text of at least 32 characters', isSecret),
    'Secret for pairwise subject identifiers. Never change it: every identifier would change.',
    'created at the first start and stored in the database, encrypted with the server’s secret',
    { isSecret: true },
  ),
  addressRequestLimit: option(
    'Server',
    wholeNumber(0, 1_000_000),
    'Maximum requests from one IPv4 address or IPv6 /64 to the authorization endpoint in a minute, per process. An IPv6 /48 counts as four addresses. As many pushed requests, as many to the device authorization endpoint and to the page for codes of devices, and as many registrations if anyone may register. Of all processes together: as many wrong client secrets, and as many unknown refresh tokens of public clients. 0 sets no limit. Behind a proxy, also set trustedProxies, because otherwise all requests have the address of the proxy.',
    1000,
  ),
  unknownTokenLimit: option(
    'Server',
    wholeNumber(0, 200_000),
    'Maximum opaque tokens that were never issued, or have long expired, that a confidential client may send in a minute to all processes together: as many for introspection, for revocation, to refresh, to exchange, and to /token/check. The client can go on with JWTs, and with tokens that it has sent before. 0 sets no limit.',
    100_000,
  ),
  trustedProxies: optionWithoutDefault(
    'Server',
    textList(
      'ADDRESSES',
      'IP addresses or networks such as 10.0.0.0/8, separated by commas, or a list of them',
      (network) => parseNetwork(network) !== undefined,
    ),
    'Addresses of proxies whose headers X-Forwarded-For and clientCertificateHeader the server trusts. Behind a proxy that is not listed, all visitors share one IP address, so ten wrong passwords lock a username in every new browser, and 100 lock all usernames.',
    'none',
  ),
  workers: option(
    'Server',
    wholeNumber(1, 64),
    'Number of processes that share the port and the database.',
    1,
    { needsRestart: true },
  ),
  shutdownDelay: option(
    'Server',
    seconds(0, 3600),
    'Seconds for which the server still accepts requests after SIGTERM. During this time, /health/ready fails and every response closes its connection.',
    5,
  ),
  demo: option(
    'Server',
    trueOrFalse,
    'Adds demo data with known passwords. The server then listens on loopback only.',
    false,
    { needsRestart: true },
  ),
  log: option(
    'Server',
    oneOf('json', 'pretty', 'off'),
    'Format of the request and event log on stdout.',
    'json',
    { needsRestart: true },
  ),
  logAddresses: option(
    'Server',
    oneOf('off', 'network', 'full'),
    'Whether log lines contain the IP address of a request’s sender. network: its IPv4 /24 or IPv6 /56. full: the whole address, which fail2ban needs (docs/sign_in_problems.md). Behind a proxy, also set trustedProxies.',
    'off',
  ),
  sweepInterval: option(
    'Server',
    wholeNumber(1, 24 * 60 * 60),
    'Seconds between deletions of expired rows.',
    60,
  ),
  eventRetention: option(
    'Server',
    seconds(1),
    'Seconds for which the database keeps events, which are the audit trail (docs/audit.md).',
    30 * 24 * 60 * 60,
  ),
  auditTokens: option(
    'Server',
    trueOrFalse,
    'Whether the audit trail records each issuance of a token or code. It always records revocations and all other changes.',
    true,
  ),
  passkeys: option(
    'Server',
    trueOrFalse,
    'Whether users can sign in with passkeys. Browsers offer passkeys only if the issuer is an https URL with a host name, or on localhost.',
    true,
  ),
  signInPolicy: option(
    'Server',
    oneOf(...SIGN_IN_POLICIES, 'password'),
    'What users need to sign in. second_factor_if_enrolled: a second factor if the user has added one; second_factor: always a second factor; phishing_resistant: a passkey; password: only the password. Clients and groups can require more (docs/passkeys.md).',
    'second_factor_if_enrolled',
  ),
  signInWithEmail: option(
    'Server',
    trueOrFalse,
    'Whether users can type their verified email address instead of the username to sign in. Not with an LDAP directory, whose filter decides which names and addresses sign in.',
    true,
  ),
  recoveryHold: option(
    'Server',
    seconds(1),
    'Seconds until a factor counts that a user has added after a sign-in with a recovery code. Until then, a new passkey does not count as phishing-resistant, and the user can change nothing else that their factors protect (docs/passkeys.md).',
    24 * 60 * 60,
  ),
  sessionLifetime: option(
    'Server',
    seconds(1),
    'Seconds after which users must sign in again, even in an active browser.',
    12 * 60 * 60,
  ),
  sessionIdleLifetime: option(
    'Server',
    seconds(1),
    'Seconds after which an inactive browser is signed out. An authorization request of an application counts as activity.',
    4 * 60 * 60,
  ),

  backupFolder: optionWithoutDefault(
    'Backups',
    text('FOLDER', 'a folder path', (path) => path.trim() !== ''),
    'Folder to which the running server regularly writes a backup of its database. The folder must exist (docs/backup.md).',
    'none, so the server makes no backups',
  ),
  backupInterval: option('Backups', seconds(60), 'Seconds between two backups.', 24 * 60 * 60),
  backupKeep: option(
    'Backups',
    wholeNumber(1, 10_000),
    'Number of backups to keep in the folder. The server deletes older ones of the same issuer.',
    14,
  ),
  backupRecipients: optionWithoutDefault(
    'Backups',
    textList('KEYS', 'public keys such as age1…, separated by commas, or a list of them', (key) =>
      /^age1[02-9a-z]{20,}$/.test(key),
    ),
    'Public keys (age) for which the server encrypts backups. Only their private keys can decrypt a backup, so keep the private keys on another machine (grantd backup new-key).',
    'none',
  ),
  backupPassphraseFile: optionWithoutDefault(
    'Backups',
    FILE,
    'File with a passphrase that encrypts backups, instead of public keys. Others must not be able to read it (docs/secrets.md).',
    'none',
  ),
  backupPassphrase: optionWithoutDefault(
    'Backups',
    text('PASSPHRASE', PASSPHRASE_FORM, isPassphrase),
    'Passphrase that encrypts backups, instead of backupPassphraseFile.',
    'none',
    { isSecret: true },
  ),

  tlsCertificate: optionWithoutDefault(
    'TLS',
    FILE,
    'PEM file of the server’s certificate, followed by its intermediates. The server then serves https itself, and loads a changed file within seconds.',
    'plain http, for a proxy that ends TLS',
  ),
  tlsKey: optionWithoutDefault(
    'TLS',
    FILE,
    'PEM file of the certificate’s private key. Others must not be able to read it (docs/secrets.md).',
    'none',
  ),
  mtlsPort: optionWithoutDefault(
    'TLS',
    wholeNumber(0, 65535),
    'Second port, at which the server requests certificates from clients. At the first port it requests none, so browsers show no dialog for certificates there.',
    'none',
    { section: 'RFC 8705 §5', needsRestart: true },
  ),
  mtlsOrigin: optionWithoutDefault(
    'TLS',
    text('ORIGIN', 'an https origin, such as https://mtls.example.com', isHttpsOrigin),
    'Origin at which clients present certificates. The server’s metadata names the endpoints at this origin.',
    'the issuer’s host with the mTLS port; behind a proxy, the issuer’s origin',
    { section: 'RFC 8705 §5' },
  ),
  tlsClientCa: optionWithoutDefault(
    'TLS',
    FILE,
    'PEM file of the CAs that issue certificates to your clients. For tls_client_auth, the server accepts only certificates from these CAs.',
    'none, so no client can authenticate by tls_client_auth at mtlsPort; self_signed_tls_client_auth and tokens bound to certificates need no CAs',
    { section: 'RFC 8705 §2.1' },
  ),
  clientCertificateHeader: optionWithoutDefault(
    'TLS',
    text('NAME', 'a header name', (name) => /^[\w-]+$/.test(name)),
    'Header in which a trusted proxy passes the client’s certificate. The proxy must remove this header from requests that it receives.',
    'none',
    { section: 'RFC 8705 §6.5' },
  ),
  clientCertificateFormat: optionWithoutDefault(
    'TLS',
    oneOf('rfc9440', 'base64', 'pem', 'xfcc'),
    'Format of clientCertificateHeader and tokenCheckCertificateHeader. rfc9440: Base64 between colons (RFC 9440); base64: Base64, also with quotes, colons or a chain (HAProxy, Caddy, Traefik); pem: URL-encoded PEM (nginx); xfcc: X-Forwarded-Client-Cert (Envoy).',
    'rfc9440',
  ),
  clientCertificateVerified: optionWithoutDefault(
    'TLS',
    trueOrFalse,
    'Whether the proxy passes only certificates that it has verified against your CAs. Clients can then also authenticate by tls_client_auth.',
    'false',
    { section: 'RFC 8705 §2.1' },
  ),

  metricsPort: optionWithoutDefault(
    'Monitoring',
    wholeNumber(0, 65535),
    'Separate port at which the server serves /metrics for Prometheus (docs/monitoring.md). 0 picks a free port.',
    'none, so the server has no /metrics, and measures only if the console is on',
    { needsRestart: true },
  ),
  metricsHost: optionWithoutDefault(
    'Monitoring',
    text('HOST', 'a host name or an IP address', isHost),
    'Address to listen on for metrics. Anyone who can connect to it can read the metrics.',
    '127.0.0.1',
    { needsRestart: true },
  ),
  metricsClients: optionWithoutDefault(
    'Monitoring',
    wholeNumber(0, 1000),
    'Maximum number of clients that metrics name. Each process names the first clients that send it a request, and counts all further clients together as “other”.',
    '100',
    { needsRestart: true },
  ),

  tracing: option(
    'Monitoring',
    oneOf('off', 'otlp'),
    'Whether the server traces requests. With otlp, it sends spans to the OpenTelemetry collector in the variables OTEL_EXPORTER_OTLP_… (docs/monitoring.md).',
    'off',
    { needsRestart: true },
  ),

  adminApi: option(
    'Administration',
    trueOrFalse,
    'Whether the server serves the admin API below ISSUER/admin (docs/admin_api.md).',
    false,
  ),
  adminFrom: option(
    'Administration',
    textList(
      'ADDRESSES',
      'IP addresses or networks such as 10.0.0.0/8, separated by commas, or a list of them',
      (network) => parseNetwork(network) !== undefined,
      1,
    ),
    'Addresses from which clients can use the admin API and the console. Other addresses get 404, as do requests with a header of a proxy, such as X-Forwarded-For, if trustedProxies does not list the proxy.',
    ['127.0.0.0/8', '::1'],
    { defaultInWords: 'this machine: 127.0.0.0/8, ::1' },
  ),
  adminGroup: optionWithoutDefault(
    'Administration',
    text('NAME', 'the name of a group', (name) => name.trim() !== ''),
    'Group whose members may use the console. Members may also use the admin API, through a client that only this group may use (docs/admin_api.md).',
    'none, so no user may use the console or the API, only clients that act for themselves (client_credentials)',
  ),
  console: option(
    'Administration',
    trueOrFalse,
    'Whether the server has web pages for operators at ISSUER/console (docs/console.md). Needs adminGroup. Only addresses in adminFrom can open the pages.',
    false,
  ),
  consoleSignInPolicy: option(
    'Administration',
    oneOf('second_factor', 'phishing_resistant', 'second_factor_if_enrolled', 'password'),
    'What users need to sign in to the console, if it is more than signInPolicy requires. The values mean the same as for signInPolicy.',
    'second_factor',
  ),
  adminRequestLimit: option(
    'Administration',
    wholeNumber(1, 1_000_000),
    'Maximum requests of one client to the admin API in a minute, per process. The server counts as many different invalid tokens of one IP address, and an IPv6 /48 as four addresses. Tokens that have been valid go on.',
    600,
  ),

  operatorName: optionWithoutDefault(
    'Pages',
    text('NAME', 'a text of at most 80 characters', (name) => /^\S.{0,79}$/u.test(name)),
    'Operator name shown to users.',
    'the host of the issuer',
  ),
  operatorLogo: optionWithoutDefault(
    'Pages',
    text('FILE', `a file that ends in ${PICTURE_ENDS.join(', ')}`, (path) =>
      PICTURE_ENDS.includes(extname(path).toLowerCase()),
    ),
    'Operator logo on the pages: an image of at most 256 KiB that is readable on white.',
    'the initials of the name',
  ),
  operatorColor: optionWithoutDefault(
    'Pages',
    text('#RRGGBB', 'a colour as #rrggbb', (color) => /^#[0-9a-f]{6}$/i.test(color)),
    'Operator colour on the pages. If a page belongs to an application that has its own colour (brand_color), it uses that colour instead.',
    'a dark green',
  ),

  theme: optionWithoutDefault(
    'Pages',
    text('FILE', 'a file in YAML or JSON', (path) => path.trim() !== ''),
    'Theme of the pages: logo, colours, font, texts and links (docs/branding.md). If the theme has a logo, do not set operatorLogo. If it has a brand colour, do not set operatorColor. Otherwise, the server does not start.',
    'none',
  ),
  languages: optionWithoutDefault(
    'Pages',
    text('FOLDER', 'a folder path', (path) => path.trim() !== ''),
    'Folder with a file of texts for each further language of the pages, such as fr.yaml (docs/branding.md).',
    'none, so the pages are in English and German',
  ),

  smtpUrl: optionWithoutDefault(
    'Users',
    text('URL', 'smtp://USER@HOST:PORT or smtps://USER@HOST:PORT', isSmtpUrl),
    'SMTP server for emails to users: smtps:// for TLS from the start, smtp:// for STARTTLS, which is required unless the host is on loopback. Pass a password in the URL in the variable or the config file. Never pass it in the flag, because every user of the machine can see arguments.',
    'none, so the server sends no emails; with --demo, a page shows them',
  ),
  mailFrom: optionWithoutDefault(
    'Users',
    text('SENDER', 'an address such as login@example.com, or NAME <ADDRESS>', isSender),
    'Sender of the emails.',
    'none; required with smtpUrl',
  ),
  signUp: option(
    'Users',
    oneOf('off', 'open'),
    'Whether anyone with an email address may create an account. The server verifies the address first.',
    'off',
  ),
  signUpDomains: optionWithoutDefault(
    'Users',
    textList('DOMAINS', 'domains such as example.com, separated by commas, or a list of them', isDomain, 1),
    'Domains whose email addresses may sign up. Subdomains are not included.',
    'all',
  ),
  emailCode: option(
    'Users',
    oneOf('off', 'also', 'first'),
    'Whether the server emails users a code of six digits with which they sign in instead of a password. also: the sign-in page has a second button for it; first: the page asks for the password only on request. A code counts as much as a password, so a second factor is still asked for (docs/sign_in.md).',
    'off',
  ),
  emailCodeGroups: optionWithoutDefault(
    'Users',
    textList(
      'GROUPS',
      'names of groups, separated by commas, or a list of them',
      (name) => name.trim() !== '',
      1,
    ),
    'Groups whose members get codes by email. The groups must exist.',
    'all users',
  ),
  emailCodeClients: optionWithoutDefault(
    'Users',
    textList(
      'CLIENTS',
      'IDs of clients, separated by commas, or a list of them',
      (id) => id.trim() !== '',
      1,
    ),
    'Clients whose users can sign in with a code by email. The clients must exist. The list says where the sign-in page offers codes: a session that began with one also opens other clients, unless their sign_in_policy needs more.',
    'all clients, and the pages of this server',
  ),
  insecureEmailCodeForAdministrators: option(
    'Users',
    trueOrFalse,
    'Whether members of adminGroup get codes by email too. Then everyone who reads the mailbox of an administrator can sign in as this administrator.',
    false,
  ),
  passwordMinLength: option(
    'Users',
    wholeNumber(8, 128),
    'Minimum characters of passwords that users choose. The server also rejects common passwords and the username.',
    12,
  ),
  providers: optionWithoutDefault(
    'Users',
    FILE,
    'JSON file with the identity providers at which users can sign in, such as Google (docs/providers.md).',
    'none',
  ),
  trustedIssuers: optionWithoutDefault(
    'Endpoints',
    FILE,
    'JSON file with issuers whose tokens authenticate workloads, such as Kubernetes (docs/workloads.md), or are grants for users (docs/jwt_bearer.md).',
    'none',
  ),

  ...PERSONAL_TOKEN_OPTIONS,
  ...DIRECTORY_OPTIONS,
  ...ENDPOINT_OPTIONS,
};

export type { StoredClaims } from './endpoint_options.ts';

export type OptionName = keyof typeof OPTIONS;

export const OPTION_NAMES = Object.keys(OPTIONS) as readonly OptionName[];

/** The values of all options. */
export type Settings = ValuesOf<typeof OPTIONS>;

export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

export function variableOf(name: string): string {
  return `GRANTD_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

function isHost(host: string): boolean {
  return /^[A-Za-z0-9._:-]+$/.test(host);
}

function isSecret(secret: string): boolean {
  return secret.length >= 32;
}

/** Whether the server counts what it does: for metrics, or for the charts of the console. */
export function isMeasured({ metricsPort, console }: Pick<Settings, 'metricsPort' | 'console'>): boolean {
  return metricsPort !== undefined || console;
}
