import { StorageFault } from '../protocol/oauth_error.ts';

/**
 * A host's repository, whose throws and rejections are `StorageFault`s: what could not be asked can be told from
 * what was refused, everywhere above.
 */
export function guarded<T extends object>(repository: T): T {
  const marked = new Map<PropertyKey, unknown>();
  // Not a proxy of the repository itself: it may be frozen, and then nothing else could be returned for it.
  const stand: T = Object.create(null);
  return new Proxy(stand, {
    get(_, name) {
      const member: unknown = Reflect.get(repository, name, repository);
      if (typeof member !== 'function') return member;
      let method = marked.get(name);
      if (method === undefined) {
        method = guardedCall((...args: unknown[]): unknown => Reflect.apply(member, repository, args));
        marked.set(name, method);
      }
      return method;
    },
  });
}

/** The same function, guarded likewise. */
export function guardedCall<A extends unknown[], R>(
  call: (...args: A) => R,
): (...args: A) => R | Promise<Awaited<R>> {
  return (...args) => {
    let result: R;
    try {
      result = call(...args);
    } catch (error) {
      throw asFault(error);
    }
    return isThenable(result) ? Promise.resolve(result).catch(rethrow) : result;
  };
}

function rethrow(error: unknown): never {
  throw asFault(error);
}

function asFault(error: unknown): StorageFault {
  return error instanceof StorageFault ? error : new StorageFault(error);
}

/** Query builders are awaited like promises without being any. */
function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
