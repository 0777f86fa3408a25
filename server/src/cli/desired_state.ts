// The form of the files of `grantd apply` and `grantd export`, and the changes that lead from a database to a file.
import {
  ClientMetadataError,
  type ClientRecord,
  documentOf,
  hasSecret,
  MEMBER_NAMES,
  memberOf,
  type NewClient,
  rotatedSecrets,
  usableSecrets,
} from '@grantd/core';
import { isJsonObject, similarName } from '@grantd/core/options';
import { Refused } from '../config/refused.ts';
import type { ScopeText } from '../data/consents.ts';
import { adminAudience, adminProblem } from '../instance/admin_access.ts';
import {
  DEFAULT_OVERLAP,
  defaultGrants,
  isPublicByDefault,
  isSettable,
  type Members,
  schemaOfKind,
  unfetchable,
} from '../operations/clients.ts';
import { textsProblem } from '../operations/scopes.ts';
import type { CommandParts } from './command.ts';

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

/** The content of a file. What it leaves out stays as it is. */
export interface DesiredState {
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

const SECTIONS = {
  clients: 'applications and APIs, by client ID',
  scope_texts: 'what the scopes of this server allow, as users see it',
} as const;

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
    if (value === null) return [];
    if (isJsonObject(value)) return Object.entries(value);
    wrong(path, 'expected names with values');
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
    for (const name of Object.keys(members))
      if (!isSettable(name)) wrong([...path, name], unknownMember(name));
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

  const sections = Object.fromEntries(entriesOf([], content));
  for (const name of Object.keys(sections))
    if (!Object.hasOwn(SECTIONS, name)) wrong([name], unknownName(name, Object.keys(SECTIONS)));
  const { clients, scope_texts: scopeTexts } = sections;
  const state: DesiredState = {
    clients:
      clients === undefined
        ? undefined
        : entriesOf(['clients'], clients).map(([id, value]) => client(id, value)),
    scopeTexts: scopeTexts === undefined ? undefined : texts(['scope_texts'], scopeTexts),
  };
  return problems.length > 0 ? { problems } : { state };
}

function unknownMember(name: string): string {
  return unknownName(name, [...MEMBER_NAMES.filter(isSettable), ...Object.keys(OWN_MEMBERS)]);
}

function unknownName(name: string, names: readonly string[]): string {
  const similar = similarName(name, names);
  return similar === undefined ? 'unknown name' : `unknown name. Did you mean ${similar}?`;
}

/** JSON Schema of the file, from the table of client metadata. */
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
    title: 'Clients, APIs and scope texts of a grantd server',
    type: 'object',
    properties: {
      clients: {
        description: SECTIONS.clients,
        type: 'object',
        additionalProperties: {
          type: ['object', 'null'],
          properties: {
            ...Object.fromEntries(
              members.map(([name, { kind, about }]) => [name, { description: about, ...schemaOfKind(kind) }]),
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
              .map(([name, { about }]) => [`^${name}#`, { description: about, type: 'string' }]),
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

export interface Change {
  readonly action: 'add' | 'change' | 'remove';
  readonly kind: 'client' | 'scope';
  readonly name: string;
  readonly members: readonly MemberChange[];
  /** @throws {Refused} it was changed in the meantime */
  perform(): Promise<void>;
}

/** The changes, in an order in which each can be made, and the number of things that are as the file wants them. */
interface Plan {
  readonly changes: readonly Change[];
  readonly unchanged: number;
}

interface Planning {
  /** Whether to remove clients and scope texts that the file’s sections leave out. */
  readonly prune: boolean;
  /** The secrets to which the file refers. */
  readonly secrets: ReadonlyMap<SecretReference, string>;
}

/**
 * Compares the database with a file. Changes nothing.
 * @returns the plan, or everything that the server would refuse
 */
export async function planFor(
  parts: CommandParts,
  state: DesiredState,
  { prune, secrets }: Planning,
): Promise<{ readonly plan: Plan } | { readonly problems: readonly FileProblem[] }> {
  const problems: FileProblem[] = [];
  const changes: (Change | undefined)[] = [];
  const desired = state.clients ?? [];
  const registered = new Map((await parts.storage.clients.list()).map((client) => [client.id, client]));
  const isPruned = ({ id, registrationTokenDigest }: ClientRecord) =>
    prune &&
    state.clients !== undefined &&
    registrationTokenDigest === undefined &&
    !desired.some((one) => one.id === id);
  const resources = new Set([
    adminAudience(parts.issuer),
    ...desired.filter(({ isDisabled }) => !isDisabled).map(({ members }) => members.resource),
    ...[...registered.values()]
      .filter((client) => client.disabledAtMs === undefined && !isPruned(client))
      .filter(({ id }) => !desired.some((one) => one.id === id))
      .map(({ resource }) => resource),
  ]);

  // An API comes first, so that no client is allowed an API that does not exist yet.
  const apisFirst = desired.toSorted((one, other) => Number(isApi(other)) - Number(isApi(one)));
  for (const client of apisFirst) {
    const planned = await planClient(parts, client, registered.get(client.id), { resources, secrets });
    if (Array.isArray(planned)) problems.push(...planned);
    else changes.push(...planned.changes);
  }
  const stored = await parts.scopeTexts.list();
  for (const { id, scopeTexts } of desired) changes.push(...planTexts(parts, id, scopeTexts, stored, prune));
  changes.push(...planTexts(parts, undefined, state.scopeTexts, stored, prune));
  for (const client of registered.values()) if (isPruned(client)) changes.push(removal(parts, client));
  if (problems.length > 0) return { problems };
  const planned = changes.filter((change) => change !== undefined);
  return { plan: { changes: planned, unchanged: changes.length - planned.length } };
}

function isApi({ members }: DesiredClient): boolean {
  return members.resource !== undefined;
}

interface ClientPlanning extends Pick<Planning, 'secrets'> {
  /** Resource URIs of the APIs that exist once the file is applied. */
  readonly resources: ReadonlySet<unknown>;
}

type PlannedClient = { readonly changes: readonly (Change | undefined)[] };

async function planClient(
  parts: CommandParts,
  { id, members, secret, isDisabled }: DesiredClient,
  before: ClientRecord | undefined,
  { resources, secrets }: ClientPlanning,
): Promise<PlannedClient | FileProblem[]> {
  const path = ['clients', id];
  if (before?.registrationTokenDigest !== undefined)
    return [{ path, problem: 'this client registered itself: change it with grantd client update' }];
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
  const unknownApi = after.metadata?.apis?.find((uri) => !resources.has(uri));
  if (unknownApi !== undefined)
    return [{ path: [...path, 'apis'], problem: `no enabled client has the resource URI ${unknownApi}` }];

  const needsSecret = hasSecret(after.metadata);
  if (!needsSecret && secret !== undefined)
    return [{ path: [...path, 'secret'], problem: 'a client with this authentication method has no secret' }];
  const kept = needsSecret ? usableSecrets(after.metadata, before?.secrets) : undefined;
  const text = secret && secrets.get(secret);
  const isKnown =
    text !== undefined && kept !== undefined && (await server.operator.isClientSecret(text, kept));
  if (
    needsSecret &&
    secret === undefined &&
    kept === undefined &&
    !(before && isPublicByDefault(before, after))
  )
    return [
      {
        path,
        problem:
          'expected secret: { env: VARIABLE } or { file: PATH }, because it authenticates with a secret (a public client has token_endpoint_auth_method: none)',
      },
    ];

  const isNewSecret = text !== undefined && !isKnown;
  const differences: MemberChange[] = [
    ...differencesOf(before === undefined ? {} : comparable(before), comparable(after)),
    ...(isNewSecret ? [{ name: 'secret', after: kept === undefined ? 'set' : 'replaced' }] : []),
    ...(isDisabled === (before?.disabledAtMs !== undefined)
      ? []
      : [{ name: 'disabled', before: !isDisabled, after: isDisabled }]),
  ];
  if (before !== undefined && differences.length === 0) return { changes: [undefined] };

  const nextSecrets = async () => {
    if (!isNewSecret) return kept;
    const hashed = await server.operator.hashClientSecret(text, after.metadata);
    return kept === undefined
      ? [hashed]
      : rotatedSecrets(kept, hashed, { nowMs: Date.now(), overlap: DEFAULT_OVERLAP });
  };
  return {
    changes: [
      {
        action: before === undefined ? 'add' : 'change',
        kind: 'client',
        name: id,
        members: differences,
        async perform() {
          const stored = await nextSecrets();
          const record = { ...after, ...(stored !== undefined && { secrets: stored }) };
          const { clients } = parts.storage;
          const isDone = await (before === undefined ? clients.add(record) : clients.replace(record, before));
          if (!isDone) throw changedMeanwhile(`client ${id}`);
          if (isDisabled !== (before?.disabledAtMs !== undefined))
            await parts.storage.setDisabled('client', id, isDisabled);
        },
      },
    ],
  };
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

function removal({ storage }: CommandParts, { id }: ClientRecord): Change {
  return {
    action: 'remove',
    kind: 'client',
    name: id,
    members: [],
    async perform() {
      if (!(await storage.clients.remove(id))) throw changedMeanwhile(`client ${id}`);
    },
  };
}

/** @returns for each text its change, or `undefined` if it is as wanted */
function planTexts(
  { scopeTexts }: CommandParts,
  api: string | undefined,
  wanted: ReadonlyMap<string, Texts> | undefined,
  stored: readonly ScopeText[],
  prune: boolean,
): readonly (Change | undefined)[] {
  if (wanted === undefined) return [];
  const own = stored.filter((text) => text.api === api);
  const change = (scope: string, rest: Pick<Change, 'action' | 'members'>, work: () => Promise<boolean>) => {
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

/** An exported client, without its secret. */
interface ExportedClient extends Members {
  readonly disabled?: true;
  readonly scope_texts?: Readonly<Record<string, Texts>>;
}

/** The database in the form of a file, without the clients that registered themselves. */
export interface ExportedState {
  readonly clients: Readonly<Record<string, ExportedClient>>;
  readonly scope_texts: Readonly<Record<string, Texts>>;
  /** IDs of the clients that have a secret. */
  readonly withSecret: ReadonlySet<string>;
}

export async function exportedState({ storage, scopeTexts }: CommandParts): Promise<ExportedState> {
  const stored = await scopeTexts.list();
  const textsOf = (api: string | undefined) =>
    Object.fromEntries(stored.filter((text) => text.api === api).map(({ scope, texts }) => [scope, texts]));
  const clients = (await storage.clients.list()).filter(
    ({ registrationTokenDigest }) => registrationTokenDigest === undefined,
  );
  return {
    clients: Object.fromEntries(
      clients.map((client) => {
        const texts = textsOf(client.id);
        return [
          client.id,
          {
            ...comparable(client),
            ...(client.disabledAtMs !== undefined && { disabled: true as const }),
            ...(Object.keys(texts).length > 0 && { scope_texts: texts }),
          },
        ];
      }),
    ),
    scope_texts: textsOf(undefined),
    withSecret: new Set(clients.filter(({ secrets }) => secrets !== undefined).map(({ id }) => id)),
  };
}
