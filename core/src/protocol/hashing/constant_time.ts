/** Compares two texts of equal length in a time that does not depend on where they differ. */
export function equalInConstantTime(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let i = 0; i < one.length; i++) difference |= one.charCodeAt(i) ^ other.charCodeAt(i);
  return difference === 0;
}
