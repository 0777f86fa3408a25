import type { Instance } from '../instance/instance.ts';

const INTERVAL_MS = 1000;

/**
 * Notices when the file of a running server's database is replaced or deleted: what was written since then would be
 * lost. A database that is no file stays where it is.
 */
export interface DatabaseWatch {
  /** Looks now. @returns whether the file is still the one that was opened */
  isInPlace(): boolean;
  /** Resolves once it is not. */
  readonly replaced: Promise<'database_replaced'>;
  /** Resolves once the file was found corrupt, by whichever process. */
  readonly damaged: Promise<void>;
  /** Looks a last time. @returns whether the file is no longer the one that was opened, as far as one can tell */
  stop(): boolean;
}

export function watchDatabase({
  isInPlace,
  isDamaged,
}: Pick<Instance, 'isInPlace' | 'isDamaged'>): DatabaseWatch {
  const { promise: replaced, resolve } = Promise.withResolvers<'database_replaced'>();
  const damaged = Promise.withResolvers<void>();
  if (isInPlace === undefined)
    return { isInPlace: () => true, replaced, damaged: damaged.promise, stop: () => false };
  let isReplaced = false;
  const look = (): boolean => {
    const found = isInPlace();
    if (isDamaged?.() === true) damaged.resolve();
    if (!found) {
      isReplaced = true;
      resolve('database_replaced');
    }
    return found;
  };
  const lookIfPossible = (): void => {
    try {
      look();
    } catch {
      // A file system that cannot be asked says nothing of the file; storage will say what it makes of it.
    }
  };
  const timer = setInterval(lookIfPossible, INTERVAL_MS).unref();
  return {
    isInPlace: look,
    replaced,
    damaged: damaged.promise,
    stop() {
      clearInterval(timer);
      lookIfPossible();
      return isReplaced;
    },
  };
}
