import { stripTypeScriptTypes } from 'node:module';
import { type AnyNode, parse } from 'acorn';

/** One change of a source. */
export interface Mutant {
  /** Starts at 1, as `column`. */
  readonly line: number;
  readonly column: number;
  readonly from: string;
  readonly to: string;
}

/** All mutants of a source in one JavaScript text, which asks at each place which mutant is active. */
interface Mutated {
  readonly mutants: readonly Mutant[];
  /** Calls `globalThis.isMutant(number)`. The numbers follow the order of `mutants` and begin with `first`. */
  readonly source: string;
}

const SWAPPED: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '&&': '||',
  '||': '&&',
  '??': '&&',
};

/** A replacement. `shown` is the change that a report names, if it is smaller. */
interface Edit {
  readonly start: number;
  readonly end: number;
  readonly to: string;
  readonly shown?: { readonly at: number; readonly from: string; readonly to: string };
  readonly isStatement?: true;
}

/**
 * Every mutant of a TypeScript source: swapped operators, constant conditions, removed statements, changed constants,
 * missing results.
 */
export function mutantsOf(typescript: string, first = 0): Mutated {
  const text = stripTypeScriptTypes(typescript, { mode: 'strip' });
  const program = parse(text, { ecmaVersion: 'latest', sourceType: 'module' });
  const mutants: Mutant[] = [];

  const render = (node: AnyNode): string => {
    const edits = editsOf(node, text);
    const numbered = edits.map((edit) => {
      const { at, from, to } = edit.shown ?? {
        at: edit.start,
        from: text.slice(edit.start, edit.end),
        to: edit.to,
      };
      const before = text.slice(0, at).split('\n');
      const [line, column] = [before.length, (before.at(-1)?.length ?? 0) + 1];
      mutants.push({ line, column, from: from.replace(/\s+/g, ' '), to });
      return { ...edit, number: first + mutants.length - 1 };
    });
    let rendered = '';
    let at = node.start;
    for (const child of childrenOf(node)) {
      rendered += text.slice(at, child.start);
      const inside = numbered.filter(({ start, end }) => start === child.start && end === child.end);
      rendered += applyEdits(inside, render(child));
      at = child.end;
    }
    rendered += text.slice(at, node.end);
    return applyEdits(
      numbered.filter(({ start, end }) => start === node.start && end === node.end),
      rendered,
    );
  };
  const rendered = render(program);
  return { mutants, source: text.slice(0, program.start) + rendered + text.slice(program.end) };
}

function applyEdits(edits: readonly (Edit & { readonly number: number })[], original: string): string {
  return edits.reduce(
    (rest, { number, to, isStatement }) =>
      isStatement ? `{if(!isMutant(${number})){${rest}}}` : `(isMutant(${number})?(${to}):(${rest}))`,
    original,
  );
}

function editsOf(node: AnyNode, text: string): readonly Edit[] {
  const whole = { start: node.start, end: node.end };
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression': {
      const { operator } = node;
      const to = SWAPPED[operator];
      if (to === undefined) return [];
      const left = text.slice(node.left.start, node.left.end);
      const right = text.slice(node.right.start, node.right.end);
      const changed = { ...whole, to: `(${left}) ${to} (${right})` };
      const at = text.indexOf(operator, node.left.end);
      return [
        node.type === 'LogicalExpression' ? changed : { ...changed, shown: { at, from: operator, to } },
      ];
    }
    case 'UnaryExpression': {
      const to = text.slice(node.argument.start, node.argument.end);
      return node.operator === '!' ? [{ ...whole, to, shown: { at: node.start, from: '!', to: '' } }] : [];
    }
    case 'IfStatement':
    case 'ConditionalExpression': {
      const { start, end } = node.test;
      return ['true', 'false'].map((to) => ({ start, end, to }));
    }
    case 'ReturnStatement':
      return node.argument && text.slice(node.argument.start, node.argument.end) !== 'undefined'
        ? [{ start: node.argument.start, end: node.argument.end, to: 'undefined' }]
        : [];
    case 'ArrowFunctionExpression':
      return node.body.type === 'BlockStatement'
        ? []
        : [{ start: node.body.start, end: node.body.end, to: 'undefined' }];
    case 'ExpressionStatement':
      return 'directive' in node && node.directive !== undefined
        ? []
        : [{ ...whole, to: ';', isStatement: true }];
    case 'Literal':
      if (typeof node.value === 'boolean') return [{ ...whole, to: String(!node.value) }];
      if (typeof node.value === 'number') return [{ ...whole, to: String(node.value + 1) }];
      return [];
    case 'SpreadElement':
      return node.argument.type === 'LogicalExpression'
        ? [{ start: node.argument.start, end: node.argument.end, to: '[]' }]
        : [];
    default:
      return [];
  }
}

/** In the order of the text. The key of a property is no expression unless it is computed. */
function childrenOf(node: AnyNode): readonly AnyNode[] {
  const isKey = (name: string) => name === 'key' && 'computed' in node && !node.computed;
  const children = Object.entries(node).flatMap(([name, value]) =>
    isKey(name) ? [] : [value].flat().filter(isNode),
  );
  // A shorthand property has one node twice.
  return children
    .sort((a, b) => a.start - b.start)
    .filter((child, index, all) => index === 0 || child.start >= (all[index - 1]?.end ?? 0));
}

function isNode(value: unknown): value is AnyNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}
