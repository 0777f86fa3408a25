import { type Clock, DocumentError, type FetchDocument } from '@grantd/core';
import { isRasterType, type Picture } from '../../config/picture.ts';

const CACHE_MS = 60 * 60 * 1000;

/** After a failure, the logo is fetched again soon, but not for every visitor. */
const FAILURE_CACHE_MS = 60 * 1000;

/** Maximum cached logos. Each is at most as large as a fetched document. */
const MAX_CACHED = 100;

interface CachedLogo {
  readonly picture: Promise<Picture | undefined>;
  untilMs: number;
}

/** Fetches and caches registered logos, except SVG, so that browsers do not contact other hosts. */
export class Logos {
  readonly #fetchDocument: FetchDocument;
  readonly #clock: Clock;
  readonly #cache = new Map<string, CachedLogo>();

  constructor({ fetchDocument, clock }: { readonly fetchDocument: FetchDocument; readonly clock: Clock }) {
    this.#fetchDocument = fetchDocument;
    this.#clock = clock;
  }

  /** @returns `undefined` if the URL has no usable image, for now or at all */
  get(uri: string): Promise<Picture | undefined> {
    const cached = this.#cache.get(uri);
    if (cached !== undefined && cached.untilMs > this.#clock()) return cached.picture;
    this.#cache.delete(uri);
    const entry: CachedLogo = { picture: this.#fetch(uri), untilMs: this.#clock() + CACHE_MS };
    this.#cache.set(uri, entry);
    this.#dropOldest();
    return entry.picture.then((picture) => {
      if (picture === undefined) entry.untilMs = this.#clock() + FAILURE_CACHE_MS;
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
    const [oldest] = this.#cache.keys();
    if (this.#cache.size > MAX_CACHED && oldest !== undefined) this.#cache.delete(oldest);
  }
}
