import type { Environment, RunningServer, Workbench } from '../../server/test/harness/program.ts';

/** One `grantd serve` on a port that stays the same however often it is started again. */
export interface ServerProcess {
  /** Base URL to send requests to; the issuer may be another. */
  readonly address: string;
  /** @throws Error it does not run */
  running(): RunningServer;
  /** @returns milliseconds until it listened */
  start(): Promise<number>;
  /** Returns once the process is gone. */
  end(signal: NodeJS.Signals): Promise<void>;
}

export interface ServerOrder {
  readonly folder: string;
  readonly port: number;
  readonly flags: readonly string[];
  readonly environment: Environment;
}

export function serverProcess(workbench: Workbench, order: ServerOrder): ServerProcess {
  const { folder, port, flags, environment } = order;
  let current: RunningServer | undefined;
  const running = () => {
    if (current === undefined) throw new Error(`the server on port ${port} does not run`);
    return current;
  };
  return {
    address: `http://127.0.0.1:${port}`,
    running,
    async start() {
      const startedAtMs = performance.now();
      current = await workbench.start(folder, [...flags, '--port', String(port)], environment);
      return performance.now() - startedAtMs;
    },
    async end(signal) {
      await running().stop(signal);
      current = undefined;
    },
  };
}
