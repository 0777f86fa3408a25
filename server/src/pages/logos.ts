import { type Clock, DocumentError, type FetchDocument } from '@grantd/core';
import { isRasterType, type Picture } from '../config/picture.ts';

const KEPT_MS = 60 * 60 * 1000;

/** Of one that could not be had: its site is asked again soon, but not by every visitor of a page. */
const FAILURE_KEPT_MS = 60 * 1000;

/** Each is as large as a fetched document may be at most. */
const MOST_KEPT = 100;

interface Kept {
  readonly picture: Promise<Picture | undefined>;
  untilMs: number;
}

/** Logos that clients have registered, none of them SVG, fetched once and kept, so that a person's browser asks nobody else for them. */
export class Logos {
  readonly #fetchDocument: FetchDocument;
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();

  constructor({ fetchDocument, clock }: { readonly fetchDocument: FetchDocument; readonly clock: Clock }) {
    this.#fetchDocument = fetchDocument;
    this.#clock = clock;
  }

  /** @returns `undefined` where there is no picture to be had at the address, for now or at all */
  get(uri: string): Promise<Picture | undefined> {
    const kept = this.#kept.get(uri);
    if (kept !== undefined && kept.untilMs > this.#clock()) return kept.picture;
    this.#kept.delete(uri);
    const entry: Kept = { picture: this.#fetch(uri), untilMs: this.#clock() + KEPT_MS };
    this.#kept.set(uri, entry);
    this.#dropOldest();
    return entry.picture.then((picture) => {
      if (picture === undefined) entry.untilMs = this.#clock() + FAILURE_KEPT_MS;
      return picture;
    });
  }

  async #fetch(uri: string): Promise<Picture | undefined> {
    try {
      const {
        status,
        contentType = '',
        body,
      } = await this.#fetchDocument(uri, {
        headers: { accept: 'image/*' },
        answerAs: 'base64',
      });
      const [type = ''] = contentType.toLowerCase().split(';', 1);
      if (status !== 200 || !isRasterType(type.trim())) return undefined;
      return { type: type.trim(), bytes: Buffer.from(body, 'base64') };
    } catch (error) {
      if (error instanceof DocumentError) return undefined;
      throw error;
    }
  }

  #dropOldest(): void {
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }
}
