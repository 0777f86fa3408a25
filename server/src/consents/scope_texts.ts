/** What a scope means to people, in the words of the operator. */
export interface ScopeText {
  readonly scope: string;
  /** Client identifier of the API that the scope belongs to; `undefined` for the server's own. */
  readonly api: string | undefined;
  /** By member and language: `name`, `description`, `name#de` (as in RFC 7591 §2.2). There is always a `name`. */
  readonly texts: Readonly<Record<string, string>>;
}

/** Scopes with texts, of one issuer. Every method rejects with a `StorageFault` if the database cannot be asked. */
export interface ScopeTexts {
  list(): Promise<readonly ScopeText[]>;
  /** @returns `false` if the scope has a text already */
  add(text: ScopeText): Promise<boolean>;
  /** Compare-and-set. @returns `false` if the scope has other texts than these by now, or none */
  replace(before: ScopeText, texts: ScopeText['texts']): Promise<boolean>;
  /** @returns `false` if there was none */
  remove(text: Pick<ScopeText, 'scope' | 'api'>): Promise<boolean>;
}
