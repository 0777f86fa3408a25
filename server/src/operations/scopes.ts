import type { ScopeText } from '../data/consents.ts';
import { requireClient } from './clients.ts';
import {
  changedByOthers,
  InvalidInput,
  MAX_ATTEMPTS,
  type OperationParts,
  OperationRefused,
} from './operation.ts';

type Texts = Readonly<Record<string, string>>;

/** A scope of this server, or of the API with this client ID. */
export type NamedScope = Pick<ScopeText, 'scope' | 'api'>;

/** Syntax of a scope (RFC 6749 §3.3). */
const SCOPE = /^[\x21\x23-\x5B\x5D-\x7E]{1,200}$/;

const MAX_LENGTH = { name: 100, description: 300 } as const;

export type TextMember = keyof typeof MAX_LENGTH;

const TEXT_NAME = /^(name|description)(?:#[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*)?$/;

/** Why a text is no scope. @returns `undefined` if it is one */
export function scopeProblem(scope: string): string | undefined {
  return SCOPE.test(scope) ? undefined : 'expected a scope without spaces and quotes';
}

/** Why a scope cannot have these texts. @returns `undefined` if it can */
export function textsProblem(scope: string, texts: Readonly<Record<string, unknown>>): string | undefined {
  const problem = scopeProblem(scope);
  if (problem !== undefined) return problem;
  for (const [name, text] of Object.entries(texts)) {
    const [, member] = TEXT_NAME.exec(name) ?? [];
    if (member !== 'name' && member !== 'description')
      return `${name}: expected name or description, or either with a language tag, such as name#de`;
    if (!isText(member, text)) return `${name}: ${TEXT_FORM[member]}`;
  }
  return texts.name === undefined ? 'name: expected a text without a language tag' : undefined;
}

export const TEXT_FORM = {
  name: `expected one line of at most ${MAX_LENGTH.name} characters`,
  description: `expected one line of at most ${MAX_LENGTH.description} characters`,
} as const;

export function isText(member: TextMember, text: unknown): boolean {
  return typeof text === 'string' && text.length <= MAX_LENGTH[member] && !/\p{C}/u.test(text);
}

/**
 * Describes a scope. An empty text counts as none.
 * @throws {InvalidInput} a text is invalid
 * @throws {OperationRefused} the scope has texts, or the client is not an API
 */
export async function addScopeTexts(
  parts: OperationParts,
  { scope, api }: NamedScope,
  given: Texts,
): Promise<ScopeText> {
  const texts = withoutEmpty(given);
  requireTexts(scope, texts);
  if (api !== undefined && (await requireClient(parts, api)).resource === undefined)
    throw new OperationRefused(
      'conflict',
      `${api} is not an API`,
      `it has no resource URI (grantd client update ${api} --resource).`,
    );
  const text = { scope, api, texts };
  if (!(await parts.scopeTexts.add(text)))
    throw new OperationRefused(
      'conflict',
      `${inWords(text)} already has texts`,
      'change them with grantd scope update.',
    );
  return text;
}

/**
 * Changes some texts of a scope. An empty text removes one.
 * @param requireVersion throws if the change is meant for other texts
 * @throws {InvalidInput} a text is invalid
 * @throws {OperationRefused} the scope has no texts, or others keep changing them
 */
export async function changeScopeTexts(
  parts: OperationParts,
  named: NamedScope,
  changes: Texts,
  requireVersion?: (before: ScopeText) => void,
): Promise<ScopeText> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const before = await requireScopeTexts(parts, named);
    requireVersion?.(before);
    const texts = withoutEmpty({ ...before.texts, ...changes });
    requireTexts(named.scope, texts);
    if (await parts.scopeTexts.replace(before, texts)) return { ...before, texts };
  }
  throw changedByOthers(named.scope);
}

/** @throws {OperationRefused} the scope has no texts */
export async function removeScopeTexts({ scopeTexts }: OperationParts, named: NamedScope): Promise<void> {
  if (!(await scopeTexts.remove(named))) throw unknown(named);
}

/** @throws {OperationRefused} the scope has no texts */
export async function requireScopeTexts(
  { scopeTexts }: Pick<OperationParts, 'scopeTexts'>,
  named: NamedScope,
): Promise<ScopeText> {
  const found = (await scopeTexts.list()).find(
    ({ scope, api }) => scope === named.scope && api === named.api,
  );
  if (found === undefined) throw unknown(named);
  return found;
}

function requireTexts(scope: string, texts: Texts): void {
  const problem = textsProblem(scope, texts);
  if (problem !== undefined)
    throw new InvalidInput(scopeProblem(scope) === undefined ? 'texts' : 'scope', problem);
}

function withoutEmpty(texts: Texts): Texts {
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''));
}

export function inWords({ scope, api }: NamedScope): string {
  return api === undefined ? `the scope ${scope}` : `the scope ${scope} of ${api}`;
}

function unknown(named: NamedScope): OperationRefused {
  return new OperationRefused(
    'not_found',
    `${inWords(named)} has no texts`,
    'grantd scope list shows all scopes with texts.',
  );
}
