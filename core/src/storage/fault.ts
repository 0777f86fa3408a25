import { StorageFault } from '../protocol/oauth_error.ts';

/**
 * The same repository, whose throws and rejections are `StorageFault`s: what could not be asked can then be
 * told from what was refused, everywhere above.
 */
export function faultsMarked<T extends object>(repository: T): T {
  const marked = new Map<PropertyKey, unknown>();
  return new Proxy(repository, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      let method = marked.get(name);
      if (method === undefined) {
        method = markFaults((...args: unknown[]): unknown => Reflect.apply(member, target, args));
        marked.set(name, method);
      }
      return method;
    },
  });
}

/** The same function, whose throws and rejections are `StorageFault`s. */
export function markFaults<A extends unknown[], R>(call: (...args: A) => R): (...args: A) => R {
  return (...args) => {
    let result: R;
    try {
      result = call(...args);
    } catch (error) {
      throw new StorageFault(error);
    }
    return isPromise(result) ? (result.catch(rethrow) as R) : result;
  };
}

function rethrow(error: unknown): never {
  throw new StorageFault(error);
}

function isPromise(value: unknown): value is Promise<unknown> {
  return value instanceof Promise;
}
