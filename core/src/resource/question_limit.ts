import { DocumentError } from '../protocol/fetch_document.ts';

/** Questions that are under way at once. One too many is not asked, and does not wait either. */
export class QuestionLimit {
  readonly #most: number;
  #underWay = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** @throws {DocumentError} as many as may be are under way */
  async within<T>(question: () => Promise<T>): Promise<T> {
    if (this.#underWay >= this.#most)
      throw new DocumentError('failed', 'too many questions are under way at once');
    this.#underWay += 1;
    try {
      return await question();
    } finally {
      this.#underWay -= 1;
    }
  }
}
