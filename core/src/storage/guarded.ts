import { StorageFault } from '../protocol/oauth_error.ts';

/**
 * A host's repository as everything above relies on it. Its throws and rejections are `StorageFault`s: what could
 * not be asked can be told from what was refused. A `null`, which many databases answer, is absence, also as a
 * member of a record.
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
export function guardedCall<A extends unknown[], R>(call: (...args: A) => R): (...args: A) => R {
  return (...args) => {
    let result: R;
    try {
      result = call(...args);
    } catch (error) {
      throw new StorageFault(error);
    }
    return isThenable(result)
      ? (Promise.resolve(result).then(withoutNulls, rethrow) as R)
      : withoutNulls(result);
  };
}

function rethrow(error: unknown): never {
  throw new StorageFault(error);
}

/** The same result; a copy is made only where there is a `null` to leave out. */
function withoutNulls<T>(result: T): T {
  if (typeof result !== 'object' || result === null) return result ?? (undefined as T);
  for (const name in result) {
    if (result[name] !== null) continue;
    return Object.fromEntries(Object.entries(result).filter(([, value]) => value !== null)) as T;
  }
  return result;
}

/** Query builders are awaited like promises without being any. */
function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
