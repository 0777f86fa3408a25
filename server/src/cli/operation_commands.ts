// Makes the commands of operations, from what the table says about them (ADR 94).
import { once } from 'node:events';
import { type Kind, oneOf, wholeNumber } from '@grantd/core/options';
import { Command, Option } from 'commander';
import type { AnyCommandForm, CommandForm, FlagForm } from '../admin/command_form.ts';
import { type AdminCalls, all, call } from '../admin/in_process.ts';
import { cursorOf } from '../admin/operation.ts';
import { InvalidInput, requireEach } from '../admin/operation_refused.ts';
import type { Schema } from '../admin/schema.ts';
import {
  ALL_OPERATIONS,
  type AnyOperation,
  type AnyStream,
  type Document,
  type Input,
  OPERATIONS,
  type OperationId,
} from '../admin/table.ts';
import { problemsOf } from '../admin/validation.ts';
import type { Warning } from '../admin/warning.ts';
import type { GivenFlags } from '../config/configuration.ts';
import {
  type AdministrationParts,
  administrationFlags,
  collect,
  endProgress,
  printList,
  printOne,
  readStandardInput,
  warn,
  withAdministration,
} from './command.ts';
import { BadUsage, EXIT, usageOf } from './exit.ts';
import { userNamed } from './user_named.ts';

/** What a command does besides what its operation says. */
export interface Special<Id extends OperationId> {
  /** Adds flags that stand for no single member of the input. */
  flags?(command: Command): unknown;
  /** Returns the members that these flags set. Comes before a database is opened. @throws {BadUsage} a value is invalid */
  input?(flags: GivenFlags, input: Partial<Input<Id>>): object | Promise<object>;
  /** How users of the command line know an invalid value. Default: by the flag of its member. */
  inWords?(error: InvalidInput): string;
  /** Checks what the input names, because a list without items may come of a typing error. */
  ifEmpty?(input: Input<Id>, admin: AdminCalls): Promise<void>;
  /** What is printed, if it needs more than the document. */
  lines?(
    document: Document<Id>,
    input: Input<Id>,
    admin: AdminCalls,
  ): readonly string[] | Promise<readonly string[]>;
}

export type Specials = { readonly [Id in OperationId]?: Special<Id> };

/** The commands of operations that begin with a word, such as `group`. */
export function operationCommands(word: string, description: string, specials: Specials = {}): Command {
  const group = new Command(word).description(description);
  for (const [id, operation] of ALL_OPERATIONS) {
    const { command: form } = operation;
    if (!form?.line.startsWith(`${word} `)) continue;
    // The types of operation and special agree.
    const special = (specials as Readonly<Record<string, AnySpecial>>)[id];
    group.addCommand(new OperationCommand(id, operation, form, special).command);
  }
  return group;
}

/** A further command of an operation. */
export function operationCommand<Id extends OperationId>(
  id: Id,
  form: CommandForm<Input<Id>, Document<Id>>,
  special: Special<Id>,
): Command {
  return new OperationCommand(id, OPERATIONS[id], form as AnyCommandForm, special as AnySpecial).command;
}

type AnySpecial = Special<never>;
type Values = Readonly<Record<string, unknown>>;

/** A member of the input with its flag. */
interface MemberFlag {
  readonly member: string;
  readonly form: FlagForm;
  readonly option: Option;
}

/** What users of the command line call members in its place. */
const PLACEHOLDERS: Readonly<Record<string, string>> = {
  ...{ client_id: 'ID', mail: 'ID', sub: 'NAME', username: 'NAME', group: 'NAME' },
};

class OperationCommand {
  readonly command: Command;
  readonly #id: string;
  readonly #operation: AnyOperation | AnyStream;
  readonly #form: AnyCommandForm;
  readonly #special: AnySpecial;
  /** Members that are arguments. */
  readonly #members: readonly string[];
  readonly #flags: readonly MemberFlag[];
  /** Flags of the database or the server. */
  readonly #ofServer: ReadonlySet<string>;

  constructor(
    id: string,
    operation: AnyOperation | AnyStream,
    form: AnyCommandForm,
    special: AnySpecial = {},
  ) {
    const [, word, ...names] = form.line.split(' ');
    this.#id = id;
    this.#operation = operation;
    this.#form = form;
    this.#special = special;
    this.#members = names.map((name) => name.slice(1, -1));
    this.#flags = Object.entries(form.flags ?? {}).map(([member, flag = {}]) => ({
      ...{ member, form: flag },
      option: optionFor(member, flag, formOf(operation, member)),
    }));
    const command = new Command(word).description(form.about ?? lowered(operation.summary));
    for (const member of this.#members) command.argument(`<${placeholderOf(member)}>`);
    administrationFlags(command, [
      ...(form.createsDatabase ? ['create' as const] : []),
      ...(form.options ?? []),
    ]);
    this.#ofServer = new Set(command.options.map((option) => option.attributeName()));
    for (const { option, form: flag } of this.#flags) {
      command.addOption(option);
      if (flag.negated !== undefined) command.option(`--no-${option.long?.slice(2)}`, flag.negated);
    }
    special.flags?.(command);
    const { begin, limit } = form.pages ?? {};
    if (begin !== undefined) command.option(`--${begin.flag} <${begin.placeholder}>`, begin.about);
    if (limit !== undefined) command.addOption(limitOption(limit));
    if (form.isFinal !== undefined) command.option('--yes', 'required, because this cannot be undone');
    if (form.notes !== undefined) command.addHelpText('after', `\n${form.notes}`);
    this.command = command.action((...args: readonly unknown[]) => this.#run(args));
  }

  async #run(args: readonly unknown[]): Promise<void> {
    const { isFinal, createsDatabase } = this.#form;
    const flags = args[this.#members.length] as GivenFlags;
    if (isFinal !== undefined && !flags.yes)
      throw new BadUsage(
        `--yes: required, because a removal cannot be undone${isFinal === '' ? '' : ` (${isFinal})`}`,
      );
    const given = Object.fromEntries(this.#members.map((member, index) => [member, args[index]]));
    const input = await this.#checked(given, flags);
    const ofServer = Object.fromEntries(Object.entries(flags).filter(([name]) => this.#ofServer.has(name)));
    const need = createsDatabase ? 'may_create_database' : 'needs_database';
    await withAdministration(ofServer, need, (parts) => {
      if ('stream' in this.#operation) return this.#printLines(parts, input);
      return this.#isPaged ? this.#printAll(parts, input, flags) : this.#perform(parts, input);
    });
  }

  /** The input, checked without a database, so that an invalid one never makes one. @throws {BadUsage} a value is invalid */
  async #checked(given: Values, flags: GivenFlags): Promise<Values> {
    let input: Values = { ...given, ...this.#valuesIn(flags) };
    input = { ...input, ...(await this.#special.input?.(flags, input as never)) };
    return this.#asUsage(async () => {
      const operation = this.#operation;
      if ('stream' in operation) return input;
      requireEach(operation.checks?.(input as never) ?? []);
      // After the check of a name, which users forget more often than the flag.
      input = { ...input, ...(await this.#secrets(operation, flags)) };
      const found = problemsOf(operation, input);
      if (found.length > 0) throw InvalidInput.together(found);
      return input;
    });
  }

  #valuesIn(flags: GivenFlags): Values {
    const values = this.#flags.flatMap(({ member, form, option }) => {
      const value = flags[option.attributeName()];
      if (value === undefined || form.isOnInput) return [];
      return [[member, value === false ? null : value]];
    });
    return Object.fromEntries(values);
  }

  /** What is on standard input. */
  async #secrets({ body }: AnyOperation, flags: GivenFlags): Promise<Values> {
    const secret = this.#flags.find(({ form }) => form.isOnInput);
    if (secret === undefined) return {};
    const { member, option } = secret;
    const what = `the ${member.split('_').at(-1)}`;
    if (flags[option.attributeName()] === true) return { [member]: await readStandardInput(what) };
    const { required = [] } = { ...body };
    if ((required as readonly string[]).includes(member))
      throw new BadUsage(`${option.long}: required, with ${what} on standard input`);
    return {};
  }

  get #isPaged(): boolean {
    return this.#operation.query?.cursor !== undefined;
  }

  async #printAll(parts: AdministrationParts, input: Values, flags: GivenFlags): Promise<void> {
    const { columns = {}, pages: { begin, limit } = {} } = this.#form;
    const typed = begin && flags[begin.flag];
    const place = typeof typed === 'string' ? begin?.place(typed) : undefined;
    if (typed !== undefined && place === undefined)
      throw new BadUsage(`--${begin?.flag}: expected the number of an event, got ${JSON.stringify(typed)}`);
    const cursor = place === undefined ? {} : { cursor: cursorOf(place) };
    const most = limit === undefined ? undefined : (flags.limit as number | undefined);
    const whole = { ...input, ...cursor };
    // Its items fit the columns.
    const items = await this.#asUsage(() => all(parts.admin, this.#id as 'listGroups', whole, most));
    if (items.length === 0) await this.#special.ifEmpty?.(input as never, parts.admin);
    printList(parts, items as readonly never[], columns);
  }

  async #printLines({ admin }: AdministrationParts, input: Values): Promise<void> {
    for await (const line of admin.lines(this.#id as 'exportAudit', input))
      if (!process.stdout.write(`${JSON.stringify(line)}\n`)) await once(process.stdout, 'drain');
  }

  async #perform(parts: AdministrationParts, given: Values): Promise<void> {
    const { admin } = parts;
    const form = this.#form;
    const user = 'sub' in given ? await userNamed(admin, String(given.sub)) : undefined;
    const named = user && { username: user.username, sub: user.sub };
    const input = { ...given, ...(user && { sub: user.sub }) };
    const document = await this.#asUsage(() => call(admin, this.#id as OperationId, input as never)).finally(
      endProgress,
    );
    const { warnings = [], items = [] } = {
      ...(document as { warnings?: readonly (string | Warning)[]; items?: readonly never[] }),
    };
    warn(warnings);
    if (form.fails?.(document as never)) process.exitCode = EXIT.failed;
    const lines = this.#special.lines
      ? await this.#special.lines(document as never, input as never, admin)
      : [form.lines?.(document as never, { ...input, ...named } as never) ?? []].flat();
    if (form.columns !== undefined) {
      printList(parts, items, form.columns);
      if (lines.length > 0 && !parts.isJson) console.log(lines.join('\n'));
      return;
    }
    const isNamed = user === undefined || 'sub' in Object(document);
    printOne(
      parts,
      {
        ...(isNamed ? {} : named),
        ...(form.isFinal !== undefined && { removed: true }),
        ...Object(document ?? input),
      },
      lines,
    );
  }

  /** Names flags instead of members in what an operation refuses. */
  async #asUsage<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error;
      const { inWords = ({ member, problem }) => `${this.#nameOf(member)}: ${problem}` } = this.#special;
      throw usageOf(error, inWords);
    }
  }

  #nameOf(member: string): string {
    if (this.#members.includes(member)) return placeholderOf(member);
    return this.#flags.find((flag) => flag.member === member)?.option.long ?? member;
  }
}

function placeholderOf(member: string): string {
  return PLACEHOLDERS[member] ?? member.toUpperCase();
}

/** A summary as the description of a command. */
function lowered(text: string): string {
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
}

/** The form of a member in the query or the body. */
function formOf(
  operation: AnyOperation | AnyStream,
  member: string,
): { readonly schema: Schema; readonly about: string } {
  const parameter = operation.query?.[member];
  if (parameter !== undefined) return parameter;
  const { properties } = { properties: {}, ...('body' in operation && operation.body) };
  const schema: Schema = Object(properties)[member] ?? {};
  return { schema, about: String(schema.description ?? '') };
}

/** More are too many for a line of the help. */
const MAX_CHOICES = 8;

function optionFor(
  member: string,
  { flag = member.replaceAll('_', '-'), about, placeholder, isOnInput }: FlagForm,
  { schema, about: described }: ReturnType<typeof formOf>,
): Option {
  const description = about ?? lowered(described).replace(/\.$/, '');
  if (isOnInput || schema.type === 'boolean') return new Option(`--${flag}`, description);
  const isTime = schema.format === 'date-time';
  const word = placeholder ?? (isTime ? 'TIME' : (flag.split('-').at(-1) ?? flag).toUpperCase());
  const option = new Option(`--${flag} <${word}>`, description);
  const values = Array.isArray(schema.enum) ? schema.enum.filter((value) => value !== null).map(String) : [];
  if (values.length > 0 && values.length <= MAX_CHOICES) return option.choices(values);
  if (values.length > 0) return option.argParser(reader(option, oneOf(...values)));
  if (schema.type === 'array') return option.argParser(collect);
  if (schema.type === 'integer')
    return option.argParser(
      reader(
        option,
        wholeNumber(Number(schema.minimum ?? 0), Number(schema.maximum ?? Number.MAX_SAFE_INTEGER)),
      ),
    );
  return isTime ? option.argParser(reader(option, TIME)) : option;
}

/** A time, which the operation gets as ISO 8601. */
const TIME: Pick<Kind<string>, 'fromText' | 'expected'> = {
  expected: 'a time such as 2026-01-31T12:00:00Z',
  fromText: (text) => (Number.isNaN(Date.parse(text)) ? undefined : new Date(text).toISOString()),
};

/** Reads the value of a flag. @throws {BadUsage} it is of another kind */
export function reader<T>({ long }: Option, { fromText, expected }: Pick<Kind<T>, 'fromText' | 'expected'>) {
  return (text: string): T => {
    const value = fromText(text);
    if (value === undefined) throw new BadUsage(`${long}: expected ${expected}, got ${JSON.stringify(text)}`);
    return value;
  };
}

function limitOption({ about, byDefault }: { readonly about: string; readonly byDefault?: number }): Option {
  const option = new Option('--limit <N>', about);
  return option.argParser(reader(option, wholeNumber(1, Number.MAX_SAFE_INTEGER))).default(byDefault);
}
