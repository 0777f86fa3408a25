import { existsSync, writeFileSync } from 'node:fs';
import { extname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Command } from 'commander';
import { Document, isMap, isNode, isScalar, visit } from 'yaml';
import type { FilePath } from '../admin/desired_state.ts';
import { type AdminCalls, all, call } from '../admin/in_process.ts';
import { contentIn, parse, stateIn } from '../admin/state_file.ts';
import type { Document as DocumentOf } from '../admin/table.ts';
import { type GivenFlags, typedPath } from '../config/configuration.ts';
import { Refused } from '../config/refused.ts';
import { hasMark } from '../config/text_file.ts';
import { contentOf, counted } from './apply.ts';
import { type AdministrationParts, administrationFlags, printOne, withAdministration } from './command.ts';
import { BadUsage } from './exit.ts';

export function exportCommand(): Command {
  return administrationFlags(
    new Command('export')
      .description('write groups, clients, APIs and scope texts in the form that grantd apply reads')
      .argument('[FILE]', 'the YAML file to write or to update; default: standard output'),
  )
    .addHelpText(
      'after',
      `
If FILE exists, the command updates it, and keeps its comments, its order and its references to secrets. The command
never writes secrets, or clients that registered themselves. It writes the members of a group only if FILE already lists
members of that group.

  grantd export > grantd.yaml
  grantd export grantd.yaml`,
    )
    .action((path: string | undefined, flags: GivenFlags) =>
      withAdministration(flags, 'needs_database', async (parts) => {
        if (path !== undefined) return writeExport(parts, path);
        const { state, with_secret: withSecret } = await call(parts.admin, 'exportState', {});
        console.log(parts.isJson ? JSON.stringify(state) : newFile({ ...state, withSecret }).trimEnd());
      }),
    );
}

type ExportedState = DocumentOf<'exportState'>['state'] & { readonly withSecret: readonly string[] };

/** @param withMembers names of the groups whose members are listed, because the file already lists some */
async function exportedState(admin: AdminCalls, withMembers: ReadonlySet<string>): Promise<ExportedState> {
  const { state, with_secret: withSecret } = await call(admin, 'exportState', {});
  const groups: (readonly [name: string, group: Readonly<Record<string, unknown>>])[] = [];
  for (const [name, group] of Object.entries(state.groups)) {
    const members = withMembers.has(name) ? await all(admin, 'listUsers', { group: name }) : undefined;
    const names = members?.map(({ username }) => username);
    groups.push([name, { ...group, ...(names !== undefined && { members: names }) }]);
  }
  return { ...state, groups: Object.fromEntries(groups), withSecret };
}

const YAML_FORM = { lineWidth: 0, flowCollectionPadding: false } as const;

async function writeExport(parts: AdministrationParts, path: string): Promise<void> {
  const at = typedPath(process.env, path);
  const present = existsSync(at) ? contentOf(path, at) : undefined;
  const document = present === undefined ? undefined : updatable(path, present);
  const exported = await exportedState(parts.admin, document ? groupsWithMembers(document) : new Set());
  const text =
    document === undefined || present === undefined
      ? newFile(exported, extname(path) === '.json')
      : formedAs(at, present, updatedFile(path, exported, document, isJson(present)));
  try {
    if (text !== undefined) writeFileSync(at, text);
  } catch {
    throw new Refused(`${path} cannot be written.`);
  }
  const count = Object.keys(exported.clients).length;
  printOne(parts, { file: path, clients: count }, [`wrote ${counted(count, 'client')} to ${path}`]);
}

/** A text with the line ends and the byte order mark of the file that it replaces. @returns `undefined` if it says nothing new */
function formedAs(at: string, present: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  // Parsers of JSON refuse a mark.
  const mark = hasMark(at) && !isJson(present) ? '\uFEFF' : '';
  return `${mark}${present.includes('\r\n') ? text.replaceAll('\n', '\r\n') : text}`;
}

/**
 * A file that can be updated without a change of its meaning.
 * @throws {BadUsage} `grantd apply` does not accept the file, or it has aliases
 */
function updatable(path: string, text: string): Document {
  const { document, lines, problems, report } = stateIn(path, text);
  if (problems.length > 0) throw report(problems);
  visit(document, {
    Alias(_, { source, range }) {
      const { line, col } = lines.linePos(range?.[0] ?? 0);
      throw new BadUsage(
        `${path}:${line}:${col}: grantd export cannot update a file with the alias *${source}, because the other ` +
          'places of its value would change too: write the value instead, or export to another file',
      );
    },
  });
  return document;
}

function isJson(text: string | undefined): boolean {
  try {
    JSON.parse(text ?? '');
    return true;
  } catch {
    return false;
  }
}

function jsonOf(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

function groupsWithMembers(document: Document): ReadonlySet<string> {
  const groups = document.getIn(['groups'], true);
  const items = isMap(groups) ? groups.items : [];
  return new Set(
    items
      .filter(({ value }) => isMap(value) && value.has('members'))
      .map(({ key }) => (isScalar(key) ? String(key.value) : String(key))),
  );
}

/** A new file. It shows where to add references to secrets. */
function newFile({ groups, clients, scope_texts, withSecret }: ExportedState, asJson = false): string {
  const content = { ...(Object.keys(groups).length > 0 && { groups }), clients, scope_texts };
  if (asJson) return jsonOf(content);
  const document = new Document(content);
  for (const id of withSecret) {
    const client = document.getIn(['clients', id], true);
    if (isMap(client)) client.comment = ' secret: { env: VARIABLE } or { file: PATH }, for a new database';
  }
  return document.toString(YAML_FORM);
}

/**
 * Updates a file that was written before, and keeps what a person added to it.
 * @returns `undefined` if it already says what the server does
 * @throws {Refused} the file would say something else than the server
 */
function updatedFile(
  path: string,
  { groups, clients, scope_texts }: ExportedState,
  document: Document,
  asJson: boolean,
): string | undefined {
  const before: unknown = document.toJS();
  const hasGroups = Object.keys(groups).length > 0 || document.has('groups');
  if (hasGroups) update(document, ['groups'], groups);
  update(document, ['clients'], clients, ['secret']);
  update(document, ['scope_texts'], scope_texts);
  const text = asJson ? jsonOf(document.toJS()) : document.toString(YAML_FORM);
  const written = JSON.parse(JSON.stringify(contentIn(path, parse(path, text))));
  for (const client of Object.values<Record<string, unknown>>(written.clients)) delete client.secret;
  const expected = JSON.parse(JSON.stringify({ ...(hasGroups && { groups }), clients, scope_texts }));
  if (isDeepStrictEqual(written, expected))
    return isDeepStrictEqual(document.toJS(), before) ? undefined : text;
  throw new Refused(`${path} has a form that grantd export cannot update: export to another file.`);
}

/**
 * Sets the members of a map, and of the maps in it, that differ.
 * @param kept members, at any depth, that stay although the new value lacks them
 */
function update(document: Document, path: FilePath, value: unknown, kept: readonly string[] = []): void {
  const before = document.getIn(path, true);
  if (!isMap(before) || typeof value !== 'object' || value === null || Array.isArray(value)) {
    const old = isNode(before) ? before.toJS(document) : before;
    if (JSON.stringify(old) !== JSON.stringify(value)) document.setIn(path, value);
    return;
  }
  for (const { key } of [...before.items]) {
    const name = isScalar(key) ? String(key.value) : String(key);
    if (!Object.hasOwn(value, name) && !kept.includes(name)) before.delete(key);
  }
  for (const [name, member] of Object.entries(value)) update(document, [...path, name], member, kept);
}
