import { EXIT, exitCodeFor } from './exit.ts';
import { createProgram } from './program.ts';

/** Runs the command line and sets the exit code. */
export async function run(argv: readonly string[]): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The reader has closed the pipe, as in `grantd token issue --count 1000 | head`.
    if (error.code !== 'EPIPE') console.error(`grantd: the output cannot be written: ${error.message}`);
    process.exit(EXIT.failed);
  });
  try {
    const program = await createProgram(argv[2]);
    await program.parseAsync(argv);
  } catch (error) {
    process.exitCode = exitCodeFor(error);
  }
}
