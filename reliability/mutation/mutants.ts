import { stripTypeScriptTypes } from 'node:module';
import { type AnyNode, parse } from 'acorn';

/** One change of a source. */
export interface Mutant {
  /** Starts at 1. */
  readonly line: number;
  readonly from: string;
  readonly to: string;
  /** The JavaScript of the changed file. */
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

type Edit = readonly [start: number, end: number, to: string];

/**
 * Every mutant of a TypeScript source: swapped operators, constant conditions, removed statements, changed constants,
 * missing results.
 */
export function mutantsOf(typescript: string): readonly Mutant[] {
  const text = stripTypeScriptTypes(typescript, { mode: 'strip' });
  const edits: Edit[] = [];
  visit(parse(text, { ecmaVersion: 'latest', sourceType: 'module' }), (node) => {
    edits.push(...editsOf(node, text));
  });
  return edits.map(([start, end, to]) => ({
    line: text.slice(0, start).split('\n').length,
    from: text.slice(start, end).replace(/\s+/g, ' '),
    to,
    source: text.slice(0, start) + to + text.slice(end),
  }));
}

function editsOf(node: AnyNode, text: string): readonly Edit[] {
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression': {
      const to = SWAPPED[node.operator];
      if (to === undefined) return [];
      const at = text.indexOf(node.operator, node.left.end);
      // Mixing ?? and && requires parentheses.
      if (node.type === 'LogicalExpression')
        return [
          [
            node.start,
            node.end,
            `((${text.slice(node.left.start, node.left.end)}) ${to} (${text.slice(node.right.start, node.right.end)}))`,
          ],
        ];
      return [[at, at + node.operator.length, to]];
    }
    case 'UnaryExpression':
      return node.operator === '!' ? [[node.start, node.start + 1, '']] : [];
    case 'IfStatement':
    case 'ConditionalExpression':
      return [
        [node.test.start, node.test.end, '(true)'],
        [node.test.start, node.test.end, '(false)'],
      ];
    case 'ReturnStatement':
      return node.argument ? [[node.argument.start, node.argument.end, '(undefined)']] : [];
    case 'ArrowFunctionExpression':
      return node.body.type === 'BlockStatement' ? [] : [[node.body.start, node.body.end, '(undefined)']];
    case 'ExpressionStatement':
      return 'directive' in node && node.directive !== undefined ? [] : [[node.start, node.end, ';']];
    case 'Literal':
      if (typeof node.value === 'boolean') return [[node.start, node.end, String(!node.value)]];
      if (typeof node.value === 'number') return [[node.start, node.end, String(node.value + 1)]];
      return [];
    case 'SpreadElement':
      return node.argument.type === 'LogicalExpression'
        ? [[node.argument.start, node.argument.end, '[]']]
        : [];
    default:
      return [];
  }
}

function visit(node: AnyNode, look: (node: AnyNode) => void): void {
  look(node);
  for (const value of Object.values(node)) {
    for (const child of [value].flat()) {
      if (isNode(child)) visit(child, look);
    }
  }
}

function isNode(value: unknown): value is AnyNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}
