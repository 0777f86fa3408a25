// Codes with a sentence in each language. The English table gives their types, so another language lacks none.

/** Sentences by code. */
type Sentences = Readonly<Record<string, (...names: string[]) => string>>;

/** A code of a table of sentences, and what its sentence names. */
export type SaidIn<T extends Sentences> = {
  [Code in keyof T]: readonly [code: Code, ...names: Parameters<T[Code]>];
}[keyof T];

/** What a code says in the words of a language. @param sentences of the language */
export function sentenceIn<T extends Sentences>(sentences: T, [code, ...names]: SaidIn<T>): string {
  // Each code has a sentence.
  const say = sentences[code] as (...names: string[]) => string;
  return say(...names);
}

/** The same as a whole sentence. A name at its beginning stays as it is. */
export function wholeSentenceIn<T extends Sentences>(sentences: T, said: SaidIn<T>): string {
  const text = sentenceIn(sentences, said);
  const [, ...names] = said;
  const begins = names.some((name) => name !== '' && text.startsWith(name));
  const first = begins ? text : text.replace(/^[a-z](?=[a-z]* )/, (letter) => letter.toUpperCase());
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
