import type { Configuration } from '../config/configuration.ts';
import { addDemoData } from '../demo/add_demo_data.ts';
import { demoCommands } from '../demo/demo_commands.ts';
import { refuseExposedDemo, refuseForeignDemo, refuseKnownPasswords } from '../demo/exposure.ts';
import { databaseOf } from '../instance/database/database_of.ts';
import { type Instance, openInstance } from '../instance/instance.ts';
import { issuerToServe } from '../instance/issuer.ts';
import { Refused } from '../instance/refused.ts';
import { causeOf } from '../log/cause.ts';
import { type Log, openLog } from '../log/log.ts';
import { RequestLog } from '../log/request_log.ts';
import { openPages } from '../pages/pages.ts';
import { watchDatabase } from './database_watch.ts';
import { healthCheck } from './health.ts';
import { type ListeningServer, listen } from './http_server.ts';
import { requestListener } from './request_listener.ts';
import { askedToEnd, finish } from './shutdown.ts';
import { sweepInThread } from './sweep_in_thread.ts';
import { sweepPeriodically } from './sweeper.ts';

/** Serves until it is told to end. What people read goes to stderr; stdout is the log. */
export async function serve(configuration: Configuration, environment: NodeJS.ProcessEnv): Promise<void> {
  const { settings } = configuration;
  refuseExposedDemo(configuration);
  const log = await openLog(settings.log);
  const ending = askedToEnd();

  // The port first: the issuer may follow from it, and a start that cannot listen leaves no files behind.
  const listening = await listen(settings.host, settings.port);
  try {
    const database = await databaseOf(configuration, environment, (error) =>
      log.warn({ event: 'database_connection_lost', cause: causeOf(error) }),
    );
    try {
      const issuer = issuerToServe(settings.issuer, await database.storedIssuer(), listening.port);
      refuseForeignDemo(configuration, issuer, database.name);
      const instance = await openInstance(configuration, database, issuer);
      await serveInstance(configuration, instance, listening, log, ending);
    } finally {
      await database.close();
    }
  } finally {
    listening.http.closeAllConnections();
    listening.http.close();
  }
}

async function serveInstance(
  configuration: Configuration,
  instance: Instance,
  { http, port, answerWith, answerNotReady }: ListeningServer,
  log: Log,
  ending: Promise<NodeJS.Signals>,
): Promise<void> {
  const { settings } = configuration;
  const { database } = instance;
  await refuseKnownPasswords(configuration, instance);
  const requestLog = new RequestLog(log);
  const server = await instance.server((event) => requestLog.event(event));
  const person = settings.demo ? await addDemoData(instance, server) : undefined;

  const watch = watchDatabase(instance);
  answerWith(
    requestListener({
      server,
      requestLog,
      health: healthCheck(settings, instance, watch.isInPlace, log),
      pages: openPages(settings, instance, server, requestLog),
    }),
  );
  const sweeping = new AbortController();
  const swept = sweep(instance, settings.sweepInterval, log, sweeping.signal);

  log.info({
    event: 'listening',
    issuer: instance.issuer,
    host: settings.host,
    port,
    database: database.name,
  });
  console.error(`grantd serves ${instance.issuer} (listening on ${settings.host}, port ${port})`);
  if (person !== undefined) console.error(await demoCommands(instance, server, person));

  const reason = await Promise.race([ending, watch.replaced]);
  watch.stop();
  sweeping.abort();
  if (reason === 'database_replaced') {
    log.fatal({ event: reason, database: database.name });
    answerNotReady();
    // Whatever is still in flight gets a 503 as well, instead of the outcome of a write that nobody will find.
    await database.close();
  } else {
    log.info({ event: 'ending', signal: reason });
  }
  const isFinished = await finish(http);
  await swept;
  log.info({ event: 'ended', inFlight: isFinished ? 'finished' : 'closed' });
  if (reason === 'database_replaced') {
    throw new Refused(
      `the database ${database.name}, or its log beside it, was replaced or deleted while grantd served from it: ` +
        'start grantd again, and replace a database only while nothing runs on it.',
    );
  }
}

function sweep(
  { database, issuer, storage }: Instance,
  intervalSeconds: number,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const { file: path } = database;
  if (path === undefined) return sweepPeriodically(storage, intervalSeconds, log, signal);
  return sweepInThread({ path, issuer, intervalSeconds }, log, signal);
}
