import { Workbench } from '../server/test/harness/program.ts';

/**
 * Runs a script. Its workbench is cleaned up at the end, also after a signal. The exit code is 0 only if `work`
 * resolves to true.
 */
export async function runScript(work: (workbench: Workbench) => Promise<boolean>): Promise<never> {
  const workbench = new Workbench();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => void workbench.clear().finally(() => process.exit(130)));
  }
  const isGood = await work(workbench)
    .catch((error: unknown) => {
      console.error(error);
      return false;
    })
    .finally(() => workbench.clear());
  process.exit(isGood ? 0 : 1);
}

/** A line that a terminal overwrites. Shown on terminals only. */
export function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}
