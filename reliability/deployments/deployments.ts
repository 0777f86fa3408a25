import type { Workbench } from '../../server/test/harness/program.ts';
import type { Deployment } from './cluster.ts';
import { postgresProcesses } from './postgres.ts';
import { sqliteProcesses, sqliteWorkers } from './sqlite.ts';

/** Every way to run grantd. The workbench ends all servers that it starts. */
export function deployments(workbench: Workbench): readonly Deployment[] {
  return [sqliteProcesses(workbench), sqliteWorkers(workbench), postgresProcesses(workbench)];
}

/** @throws Error if there is no deployment of that name, or it cannot run here */
export function deploymentNamed(workbench: Workbench, name: string): Deployment {
  const all = deployments(workbench);
  const found = all.find((deployment) => deployment.name === name);
  if (found === undefined) {
    throw new Error(`expected a deployment out of ${all.map((item) => item.name).join(', ')}, not ${name}`);
  }
  const reason = found.unavailable();
  if (reason !== undefined) throw new Error(`the deployment ${name} cannot run here: ${reason}`);
  return found;
}
