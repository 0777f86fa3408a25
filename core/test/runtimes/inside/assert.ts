/** The part of `node:assert/strict` that the suites use, for runtimes without it. */

class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

function refuse(message: string | undefined, otherwise: string): never {
  throw new AssertionError(message ?? otherwise);
}

function shown(value: unknown): string {
  return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}n` : part)) ?? String(value);
}

function ok(value: unknown, message?: string): asserts value {
  if (!value) refuse(message, `${shown(value)} is not true`);
}

function equal(actual: unknown, expected: unknown, message?: string): void {
  if (!Object.is(actual, expected)) refuse(message, `${shown(actual)} is not ${shown(expected)}`);
}

function notEqual(actual: unknown, unexpected: unknown, message?: string): void {
  if (Object.is(actual, unexpected)) refuse(message, `${shown(actual)} was not to be`);
}

/** Strict comparison, like the original's, of plain data, arrays, maps, sets, dates and bytes. */
function deepEqual(actual: unknown, expected: unknown, message?: string): void {
  if (!isDeepEqual(actual, expected)) refuse(message, `${shown(actual)} is not as ${shown(expected)}`);
}

function notDeepEqual(actual: unknown, unexpected: unknown, message?: string): void {
  if (isDeepEqual(actual, unexpected)) refuse(message, `${shown(actual)} was not to be`);
}

function isDeepEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return false;
  if (one instanceof Date && one.getTime() !== (other as Date).getTime()) return false;
  if (one instanceof Map || one instanceof Set) {
    return isDeepEqual([...one], [...(other as Iterable<unknown>)]);
  }
  const keys = Reflect.ownKeys(one);
  if (keys.length !== Reflect.ownKeys(other).length) return false;
  return keys.every(
    (key) => Object.hasOwn(other, key) && isDeepEqual(Reflect.get(one, key), Reflect.get(other, key)),
  );
}

function match(text: string, pattern: RegExp, message?: string): void {
  if (!pattern.test(text)) refuse(message, `${shown(text)} does not match ${pattern}`);
}

function doesNotMatch(text: string, pattern: RegExp, message?: string): void {
  if (pattern.test(text)) refuse(message, `${shown(text)} matches ${pattern}`);
}

function fail(message?: string): never {
  return refuse(message, 'failed');
}

type Judge = (abstract new (...args: never) => unknown) | ((error: unknown) => boolean);
type Expected = RegExp | Judge | object;

function throws(run: () => unknown, expected?: Expected): void {
  let thrown: unknown;
  try {
    run();
  } catch (error) {
    thrown = error;
  }
  if (thrown === undefined) refuse(undefined, 'nothing was thrown');
  checkError(thrown, expected);
}

async function rejects(
  started: Promise<unknown> | (() => Promise<unknown>),
  expected?: Expected,
): Promise<void> {
  const promise = typeof started === 'function' ? started() : started;
  const rejection = await promise.then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  if (rejection === undefined) return refuse(undefined, 'nothing was refused');
  checkError(rejection.error, expected);
}

function checkError(error: unknown, expected?: Expected): void {
  if (expected === undefined) return;
  if (expected instanceof RegExp) match(String(error), expected);
  else if (typeof expected === 'function') checkByFunction(error, expected as Judge);
  else checkMembers(Object(error), expected);
}

/** A class matches its instances; a function decides by its result. */
function checkByFunction(error: unknown, expected: Judge): void {
  if (expected.prototype !== undefined && error instanceof expected) return;
  const isClass = /^class\b/.test(String(expected));
  if (isClass || Reflect.apply(expected, undefined, [error]) !== true) throw error;
}

function checkMembers(error: object, expected: object): void {
  for (const [name, value] of Object.entries(expected)) {
    const actual: unknown = Reflect.get(error, name);
    if (value instanceof RegExp) match(String(actual), value);
    else deepEqual(actual, value);
  }
}

export default Object.assign(ok, {
  deepEqual,
  doesNotMatch,
  equal,
  fail,
  match,
  notDeepEqual,
  notEqual,
  ok,
  rejects,
  throws,
});
