import {
  type AdministrableStorage,
  AuthorizationServer,
  type AuthorizationServerOptions,
  ConfigurationError,
  clientDocuments,
  type DocumentDenials,
  deviceAuthorization,
  type FetchDocument,
  type GetUserClaims,
  type SecretDependents,
  type ServerEvent,
  ServerSecret,
  tokenExchange,
} from '@grantd/core';
import type { CertificateReader } from '@grantd/core/client_certificates';
import { memoryStorage } from '@grantd/core/memory';
import { documentFetcher, senderOf } from '@grantd/core/node';
import { SHARED_OPTIONS } from '@grantd/core/options';
import { clientAccess } from '../access/client_access.ts';
import { acrValues, refuseUnreachablePolicy, rpIdOf } from '../config/acr.ts';
import type { Configuration } from '../config/configuration.ts';
import { requireTexts } from '../config/details_types.ts';
import { isLoopback } from '../config/networks.ts';
import { flagOf, type OptionName, type Settings } from '../config/options.ts';
import { readProviderFacts } from '../config/providers.ts';
import { ConfigurationRefused, Refused } from '../config/refused.ts';
import {
  type FetchOfIssuer,
  type FindLink,
  type IssuersOfFile,
  readTrustedIssuers,
} from '../config/trusted_issuers.ts';
import { hasConsented } from '../data/consents.ts';
import { type Database, isOutdated, type OpenDatabase } from '../data/database.ts';
import { requireCreatable } from '../data/database_of.ts';
import { denialsOf } from '../data/document_denials.ts';
import { type Factors, resealTotps, sealsOfTotps } from '../data/factors.ts';
import { applicationClaims, type People, userClaims } from '../data/people.ts';
import {
  type ProgramSecret,
  type ProgramSecretUse,
  pairwiseSecretOf,
  sealOfPairwiseSecret,
} from '../data/secrets.ts';
import { actingAs } from '../data/tables.ts';
import type { OpenWays } from '../data/ways_to_sign_in.ts';
import { type ActorKind, currentCause } from '../log/log.ts';
import { withAdminApi } from './admin_access.ts';
import { refuseTokensWithoutApi } from './personal_tokens_client.ts';

/** Fills a required option that this use never reads. */
const UNUSED_SECRET = '-'.repeat(32);

interface InstanceDependents extends SecretDependents {
  /**
   * Index of the secret that encrypts the pairwise secret; `undefined` if the database has no pairwise secret, -1 if
   * that secret is lost.
   */
  readonly keptPairwiseSecret: number | undefined;
  /** Number of secrets of authenticator apps, by the index of the secret that encrypts them; -1 if that is lost. */
  readonly totpSecrets: ReadonlyMap<number, number>;
  /** Index of the secret that signed the head of the audit trail, likewise. */
  readonly auditSeal: number | undefined;
}

/** An open database of one issuer, with its secret. The caller closes the database. */
export interface Instance extends OpenDatabase {
  readonly issuer: string;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly database: Database;
  readonly storage: AdministrableStorage;
  /** The users, for changes that users make to themselves. */
  readonly ownPeople: People;
  /** Their factors, likewise. */
  readonly ownFactors: Factors;
  /** What the file of the trusted issuers says, to tell whether it has changed. */
  readonly trustedIssuers: IssuersOfFile['written'] | undefined;
  /** Fetches client URLs for all parts of the program. */
  readonly fetchDocument: FetchDocument;
  /** @throws {Refused} the secret is not set */
  secret(): ProgramSecret;
  /**
   * The ways to sign in that the configuration opens.
   * @throws {ConfigurationRefused} the file of the providers is unreadable
   */
  readonly openWays: () => OpenWays;
  /** The secret’s texts, read once. If `secrets rotate` changes the file, the change applies at the next start. */
  secretTexts(): readonly string[];
  /**
   * Requires that the secret is that of the servers of this database: with another one, what they count cannot be found.
   * @throws {Refused} it is not, or is not set
   */
  readonly requireSecretOfServers: () => Promise<void>;
  /** Reports what depends on each of the server’s secrets. Changes nothing. */
  secretDependents(): Promise<InstanceDependents>;
  /** Creates the server over this database and opens its keys. */
  server(onEvent?: (event: ServerEvent) => void): Promise<AuthorizationServer>;
  /** The same instance for changes that someone else makes. */
  actingAs(actor: ActorKind): Instance;
}

/** What a process brings to an instance. */
interface Surroundings {
  /**
   * The secret of the processes that this one serves with. Later additions are accepted but not used for new values.
   * Default: none.
   */
  readonly secretOfStart?: readonly string[] | undefined;
  /** Adds traces to the requests that fetch client URLs. Default: adds none. */
  readonly traced?: ((fetchDocument: FetchDocument) => FetchDocument) | undefined;
  /** What fetches the keys of a trusted issuer. Default: the given function. */
  readonly ofIssuer?: ((name: string, fetchDocument: FetchDocument) => FetchDocument) | undefined;
  /** Where the claims of users come from. Default: the database. */
  readonly claimsOf?: ((people: People) => GetUserClaims) | undefined;
  /** The identity providers of the running server. Default: read from their file. */
  readonly providers?: OpenWays['providers'] | undefined;
  /** Whether a directory checks passwords. Default: whether one is configured. */
  readonly hasDirectory?: boolean | undefined;
  /** Default: the system's. */
  readonly clock?: (() => number) | undefined;
}

/**
 * Opens a database for an issuer, which must match the stored issuer. A new database gets its secret first, so that
 * neither exists without the other. Invalid options write nothing.
 * @param actor what makes changes through the instance
 * @throws {ConfigurationRefused} an option is invalid
 * @throws {Refused} the database has no secret, may not be created, or was created for another issuer in the meantime
 */
export async function openInstance(
  configuration: Configuration,
  database: Database,
  issuer: string,
  actor: ActorKind,
  {
    secretOfStart = [],
    traced = (fetchDocument) => fetchDocument,
    ofIssuer = (_, fetchDocument) => fetchDocument,
    claimsOf = userClaims,
    providers,
    hasDirectory = configuration.settings.ldapUrl !== undefined,
    clock = Date.now,
  }: Surroundings = {},
): Promise<Instance> {
  const { settings } = configuration;
  // Invalid options are found before the database is opened and its issuer stored.
  const loaded = await loadedOptions(configuration, issuer, actor);
  memoryServer(configuration, loaded, issuer);
  if ((await database.storedIssuer()) === undefined) {
    await requireCreatable(settings, database);
    console.error(`grantd: creating the database ${database.name} for the issuer ${issuer}`);
    if (settings.secret === undefined) database.prepareSecret();
  } else await requireCurrentTables(database, actor);
  const bare = await database.open(issuer, actor);
  const { storage: stored } = bare;
  // Commands prepare clients before the API is on. A server issues tokens for it only while it is on.
  const hasAdminApi = settings.adminApi || actor === 'cli';
  const withApis = hasAdminApi
    ? { ...bare, storage: { ...stored, clients: withAdminApi(stored.clients, issuer) } }
    : bare;
  // Another process may have created it in the meantime.
  issuerToAdminister(issuer, (await database.storedIssuer()) ?? issuer);
  const fetchDocument = traced(documentsFromOutside(settings));
  const fetchOf: FetchOfIssuer = (name, own = fetchDocument) => ofIssuer(name, own);
  let read: readonly string[] | undefined;
  const secrets = () => {
    read ??= settings.secret ?? [...new Set([...secretOfStart, ...database.keptSecret()])];
    return read;
  };

  const instanceOf = (open: OpenDatabase): Instance => ({
    ...open,
    ownPeople: actingAs('user', open.people),
    ownFactors: actingAs('user', open.factors),
    issuer,
    clock,
    database,
    trustedIssuers: loaded.issuers?.written,
    fetchDocument,
    secret: () => new ServerSecret<ProgramSecretUse>(secrets()),
    openWays: () => ({
      providers: providers ?? readProviderFacts(configuration, process.env),
      hasPasskeys: rpIdOf(settings, issuer) !== undefined,
      hasDirectory,
    }),
    secretTexts: secrets,
    async requireSecretOfServers() {
      const secret = new ServerSecret<ProgramSecretUse>(secrets());
      if ((await sealOfPairwiseSecret(withApis.pairwiseSecret, secret, issuer)) !== -1) return;
      throw new Refused(
        'the servers of this database have another secret: set the same one, in GRANTD_SECRET or with --secret-file.',
      );
    },
    async secretDependents() {
      // Read again: a running server may have changed the file, which it uses only from its next start.
      const secret = settings.secret ?? database.keptSecret();
      const server = new AuthorizationServer({
        ...libraryOptions(settings, loaded, claimsOf(open.people), fetchDocument, linksOf(open), fetchOf),
        ...{ issuer, secret, storage: open.storage, pairwiseSecret: UNUSED_SECRET },
      });
      const keptPairwiseSecret =
        settings.pairwiseSecret === undefined
          ? await sealOfPairwiseSecret(
              withApis.pairwiseSecret,
              new ServerSecret<ProgramSecretUse>(secret),
              issuer,
            )
          : undefined;
      return {
        ...(await server.operator.secretDependents(await open.storage.clients.list())),
        keptPairwiseSecret,
        totpSecrets: await sealsOfTotps(withApis.factors, new ServerSecret<ProgramSecretUse>(secret), issuer),
        auditSeal: await withApis.auditTrail.sealedBy(new ServerSecret<ProgramSecretUse>(secret)),
      };
    },
    async server(onEvent) {
      const secret = secrets();
      const pairwiseSecret =
        settings.pairwiseSecret ??
        (await pairwiseSecretOf(withApis.pairwiseSecret, new ServerSecret<ProgramSecretUse>(secret), issuer));
      try {
        const server = new AuthorizationServer({
          ...libraryOptions(
            ...([settings, loaded, claimsOf(open.people), fetchDocument, linksOf(open), fetchOf] as const),
            denialsOf(open.deniedDocuments, issuer),
          ),
          issuer,
          secret,
          pairwiseSecret,
          storage: open.storage,
          ...clientAccess({ ...open, settings }),
          tokenExchange: tokenExchange({ hasConsented: (wanted) => hasConsented(open.consents, wanted) }),
          ...(onEvent !== undefined && { onEvent }),
        });
        await server.prepare();
        await resealTotps(withApis.factors, new ServerSecret<ProgramSecretUse>(secret), issuer);
        return server;
      } catch (error) {
        return rethrowAsWritten(configuration, error);
      }
    },
    actingAs: (other) => instanceOf(actingAs(other, withApis)),
  });
  return instanceOf(withApis);
}

/**
 * Only a start of the server migrates tables, and only if no other process uses them or those that do can continue. A
 * command that migrated them could stop a running server of the earlier version.
 * @throws {Refused} the tables are of an earlier version, and this is a command or others use them
 */
async function requireCurrentTables(database: Database, actor: ActorKind): Promise<void> {
  const found = await database.schemas();
  if (found === undefined || !isOutdated(found)) return;
  if (actor === 'server') return database.migrate('up', false);
  throw new Refused(
    `the tables of ${database.name} are of an earlier version of grantd: stop every server of that version, ` +
      'then start the new one or run grantd migrate up. grantd migrate status shows the versions.',
  );
}

/** Called once per process, because its limits apply to the whole process. */
function documentsFromOutside({ insecureDevelopment }: Settings): FetchDocument {
  return documentFetcher({ allowPrivateAddresses: insecureDevelopment });
}

/** Options for which modules are loaded, if the configuration needs them. */
type LoadedOptions = Pick<
  AuthorizationServerOptions,
  'acrValues' | 'authorizationDetails' | 'clientCertificates' | 'mtlsOrigin'
> & { readonly issuers?: IssuersOfFile };

/** @throws {ConfigurationRefused} a type of authorization details is invalid, or a server cannot meet its sign-in policy */
async function loadedOptions(
  configuration: Configuration,
  issuer: string,
  actor: ActorKind,
): Promise<LoadedOptions> {
  if (actor === 'server') refuseUnreachablePolicy(configuration, issuer);
  refuseTokensWithoutApi(configuration);
  const details = await detailsTypes(configuration);
  const issuers = readTrustedIssuers(configuration, process.env);
  return {
    acrValues: acrValues(configuration.settings, issuer),
    ...(details !== undefined && { authorizationDetails: details }),
    ...(issuers !== undefined && { issuers }),
    ...(await certificateOptions(configuration.settings, issuer, actor)),
  };
}

/** Commands register clients of every kind, and read no certificate. */
const UNREAD: CertificateReader = () => undefined;

async function certificateOptions(
  { mtlsPort, mtlsOrigin, tlsClientCa, clientCertificateHeader, clientCertificateVerified }: Settings,
  issuer: string,
  actor: ActorKind,
): Promise<Pick<LoadedOptions, 'clientCertificates' | 'mtlsOrigin'>> {
  if (actor === 'cli') return { clientCertificates: UNREAD };
  if (mtlsPort === undefined && clientCertificateHeader === undefined) return {};
  const origin = mtlsOrigin ?? (mtlsPort === undefined ? undefined : originOfPort(issuer, mtlsPort));
  const areVerified = tlsClientCa !== undefined || clientCertificateVerified === true;
  return {
    clientCertificates: areVerified ? await reader() : true,
    ...(origin !== undefined && { mtlsOrigin: origin }),
  };
}

async function reader(): Promise<CertificateReader> {
  const { loadCertificateReader } = await import('@grantd/core/client_certificates');
  return loadCertificateReader();
}

function originOfPort(issuer: string, port: number): string {
  const url = new URL(issuer);
  url.port = String(port);
  return url.origin;
}

type DetailsTypes = AuthorizationServerOptions['authorizationDetails'];

/**
 * The configured types of authorization details. Loads their module only if there are any.
 * @throws {ConfigurationRefused} a type is invalid
 */
async function detailsTypes(configuration: Configuration): Promise<DetailsTypes> {
  const { authorizationDetails: declared } = configuration.settings;
  if (declared === undefined) return undefined;
  try {
    requireTexts(declared);
    const { authorizationDetails } = await import('@grantd/core/authorization_details');
    const types = Object.entries(declared).map(([name, { texts: _, ...type }]) => [name, type]);
    return authorizationDetails({ types: Object.fromEntries(types) });
  } catch (error) {
    return rethrowAsWritten(configuration, error);
  }
}

function linksOf({ upstreamIdentities }: OpenDatabase): FindLink {
  return async (provider, upstreamIssuer, upstreamSub) =>
    (await upstreamIdentities.find({ provider, upstreamIssuer, upstreamSub }))?.subject;
}

/** Options for the library. Shared options have the same names. */
function libraryOptions(
  settings: Settings,
  { issuers, ...loaded }: LoadedOptions,
  getUserClaims: GetUserClaims,
  fetchDocument: FetchDocument,
  findLink: FindLink,
  fetchOf?: FetchOfIssuer,
  denials?: DocumentDenials,
): Omit<AuthorizationServerOptions, 'issuer' | 'secret' | 'storage'> {
  const { oidc, applicationClaims: stored } = settings;
  return {
    ...sharedOptions(settings),
    fetchDocument,
    ...registrationOptions(settings),
    deviceAuthorization: deviceAuthorization(),
    tokenExchange: tokenExchange(),
    ...documentOptions(settings, denials),
    ...loaded,
    ...(issuers && { trustedIssuers: issuers.withLinks(findLink, fetchOf) }),
    ...(stored !== undefined && { applicationClaims: applicationClaims(stored, getUserClaims) }),
    ...(oidc !== false && { oidc: { getUserClaims, ...(oidc === true ? undefined : oidc) } }),
  };
}

/**
 * A server with the configured options and no database, for work that needs no stored data.
 * @throws {ConfigurationRefused} an option is invalid
 */
export async function serverWithoutDatabase(
  configuration: Configuration,
  actor: ActorKind,
): Promise<AuthorizationServer> {
  const { issuer = defaultIssuer(configuration.settings) } = configuration.settings;
  return memoryServer(configuration, await loadedOptions(configuration, issuer, actor), issuer);
}

/** @throws {ConfigurationRefused} the library refuses an option */
function memoryServer(
  configuration: Configuration,
  loaded: LoadedOptions,
  issuer: string,
): AuthorizationServer {
  const { settings } = configuration;
  try {
    return new AuthorizationServer({
      ...libraryOptions(
        settings,
        loaded,
        () => undefined,
        documentsFromOutside(settings),
        async () => undefined,
      ),
      issuer,
      // The stored secrets may not exist yet.
      secret: settings.secret ?? '-'.repeat(32),
      pairwiseSecret: settings.pairwiseSecret ?? '-'.repeat(32),
      storage: memoryStorage(),
    });
  } catch (error) {
    return rethrowAsWritten(configuration, error);
  }
}

/**
 * Rethrows the library’s error with the name under which the user set the option.
 * @throws {ConfigurationRefused} for every `ConfigurationError`
 */
export function rethrowAsWritten({ sourceOf }: Configuration, error: unknown): never {
  if (!(error instanceof ConfigurationError)) throw error;
  const [name = '', ...within] = (OWN_NAMES[error.option] ?? error.option).split('.');
  const [first] = within;
  const place = first !== undefined && LIFTED[name] === first ? within.slice(1) : within;
  const source = [sourceOf(name), ...(place.length > 0 ? [place.join('.')] : [])].join(': ');
  throw new ConfigurationRefused(error.message.replace(error.option, source));
}

/** Members of the library's options that the config file has one level higher. */
const LIFTED: Readonly<Record<string, string>> = {
  applicationClaims: 'claims',
  authorizationDetails: 'types',
};

/** The program's names of members that are options of their own. */
const OWN_NAMES: Readonly<Record<string, OptionName>> = {
  'registration.allowInsecureUris': 'insecureDevelopment',
  'registration.assertionAudience': 'registrationAssertionAudience',
  'registration.insecureAllowMissingPkce': 'registrationInsecureAllowMissingPkce',
};

function senderOfRequest(): string | undefined {
  const { address } = currentCause();
  return address === undefined ? undefined : senderOf(address);
}

/**
 * Client ID Metadata Documents, with the limits of self-registered clients.
 * @throws {ConfigurationError} no host is listed
 */
function documentOptions(
  {
    clientDocuments: accepted,
    clientDocumentHosts: hosts,
    clientDocumentDeniedHosts: deniedHosts,
    clientDocumentSiteLimit: mostNewPerSite,
    registrationScopes: scopes,
    registrationClosedScopes: closedScopes,
    registrationApis: apis,
    registrationRedirectUris: redirectUris,
    registrationAuthorizationDetailsTypes: authorizationDetailsTypes,
    insecureDevelopment: allowInsecureUris,
  }: Settings,
  denials: DocumentDenials | undefined,
): Pick<AuthorizationServerOptions, 'clientDocuments'> {
  if (accepted === 'off') return {};
  const isListed = accepted === 'listed';
  if (isListed && hosts.length === 0)
    throw new ConfigurationError('clientDocumentHosts', 'a host, because clientDocuments is listed');
  return {
    clientDocuments: clientDocuments({
      ...(isListed && { hosts }),
      ...{ deniedHosts, mostNewPerSite, scopes, closedScopes, apis, redirectUris, authorizationDetailsTypes },
      ...{ allowInsecureUris, placeOf: senderOfRequest },
      ...(denials && { denials }),
    }),
  };
}

/** Registration options for the library. */
function registrationOptions({
  registration,
  registrationScopes,
  registrationClosedScopes,
  registrationApis,
  registrationRedirectUris,
  registrationAuthorizationDetailsTypes,
  registrationGrantTypes,
  registrationLimit,
  registrationAddressLimit,
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
      scopes: registrationScopes,
      closedScopes: registrationClosedScopes,
      apis: registrationApis,
      redirectUris: registrationRedirectUris,
      authorizationDetailsTypes: registrationAuthorizationDetailsTypes,
      grantTypes: registrationGrantTypes,
      mostClients: registrationLimit,
      mostClientsPerAddress: registrationAddressLimit,
    },
  };
}

/** Options that the library shares. */
function sharedOptions(settings: Settings): Partial<AuthorizationServerOptions> {
  const names = Object.keys(SHARED_OPTIONS) as readonly (keyof typeof SHARED_OPTIONS)[];
  const present = names.filter((name) => settings[name] !== undefined);
  return Object.fromEntries(present.map((name) => [name, settings[name]]));
}

/** A default issuer, which follows from the port. */
const DEFAULT_ISSUER = /^https?:\/\/localhost:\d+$/;

export function defaultIssuer({ port, tlsCertificate }: Pick<Settings, 'port' | 'tlsCertificate'>): string {
  return `${tlsCertificate === undefined ? 'http' : 'https'}://localhost:${port}`;
}

/**
 * The issuer for a server: the configured one, else the stored one, else the default.
 * @throws {Refused} the database belongs to another issuer
 */
export function issuerToServe(settings: Settings, stored: string | undefined): string {
  const { issuer: configured } = settings;
  if (stored === undefined) return configured ?? defaultIssuer(settings);
  // A stored default issuer contains the port, so a new port needs a new default.
  const wanted = configured ?? (DEFAULT_ISSUER.test(stored) ? defaultIssuer(settings) : stored);
  return requireSame(wanted, stored);
}

/**
 * The issuer for a command on an existing database.
 * @throws {Refused} the database belongs to another issuer
 */
export function issuerToAdminister(configured: string | undefined, stored: string): string {
  return requireSame(configured ?? stored, stored);
}

function requireSame(wanted: string, stored: string): string {
  if (wanted === stored) return stored;
  const port = DEFAULT_ISSUER.test(stored) ? ` (or --port ${new URL(stored).port || '80'})` : '';
  throw new Refused(
    `the database belongs to the issuer ${stored}, not to ${wanted}. Every token in it names that issuer. ` +
      `Use --issuer ${stored}${port}, or another --database. The issuer of a database cannot be changed: ` +
      'docs/production.md says how to move to another issuer.',
  );
}

/**
 * Plain http exposes passwords, codes and tokens on the network (RFC 9700 §2.6).
 * @throws {ConfigurationRefused} the configured issuer is http and not on loopback
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
  'expected https, because plain http exposes passwords and tokens on the network. ' +
  `Put a TLS proxy in front and use its https URL, or add ${flagOf('insecureDevelopment')} for development.`;
