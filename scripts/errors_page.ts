// Finds every refusal in the code with its `error_description`, for the page of errors.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type AnyNode, type CallExpression, type NewExpression, type ObjectExpression, parse } from 'acorn';
import { transformSync } from 'esbuild';
import { REASON_OF_HOST_REFUSAL } from '../core/src/authorization/authorization_response.ts';
import { ERROR_STATUS, type ErrorCode, INACTIVE_REASONS, REFUSAL_REASONS } from '../core/src/http/errors.ts';

const MEANINGS: Readonly<Record<string, string>> = { ...INACTIVE_REASONS, ...REFUSAL_REASONS };

/** A refusal. A value that is not a text in the code has the name of the parameter, or nothing. */
interface Site {
  readonly code: Value;
  readonly description: Value;
  readonly reason: Value;
  /** Whether the error code alone decides the reason. */
  readonly isByHost?: boolean;
}

type Value = readonly (string | Parameter)[];

/** A parameter of the surrounding function, or a member of one. */
interface Parameter {
  readonly index: number;
  readonly member?: string | undefined;
  /** Without an argument. */
  readonly byDefault?: readonly string[];
}

/** Functions that make a refusal out of their arguments, by file and name. */
type Makers = Map<string, readonly Site[]>;

interface SourceFile {
  readonly path: string;
  readonly program: AnyNode;
  /** The file and name of what it imports, by its name here. */
  readonly imports: ReadonlyMap<string, string>;
}

interface Scope {
  readonly parameters: readonly AnyNode[];
  readonly name: string | undefined;
  /** Texts of constants by their name, also of tables. */
  readonly constants: ReadonlyMap<string, AnyNode>;
}

/** @returns the page */
export function errorsPage(): string {
  const rows = new Map<ErrorCode, Map<string, Set<string>>>();
  for (const { code, description, reason } of refusals()) {
    const byDescription = rows.get(code) ?? new Map<string, Set<string>>();
    const reasons = byDescription.get(description) ?? new Set();
    for (const item of reason) reasons.add(item);
    rows.set(code, byDescription.set(description, reasons));
  }
  const sections = Object.keys(ERROR_STATUS)
    .map((code) => [code as ErrorCode, rows.get(code as ErrorCode)] as const)
    .flatMap(([code, found]) => (found === undefined ? [] : [section(code, found)]));
  return `# Errors

Find out what the \`error_description\` of a response means:

1. Find the section of the response's \`error\`.
2. Find the description in the table of the section. The sign … stands for a part that differs, such as the name of a
   parameter.
3. Read what the description can mean. For each possible cause, the table shows a reason code
   (\`npx grantd help reason-codes\`) and its
   meaning. If there are several, the server's log shows which of them applies.

Error responses contain no reason code, because it can tell more than a client may know. Look it up in the server's log.

The descriptions can change in a new version, so programs must use only the \`error\`.

This page does not list the errors of client registration (\`invalid_client_metadata\` and \`invalid_redirect_uri\`). Their
descriptions name the member of the metadata and the expected value.

${sections.join('\n\n')}
`;
}

function section(code: ErrorCode, found: ReadonlyMap<string, ReadonlySet<string>>): string {
  const rows = [...found]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([description, reasons]) => {
      const causes = [...reasons]
        .filter((reason) => reason !== OTHERS)
        .toSorted()
        .map((reason) => `\`${reason}\`: ${MEANINGS[reason] ?? ''}`);
      if (reasons.has(OTHERS) && causes.length > 0)
        causes.push('other causes, whose reason code is in the log');
      return `| ${description} | ${causes.join('<br>') || 'the log shows the cause'} |`;
    });
  return `## ${code}\n\nResponses with this \`error\` usually have the HTTP status ${ERROR_STATUS[code]}.\n\n| error_description | possible causes, each with its reason code in the log |\n| --- | --- |\n${rows.join('\n')}`;
}

interface Refusal {
  readonly code: ErrorCode;
  readonly description: string;
  readonly reason: readonly string[];
}

function refusals(): readonly Refusal[] {
  const files = globSync('{core,protect,server}/src/**/*.ts').sort().map(parsed);
  const makers: Makers = new Map([[CLASS, [OF_THE_CLASS]]]);
  const found: Site[] = [];
  // A function that passes its parameters to a maker is a maker, too.
  for (let known = 0; known !== sizeOf(makers); ) {
    known = sizeOf(makers);
    found.length = 0;
    for (const file of files) {
      const outside = { parameters: [], name: undefined, constants: constantsOf(file.program) };
      walk(file.program, outside, (node, scope) => {
        for (const site of sitesAt(node, scope, file, makers)) {
          if (needsParameters(site) && scope.name !== undefined)
            addMaker(makers, `${file.path} ${scope.name}`, site);
          else found.push(site);
        }
      });
    }
  }
  return found.flatMap((site) =>
    [...new Set(texts(site.code).map(textOf))].filter(isCode).flatMap((code) => refusalsOf(site, code)),
  );
}

/** A table of descriptions is by reason or by code. The description after `??` is for all others. */
function refusalsOf({ description, reason, isByHost = false }: Site, code: ErrorCode): readonly Refusal[] {
  const described = texts(description).map((text) => ({ key: keyIn(text), description: textOf(text) }));
  const keys = new Set(described.map(({ key }) => key));
  const listed: readonly string[] = isByHost
    ? [hostReasons[code] ?? OTHERS]
    : reason.map((item) => (typeof item === 'string' ? item : OTHERS));
  return described.flatMap(({ key, description }): Refusal[] => {
    if (key !== undefined && Object.hasOwn(MEANINGS, key)) return [{ code, description, reason: [key] }];
    if (key === undefined ? keys.has(code) : key !== code) return [];
    const reasons = listed.filter(
      (item) => item === OTHERS || (Object.hasOwn(MEANINGS, item) && !keys.has(item)),
    );
    return reasons.length === 0 && listed.length > 0 ? [] : [{ code, description, reason: reasons }];
  });
}

const hostReasons: Readonly<Partial<Record<ErrorCode, string>>> = REASON_OF_HOST_REFUSAL;

function isCode(text: string): text is ErrorCode {
  return Object.hasOwn(ERROR_STATUS, text);
}

const CLASS = 'core/src/http/errors.ts OAuthError';

/** Reasons that this script cannot read from the code. */
const OTHERS = '…';

/** `refuse(…, code, description)`, by which the program's pages refuse an authorization request. */
function siteOfRefuse({ arguments: args }: CallExpression | NewExpression, scope: Scope): Site {
  const at = args.findIndex((argument) => texts(textsOf(argument, scope)).some(isCode));
  const index = at < 0 ? 1 : at;
  return { code: [{ index }], description: [{ index: index + 1 }], reason: [], isByHost: true };
}

const OF_THE_CLASS: Site = {
  code: [{ index: 0 }],
  description: [{ index: 1 }],
  reason: [{ index: 2, member: 'reason' }],
};

function parsed(path: string): SourceFile {
  const text = transformSync(readFileSync(path, 'utf8'), { loader: 'ts', target: 'esnext' }).code;
  const program = parse(text, { ecmaVersion: 'latest', sourceType: 'module' });
  const imports = program.body.flatMap((statement) =>
    statement.type !== 'ImportDeclaration'
      ? []
      : statement.specifiers.map(({ local }): [string, string] => [
          local.name,
          `${fileOf(String(statement.source.value), path)} ${local.name}`,
        ]),
  );
  return { path, program, imports: new Map(imports) };
}

/** Protect uses modules of the core by a name that its build replaces. */
function fileOf(specifier: string, importer: string): string {
  const internal = /^@grantd\/core\/internal\/(.+)$/.exec(specifier)?.[1];
  return internal === undefined ? join(dirname(importer), specifier) : `core/src/${internal}.ts`;
}

function sizeOf(makers: Makers): number {
  return [...makers.values()].reduce((sum, sites) => sum + sites.length, 0);
}

function sitesAt(node: AnyNode, scope: Scope, file: SourceFile, makers: Makers): readonly Site[] {
  if (node.type === 'ObjectExpression') {
    const [code, description, reason] = ['code', 'description', 'reason'].map((member) =>
      memberOfObject(node, member, scope),
    );
    const isRefusal =
      code !== undefined && description !== undefined && code.length > 0 && description.length > 0;
    return isRefusal ? [{ code, description, reason: reason ?? [] }] : [];
  }
  if (node.type !== 'NewExpression' && node.type !== 'CallExpression') return [];
  const { callee } = node;
  const isRefuse = callee.type === 'MemberExpression' && keyOf(callee.property) === 'refuse';
  if (callee.type !== 'Identifier' && !isRefuse) return [];
  const name = callee.type === 'Identifier' ? callee.name : '';
  const sites = isRefuse
    ? [siteOfRefuse(node, scope)]
    : (makers.get(file.imports.get(name) ?? `${file.path} ${name}`) ?? []);
  return sites.map(({ code, description, reason, ...site }) => ({
    ...site,
    code: applied(code, node, scope),
    description: applied(description, node, scope),
    reason: applied(reason, node, scope, OTHERS),
  }));
}

/** The value with the arguments of a call in place of the parameters. */
function applied(
  value: Value,
  { arguments: args }: NewExpression | CallExpression,
  scope: Scope,
  unknown?: string,
): Value {
  return value.flatMap((part): Value => {
    if (typeof part === 'string') return [part];
    const argument = args[part.index];
    if (argument === undefined) return part.byDefault ?? [];
    const values =
      part.member === undefined ? textsOf(argument, scope) : memberOf(argument, part.member, scope);
    return values.length > 0 || unknown === undefined || lacks(argument, part.member, scope)
      ? values
      : [unknown];
  });
}

/** Whether an argument is an object without this member. */
function lacks(node: AnyNode, member: string | undefined, scope: Scope): boolean {
  const object = node.type === 'Identifier' ? scope.constants.get(node.name) : node;
  if (member === undefined || object?.type !== 'ObjectExpression') return false;
  return object.properties.every(
    (property) => property.type === 'Property' && keyOf(property.key) !== member,
  );
}

function memberOf(node: AnyNode, member: string, scope: Scope): Value {
  if (node.type === 'ObjectExpression') return memberOfObject(node, member, scope);
  if (node.type === 'Identifier') {
    const index = scope.parameters.findIndex((parameter) => nameOf(parameter) === node.name);
    if (index >= 0) return [{ index, member }];
    const constant = scope.constants.get(node.name);
    if (constant?.type === 'ObjectExpression') return memberOfObject(constant, member, scope);
  }
  return [];
}

function memberOfObject({ properties }: ObjectExpression, member: string, scope: Scope): Value {
  return properties.flatMap((property): Value => {
    if (property.type === 'SpreadElement') return memberOf(property.argument, member, scope);
    return keyOf(property.key) === member ? textsOf(property.value, scope) : [];
  });
}

function textsOf(node: AnyNode, scope: Scope): Value {
  switch (node.type) {
    case 'Literal':
      return typeof node.value === 'string' ? [node.value] : [];
    case 'TemplateLiteral':
      return [node.quasis.map(({ value }) => value.cooked ?? '').join('…')];
    case 'ConditionalExpression':
      return [...textsOf(node.consequent, scope), ...textsOf(node.alternate, scope)];
    case 'LogicalExpression':
      return [...textsOf(node.left, scope), ...textsOf(node.right, scope)];
    case 'AssignmentPattern':
      return textsOf(node.right, scope);
    case 'MemberExpression': {
      const table = node.object.type === 'Identifier' ? scope.constants.get(node.object.name) : undefined;
      // A table from reasons to descriptions.
      if (table?.type === 'ObjectExpression')
        return table.properties.flatMap((property) =>
          property.type === 'Property'
            ? textsOf(property.value, scope).map((text) => pairOf(keyOf(property.key), text))
            : [],
        );
      return node.computed ? [] : memberOf(node.object, keyOf(node.property) ?? '', scope);
    }
    case 'Identifier':
      return namedValue(node.name, scope);
    default:
      return [];
  }
}

function namedValue(name: string, scope: Scope): Value {
  for (const [index, parameter] of scope.parameters.entries()) {
    if (nameOf(parameter) === name) {
      const byDefault = parameter.type === 'AssignmentPattern' ? texts(textsOf(parameter.right, scope)) : [];
      return [{ index, byDefault }];
    }
    const pattern = parameter.type === 'AssignmentPattern' ? parameter.left : parameter;
    if (pattern.type !== 'ObjectPattern') continue;
    for (const property of pattern.properties)
      if (property.type === 'Property' && nameOf(property.value) === name)
        return [{ index, member: keyOf(property.key) }];
  }
  const constant = scope.constants.get(name);
  return constant === undefined ? [] : textsOf(constant, scope);
}

const PAIR = '\n';

function pairOf(reason: string | undefined, text: string | Parameter): string | Parameter {
  return typeof text === 'string' && reason !== undefined ? `${reason}${PAIR}${text}` : text;
}

function keyIn(text: string): string | undefined {
  return text.includes(PAIR) ? text.split(PAIR)[0] : undefined;
}

function textOf(text: string): string {
  return text.split(PAIR).at(-1) ?? text;
}

function addMaker(makers: Makers, name: string, site: Site): void {
  const sites = makers.get(name) ?? [];
  if (sites.some((item) => JSON.stringify(item) === JSON.stringify(site))) return;
  makers.set(name, [...sites, site]);
}

function needsParameters({ code, description, reason }: Site): boolean {
  return [...code, ...description, ...reason].some((part) => typeof part !== 'string');
}

function texts(value: Value): readonly string[] {
  return value.filter((part) => typeof part === 'string');
}

/** Calls `visit` for each node with the function that surrounds it. */
function walk(node: AnyNode, scope: Scope, visit: (node: AnyNode, scope: Scope) => void): void {
  visit(node, scope);
  const inside =
    node.type === 'FunctionDeclaration' ||
    node.type === 'MethodDefinition' ||
    (node.type === 'VariableDeclarator' && node.init?.type === 'ArrowFunctionExpression')
      ? scopeOf(node, scope)
      : scope;
  for (const child of childrenOf(node)) walk(child, inside, visit);
}

function scopeOf(node: AnyNode, { constants }: Scope): Scope {
  if (node.type === 'FunctionDeclaration')
    return {
      parameters: node.params,
      name: nameOf(node.id ?? undefined),
      constants: withLocals(node, constants),
    };
  if (node.type === 'VariableDeclarator' && node.init?.type === 'ArrowFunctionExpression')
    return {
      parameters: node.init.params,
      name: nameOf(node.id),
      constants: withLocals(node.init, constants),
    };
  if (node.type === 'MethodDefinition')
    return { parameters: node.value.params, name: undefined, constants: withLocals(node.value, constants) };
  throw new Error(`${node.type} is no function`);
}

function withLocals(node: AnyNode, outer: ReadonlyMap<string, AnyNode>): ReadonlyMap<string, AnyNode> {
  return new Map([...outer, ...constantsOf(node)]);
}

/** Variables with their values, in a file or a function. */
function constantsOf(node: AnyNode): ReadonlyMap<string, AnyNode> {
  const found = new Map<string, AnyNode>();
  const collect = (item: AnyNode): void => {
    if (item.type === 'VariableDeclarator' && item.init) {
      if (item.id.type === 'Identifier') found.set(item.id.name, item.init);
      if (item.id.type === 'ArrayPattern')
        for (const [index, element] of item.id.elements.entries()) {
          const value = elementOf(item.init, index);
          if (element?.type === 'Identifier' && value !== undefined) found.set(element.name, value);
        }
    }
    if (item !== node && /Function/.test(item.type)) return;
    for (const child of childrenOf(item)) collect(child);
  };
  collect(node);
  return found;
}

/** An element of a list, also if the list depends on a condition. */
function elementOf(node: AnyNode, index: number): AnyNode | undefined {
  if (node.type === 'ArrayExpression') return node.elements[index] ?? undefined;
  if (node.type !== 'ConditionalExpression') return undefined;
  const [consequent, alternate] = [elementOf(node.consequent, index), elementOf(node.alternate, index)];
  return consequent && alternate && ({ ...node, consequent, alternate } as AnyNode);
}

function childrenOf(node: AnyNode): readonly AnyNode[] {
  return Object.values(node)
    .flat()
    .filter((value): value is AnyNode => typeof value === 'object' && value !== null && 'type' in value);
}

function nameOf(node: AnyNode | undefined): string | undefined {
  if (node?.type === 'AssignmentPattern') return nameOf(node.left);
  return node?.type === 'Identifier' ? node.name : undefined;
}

function keyOf(node: AnyNode): string | undefined {
  if (node.type === 'Identifier') return node.name;
  return node.type === 'Literal' && typeof node.value === 'string' ? node.value : undefined;
}
