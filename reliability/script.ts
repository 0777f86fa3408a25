import { Workbench } from '../server/test/harness/program.ts';

/**
 * Runs a script: what its workbench starts and makes is gone afterwards, also when it is told to end. Its exit code
 * is 0 only if `work` resolves to true.
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

/** One line that a terminal writes over, and nothing else sees. */
export function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}
