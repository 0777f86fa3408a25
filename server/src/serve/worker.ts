import { openLog } from '../log/log.ts';
import { HandedConnections } from './handed_connections.ts';
import { createHttpServer } from './http_server.ts';
import { serveDatabase } from './serve.ts';
import { SupervisorChannel } from './supervisor_channel.ts';
import { configurationOf, failureOf, type Order } from './worker_messages.ts';

// The program of a worker: it serves as the supervisor that started it says, and lives no longer than that.

// Who asks the whole group of processes to end, as a terminal does, means the supervisor, which asks its workers then.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});

const supervisor = new SupervisorChannel();
try {
  await serveAs(await supervisor.order);
} catch (error) {
  await supervisor.tell({ type: 'failed', failure: failureOf(error) });
  process.exitCode = 1;
}
supervisor.leave();

async function serveAs(order: Order): Promise<void> {
  const { worker, settings, port, bringsDemo, secretOfStart } = order;
  const server = createHttpServer();
  const connections = new HandedConnections(server.http, () => supervisor.tell({ type: 'leaving' }));
  await serveDatabase(configurationOf(order), process.env, {
    server,
    connections,
    port,
    log: await openLog(settings.log, { worker, isShared: true }),
    ending: supervisor.ending,
    sweeps: worker === 1,
    bringsDemo,
    ...(secretOfStart !== undefined && { secretOfStart }),
    started: (what, secret) => supervisor.takeConnections(connections, what, secret),
  });
}
