#!/usr/bin/env node
import { join } from 'node:path';
import { keepCompiledCode } from './compiled_code.ts';

keepCompiledCode(join(import.meta.dirname, '..', '..', 'node_modules'));
// Only what is loaded from here on is kept.
const { run } = await import('./cli/run.ts');
await run(process.argv);
