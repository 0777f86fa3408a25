/** @throws Error if it is not a whole number of at least `least` */
export function wholeNumber(name: string, text: string, least = 1): number {
  const value = Number(text);
  if (text === '' || !Number.isSafeInteger(value) || value < least) {
    throw new Error(`--${name}: expected a whole number from ${least}, not "${text}"`);
  }
  return value;
}
