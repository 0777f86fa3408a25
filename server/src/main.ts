#!/usr/bin/env node
import { EXIT, exitCodeFor } from './cli/exit.ts';
import { createProgram } from './cli/program.ts';

// Whoever read the output has gone, as in `grantd token issue --count 1000 | head`: nothing is left to say.
process.stdout.on('error', () => process.exit(EXIT.failed));

try {
  await createProgram().parseAsync();
} catch (error) {
  process.exitCode = exitCodeFor(error);
}
