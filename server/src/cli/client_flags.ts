import { MEMBER_NAMES, type MemberName, type MetadataMember, memberOf } from '@grantd/core';
import { MEMBER_TEXTS } from '@grantd/core/options';
import { type Command, Option } from 'commander';
import type { InvalidInput } from '../admin/operation_refused.ts';
import { type GivenFlags, typedPath } from '../config/configuration.ts';
import { readTextFile } from '../config/text_file.ts';
import { collect } from './command.ts';
import { BadUsage } from './exit.ts';

const LOCALIZED = '--localized';

interface MemberFlag {
  readonly name: MemberName;
  readonly member: MetadataMember<unknown>;
  readonly option: Option;
}

const FLAGS: readonly MemberFlag[] = MEMBER_NAMES.map((name) => ({ name, member: memberOf(name) }))
  .filter(({ member }) => !member.isDerived)
  .map(({ name, member }) => {
    const group = MEMBER_TEXTS[name].isUsual ? 'The client:' : 'Less common:';
    return { name, member, option: optionFor(name, member).helpGroup(group) };
  });

/** Adds a flag to a command for every client setting. */
export function addClientFlags(command: Command): Command {
  for (const { option } of FLAGS) command.addOption(option);
  command.addOption(
    new Option('--no-consent', 'skip the consent page, for your own applications').helpGroup('The client:'),
  );
  return command.addOption(
    repeatable(
      new Option(
        `${LOCALIZED} <MEMBER#TAG=TEXT>`,
        'a text of the client in another language, such as client_name#de=Laden in German',
      ),
    ),
  );
}

/**
 * Converts flags to client metadata.
 * @throws {BadUsage} a file is unreadable, a value is invalid, or `--localized` names a member that cannot be
 * translated
 */
export function membersOf(flags: GivenFlags): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  for (const { name, member, option } of FLAGS) {
    const given = flags[option.attributeName()];
    if (given === '' || listOf(given).includes('')) throw new BadUsage(`${option.long}: expected a value`);
    const { each } = member.kind;
    const unfit = each && listOf(given).find((one) => each.read(one) === undefined);
    if (typeof unfit === 'string') throw new BadUsage(`${option.long}: ${unfit}: expected ${each?.expected}`);
    if (given !== undefined) members[name] = jsonOf({ name, member, option }, given);
  }
  for (const text of listOf(flags.localized)) {
    const [, name, value] = /^([a-z_]+#[A-Za-z0-9-]+)=(.*)$/s.exec(text) ?? [];
    if (name === undefined || memberNamed(name) !== name)
      throw new BadUsage(`${LOCALIZED}: expected MEMBER#TAG=TEXT with a member that users see`);
    members[name] = value;
  }
  return members;
}

/** The flags without client settings, because a setting can have the same name as a server option. */
export function withoutMembers(flags: GivenFlags): GivenFlags {
  const ofClient = new Set(FLAGS.map(({ option }) => option.attributeName()));
  return Object.fromEntries(Object.entries(flags).filter(([name]) => !ofClient.has(name)));
}

/** Finds a metadata member by its own name or its flag’s name. @returns `undefined` if none matches */
export function memberNamed(text: string): string | undefined {
  const [base] = text.split('#');
  const flag = FLAGS.find(
    ({ name, option }) => name === base || option.long === `--${text.replace(/^--/, '')}`,
  );
  if (flag === undefined) return undefined;
  return flag.member.isLocalizable && text.startsWith(`${flag.name}#`) ? text : flag.name;
}

/** How users of the command line know an invalid member of a client: by its flag. */
export function clientInWords({ member, problem }: InvalidInput): string {
  // Words with an underscore, and `jwks`, are member names or values.
  const asFlags = problem.replaceAll(/(?<![^\s(])(?:jwks|[a-z]+(?:_[a-z]+)+)\b/g, flagOfMember);
  return `${flagOfMember(member)}: ${asFlags}`;
}

const OTHER_FLAGS: Readonly<Record<string, string>> = {
  ...{ client_id: 'ID', client_secret: '--secret-stdin', overlap: '--overlap' },
};

/** The flag that sets a member, or the member’s name if it has no flag. */
export function flagOfMember(member: string): string {
  return FLAGS.find(({ name }) => name === member)?.option.long ?? OTHER_FLAGS[member] ?? member;
}

function optionFor(name: MemberName, { kind }: MetadataMember<unknown>): Option {
  const { about, flag, defaultInWords } = MEMBER_TEXTS[name];
  const long = `--${flag ?? usualFlag(name, kind.each !== undefined)}`;
  const sentence = defaultInWords === undefined ? about : `${about}; default: ${defaultInWords}`;
  if (kind.type === 'object') return new Option(`${long} <${kind.placeholder}>`, `${about}, as a JSON file`);
  if (kind.type === 'boolean') return new Option(`${long} [${kind.placeholder}]`, sentence);
  const option = new Option(`${long} <${kind.placeholder}>`, sentence);
  return kind.each !== undefined || name === 'scope' ? repeatable(option) : option;
}

/** A flag that takes one value of a list is in the singular. */
function usualFlag(name: MemberName, isList: boolean): string {
  const flag = name.replaceAll('_', '-');
  return isList ? flag.replace(/s$/, '') : flag;
}

function repeatable(option: Option): Option {
  option.description += '; repeatable';
  return option.argParser(collect);
}

/** Converts a flag’s value to its JSON form. Invalid values stay text, and the library rejects them. */
function jsonOf({ name, member: { kind }, option }: MemberFlag, given: unknown): unknown {
  if (name === 'scope') return listOf(given).join(' ');
  if (typeof given !== 'string') return given; // a list, or a flag without a value
  if (kind.type === 'object') {
    const flag = option.long ?? name;
    const value = jsonIn(flag, given);
    if (name === 'jwks') requireKeySet(flag, given, value);
    return value;
  }
  return kind.fromText(given) ?? given;
}

function listOf(given: unknown): readonly string[] {
  return Array.isArray(given) ? given.map(String) : [];
}

/**
 * Reads JSON from a file. The parser’s own message would quote the file.
 * @throws {BadUsage} the file is unreadable or not JSON
 */
function jsonIn(flag: string, path: string): unknown {
  const content = contentOf(flag, path);
  try {
    return JSON.parse(content);
  } catch {
    const found = content.startsWith('-----BEGIN') ? ', got PEM' : '';
    throw new BadUsage(`${flag}: ${path}: expected JSON${found}`);
  }
}

/**
 * Detects common mistakes in a JWK Set file (RFC 7517 §5).
 * @throws {BadUsage} the file contains a private key or a single key
 */
function requireKeySet(flag: string, path: string, value: unknown): void {
  if (!isObject(value)) return;
  const keys: readonly unknown[] = Array.isArray(value.keys) ? value.keys : [value];
  if (keys.some((key) => isObject(key) && ('d' in key || 'k' in key)))
    throw new BadUsage(`${flag}: ${path} contains a private key: expected only public keys`);
  if ('kty' in value)
    throw new BadUsage(`${flag}: ${path} is a single key: expected a key set, {"keys":[…]}`);
}

function contentOf(flag: string, path: string): string {
  try {
    return readTextFile(typedPath(process.env, path));
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    throw new BadUsage(`${flag}: ${path} ${isMissing ? 'does not exist' : 'cannot be read'}`);
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
