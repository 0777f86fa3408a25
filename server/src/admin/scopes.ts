// What scopes allow, in texts that users see.
import type { ScopeText } from '../data/consents.ts';
import { requireClient } from './client_rules.ts';
import {
  changedByOthers,
  MAX_ATTEMPTS,
  type OperationParts,
  operation,
  PAGING,
  type Parameter,
  pageOf,
} from './operation.ts';
import { InvalidInput, OperationRefused } from './operation_refused.ts';
import { named, object, optional, page, type Schema, text, type ValueOf } from './schema.ts';

type Texts = Readonly<Record<string, string>>;

const TEXTS: Schema<Texts> = {
  type: 'object',
  description:
    'The texts with which pages describe the scope to users. A member with a language tag, such as name#de, is a translation.',
  properties: {
    name: text('A short name for the scope.'),
    description: text('A sentence that explains the scope.'),
  },
  patternProperties: { '^(name|description)#': { type: 'string' } },
  additionalProperties: false,
};
const scopeName = text('The scope.', { minLength: 1, maxLength: 200 });
const apiId = text(
  'For a scope that an API declares: the client ID of the API. Absent for the scopes of this server, such as email.',
);
const scopeTexts = { scope: scopeName, 'api?': apiId, texts: TEXTS } as const;

const SCOPE_TEXTS = named('ScopeTexts', object(scopeTexts));
export type ScopeView = ValueOf<typeof SCOPE_TEXTS>;
const ALL_SCOPE_TEXTS = page('AllScopeTexts', SCOPE_TEXTS);
const NEW_SCOPE_TEXTS = named('NewScopeTexts', object(scopeTexts));
/** `null` removes a text. */
const SCOPE_TEXTS_CHANGE = named<Schema<Readonly<Record<string, string | null>>>>('ScopeTextsChange', {
  ...TEXTS,
  description:
    'The texts of the scope to change. A text that is null is removed. A member with a language tag, such as name#de, is a translation.',
  properties: {
    name: text('A short name for the scope.'),
    description: { type: ['string', 'null'], description: 'A sentence that explains the scope.' },
  },
  patternProperties: { '^(name|description)#': { type: ['string', 'null'] } },
  minProperties: 1,
});

const API: Parameter<string> = {
  schema: text(undefined, { minLength: 1, maxLength: 200 }),
  about:
    'For a scope that an API declares: the client ID of the API. Omit it for the scopes of this server, such as email.',
};

function scopeView({ scope, api, texts }: ScopeText): ScopeView {
  return { scope, ...optional('api', api), texts };
}

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

export const SCOPE_OPERATIONS = {
  listScopeTexts: operation({
    method: 'GET',
    path: '/scopes',
    scope: 'grantd:scopes:read',
    summary: 'List the scopes that have texts. Pages such as the consent page show these texts to users',
    query: PAGING,
    status: 200,
    output: ALL_SCOPE_TEXTS,
    perform: async (parts, paging) =>
      pageOf(
        await parts.scopeTexts.list(),
        paging,
        ({ scope, api = '' }) => JSON.stringify([scope, api]),
        scopeView,
      ),
  }),
  addScopeTexts: operation({
    method: 'POST',
    path: '/scopes',
    scope: 'grantd:scopes:write',
    summary:
      'Add texts to a scope. Pages such as the consent page then show them to users instead of the scope’s name',
    body: NEW_SCOPE_TEXTS,
    status: 201,
    output: SCOPE_TEXTS,
    hasVersion: true,
    async perform(parts, { scope, api, texts }) {
      parts.caller.requireScopeTexts(scope);
      const shown = scopeView(await addScopeTexts(parts, { scope, api }, texts));
      const query = api === undefined ? '' : `?api=${encodeURIComponent(api)}`;
      return { document: shown, version: shown, location: `/scopes/${encodeURIComponent(scope)}${query}` };
    },
  }),
  getScopeTexts: operation({
    method: 'GET',
    path: '/scopes/{scope}',
    scope: 'grantd:scopes:read',
    summary: 'Show the texts with which pages describe a scope to users',
    query: { api: API },
    status: 200,
    output: SCOPE_TEXTS,
    hasVersion: true,
    async perform(parts, { scope, api }) {
      const shown = scopeView(await requireScopeTexts(parts, { scope, api }));
      return { document: shown, version: shown };
    },
  }),
  updateScopeTexts: operation({
    method: 'PATCH',
    path: '/scopes/{scope}',
    scope: 'grantd:scopes:write',
    summary: 'Change the texts with which pages describe a scope to users',
    query: { api: API },
    body: SCOPE_TEXTS_CHANGE,
    status: 200,
    output: SCOPE_TEXTS,
    hasVersion: true,
    needsVersion: true,
    async perform(parts, { scope, api, ...given }) {
      parts.caller.requireScopeTexts(scope);
      const changes = Object.fromEntries(
        Object.entries(given).map(([member, value]) => [member, value ?? '']),
      );
      const shown = scopeView(
        await changeScopeTexts(parts, { scope, api }, changes, (before) =>
          parts.requireVersion(scopeView(before)),
        ),
      );
      return { document: shown, version: shown };
    },
  }),
  removeScopeTexts: operation({
    method: 'DELETE',
    path: '/scopes/{scope}',
    scope: 'grantd:scopes:write',
    summary:
      'Remove the texts with which pages describe a scope to users. Pages then show only the scope’s name',
    query: { api: API },
    status: 204,
    async perform(parts, { scope, api }) {
      parts.caller.requireScopeTexts(scope);
      await removeScopeTexts(parts, { scope, api });
      return { document: undefined };
    },
  }),
};
