import type { Instance } from '../instance/instance.ts';

const INTERVAL_MS = 1000;

/**
 * Detects that a running server’s database file was replaced or deleted, which would lose all later writes. Databases
 * that are not files are never replaced.
 */
export interface DatabaseWatch {
  /** Checks now. @returns whether the file is still the one that was opened */
  isInPlace(): boolean;
  /** Resolves when the file was replaced or deleted. */
  readonly replaced: Promise<'database_replaced'>;
  /** Resolves when any process finds the file corrupt. */
  readonly damaged: Promise<void>;
  /** Checks a last time. @returns whether the file was replaced or deleted, as far as known */
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
      // If the file system does not answer, the state of the file is unknown. Storage reports the fault.
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
