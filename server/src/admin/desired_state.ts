// The form of the files of `grantd apply` and `grantd export`, and the changes that lead from a database to a file. The
// command line and the admin API share them.
import {
  ClientMetadataError,
  type ClientRecord,
  type ClientSecretRecord,
  documentOf,
  hasResource,
  hasSecret,
  MEMBER_NAMES,
  memberOf,
  type NewClient,
  rotatedSecrets,
  SIGN_IN_POLICIES,
  usableSecrets,
} from '@grantd/core';
import { isJsonObject, MEMBER_TEXTS, similarName } from '@grantd/core/options';
import type { FurtherPolicy } from '../config/acr.ts';
import { Refused } from '../config/refused.ts';
import { ConditionBroken, isRevision, under } from '../data/conditions.ts';
import type { ScopeText } from '../data/consents.ts';
import type { Group } from '../data/groups.ts';
import { nameAsKept, nameKey, type Person } from '../data/people.ts';
import { adminAudience, adminProblem } from '../instance/admin_access.ts';
import { defaultGrants, isSettable, type Members, schemaOfKind, unfetchable } from './client_metadata.ts';
import { DEFAULT_OVERLAP, idProblem, publishKeys, revokeForOthers } from './client_rules.ts';
import {
  administratorsOf,
  administratorWarnings,
  joinGroup,
  leaveAdministrators,
  leaveGroup,
  MAX_DESCRIPTION,
  requireDescription,
  requireGroupName,
  WITHOUT_GROUP,
} from './groups.ts';
import { type AdminParts, type OperationParts, requireReachable } from './operation.ts';
import { InvalidInput } from './operation_refused.ts';
import { textsProblem } from './scopes.ts';
import { pagesOf } from './user_rules.ts';

/** Where a value is in the file, as names from the top. */
export type FilePath = readonly string[];

/** What is wrong with a value of the file. */
export interface FileProblem {
  readonly path: FilePath;
  /** Follows the path and a colon. */
  readonly problem: string;
}

/** Where a client secret comes from. The file itself never contains one. */
export type SecretReference = { readonly env: string } | { readonly file: string };

type Texts = ScopeText['texts'];

interface DesiredClient {
  readonly id: string;
  /** Client metadata, by the names of docs/client_metadata.md. */
  readonly members: Members;
  readonly secret: SecretReference | undefined;
  readonly isDisabled: boolean;
  /** Texts of the scopes that an API declares; `undefined` to leave them alone. */
  readonly scopeTexts: ReadonlyMap<string, Texts> | undefined;
}

interface DesiredGroup {
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
const ELSEWHERE: ReadonlyMap<string, string> = new Map(
  Object.entries({
    providers:
      'identity providers belong to the configuration of the server: name their file with --providers, and restart or reload the server',
    sign_in_policy:
      'the sign-in policy of the server belongs to its configuration: set it with --sign-in-policy, or give a group or a client a sign_in_policy',
    users: 'users are not part of this file: add them with grantd user import',
  }),
);

/** A section with nothing below it is often a mistake, and `--prune` would remove everything. */
const OR_NONE = 'or {} for none';

const CLIENT_ID = /^[\x21-\x7E]{1,200}$/;

// ── Reading ───────────────────────────────────────────────────────────────────────────────────────────────

/** Reads the parsed content of a file. @returns the content, or everything that is wrong with its form */
export function readDesiredState(
  content: unknown,
): { readonly state: DesiredState } | { readonly problems: readonly FileProblem[] } {
  const problems: FileProblem[] = [];
  const wrong = (path: FilePath, problem: string): undefined => {
    problems.push({ path, problem });
    return undefined;
  };
  const entriesOf = (path: FilePath, value: unknown): readonly (readonly [string, unknown])[] => {
    if (isJsonObject(value)) return Object.entries(value);
    wrong(path, value === null ? `expected names with values, ${OR_NONE}` : 'expected names with values');
    return [];
  };

  const texts = (path: FilePath, value: unknown): ReadonlyMap<string, Texts> => {
    const read = new Map<string, Texts>();
    for (const [scope, given] of entriesOf(path, value)) {
      const own = Object.fromEntries(entriesOf([...path, scope], given));
      const problem = textsProblem(scope, own);
      if (problem === undefined) read.set(scope, own as Texts);
      else wrong([...path, scope], problem);
    }
    return read;
  };

  const secretReference = (path: FilePath, value: unknown): SecretReference | undefined => {
    if (value === undefined) return undefined;
    const [[kind, name] = [], ...others] = isJsonObject(value) ? Object.entries(value) : [];
    if (typeof name !== 'string' || name === '' || others.length > 0)
      return wrong(path, 'expected { env: VARIABLE } or { file: PATH }, because the file holds no secrets');
    if (kind === 'env') return { env: name };
    if (kind === 'file') return { file: name };
    return wrong(path, 'expected { env: VARIABLE } or { file: PATH }');
  };

  const client = (id: string, value: unknown): DesiredClient => {
    const path = ['clients', id];
    if (!CLIENT_ID.test(id)) wrong(path, 'expected a client ID of visible ASCII characters, at most 200');
    const given = Object.fromEntries(entriesOf(path, value));
    const { secret, disabled = false, scope_texts: scopeTexts, ...members } = given;
    for (const [name, member] of Object.entries(members)) {
      if (!isSettable(name)) wrong([...path, name], unknownMember(name));
      else if (member === null) wrong([...path, name], 'expected a value. Omit the member for its default');
    }
    if (typeof disabled !== 'boolean') wrong([...path, 'disabled'], 'expected true or false');
    if (scopeTexts !== undefined && members.resource === undefined)
      wrong([...path, 'scope_texts'], 'expected an API, which has a resource URI');
    return {
      id,
      members,
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
        wrong([...path, member], unknownName(member, Object.keys(GROUP_MEMBERS)));
    const { description = '', sign_in_policy: policy, members } = given;
    const signInPolicy = SIGN_IN_POLICIES.find((one) => one === policy);
    if (policy !== undefined && signInPolicy === undefined)
      wrong([...path, 'sign_in_policy'], `expected ${SIGN_IN_POLICIES.join(' or ')}`);
    const kept = nameAsKept(name);
    const problem =
      problemOf(() => requireGroupName(name)) ??
      (kept === name ? undefined : `expected the name as it is stored, ${JSON.stringify(kept)}`);
    if (problem !== undefined) wrong(path, problem);
    const unfit =
      typeof description === 'string'
        ? problemOf(() => requireDescription(description))
        : 'expected a text, in quotes if it is a number or true or false';
    if (unfit !== undefined) wrong([...path, 'description'], unfit);
    const { maxItems } = GROUP_MEMBERS.members.schema;
    const areNames = Array.isArray(members) && members.every((one) => typeof one === 'string');
    if (members !== undefined && !(areNames && members.length <= maxItems))
      wrong([...path, 'members'], `expected a list of at most ${maxItems} usernames`);
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
      wrong([name], ELSEWHERE.get(name) ?? unknownName(name, Object.keys(SECTIONS)));
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
  return problems.length > 0 ? { problems } : { state };
}

/** Why a check refuses a value. @returns `undefined` if it does not */
function problemOf(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof InvalidInput) return error.problem;
    throw error;
  }
}

function unknownMember(name: string): string {
  return unknownName(name, [...MEMBER_NAMES.filter(isSettable), ...Object.keys(OWN_MEMBERS)]);
}

function unknownName(name: string, names: readonly string[]): string {
  if (name === '<<') return 'unknown name, because YAML 1.2 has no merge keys: write the members';
  const similar = similarName(name, names);
  return similar === undefined ? 'unknown name' : `unknown name. Did you mean ${similar}?`;
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

// ── Planning ──────────────────────────────────────────────────────────────────────────────────────────────

/** A member of the changed thing, before and after. Texts of secrets are never part of it. */
interface MemberChange {
  readonly name: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** Receives what the operator should look at. */
type Warn = (warning: string) => void;

/** A change as it is shown. */
export interface ShownChange {
  readonly action: 'add' | 'change' | 'remove';
  readonly kind: 'group' | 'client' | 'scope';
  readonly name: string;
  readonly members: readonly MemberChange[];
}

interface Change extends ShownChange {
  /** @throws {Refused} it was changed in the meantime */
  perform(warn: Warn): Promise<void>;
}

type PlanParts = OperationParts & Pick<AdminParts, 'caller'>;

/** The changes, in an order in which each can be made, and the number of things that are as the file wants them. */
export interface Plan {
  readonly changes: readonly Change[];
  readonly unchanged: number;
}

/** Everything that the server would refuse. */
export interface StateProblems {
  readonly problems: readonly FileProblem[];
}

export interface Planning {
  /** Whether to remove what the file’s sections leave out. */
  readonly prune: boolean;
  /** The secrets to which the file refers, by client ID. */
  readonly secrets: ReadonlyMap<string, string>;
}

/**
 * Compares the database with a file. Changes nothing.
 * @returns the plan, or everything that the server would refuse
 * @throws {OperationRefused} the caller may not make a change
 */
export async function planFor(
  parts: PlanParts,
  state: DesiredState,
  planning: Planning,
): Promise<Plan | StateProblems> {
  const { prune } = planning;
  const { caller } = parts;
  const problems: FileProblem[] = [];
  const changes: (Change | undefined)[] = [];
  const desired = state.clients ?? [];
  const registered = new Map((await parts.storage.clients.list()).map((client) => [client.id, client]));
  const isPruned = ({ id, registrationTokenDigest }: ClientRecord) =>
    prune &&
    state.clients !== undefined &&
    registrationTokenDigest === undefined &&
    // The client that sends the file stays although the file omits it, because it could not undo its removal.
    id !== caller.clientId &&
    !desired.some((one) => one.id === id);
  const resources = [
    adminAudience(parts.issuer),
    ...desired.filter(({ isDisabled }) => !isDisabled).map(({ members }) => members.resource),
    ...[...registered.values()]
      .filter((client) => client.disabledAtMs === undefined && !isPruned(client))
      .filter(({ id }) => !desired.some((one) => one.id === id))
      .map(({ resource }) => resource),
  ];

  const storedGroups = await parts.groups.list();
  const isPrunedGroup = ({ name }: Group) =>
    prune && state.groups !== undefined && !state.groups.some((one) => one.name === name);
  const groupNames = new Set([
    ...(state.groups ?? []).map(({ name }) => name),
    ...storedGroups.filter((group) => !isPrunedGroup(group)).map(({ name }) => name),
  ]);
  // A group comes before the clients that are for it, and is removed after them.
  for (const group of state.groups ?? []) {
    const planned = await planGroup(parts, group, storedGroups, planning);
    if (Array.isArray(planned)) problems.push(...planned);
    else changes.push(...planned.changes);
  }

  // An API comes first, so that no client is allowed an API that does not exist yet.
  const apisFirst = desired.toSorted((one, other) => Number(isApi(other)) - Number(isApi(one)));
  for (const client of apisFirst) {
    const before = registered.get(client.id);
    const planned = await planClient(parts, client, before, { ...planning, resources, groupNames });
    if (Array.isArray(planned)) problems.push(...planned);
    else changes.push(...planned.changes);
  }
  const stored = await parts.scopeTexts.list();
  for (const { id, scopeTexts } of desired) changes.push(...planTexts(parts, id, scopeTexts, stored, prune));
  changes.push(...planTexts(parts, undefined, state.scopeTexts, stored, prune));
  for (const client of [...registered.values()].filter(isPruned)) {
    caller.requireClient(client);
    changes.push(removal(parts, client));
  }
  const kept = [...registered.values()].filter((client) => !isPruned(client));
  for (const group of storedGroups.filter(isPrunedGroup)) {
    const user = kept.find(({ id, metadata }) => {
      const { allowed_groups: allowed } = desired.find((one) => one.id === id)?.members ?? { ...metadata };
      return Array.isArray(allowed) && allowed.includes(group.name);
    });
    caller.requireGroup(group.name);
    const isKept = parts.caller.keepsAdministrator && parts.caller.isAdminGroup(group.name);
    if (isKept)
      problems.push({
        path: ['groups'],
        problem: `the group of administrators, ${group.name}, cannot be removed`,
      });
    else if (user === undefined) changes.push(groupRemoval(parts, group));
    else problems.push({ path: ['groups'], problem: `the client ${user.id} is for the group ${group.name}` });
  }
  if (problems.length > 0) return { problems };
  const planned = changes.filter((change) => change !== undefined);
  return { changes: planned, unchanged: changes.length - planned.length };
}

/** A change failed after others were made. The next plan contains what is missing. */
export class PartlyApplied extends Refused {
  /** Why the change failed. */
  readonly reason: Error;
  /** What was made, and what was not. */
  readonly progress: string;

  constructor(reason: Error, changes: readonly ShownChange[], failedAt: number) {
    const progress = [
      `Applied before: ${listed(changes.slice(0, failedAt))}`,
      `Failed, and perhaps applied in part: ${listed(changes.slice(failedAt, failedAt + 1))}`,
      `Not applied: ${listed(changes.slice(failedAt + 1))}`,
      'The next plan contains what is missing.',
    ].join('. ');
    super(`${reason.message.replace(/\.$/, '')}. ${progress}`, { cause: reason.cause });
    this.reason = reason;
    this.progress = progress;
  }
}

const MAX_LISTED = 20;

function listed(changes: readonly ShownChange[]): string {
  if (changes.length === 0) return 'nothing';
  const names = changes.slice(0, MAX_LISTED).map(({ action, kind, name }) => `${action} ${kind} ${name}`);
  const more = changes.length - names.length;
  return [...names, ...(more > 0 ? [`and ${more} more`] : [])].join(', ');
}

/**
 * Makes the changes of a plan, each only if what it changes is still as it was compared.
 * @param onChange receives each change before it is made
 * @throws {PartlyApplied} a change failed
 */
export async function performPlan(
  { changes }: Plan,
  warn: Warn,
  onChange: (change: ShownChange, index: number, count: number) => void | Promise<void> = () => {},
): Promise<void> {
  for (const [index, change] of changes.entries()) {
    try {
      await onChange(change, index, changes.length);
      await change.perform(warn);
    } catch (error) {
      throw error instanceof Error ? new PartlyApplied(error, changes, index) : error;
    }
  }
}

function isApi({ members }: DesiredClient): boolean {
  return members.resource !== undefined;
}

/**
 * Members are added. They are removed only with `prune`, because a list in a file says less about a person than whoever
 * added them elsewhere.
 */
async function planGroup(
  parts: PlanParts,
  { name, description, signInPolicy, members }: DesiredGroup,
  stored: readonly Group[],
  { prune }: Planning,
): Promise<PlannedClient | FileProblem[]> {
  const path = ['groups', name];
  const before = stored.find((one) => nameKey(one.name) === nameKey(name));
  if (before !== undefined && before.name !== name)
    return [{ path, problem: `there is a group ${before.name}, which differs only by look-alike letters` }];
  const unreachable = problemOf(() => requireReachable(parts, signInPolicy));
  if (unreachable !== undefined) return [{ path: [...path, 'sign_in_policy'], problem: unreachable }];
  const wanted: Person[] = [];
  const unknown: FileProblem[] = [];
  for (const username of members ?? []) {
    const person = await parts.people.byName(username);
    if (person !== undefined) wanted.push(person);
    else unknown.push({ path: [...path, 'members'], problem: `there is no user ${username}` });
  }
  if (unknown.length > 0) return unknown;
  const joining = wanted.filter(({ groups = [] }) => !groups.includes(name));
  const leaving =
    prune && members !== undefined && before !== undefined ? await others(parts, name, wanted) : [];
  const namesOf = (people: readonly Person[]) => people.map((one) => one.name);
  const differences: MemberChange[] = [
    ...differencesOf(
      { description: before?.description || undefined, sign_in_policy: before?.signInPolicy },
      { description: description || undefined, sign_in_policy: signInPolicy },
    ),
    ...(joining.length > 0 ? [{ name: 'members added', after: namesOf(joining) }] : []),
    ...(leaving.length > 0 ? [{ name: 'members removed', after: namesOf(leaving) }] : []),
  ];
  if (before !== undefined && differences.length === 0) return { changes: [undefined] };
  // With its policy or members, others could become what only the members of a group are.
  if (differences.some((one) => one.name !== 'description')) parts.caller.requireGroup(name);
  const takesAdministrators = leaving.length > 0 && parts.caller.isAdminGroup(name);
  // If the file leaves one, a file that is applied at the same time does not take this one.
  const keepsOne =
    takesAdministrators && (await administratorsOf(parts).whoSignIn(wanted).next()).done !== true;
  if (takesAdministrators && !keepsOne && parts.caller.keepsAdministrator)
    return [{ path: [...path, 'members'], problem: 'no administrator who can sign in would be left' }];
  const perform = async (warn: Warn) => {
    const facts = { description, signInPolicy };
    const isDone = await (before === undefined
      ? parts.groups.add({ name, ...facts }, parts.clock())
      : parts.groups.change(name, facts, before));
    if (!isDone) throw changedMeanwhile(`the group ${name}`);
    const group = { ...(before ?? { createdAtMs: 0, members: 0 }), name, ...facts };
    for (const person of joining) await joinGroup(parts, group, person, warn);
    for (const person of leaving)
      await (keepsOne ? leaveAdministrators(parts, person) : leaveGroup(parts, group, person));
    if (takesAdministrators) for (const warning of await administratorWarnings(parts)) warn(warning);
  };
  const action = before === undefined ? 'add' : 'change';
  return { changes: [{ action, kind: 'group', name, members: differences, perform }] };
}

/** Members of a group other than these users. */
async function others(
  parts: OperationParts,
  group: string,
  wanted: readonly Person[],
): Promise<readonly Person[]> {
  const found: Person[] = [];
  for await (const page of pagesOf(parts, { group }))
    found.push(...page.filter(({ subject }) => !wanted.some((one) => one.subject === subject)));
  return found;
}

function groupRemoval(parts: PlanParts, { name }: Group): Change {
  return {
    action: 'remove',
    kind: 'group',
    name,
    members: [],
    async perform(warn) {
      if (!(await parts.groups.remove(name))) throw changedMeanwhile(`the group ${name}`);
      if (parts.caller.isAdminGroup(name)) warn(WITHOUT_GROUP);
    },
  };
}

interface ClientPlanning extends Planning {
  /** Names of the groups that exist once the file is applied. */
  readonly groupNames: ReadonlySet<string>;
  /** Resource URIs of the APIs that exist once the file is applied. */
  readonly resources: readonly unknown[];
}

type PlannedClient = { readonly changes: readonly (Change | undefined)[] };

async function planClient(
  parts: PlanParts,
  { id, members, secret, isDisabled }: DesiredClient,
  before: ClientRecord | undefined,
  { resources, groupNames, secrets }: ClientPlanning,
): Promise<PlannedClient | FileProblem[]> {
  const path = ['clients', id];
  if (before?.registrationTokenDigest !== undefined)
    return [{ path, problem: 'this client registered itself: change it with grantd client update' }];
  const taken = before === undefined ? await idProblem(parts, id) : undefined;
  if (taken !== undefined) return [{ path, problem: taken }];
  const refused = unfetchable(members, parts.configuration);
  if (refused !== undefined) return [{ path: [...path, refused.member], problem: refused.problem }];

  const server = await parts.server();
  const whole = { grant_types: defaultGrants(members), ...members };
  let after: NewClient;
  try {
    after = await server.operator.clientFrom({ id }, whole, before);
  } catch (error) {
    if (!(error instanceof ClientMetadataError)) throw error;
    return [{ path: [...path, error.member], problem: error.problem }];
  }
  const unfit = adminProblem(parts.issuer, after);
  if (unfit !== undefined) return [{ path: [...path, unfit.member], problem: unfit.problem }];
  const unknownApi = after.metadata?.apis?.find((uri) => !hasResource(resources, uri));
  if (unknownApi !== undefined)
    return [{ path: [...path, 'apis'], problem: `no enabled client has the resource URI ${unknownApi}` }];

  const groupsBefore = before?.metadata?.allowed_groups ?? [];
  const unknownGroup = after.metadata?.allowed_groups?.find(
    (name) => !groupNames.has(name) && !groupsBefore.includes(name),
  );
  if (unknownGroup !== undefined)
    return [{ path: [...path, 'allowed_groups'], problem: `there is no group ${unknownGroup}` }];

  const policy = after.metadata?.sign_in_policy;
  const unreachable = problemOf(() => requireReachable(parts, policy));
  if (unreachable !== undefined && policy !== before?.metadata?.sign_in_policy)
    return [{ path: [...path, 'sign_in_policy'], problem: unreachable }];

  const needsSecret = hasSecret(after.metadata);
  if (!needsSecret && secret !== undefined)
    return [{ path: [...path, 'secret'], problem: 'a client with this authentication method has no secret' }];
  const wasDisabled = before?.disabledAtMs !== undefined;
  const changed = differencesOf(before === undefined ? {} : comparable(before), comparable(after));
  const text = secret && secrets.get(id);
  // Before the comparison of the secret, whose outcome confirms a guess.
  if (changed.length > 0 || before === undefined || isDisabled !== wasDisabled || text !== undefined)
    for (const one of [before, after]) if (one !== undefined) parts.caller.requireClient(one);
  const kept = needsSecret ? usableSecrets(after.metadata, before?.secrets) : undefined;
  const isKnown =
    text !== undefined && kept !== undefined && (await server.operator.isClientSecret(text, kept));
  if (needsSecret && secret === undefined && kept === undefined)
    return [
      {
        path,
        problem:
          'expected secret: { env: VARIABLE } or { file: PATH }, because it authenticates with a secret (a public client has token_endpoint_auth_method: none)',
      },
    ];

  const isNewSecret = text !== undefined && !isKnown;
  const differences: MemberChange[] = [
    ...changed,
    ...(isNewSecret ? [{ name: 'secret', after: kept === undefined ? 'set' : 'replaced' }] : []),
    ...(isDisabled === wasDisabled ? [] : [{ name: 'disabled', before: wasDisabled, after: isDisabled }]),
  ];
  if (before !== undefined && differences.length === 0) return { changes: [undefined] };

  let added: ClientSecretRecord | undefined;
  try {
    added = isNewSecret ? await server.operator.hashClientSecret(text, after.metadata) : undefined;
  } catch (error) {
    if (!(error instanceof ClientMetadataError)) throw error;
    return [{ path: [...path, 'secret'], problem: error.problem }];
  }
  const recordOver = (stored: ClientRecord | undefined): NewClient => {
    const usable = needsSecret ? usableSecrets(after.metadata, stored?.secrets) : undefined;
    const rotation = { nowMs: parts.clock(), overlap: DEFAULT_OVERLAP };
    const next = added === undefined ? usable : rotatedSecrets(usable ?? [], added, rotation);
    return { ...after, ...(next !== undefined && { secrets: next }) };
  };
  const perform = async (warn: Warn) => {
    const record = await stored(parts, before, recordOver);
    if (record === undefined) throw changedMeanwhile(`client ${id}`);
    if (isDisabled !== wasDisabled) await parts.storage.setDisabled('client', id, isDisabled);
    if (before !== undefined && differences.some(({ name }) => name === 'allowed_groups'))
      for (const warning of await revokeForOthers(parts, record)) warn(warning);
  };
  const action = before === undefined ? 'add' : 'change';
  return { changes: [{ action, kind: 'client', name: id, members: differences, perform }] };
}

/** Attempts to store a client whose secrets are used meanwhile. */
const MAX_ATTEMPTS = 5;

/**
 * Stores a client in place of what was compared. Meanwhile, the server may only have noted uses of its secrets.
 * @param recordOver builds the record from what is stored
 * @returns `undefined` if others have changed the client
 */
async function stored(
  parts: OperationParts,
  before: ClientRecord | undefined,
  recordOver: (stored: ClientRecord | undefined) => NewClient,
): Promise<NewClient | undefined> {
  const { clients } = parts.storage;
  if (before === undefined) {
    const record = recordOver(undefined);
    await publishKeys(parts, record);
    return (await clients.add(record)) ? record : undefined;
  }
  let current: ClientRecord | null | undefined = before;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    if (!current || !isSameClient(current, before)) return undefined;
    const record = recordOver(current);
    await publishKeys(parts, record);
    if (await clients.replace(record, current)) return record;
    current = await clients.get(before.id);
  }
  return undefined;
}

/** Whether two reads of a client differ at most in the use of its secrets. A use can also renew the hash. */
function isSameClient(one: ClientRecord, other: ClientRecord): boolean {
  const version = ({ generation, registrationRevision, disabledAtMs, secrets = [] }: ClientRecord) =>
    JSON.stringify([
      ...[generation ?? 0, registrationRevision ?? 0, disabledAtMs ?? null],
      secrets.map(({ createdAtMs, expiresAt }) => [createdAtMs, expiresAt]),
    ]);
  return version(one) === version(other);
}

function changedMeanwhile(what: string): Refused {
  return new Refused(`another command has just changed ${what}: run grantd apply again.`);
}

/** The members of a client that a file needs. */
function comparable(client: NewClient): Members {
  const members: Members = Object.fromEntries(
    Object.entries(documentOf(client)).filter(
      ([name, value]) => isSettable(name) && !(Array.isArray(value) && value.length === 0),
    ),
  );
  const { grant_types: grants = [], ...others } = members;
  return JSON.stringify(grants) === JSON.stringify(defaultGrants(others))
    ? others
    : { ...others, grant_types: grants };
}

function differencesOf(before: Members, after: Members): readonly MemberChange[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => canonical(name, before[name]) !== canonical(name, after[name]))
    .map((name) => ({
      name,
      ...(before[name] !== undefined && { before: before[name] }),
      ...(after[name] !== undefined && { after: after[name] }),
    }));
}

/** The order of scopes has no meaning. */
function canonical(name: string, value: unknown): string | undefined {
  return name === 'scope' && typeof value === 'string'
    ? value.split(' ').toSorted().join(' ')
    : JSON.stringify(value);
}

function removal({ storage: { clients }, issuer }: OperationParts, before: ClientRecord): Change {
  const { id } = before;
  return {
    action: 'remove',
    kind: 'client',
    name: id,
    members: [],
    async perform() {
      const current = await clients.get(id);
      if (!current || !isSameClient(current, before)) throw changedMeanwhile(`client ${id}`);
      const { revision = 0 } = current;
      const remove = async () => clients.remove(id);
      const isRemoved = await under(isRevision(issuer, id, revision), remove).catch((error: unknown) => {
        if (error instanceof ConditionBroken) return false;
        throw error;
      });
      if (!isRemoved) throw changedMeanwhile(`client ${id}`);
    },
  };
}

/** @returns for each text its change, or `undefined` if it is as wanted */
function planTexts(
  { scopeTexts, caller }: PlanParts,
  api: string | undefined,
  wanted: ReadonlyMap<string, Texts> | undefined,
  stored: readonly ScopeText[],
  prune: boolean,
): readonly (Change | undefined)[] {
  if (wanted === undefined) return [];
  const own = stored.filter((text) => text.api === api);
  const change = (scope: string, rest: Pick<Change, 'action' | 'members'>, work: () => Promise<boolean>) => {
    caller.requireScopeTexts(scope);
    const name = api === undefined ? scope : `${scope} of ${api}`;
    const perform = async () => {
      if (!(await work())) throw changedMeanwhile(`the texts of ${name}`);
    };
    return { ...rest, kind: 'scope', name, perform } as const;
  };
  const set = [...wanted].map(([scope, texts]) => {
    const before = own.find((text) => text.scope === scope);
    const members = differencesOf(before?.texts ?? {}, texts);
    if (before === undefined)
      return change(scope, { action: 'add', members }, () => scopeTexts.add({ scope, api, texts }));
    if (members.length === 0) return undefined;
    return change(scope, { action: 'change', members }, () => scopeTexts.replace(before, texts));
  });
  const removed = own.filter(({ scope }) => prune && !wanted.has(scope));
  return [
    ...set,
    ...removed.map((text) =>
      change(text.scope, { action: 'remove', members: [] }, () => scopeTexts.remove(text)),
    ),
  ];
}

// ── Exporting ─────────────────────────────────────────────────────────────────────────────────────────────

/** The database in the form of a file, without the clients that registered themselves. */
export interface ExportedState {
  readonly groups: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly clients: Readonly<Record<string, Members>>;
  readonly scope_texts: Readonly<Record<string, Texts>>;
}

/** Without the members of groups, which lists of users have. @returns also the IDs of the clients that have a secret */
export async function exportedState(
  parts: OperationParts,
): Promise<{ readonly state: ExportedState; readonly withSecret: readonly string[] }> {
  const groups = (await parts.groups.list()).map(({ name, description, signInPolicy }) => [
    name,
    {
      ...(description !== '' && { description }),
      ...(signInPolicy !== undefined && { sign_in_policy: signInPolicy }),
    },
  ]);
  const texts = await parts.scopeTexts.list();
  const textsOf = (api: string | undefined) =>
    Object.fromEntries(texts.filter((one) => one.api === api).map((one) => [one.scope, one.texts]));
  const clients = (await parts.storage.clients.list()).filter(
    ({ registrationTokenDigest }) => registrationTokenDigest === undefined,
  );
  const shown = clients.map((client) => {
    const own = textsOf(client.id);
    return [
      client.id,
      {
        ...comparable(client),
        ...(client.disabledAtMs !== undefined && { disabled: true as const }),
        ...(Object.keys(own).length > 0 && { scope_texts: own }),
      },
    ];
  });
  return {
    state: {
      groups: Object.fromEntries(groups),
      clients: Object.fromEntries(shown),
      scope_texts: textsOf(undefined),
    },
    withSecret: clients.filter(({ secrets }) => secrets !== undefined).map(({ id }) => id),
  };
}
