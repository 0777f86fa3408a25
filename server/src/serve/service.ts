// What one configuration serves, over its own connections to the database.
import { createHmac } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { AuthorizationServer, FetchDocument, GetUserClaims } from '@grantd/core';
import type { OperationParts } from '../admin/operation.ts';
import { networkOf } from '../config/client_address.ts';
import type { Configuration } from '../config/configuration.ts';
import { isPostgresUrl, type Settings } from '../config/options.ts';
import { type Provider, readProviders } from '../config/providers.ts';
import { ClockWatch } from '../data/clock_watch.ts';
import { databaseOf, databasePath, storedIn } from '../data/database_of.ts';
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
import { causeOf, type Log, RequestLog } from '../log/log.ts';
import type { History } from '../monitoring/history.ts';
import type { Monitor, Watched } from '../monitoring/monitor.ts';
import type { Tracing } from '../monitoring/tracing.ts';
import { readCatalogues } from '../pages/drawing/languages.ts';
import { type Operator, readOperator } from '../pages/drawing/operator.ts';
import { useCatalogues } from '../texts/texts.ts';
import { type DatabaseWatch, watchDatabase } from './database_watch.ts';
import { refuseForeignDemo, refuseKnownPasswords, refusePlainIssuer } from './exposure.ts';
import { healthListener, lateListener, readinessCheck, requestListener } from './http_server.ts';
import {
  adminListener,
  backUp,
  certificateSource,
  consolePages,
  directoryOf,
  mailService,
  planOfBackups,
  upstreamOf,
} from './optional_parts.ts';
import { sealOnce, sealPeriodically } from './sealer.ts';
import { checkInThread, sweepInThread } from './sweep_in_thread.ts';
import { type SweepLog, sweepable, sweepPeriodically } from './sweeper.ts';
import { unfinishedWork } from './unfinished_work.ts';

/** Delays the first sweep, so that it does not slow down the first answers. */
const FIRST_SWEEP_AFTER_MS = 2_000;

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
  /**
   * Finishes what requests have left, and closes the database. Call it after `stop`, when no request is pending.
   * @param of whether a later service of this process seals the audit trail
   */
  end(of?: { readonly hasSuccessor: boolean }): Promise<void>;
  closeDatabase(): Promise<void>;
  /** Stops timers and closes the database at once, also during work. */
  abandon(): Promise<void>;
}

const SHOWN_ADDRESSES = {
  off: undefined,
  network: networkOf,
  full: (address: string) => address || undefined,
};

/** What stands between the parts of a server and its log. */
export interface Observation {
  readonly log: Log;
  /** Present if metrics or the console are on. */
  readonly monitor?: Monitor | undefined;
  /** Present if the console is on: what all processes have counted in the last hour. */
  readonly history?: History | undefined;
  /** Present if traces are on. */
  readonly tracing?: Tracing | undefined;
}

interface ServiceRole extends Observation {
  /** Only one of several processes needs to do this. */
  readonly sweeps: boolean;
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
      async end({ hasSuccessor } = { hasSuccessor: false }) {
        await Promise.all([unfinished.end(), server.flush()]);
        // Changes of the last requests.
        if (sweeps && !hasSuccessor) await sealOnce(instance, log);
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
