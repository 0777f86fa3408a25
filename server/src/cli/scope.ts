import { Command } from 'commander';
import type { GivenFlags } from '../config/configuration.ts';
import { Refused } from '../config/refused.ts';
import type { ScopeText } from '../data/consents.ts';
import {
  type CommandParts,
  collect,
  databaseFlags,
  labelled,
  printList,
  printOne,
  requireClient,
  withInstance,
} from './command.ts';
import { BadUsage } from './exit.ts';

interface ScopeFlags extends GivenFlags {
  readonly api?: string;
  readonly name?: readonly string[];
  readonly description?: readonly string[];
}

/** Syntax of a scope (RFC 6749 §3.3). */
const SCOPE = /^[\x21\x23-\x5B\x5D-\x7E]{1,200}$/;

const MAX_LENGTH = { name: 100, description: 300 } as const;

export function scopeCommands(): Command {
  const group = new Command('scope').description('describe scopes on the pages that users see');
  const named = (name: string, description: string) =>
    databaseFlags(group.command(`${name} <scope>`).description(description)).option(
      '--api <CLIENT>',
      'client ID of the API that the scope belongs to. Default: this server',
    );
  const withTexts = (command: Command) =>
    command
      .option('--name <TEXT>', "what the scope allows; '#de=TEXT' translates it; repeatable", collect)
      .option('--description <TEXT>', "one more sentence; '#de=TEXT' translates it; repeatable", collect);

  withTexts(named('add', 'describe a scope'))
    .addHelpText(
      'after',
      `
Example:
  grantd scope add read --api my-api --name 'Read your statements' --name '#de=Ihre Kontoauszüge lesen'`,
    )
    .action((scope: string, flags: ScopeFlags) => run(flags, (parts) => addScope(parts, scope, flags)));
  withTexts(
    named('update', "change the texts of a scope. An empty text removes it, as in --name '#de='"),
  ).action((scope: string, flags: ScopeFlags) => run(flags, (parts) => updateScope(parts, scope, flags)));
  named('show', 'show the texts of a scope').action((scope: string, flags: ScopeFlags) =>
    run(flags, async (parts) => show(parts, await requireText(parts, scope, flags))),
  );
  named('remove', 'remove the texts of a scope. Pages then show only its name').action(
    (scope: string, flags: ScopeFlags) => run(flags, (parts) => removeScope(parts, scope, flags)),
  );
  databaseFlags(group.command('list').description('list all scopes with texts')).action((flags: ScopeFlags) =>
    run(flags, listScopes),
  );
  return group;
}

function run(flags: ScopeFlags, work: (parts: CommandParts) => Promise<void>): Promise<void> {
  return withInstance(flags, 'needs_database', work);
}

async function addScope(parts: CommandParts, scope: string, flags: ScopeFlags): Promise<void> {
  const texts = withoutEmpty(textsOf(flags));
  if (texts.name === undefined) throw new BadUsage('--name: expected a text without a language tag');
  const problem = textsProblem(scope, texts);
  if (problem !== undefined) throw new BadUsage(`${scope}: ${problem}`);
  const { api } = flags;
  if (api !== undefined && (await requireClient(parts, api)).resource === undefined)
    throw new Refused(
      `${api} is not an API: it has no resource URI (grantd client update ${api} --resource).`,
    );
  const text = { scope, api, texts };
  if (!(await parts.scopeTexts.add(text)))
    throw new Refused(`${inWords(text)} already has texts: change them with grantd scope update.`);
  show(parts, text);
}

const MAX_ATTEMPTS = 5;

async function updateScope(parts: CommandParts, scope: string, flags: ScopeFlags): Promise<void> {
  const changes = textsOf(flags);
  if (Object.keys(changes).length === 0) throw new BadUsage('nothing to update: add --name or --description');
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const before = await requireText(parts, scope, flags);
    const texts = withoutEmpty({ ...before.texts, ...changes });
    if (texts.name === undefined) throw new BadUsage('--name: the text without a language tag is required');
    if (await parts.scopeTexts.replace(before, texts)) return show(parts, { ...before, texts });
  }
  throw new Refused(`other commands keep changing ${scope}. Nothing was updated: try again.`);
}

async function removeScope(parts: CommandParts, scope: string, { api }: ScopeFlags): Promise<void> {
  const text = { scope, api };
  if (!(await parts.scopeTexts.remove(text))) throw unknown(text);
  printOne(parts, named(text), [`removed the texts of ${inWords(text)}`]);
}

async function listScopes(parts: CommandParts): Promise<void> {
  printList(parts, (await parts.scopeTexts.list()).map(described), {
    SCOPE: ({ scope }) => scope,
    API: ({ api = '' }) => api,
    NAME: ({ texts }) => texts.name ?? '',
  });
}

async function requireText(parts: CommandParts, scope: string, { api }: ScopeFlags): Promise<ScopeText> {
  const found = (await parts.scopeTexts.list()).find((one) => one.scope === scope && one.api === api);
  if (found === undefined) throw unknown({ scope, api });
  return found;
}

const LANGUAGE = '[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*';
const TAGGED_FLAG = new RegExp(`^#(${LANGUAGE})=(.*)$`, 's');
const TEXT_NAME = new RegExp(`^(name|description)(?:#${LANGUAGE})?$`);

/** Why a scope cannot have these texts. @returns `undefined` if it can */
export function textsProblem(scope: string, texts: Readonly<Record<string, unknown>>): string | undefined {
  if (!SCOPE.test(scope)) return 'expected a scope without spaces and quotes';
  for (const [name, text] of Object.entries(texts)) {
    const [, member] = TEXT_NAME.exec(name) ?? [];
    if (member !== 'name' && member !== 'description')
      return `${name}: expected name or description, or either with a language tag, such as name#de`;
    if (!isText(member, text)) return `${name}: ${TEXT_FORM[member]}`;
  }
  return texts.name === undefined ? 'name: expected a text without a language tag' : undefined;
}

const TEXT_FORM = {
  name: `expected one line of at most ${MAX_LENGTH.name} characters`,
  description: `expected one line of at most ${MAX_LENGTH.description} characters`,
} as const;

function isText(member: keyof typeof MAX_LENGTH, text: unknown): boolean {
  return typeof text === 'string' && text.length <= MAX_LENGTH[member] && !/\p{C}/u.test(text);
}

/** Texts by member and language tag. A text without `#tag=` has no language tag. */
function textsOf(flags: ScopeFlags): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const member of ['name', 'description'] as const) {
    for (const given of flags[member] ?? []) {
      const [, tag, tagged] = TAGGED_FLAG.exec(given) ?? [];
      const text = (tagged ?? given).trim();
      if (given.startsWith('#') && tag === undefined)
        throw new BadUsage(`--${member}: ${given}: expected '#de=TEXT' with a language tag`);
      if (!isText(member, text)) throw new BadUsage(`--${member}: ${TEXT_FORM[member]}`);
      texts[tag === undefined ? member : `${member}#${tag.toLowerCase()}`] = text;
    }
  }
  return texts;
}

function withoutEmpty(texts: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''));
}

function show(parts: CommandParts, text: ScopeText): void {
  printOne(parts, described(text), labelled({ scope: text.scope, api: text.api, ...text.texts }));
}

function described({ texts, ...text }: ScopeText) {
  return { ...named(text), texts };
}

function named({ scope, api }: Pick<ScopeText, 'scope' | 'api'>) {
  return { scope, ...(api !== undefined && { api }) };
}

function inWords({ scope, api }: Pick<ScopeText, 'scope' | 'api'>): string {
  return api === undefined ? `the scope ${scope}` : `the scope ${scope} of ${api}`;
}

function unknown(text: Pick<ScopeText, 'scope' | 'api'>): Refused {
  return new Refused(`${inWords(text)} has no texts: grantd scope list shows all scopes with texts.`);
}
