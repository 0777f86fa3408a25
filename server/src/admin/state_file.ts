// The file of `grantd apply` as text: what it says, and where in it a problem is.
import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { PARSING, repeatedKeyIn } from '../config/parsed_file.ts';
import { ConfigurationRefused } from '../config/refused.ts';
import { type DesiredState, type FilePath, type FileProblem, readDesiredState } from './desired_state.ts';
import { englishOf, partsOf, type Said } from './operation_refused.ts';

/** 200 clients with everything that they can have are far shorter. */
const MAX_CHARACTERS = 8 * 1024 * 1024;

export interface StateFile {
  readonly document: Document;
  readonly lines: LineCounter;
  readonly content: unknown;
  /** What could be read. */
  readonly state: DesiredState;
  /** What is wrong with its form. */
  readonly problems: readonly FileProblem[];
  /** Adds the lines of the file to problems. */
  readonly report: (problems: readonly FileProblem[]) => StateFileRefused;
}

/** A problem with its place in the text of a file. */
export interface PlacedProblem extends FileProblem {
  /** From 1. Absent if the problem is about the whole file. */
  readonly at?: { readonly line: number; readonly col: number } | undefined;
}

/** The file cannot be applied. */
export class StateFileRefused extends ConfigurationRefused {
  readonly problems: readonly PlacedProblem[];

  constructor(name: string, problems: readonly PlacedProblem[]) {
    super(
      problems
        .map(({ path, said, at }) => {
          const place = at === undefined ? name : `${name}:${at.line}:${at.col}`;
          return [place, ...(path.length === 0 ? [] : [path.join('.')]), englishOf(said)].join(': ');
        })
        .join('\n'),
    );
    this.problems = problems;
  }
}

/** @throws {StateFileRefused} the text is neither YAML nor JSON */
export function stateIn(name: string, text: string): StateFile {
  const lines = new LineCounter();
  const document = parse(name, text, lines);
  const report = (problems: readonly FileProblem[]): StateFileRefused =>
    new StateFileRefused(
      name,
      problems.map((problem) => ({ ...problem, at: placeOf(document, lines, problem.path) })),
    );
  const content = contentIn(name, document);
  return { document, lines, content, ...readDesiredState(content), report };
}

/** @throws {StateFileRefused} the aliases would make it too large */
export function contentIn(name: string, document: Document): unknown {
  try {
    return document.toJS();
  } catch (error) {
    if (error instanceof ReferenceError)
      throw new StateFileRefused(name, [{ path: [], said: ['file_syntax', error.message] }]);
    throw error;
  }
}

/** @throws {StateFileRefused} the text is neither YAML nor JSON */
export function parse(name: string, text: string, lines = new LineCounter()): Document {
  if (text.length > MAX_CHARACTERS)
    throw new StateFileRefused(name, [{ path: [], said: ['file_long', String(MAX_CHARACTERS)] }]);
  // The parser’s longer messages would quote the file. Known tags would make other objects than JSON has.
  const options = { ...PARSING, lineCounter: lines, resolveKnownTags: false };
  const document = parseDocument(text, options);
  const [error] = [...document.errors, ...document.warnings];
  const repeated = error === undefined ? repeatedKeyIn(document) : undefined;
  if (error === undefined && repeated === undefined) return document;
  const at = lines.linePos(error?.pos[0] ?? repeated?.range?.[0] ?? 0);
  const said: Said =
    error === undefined
      ? ['keys_repeated']
      : error.code === 'MULTIPLE_DOCS'
        ? ['one_document']
        : ['file_syntax', error.message];
  throw new StateFileRefused(name, [{ path: [], said, at }]);
}

/** The place of a member, or of the closest one around it. */
function placeOf(document: Document, lines: LineCounter, path: FilePath): PlacedProblem['at'] {
  for (let length = path.length; length > 0; length--) {
    const around = document.getIn(path.slice(0, length - 1), true);
    const item = isSeq(around) ? around.items[Number(path[length - 1])] : undefined;
    if (isNode(item) && item.range) return lines.linePos(item.range[0]);
    const pair = isMap(around)
      ? around.items.find(({ key }) => isScalar(key) && String(key.value) === path[length - 1])
      : undefined;
    if (isNode(pair?.key) && pair.key.range) return lines.linePos(pair.key.range[0]);
  }
  return undefined;
}

/** The place in the file that a JSON Pointer in the input refers to. */
export function pathIn(pointer: string): readonly string[] {
  const names = partsOf(pointer);
  const [member, ...path] = names;
  if (member === 'state') return path;
  return member === 'secrets' && path[0] !== undefined ? ['clients', path[0], 'secret'] : names;
}
