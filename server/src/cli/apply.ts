import { dirname, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Command } from 'commander';
import { administratorsInWords } from '../admin/administrator_changes.ts';
import { consequencesInWords, endsOrNarrows } from '../admin/client_consequences.ts';
import { isUsableSecret, SECRET_FORM } from '../admin/client_rules.ts';
import { type DesiredState, type FileProblem, schemaOfFile } from '../admin/desired_state.ts';
import { InvalidInput } from '../admin/operation_refused.ts';
import type { PlanView } from '../admin/state.ts';
import { pathIn, type StateFile, stateIn } from '../admin/state_file.ts';
import { type GivenFlags, typedPath } from '../config/configuration.ts';
import { readPrivateText } from '../config/private_file.ts';
import { ConfigurationRefused, Refused } from '../config/refused.ts';
import { readTextFile } from '../config/text_file.ts';
import {
  type AdministrationParts,
  administrationFlags,
  endProgress,
  printOne,
  readStandardInput,
  warn,
  withAdministration,
} from './command.ts';
import { BadUsage } from './exit.ts';

interface ApplyFlags extends GivenFlags {
  readonly file?: string;
  readonly dryRun?: true;
  readonly prune?: true;
  readonly yes?: true;
  readonly schema?: true;
}

export function applyCommand(): Command {
  return administrationFlags(
    new Command('apply').description('set up groups, clients, APIs and scope texts from a YAML or JSON file'),
    ['create', 'adminGroup'],
  )
    .option('-f, --file <FILE>', 'the file; - reads standard input')
    .option('--dry-run', 'print the changes and make none')
    .option(
      '--prune',
      'for each section that the file has, such as groups, also remove what exists on the server and is not in the section: groups, group members, clients and scope texts. This also revokes tokens',
    )
    .option('--yes', 'make the changes without asking; required without a terminal')
    .option('--schema', 'print the JSON Schema of the file, for editors')
    .addHelpText(
      'after',
      `
The command compares the file with the database, prints the differences, and changes the database. If you run it again
with the same file, it changes nothing. What the file leaves out stays as it is, unless --prune is set.

A client in the file can have all members that docs/client_metadata.md lists. The file contains no client secrets: the
member secret names a file or an environment variable with the secret. Identity providers have their own file, which
grantd serve reads (--providers).

  groups:
    staff: { description: Everyone on the payroll, sign_in_policy: second_factor }
  clients:
    orders-api:
      resource: https://orders.example
      api_scopes: [orders:read]
      scope_texts:
        orders:read: { name: Read your orders, name#de: Ihre Bestellungen lesen }
      secret: { file: secrets/orders-api }
    shop:
      redirect_uris: [https://shop.example/callback]
      scope: openid email orders:read
      apis: [https://orders.example]
      secret: { env: SHOP_SECRET }

  grantd apply -f grantd.yaml --dry-run
  grantd apply -f grantd.yaml --prune --yes`,
    )
    .action(async ({ file, dryRun, prune, yes, schema, ...flags }: ApplyFlags) => {
      if (schema) {
        console.log(JSON.stringify(schemaOfFile(), null, 2));
        return;
      }
      if (file === undefined) throw new BadUsage('--file: required, as in grantd apply -f grantd.yaml');
      if (!dryRun && !yes && !(process.stdin.isTTY && file !== '-'))
        throw new BadUsage('--yes: required without a terminal. --dry-run prints the changes and makes none');
      const read = await readFile(file);
      if (read.problems.length > 0) throw read.report(await everythingWrong(flags, read));
      const mode = dryRun ? 'dry_run' : yes ? 'apply' : 'ask';
      await withAdministration(flags, dryRun ? 'needs_database' : 'may_create_database', (parts) =>
        apply(parts, read, { mode, prune: prune === true }),
      );
    });
}

/** A file that was read. */
interface ReadFile {
  readonly content: Readonly<Record<string, unknown>>;
  /** The secrets to which the file refers, by client ID. */
  readonly secrets: ReadonlyMap<string, string>;
  /** What is wrong with its form, and secrets that are missing. */
  readonly problems: readonly FileProblem[];
  readonly report: StateFile['report'];
}

/** @throws {BadUsage | ConfigurationRefused} the file is unreadable, or neither YAML nor JSON */
async function readFile(path: string): Promise<ReadFile> {
  const at = typedPath(process.env, path);
  const isInput = path === '-';
  const text = isInput ? await readStandardInput('a YAML or JSON file') : contentOf(path, at);
  const { content, state, problems, report } = stateIn(isInput ? 'standard input' : path, text);
  const folder = isInput ? typedPath(process.env, '.') : dirname(at);
  const { secrets, missing } = secretsOf(state, folder);
  return { content: Object(content ?? {}), report, secrets, problems: [...problems, ...missing] };
}

/** What is wrong with a file, also with what is stored, if there is a database or server that can be asked. */
async function everythingWrong(
  flags: Parameters<typeof withAdministration>[0],
  { content, secrets, problems }: ReadFile,
): Promise<readonly FileProblem[]> {
  try {
    await withAdministration(flags, 'needs_database', async ({ admin }) => {
      await admin.versioned('planState', { state: content, secrets: Object.fromEntries(secrets) });
    });
  } catch (error) {
    if (!(error instanceof InvalidInput) && !(error instanceof Refused)) throw error;
    const errors = error instanceof InvalidInput ? error.errors : [];
    const known = new Set(problems.map(({ path }) => path.join('\n')));
    const others = problemsIn(errors).filter(({ path }) => !known.has(path.join('\n')));
    return [...problems, ...others];
  }
  return problems;
}

function problemsIn(errors: InvalidInput['errors']): readonly FileProblem[] {
  return errors.map((one) => ({ path: pathIn(one.in), said: { english: one.detail } }));
}

export function contentOf(path: string, at: string): string {
  try {
    return readTextFile(at);
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    throw new BadUsage(`--file: ${path} ${isMissing ? 'does not exist' : 'cannot be read'}`);
  }
}

interface ApplyOptions {
  readonly mode: 'dry_run' | 'ask' | 'apply';
  readonly prune: boolean;
}

async function apply(
  parts: AdministrationParts,
  { report, content, secrets }: ReadFile,
  { mode, prune }: ApplyOptions,
): Promise<void> {
  const { admin } = parts;
  const order = { state: content, secrets: Object.fromEntries(secrets), prune };
  const applied = async (version: string) => {
    const { document } = await admin.versioned('applyState', order, version).finally(endProgress);
    const { warnings, ...plan } = document;
    warn(warnings);
    return plan;
  };
  try {
    const planned = mode === 'apply' ? undefined : await admin.versioned('planState', order);
    const plan: PlanView = planned?.document ?? (await applied('*'));
    const { changes, unchanged } = plan;
    const isSure = planned === undefined || (mode === 'ask' && (await isConfirmed(planned.document)));
    if (isSure && planned !== undefined && changes.length > 0) await applied(planned.version);
    const summary = `${counted(changes.length, 'change')}, ${unchanged} unchanged`;
    const isDone = isSure || changes.length === 0;
    if (mode === 'ask') console.log(isDone ? `done: ${summary}` : 'nothing was changed');
    else
      printOne(parts, { applied: isSure, ...plan }, [
        ...changes.flatMap(linesOf),
        ...(isSure ? [] : dangersOf(plan)),
        isSure ? `done: ${summary}` : `not applied: ${summary}`,
      ]);
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    throw report(problemsIn(error.errors));
  }
}

/** Shows the plan on the terminal and asks. */
async function isConfirmed(plan: PlanView): Promise<boolean> {
  const { changes, unchanged } = plan;
  if (changes.length === 0) return true;
  console.log([...changes.flatMap(linesOf), ...dangersOf(plan), `${unchanged} unchanged`].join('\n'));
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`Make ${counted(changes.length, 'change')}? [y/N] `);
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}

export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** Whom a plan makes an administrator, and what it ends, if it can end something. */
function dangersOf({ administrators, consequences }: PlanView): readonly string[] {
  return [
    ...administratorsInWords(administrators, 'planned'),
    ...(consequences !== undefined && endsOrNarrows(consequences) ? consequencesInWords(consequences) : []),
  ];
}

const SIGNS = { add: '+', change: '~', remove: '-' } as const;

function linesOf({ action, kind, name, members }: PlanView['changes'][number]): readonly string[] {
  return [
    `${SIGNS[action]} ${kind} ${name}`,
    ...members.map(({ name: member, before, after }) => {
      if (before === undefined) return `    ${member}: ${shown(after)}`;
      return `    ${member}: ${shown(before)} → ${after === undefined ? 'removed' : shown(after)}`;
    }),
  ];
}

const MAX_SHOWN = 200;

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/**
 * Reads the secrets before a database is opened, so that a missing one never creates it.
 * @param folder to which the paths in the file are relative
 * @returns also every secret that is missing or cannot be one
 */
function secretsOf({ clients = [] }: DesiredState, folder: string) {
  const secrets = new Map<string, string>();
  const missing: FileProblem[] = [];
  for (const { id, secret } of clients) {
    if (secret === undefined) continue;
    const found = secretOf(secret, folder);
    if ('problem' in found)
      missing.push({ path: ['clients', id, 'secret'], said: { english: found.problem } });
    else secrets.set(id, found.secret);
  }
  return { secrets, missing };
}

function secretOf(
  reference: { readonly env: string } | { readonly file: string },
  folder: string,
): { readonly secret: string } | { readonly problem: string } {
  const source = 'env' in reference ? `the variable ${reference.env}` : `the file ${reference.file}`;
  let text: string;
  try {
    text =
      'env' in reference
        ? (process.env[reference.env] ?? '')
        : readPrivateText(resolve(folder, reference.file), 'a file');
  } catch (error) {
    if (error instanceof ConfigurationRefused) return { problem: error.message };
    throw error;
  }
  if (isUsableSecret(text)) return { secret: text };
  return {
    problem: `${source} ${text === '' ? 'is missing or empty' : `has no secret: expected ${SECRET_FORM}`}`,
  };
}
