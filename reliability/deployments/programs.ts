import { freePort } from '../../server/test/harness/free_port.ts';
import type { Environment, Workbench } from '../../server/test/harness/program.ts';
import { type ServerProcess, serverProcess } from './server_process.ts';

export interface ProgramsOrder {
  readonly folder: string;
  readonly processes: number;
  readonly flags: readonly string[];
  readonly environment: Environment;
}

/** Starts programs at once, each on a port of its own. */
export async function startPrograms(
  workbench: Workbench,
  { processes, ...order }: ProgramsOrder,
): Promise<readonly ServerProcess[]> {
  const ports = await Promise.all(Array.from({ length: processes }, freePort));
  const servers = ports.map((port) => serverProcess(workbench, { ...order, port }));
  await Promise.all(servers.map((server) => server.start()));
  return servers;
}
