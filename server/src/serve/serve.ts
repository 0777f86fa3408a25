import { readStoredIssuer } from '@grantd/core/sqlite';
import type { Configuration } from '../config/configuration.ts';
import { addDemoData } from '../demo/add_demo_data.ts';
import { demoCommands } from '../demo/demo_commands.ts';
import { refuseExposedDemo, refuseMixedDemo } from '../demo/exposure.ts';
import { type Instance, openInstance } from '../instance/instance.ts';
import { issuerToServe } from '../instance/issuer.ts';
import { type Log, openLog } from '../log/log.ts';
import { RequestLog } from '../log/request_log.ts';
import { openPages } from '../pages/pages.ts';
import { healthCheck } from './health.ts';
import { type ListeningServer, listen } from './http_server.ts';
import { requestListener } from './request_listener.ts';
import { askedToEnd, finish } from './shutdown.ts';
import { sweepPeriodically } from './sweeper.ts';

/** Serves until it is told to end. What people read goes to stderr; stdout is the log. */
export async function serve(configuration: Configuration, database: string): Promise<void> {
  const { settings } = configuration;
  refuseExposedDemo(configuration);
  const log = await openLog(settings.log);
  const ending = askedToEnd();

  // The port first: the issuer may follow from it, and a start that cannot listen leaves no files behind.
  const listening = await listen(settings.host, settings.port);
  try {
    const issuer = issuerToServe(settings.issuer, readStoredIssuer(database), listening.port);
    const instance = openInstance(configuration, database, issuer);
    try {
      await serveInstance(configuration, instance, listening, log, ending);
    } finally {
      instance.close();
    }
  } finally {
    listening.http.closeAllConnections();
    listening.http.close();
  }
}

async function serveInstance(
  configuration: Configuration,
  instance: Instance,
  { http, port, answerWith }: ListeningServer,
  log: Log,
  ending: Promise<NodeJS.Signals>,
): Promise<void> {
  const { settings } = configuration;
  refuseMixedDemo(configuration, instance);
  const requestLog = new RequestLog(log);
  const server = await instance.server((event) => requestLog.event(event));
  const person = settings.demo ? await addDemoData(instance, server) : undefined;

  answerWith(
    requestListener({
      server,
      requestLog,
      health: healthCheck(instance, log),
      pages: openPages(settings, instance, server, requestLog),
    }),
  );
  const sweeping = new AbortController();
  const swept = sweepPeriodically(instance.storage, settings.sweepInterval, log, sweeping.signal);

  log.info({
    event: 'listening',
    issuer: instance.issuer,
    host: settings.host,
    port,
    database: instance.path,
  });
  console.error(`grantd serves ${instance.issuer} (listening on ${settings.host}, port ${port})`);
  if (person !== undefined) console.error(await demoCommands(instance, server, person));

  const signal = await ending;
  log.info({ event: 'ending', signal });
  sweeping.abort();
  const isFinished = await finish(http);
  await swept;
  log.info({ event: 'ended', inFlight: isFinished ? 'finished' : 'closed' });
}
