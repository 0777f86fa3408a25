// What one configuration serves, over its own connections to the database.
import { createHmac } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { type AuthorizationServer, type FetchDocument, type GetUserClaims, StorageFault } from '@grantd/core';
import type { OperationParts } from '../admin/operation.ts';
import { admissionByAddress, networkOf } from '../config/client_address.ts';
import type { Configuration } from '../config/configuration.ts';
import { isPostgresUrl, type Settings } from '../config/options.ts';
import { tokenPolicy } from '../config/personal_token_options.ts';
import { type Provider, readProviders } from '../config/providers.ts';
import { ClockWatch } from '../data/clock_watch.ts';
import { databaseOf, databasePath, storedIn } from '../data/database_of.ts';
import type { People } from '../data/people.ts';
import { connectionOf } from '../data/postgres_url.ts';
import { readSecretFile } from '../data/secrets.ts';
import { askStorage } from '../data/tables.ts';
import type { Directory } from '../directory/contract.ts';
import { Feed } from '../follow/feed.ts';
import {
  type Instance,
  issuerToServe,
  openInstance,
  refuseStoredInsecureIssuer,
} from '../instance/instance.ts';
import { prepareClient } from '../instance/personal_tokens_client.ts';
import { Guesses } from '../limits/guesses.ts';
import { Throttle } from '../limits/throttle.ts';
import { type Log, RequestLog } from '../log/log.ts';
import { causeOf } from '../log/logged_error.ts';
import type { History } from '../monitoring/history.ts';
import type { Monitor, Watched } from '../monitoring/monitor.ts';
import type { Tracing } from '../monitoring/tracing.ts';
import { readCatalogues } from '../pages/drawing/languages.ts';
import { type Operator, readOperator } from '../pages/drawing/operator.ts';
import { UseRecorder } from '../people/acting.ts';
import { useCatalogues } from '../texts/texts.ts';
import { type DatabaseWatch, watchDatabase } from './database_watch.ts';
import {
  refuseForeignDemo,
  refuseKnownPasswords,
  refusePlainIssuer,
  refuseUnknownInCodeOptions,
} from './exposure.ts';
import { healthChecks, lateListener, readinessCheck, requestListener } from './http_server.ts';
import { OpenedParts } from './opened_parts.ts';
import {
  adminListener,
  backUp,
  certificateSource,
  consolePages,
  directoryOf,
  mailService,
  noted,
  planOfBackups,
  tokenCheckOf,
  upstreamOf,
} from './optional_parts.ts';
import { sealOnce, sealPeriodically } from './sealer.ts';
import { checkInThread, countingInThread, sweepInThread } from './sweep_in_thread.ts';
import { type SweepLog, sweepable, sweepPeriodically } from './sweeper.ts';
import { unfinishedWork } from './unfinished_work.ts';

/** Delays the first sweep, so that it does not slow down the first answers. */
const FIRST_SWEEP_AFTER_MS = 2_000;

/** Milliseconds between two steps of `limitSessions`. */
const LIMIT_EVERY_MS = 20;

/** Milliseconds after which work of a start is tried again during an outage. */
const AGAIN_MS = 1000;

interface WorkObserver {
  /** Called if the database turns out to be corrupt. */
  onCorrupt(): void;
  /** Called if the work ends with an error, which is a bug. */
  onFailure(error: unknown): void;
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
  /** Starts the work besides requests. */
  run(observer: WorkObserver): void;
  /** Starts no more of this work. Resolves when none is under way. @throws what the work has thrown */
  stop(): Promise<void>;
  /**
   * Finishes what requests have left, and closes the database. Call it after `stop`, when no request is pending.
   * @param of whether a later service of this process seals the audit trail
   */
  end(of?: { readonly hasSuccessor: boolean }): Promise<void>;
  closeDatabase(): Promise<void>;
  /** Closes everything at once, also during work. */
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
  /** Whether the process runs nothing else. */
  readonly ownsGlobals: boolean;
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

/**
 * Opens what a configuration serves. If a step fails, what the steps before have opened is closed.
 * @throws {Refused} the database cannot be served
 */
export async function openService(
  configuration: Configuration,
  environment: NodeJS.ProcessEnv,
  role: ServiceRole,
): Promise<Service> {
  const opened = new OpenedParts();
  try {
    const files = await readFiles(configuration, environment);
    const stopping = new AbortController();
    opened.add(() => stopping.abort());
    const given: Given = { ...role, configuration, environment, files, opened, stopping };
    const data = await openData(given);
    const parts = await openParts(given, data);
    await beginToServe(given, data);
    return serviceOf(given, data, parts);
  } catch (error) {
    await opened
      .close()
      .catch((failure: unknown) => role.log.error({ event: 'close_failed', cause: causeOf(failure) }));
    throw error;
  }
}

/** What each step of `openService` gets. */
interface Given extends ServiceRole {
  readonly configuration: Configuration;
  readonly environment: NodeJS.ProcessEnv;
  readonly files: Awaited<ReturnType<typeof readFiles>>;
  readonly opened: OpenedParts;
  readonly stopping: AbortController;
}

type Data = Awaited<ReturnType<typeof openData>>;
type Parts = Awaited<ReturnType<typeof openParts>>;

/** Opens the directory, the database, and the instance over it. */
async function openData(given: Given) {
  const { configuration, environment, files, opened, log, monitor, tracing, users, sweeps, isReload } = given;
  const opening = users?.directory ?? (await directoryOf(configuration, environment));
  const directory = opening && monitor ? noted(opening, monitor.directory) : opening;
  opened.add(() => directory?.close());
  const bare = await databaseOf(configuration, environment, (error) =>
    log.warn({ event: 'database_connection_lost', cause: causeOf(error) }),
  );
  let closed: Promise<void> | undefined;
  const closeDatabase = () => {
    closed ??= bare.close();
    return closed;
  };
  opened.add(closeDatabase);
  const counting = countingInThread(bare);
  const database = monitor?.database(counting) ?? counting;
  const issuer = issuerToServe(configuration.settings, await database.storedIssuer());
  refuseStoredInsecureIssuer(configuration, issuer);
  refusePlainIssuer(configuration, issuer);
  refuseForeignDemo(configuration, issuer, database.name);
  const traced = tracing && ((fetchDocument: FetchDocument) => tracing.fetchDocument(fetchDocument));
  const instance = await openInstance(configuration, database, issuer, 'server', {
    ofIssuer: monitor?.issuer,
    ...{ secretOfStart: given.secretOfStart, traced, providers: files.providers, claimsOf: users?.claimsOf },
    hasDirectory: directory !== undefined,
  });
  // In a reload, an open database looks like one after a crash.
  if (sweeps && !isReload && instance.isAfterCrash === true && database.file !== undefined) {
    await checkInThread(database.file, log);
    // Refuses a marked file.
    await database.storedIssuer();
  }
  await refuseKnownPasswords(configuration, instance);
  await refuseUnknownInCodeOptions(configuration, instance);
  const tokens = tokenPolicy(configuration.settings);
  if (tokens !== undefined) await prepareClient(instance.actingAs('server').storage, tokens);
  // Before this process records anything.
  const clock = new ClockWatch(instance, { log });
  await askStorage(() => clock.look());
  return { directory, database, closeDatabase, instance, clock };
}

/** Opens what answers requests, and what works besides them. */
async function openParts(given: Given, { instance, clock }: Data) {
  const { configuration, files, opened, stopping, log, monitor, history, sweeps, isEnding } = given;
  const { settings } = configuration;
  const clientCertificate = await certificateSource(settings, log);
  const requestLog = new RequestLog(log, SHOWN_ADDRESSES[settings.logAddresses]);
  const guesses = new Guesses({ settings, clients: instance.storage.clients, requestLog });
  requestLog.observe(guesses);
  const uses = new UseRecorder({ ...instance, log });
  requestLog.recordUses(uses);
  const server = await instance.server(monitor?.events(requestLog.event) ?? requestLog.event);
  const mail = await mailService(instance, { settings, operator: files.operator, log });
  opened.add(() => mail?.close());
  const unfinished = unfinishedWork(instance, server, log, sweeps, mail);
  const watch = watchDatabase(instance);
  opened.add(() => watch.stop());
  const readiness = { settings, instance, log, isInPlace: watch.isInPlace };
  const storageTroubleNow = readinessCheck(readiness);
  const whyNotReady = async () => (isEnding() ? ('ending' as const) : storageTroubleNow());
  const isReady = async () => (await whyNotReady()) === undefined;
  const testMail = async (parts: Pick<OperationParts, 'configuration' | 'issuer'>, address: string) =>
    (await import('../mail/test_mail.ts')).testMail(parts, address);
  const isAdmitted = admissionByAddress(settings, () =>
    log.warn({ event: 'admin_request_through_unknown_proxy', needed: 'trustedProxies' }),
  );
  const ofOperators = { configuration, server, isAdmitted, testMail };
  const ofApis = { storage: instance.storage, server, requestLog, guesses, clientCertificate };
  const { accessTokenLifetime } = settings;
  const feed = new Feed({
    ...ofApis,
    ...{ secret: instance.secret(), clock: instance.clock, accessTokenLifetime },
  });
  const tokenCheck = await tokenCheckOf({ ...ofApis, settings }, log);
  stopping.signal.addEventListener('abort', () => feed.close());
  const admin = await adminListener(instance, { ...ofOperators, isReady, requestLog, clientCertificate });
  const consoleFlow = await consolePages(instance, { ...ofOperators, whyNotReady, history, clock });
  return {
    ...{ clientCertificate, requestLog, guesses, server, mail, unfinished, uses, watch, readiness, isReady },
    ...{ admin, consoleFlow, feed, forApis: [feed, ...(tokenCheck === undefined ? [] : [tokenCheck])] },
  };
}

/** The last step, because it changes what others see. */
async function beginToServe({ configuration, files, sweeps, isReload }: Given, { instance }: Data) {
  const { settings } = configuration;
  if (sweeps) await recordConfiguration(instance, settings, isReload);
  useCatalogues(files.catalogues);
}

function serviceOf(given: Given, data: Data, parts: Parts): Service {
  const { files, opened, stopping, log, sweeps } = given;
  const { database, closeDatabase, instance, clock } = data;
  const { server, unfinished, uses, watch, feed, isReady } = parts;
  let work: Promise<unknown> = Promise.resolve();
  return {
    ...{ instance, server, watch, closeDatabase, name: database.name },
    ...{ operator: files.operator, providers: files.providers },
    abandon: () => opened.close(),
    watched: { ...instance, clock, feed, isReady },
    listener: listenerOf(given, data, parts),
    run({ onCorrupt, onFailure }) {
      work = backgroundWork(given, data, parts);
      work.catch(onFailure);
      void watch.damaged.then(() => {
        if (stopping.signal.aborted) return;
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
      try {
        await Promise.all([unfinished.end(), uses.write(), server.flush(), instance.gatheredWrites.flush()]);
        // Changes of the last requests.
        if (sweeps && !hasSuccessor) await sealOnce(instance, log);
      } finally {
        await opened.close();
      }
    },
  };
}

function listenerOf(given: Given, { directory, instance, clock }: Data, parts: Parts): RequestListener {
  const { configuration, files, isEnding, monitor, ownsGlobals } = given;
  const { clientCertificate, requestLog, guesses, server, mail, unfinished, readiness } = parts;
  const { admin, consoleFlow, forApis } = parts;
  const { settings } = configuration;
  return requestListener({
    ...{ server, requestLog, clientCertificate, mtlsPort: settings.mtlsPort, admin, forApis, guesses },
    contact: parts.feed.contact,
    trustedProxies: settings.trustedProxies,
    throttle: new Throttle(instance.issuer, settings),
    health: healthChecks({ ...readiness, isEnding, clock }),
    pages: lateListener(async () => {
      const { openPages } = await import('../pages/pages.ts');
      const { notifyClients } = unfinished;
      return openPages(instance, {
        ...{ settings, server, requestLog, operator: files.operator, notifyClients, directory, consoleFlow },
        mail: mail && { queue: mail.queue, links: mail.links, codes: mail.codes },
        ownsGlobals,
        openUpstream: await upstreamOf(instance, files.providers, monitor?.provider),
      });
    }),
  });
}

/** Work besides requests, until the service stops. */
async function backgroundWork(given: Given, { instance, clock }: Data, parts: Parts): Promise<void> {
  const { configuration, environment, files, stopping, log, monitor, sweeps } = given;
  const { settings } = configuration;
  const { signal } = stopping;
  const sweepLog = { info: log.info.bind(log), error: log.error.bind(log), swept: monitor?.swept };
  const database = storedIn(settings, environment);
  await Promise.all([
    parts.unfinished.run(signal),
    parts.uses.run(signal),
    clock.run(signal),
    ...(sweeps
      ? [
          sweep(instance, settings, clock, sweepLog, signal),
          backUp(instance.issuer, database, settings, files.backupPlan, log, signal),
          sealPeriodically(instance, settings.eventRetention, clock, log, signal),
          limitSessions(instance, settings, signal),
          endTokensBeyond(instance, configuration, log, signal),
        ]
      : []),
  ]);
}

/** Does the work of a start once. An outage, which the readiness check reports, delays it. */
async function onceAvailable(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    try {
      await work();
      return;
    } catch (error) {
      if (!(error instanceof StorageFault)) throw error;
    }
    await pauseUnless(signal, AGAIN_MS);
  }
}

async function pauseUnless(signal: AbortSignal, ms: number): Promise<void> {
  // Rejects only when aborted.
  await pause(ms, undefined, { signal, ref: false }).catch(() => undefined);
}

/** Shortens all sessions to the lifetimes that are served from now on. Sign-in pages go by these already. */
function limitSessions(
  { sessions }: Pick<Instance, 'sessions'>,
  { sessionIdleLifetime: idle, sessionLifetime: absolute }: Settings,
  signal: AbortSignal,
): Promise<void> {
  let after: string | undefined = '';
  return onceAvailable(signal, async () => {
    while (after !== undefined && !signal.aborted) {
      after = await sessions.limit({ idle, absolute }, after);
      // Requests are served in between.
      if (after !== undefined) await pauseUnless(signal, LIMIT_EVERY_MS);
    }
  });
}

/** Ends personal access tokens beyond the policy. Without a policy, it says how many stay alive (ADR 194). */
function endTokensBeyond(
  instance: Instance,
  configuration: Configuration,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  return onceAvailable(signal, async () => {
    const [any] = await instance.personalTokens.list('', 1, instance.clock());
    if (any === undefined) return;
    const { countLive, endBeyondOptions } = await import('../admin/personal_tokens.ts');
    const tokens = await endBeyondOptions({ ...instance, configuration }, signal);
    if (tokens === undefined)
      log.warn({ event: 'personal_tokens_beyond_policy', tokens: await countLive(instance) });
    else if (tokens > 0) log.warn({ event: 'personal_tokens_ended', tokens });
  });
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
  instance: Instance,
  { sweepInterval: intervalSeconds, unusedRegistrationLifetime: unusedFor }: Settings,
  clock: ClockWatch,
  log: SweepLog,
  signal: AbortSignal,
): Promise<void> {
  const deletionLimitMs = () => clock.deletionLimitMs();
  // Rejects only when aborted.
  await pause(FIRST_SWEEP_AFTER_MS, undefined, { signal, ref: false }).catch(() => undefined);
  const { database, issuer } = instance;
  const { file: path } = database;
  if (path === undefined) {
    // A client that is removed has not removed its registration itself.
    const { storage, sweepProgram } = instance.actingAs('server');
    const bounds = () => ({ unusedFor, untilMs: deletionLimitMs() });
    return sweepPeriodically(sweepable(storage, sweepProgram, bounds), intervalSeconds, log, signal);
  }
  return sweepInThread({ path, issuer, unusedFor, deletionLimitMs, intervalSeconds }, log, signal);
}
