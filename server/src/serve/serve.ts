import { setTimeout as pause } from 'node:timers/promises';
import type { Configuration } from '../config/configuration.ts';
import type { Settings } from '../config/options.ts';
import { addDemoData } from '../demo/add_demo_data.ts';
import { demoCommands } from '../demo/demo_commands.ts';
import { refuseExposedDemo, refuseForeignDemo, refuseKnownPasswords } from '../demo/exposure.ts';
import { databaseOf } from '../instance/database/database_of.ts';
import { type Instance, openInstance } from '../instance/instance.ts';
import { issuerToServe, refuseStoredInsecureIssuer } from '../instance/issuer.ts';
import { Refused } from '../instance/refused.ts';
import { causeOf } from '../log/cause.ts';
import { type Log, openLog } from '../log/log.ts';
import { RequestLog } from '../log/request_log.ts';
import { type Operator, readOperator } from '../pages/operator.ts';
import { watchDatabase } from './database_watch.ts';
import { healthListener } from './health.ts';
import { createHttpServer, type HttpServer } from './http_server.ts';
import { lateListener } from './late_listener.ts';
import { listenOn } from './listen_on.ts';
import { requestListener } from './request_listener.ts';
import { type Connections, type Ending, finish, listenForEnd } from './shutdown.ts';
import { announce, type Started } from './started.ts';
import { sweepInThread } from './sweep_in_thread.ts';
import { sweepable, sweepPeriodically } from './sweeper.ts';
import { unfinishedWork } from './unfinished_work.ts';

/** The first sweep is in no hurry, and would take time from the first answers. */
const FIRST_SWEEP_AFTER_MS = 2_000;

/** What differs between a process that serves alone and one of several workers. */
export interface Role {
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
  const server = await instance.server((event) => requestLog.event(event));
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
