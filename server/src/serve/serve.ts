import { setTimeout as pause } from 'node:timers/promises';
import type { AuthorizationServer } from '@grantd/core';
import { tlsCertificateOf } from '@grantd/core/node';
import type { Configuration } from '../config/configuration.ts';
import type { Settings } from '../config/options.ts';
import { Refused } from '../config/refused.ts';
import { databaseOf } from '../data/database_of.ts';
import {
  type Instance,
  issuerToServe,
  openInstance,
  refuseStoredInsecureIssuer,
} from '../instance/instance.ts';
import { causeOf, type Log, openLog, RequestLog } from '../log/log.ts';
import { type Operator, readOperator } from '../pages/operator.ts';
import { ConsentWithdrawal } from '../people/consents.ts';
import { AccessEnding } from '../people/groups.ts';
import { PersonRemoval } from '../people/removal.ts';
import { LogoutDeliverer, type NotifyClients, SessionEnding } from '../people/sessions.ts';
import { refuseForeignDemo, refuseKnownPasswords, refusePlainIssuer } from './exposure.ts';
import {
  createHttpServer,
  type HttpServer,
  healthListener,
  lateListener,
  listen,
  type Routes,
  requestListener,
} from './http_server.ts';
import { announce, type Connections, type Ending, finish, listenForEnd, type Started } from './shutdown.ts';
import { sweepInThread } from './sweep_in_thread.ts';
import { sweepable, sweepPeriodically } from './sweeper.ts';
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
  readonly ending: Ending;
  /** Only one of several processes needs to do this. */
  readonly sweeps: boolean;
  readonly bringsDemo: boolean;
  /** The server’s secret at the start of the first process. */
  readonly secretOfStart?: readonly string[];
  /** Called once, when the server answers requests. */
  started(what: Started, secret: readonly string[]): void;
}

/** Serves in a single process until it receives a signal. Messages for people go to stderr; the log goes to stdout. */
export async function serve(given: Configuration, environment: NodeJS.ProcessEnv): Promise<void> {
  const log = await openLog(given.settings.log);
  const ending = listenForEnd(given.settings.shutdownDelay, log);

  // Listens before it opens the database, because the default issuer depends on the port and a failed start must leave
  // no files behind.
  const tls = await tlsFilesOf(given, environment);
  const server = createHttpServer(tls);
  const configuration = { ...given, settings: await listen(server, given.settings) };
  await serveDatabase(configuration, environment, {
    server,
    connections: server.connections,
    tls,
    log,
    ending,
    sweeps: true,
    bringsDemo: given.settings.demo,
    started: (what) => announce(log, configuration.settings, what),
  });
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
  try {
    const operator = readOperator(configuration, environment);
    const database = await databaseOf(configuration, environment, (error) =>
      role.log.warn({ event: 'database_connection_lost', cause: causeOf(error) }),
    );
    try {
      const issuer = issuerToServe(configuration.settings, await database.storedIssuer());
      refuseStoredInsecureIssuer(configuration, issuer);
      refusePlainIssuer(configuration, issuer);
      refuseForeignDemo(configuration, issuer, database.name);
      const instance = await openInstance(configuration, database, issuer, 'server', role.secretOfStart);
      await serveInstance(configuration, instance, operator, role);
    } finally {
      await database.close();
    }
  } finally {
    role.connections.closeAllConnections();
    role.connections.close();
  }
}

async function serveInstance(
  configuration: Configuration,
  instance: Instance,
  operator: Operator,
  { server: http, connections, tls, log, ending, sweeps, bringsDemo, started }: Role,
): Promise<void> {
  const { settings } = configuration;
  const { database } = instance;
  await refuseKnownPasswords(configuration, instance);
  const requestLog = new RequestLog(log);
  const server = await instance.server(requestLog.event);
  const demo = bringsDemo ? await addDemo(instance, server) : undefined;

  const unfinished = unfinishedWork(instance, server, log, sweeps);
  const watch = watchDatabase(instance);
  let isEnding = false;
  http.answerWith(
    requestListener({
      server,
      requestLog,
      health: healthListener({
        ...{ settings, instance, log },
        isInPlace: watch.isInPlace,
        isEnding: () => isEnding,
      }),
      pages: lateListener(async () => {
        const { openPages } = await import('../pages/pages.ts');
        const { notifyClients } = unfinished;
        return openPages(instance, { settings, server, requestLog, operator, notifyClients });
      }),
      clientCertificate: await certificateSource(settings, log),
      mtlsPort: settings.mtlsPort,
    }),
  );
  const sweeping = new AbortController();
  tls?.keepFresh(log, sweeping.signal, () => http.renewConnections());
  const worked = unfinished.run(sweeping.signal);
  const swept = sweeps && sweep(instance, settings, log, sweeping.signal);
  try {
    const what = { issuer: instance.issuer, database: database.name, ...(demo && { demo: await demo() }) };
    started(what, instance.secretTexts());
    void watch.damaged.then(() => {
      log.fatal({ event: 'database_corrupt', database: database.name });
      http.answerNotReady();
      sweeping.abort();
    });
    const reason = await Promise.race([ending.requested, watch.replaced]);
    isEnding = true;
    http.closeAfterAnswers();
    sweeping.abort();
    if (reason !== 'database_replaced') {
      log.info({ event: 'ending', signal: reason });
      await Promise.race([ending.closing, watch.replaced]);
    }
    const isReplaced = watch.stop();
    if (isReplaced) {
      log.fatal({ event: 'database_replaced', database: database.name });
      http.answerNotReady();
      // Pending requests then also get 503, instead of the result of a lost write.
      await database.close();
    }
    const isFinished = await finish(connections);
    await Promise.all([swept, worked, unfinished.end(), server.flush()]);
    log.info({ event: 'ended', inFlight: isFinished ? 'finished' : 'closed' });
    if (isReplaced) throw databaseReplaced(database.name);
  } finally {
    // If the start fails, timers must not keep the process alive.
    watch.stop();
    sweeping.abort();
  }
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
    `the database ${name} or its write-ahead log was replaced or deleted while grantd was running. ` +
      `If you put another file in its place, remove ${name}-wal and ${name}-shm, which belong to the old file. ` +
      'Then start grantd again. Replace a database only while no program uses it.',
  );
}

async function sweep(
  { database, issuer, storage, sweepProgram, isAfterCrash = false }: Instance,
  { sweepInterval: intervalSeconds, eventRetention: eventRetentionSeconds }: Settings,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  // Rejects only when aborted.
  await pause(FIRST_SWEEP_AFTER_MS, undefined, { signal, ref: false }).catch(() => undefined);
  const { file: path } = database;
  if (path === undefined)
    return sweepPeriodically(sweepable(storage, sweepProgram), intervalSeconds, log, signal);
  return sweepInThread(
    { path, issuer, intervalSeconds, eventRetentionSeconds, checksFirst: isAfterCrash },
    log,
    signal,
  );
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
    end: () => deliverer.end(),
  };
}
