import { posix } from 'node:path';

/** A statement at the top level of a declaration file. */
interface Statement {
  readonly text: string;
  /** What it declares. Of an import or export: the names in its braces. */
  readonly names: readonly string[];
  readonly clause?: Clause;
}

/** `import type { A, B as C } from './a.js'`, or the same as an export. */
interface Clause {
  /** Before the braces, and after them. */
  readonly around: readonly [string, string];
  /** In the braces, in the order of the names. */
  readonly items: readonly string[];
  /** The names in the module that the statement imports from, in the same order. */
  readonly origins: readonly string[];
  /** `undefined`: another package. */
  readonly module: string | undefined;
}

/**
 * Leaves out the declarations to which no exported name of an entry point leads. No compiler needs them, and they have
 * documentation, which takes room. A name in a declaration counts as used, also as the name of a member.
 * @param entries modules, by their paths without extension
 * @param declarations of the whole package, by module
 * @returns the modules that are left
 * @throws {Error} a statement is of a form that the compiler did not write when this was written
 */
export function reachedDeclarations(
  entries: readonly string[],
  declarations: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const modules = new Map([...declarations].map(([module, text]) => [module, statementsOf(module, text)]));
  const used = new Map<string, Set<string>>();
  const pending: [module: string, name: string][] = [];
  const use = (module: string, name: string) => {
    if (!modules.get(module)?.some(({ names }) => names.includes(name))) return;
    const names = used.get(module) ?? new Set();
    used.set(module, names);
    if (!names.has(name)) pending.push([module, name]);
    names.add(name);
  };
  for (const entry of entries)
    for (const { text, names } of modules.get(entry) ?? [])
      if (withoutComments(text).startsWith('export ')) for (const name of names) use(entry, name);
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [module, name] = next;
    for (const statement of modules.get(module) ?? [])
      if (statement.names.includes(name)) for (const found of namesIn(module, statement, name)) use(...found);
  }
  return new Map(
    [...used].map(([module, names]) => [
      module,
      (modules.get(module) ?? []).map((each) => reachedPart(each, names)).join(''),
    ]),
  );
}

/** Where a name of a statement leads. */
function namesIn(module: string, { text, names, clause }: Statement, name: string): [string, string][] {
  if (clause !== undefined)
    return clause.module === undefined ? [] : [[clause.module, clause.origins[names.indexOf(name)] ?? name]];
  const code = withoutComments(text);
  const imported = code.matchAll(/\bimport\('([^']+)'\)\.(\w+)/g);
  return [
    ...(code.match(/\w+/g) ?? []).map((word): [string, string] => [module, word]),
    ...[...imported].map(([, path = '', word = '']): [string, string] => [pathFrom(module, path), word]),
  ];
}

/** A clause with the used names. */
function reachedPart({ text, names, clause }: Statement, used: ReadonlySet<string>): string {
  // It tells the compiler that not everything is exported.
  if (names.length === 0) return text;
  if (!names.some((name) => used.has(name))) return '';
  if (clause === undefined || clause.items.length === 0) return text;
  const items = clause.items.filter((_, at) => used.has(names[at] ?? ''));
  return clause.around.join(items.join(', '));
}

/** Comments belong to the statement after them. */
function statementsOf(module: string, text: string): readonly Statement[] {
  const pieces = text.split(/^(?=\/\*\*|\/\/|(?:export|import|declare|interface|type) )/m);
  const statements: string[] = [];
  let comments = '';
  for (const piece of pieces) {
    comments += piece;
    const code = withoutComments(piece);
    if (code === '') continue;
    // A union of documented types goes on after the comment.
    const previous = code.startsWith('|') ? (statements.pop() ?? '') : '';
    statements.push(previous + comments);
    comments = '';
  }
  return statements.flatMap((each) => statementOf(module, each) ?? []);
}

/** @returns `undefined` for an import that declares nothing */
function statementOf(module: string, text: string): Statement | undefined {
  const code = withoutComments(text);
  if (code === 'export {};') return { text, names: [] };
  if (/^import '[^']+';$/.test(code)) return undefined;
  const [, declared] =
    /^(?:export )?(?:declare )?(?:abstract )?(?:class|const|function|interface|type) (\w+)/.exec(code) ?? [];
  if (declared !== undefined && !code.startsWith('export type {')) return { text, names: [declared] };
  const [, before = '', braces, after = '', path] =
    /^((?:import|export) (?:type )?\{) ([^}]+) (\}(?: from '([^']+)')?;)$/.exec(code) ?? [];
  if (braces !== undefined) {
    const items = braces.split(',').map((item) => item.trim());
    const pairs = items.map((item) => item.replace(/^type /, '').split(' as '));
    return {
      text,
      names: pairs.map((pair) => pair.at(-1) ?? ''),
      clause: {
        around: [`${before} `, ` ${after}\n`],
        ...{ items, origins: pairs.map(([origin = '']) => origin) },
        module: path === undefined ? module : path.startsWith('.') ? pathFrom(module, path) : undefined,
      },
    };
  }
  const [, name] = /^import (?:type )?(?:\* as )?(\w+) from '[^.][^']*';$/.exec(code) ?? [];
  if (name !== undefined) return { text, names: [name] };
  throw new Error(`${module} has an unexpected declaration: ${code}`);
}

function pathFrom(module: string, path: string): string {
  return posix.join(posix.dirname(module), path).replace(/\.js$/, '');
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*\*(?:[^*]|\*(?!\/))*\*\/|^\/\/.*$/gm, '').trim();
}
