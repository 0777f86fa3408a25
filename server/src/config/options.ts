import { extname } from 'node:path';
import {
  ASSERTION_AUDIENCES,
  type ClaimsByScope,
  isIssuer,
  isScopeToken,
  LONGEST_ID_TOKEN_LIFETIME,
  SIGNING_ALGORITHMS,
} from '@grantd/core';
import { PICTURE_TYPES } from '../pages/picture.ts';
import { DATABASE_URL_FORM, isDatabaseUrl } from './database_url.ts';
import {
  isBlock,
  type Kind,
  milliseconds,
  oneOf,
  seconds,
  switchOrBlock,
  text,
  textList,
  textOrArray,
  trueOrFalse,
  wholeNumber,
} from './kinds.ts';
import { parseNetwork } from './networks.ts';

/**
 * One option of the program. Its name in the table is its name in the configuration file; flag and environment
 * variable follow from it: `accessTokenFormat`, `--access-token-format`, `GRANTD_ACCESS_TOKEN_FORMAT`.
 */
export interface Option<V, D extends V | undefined = V | undefined> {
  readonly kind: Kind<V>;
  readonly group: Group;
  /** One sentence, for the help. */
  readonly about: string;
  readonly byDefault: D;
  /** The default in words, where it is not a fixed value. */
  readonly defaultInWords?: string;
  /** Secrets have none: arguments are visible to every user of the machine. */
  readonly hasFlag: boolean;
}

export type Group = 'Server' | 'Pages' | 'Endpoints' | 'Tokens' | 'Lifetimes';

const PICTURE_ENDS = [...PICTURE_TYPES.keys()];

const algorithm = oneOf(...SIGNING_ALGORITHMS);

/** Every option, once: flags, variables, file, validation, messages and help come from here. */
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
    'Where everything is kept: in an SQLite file, whose relative path begins in the folder where the command is typed, or on PostgreSQL, whose password belongs into PGPASSWORD, or into the URL in the variable or the file, since arguments are visible to every user of the machine.',
    'sqlite:grantd-data/grantd.db',
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
    'Milliseconds after which PostgreSQL that lets nobody in, or a free connection that does not come, is an outage.',
    2000,
  ),
  databaseStatementTimeoutMs: option(
    'Server',
    milliseconds(1),
    'Milliseconds after which PostgreSQL that does not answer a statement is an outage.',
    5000,
  ),
  secret: {
    ...optionWithoutDefault(
      'Server',
      textOrArray(
        'SECRET',
        'a text of at least 32 characters, or a JSON array of them, the newest first',
        isSecret,
      ),
      'Secret that all keys derive from; of an array the first is used and all are accepted.',
      'what is in the file PATH.secret beside an SQLite database, made at the first start; with PostgreSQL there is none',
    ),
    hasFlag: false,
  },
  pairwiseSecret: {
    ...optionWithoutDefault(
      'Server',
      text('SECRET', 'a text of at least 32 characters', isSecret),
      'Secret from which the pairwise subject identifiers of people are calculated; it must never change, since each of them would be another.',
      'one that is made at the first start and kept in the database, sealed under the server’s secret; a start with the former secret behind the new one seals it anew',
    ),
    hasFlag: false,
  },
  trustedProxies: optionWithoutDefault(
    'Server',
    textList(
      'ADDRESSES',
      'IP addresses or networks such as 10.0.0.0/8, separated by commas, or a list of them',
      (network) => parseNetwork(network) !== undefined,
    ),
    'Proxies whose X-Forwarded-For is believed; everyone behind any other proxy counts as one place, from which ten wrong passwords keep a name from all browsers that are new to it.',
    'none',
  ),
  workers: option('Server', wholeNumber(1, 64), 'Processes that share the port and the database.', 1),
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
  sessionLifetime: option(
    'Server',
    seconds(1),
    'Seconds after which a person signs in again, however often a browser was used meanwhile.',
    12 * 60 * 60,
  ),
  sessionIdleLifetime: option(
    'Server',
    seconds(1),
    'Seconds after which a browser that no application has sent here meanwhile is signed out.',
    4 * 60 * 60,
  ),

  operatorName: optionWithoutDefault(
    'Pages',
    text('NAME', 'a text of at most 80 characters', (name) => /^\S.{0,79}$/u.test(name)),
    'Who runs this server, as people know them.',
    'the host of the issuer',
  ),
  operatorLogo: optionWithoutDefault(
    'Pages',
    text('FILE', `a file that ends in ${PICTURE_ENDS.join(', ')}`, (path) =>
      PICTURE_ENDS.includes(extname(path).toLowerCase()),
    ),
    'Their logo, a file of at most 256 KiB; it can be read on white.',
    'the first letter of the name',
  ),
  operatorColor: optionWithoutDefault(
    'Pages',
    text('#RRGGBB', 'a colour as #rrggbb', (color) => /^#[0-9a-f]{6}$/i.test(color)),
    'Their colour, of pages that are shown on behalf of no application, or of one without a colour.',
    'a dark green',
  ),

  authenticateIntrospect: option(
    'Endpoints',
    trueOrFalse,
    'Whether callers of introspection authenticate (RFC 7662 §2.1).',
    true,
  ),
  authenticateRevoke: option(
    'Endpoints',
    trueOrFalse,
    'Whether callers of revocation authenticate (RFC 7009 §2.1).',
    true,
  ),
  introspectionRequiresConfidentialClient: option(
    'Endpoints',
    trueOrFalse,
    'Whether public clients are kept from introspection.',
    true,
  ),
  introspectionPolicy: option(
    'Endpoints',
    oneOf('any_client', 'audience'),
    'Who may introspect which token: any client, or only its own client and the APIs it is meant for.',
    'any_client',
  ),
  ignoreUnknownTokenTypeHints: option(
    'Endpoints',
    trueOrFalse,
    'Whether a token_type_hint that the server does not know is ignored instead of refused (RFC 7009 §2.2.1); a client can have this of its own.',
    false,
  ),
  userInfoAudiences: optionWithoutDefault(
    'Endpoints',
    textList('AUDIENCE', 'a text or a list of texts, none empty', (one) => one !== ''),
    'Audiences (aud) of access tokens that UserInfo accepts, such as the issuer; several separated by commas.',
    'any',
  ),
  oidc: option(
    'Endpoints',
    switchOrBlock('true, false or {"claimsByScope": {"SCOPE": ["CLAIM", …], …}}', readOidcBlock),
    'Whether OpenID Connect with UserInfo is on; in the file also which scope permits which claims.',
    true,
  ),
  registration: option(
    'Endpoints',
    oneOf('off', 'token', 'open'),
    'Who may register a client (RFC 7591): nobody, whoever has a token of grantd client registration-token, or anyone who reaches the server.',
    'off',
  ),
  registrationScopes: optionWithoutDefault(
    'Endpoints',
    textList('SCOPE', 'a scope or a list of scopes', isScopeToken),
    'Scopes that clients which register themselves may obtain; several separated by commas.',
    'those of OpenID Connect and offline_access',
  ),
  registrationLimit: option(
    'Endpoints',
    wholeNumber(1, 1_000_000),
    'How many clients there can be that have registered themselves; who comes later is refused with 429.',
    10_000,
  ),
  registrationAssertionAudience: option(
    'Endpoints',
    oneOf(...ASSERTION_AUDIENCES),
    'What clients which register themselves may name as the audience of their assertions: the issuer alone, or also the URL of the endpoint, by which another server could be meant as well.',
    'issuer',
  ),
  requirePushedAuthorizationRequests: option(
    'Endpoints',
    trueOrFalse,
    'Whether every authorization request must be pushed (RFC 9126 §5); a client can be made to by itself.',
    false,
  ),
  requestUriHosts: optionWithoutDefault(
    'Endpoints',
    textList('HOST', 'hosts in lower case such as client.example:8443', (text) =>
      /^[a-z0-9.[\]:-]+$/.test(text),
    ),
    'Hosts of which a request_uri is fetched (RFC 9101 §5.2) although the client did not register it; several separated by commas.',
    'none',
  ),
  insecureDevelopment: option(
    'Endpoints',
    trueOrFalse,
    'For development alone: clients that register themselves may use http and localhost, and what they name by URL is fetched from private addresses too.',
    false,
  ),
  allowConfidentialClientsWithoutPkce: option(
    'Endpoints',
    trueOrFalse,
    'Lets confidential clients leave out PKCE, which exposes them to code injection (RFC 9700 §2.1.1).',
    false,
  ),

  accessTokenFormat: option(
    'Tokens',
    oneOf('jwt', 'opaque'),
    'Format of new access tokens (RFC 9068).',
    'jwt',
  ),
  accessTokenAlgorithm: option('Tokens', algorithm, 'What signs new access tokens.', 'RS256'),
  idTokenAlgorithm: option('Tokens', algorithm, 'What signs new ID tokens.', 'RS256'),
  useOpaqueRefreshTokens: option(
    'Tokens',
    trueOrFalse,
    'Whether new refresh tokens are opaque, not JWTs.',
    false,
  ),
  defaultAudience: optionWithoutDefault(
    'Tokens',
    textList('AUDIENCE', 'a text or a list of texts, none empty', (one) => one !== ''),
    'Whom access tokens are meant for (aud); several separated by commas.',
    'the issuer',
  ),

  accessTokenLifetime: option('Lifetimes', seconds(1), 'Seconds that an access token lives.', 3600),
  refreshTokenLifetime: option(
    'Lifetimes',
    seconds(1),
    'Seconds that a refresh token lives, counted anew at each rotation.',
    14 * 24 * 60 * 60,
  ),
  idTokenLifetime: option(
    'Lifetimes',
    seconds(1, LONGEST_ID_TOKEN_LIFETIME),
    'Seconds that an ID token lives.',
    3600,
  ),
  pushedRequestLifetime: option(
    'Lifetimes',
    seconds(1),
    'Seconds in which the browser must bring a pushed authorization request.',
    60,
  ),
  authorizationCodeLifetime: option('Lifetimes', seconds(1), 'Seconds that an authorization code lives.', 60),
  refreshGrace: option(
    'Lifetimes',
    seconds(0),
    'Seconds in which the predecessor of a rotated refresh token may be retried.',
    10,
  ),
};

export type OptionName = keyof typeof OPTIONS;

export const OPTION_NAMES = Object.keys(OPTIONS) as readonly OptionName[];

/** The values of all options. */
export type Settings = {
  readonly [Name in OptionName]: (typeof OPTIONS)[Name] extends Option<infer V, infer D>
    ? V | Extract<D, undefined>
    : never;
};

export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

export function variableOf(name: string): string {
  return `GRANTD_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

function option<V>(group: Group, kind: Kind<V>, about: string, byDefault: NoInfer<V>): Option<V, V> {
  return { group, kind, about, byDefault, hasFlag: true };
}

function optionWithoutDefault<V>(
  group: Group,
  kind: Kind<V>,
  about: string,
  defaultInWords: string,
): Option<V, undefined> {
  return { group, kind, about, byDefault: undefined, defaultInWords, hasFlag: true };
}

function isHost(host: string): boolean {
  return /^[A-Za-z0-9._:-]+$/.test(host);
}

function isSecret(secret: string): boolean {
  return secret.length >= 32;
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
    isBlock(value) &&
    Object.values(value).every(
      (claims) => Array.isArray(claims) && claims.every((claim) => typeof claim === 'string'),
    )
  );
}
