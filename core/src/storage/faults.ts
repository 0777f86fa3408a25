// Turns errors of a host's storage into `StorageFault`s.
import { StorageFault } from '../http/errors.ts';

/** The methods that each repository was declared with. */
const known = new WeakMap<object, ReadonlyMap<string, unknown>>();

/**
 * Declares that a repository needs no guard. It must reject with a `StorageFault` if it is unavailable or the outcome
 * of a write is unknown, and its lookups must return plain records (`Storage.answersPlainRecords`). The kit checks
 * both. The declaration applies to this object with these methods: a copy, or one with a method replaced before the
 * server is made, is guarded again.
 * @param wrapped the repository that this one calls, if it needs no guard only where that one needs none
 * @returns the same object
 */
export function unguarded<T extends object>(repository: T, wrapped?: object): T {
  if (wrapped === undefined || isUnguarded(wrapped))
    known.set(repository, new Map(Object.entries(repository)));
  return repository;
}

export function isUnguarded(repository: object): boolean {
  const declared = known.get(repository);
  return (
    declared !== undefined && Object.entries(repository).every(([name, one]) => one === declared.get(name))
  );
}

/**
 * A host's repository whose errors and rejections are `StorageFault`s, so that callers can distinguish an outage from
 * a refusal.
 */
export function guarded<T extends object>(repository: T): T {
  if (isUnguarded(repository)) return repository;
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

/** The same function, guarded in the same way. */
export function guardedCall<A extends unknown[], R>(
  call: (...args: A) => R,
): (...args: A) => R | Promise<Awaited<R>> {
  return (...args) => {
    let result: R;
    try {
      result = call(...args);
    } catch (error) {
      throw asRejection(error);
    }
    return isThenable(result) ? Promise.resolve(result).catch(rethrow) : result;
  };
}

function rethrow(error: unknown): never {
  throw asRejection(error);
}

/** The caller broke the storage contract, and nothing was written. This is a bug, not an outage, so it is not a `StorageFault`. */
export class ContractBreach extends TypeError {
  override readonly name = 'ContractBreach';
}

/** What a write rejects with. */
export function asRejection(error: unknown): Error {
  return error instanceof ContractBreach ? error : asFault(error);
}

export function asFault(error: unknown): StorageFault {
  return error instanceof StorageFault ? error : new StorageFault(error);
}

/** Query builders can be awaited without being promises. */
function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
