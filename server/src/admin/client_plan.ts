// How a client becomes as a file wants it.
import {
  ClientMetadataError,
  type ClientRecord,
  type ClientSecretRecord,
  documentOf,
  hasResource,
  hasSecret,
  isUnchecked,
  type NewClient,
  rotatedSecrets,
  usableSecrets,
} from '@grantd/core';
import { changesOf } from '../data/changes.ts';
import { ConditionBroken, isRevision, isSameClient, issuerIsLocked, under } from '../data/conditions.ts';
import { isOfPersonalTokens } from '../instance/personal_tokens_client.ts';
import { CLIENT_ID, defaultGrants, isSettable, type Members, wholeClient } from './client_metadata.ts';
import {
  DEFAULT_OVERLAP,
  idProblem,
  publishKeys,
  revokeFormerSubjects,
  revokeForOthers,
} from './client_rules.ts';
import type { DesiredClient, FileProblem } from './desired_state.ts';
import type { OperationParts } from './operation.ts';
import { InvalidInput, partsOf } from './operation_refused.ts';
import { optional } from './schema.ts';
import {
  type Change,
  changedMeanwhile,
  differencesOf,
  type MemberChange,
  type Planned,
  type Planning,
  type PlanParts,
} from './state_changes.ts';
import type { Warn } from './warning.ts';

interface ClientPlanning extends Planning {
  /** Names of the groups that exist once the file is applied. */
  readonly groupNames: ReadonlySet<string>;
  /** Tells the resource URIs of the APIs that exist once the file is applied. */
  readonly isResource: (uri: string) => boolean;
}

/** As `hasResource`, for many questions about one list: to compare each with all takes a minute for a thousand APIs. */
export function resourceFinder(resources: readonly unknown[]): (uri: string) => boolean {
  const alike = new Map<string, string[]>();
  // The same for all spellings of a resource: without ports, and slashes at the end.
  const keyOf = (uri: string) => uri.toLowerCase().replaceAll(/(?::\d*|\/)(?=[/?#]|$)/g, '');
  for (const resource of resources.map(String)) {
    const key = keyOf(resource);
    alike.set(key, [...(alike.get(key) ?? []), resource]);
  }
  return (uri) => hasResource(alike.get(keyOf(uri)) ?? [], uri);
}

export async function planClient(
  parts: PlanParts,
  { id, members, secret, isDisabled }: DesiredClient,
  before: ClientRecord | undefined,
  { isResource, groupNames, secrets }: ClientPlanning,
): Promise<Planned | FileProblem[]> {
  const path = ['clients', id];
  if (before !== undefined && isUnchecked(before)) {
    const isOfDocument = before.documentValidAt !== undefined;
    return [{ path, said: [isOfDocument ? 'document_client' : 'self_registered'] }];
  }
  const isNew = before === undefined || isOfPersonalTokens(before);
  // Only a file whose form is wrong has others.
  const taken = isNew && CLIENT_ID.test(id) ? await idProblem(parts, id) : undefined;
  const problems: FileProblem[] = taken === undefined ? [] : [{ path, said: taken }];
  const server = await parts.server();
  let after: NewClient | undefined;
  try {
    after = await wholeClient(server, parts.configuration, { id }, members, before);
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    for (const { in: pointer, detail, said } of error.errors)
      problems.push({ path: [...path, ...partsOf(pointer)], said: said ?? { english: detail } });
  }
  const groupsBefore = before?.metadata?.allowed_groups ?? [];
  // A list that is wrong by itself is compared with nothing.
  const namesIn = (member: 'apis' | 'allowed_groups') => {
    const isWrong = problems.some((one) => one.path[path.length] === member);
    return isWrong ? [] : [members[member] ?? []].flat().map(String);
  };
  const unknownApis = namesIn('apis').filter((uri) => !isResource(uri));
  const unknownGroups = namesIn('allowed_groups').filter(
    (name) => !groupNames.has(name) && !groupsBefore.includes(name),
  );
  const needsSecret = hasSecret(after?.metadata);
  problems.push(
    ...unknownApis.map((uri) => ({
      path: [...path, 'apis'],
      said: ['no_enabled_api', uri] as const,
    })),
    ...unknownGroups.map((name) => ({
      path: [...path, 'allowed_groups'],
      said: ['no_group', name] as const,
    })),
    ...(needsSecret || secret === undefined || after === undefined
      ? []
      : [{ path: [...path, 'secret'], said: ['secret_unneeded'] as const }]),
  );
  if (problems.length > 0 || after === undefined) return problems;
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
        said: ['secret_needed'],
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
    return [{ path: [...path, 'secret'], said: error.said }];
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
    if (before !== undefined)
      for (const warning of await revokeFormerSubjects(parts, before, record)) warn(warning);
  };
  const action = before === undefined ? 'add' : 'change';
  const setsGroups = differences.some(({ name }) => name === 'allowed_groups');
  const client = before && { before, after: isDisabled && !wasDisabled ? undefined : after, setsGroups };
  const change = { action, kind: 'client', name: id, members: differences, perform } as const;
  return { changes: [{ ...change, ...optional('client', client), ...optional('covers', added?.hash) }] };
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
    if (await clients.replace(record, current, clientChanges(current, record))) return record;
    current = await clients.get(before.id);
  }
  return undefined;
}

/** The members of a client that a file needs. */
export function comparable(client: NewClient): Members {
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

export function removal({ storage: { clients }, issuer }: OperationParts, before: ClientRecord): Change {
  const { id } = before;
  return {
    action: 'remove',
    kind: 'client',
    name: id,
    members: [],
    client: { before, setsGroups: false },
    async perform() {
      const current = await clients.get(id);
      if (!current || !isSameClient(current, before)) throw changedMeanwhile(`client ${id}`);
      const { revision = 0 } = current;
      const remove = () => under(isRevision(issuer, id, revision), async () => clients.remove(id));
      const isRemoved = await under(issuerIsLocked(issuer), remove).catch((error: unknown) => {
        if (error instanceof ConditionBroken) return false;
        throw error;
      });
      if (!isRemoved) throw changedMeanwhile(`client ${id}`);
    },
  };
}

/** What an event records about a change of a client. The response types follow from the grant types. */
export function clientChanges(before: Described, after: Described): string | undefined {
  const membersOf = (client: Described) => {
    const { response_types: _, ...members } = documentOf(client);
    return members;
  };
  return changesOf(membersOf(before), membersOf(after));
}

type Described = Parameters<typeof documentOf>[0];
