// Where a text stops being JSON. The message of `JSON.parse` names the place only in some cases.

const TOKEN =
  /(?<mark>[{}[\],:])|(?<text>"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*")|(?<value>(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.]))/uy;
const SPACE = /[ \t\r\n]*/y;

type Token = Readonly<Record<string, string | undefined>>;

/** What may come next. */
type Expected = 'value' | 'value_or_end' | 'name' | 'name_or_end' | 'colon' | 'comma_or_end';

/**
 * Finds the first character of a text that JSON cannot have there.
 * @returns its line and column, from 1; `undefined` if the text is JSON
 */
export function jsonProblem(text: string): readonly [line: number, column: number] | undefined {
  const open: string[] = [];
  let expected: Expected = 'value';
  let at = 0;
  for (;;) {
    SPACE.lastIndex = at;
    SPACE.exec(text);
    at = SPACE.lastIndex;
    const isComplete: boolean = expected === 'comma_or_end' && open.length === 0;
    if (at === text.length && isComplete) return undefined;
    TOKEN.lastIndex = at;
    const token: Token | undefined = isComplete ? undefined : TOKEN.exec(text)?.groups;
    const next: Expected | undefined = token && after(token, expected, open);
    if (next === undefined) return placeOf(text, at);
    expected = next;
    at = TOKEN.lastIndex;
  }
}

/** What may come after a token. @param open the brackets that are open, which it changes */
function after({ mark, text }: Token, expected: Expected, open: string[]): Expected | undefined {
  const isValue = expected === 'value' || expected === 'value_or_end';
  if (mark === undefined) {
    if (isValue) return 'comma_or_end';
    return text !== undefined && (expected === 'name' || expected === 'name_or_end') ? 'colon' : undefined;
  }
  if (mark === ':') return expected === 'colon' ? 'value' : undefined;
  if (mark === '{' || mark === '[') {
    if (!isValue) return undefined;
    open.push(mark);
    return mark === '{' ? 'name_or_end' : 'value_or_end';
  }
  if (mark === ',') {
    if (expected !== 'comma_or_end') return undefined;
    return open.at(-1) === '{' ? 'name' : 'value';
  }
  const isClosing = open.at(-1) === (mark === '}' ? '{' : '[');
  if (!isClosing || !['comma_or_end', 'name_or_end', 'value_or_end'].includes(expected)) return undefined;
  open.pop();
  return 'comma_or_end';
}

function placeOf(text: string, at: number): readonly [line: number, column: number] {
  const lines = text.slice(0, at).split('\n');
  return [lines.length, (lines.at(-1)?.length ?? 0) + 1];
}
