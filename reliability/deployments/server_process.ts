import type { Environment, RunningServer, Workbench } from '../../server/test/harness/program.ts';

/** A `grantd serve` that keeps its port across restarts. */
export interface ServerProcess {
  /** Base URL for requests; the issuer may differ. */
  readonly address: string;
  /** @throws Error if it does not run */
  running(): RunningServer;
  /** @returns milliseconds until it listened */
  start(): Promise<number>;
  /** Resolves when the process has exited. */
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
