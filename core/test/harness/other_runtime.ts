/** For `--import`: hides the package's modules for Node, as on any other runtime. */
import { registerHooks } from 'node:module';

registerHooks({
  resolve(specifier, context, next) {
    if (!specifier.startsWith('#')) return next(specifier, context);
    return next(specifier, {
      ...context,
      conditions: context.conditions.filter((condition) => condition !== 'node'),
    });
  },
});

const { sha256 } = await import('#crypto');
if (typeof sha256('') === 'string') throw new Error('the package still has its hashing for Node');
