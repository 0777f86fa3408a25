import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Configuration } from '../config/configuration.ts';
import { refuseExposedDemo } from '../demo/exposure.ts';
import { openLog } from '../log/log.ts';
import { ConnectionQueue } from './connection_queue.ts';
import { Crew } from './crew.ts';
import { listenOn } from './listen_on.ts';
import { listenForEnd } from './shutdown.ts';
import { announce } from './started.ts';
import { sourcesOf } from './worker_messages.ts';

/** Milliseconds that accepted connections wait at the end until workers take them. */
const LONGEST_WAIT_MS = 1000;

/**
 * Serves with several processes until it is told to end. This one accepts connections and hands each to a worker in
 * turn. It does not read from them: one that a dying worker has not taken yet goes to another worker.
 */
export async function supervise(configuration: Configuration): Promise<void> {
  const { settings } = configuration;
  refuseExposedDemo(configuration);
  const log = await openLog(settings.log, { isShared: true });
  const ending = listenForEnd(settings.shutdownDelay, log);

  const queue = new ConnectionQueue();
  const server = createServer({ pauseOnConnect: true, noDelay: true }, (connection) => queue.add(connection));
  const port = await listenOn(server, settings.host, settings.port);

  const sources = sourcesOf(configuration);
  const crew = new Crew({ settings, sources, port, bringsDemo: settings.demo }, queue, log);
  crew.start();
  crew.ready.then((started) => announce(log, settings, port, started));

  const signal = await Promise.race([ending.asked, crew.failed]);
  if (signal !== undefined) {
    crew.announceEnd(signal);
    await Promise.race([ending.closing, crew.failed]);
    server.close();
    await Promise.race([queue.emptied(), crew.failed, pause(LONGEST_WAIT_MS, undefined, { ref: false })]);
  }
  server.close();
  queue.close();
  await crew.end();
}
