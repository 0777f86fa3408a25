import {
  type AdministrableStorage,
  AuthorizationServer,
  type AuthorizationServerOptions,
  ConfigurationError,
  type FetchDocument,
  type GetUserClaims,
  type SecretDependents,
  type ServerEvent,
  ServerSecret,
} from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import { documentFetcher } from '@grantd/core/node';
import { SHARED_OPTIONS } from '@grantd/core/options';
import type { Configuration } from '../config/configuration.ts';
import { flagOf, isLoopback, type Settings } from '../config/options.ts';
import { ConfigurationRefused, Refused } from '../config/refused.ts';
import type { Database, OpenDatabase } from '../data/database.ts';
import { requireMaking } from '../data/database_of.ts';
import { applicationClaims, userClaims } from '../data/people.ts';
import {
  type ProgramSecret,
  type ProgramSecretUse,
  pairwiseSecretOf,
  sealOfPairwiseSecret,
} from '../data/secrets.ts';
import { type ActorKind, audited } from './audit.ts';

/** Fills an option that nothing asks. */
const UNUSED_SECRET = '-'.repeat(32);

interface InstanceDependents extends SecretDependents {
  /** The place of the secret that the pairwise secret is sealed under; `undefined` if the database keeps none, -1 if it is lost. */
  readonly keptPairwiseSecret: number | undefined;
}

/** One issuer's database, opened, with the secret that belongs to it. Whoever has the database closes it. */
export interface Instance extends OpenDatabase {
  readonly issuer: string;
  readonly database: Database;
  readonly storage: AdministrableStorage;
  /** What clients name by URL, fetched for all parts of the program. */
  readonly fetchDocument: FetchDocument;
  /** @throws {Refused} nobody said what the secret is */
  secret(): ProgramSecret;
  /** The texts of the secret, read once: a file that `secrets rotate` changes meanwhile is for the next start. */
  secretTexts(): readonly string[];
  /** What depends on each of the server's secrets. Changes nothing. */
  secretDependents(): Promise<InstanceDependents>;
  /** The server over this database, its keys opened. */
  server(onEvent?: (event: ServerEvent) => void): Promise<AuthorizationServer>;
}

/**
 * Opens a database for an issuer, which must be the stored one where there is one. A new database gets its secret
 * first, so that there is never one without the other. Nothing is written for options that the library refuses.
 * @param actor who does what is done through the instance
 * @param secretOfStart what the secret was when processes began to serve that this one serves with; what was added since
 *   is accepted as well, but not used for new values
 * @throws {ConfigurationRefused} it does
 * @throws {Refused} the database has no secret, or may not be made, or was made for another issuer meanwhile
 */
export async function openInstance(
  configuration: Configuration,
  database: Database,
  issuer: string,
  actor: ActorKind,
  secretOfStart: readonly string[] = [],
): Promise<Instance> {
  const { settings } = configuration;
  requireAcceptable(configuration, issuer);
  if ((await database.storedIssuer()) === undefined) {
    await requireMaking(settings, database);
    if (settings.secret === undefined) database.prepareSecret();
  }
  const bare = await database.open(issuer);
  const opened = { ...bare, ...audited(bare, actor) };
  // Somebody else may have made it since the caller looked.
  issuerToAdminister(issuer, (await database.storedIssuer()) ?? issuer);
  const { storage, people } = opened;
  const fetchDocument = documentsFromOutside(settings);
  let read: readonly string[] | undefined;
  const secrets = () => {
    read ??= settings.secret ?? [...new Set([...secretOfStart, ...database.keptSecret()])];
    return read;
  };

  return {
    ...opened,
    issuer,
    database,
    fetchDocument,
    secret: () => new ServerSecret<ProgramSecretUse>(secrets()),
    secretTexts: secrets,
    async secretDependents() {
      const secret = secrets();
      const server = new AuthorizationServer({
        ...libraryOptions(settings, userClaims(people), fetchDocument),
        ...{ issuer, secret, storage, pairwiseSecret: UNUSED_SECRET },
      });
      const keptPairwiseSecret =
        settings.pairwiseSecret === undefined
          ? await sealOfPairwiseSecret(
              opened.pairwiseSecret,
              new ServerSecret<ProgramSecretUse>(secret),
              issuer,
            )
          : undefined;
      return { ...(await server.secretDependents(await storage.clients.list())), keptPairwiseSecret };
    },
    async server(onEvent) {
      const secret = secrets();
      const pairwiseSecret =
        settings.pairwiseSecret ??
        (await pairwiseSecretOf(opened.pairwiseSecret, new ServerSecret<ProgramSecretUse>(secret), issuer));
      try {
        const server = new AuthorizationServer({
          ...libraryOptions(settings, userClaims(people), fetchDocument),
          issuer,
          secret,
          pairwiseSecret,
          storage,
          ...(onEvent !== undefined && { onEvent }),
        });
        await server.prepare();
        return server;
      } catch (error) {
        return rethrowAsWritten(configuration, error);
      }
    },
  };
}

/** Of which a process has one: its limits are those of the process. */
function documentsFromOutside({ insecureDevelopment }: Settings): FetchDocument {
  return documentFetcher({ allowPrivateAddresses: insecureDevelopment });
}

/** What the library is told: its own options have the same names here. */
export function libraryOptions(
  settings: Settings,
  getUserClaims: GetUserClaims,
  fetchDocument: FetchDocument,
): Omit<AuthorizationServerOptions, 'issuer' | 'secret' | 'storage'> {
  const { oidc, applicationClaims: stored } = settings;
  return {
    ...sharedOptions(settings),
    fetchDocument,
    ...registrationOptions(settings),
    ...(stored !== undefined && { applicationClaims: applicationClaims(stored, getUserClaims) }),
    ...(oidc !== false && { oidc: { getUserClaims, ...(oidc === true ? undefined : oidc) } }),
  };
}

/**
 * Asks the library what it thinks of the options, over a store that is thrown away, so that a database is opened, and
 * its issuer written down, only after it has accepted them.
 * @throws {ConfigurationRefused} it does not
 */
function requireAcceptable(configuration: Configuration, issuer: string): void {
  serverOverNothing(configuration, issuer);
}

/**
 * A server with the options of the configuration that remembers nothing, for what can be answered without a database.
 * @throws {ConfigurationRefused} the library does not accept them
 */
export function serverOverNothing(
  configuration: Configuration,
  issuer = configuration.settings.issuer ?? 'http://localhost',
): AuthorizationServer {
  const { settings } = configuration;
  try {
    return new AuthorizationServer({
      ...libraryOptions(settings, () => undefined, documentsFromOutside(settings)),
      issuer,
      // What keeps them otherwise may not be there yet.
      secret: settings.secret ?? '-'.repeat(32),
      pairwiseSecret: settings.pairwiseSecret ?? '-'.repeat(32),
      storage: memoryStorage(),
    });
  } catch (error) {
    return rethrowAsWritten(configuration, error);
  }
}

/**
 * What the library finds wrong with the options, in the words in which they were written.
 * @throws {ConfigurationRefused}
 */
export function rethrowAsWritten({ sourceOf }: Configuration, error: unknown): never {
  if (!(error instanceof ConfigurationError)) throw error;
  const [name = '', ...within] = error.option.split('.');
  // The file has the declarations of claims one level higher.
  const place = within.filter((member, at) => at > 0 || name !== 'applicationClaims' || member !== 'claims');
  const source = [sourceOf(name), ...(place.length > 0 ? [place.join('.')] : [])].join(': ');
  throw new ConfigurationRefused(error.message.replace(error.option, source));
}

/** Who may register, in the words of the library. */
function registrationOptions({
  registration,
  registrationScopes,
  registrationApis,
  registrationLimit,
  registrationAssertionAudience,
  registrationInsecureAllowMissingPkce,
  insecureDevelopment,
}: Settings): Pick<AuthorizationServerOptions, 'registration'> {
  if (registration === 'off') return {};
  return {
    registration: {
      openTo: registration === 'open' ? 'anyone' : 'initial_access_token',
      allowInsecureUris: insecureDevelopment,
      assertionAudience: registrationAssertionAudience,
      insecureAllowMissingPkce: registrationInsecureAllowMissingPkce,
      apis: registrationApis,
      mostClients: registrationLimit,
      ...(registrationScopes !== undefined && { scopes: registrationScopes }),
    },
  };
}

/** Options that have the same name and meaning in the library. */
function sharedOptions(settings: Settings): Partial<AuthorizationServerOptions> {
  const names = Object.keys(SHARED_OPTIONS) as readonly (keyof typeof SHARED_OPTIONS)[];
  const given = names.filter((name) => settings[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, settings[name]]));
}

/** An issuer that nobody chose, but that follows from the port. */
const DEFAULT_ISSUER = /^http:\/\/localhost:\d+$/;

export function defaultIssuer(port: number): string {
  return `http://localhost:${port}`;
}

/**
 * The issuer that a server on this port is: the given one, else the stored one, else the default.
 * @throws {Refused} the database belongs to another issuer
 */
export function issuerToServe(given: string | undefined, stored: string | undefined, port: number): string {
  if (stored === undefined) return given ?? defaultIssuer(port);
  // A stored default says what the port was: with another port its URLs would lead nowhere.
  const wanted = given ?? (DEFAULT_ISSUER.test(stored) ? defaultIssuer(port) : stored);
  return requireSame(wanted, stored);
}

/**
 * The issuer of a database for a command that works on it.
 * @throws {Refused} the database belongs to another issuer
 */
export function issuerToAdminister(given: string | undefined, stored: string): string {
  return requireSame(given ?? stored, stored);
}

function requireSame(wanted: string, stored: string): string {
  if (wanted === stored) return stored;
  const port = DEFAULT_ISSUER.test(stored) ? ` (or --port ${new URL(stored).port || '80'})` : '';
  throw new Refused(
    `the database belongs to the issuer ${stored}, not to ${wanted}: every token in it names that issuer. ` +
      `Use --issuer ${stored}${port}, or another --database.`,
  );
}

/**
 * Plain http shows passwords, codes and tokens to everyone on the way (RFC 9700 §2.6).
 * @throws {ConfigurationRefused} the given issuer is http and not on loopback
 */
export function refuseInsecureIssuer({ settings, sourceOf }: Configuration): void {
  const { issuer, insecureDevelopment } = settings;
  if (issuer === undefined || insecureDevelopment || !isInsecure(issuer)) return;
  throw new ConfigurationRefused(`${sourceOf('issuer')}: ${issuer}: ${ADVICE}`);
}

/** @throws {Refused} the stored issuer is http and not on loopback */
export function refuseStoredInsecureIssuer({ settings }: Configuration, issuer: string): void {
  if (settings.insecureDevelopment || !isInsecure(issuer)) return;
  throw new Refused(`the database belongs to the issuer ${issuer}: ${ADVICE}`);
}

function isInsecure(issuer: string): boolean {
  const { protocol, hostname } = new URL(issuer);
  return protocol === 'http:' && !isLoopback(hostname);
}

const ADVICE =
  'expected https, because plain http shows passwords and tokens to everyone on the way. ' +
  `Put a TLS proxy in front and use its https URL, or add ${flagOf('insecureDevelopment')} for development.`;
