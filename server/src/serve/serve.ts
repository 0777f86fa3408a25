import type { Configuration } from '../config/configuration.ts';
import { isMeasured, type Settings } from '../config/options.ts';
import { type Log, openLog } from '../log/log.ts';
import { createHttpServer, listen } from './http_server.ts';
import { serveDatabase } from './lifecycle.ts';
import { reloader } from './reload.ts';
import type { Observation } from './service.ts';
import { announce, listenForEnd } from './shutdown.ts';
import { lowerV8Threads } from './thread_priorities.ts';
import type { TlsFiles } from './tls.ts';

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
