// What the console keeps for one administrator: secrets that it shows once, until the administrator says that they have
// stored them, or for a day; and forms that wait for a sign-in.
import type { AnsweredRequests } from '../data/answered_requests.ts';

/** Milliseconds. The default. */
const KEPT_MS = 24 * 60 * 60 * 1000;

/** Long enough to store a value that is at hand. Milliseconds */
const PENDING_MS = 30_000;

/** Values of a session or user, sealed in the database, so that every process can show them. */
export class ShownOnce {
  readonly #answers: AnsweredRequests<string>;

  constructor(answers: AnsweredRequests<string>) {
    this.#answers = answers;
  }

  /** Shows a value at a place of the console from now on, instead of an earlier one. @param owner a session or a user */
  async keep(owner: string, place: string, value: string, keptMs = KEPT_MS): Promise<void> {
    const keys = await this.#answers.digests('shown_once', owner, place);
    await this.#answers.drop(keys);
    const attempt = await this.#answers.begin(keys, [], PENDING_MS);
    if ('finish' in attempt) await attempt.finish(value, keptMs);
  }

  async find(owner: string, place: string): Promise<string | undefined> {
    return (await this.#answers.find(await this.#answers.digests('shown_once', owner, place)))?.answer;
  }

  async forget(owner: string, place: string): Promise<void> {
    await this.#answers.drop(await this.#answers.digests('shown_once', owner, place));
  }
}
