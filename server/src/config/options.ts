import { isIP, isIPv4, isIPv6 } from 'node:net';
import { extname } from 'node:path';
import { type ApplicationClaim, type ClaimsByScope, isIssuer } from '@grantd/core';
import {
  block,
  isJsonObject,
  milliseconds,
  oneOf,
  option,
  optionWithoutDefault,
  REGISTRATION_OPTIONS,
  SHARED_OPTIONS,
  seconds,
  switchOrBlock,
  text,
  textList,
  textOrArray,
  trueOrFalse,
  type ValuesOf,
  wholeNumber,
} from '@grantd/core/options';
import { PICTURE_TYPES } from './picture.ts';

/** What a database URL may look like; ends the sentence "expected …". */
const DATABASE_URL_FORM = 'sqlite:PATH or postgres://USER@HOST:PORT/DATABASE';

export function isDatabaseUrl(url: string): boolean {
  return isPostgresUrl(url) ? isReadable(url) : /^sqlite:(?!:memory:$).+/.test(url);
}

export function isPostgresUrl(url: string): boolean {
  return /^postgres(ql)?:\/\//.test(url);
}

/** Whether the URL of a PostgreSQL database tells the password as well. */
export function hasPassword(url: string): boolean {
  const { password, searchParams } = new URL(url);
  return password !== '' || searchParams.has('password');
}

/** The URL of a PostgreSQL database as it may be shown. */
export function withoutPassword(url: string): string {
  const shown = new URL(url);
  shown.password = '';
  shown.searchParams.delete('password');
  return shown.href;
}

/**
 * A `#`, `%`, `/` or `?` that was not encoded would cut off or change what stands around it: a password has such
 * characters. After the last two, its `@` stands where none belongs.
 */
function isReadable(url: string): boolean {
  if (!URL.canParse(url) || url.includes('#') || /%(?![0-9a-f]{2})/i.test(url)) return false;
  const { pathname, search } = new URL(url);
  return !`${pathname}${search}`.includes('@');
}

/** Neighbouring addresses: those that begin with the same bits. */
interface Network {
  readonly address: string;
  readonly prefixBits: number;
  readonly family: 'ipv4' | 'ipv6';
}

/** An address, or a network in CIDR notation (RFC 4632 §3.1). @returns `undefined` where the text is neither */
export function parseNetwork(text: string): Network | undefined {
  const [, address = '', prefix] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  if (version === 0) return undefined;
  const bits = version === 4 ? 32 : 128;
  const prefixBits = prefix === undefined ? bits : Number(prefix);
  return prefixBits <= bits ? { address, prefixBits, family: `ipv${version === 4 ? 4 : 6}` } : undefined;
}

/** Whether a host can be reached from this machine alone. */
export function isLoopback(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, '$1');
  if (isIPv4(address)) return address.startsWith('127.');
  if (isIPv6(address)) return address === '::1' || address === '0:0:0:0:0:0:0:1';
  return address === 'localhost' || address.endsWith('.localhost');
}

const PICTURE_ENDS = [...PICTURE_TYPES.keys()];

/**
 * Every option of the program: flags, variables, the configuration file, validation, messages and help come from here.
 * Those of the library come from its own table.
 */
export const OPTIONS = {
  port: option('Server', wholeNumber(0, 65535), 'Port to listen on; 0 takes a free one.', 4000),
  host: option(
    'Server',
    text('HOST', 'a host name or an IP address', isHost),
    'Address to listen on.',
    '127.0.0.1',
  ),
  issuer: optionWithoutDefault(
    'Server',
    text('URL', 'an http or https URL without query, fragment and credentials', isIssuer),
    'URL that names this server, base of every other URL; stored in the database at the first start.',
    'the stored one, or http://localhost:PORT',
  ),
  database: option(
    'Server',
    text('URL', DATABASE_URL_FORM, isDatabaseUrl),
    'The database: an SQLite file, relative to the current folder, or PostgreSQL. Set the password of PostgreSQL in PGPASSWORD, or in the URL of the variable or the file, never in the flag: every user of the machine can see arguments.',
    'sqlite:grantd-data/grantd.db',
  ),
  create: optionWithoutDefault(
    'Server',
    trueOrFalse,
    'Whether to create a missing database.',
    'an SQLite file is created unless traces of an earlier one are left beside it; the tables in an empty PostgreSQL database are not',
  ),
  databaseConnections: option(
    'Server',
    wholeNumber(1, 1000),
    'Connections to PostgreSQL that a process keeps at most.',
    10,
  ),
  databaseConnectTimeoutMs: option(
    'Server',
    milliseconds(1),
    'Milliseconds to wait for a connection to PostgreSQL; then the request fails with 503.',
    2000,
  ),
  databaseStatementTimeoutMs: option(
    'Server',
    milliseconds(1),
    'Milliseconds to wait for PostgreSQL to answer a statement; then the request fails with 503.',
    5000,
  ),
  secret: optionWithoutDefault(
    'Server',
    textOrArray(
      'SECRET',
      'a text of at least 32 characters, or a JSON array of them, the newest first',
      isSecret,
    ),
    'Secret from which all keys derive. To rotate it, set an array: the server uses the first and accepts all (docs/secrets.md).',
    'with SQLite, the file PATH.secret beside the database, created at the first start; with PostgreSQL it is required',
    { isSecret: true },
  ),
  pairwiseSecret: optionWithoutDefault(
    'Server',
    text('SECRET', 'a text of at least 32 characters', isSecret),
    'Secret for pairwise subject identifiers. It must never change, since each identifier would change with it.',
    'created at the first start and kept in the database, sealed under the server’s secret',
    { isSecret: true },
  ),
  trustedProxies: optionWithoutDefault(
    'Server',
    textList(
      'ADDRESSES',
      'IP addresses or networks such as 10.0.0.0/8, separated by commas, or a list of them',
      (network) => parseNetwork(network) !== undefined,
    ),
    'Proxies whose X-Forwarded-For is trusted. Behind any other proxy all visitors share one IP address, so ten wrong passwords lock a username in every new browser.',
    'none',
  ),
  workers: option('Server', wholeNumber(1, 64), 'Processes that share the port and the database.', 1),
  shutdownDelay: option(
    'Server',
    seconds(0, 3600),
    'Seconds after SIGTERM for which requests are still answered while /health/ready already fails and every answer closes its connection.',
    5,
  ),
  demo: option(
    'Server',
    trueOrFalse,
    'Adds demo data with known passwords; listens on loopback only.',
    false,
  ),
  log: option(
    'Server',
    oneOf('json', 'pretty', 'off'),
    'How requests and events are logged on stdout.',
    'json',
  ),
  sweepInterval: option(
    'Server',
    wholeNumber(1, 24 * 60 * 60),
    'Seconds between two sweeps of expired rows.',
    60,
  ),
  eventRetention: option(
    'Server',
    seconds(1),
    'Seconds for which events, such as revocations, are kept; then a sweep deletes them.',
    30 * 24 * 60 * 60,
  ),
  cachedTokens: option(
    'Server',
    wholeNumber(0, 10_000_000),
    'Access tokens that a process on SQLite caches at most, each less than 1 kB; 0 turns the cache off.',
    200_000,
  ),
  sessionLifetime: option(
    'Server',
    seconds(1),
    'Seconds after which a person signs in again, even in a browser that is in use.',
    12 * 60 * 60,
  ),
  sessionIdleLifetime: option(
    'Server',
    seconds(1),
    'Seconds without a visit from an application after which a browser is signed out.',
    4 * 60 * 60,
  ),

  operatorName: optionWithoutDefault(
    'Pages',
    text('NAME', 'a text of at most 80 characters', (name) => /^\S.{0,79}$/u.test(name)),
    'Name of the operator, as people know it.',
    'the host of the issuer',
  ),
  operatorLogo: optionWithoutDefault(
    'Pages',
    text('FILE', `a file that ends in ${PICTURE_ENDS.join(', ')}`, (path) =>
      PICTURE_ENDS.includes(extname(path).toLowerCase()),
    ),
    'Logo of the operator, readable on white: a file of at most 256 KiB.',
    'the first letter of the name',
  ),
  operatorColor: optionWithoutDefault(
    'Pages',
    text('#RRGGBB', 'a colour as #rrggbb', (color) => /^#[0-9a-f]{6}$/i.test(color)),
    'Colour of the operator, for pages without an application, or whose application has no colour.',
    'a dark green',
  ),

  ...SHARED_OPTIONS,
  introspectionPolicy: { ...SHARED_OPTIONS.introspectionPolicy, kind: oneOf('any_client', 'audience') },
  // Shorter, and cheaper than a signature. The library's own default is what hosts of its contract expect.
  useOpaqueRefreshTokens: { ...SHARED_OPTIONS.useOpaqueRefreshTokens, byDefault: true },
  oidc: option(
    'Endpoints',
    switchOrBlock('true, false or {"claimsByScope": {"SCOPE": ["CLAIM", …], …}}', readOidcBlock),
    'Whether OpenID Connect with UserInfo is on; in the file also which scope permits which claims.',
    true,
  ),
  applicationClaims: optionWithoutDefault(
    'Endpoints',
    block(
      '{"CLAIM": {"from": "STORED CLAIM", "in": ["access_token", …], "scopes": […], "clients": […], "apis": […], "live": true|false}, …}',
      readApplicationClaims,
    ),
    'Claims of a person that tokens, UserInfo and introspection carry. Declare them in the file (docs/application_claims.md).',
    'none',
  ),
  registration: option(
    'Endpoints',
    oneOf('off', 'token', 'open'),
    'Who may register a client (RFC 7591): no one, callers with a token of grantd client registration-token, or anyone.',
    'off',
  ),
  registrationScopes: REGISTRATION_OPTIONS.scopes,
  registrationApis: REGISTRATION_OPTIONS.apis,
  registrationLimit: REGISTRATION_OPTIONS.mostClients,
  registrationAssertionAudience: REGISTRATION_OPTIONS.assertionAudience,
  registrationInsecureAllowMissingPkce: REGISTRATION_OPTIONS.insecureAllowMissingPkce,
  insecureDevelopment: option(
    'Endpoints',
    trueOrFalse,
    'For development only. Allows an http issuer off loopback, lets clients that register themselves use http and localhost, and fetches what clients name by URL from private addresses too.',
    false,
  ),
};

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

/** The declarations of claims; the library checks all but `from`. */
export type StoredClaims = Readonly<Record<string, ApplicationClaim & { readonly from?: string }>>;

function readApplicationClaims(given: Readonly<Record<string, unknown>>): StoredClaims | undefined {
  const isClaim = (claim: unknown) =>
    isJsonObject(claim) &&
    Array.isArray(claim.in) &&
    (claim.from === undefined || (typeof claim.from === 'string' && claim.from !== ''));
  return Object.values(given).every(isClaim) ? (given as StoredClaims) : undefined;
}

function readOidcBlock(
  block: Readonly<Record<string, unknown>>,
): { claimsByScope: ClaimsByScope } | undefined {
  const { claimsByScope, ...unknown } = block;
  if (!isClaimsByScope(claimsByScope) || Object.keys(unknown).length > 0) return undefined;
  return { claimsByScope };
}

function isClaimsByScope(value: unknown): value is ClaimsByScope {
  return (
    isJsonObject(value) &&
    Object.values(value).every(
      (claims) => Array.isArray(claims) && claims.every((claim) => typeof claim === 'string'),
    )
  );
}
