// Turns errors of a host's storage into `StorageFault`s.
import { ConfigurationError, StorageFault } from '../http/errors.ts';
import type { Claims } from '../protocol/claims.ts';

/** The methods that each repository was declared with. */
const known = new WeakMap<object, ReadonlyMap<string, unknown>>();

/**
 * Declares that a repository needs no guard. It must reject with a `StorageFault` if it is unavailable or the outcome
 * of a write is unknown, and its lookups must return plain records (`Storage.answersPlainRecords`). The kit checks
 * both. The declaration applies to this object with these methods: a copy, or one with a method replaced before the
 * server is made, is guarded again (ADR 29).
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
        const call = (...args: unknown[]): unknown => Reflect.apply(member, repository, args);
        method = guardedCall(call, String(name));
        marked.set(name, method);
      }
      return method;
    },
  });
}

/**
 * The same function, guarded in the same way.
 * @param name for what the host throws without an `Error`, and so without a stack
 */
export function guardedCall<A extends unknown[], R>(
  call: (...args: A) => R,
  name?: string,
): (...args: A) => R | Promise<Awaited<R>> {
  const rethrow = (error: unknown): never => {
    throw asRejection(error, name);
  };
  return (...args) => {
    let result: R;
    try {
      result = call(...args);
    } catch (error) {
      return rethrow(error);
    }
    return isThenable(result) ? Promise.resolve(result).catch(rethrow) : result;
  };
}

/** A host's `getUserClaims`, guarded in the same way. A list or a map is a mistake, not a user without claims. */
export function guardedClaims(
  getUserClaims: (subject: string) => unknown,
): (subject: string) => Promise<Claims | undefined> {
  return async (subject) => {
    try {
      const found = await getUserClaims(subject);
      if (found === undefined || found === null) return undefined;
      if (typeof found === 'object' && !(Symbol.iterator in found)) return found as Claims;
      const type = Object.prototype.toString.call(found);
      throw new TypeError(`getUserClaims: expected an object with claims, undefined or null, found ${type}`);
    } catch (error) {
      throw asFault(error, 'getUserClaims');
    }
  };
}

/** The caller broke the storage contract, and nothing was written. This is a bug, not an outage, so it is not a `StorageFault`. */
export class ContractBreach extends TypeError {
  override readonly name = 'ContractBreach';
}

/** What a write rejects with. */
export function asRejection(error: unknown, name?: string): Error {
  return error instanceof ContractBreach ? error : asFault(error, name);
}

export function asFault(error: unknown, name?: string): StorageFault {
  if (error instanceof StorageFault) return error;
  if (name === undefined || error instanceof Error) return new StorageFault(error);
  return new StorageFault(
    new TypeError(`${name}: expected an Error, found ${typeof error}`, { cause: error }),
  );
}

/**
 * Runs a host's function that gets a secret or a token. Errors of database drivers often show the parameters of a query,
 * and errors end up in logs.
 * @param texts what no error may show
 * @throws {StorageFault} the function fails. The cause has only name, code, message and stack of each error, without these texts
 */
export async function guardedWith<R>(texts: readonly string[], call: () => R | Promise<R>): Promise<R> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof ContractBreach || error instanceof ConfigurationError) throw error;
    throw new StorageFault(withoutTexts(error instanceof StorageFault ? error.cause : error, texts));
  }
}

/** A copy of an error that does not show these texts. Values that are no errors are not shown at all. */
export function withoutTexts(error: unknown, texts: readonly string[], depth = 0): Error {
  if (!(error instanceof Error)) return new Error(`a value of the type ${typeof error}, which is not shown`);
  const without = (text: string) =>
    texts.reduce((found, one) => (one === '' ? found : found.replaceAll(one, '…')), text);
  const { name, message, stack, cause } = error;
  const copy: Error & { code?: unknown } = new Error(without(message));
  const code: unknown = Reflect.get(error, 'code');
  if (typeof code === 'string' || typeof code === 'number') copy.code = code;
  Object.defineProperties(copy, {
    name: { value: name },
    stack: { value: without(stack ?? '') },
    ...(cause !== undefined && depth < 5 && { cause: { value: withoutTexts(cause, texts, depth + 1) } }),
  });
  return copy;
}

/** Query builders can be awaited without being promises. Some are functions. */
function isThenable(value: unknown): value is PromiseLike<unknown> {
  const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function';
  return isObject && 'then' in value && typeof value.then === 'function';
}
