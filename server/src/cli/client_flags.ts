import { readFileSync } from 'node:fs';
import {
  type ClientMetadataError,
  METADATA_MEMBERS,
  type MemberName,
  type MetadataMember,
} from '@grantd/core';
import { type Command, Option } from 'commander';
import { type GivenFlags, typedPath } from '../config/configuration.ts';
import { collect } from './command.ts';
import { BadUsage } from './exit.ts';

/** Flags that are not called like their member: repeatable ones are in the singular, some have been here longer. */
const OTHER_NAMES: Partial<Record<MemberName, string>> = {
  client_name: 'name',
  grant_types: 'grant',
  redirect_uris: 'redirect-uri',
  post_logout_redirect_uris: 'post-logout-redirect-uri',
  contacts: 'contact',
  request_uris: 'request-uri',
  api_scopes: 'api-scope',
  apis: 'api',
  default_acr_values: 'default-acr-value',
  token_endpoint_auth_method: 'auth-method',
  token_endpoint_auth_signing_alg: 'auth-signing-alg',
  jwks: 'jwks-file',
  consent_required: 'consent',
};

/** Follows from the grants, so that nobody has to say it. */
const WITHOUT_FLAG: ReadonlySet<MemberName> = new Set<MemberName>(['response_types']);

/** What most clients are described by, for the help. */
const USUAL: ReadonlySet<MemberName> = new Set<MemberName>([
  'client_name',
  'redirect_uris',
  'post_logout_redirect_uris',
  'grant_types',
  'scope',
  'apis',
  'resource',
  'api_scopes',
  'token_endpoint_auth_method',
  'jwks',
  'jwks_uri',
  'backchannel_logout_uri',
  'logo_uri',
]);

/** What JSON cannot be written on a command line is read from a file. */
const FILE = 'FILE';

const LOCALIZED = '--localized';

interface MemberFlag {
  readonly name: MemberName;
  readonly member: MetadataMember<unknown>;
  readonly option: Option;
}

const FLAGS: readonly MemberFlag[] = (Object.keys(METADATA_MEMBERS) as MemberName[])
  .filter((name) => !WITHOUT_FLAG.has(name))
  .map((name) => {
    const member: MetadataMember<unknown> = METADATA_MEMBERS[name];
    const option = optionFor(name, member).helpGroup(USUAL.has(name) ? 'The client:' : 'Rarely wanted:');
    return { name, member, option };
  });

/** Gives a command a flag for everything that a client can be. */
export function addClientFlags(command: Command): Command {
  for (const { option } of FLAGS) command.addOption(option);
  command.addOption(
    new Option('--no-consent', 'do not ask people for consent: for applications of your own').helpGroup(
      'The client:',
    ),
  );
  return command.addOption(
    repeatable(new Option(`${LOCALIZED} <MEMBER#TAG=TEXT>`, 'a text in a language, as client_name#de=Laden')),
  );
}

/**
 * What the flags say of a client, in the names of its metadata.
 * @throws {BadUsage} a file cannot be read, one of several values does not fit, or a text in a language is not said of a
 * member
 */
export function membersOf(flags: GivenFlags): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  for (const { name, member, option } of FLAGS) {
    const given = flags[option.attributeName()];
    if (given === '' || listOf(given).includes('')) throw new BadUsage(`${option.long}: expected a value`);
    const unfit =
      member.kind.form === 'list' && listOf(given).find((one) => member.kind.read([one]) === undefined);
    if (typeof unfit === 'string')
      throw new BadUsage(`${option.long}: ${unfit}: expected ${member.kind.expected}`);
    if (given !== undefined) members[name] = jsonOf({ name, member, option }, given);
  }
  for (const text of listOf(flags.localized)) {
    const [, name, value] = /^([a-z_]+#[A-Za-z0-9-]+)=(.*)$/s.exec(text) ?? [];
    if (name === undefined || memberNamed(name) !== name)
      throw new BadUsage(`${LOCALIZED}: expected MEMBER#TAG=TEXT, of a member that people read`);
    members[name] = value;
  }
  return members;
}

/** The flags that do not speak of the client: one of its settings may be called like an option of the server. */
export function withoutMembers(flags: GivenFlags): GivenFlags {
  const ofClient = new Set(FLAGS.map(({ option }) => option.attributeName()));
  return Object.fromEntries(Object.entries(flags).filter(([name]) => !ofClient.has(name)));
}

/** The member that a flag sets, by the flag's or the member's own name; `undefined` where there is none. */
export function memberNamed(text: string): string | undefined {
  const [base] = text.split('#');
  const flag = FLAGS.find(
    ({ name, option }) => name === base || option.long === `--${text.replace(/^--/, '')}`,
  );
  if (flag === undefined) return undefined;
  return flag.member.isLocalizable && text.startsWith(`${flag.name}#`) ? text : flag.name;
}

/** What is wrong with a client, in the words of the command line. */
export function asBadUsage({ member, problem }: ClientMetadataError): BadUsage {
  // Words with an underscore are names of members, as `jwks` is, or values.
  const asFlags = problem.replaceAll(/\b(?:jwks|[a-z]+(?:_[a-z]+)+)\b/g, flagOfMember);
  return new BadUsage(`${flagOfMember(member)}: ${asFlags}`);
}

/** The flag that sets a member; the member itself where there is none. */
export function flagOfMember(member: string): string {
  return FLAGS.find(({ name }) => name === member)?.option.long ?? member;
}

function optionFor(name: MemberName, { kind, about }: MetadataMember<unknown>): Option {
  const flag = `--${OTHER_NAMES[name] ?? name.replaceAll('_', '-')}`;
  if (kind.form === 'object') return new Option(`${flag} <${FILE}>`, `${about}, as a JSON file`);
  if (kind.form === 'boolean') return new Option(`${flag} [${kind.placeholder}]`, about);
  const option = new Option(`${flag} <${kind.placeholder}>`, about);
  return kind.form === 'list' || name === 'scope' ? repeatable(option) : option;
}

function repeatable(option: Option): Option {
  option.description += '; repeatable';
  return option.argParser(collect);
}

/** The value as JSON would have it; what does not fit stays text, for the library to refuse. */
function jsonOf({ name, member: { kind }, option }: MemberFlag, given: unknown): unknown {
  if (name === 'scope') return listOf(given).join(' ');
  switch (kind.form) {
    case 'boolean':
      return given === true || given === 'true' || (given === 'false' ? false : given);
    case 'number':
      return /^\d{1,15}$/.test(String(given)) ? Number(given) : given;
    case 'object': {
      const [flag, path] = [option.long ?? name, String(given)];
      const value = jsonIn(flag, path);
      if (name === 'jwks') requireKeySet(flag, path, value);
      return value;
    }
    default:
      return given;
  }
}

function listOf(given: unknown): readonly string[] {
  return Array.isArray(given) ? given.map(String) : [];
}

/**
 * What a file holds that a flag names, as JSON. The parser's own message would quote the file.
 * @throws {BadUsage} it cannot be read, or is no JSON
 */
function jsonIn(flag: string, path: string): unknown {
  const content = contentOf(flag, path);
  try {
    return JSON.parse(content);
  } catch {
    const found = content.startsWith('-----BEGIN') ? ', and this is PEM' : '';
    throw new BadUsage(`${flag}: ${path}: expected JSON${found}`);
  }
}

/**
 * A key set as a client's metadata has it (RFC 7517 §5).
 * @throws {BadUsage} it is plain what was meant, and that it is something else
 */
function requireKeySet(flag: string, path: string, value: unknown): void {
  if (!isObject(value)) return;
  const keys: readonly unknown[] = Array.isArray(value.keys) ? value.keys : [value];
  if (keys.some((key) => isObject(key) && ('d' in key || 'k' in key)))
    throw new BadUsage(`${flag}: ${path} contains a private key: expected public keys alone`);
  if ('kty' in value)
    throw new BadUsage(`${flag}: ${path} is a single key: expected a set of them, {"keys":[…]}`);
}

function contentOf(flag: string, path: string): string {
  try {
    return readFileSync(typedPath(process.env, path), 'utf8');
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    throw new BadUsage(`${flag}: ${path} ${isMissing ? 'does not exist' : 'cannot be read'}`);
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
