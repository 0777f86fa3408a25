// What the console keeps for one administrator: secrets that it shows once, until the administrator says that they have
// stored them, or for a day; files between their plan and its changes; and forms that wait for a sign-in.
import type { AnsweredRequests } from '../data/answered_requests.ts';
import { newIdentifier } from '../data/tables.ts';

/** Milliseconds. The default. */
const KEPT_MS = 24 * 60 * 60 * 1000;

/** A secret that is shown until it is acknowledged. */
export interface ShownSecret {
  /** Tells it from others at the same place. */
  readonly name: string;
  readonly secret: string;
}

/** Values of a session or user, sealed in the database, so that every process can show them. */
export class ShownOnce {
  readonly #answers: AnsweredRequests<string>;

  constructor(answers: AnsweredRequests<string>) {
    this.#answers = answers;
  }

  /** Shows a secret at a place of the console from now on, with all others that are not acknowledged. */
  async add(owner: string, place: string, secret: string): Promise<void> {
    // A row of its own, so that of secrets that are made at the same time none displaces another.
    const [key] = await this.#answers.digests('shown_once', owner, place);
    await this.#answers.keep([`${key}.${newIdentifier()}`], secret, KEPT_MS);
  }

  /** The newest first. */
  async secrets(owner: string, place: string): Promise<readonly ShownSecret[]> {
    const keys = await this.#answers.digests('shown_once', owner, place);
    const found = await Promise.all(
      keys.map(async (key) =>
        (await this.#answers.ofName(key)).map(({ keyDigest, answer }) => ({
          name: keyDigest.slice(key.length),
          secret: answer,
        })),
      ),
    );
    return found.flat();
  }

  /** @param names of secrets that were shown. Others are still shown */
  async acknowledge(owner: string, place: string, names: readonly string[]): Promise<void> {
    const keys = await this.#answers.digests('shown_once', owner, place);
    await this.#answers.drop(names.flatMap((name) => keys.map((key) => key + name)));
  }

  /** Keeps a value at a place instead of an earlier one. @param owner a session or a user */
  async keep(owner: string, place: string, value: string, keptMs = KEPT_MS): Promise<void> {
    await this.#answers.keep(await this.#answers.digests('shown_once', owner, place), value, keptMs);
  }

  async find(owner: string, place: string): Promise<string | undefined> {
    return (await this.#answers.find(await this.#answers.digests('shown_once', owner, place)))?.answer;
  }

  async forget(owner: string, place: string): Promise<void> {
    await this.#answers.drop(await this.#answers.digests('shown_once', owner, place));
  }
}
