import { Command } from 'commander';
import { all, call } from '../admin/in_process.ts';
import { inWords, isText, type ScopeView, scopeProblem, TEXT_FORM } from '../admin/scopes.ts';
import type { GivenFlags } from '../config/configuration.ts';
import {
  type AdministrationParts,
  collect,
  databaseFlags,
  labelled,
  printList,
  printOne,
  withAdministration,
} from './command.ts';
import { BadUsage } from './exit.ts';

interface ScopeFlags extends GivenFlags {
  readonly api?: string;
  readonly name?: readonly string[];
  readonly description?: readonly string[];
}

export function scopeCommands(): Command {
  const group = new Command('scope').description('describe scopes on the pages that users see');
  const command = (name: string, description: string) =>
    databaseFlags(group.command(`${name} <scope>`).description(description)).option(
      '--api <CLIENT>',
      'client ID of the API that declares the scope. Without --api, the scope belongs to the server itself',
    );
  const withTexts = (one: Command) =>
    one
      .option(
        '--name <TEXT>',
        "what the scope allows, in a few words. '#de=TEXT' is the text in German; repeatable",
        collect,
      )
      .option(
        '--description <TEXT>',
        "a sentence that explains the scope further. '#de=TEXT' is the text in German; repeatable",
        collect,
      );

  withTexts(command('add', 'add the texts that pages, such as the consent page, show for a scope'))
    .addHelpText(
      'after',
      `
Example:
  grantd scope add read --api my-api --name 'Read your statements' --name '#de=Ihre Kontoauszüge lesen'`,
    )
    .action((scope: string, flags: ScopeFlags) => run(flags, (parts) => addScope(parts, scope, flags)));
  withTexts(
    command(
      'update',
      "change the texts of a scope. An empty value removes a text: --name '#de=' removes the German name",
    ),
  ).action((scope: string, flags: ScopeFlags) => run(flags, (parts) => updateScope(parts, scope, flags)));
  command('show', 'show the texts of a scope').action((scope: string, flags: ScopeFlags) =>
    run(flags, async (parts) => show(parts, await call(parts.admin, 'getScopeTexts', named(scope, flags)))),
  );
  command('remove', 'remove the texts of a scope. Pages then show only its name').action(
    (scope: string, flags: ScopeFlags) => run(flags, (parts) => removeScope(parts, scope, flags)),
  );
  databaseFlags(group.command('list').description('list all scopes that have texts')).action(
    (flags: ScopeFlags) => run(flags, listScopes),
  );
  return group;
}

function run(flags: ScopeFlags, work: (parts: AdministrationParts) => Promise<void>): Promise<void> {
  return withAdministration(flags, 'needs_database', work);
}

async function addScope(parts: AdministrationParts, scope: string, flags: ScopeFlags): Promise<void> {
  const texts = textsOf(flags);
  if (!texts.name) throw new BadUsage('--name: expected a text without a language tag');
  const problem = scopeProblem(scope);
  if (problem !== undefined) throw new BadUsage(`${scope}: ${problem}`);
  const given = Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''));
  show(parts, await call(parts.admin, 'addScopeTexts', { ...named(scope, flags), texts: given }));
}

async function updateScope(parts: AdministrationParts, scope: string, flags: ScopeFlags): Promise<void> {
  const changes = textsOf(flags);
  if (Object.keys(changes).length === 0) throw new BadUsage('nothing to update: add --name or --description');
  if (changes.name === '') throw new BadUsage('--name: the text without a language tag is required');
  const change = Object.fromEntries(Object.entries(changes).map(([name, text]) => [name, text || null]));
  show(parts, await call(parts.admin, 'updateScopeTexts', { ...change, ...named(scope, flags) }));
}

async function removeScope(parts: AdministrationParts, scope: string, flags: ScopeFlags): Promise<void> {
  const text = named(scope, flags);
  await call(parts.admin, 'removeScopeTexts', text);
  printOne(parts, text, [`removed the texts of ${inWords({ scope, api: flags.api })}`]);
}

async function listScopes(parts: AdministrationParts): Promise<void> {
  printList(parts, await all(parts.admin, 'listScopeTexts', {}), {
    SCOPE: ({ scope }) => scope,
    API: ({ api = '' }) => api,
    NAME: ({ texts }) => texts.name ?? '',
  });
}

const LANGUAGE = '[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*';
const TAGGED_FLAG = new RegExp(`^#(${LANGUAGE})=(.*)$`, 's');
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

function show(parts: AdministrationParts, text: ScopeView): void {
  printOne(parts, text, labelled({ scope: text.scope, api: text.api, ...text.texts }));
}

function named(scope: string, { api }: ScopeFlags) {
  return { scope, ...(api !== undefined && { api }) };
}
