// The program within an application: the same server and pages, without a port, signals and a process of their own.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AuthorizationServer, type Claims, type GetUserClaims, pathOf } from '@grantd/core';
import { isJsonObject } from '@grantd/core/options';
import { endAccess, MAX_CLAIMS_LENGTH, removePerson, setPersonDisabled } from './admin/user_rules.ts';
import { type Configuration, embeddedConfiguration } from './config/configuration.ts';
import { OPTION_NAMES, OPTIONS } from './config/options.ts';
import { type Provider, readProviders } from './config/providers.ts';
import { ConfigurationRefused } from './config/refused.ts';
import { claimsOf, type People, userClaims } from './data/people.ts';
import { type Directory, DirectoryFault, type DirectoryUser } from './directory/contract.ts';
import { refuseInsecureIssuer } from './instance/instance.ts';
import { type Log, LogOutput, logTo } from './log/log.ts';
import { causeOf } from './log/logged_error.ts';
import {
  refuseContradictoryDirectory,
  refuseContradictoryGateways,
  refuseContradictoryMail,
  refuseOpenAdministration,
} from './serve/exposure.ts';
import { openService } from './serve/service.ts';

export { ConfigurationRefused, Refused } from './config/refused.ts';

/** A user of the application. */
export interface HostUser {
  /**
   * Names the user in tokens (`sub`). Never changes, and is never given to another user: at most 255 ASCII characters
   * (OpenID Connect Core §2). Users with more than 64 cannot add passkeys (WebAuthn §4, user handle).
   */
  readonly subject: string;
  /** What the user types to sign in. At most 128 characters; pages show it. */
  readonly username: string;
  /**
   * Claims for UserInfo and ID tokens, such as `name`, `email` and `email_verified`: at most 16384 characters of JSON.
   * Default: none.
   */
  readonly claims?: Claims;
  /** The names of groups whose member the user is. Those that `HostUsers.groups` lacks are ignored. Default: none. */
  readonly groups?: readonly string[];
  /** Whether the user may not sign in. Default: `false`. */
  readonly isDisabled?: boolean;
}

/**
 * The users of the application. If a method rejects, or resolves with something else than a user, the page or endpoint
 * answers 503: that says nothing about the user.
 */
export interface HostUsers {
  /**
   * Checks a password. Take as long for an unknown name as for a wrong password. grantd limits the attempts.
   * @returns `undefined` if there is no such user or the password is wrong
   */
  authenticate(username: string, password: string): Promise<HostUser | undefined>;
  /**
   * Looks a user up: before a sign-in without the password, such as by a passkey, and for every UserInfo response and ID
   * token, so that their claims are current.
   * @returns `undefined` if the user no longer exists
   */
  find(subject: string): Promise<HostUser | undefined>;
  /** Names of groups of grantd about which the application decides. Default: none. */
  readonly groups?: readonly string[];
}

/** Options that concern a port, a process or the log of its own, or the directory that `users` takes the place of. */
const OPTIONS_OF_THE_PROGRAM = OPTION_NAMES.filter(
  (name) =>
    ['TLS', 'Monitoring', 'Directory'].includes(OPTIONS[name].group) ||
    ['port', 'host', 'workers', 'shutdownDelay', 'demo', 'log'].includes(name),
);

/** What the application brings, and options of the program by their names in the config file (docs/configuration.md). */
export interface EmbedOptions {
  /** URL that names the server, with a path that the application leaves to grantd: `https://app.example/auth`. */
  readonly issuer: string;
  /** The application’s own users. Default: the users in grantd’s database, which its commands manage. */
  readonly users?: HostUsers;
  /** Receives the request log and faults. Default: faults and warnings, as JSON lines on standard output. */
  readonly logger?: Log;
  readonly [option: string]: unknown;
}

/** grantd within an application. */
export interface EmbeddedGrantd {
  /** The library’s server, for what the application does with tokens by itself. */
  readonly server: AuthorizationServer;
  /**
   * Serves a request if its path is the issuer’s or below, or one of its well-known documents. Use it before anything
   * that reads bodies, and without a path of its own.
   * @param next called instead, for every other path
   * @returns whether it serves the request. It may still be writing the response
   * @example
   * app.use(grantd.handle);
   */
  readonly handle: (
    request: IncomingMessage,
    response: ServerResponse,
    next?: (error?: unknown) => void,
  ) => boolean;
  /** Ends a user’s sessions and revokes their tokens; they may sign in again. Call it when their password changes. */
  endAccess(subject: string): Promise<void>;
  /**
   * Disables a user, or enables them again. Disabling also ends their sessions and tokens. Call it when the application
   * disables a user: `isDisabled` alone keeps them from signing in, and present sessions and refresh tokens go on.
   */
  setDisabled(subject: string, isDisabled: boolean): Promise<void>;
  /** Removes what grantd knows about a user, with sessions and tokens. It never accepts the subject again. */
  removeUser(subject: string): Promise<void>;
  /** Finishes what requests have left, and closes the database. Call it when no request is pending. */
  close(): Promise<void>;
}

/**
 * Opens grantd within an application. Its endpoints, pages, sessions, consents and second factors are those of the
 * program, below the path of the issuer (ADR 95).
 * @throws {ConfigurationRefused} an option is unknown, invalid, or one of the program alone; the message names it
 * @throws {Refused} the database cannot be served
 * @example
 * const grantd = await embed({ issuer: 'https://app.example/auth', database: 'sqlite:grantd.db', users });
 * app.use(grantd.handle);
 */
export async function embed({ users, logger, ...options }: EmbedOptions): Promise<EmbeddedGrantd> {
  const configuration = embeddedConfiguration(options);
  const foreign = OPTIONS_OF_THE_PROGRAM.find((name) => options[name] !== undefined);
  if (foreign !== undefined)
    throw new ConfigurationRefused(`${foreign}: expected no value, because the application takes care of it`);
  const basePath = pathOfIssuer(options.issuer);
  refuseInsecureIssuer(configuration);
  refuseContradictoryDirectory(configuration);
  refuseContradictoryGateways(configuration);
  refuseContradictoryMail(configuration);
  refuseOpenAdministration(configuration);
  if (users !== undefined && configuration.settings.signUp === 'open')
    throw new ConfigurationRefused(
      'signUp: expected off with users, because a stranger could take the username of a user of the application',
    );
  if (users !== undefined) refuseNewUsersOfProviders(configuration);
  const log = logger ?? ownLog();
  const service = await openService(configuration, process.env, {
    log,
    sweeps: true,
    ownsGlobals: false,
    isReload: false,
    isEnding: () => false,
    users: users && { directory: directoryOf(users), claimsOf: (people) => currentClaims(users, people) },
  });
  const { instance, server, watch } = service;
  let isLost = false;
  const lose = () => {
    isLost = true;
  };
  service.run({
    onCorrupt: lose,
    onFailure: (error) => log.fatal({ event: 'background_work_failed', cause: causeOf(error) }),
  });
  void watch.replaced.then(() => {
    log.fatal({ event: 'database_replaced', database: service.name });
    lose();
  });
  const metadataPath = `/.well-known/oauth-authorization-server${basePath}`;
  const isOwn = (path: string) =>
    path === basePath || path.startsWith(`${basePath}/`) || path === metadataPath;
  return {
    server,
    handle(request, response, next) {
      const { url = '' } = request;
      if ('originalUrl' in request && request.originalUrl !== url)
        throw new Error('handle: expected to be used without a path, because it compares whole paths');
      if (!isOwn(pathOf({ url }))) {
        next?.();
        return false;
      }
      // A request after a loss would read or write another file.
      if (isLost) response.writeHead(503, { 'cache-control': 'no-store', 'content-length': 0 }).end();
      else service.listener(request, response);
      return true;
    },
    async endAccess(subject) {
      await endAccess(instance, { subject });
    },
    async setDisabled(subject, isDisabled) {
      await setPersonDisabled(instance, { subject }, isDisabled);
    },
    async removeUser(subject) {
      await removePerson(instance, { subject });
    },
    async close() {
      try {
        await service.stop();
      } finally {
        await service.end();
      }
    },
  };
}

/** @throws {ConfigurationRefused} a provider could give a stranger the username of a user of the application */
function refuseNewUsersOfProviders(configuration: Configuration): void {
  const creates = ({ createUsers }: Provider) =>
    typeof createUsers === 'boolean' ? createUsers : createUsers.length > 0;
  const provider = readProviders(configuration, process.env).find(creates);
  if (provider !== undefined)
    throw new ConfigurationRefused(
      `providers: ${provider.id}: create_users: expected false with users, because a new user of the provider could take the username of a user of the application`,
    );
}

let openedLog: Log | undefined;

/** Faults and warnings on standard output, through one writer in a process. */
function ownLog(): Log {
  openedLog ??= logTo(new LogOutput(), { least: 'warn' });
  return openedLog;
}

/** @throws {ConfigurationRefused} the issuer has no path, or one that ends in a slash */
function pathOfIssuer(issuer: string | undefined): string {
  const pathname = issuer === undefined ? '/' : new URL(issuer).pathname;
  if (pathname.endsWith('/'))
    throw new ConfigurationRefused(
      'issuer: expected a URL with a path such as https://app.example/auth, because the other paths are the application’s',
    );
  return pathname;
}

/** The claims of the application’s users as they are now, and those of local users. */
function currentClaims(users: HostUsers, people: People): GetUserClaims {
  const ofLocal = userClaims(people);
  return async (subject) => {
    const person = await people.bySubject(subject);
    if (person?.directoryId === undefined) return ofLocal(subject);
    const user = await findUser(users, person.directoryId);
    if (user === undefined || user.isDisabled) return undefined;
    const { groups } = person;
    return {
      ...(groups !== undefined && { groups }),
      ...claimsOf({ name: person.name, claims: user.claims }),
    };
  };
}

/** The application’s users as those of a directory. */
function directoryOf(users: HostUsers): Directory {
  return {
    groups: users.groups ?? [],
    claims: 'all',
    areEmailsVerified: false,
    ownsAccounts: true,
    async authenticate(username, password) {
      if (username === undefined) return { refused: 'person_unknown' };
      const user = await askHost(() => users.authenticate(username, password));
      if (user === undefined) return { refused: 'password_wrong' };
      return user.isDisabled ? { refused: 'person_disabled' } : { user };
    },
    byId: (subject) => findUser(users, subject),
    close() {},
  };
}

/** @throws {DirectoryFault} the application rejects, or answers about another user */
async function findUser(users: HostUsers, subject: string): Promise<DirectoryUser | undefined> {
  const user = await askHost(() => users.find(subject));
  // A database that ignores case finds one for another spelling.
  if (user !== undefined && user.id !== subject) throw wrongAnswer('subject', 'the one that was asked for');
  return user;
}

/** @throws {DirectoryFault} the application rejects, or the answer is no user */
async function askHost(ask: () => Promise<HostUser | undefined>): Promise<DirectoryUser | undefined> {
  let user: HostUser | undefined;
  try {
    // Many database libraries resolve with null.
    user = (await ask()) ?? undefined;
  } catch (error) {
    throw new DirectoryFault('the application’s users: the call was rejected', { cause: error });
  }
  return user && directoryUser(user);
}

function wrongAnswer(member: string, expected: string): DirectoryFault {
  return new DirectoryFault(`the application’s users: ${member}: expected ${expected}`);
}

const SUBJECT = /^[\x20-\x7e]{1,255}$/;

const isText = (value: unknown): value is string => typeof value === 'string';

/** Checks the types, because applications without types pass on what their database has: 7 or `1` for `true`. */
function directoryUser({
  subject,
  username,
  claims = {},
  groups = [],
  isDisabled = false,
}: HostUser): DirectoryUser {
  if (!isText(subject) || !SUBJECT.test(subject)) throw wrongAnswer('subject', '1 to 255 ASCII characters');
  if (!isText(username)) throw wrongAnswer('username', 'a text');
  if (!Array.isArray(groups) || !groups.every(isText)) throw wrongAnswer('groups', 'a list of texts');
  if (typeof isDisabled !== 'boolean') throw wrongAnswer('isDisabled', 'true or false');
  return { id: subject, subject, names: [username], claims: asJson(claims), groups, isDisabled };
}

/** Claims as they come back from the database, so that they can be compared. @throws {DirectoryFault} JSON has no such claims */
function asJson(claims: Claims): Claims {
  const expected = `an object, at most ${MAX_CLAIMS_LENGTH} characters of JSON`;
  if (!isJsonObject(claims)) throw wrongAnswer('claims', expected);
  let text: string;
  try {
    text = JSON.stringify(claims);
  } catch {
    throw wrongAnswer('claims', expected);
  }
  if (text.length > MAX_CLAIMS_LENGTH) throw wrongAnswer('claims', expected);
  return JSON.parse(text);
}
