/** A mutant that no test can notice, or that none needs to. */
interface Explained {
  readonly file: string;
  /** Part of its line, to tell it from the same change elsewhere in the file. */
  readonly within: string;
  readonly from: string;
  readonly to: string;
  readonly why: string;
}

export const EXPLAINED: readonly Explained[] = [];
