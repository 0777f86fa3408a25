/**
 * Tells a host's observer. What it throws changes no answer: what it is told of has happened.
 * @param name of the option, for the console
 */
export function observe<Told>(name: string, observer: (told: Told) => unknown, told: Told): void {
  const complain = (error: unknown) => console.error(`${name} failed`, error);
  try {
    const observed = observer(told);
    if (observed !== undefined) Promise.resolve(observed).catch(complain);
  } catch (error) {
    complain(error);
  }
}
