/**
 * One question at a time for each key. Who asks while a question is under way shares the next one with all who come
 * until then, whatever becomes of the first: what they are told, an answer or a failure, is never older than the asking.
 */
export class SingleFlight<T> {
  readonly #gathering = new Map<string, Promise<T>>();
  readonly #underWay = new Map<string, Promise<T>>();

  share(key: string, ask: () => Promise<T>): Promise<T> {
    const gathered = this.#gathering.get(key);
    if (gathered !== undefined) return gathered;
    const flight = this.#depart(key, ask);
    this.#gathering.set(key, flight);
    return flight;
  }

  async #depart(key: string, ask: () => Promise<T>): Promise<T> {
    // Its failure is that of those who asked it. Where there is none, those of this turn gather all the same.
    await Promise.allSettled([this.#underWay.get(key)]);
    this.#gathering.delete(key);
    const asked = ask();
    this.#underWay.set(key, asked);
    try {
      return await asked;
    } finally {
      if (this.#underWay.get(key) === asked) this.#underWay.delete(key);
    }
  }
}
