import { createHmac } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { AuthorizationServer, FetchDocument, GetUserClaims } from '@grantd/core';
import { tlsCertificateOf } from '@grantd/core/node';
import type { OperationParts } from '../admin/operation.ts';
import { networkOf } from '../config/client_address.ts';
import type { Configuration } from '../config/configuration.ts';
import { isMeasured, isPostgresUrl, type OptionName, type Settings } from '../config/options.ts';
import { type Provider, readProviders } from '../config/providers.ts';
import { Refused } from '../config/refused.ts';
import { ClockWatch } from '../data/clock_watch.ts';
import { databaseOf, databasePath, type StoredIn, storedIn } from '../data/database_of.ts';
import type { People } from '../data/people.ts';
import { connectionOf } from '../data/postgres_url.ts';
import { readSecretFile } from '../data/secrets.ts';
import { askStorage } from '../data/tables.ts';
import type { Directory } from '../directory/contract.ts';
import {
  type Instance,
  issuerToServe,
  openInstance,
  refuseStoredInsecureIssuer,
} from '../instance/instance.ts';
import { causeOf, type Log, openLog, RequestLog } from '../log/log.ts';
import type { MailService } from '../mail/mail.ts';
import type { History } from '../monitoring/history.ts';
import type { Monitor, Watched } from '../monitoring/monitor.ts';
import type { Tracing } from '../monitoring/tracing.ts';
import { readCatalogues } from '../pages/drawing/languages.ts';
import { type Operator, readOperator } from '../pages/drawing/operator.ts';
import { ConsentWithdrawal } from '../people/consents.ts';
import { AccessEnding } from '../people/groups.ts';
import { PersonRemoval } from '../people/removal.ts';
import { LogoutDeliverer, type NotifyClients, SessionEnding } from '../people/sessions.ts';
import { useCatalogues } from '../texts/texts.ts';
import { leftDemoData, refuseForeignDemo, refuseKnownPasswords, refusePlainIssuer } from './exposure.ts';
import {
  createHttpServer,
  type HttpServer,
  healthListener,
  lateListener,
  listen,
  type Routes,
  readinessCheck,
  requestListener,
} from './http_server.ts';
import { type Reload, reloader } from './reload.ts';
import type { BackupPlan } from './scheduled_backups.ts';
import { sealOnce, sealPeriodically } from './sealer.ts';
import { announce, type Connections, type Ending, finish, listenForEnd, type Started } from './shutdown.ts';
import { checkInThread, sweepInThread } from './sweep_in_thread.ts';
import { type SweepLog, sweepable, sweepPeriodically } from './sweeper.ts';
import { lowerV8Threads } from './thread_priorities.ts';
import type { TlsFiles } from './tls.ts';

/** Delays the first sweep, so that it does not slow down the first answers. */
const FIRST_SWEEP_AFTER_MS = 2_000;

/** The differences between a single process and one of several workers. */
interface Role {
  readonly server: HttpServer;
  readonly connections: Connections;
  /** Present if the server speaks TLS. */
  readonly tls: TlsFiles | undefined;
  readonly log: Log;
  /** Present if metrics or the console are on. */
  readonly monitor?: Monitor | undefined;
  /** Present if the console is on: what all processes have counted in the last hour. */
  readonly history?: History | undefined;
  /** Present if traces are on. */
  readonly tracing?: Tracing | undefined;
  readonly ending: Ending;
  /** Only one of several processes needs to do this. */
  readonly sweeps: boolean;
  readonly bringsDemo: boolean;
  /** The server’s secret at the start of the first process. */
  readonly secretOfStart?: readonly string[];
  /** Called once, when the server answers requests. */
  started(what: Started, secret: readonly string[], reload: Reload): void;
}

/**
 * Serves in a single process until it receives a signal. Messages for people go to stderr; the log goes to stdout.
 * @param readAgain reads the configuration as it is now, for SIGHUP
 */
export async function serve(
  given: Configuration,
  environment: NodeJS.ProcessEnv,
  readAgain: () => Configuration,
): Promise<void> {
  const observation = await observed(given.settings, await openLog(given.settings.log));
  const { log, monitor, history } = observation;
  if (monitor !== undefined) history?.takeEverySoOften(() => monitor.counts());
  let { shutdownDelay } = given.settings;
  const canReload = Promise.withResolvers<() => void>();
  const ending = listenForEnd(
    () => shutdownDelay,
    () => canReload.promise.then((reload) => reload()),
  );

  // Listens before it opens the database, because the default issuer depends on the port and a failed start must leave
  // no files behind.
  const tls = await tlsFilesOf(given, environment);
  const hasMetrics = monitor !== undefined && given.settings.metricsPort !== undefined;
  const metrics = hasMetrics ? await serveMetrics(given.settings, () => monitor.alone(), log) : undefined;
  try {
    lowerV8Threads();
    const server = createHttpServer(tls);
    const configuration = { ...given, settings: await listen(server, given.settings) };
    await serveDatabase(configuration, environment, {
      server,
      connections: server.connections,
      tls,
      ...observation,
      ending,
      sweeps: true,
      bringsDemo: given.settings.demo,
      started(what, _secret, reload) {
        announce(log, configuration.settings, { ...what, metrics: metrics?.url });
        const apply = async (next: Configuration) => {
          const reloaded = await reload(next);
          shutdownDelay = next.settings.shutdownDelay;
          return reloaded;
        };
        canReload.resolve(reloader({ start: given, served: configuration }, readAgain, apply, log));
      },
    });
  } finally {
    metrics?.close();
  }
}

async function serveMetrics(...given: Parameters<typeof import('./metrics_server.ts')['serveMetrics']>) {
  return (await import('./metrics_server.ts')).serveMetrics(...given);
}

/** What stands between the parts of a server and its log. */
export type Observation = Pick<Role, 'log' | 'monitor' | 'history' | 'tracing'>;

/** A log that also counts for metrics and ends spans, if these are on. Loads their modules only then. */
export async function observed(settings: Settings, bare: Log): Promise<Observation> {
  const monitor = isMeasured(settings)
    ? new (await import('../monitoring/monitor.ts')).Monitor(settings.metricsClients)
    : undefined;
  const history = settings.console ? new (await import('../monitoring/history.ts')).History() : undefined;
  const log = monitor?.log(bare) ?? bare;
  if (settings.tracing === 'off') return { log, monitor, history };
  const { Tracing } = await import('../monitoring/tracing.ts');
  const tracing = new Tracing(settings, process.env, log);
  return { log: tracing.log(log), monitor, history, tracing };
}

/**
 * Reads the files for TLS. Loads their module only if the server speaks TLS.
 * @throws {ConfigurationRefused} a file is not readable or not what was expected
 */
export async function tlsFilesOf(
  configuration: Configuration,
  environment: NodeJS.ProcessEnv,
): Promise<TlsFiles | undefined> {
  if (configuration.settings.tlsCertificate === undefined) return undefined;
  const { TlsFiles } = await import('./tls.ts');
  return new TlsFiles(configuration, environment);
}

/** @throws {Refused} the database cannot be served, or was replaced while serving */
export async function serveDatabase(
  configuration: Configuration,
  environment: NodeJS.ProcessEnv,
  role: Role,
): Promise<void> {
  const { server: http, connections, tls, log, monitor, tracing, ending, bringsDemo, started } = role;
  const replaced = Promise.withResolvers<'database_replaced'>();
  const renewing = new AbortController();
  const retired = new Set<Promise<void>>();
  let isEnding = false;
  const open = (next: Configuration, secretOfStart?: readonly string[], isReload = false) =>
    openService(next, environment, { ...role, secretOfStart, isReload, isEnding: () => isEnding });
  const use = (service: Service): Promise<void> => {
    service.run(() => http.answerNotReady());
    void service.watch.replaced.then(replaced.resolve);
    monitor?.watch({ ...service.watched, tls });
    return http.answerWith(tracing?.listener(service.listener) ?? service.listener);
  };
  try {
    let service = await open(configuration, role.secretOfStart);
    try {
      const demo = bringsDemo ? await addDemo(service.instance, service.server) : undefined;
      void use(service);
      tls?.keepFresh(log, renewing.signal, () => http.renewConnections());
      const { instance, name } = service;
      let reloading: Promise<unknown> = Promise.resolve();
      const reload: Reload = async (next, secretOfStart) => {
        const files = tls?.prepare(next, environment);
        const opened = await open(next, secretOfStart, true);
        const previous = service;
        try {
          if (isEnding) throw new Refused('the server is ending.');
          if (!previous.watch.isInPlace()) throw databaseReplaced(name);
        } catch (error) {
          await opened.end();
          throw error;
        }
        service = opened;
        const answered = use(opened);
        files?.use(() => http.renewConnections());
        // Its pending requests need its database.
        const end = previous.stop().then(() => answered.then(() => previous.end()));
        const retiring = end.catch((error: unknown) =>
          log.error({ event: 'unfinished_work_failed', cause: causeOf(error) }),
        );
        retired.add(retiring);
        void retiring.then(() => retired.delete(retiring));
        const secret = opened.instance.secretTexts();
        return {
          secret,
          files: [
            ...(files?.changed ?? []),
            ...changed('providers', previous.providers.map(comparable), opened.providers.map(comparable)),
            ...changed('operatorLogo', previous.operator.logo?.bytes, opened.operator.logo?.bytes),
            ...changed('theme', previous.operator.theme, opened.operator.theme),
            ...changed('secret', previous.instance.secretTexts(), secret),
          ],
        };
      };
      const notice = demo === undefined ? await noticeOf(configuration, instance) : await demo();
      const what = { issuer: instance.issuer, database: name, ...(notice !== undefined && { notice }) };
      started(what, instance.secretTexts(), (...given) => {
        const result = reload(...given);
        reloading = result.catch(() => undefined);
        return result;
      });

      const reason = await Promise.race([ending.requested, replaced.promise]);
      isEnding = true;
      http.closeAfterAnswers();
      await reloading;
      const stopped = service.stop();
      if (reason !== 'database_replaced') {
        log.info({ event: 'ending', signal: reason });
        void ending.nearlyClosing.then(() => http.keepLastConnections());
        await Promise.race([ending.closing, replaced.promise]);
        http.closeAfterAnswers();
      }
      const isReplaced = service.watch.stop();
      if (isReplaced) {
        log.fatal({ event: 'database_replaced', database: name });
        http.answerNotReady();
        // Pending requests then also get 503, instead of the result of a lost write.
        await service.closeDatabase();
      }
      const isFinished = await finish(connections);
      await Promise.all([stopped, ...retired]);
      await service.end();
      await tracing?.close();
      log.info({ event: 'ended', inFlight: isFinished ? 'finished' : 'closed' });
      if (isReplaced) throw databaseReplaced(name);
    } finally {
      // If the start fails, timers must not keep the process alive.
      await service.abandon();
    }
  } finally {
    renewing.abort();
    connections.closeAllConnections();
    connections.close();
  }
}

async function noticeOf({ settings }: Configuration, instance: Instance): Promise<string | undefined> {
  return settings.demo ? undefined : askStorage(() => leftDemoData(instance));
}

function changed(name: OptionName, one: unknown, other: unknown): readonly OptionName[] {
  return isDeepStrictEqual(one, other) ? [] : [name];
}

/** What one configuration serves, over its own connections to the database. A reload replaces it. */
export interface Service {
  readonly instance: Instance;
  readonly server: AuthorizationServer;
  readonly operator: Operator;
  readonly providers: readonly Provider[];
  /** Of the database. */
  readonly name: string;
  readonly listener: RequestListener;
  /** What metrics are read from. */
  readonly watched: Watched;
  readonly watch: DatabaseWatch;
  /** Starts the work besides requests. @param onCorrupt called if the database turns out to be corrupt */
  run(onCorrupt: () => void): void;
  /** Starts no more of this work. Resolves when none is under way. */
  stop(): Promise<void>;
  /** Finishes what requests have left, and closes the database. Call it after `stop`, when no request is pending. */
  end(): Promise<void>;
  closeDatabase(): Promise<void>;
  /** Stops timers and closes the database, whatever is under way. */
  abandon(): Promise<void>;
}

const SHOWN_ADDRESSES = {
  off: undefined,
  network: networkOf,
  full: (address: string) => address || undefined,
};

interface ServiceRole extends Pick<Role, 'log' | 'monitor' | 'history' | 'tracing' | 'sweeps'> {
  readonly secretOfStart?: readonly string[] | undefined;
  /** The users of the application that embeds the program. */
  readonly users?:
    | { readonly directory: Directory; readonly claimsOf: (people: People) => GetUserClaims }
    | undefined;
  /** Whether this process serves the database already. */
  readonly isReload: boolean;
  isEnding(): boolean;
}

/**
 * Reads the files that the options name, except those for TLS and the directory.
 * @throws {ConfigurationRefused} a file is unreadable, has another form than expected, or exposes a secret
 */
export async function readFiles(configuration: Configuration, environment: NodeJS.ProcessEnv) {
  const operator = await readOperator(configuration, environment);
  const catalogues = await readCatalogues(configuration, environment, operator.theme);
  const providers = readProviders(configuration, environment);
  const backupPlan = await planOfBackups(configuration, environment);
  const { settings, sourceOf } = configuration;
  if (isPostgresUrl(settings.database)) connectionOf(settings.database, sourceOf('database'), environment);
  else if (settings.secret === undefined) readSecretFile(databasePath(settings.database, environment));
  return { operator, catalogues, providers, backupPlan };
}

/** @throws {Refused} the database cannot be served */
export async function openService(
  configuration: Configuration,
  environment: NodeJS.ProcessEnv,
  { log, monitor, history, tracing, sweeps, secretOfStart, users, isReload, isEnding }: ServiceRole,
): Promise<Service> {
  const { settings } = configuration;
  const { operator, catalogues, providers, backupPlan } = await readFiles(configuration, environment);
  const clientCertificate = await certificateSource(settings, log);
  const directory = users?.directory ?? (await directoryOf(configuration, environment));
  const bare = await databaseOf(configuration, environment, (error) =>
    log.warn({ event: 'database_connection_lost', cause: causeOf(error) }),
  );
  const database = monitor?.database(bare) ?? bare;
  const traced = tracing && ((fetchDocument: FetchDocument) => tracing.fetchDocument(fetchDocument));
  const stopping = new AbortController();
  try {
    const issuer = issuerToServe(settings, await database.storedIssuer());
    refuseStoredInsecureIssuer(configuration, issuer);
    refusePlainIssuer(configuration, issuer);
    refuseForeignDemo(configuration, issuer, database.name);
    const instance = await openInstance(configuration, database, issuer, 'server', {
      ...{ secretOfStart, traced, providers, claimsOf: users?.claimsOf },
      hasDirectory: directory !== undefined,
    });
    // In a reload, an open database looks like one after a crash.
    if (sweeps && !isReload && instance.isAfterCrash === true && database.file !== undefined) {
      await checkInThread(database.file, log);
      // Refuses a marked file.
      await database.storedIssuer();
    }
    await refuseKnownPasswords(configuration, instance);
    // Before this process records anything.
    const clock = new ClockWatch(instance, { log });
    await askStorage(() => clock.look());
    useCatalogues(catalogues);
    if (sweeps) {
      await recordConfiguration(instance, settings, isReload);
      const { sessionIdleLifetime: idle, sessionLifetime: absolute } = settings;
      await instance.sessions.limit({ idle, absolute });
    }
    const requestLog = new RequestLog(log, SHOWN_ADDRESSES[settings.logAddresses]);
    const server = await instance.server(monitor?.events(requestLog.event) ?? requestLog.event);
    const mail = await mailService(instance, { settings, operator, log });
    const unfinished = unfinishedWork(instance, server, log, sweeps, mail);
    const watch = watchDatabase(instance);
    const readiness = { settings, instance, log, isInPlace: watch.isInPlace };
    const isReady = readinessCheck(readiness);
    const testMail = async (parts: Pick<OperationParts, 'configuration' | 'issuer'>, address: string) =>
      (await import('../mail/test_mail.ts')).testMail(parts, address);
    const admin = await adminListener(instance, {
      ...{ configuration, server, requestLog, clientCertificate },
      isReady: async () => !isEnding() && isReady(),
      testMail,
    });
    const consoleFlow = await consolePages(instance, {
      ...{ configuration, server, history, clock },
      testMail,
      isReady: async () => !isEnding() && isReady(),
    });
    const sweepLog = { info: log.info.bind(log), error: log.error.bind(log), swept: monitor?.swept };
    let work: Promise<unknown> = Promise.resolve();
    let closed: Promise<void> | undefined;
    const closeDatabase = () => {
      closed ??= database.close();
      return closed;
    };
    const abandon = () => {
      watch.stop();
      stopping.abort();
      directory?.close();
      return closeDatabase();
    };
    return {
      ...{ instance, server, operator, providers, watch, closeDatabase, abandon, name: database.name },
      watched: { ...instance, clock, isReady: async () => !isEnding() && isReady() },
      listener: requestListener({
        ...{ server, requestLog, clientCertificate, mtlsPort: settings.mtlsPort },
        trustedProxies: settings.trustedProxies,
        health: healthListener({ ...readiness, isEnding, clock }),
        admin,
        pages: lateListener(async () => {
          const { openPages } = await import('../pages/pages.ts');
          const { notifyClients } = unfinished;
          return openPages(instance, {
            ...{ settings, server, requestLog, operator, notifyClients, directory, consoleFlow },
            mail: mail && { queue: mail.queue, links: mail.links },
            openUpstream: await upstreamOf(instance, providers),
          });
        }),
      }),
      run(onCorrupt) {
        const { signal } = stopping;
        work = Promise.all([
          unfinished.run(signal),
          clock.run(signal),
          sweeps ? sweep(instance, settings, clock, sweepLog, signal) : undefined,
          sweeps
            ? backUp(instance.issuer, storedIn(settings, environment), settings, backupPlan, log, signal)
            : undefined,
          sweeps ? sealPeriodically(instance, settings.eventRetention, log, signal) : undefined,
        ]);
        void watch.damaged.then(() => {
          if (signal.aborted) return;
          log.fatal({ event: 'database_corrupt', database: database.name });
          onCorrupt();
          stopping.abort();
        });
      },
      async stop() {
        stopping.abort();
        await work;
      },
      async end() {
        await Promise.all([unfinished.end(), server.flush()]);
        // Changes of the last requests.
        if (sweeps) await sealOnce(instance, log);
        await abandon();
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/**
 * Records which configuration is served from now on. The target is a keyed digest of all options, which tells changes
 * without revealing values.
 */
async function recordConfiguration(
  { storage, secret }: Pick<Instance, 'storage' | 'secret'>,
  settings: Settings,
  isReload: boolean,
): Promise<void> {
  const key = await secret().key('configuration');
  const options = Object.entries(settings).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const target = createHmac('sha256', key).update(JSON.stringify(options)).digest('base64url').slice(0, 16);
  const reason = isReload ? 'reload' : 'start';
  await askStorage(() =>
    storage.recordAct({ type: 'configuration_loaded', target, reason, actor: 'server' }),
  );
}

/** Loads the admin API, if it is on. */
async function adminListener(
  ...[instance, surroundings]: Parameters<typeof import('../http/admin_api.ts')['openAdminApi']>
): Promise<Routes['admin']> {
  if (!surroundings.configuration.settings.adminApi) return undefined;
  const { openAdminApi } = await import('../http/admin_api.ts');
  return openAdminApi(instance, surroundings);
}

/** Loads the console, if it is on. */
async function consolePages(
  ...[instance, surroundings]: Parameters<typeof import('../console/console.ts')['openConsole']>
): Promise<Awaited<ReturnType<typeof import('../console/console.ts')['openConsole']>> | undefined> {
  if (!surroundings.configuration.settings.console) return undefined;
  const { openConsole } = await import('../console/console.ts');
  return openConsole(instance, surroundings);
}

/** Loads the part that sends emails, if the server sends any. */
async function mailService(
  instance: Instance,
  {
    settings,
    ...surroundings
  }: {
    readonly settings: Settings;
    readonly operator: Operator;
    readonly log: Log;
  },
): Promise<MailService | undefined> {
  if (settings.smtpUrl === undefined && !settings.demo) return undefined;
  const { openMail } = await import('../mail/mail.ts');
  return openMail(instance, { settings, ...surroundings });
}

/**
 * The directory of the options, whose module is loaded only if there is one.
 * @throws {ConfigurationRefused} an option of the directory is invalid
 */
export async function directoryOf(
  configuration: Configuration,
  environment: NodeJS.ProcessEnv,
): Promise<Directory | undefined> {
  if (configuration.settings.ldapUrl === undefined) return undefined;
  const { openDirectory } = await import('../directory/directory.ts');
  return openDirectory(configuration, environment);
}

/** Loads the part that signs users in through providers, if any is configured. */
async function upstreamOf(
  { upstreamIdentities: identities, apiRequests: requests, people, storage }: Instance,
  providers: readonly Provider[],
): Promise<Parameters<typeof import('../pages/pages.ts')['openPages']>[1]['openUpstream']> {
  if (providers.length === 0) return undefined;
  const { Upstream } = await import('../people/upstream.ts');
  const parts = { identities, people, requests, storage, clock: Date.now };
  return ({ ending }) => new Upstream(providers, { ...parts, ending });
}

/** A provider whose key can be compared. */
function comparable({ credential, ...provider }: Provider): unknown {
  if ('secret' in credential) return { ...provider, credential };
  const { privateKey, keyId } = credential;
  return { ...provider, keyId, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) };
}

/** Where client certificates come from: the mTLS port, or the header of a trusted proxy. */
async function certificateSource(
  { mtlsPort, clientCertificateHeader, clientCertificateFormat = 'rfc9440', ...settings }: Settings,
  log: Log,
): Promise<Routes['clientCertificate']> {
  if (mtlsPort !== undefined) return tlsCertificateOf;
  if (clientCertificateHeader === undefined) return undefined;
  const { proxiedCertificateReader } = await import('./proxied_certificate.ts');
  return proxiedCertificateReader(
    { clientCertificateHeader, clientCertificateFormat, ...settings },
    ({ id }, reason) =>
      log.warn({ event: 'client_certificate_header_ignored', reason, requestId: String(id) }),
  );
}

/** Loads the demo only when it is served. */
async function addDemo(instance: Instance, server: AuthorizationServer): Promise<() => Promise<string>> {
  const { PasswordHasher } = await import('../people/password_hasher.ts');
  const { addDemoData } = await import('../../demo/demo.ts');
  return addDemoData(instance, server, new PasswordHasher());
}

function databaseReplaced(name: string): Refused {
  return new Refused(
    `the database ${name} or its write-ahead log was replaced or deleted, or an older copy was restored into it, ` +
      'while grantd was running. ' +
      `If you put another file in its place, remove ${name}-wal and ${name}-shm, which belong to the old file. ` +
      'Then start grantd again. Replace a database only while no program uses it.',
  );
}

async function sweep(
  { database, issuer, storage, sweepProgram }: Instance,
  { sweepInterval: intervalSeconds, unusedRegistrationLifetime: unusedFor }: Settings,
  clock: ClockWatch,
  log: SweepLog,
  signal: AbortSignal,
): Promise<void> {
  const sweepUntilMs = () => clock.sweepUntilMs();
  // Rejects only when aborted.
  await pause(FIRST_SWEEP_AFTER_MS, undefined, { signal, ref: false }).catch(() => undefined);
  const { file: path } = database;
  if (path === undefined) {
    const bounds = () => ({ unusedFor, untilMs: sweepUntilMs() });
    return sweepPeriodically(sweepable(storage, sweepProgram, bounds), intervalSeconds, log, signal);
  }
  return sweepInThread({ path, issuer, unusedFor, sweepUntilMs, intervalSeconds }, log, signal);
}

/** Loads the module of scheduled backups only if the server makes any. */
async function planOfBackups(
  configuration: Configuration,
  environment: NodeJS.ProcessEnv,
): Promise<BackupPlan | undefined> {
  if (configuration.settings.backupFolder === undefined) return undefined;
  const { backupPlanOf } = await import('./scheduled_backups.ts');
  return backupPlanOf(configuration, environment);
}

async function backUp(
  issuer: string,
  database: StoredIn,
  { secret: secrets }: Settings,
  plan: BackupPlan | undefined,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  if (plan === undefined) return;
  const { backUpPeriodically } = await import('./scheduled_backups.ts');
  await backUpPeriodically(plan, { database, issuer, secrets }, log, signal);
}

const INTERVAL_MS = 1000;

/**
 * Detects that a running server’s database file was replaced or deleted, which would lose all later writes. Databases
 * that are not files are never replaced.
 */
interface DatabaseWatch {
  /** Checks now. @returns whether the file is still the one that was opened */
  isInPlace(): boolean;
  /** Resolves when the file was replaced or deleted. */
  readonly replaced: Promise<'database_replaced'>;
  /** Resolves when any process finds the file corrupt. */
  readonly damaged: Promise<void>;
  /** Checks a last time. @returns whether the file was replaced or deleted, as far as known */
  stop(): boolean;
}

function watchDatabase({ isInPlace, isDamaged }: Pick<Instance, 'isInPlace' | 'isDamaged'>): DatabaseWatch {
  const { promise: replaced, resolve } = Promise.withResolvers<'database_replaced'>();
  const damaged = Promise.withResolvers<void>();
  if (isInPlace === undefined)
    return { isInPlace: () => true, replaced, damaged: damaged.promise, stop: () => false };
  let isReplaced = false;
  const look = (): boolean => {
    const found = isInPlace();
    if (isDamaged?.() === true) damaged.resolve();
    if (!found) {
      isReplaced = true;
      resolve('database_replaced');
    }
    return found;
  };
  const lookIfPossible = (): void => {
    try {
      look();
    } catch {
      // If the file system does not answer, the state of the file is unknown. Storage reports the fault.
    }
  };
  const timer = setInterval(lookIfPossible, INTERVAL_MS).unref();
  return {
    isInPlace: look,
    replaced,
    damaged: damaged.promise,
    stop() {
      clearInterval(timer);
      lookIfPossible();
      return isReplaced;
    },
  };
}

/**
 * Milliseconds between two checks for unfinished work: in the process that sweeps, and in the others, which are only a
 * fallback.
 */
const CHECK_EVERY_MS = 2_000;
const FALLBACK_CHECK_EVERY_MS = 60_000;

/** Maximum milliseconds that a user waits while the server notifies applications of the logout. */
const MAX_WAIT_MS = 3_000;

interface UnfinishedWork {
  /** Notifies the clients of ended sessions. Resolves when all have answered, or after a few seconds. */
  readonly notifyClients: NotifyClients;
  /** Checks for work periodically. Resolves after the signal, when the current work is done. */
  run(signal: AbortSignal): Promise<void>;
  /** Starts no more notifications. Resolves when no pending one needs the database. */
  end(): Promise<void>;
}

/**
 * Work that continues after the response: notifying clients of logouts, and finishing what a crashed process left
 * half-done.
 */
function unfinishedWork(
  { people, groups, sessions, consents, storage, logoutDeliveries }: Instance,
  server: AuthorizationServer,
  log: Log,
  sweeps: boolean,
  mail: MailService | undefined,
): UnfinishedWork {
  const ending = new SessionEnding({ sessions, storage });
  const removal = new PersonRemoval({ people, consents, ending, storage });
  const withdrawal = new ConsentWithdrawal({ consents, storage });
  const access = new AccessEnding({ groups, people, storage });
  const onFault = (error: unknown) => log.error({ event: 'unfinished_work_failed', cause: causeOf(error) });
  const deliverer = new LogoutDeliverer({
    deliveries: logoutDeliveries,
    server,
    onFault,
    report: ({ type, cause, ...known }) =>
      log[type === 'logout_delivered' ? 'info' : 'warn']({
        event: type,
        ...known,
        ...(cause !== undefined && { cause: causeOf(cause) }),
      }),
  });
  const look = async (): Promise<void> => {
    for (const { clientIds: _, ...session } of await ending.finishHalfEnded())
      log.warn({ event: 'session_end_finished', ...session });
    const withdrawals = await withdrawal.finishHalfWithdrawn();
    if (withdrawals > 0) log.warn({ event: 'withdrawals_finished', withdrawals });
    for (const subject of await removal.finishHalfRemoved())
      log.info({ event: 'person_removal_finished', subject });
    for (const { subject, group } of await access.finishHalfEnded())
      log.info({ event: 'group_end_finished', subject, group });
    await deliverer.begin();
    await mail?.deliverer.begin();
  };
  const interval = sweeps ? CHECK_EVERY_MS : FALLBACK_CHECK_EVERY_MS;

  return {
    async notifyClients(ends) {
      const answers = new Map<string, 'delivered' | 'refused'>();
      const told = ends.map((end) =>
        deliverer.tell(end, (clientId, outcome) => {
          if (outcome === 'delivered' || outcome === 'refused') answers.set(clientId, outcome);
        }),
      );
      await Promise.race([Promise.all(told), pause(MAX_WAIT_MS, undefined, { ref: false })]);
      return answers;
    },
    async run(signal) {
      while (!signal.aborted) {
        await look().catch(onFault);
        // Rejects only when aborted.
        await pause(interval, undefined, { signal, ref: false }).catch(() => undefined);
      }
    },
    async end() {
      await Promise.all([deliverer.end(), mail?.deliverer.end()]);
    },
  };
}
