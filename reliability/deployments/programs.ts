import { freePort } from '../../core/test/harness/free_port.ts';
import type { Workbench } from '../../server/test/harness/program.ts';
import { type ServerOrder, type ServerProcess, serverProcess } from './server_process.ts';

/** Starts several programs concurrently, each on its own port. */
export async function startPrograms(
  workbench: Workbench,
  orders: readonly Omit<ServerOrder, 'port'>[],
): Promise<readonly ServerProcess[]> {
  const ports = await Promise.all(orders.map(() => freePort()));
  const servers = orders.map((order, index) =>
    serverProcess(workbench, { ...order, port: ports[index] ?? 0 }),
  );
  await Promise.all(servers.map((server) => server.start()));
  return servers;
}
