// What scopes allow, in texts that users see.
import { isScopeToken } from '@grantd/core/options';
import type { ScopeText } from '../data/consents.ts';
import { labelled } from './command_form.ts';
import { change, type OperationParts, operation, PAGING, type Parameter, pageOf } from './operation.ts';
import {
  InvalidInput,
  ifGiven,
  OperationRefused,
  requireEach,
  requireEachFits,
  type Said,
} from './operation_refused.ts';
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
const MAX_SCOPE_LENGTH = 200;
const scopeName = text('The scope.', { minLength: 1, maxLength: MAX_SCOPE_LENGTH });
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

const MAX_LENGTH = { name: 100, description: 300 } as const;

export type TextMember = keyof typeof MAX_LENGTH;

const TEXT_NAME = /^(name|description)(?:#[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*)?$/;

/** Why a text is no scope. @returns `undefined` if it is one */
export function scopeProblem(scope: string): Said | undefined {
  return isScopeToken(scope) && scope.length <= MAX_SCOPE_LENGTH ? undefined : ['scope_form'];
}

/** @throws {InvalidInput} the text is no scope */
function requireScope(scope: string): void {
  const problem = scopeProblem(scope);
  if (problem !== undefined) throw new InvalidInput('scope', problem);
}

/** Why a scope cannot have these texts, by the name of the text. */
export function textProblems(
  texts: Readonly<Record<string, unknown>>,
): readonly (readonly [name: string, Said])[] {
  const wrong = Object.entries(texts).flatMap(([name, text]): readonly (readonly [string, Said])[] => {
    const [, member] = TEXT_NAME.exec(name) ?? [];
    if (member !== 'name' && member !== 'description') return [[name, ['scope_text_name', name]]];
    return isText(member, text) ? [] : [[name, ['scope_text_form', name, String(MAX_LENGTH[member])]]];
  });
  return texts.name === undefined ? [...wrong, ['name', ['scope_text_missing']]] : wrong;
}

export const TEXT_FORM = {
  name: `expected one line of at most ${MAX_LENGTH.name} characters`,
  description: `expected one line of at most ${MAX_LENGTH.description} characters`,
} as const;

export function isText(member: TextMember, text: unknown): boolean {
  return typeof text === 'string' && text.length <= MAX_LENGTH[member] && !/\p{C}/u.test(text);
}

/** @throws {OperationRefused} the scope has no texts */
async function requireScopeTexts(
  { scopeTexts }: Pick<OperationParts, 'scopeTexts'>,
  named: NamedScope,
): Promise<ScopeText> {
  const found = await textsOf({ scopeTexts }, named);
  if (found === undefined) throw unknown(named);
  return found;
}

async function textsOf(
  { scopeTexts }: Pick<OperationParts, 'scopeTexts'>,
  { scope, api }: NamedScope,
): Promise<ScopeText | undefined> {
  return (await scopeTexts.list()).find((one) => one.scope === scope && one.api === api);
}

/** @throws {OperationRefused} no API has this client ID */
async function requireApi({ storage }: Pick<OperationParts, 'storage'>, id: string): Promise<void> {
  const client = await storage.clients.get(id);
  const [problem, advice] = client
    ? (['not_an_api', `it has no resource URI (grantd client update ${id} --resource).`] as const)
    : (['no_client', 'grantd client list shows all clients.'] as const);
  if (client?.resource === undefined) throw new OperationRefused('conflict', [problem, id], advice, 'api');
}

function textsExist({ scope, api = '' }: NamedScope): OperationRefused {
  const advice = 'change them with grantd scope update.';
  return new OperationRefused('conflict', ['scope_texts_exist', scope, api], advice, 'scope');
}

/** @param place of the texts in the input, with a dot. Default: they are its members */
function requireTexts(texts: Texts, place = ''): void {
  requireEach(
    textProblems(texts).map(([name, said]) => () => {
      throw new InvalidInput(`${place}${name}`, said);
    }),
  );
}

function withoutEmpty(texts: Readonly<Record<string, string | null>>): Texts {
  return Object.fromEntries(
    Object.entries(texts).filter((entry): entry is [string, string] => entry[1] !== null && entry[1] !== ''),
  );
}

function inWords({ scope, api }: NamedScope): string {
  return api === undefined ? `the scope ${scope}` : `the scope ${scope} of ${api}`;
}

function unknown(named: NamedScope): OperationRefused {
  return new OperationRefused(
    'not_found',
    ['no_scope_texts', named.scope, named.api ?? ''],
    'grantd scope list shows all scopes with texts.',
  );
}

const API_FLAG = {
  api: {
    about:
      'client ID of the API that declares the scope. Without --api, the scope belongs to the server itself',
    placeholder: 'CLIENT',
  },
} as const;

function linesOf({ scope, api, texts }: ScopeView): readonly string[] {
  return labelled({ scope, api, ...texts });
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
    command: {
      line: 'scope list',
      about: 'list all scopes that have texts',
      columns: {
        SCOPE: ({ scope }) => scope,
        API: ({ api = '' }) => api,
        NAME: ({ texts }) => texts.name ?? '',
      },
    },
    perform: async (parts, paging) =>
      pageOf(
        await parts.scopeTexts.list(),
        paging,
        ({ scope, api = '' }) => JSON.stringify([scope, api]),
        scopeView,
      ),
  }),
  addScopeTexts: change({
    method: 'POST',
    path: '/scopes',
    scope: 'grantd:scopes:write',
    summary:
      'Add texts to a scope. Pages such as the consent page then show them to users instead of the scope’s name',
    body: NEW_SCOPE_TEXTS,
    status: 201,
    output: SCOPE_TEXTS,
    hasVersion: true,
    command: {
      line: 'scope add <scope>',
      about: 'add the texts that pages, such as the consent page, show for a scope',
      flags: API_FLAG,
      lines: linesOf,
      notes: `Example:
  grantd scope add read --api my-api --name 'Read your statements' --name '#de=Ihre Kontoauszüge lesen'`,
    },
    checks: ({ scope, texts }) => [
      ifGiven(scope, requireScope),
      ifGiven(texts && withoutEmpty(texts), (given) => requireTexts(given, 'texts.')),
    ],
    async prepare(parts, { scope, api, texts }) {
      parts.caller.requireScopeTexts(scope);
      await requireEachFits([
        async () => {
          if (api !== undefined) await requireApi(parts, api);
        },
        async () => {
          if ((await textsOf(parts, { scope, api })) !== undefined) throw textsExist({ scope, api });
        },
      ]);
      return { scope, api, texts: withoutEmpty(texts) };
    },
    async write(parts, added, { scope, api }) {
      if (!(await parts.scopeTexts.add(added))) throw textsExist({ scope, api });
      const shown = scopeView(added);
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
    command: {
      line: 'scope show <scope>',
      about: 'show the texts of a scope',
      flags: API_FLAG,
      lines: linesOf,
    },
    async perform(parts, { scope, api }) {
      const shown = scopeView(await requireScopeTexts(parts, { scope, api }));
      return { document: shown, version: shown };
    },
  }),
  updateScopeTexts: change({
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
    command: {
      line: 'scope update <scope>',
      about:
        "change the texts of a scope. An empty value removes a text: --name '#de=' removes the German name",
      flags: API_FLAG,
      lines: linesOf,
    },
    async prepare(parts, { scope, api, ...changes }) {
      parts.caller.requireScopeTexts(scope);
      const before = await requireScopeTexts(parts, { scope, api });
      parts.requireVersion(scopeView(before));
      const texts = withoutEmpty({ ...before.texts, ...changes });
      requireTexts(texts);
      return { before, texts };
    },
    async write(parts, { before, texts }) {
      if (!(await parts.scopeTexts.replace(before, texts))) return undefined;
      const shown = scopeView({ ...before, texts });
      return { document: shown, version: shown };
    },
  }),
  removeScopeTexts: change({
    method: 'DELETE',
    path: '/scopes/{scope}',
    scope: 'grantd:scopes:write',
    summary:
      'Remove the texts with which pages describe a scope to users. Pages then show only the scope’s name',
    query: { api: API },
    status: 204,
    command: {
      line: 'scope remove <scope>',
      about: 'remove the texts of a scope. Pages then show only its name',
      flags: API_FLAG,
      lines: (_, { scope, api }) => `removed the texts of ${inWords({ scope, api })}`,
    },
    async prepare({ caller }, { scope }) {
      caller.requireScopeTexts(scope);
    },
    async write({ scopeTexts: stored }, _, { scope, api }) {
      if (!(await stored.remove({ scope, api }))) throw unknown({ scope, api });
      return { document: undefined };
    },
  }),
};
