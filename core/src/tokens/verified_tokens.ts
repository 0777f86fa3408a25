import { RecentlyUsed } from '../memories/recently_used.ts';
import { TextTable } from '../memories/text_table.ts';

/** What the header of a token says whose signature has verified. */
export interface VerifiedHeader {
  readonly keyId: string;
  readonly type: string | undefined;
}

/** Some 120 bytes each; twice as many at most. */
const MOST_TOKENS = 100_000;

/** More are not looked for: a server has few keys and types. */
const MOST_HEADERS = 100;

/** Which exact tokens have verified, by their digest; never what they claim, nor whether one is active. */
export class VerifiedTokens {
  readonly #tokens = new RecentlyUsed<VerifiedHeader>(MOST_TOKENS, () => new TextTable());
  /** One of all equal headers, which the tokens of a key have in common. */
  readonly #headers = new RecentlyUsed<VerifiedHeader>(MOST_HEADERS);

  get(digest: string): VerifiedHeader | undefined {
    return this.#tokens.get(digest);
  }

  add(digest: string, header: VerifiedHeader): void {
    const name = `${header.keyId} ${header.type}`;
    const common = this.#headers.get(name);
    if (common === undefined) this.#headers.set(name, header);
    this.#tokens.set(digest, common ?? header);
  }

  clear(): void {
    this.#tokens.clear();
  }
}
