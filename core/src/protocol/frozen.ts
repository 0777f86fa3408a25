/** Plain data, which nobody can change from now on, nor anything in it. @returns the same object */
export function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}
