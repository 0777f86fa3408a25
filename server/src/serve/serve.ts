import { setTimeout as pause } from 'node:timers/promises';
import type { AuthorizationServer } from '@grantd/core';
import type { Configuration } from '../config/configuration.ts';
import type { Settings } from '../config/options.ts';
import { Refused } from '../config/refused.ts';
import { databaseOf } from '../data/database_of.ts';
import { addDemoData, demoCommands } from '../demo/demo.ts';
import { refuseExposedDemo, refuseForeignDemo, refuseKnownPasswords } from '../demo/exposure.ts';
import {
  type Instance,
  issuerToServe,
  openInstance,
  refuseStoredInsecureIssuer,
} from '../instance/instance.ts';
import { causeOf, type Log, openLog } from '../log/log.ts';
import { RequestLog } from '../log/request_log.ts';
import { type Operator, readOperator } from '../pages/operator.ts';
import { ConsentWithdrawal } from '../people/consents.ts';
import { PersonRemoval } from '../people/removal.ts';
import { LogoutDeliverer, SessionEnding, type TellClients } from '../people/sessions.ts';
import {
  createHttpServer,
  type HttpServer,
  healthListener,
  lateListener,
  listenOn,
  requestListener,
} from './http_server.ts';
import { announce, type Connections, type Ending, finish, listenForEnd, type Started } from './shutdown.ts';
import { sweepInThread } from './sweep_in_thread.ts';
import { sweepable, sweepPeriodically } from './sweeper.ts';

/** The first sweep is in no hurry, and would take time from the first answers. */
const FIRST_SWEEP_AFTER_MS = 2_000;

/** What differs between a process that serves alone and one of several workers. */
interface Role {
  readonly server: HttpServer;
  readonly connections: Connections;
  readonly port: number;
  readonly log: Log;
  readonly ending: Ending;
  /** Of several processes one is enough for each of these. */
  readonly sweeps: boolean;
  readonly bringsDemo: boolean;
  /** The server's secret when the first of several processes began to serve. */
  readonly secretOfStart?: readonly string[];
  /** Called once, when requests are answered. */
  started(what: Started, secret: readonly string[]): void;
}

/** Serves in this process alone until it is told to end. What people read goes to stderr; stdout is the log. */
export async function serve(configuration: Configuration, environment: NodeJS.ProcessEnv): Promise<void> {
  const { settings } = configuration;
  refuseExposedDemo(configuration);
  const log = await openLog(settings.log);
  const ending = listenForEnd(settings.shutdownDelay, log);

  // The port first: the issuer may follow from it, and a start that cannot listen leaves no files behind.
  const server = createHttpServer();
  const port = await listenOn(server.http, settings.host, settings.port);
  await serveDatabase(configuration, environment, {
    server,
    connections: server.http,
    port,
    log,
    ending,
    sweeps: true,
    bringsDemo: settings.demo,
    started: (what) => announce(log, settings, port, what),
  });
}

/** @throws {Refused} the database cannot be served, or no longer */
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
      const { issuer: given } = configuration.settings;
      const issuer = issuerToServe(given, await database.storedIssuer(), role.port);
      refuseStoredInsecureIssuer(configuration, issuer);
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
  { server: http, connections, log, ending, sweeps, bringsDemo, started }: Role,
): Promise<void> {
  const { settings } = configuration;
  const { database } = instance;
  await refuseKnownPasswords(configuration, instance);
  const requestLog = new RequestLog(log);
  const server = await instance.server(requestLog.event);
  const person = bringsDemo ? await addDemoData(instance, server) : undefined;

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
        const { tellClients } = unfinished;
        return openPages(instance, { settings, server, requestLog, operator, tellClients });
      }),
    }),
  );
  const sweeping = new AbortController();
  const worked = unfinished.run(sweeping.signal);
  const swept = sweeps && sweep(instance, settings, log, sweeping.signal);
  try {
    const demo = person && (await demoCommands(instance, server, person));
    const what = { issuer: instance.issuer, database: database.name, ...(demo !== undefined && { demo }) };
    started(what, instance.secretTexts());
    void watch.damaged.then(() => {
      log.fatal({ event: 'database_corrupt', database: database.name });
      http.answerNotReady();
      sweeping.abort();
    });
    const asked = await Promise.race([ending.asked, watch.replaced]);
    isEnding = true;
    http.closeAfterAnswers();
    sweeping.abort();
    if (asked !== 'database_replaced') {
      log.info({ event: 'ending', signal: asked });
      await Promise.race([ending.closing, watch.replaced]);
    }
    const isReplaced = watch.stop();
    if (isReplaced) {
      log.fatal({ event: 'database_replaced', database: database.name });
      http.answerNotReady();
      // Requests in flight get a 503 as well, instead of the outcome of a write that is lost.
      await database.close();
    }
    const isFinished = await finish(connections);
    await Promise.all([swept, worked, unfinished.end(), server.flush()]);
    log.info({ event: 'ended', inFlight: isFinished ? 'finished' : 'closed' });
    if (isReplaced) throw databaseReplaced(database.name);
  } finally {
    // Also where the start fails half-way: neither may keep the process from ending.
    watch.stop();
    sweeping.abort();
  }
}

function databaseReplaced(name: string): Refused {
  return new Refused(
    `the database ${name}, or its log beside it, was replaced or deleted while grantd served from it. ` +
      `If you put another file in its place, remove ${name}-wal and ${name}-shm, which belong to the former file; ` +
      'then start grantd again. Replace a database only while nothing runs on it.',
  );
}

async function sweep(
  { database, issuer, storage, sweepProgram, isAfterCrash = false }: Instance,
  { sweepInterval: intervalSeconds, eventRetention: eventRetentionSeconds }: Settings,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  // Rejects only where it is told to stop.
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
 * Notices when the file of a running server's database is replaced or deleted: what was written since then would be
 * lost. A database that is no file stays where it is.
 */
interface DatabaseWatch {
  /** Looks now. @returns whether the file is still the one that was opened */
  isInPlace(): boolean;
  /** Resolves once it is not. */
  readonly replaced: Promise<'database_replaced'>;
  /** Resolves once the file was found corrupt, by whichever process. */
  readonly damaged: Promise<void>;
  /** Looks a last time. @returns whether the file is no longer the one that was opened, as far as one can tell */
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
      // A file system that cannot be asked says nothing of the file; storage will say what it makes of it.
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

/** Milliseconds between two looks: of the process that sweeps, and of the others, which would replace it one day. */
const LOOK_EVERY_MS = 2_000;
const OTHERS_LOOK_EVERY_MS = 60_000;

/** Milliseconds that a person waits at most while applications are told that their session has ended. */
const LONGEST_WAIT_MS = 3_000;

interface UnfinishedWork {
  /** Resolves once every client of these sessions has been told of their end, or after some seconds. */
  readonly tellClients: TellClients;
  /** Looks for work now and then. Resolves when it was told to stop and has. */
  run(signal: AbortSignal): Promise<void>;
  /** Begins to tell nobody any more. Resolves when nothing is under way that needs the database. */
  end(): Promise<void>;
}

/** What goes on after the answer: clients are told of logouts, and what a dead process has left half-done is finished. */
function unfinishedWork(
  { people, sessions, consents, storage, logoutDeliveries }: Instance,
  server: AuthorizationServer,
  log: Log,
  sweeps: boolean,
): UnfinishedWork {
  const ending = new SessionEnding({ sessions, storage });
  const removal = new PersonRemoval({ people, consents, ending, storage });
  const withdrawal = new ConsentWithdrawal({ consents, storage });
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
    await deliverer.begin();
  };
  const interval = sweeps ? LOOK_EVERY_MS : OTHERS_LOOK_EVERY_MS;

  return {
    async tellClients(ends) {
      const answers = new Map<string, 'delivered' | 'refused'>();
      const told = ends.map((end) =>
        deliverer.tell(end, (clientId, outcome) => {
          if (outcome === 'delivered' || outcome === 'refused') answers.set(clientId, outcome);
        }),
      );
      await Promise.race([Promise.all(told), pause(LONGEST_WAIT_MS, undefined, { ref: false })]);
      return answers;
    },
    async run(signal) {
      while (!signal.aborted) {
        await look().catch(onFault);
        // Rejects only where it is told to stop.
        await pause(interval, undefined, { signal, ref: false }).catch(() => undefined);
      }
    },
    end: () => deliverer.end(),
  };
}
