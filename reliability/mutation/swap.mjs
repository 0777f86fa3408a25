// Preloaded into a test process: gives one module another source. MUTANT_URL names the module, MUTANT_SOURCE the file
// with its JavaScript.
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const { MUTANT_URL, MUTANT_SOURCE } = process.env;
registerHooks({
  load(url, context, next) {
    if (url !== MUTANT_URL) return next(url, context);
    return { format: 'module', source: readFileSync(MUTANT_SOURCE, 'utf8'), shortCircuit: true };
  },
});
