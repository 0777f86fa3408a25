// Preloaded by the program: gives its password hashes the cost in this module's query. At their own cost, they would take
// a hundred times as long as the rest of a sign-in, and empty the processor's caches.
import { registerHooks } from 'node:module';

/** Also in a bundle. */
const COST = /\bCOST = \{ memory: \d+, passes: \d+, parallelism: \d+/;

const cost = [...new URL(import.meta.url).searchParams].map(([name, value]) => `${name}: ${value}`);

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const source = String(loaded.source);
    if (!COST.test(source)) return loaded;
    return { ...loaded, source: source.replace(COST, `COST = { ${cost.join(', ')}`) };
  },
});
