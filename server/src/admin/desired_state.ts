// The form of the files of `grantd apply` and `grantd export`, which the command line and the admin API share.
import { MEMBER_NAMES, memberOf, SIGN_IN_POLICIES } from '@grantd/core';
import { isJsonObject, MEMBER_TEXTS, similarName } from '@grantd/core/options';
import type { FurtherPolicy } from '../config/acr.ts';
import type { ScopeText } from '../data/consents.ts';
import { nameAsKept } from '../data/names.ts';
import { CLIENT_ID, isSettable, type Members, schemaOfKind } from './client_metadata.ts';
import { MAX_DESCRIPTION, requireDescription, requireGroupName } from './groups.ts';
import { type InEnglish, InvalidInput, type Said } from './operation_refused.ts';
import { scopeProblem, textProblems } from './scopes.ts';

/** Where a value is in the file, as names from the top. */
export type FilePath = readonly string[];

/** What is wrong with a value of the file. */
export interface FileProblem {
  readonly path: FilePath;
  /** Follows the path and a colon. */
  readonly said: Said | InEnglish;
}

/** Where a client secret comes from. The file itself never contains one. */
export type SecretReference = { readonly env: string } | { readonly file: string };

type Texts = ScopeText['texts'];

export interface DesiredClient {
  readonly id: string;
  /** Client metadata, by the names of docs/client_metadata.md. */
  readonly members: Members;
  readonly secret: SecretReference | undefined;
  readonly isDisabled: boolean;
  /** Texts of the scopes that an API declares; `undefined` to leave them alone. */
  readonly scopeTexts: ReadonlyMap<string, Texts> | undefined;
}

export interface DesiredGroup {
  readonly name: string;
  readonly description: string;
  readonly signInPolicy: FurtherPolicy | undefined;
  /** Usernames; `undefined` to leave the memberships alone. */
  readonly members: readonly string[] | undefined;
}

/** The content of a file. What it leaves out stays as it is (ADR 108). */
export interface DesiredState {
  readonly groups: readonly DesiredGroup[] | undefined;
  readonly clients: readonly DesiredClient[] | undefined;
  /** Texts of the server’s own scopes. */
  readonly scopeTexts: ReadonlyMap<string, Texts> | undefined;
}

/** Members of a client in the file that are not client metadata. */
const OWN_MEMBERS = {
  secret: 'where its secret comes from',
  disabled: 'whether it is disabled, which also revokes all its tokens',
  scope_texts: 'what the scopes of this API allow, as users see it',
} as const;

/** Members of a group in the file. */
const GROUP_MEMBERS = {
  description: { about: 'what the group is for', schema: { type: 'string', maxLength: MAX_DESCRIPTION } },
  sign_in_policy: {
    about: 'what a sign-in of a member needs, if the server needs less',
    schema: { enum: SIGN_IN_POLICIES },
  },
  members: {
    about: 'usernames of users who belong to the group. Without it, the memberships stay as they are',
    schema: { type: 'array', items: { type: 'string' }, maxItems: 1000 },
  },
} as const;

const SECTIONS = {
  groups: 'groups of users, by name',
  clients: 'applications and APIs, by client ID',
  scope_texts: 'what the scopes of this server allow, as users see it',
} as const;

/** What the file cannot contain, by the name that people try. */
const ELSEWHERE: ReadonlyMap<string, Said> = new Map([
  ['providers', ['providers_elsewhere']],
  ['sign_in_policy', ['policy_elsewhere']],
  ['users', ['users_elsewhere']],
]);

// ── Reading ───────────────────────────────────────────────────────────────────────────────────────────────

/** What could be read of a file, and everything that is wrong with its form. */
export interface ReadState {
  /** Without the members that are wrong. A misspelled one has the name that it is similar to. */
  readonly state: DesiredState;
  readonly problems: readonly FileProblem[];
}

/** Reads the parsed content of a file. */
export function readDesiredState(content: unknown): ReadState {
  const problems: FileProblem[] = [];
  const wrong = (path: FilePath, ...said: Said): undefined => {
    problems.push({ path, said });
    return undefined;
  };
  const entriesOf = (path: FilePath, value: unknown): readonly (readonly [string, unknown])[] => {
    if (isJsonObject(value)) return Object.entries(value);
    // A section with nothing below it is often a mistake, and `--prune` would remove everything.
    wrong(path, value === null ? 'names_or_none' : 'names_needed');
    return [];
  };

  const texts = (path: FilePath, value: unknown): ReadonlyMap<string, Texts> => {
    const read = new Map<string, Texts>();
    for (const [scope, given] of entriesOf(path, value)) {
      const own = Object.fromEntries(entriesOf([...path, scope], given));
      const unnamable = scopeProblem(scope);
      const found = textProblems(own);
      if (unnamable !== undefined) wrong([...path, scope], ...unnamable);
      for (const [, said] of found) wrong([...path, scope], ...said);
      read.set(scope, own as Texts);
    }
    return read;
  };

  const secretReference = (path: FilePath, value: unknown): SecretReference | undefined => {
    if (value === undefined) return undefined;
    const [[kind, name] = [], ...others] = isJsonObject(value) ? Object.entries(value) : [];
    if (typeof name !== 'string' || name === '' || others.length > 0)
      return wrong(path, 'secret_reference_alone');
    if (kind === 'env') return { env: name };
    if (kind === 'file') return { file: name };
    return wrong(path, 'secret_reference');
  };

  const client = (id: string, value: unknown): DesiredClient => {
    const path = ['clients', id];
    if (!CLIENT_ID.test(id)) wrong(path, 'client_id_form');
    const given = Object.fromEntries(entriesOf(path, value));
    const { secret, disabled = false, scope_texts: scopeTexts, ...members } = given;
    const sound: Record<string, unknown> = {};
    for (const [name, member] of Object.entries(members)) {
      const said = isSettable(name) ? undefined : unknownMember(name);
      const similar = said?.[0] === 'misspelled_name' ? said[1] : undefined;
      if (said !== undefined) wrong([...path, name], ...said);
      else if (member === null) wrong([...path, name], 'value_needed');
      else sound[name] = member;
      if (similar !== undefined && isSettable(similar)) sound[similar] ??= members[similar] ?? member;
    }
    if (typeof disabled !== 'boolean') wrong([...path, 'disabled'], 'true_or_false');
    if (scopeTexts !== undefined && members.resource === undefined)
      wrong([...path, 'scope_texts'], 'api_needed');
    return {
      id,
      members: sound,
      secret: secretReference([...path, 'secret'], secret),
      isDisabled: disabled === true,
      scopeTexts: scopeTexts === undefined ? undefined : texts([...path, 'scope_texts'], scopeTexts),
    };
  };

  const group = (name: string, value: unknown): DesiredGroup => {
    const path = ['groups', name];
    const given = Object.fromEntries(entriesOf(path, value));
    for (const member of Object.keys(given))
      if (!Object.hasOwn(GROUP_MEMBERS, member))
        wrong([...path, member], ...unknownName(member, Object.keys(GROUP_MEMBERS)));
    const { description = '', sign_in_policy: policy, members } = given;
    const signInPolicy = SIGN_IN_POLICIES.find((known) => known === policy);
    if (policy !== undefined && signInPolicy === undefined)
      wrong([...path, 'sign_in_policy'], 'one_of', SIGN_IN_POLICIES.join(', '));
    const kept = nameAsKept(name);
    const problem =
      problemOf(() => requireGroupName(name)) ??
      (kept === name ? undefined : (['stored_name', JSON.stringify(kept)] as const));
    if (problem !== undefined) wrong(path, ...problem);
    const unfit =
      typeof description === 'string'
        ? problemOf(() => requireDescription(description))
        : (['text_needed'] as const);
    if (unfit !== undefined) wrong([...path, 'description'], ...unfit);
    const { maxItems } = GROUP_MEMBERS.members.schema;
    const areNames = Array.isArray(members) && members.every((member) => typeof member === 'string');
    if (members !== undefined && !(areNames && members.length <= maxItems))
      wrong([...path, 'members'], 'usernames_needed', String(maxItems));
    return {
      name,
      description: String(description),
      signInPolicy,
      members: areNames ? [...new Set(members as readonly string[])] : undefined,
    };
  };

  // A file with nothing but comments changes nothing.
  const sections = Object.fromEntries(content === null ? [] : entriesOf([], content));
  for (const name of Object.keys(sections))
    if (!Object.hasOwn(SECTIONS, name))
      wrong([name], ...(ELSEWHERE.get(name) ?? unknownName(name, Object.keys(SECTIONS))));
  const { groups, clients, scope_texts: scopeTexts } = sections;
  const state: DesiredState = {
    groups:
      groups === undefined
        ? undefined
        : entriesOf(['groups'], groups).map(([name, value]) => group(name, value)),
    clients:
      clients === undefined
        ? undefined
        : entriesOf(['clients'], clients).map(([id, value]) => client(id, value)),
    scopeTexts: scopeTexts === undefined ? undefined : texts(['scope_texts'], scopeTexts),
  };
  return { state, problems };
}

/** Why a check refuses a value. @returns `undefined` if it does not */
function problemOf(check: () => void): Said | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof InvalidInput) return error.errors[0]?.said;
    throw error;
  }
}

function unknownMember(name: string): Said {
  return unknownName(name, [...MEMBER_NAMES.filter(isSettable), ...Object.keys(OWN_MEMBERS)]);
}

function unknownName(name: string, names: readonly string[]): Said {
  if (name === '<<') return ['merge_keys'];
  const similar = similarName(name, names);
  return similar === undefined ? ['unknown_name'] : ['misspelled_name', similar];
}

/** JSON Schema of the file, from the tables of its members and of client metadata. */
export function schemaOfFile(): object {
  const textsOfScopes = {
    type: 'object',
    additionalProperties: {
      type: 'object',
      required: ['name'],
      properties: { name: { type: 'string' }, description: { type: 'string' } },
      patternProperties: { '^(name|description)#': { type: 'string' } },
      additionalProperties: false,
    },
  };
  const own = {
    secret: {
      oneOf: ['env', 'file'].map((kind) => ({
        type: 'object',
        required: [kind],
        properties: { [kind]: { type: 'string' } },
        additionalProperties: false,
      })),
    },
    disabled: { type: 'boolean' },
    scope_texts: textsOfScopes,
  };
  const members = MEMBER_NAMES.filter(isSettable).map((name) => [name, memberOf(name)] as const);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Groups, clients, APIs and scope texts of a grantd server',
    type: 'object',
    properties: {
      groups: {
        description: SECTIONS.groups,
        type: 'object',
        additionalProperties: {
          type: 'object',
          properties: Object.fromEntries(
            Object.entries(GROUP_MEMBERS).map(([name, { about, schema }]) => [
              name,
              { description: about, ...schema },
            ]),
          ),
          additionalProperties: false,
        },
      },
      clients: {
        description: SECTIONS.clients,
        type: 'object',
        additionalProperties: {
          type: 'object',
          properties: {
            ...Object.fromEntries(
              members.map(([name, { kind }]) => [
                name,
                { description: MEMBER_TEXTS[name].about, ...schemaOfKind(kind) },
              ]),
            ),
            ...Object.fromEntries(
              Object.entries(own).map(([name, schema]) => [
                name,
                { description: OWN_MEMBERS[name as keyof typeof OWN_MEMBERS], ...schema },
              ]),
            ),
          },
          patternProperties: Object.fromEntries(
            members
              .filter(([, { isLocalizable }]) => isLocalizable)
              .map(([name]) => [`^${name}#`, { description: MEMBER_TEXTS[name].about, type: 'string' }]),
          ),
          additionalProperties: false,
        },
      },
      scope_texts: { description: SECTIONS.scope_texts, ...textsOfScopes },
    },
    additionalProperties: false,
  };
}
