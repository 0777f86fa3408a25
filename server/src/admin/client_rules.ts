import {
  type ClientIdentity,
  ClientMetadataError,
  type ClientRecord,
  type ClientSecretRecord,
  DocumentError,
  documentOf,
  hasResource,
  hasSecret,
  isConfidential,
  isFetched,
  isMemberName,
  isSameResource,
  memberOf,
  type NewClient,
  rotatedSecrets,
  signingAlgorithmsOf,
  unreadableNameOf,
  usableSecrets,
  withoutTag,
} from '@grantd/core';
import { documentRefusal } from '@grantd/core/node';
import type { Configuration } from '../config/configuration.ts';
import { flagOf } from '../config/options.ts';
import { Refused } from '../config/refused.ts';
import { ADMIN_CLIENT_ID, adminProblem } from '../instance/admin_access.ts';
import { AccessEnding } from '../people/groups.ts';
import {
  type AdminParts,
  type ClientBuilder,
  changedByOthers,
  MAX_ATTEMPTS,
  type OperationParts,
  requireReachable,
} from './operation.ts';
import { InvalidInput, OperationRefused } from './operation_refused.ts';

/** Client metadata by member name, as given. */
export type Members = Readonly<Record<string, unknown>>;

const CLIENT_ID = /^[\x21-\x7E]{1,200}$/;

/** @throws {OperationRefused} the client does not exist */
export async function requireClient(
  { storage }: Pick<OperationParts, 'storage'>,
  id: string,
): Promise<ClientRecord> {
  const client = await storage.clients.get(id);
  if (!client)
    throw new OperationRefused(
      'not_found',
      `there is no client ${id}`,
      'grantd client list shows all clients.',
    );
  return client;
}

/**
 * Builds a registration, without its secret. Needs no database.
 * @throws {InvalidInput} the client would not work or would not be safe
 * @throws {Refused} a document that the client names cannot be fetched right now
 */
export function registrationFrom(
  builder: ClientBuilder,
  configuration: Configuration,
  id: string,
  members: Members,
): Promise<NewClient> {
  if (!CLIENT_ID.test(id))
    throw new InvalidInput('client_id', 'expected visible ASCII characters, at most 200');
  requireFetchable(members, configuration);
  return clientFrom(builder, { id }, { grant_types: defaultGrants(members), ...members });
}

/**
 * Builds a client record.
 * @throws {InvalidInput} the metadata is invalid
 * @throws {Refused} a document that the client names cannot be fetched right now
 */
async function clientFrom(
  builder: ClientBuilder,
  identity: ClientIdentity,
  members: Members,
  registered?: ClientRecord,
): Promise<NewClient> {
  try {
    const client = await builder.operator.clientFrom(identity, members, registered);
    const problem = adminProblem(builder.issuer, client);
    if (problem !== undefined) throw new InvalidInput(problem.member, problem.problem);
    return client;
  } catch (error) {
    if (!(error instanceof ClientMetadataError)) throw error;
    const { cause } = error;
    if (cause instanceof DocumentError && cause.outcome === 'failed')
      throw new Refused(`a document of the client cannot be fetched: ${cause.message}. Try again later.`);
    throw new InvalidInput(error.member, error.problem);
  }
}

/** Default grant types: for an application with users, an API, or a machine. */
export function defaultGrants({
  redirect_uris: redirectUris,
  resource,
  token_endpoint_auth_method: method,
}: Members): readonly string[] {
  if (redirectUris !== undefined) return ['authorization_code', 'refresh_token'];
  return resource !== undefined || method === 'none' ? [] : ['client_credentials'];
}

/** A client secret: supplied by the operator, or to be generated. */
export type WantedSecret = { readonly supplied: string } | 'generate';

/** A client as stored after an operation. */
export interface StoredClient {
  readonly client: ClientRecord;
  /** A generated secret, which is shown only once. A supplied one is known. */
  readonly secret: string | undefined;
  /** What the operator should look at. */
  readonly warnings: readonly string[];
}

/**
 * The token of a client that acts for itself has the client’s ID as `sub` (RFC 9700 §4.15). The texts of scopes name
 * their API by its client ID.
 * @returns why a new client cannot have this ID; `undefined` if it can
 */
export async function idProblem(
  { people }: Pick<OperationParts, 'people'>,
  id: string,
): Promise<string | undefined> {
  if (id === ADMIN_CLIENT_ID) return `${id} is the ID of this server’s admin API`;
  return (await people.isSubject(id))
    ? `a user has or had the sub ${id}, so APIs could take the client for the user`
    : undefined;
}

/** Publishes the keys with which the server will sign for a client. Without any, it opens no server. */
export async function publishKeys(parts: Pick<OperationParts, 'server'>, client: NewClient): Promise<void> {
  if (signingAlgorithmsOf(client).length > 0) await (await parts.server()).operator.publishKeys(client);
}

/** @throws {OperationRefused} the ID is taken, or an API or a group does not exist */
export async function addClient(
  parts: OperationParts,
  registration: NewClient,
  wanted: WantedSecret,
): Promise<StoredClient> {
  const { id, metadata = {} } = registration;
  requireReachable(parts, metadata.sign_in_policy);
  await requireKnownGroups(parts, metadata.allowed_groups);
  await requireKnownApis(parts, metadata.apis);
  const problem = await idProblem(parts, id);
  if (problem !== undefined) throw new OperationRefused('conflict', problem, 'choose another ID.');
  const secret = hasSecret(registration.metadata) ? await secretFor(parts, wanted, registration) : undefined;
  const client = { ...registration, ...(secret !== undefined && { secrets: [secret.stored] }) };
  await publishKeys(parts, client);
  if (!(await parts.storage.clients.add(client)))
    throw new OperationRefused(
      'conflict',
      `client ${id} already exists`,
      `choose another ID, or run grantd client show ${id}.`,
    );
  const { jwks, jwks_uri: keysUri, token_endpoint_auth_method: method } = metadata;
  const isWithoutScopes = registration.scopes.length === 0 && registration.grantTypes.length > 0;
  const hasIdleKeys = secret !== undefined && method === undefined && (jwks ?? keysUri) !== undefined;
  return {
    client,
    secret: secret?.generated,
    warnings: [
      ...(isWithoutScopes ? ['this client cannot obtain any scope, because --scope is missing'] : []),
      ...(await foreignScopes(parts, registration)),
      ...(hasIdleKeys
        ? [
            `${id} authenticates with a secret, not with its keys. To use the keys, run grantd client update ${id} --auth-method private_key_jwt`,
          ]
        : []),
      ...unreadableName(registration),
      ...missingPkce(registration),
    ],
  };
}

/** New values of members, and names of members to remove. */
export interface ClientChange {
  readonly members: Members;
  readonly unset: readonly string[];
}

interface UpdateOptions {
  /** Checks each read of the client. @throws if the change is not for this version */
  readonly requireVersion?: (client: ClientRecord) => void;
  /** Checks what is to be stored. @throws if it may not be */
  readonly requireResult?: (client: NewClient) => void;
  /** Receives the number of users checked so far, if users may no longer use the client. */
  readonly onUsers?: (users: number) => void;
}

/**
 * Applies a change and keeps everything else, including concurrent changes. Tokens stay valid, except those of users who
 * may no longer use the client.
 * @throws {OperationRefused} the client does not exist, or concurrent changes won every attempt
 */
export async function updateClient(
  parts: OperationParts,
  id: string,
  change: ClientChange,
  { requireVersion, requireResult, onUsers }: UpdateOptions = {},
): Promise<StoredClient> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const client = await requireClient(parts, id);
    requireVersion?.(client);
    const { record, newSecret } = await changed(parts, client, change);
    requireResult?.(record);
    await publishKeys(parts, record);
    if (!(await parts.storage.clients.replace(record, client))) continue;
    const { members } = change;
    const { disabledAtMs } = client;
    return {
      client: { ...record, ...(disabledAtMs !== undefined && { disabledAtMs }) },
      secret: newSecret,
      warnings: [
        // Also if nothing changed: an earlier attempt may have died before the end.
        ...(members.allowed_groups === undefined ? [] : await revokeForOthers(parts, record, onUsers)),
        ...(members.client_name === undefined ? [] : unreadableName(record)),
        ...(members.insecure_allow_missing_pkce === undefined ? [] : missingPkce(record)),
        ...(await foreignScopes(parts, record)),
      ],
    };
  }
  throw changedByOthers(id);
}

interface ChangedClient {
  readonly record: NewClient;
  readonly newSecret: string | undefined;
}

async function changed(
  parts: OperationParts,
  client: ClientRecord,
  change: ClientChange,
): Promise<ChangedClient> {
  const { response_types: _, ...document } = documentOf(client); // derived from the grant types
  const members: Record<string, unknown> = {
    ...withoutOverridden(document, client, change),
    ...change.members,
  };
  for (const name of change.unset) delete members[name];
  const set = setByOperator(client, change);
  if (set.length > 0) members.set_by_operator = set;
  const { id, registrationTokenDigest, registeredAt } = client;
  const identity = {
    id,
    ...(registrationTokenDigest !== undefined && { registrationTokenDigest }),
    ...(registeredAt !== undefined && { registeredAt }),
  };
  requireFetchable(change.members, parts.configuration);
  const updated = await clientFrom(await parts.server(), identity, members, client);
  const { apis = [], allowed_groups: groups = [], sign_in_policy: policy } = updated.metadata ?? {};
  if (policy !== client.metadata?.sign_in_policy) requireReachable(parts, policy);
  await requireKnownGroups(
    parts,
    groups.filter((name) => !client.metadata?.allowed_groups?.includes(name)),
  );
  await requireKnownApis(
    parts,
    apis.filter((uri) => !hasResource(client.metadata?.apis ?? [], uri)),
  );

  if (!hasSecret(updated.metadata)) return { record: updated, newSecret: undefined };
  const usable = usableSecrets(updated.metadata, client.secrets);
  if (usable !== undefined) return { record: { ...updated, secrets: usable }, newSecret: undefined };
  const { stored, generated } = await secretFor(parts, 'generate', updated);
  return { record: { ...updated, secrets: [stored] }, newSecret: generated };
}

/** Without a self-registered client’s translations of members that the operator now sets or unsets. */
function withoutOverridden(
  document: Members,
  { registrationTokenDigest }: ClientRecord,
  { members, unset }: ClientChange,
) {
  if (registrationTokenDigest === undefined) return document;
  const said = new Set([...Object.keys(members), ...unset]);
  const isOverridden = (name: string) => name.includes('#') && said.has(withoutTag(name)[0]);
  return Object.fromEntries(Object.entries(document).filter(([name]) => !isOverridden(name)));
}

/**
 * Members that a self-registered client can no longer change, because this or an earlier update set or unset them.
 * Empty if the operator releases them all.
 */
function setByOperator(
  { registrationTokenDigest, metadata }: ClientRecord,
  { members, unset }: ClientChange,
): readonly string[] {
  if (registrationTokenDigest === undefined || unset.includes('set_by_operator')) return [];
  const { set_by_operator: before = metadata?.set_by_operator ?? [] } = members;
  const changed = [...Object.keys(members), ...unset].filter((name) => {
    const [base] = withoutTag(name);
    return isMemberName(base) && memberOf(base).setBy === 'client';
  });
  return [...new Set([...(Array.isArray(before) ? before.map(String) : []), ...changed])];
}

const MIN_CHARACTERS = 8;

/** Whether an operator may choose this text as a client secret. */
export function isUsableSecret(text: string): boolean {
  return /^[\x20-\x7E]+$/.test(text) && text.length >= MIN_CHARACTERS;
}

/** Ends the sentence “expected …”. */
export const SECRET_FORM = `at least ${MIN_CHARACTERS} ASCII characters`;

/** @throws {InvalidInput} the client signs assertions with the secret, which is too short for that */
async function secretFor(
  parts: OperationParts,
  wanted: WantedSecret,
  { metadata }: Pick<ClientRecord, 'metadata'>,
): Promise<{ readonly stored: ClientSecretRecord; readonly generated?: string }> {
  const { operator } = await parts.server();
  if (wanted === 'generate') {
    const secret = operator.newClientSecret(metadata);
    return { stored: await operator.hashClientSecret(secret, metadata), generated: secret };
  }
  try {
    return { stored: await operator.hashClientSecret(wanted.supplied, metadata) };
  } catch (error) {
    if (error instanceof ClientMetadataError) throw new InvalidInput('client_secret', error.problem);
    throw error;
  }
}

/** Seconds (one day) for which a replaced secret still works. */
export const DEFAULT_OVERLAP = 24 * 60 * 60;

/** Seconds (90 days). */
export const MAX_OVERLAP = 90 * 24 * 60 * 60;

interface RotatedSecret {
  /** The new secret, if it was generated. */
  readonly secret: string | undefined;
  /** When the old secret ends, in milliseconds since 1970; `undefined` at once. */
  readonly oldEndsAtMs: number | undefined;
}

/**
 * Adds a secret and sets the end of the previous one.
 * @param overlap seconds for which the previous secret still works
 * @throws {OperationRefused} the client has no secret, or concurrent changes won every attempt; then no new secret is
 * stored
 */
export async function rotateSecret(
  parts: OperationParts,
  id: string,
  wanted: WantedSecret,
  overlap: number,
  requireVersion?: UpdateOptions['requireVersion'],
): Promise<RotatedSecret> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const client = await requireClient(parts, id);
    requireVersion?.(client);
    if (client.secrets === undefined)
      throw new OperationRefused(
        'conflict',
        `${id} has no secret, because it is a public client or authenticates with keys`,
      );
    const { stored, generated } = await secretFor(parts, wanted, client);
    const secrets = rotatedSecrets(client.secrets, stored, { nowMs: parts.clock(), overlap });
    if (!(await parts.storage.clients.replaceSecrets(id, secrets, client))) continue;
    const endsAt = secrets[1]?.expiresAt;
    return { secret: generated, oldEndsAtMs: endsAt === undefined ? undefined : endsAt * 1000 };
  }
  throw changedByOthers(id, 'Its secrets are unchanged');
}

/** Also revokes all tokens of the client. @throws {OperationRefused} there is no such client */
export async function removeClient(parts: AdminParts, id: string): Promise<void> {
  const isRemoved = await changePermitted(parts, id, async () => parts.storage.clients.remove(id));
  if (!isRemoved) throw new OperationRefused('changed', `another command has just removed ${id}`);
}

/**
 * Changes a client that the caller may change, also at the moment of the change.
 * @throws {OperationRefused} there is no such client, or the caller may not change it
 */
async function changePermitted<T>(parts: AdminParts, id: string, work: () => Promise<T>): Promise<T> {
  const { caller, issuer } = parts;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const client = await requireClient(parts, id);
    caller.requireClient(client);
    const done = await caller.changeClient(issuer, client, work);
    if (done !== undefined) return done.outcome;
  }
  throw changedByOthers(id, 'Nothing was done');
}

/** An unused client that registered itself. */
export interface UnusedClient {
  readonly id: string;
  readonly name: string | undefined;
  /** Seconds since 1970 of its last use. */
  readonly usedUntil: number;
}

/** More than may register themselves by default. */
const MAX_LISTED = 20_000;

/** @param unusedSince seconds since 1970 */
export async function listUnusedClients(
  { storage, consents }: Pick<OperationParts, 'storage' | 'consents'>,
  unusedSince: number,
): Promise<readonly UnusedClient[]> {
  const unused: UnusedClient[] = [];
  for (const { id, name, usedUntil, registeredAt = 0 } of await storage.clients.listUnused(
    unusedSince,
    MAX_LISTED,
  ))
    if (!(await consents.isGivenTo(id))) unused.push({ id, name, usedUntil: usedUntil ?? registeredAt });
  return unused;
}

/**
 * Removes those of the clients that are still unused.
 * @param unusedSince seconds since 1970
 * @returns those that were removed
 */
export async function removeUnusedClients(
  { storage, consents }: Pick<OperationParts, 'storage' | 'consents'>,
  ids: readonly string[],
  unusedSince: number,
): Promise<readonly string[]> {
  const removed: string[] = [];
  for (const id of ids)
    if (!(await consents.isGivenTo(id)) && (await storage.clients.remove(id, unusedSince))) removed.push(id);
  return removed;
}

/** Disabling also revokes all tokens of the client. @throws {OperationRefused} there is no such client */
export async function setClientDisabled(
  parts: AdminParts,
  id: string,
  disabled: boolean,
): Promise<ClientRecord> {
  await changePermitted(parts, id, async () => parts.storage.setDisabled('client', id, disabled));
  // If the client was removed at the same time, it was neither disabled nor enabled.
  return requireClient(parts, id);
}

/** Seconds (one day). */
export const DEFAULT_REGISTRATION_TOKEN_LIFETIME = 24 * 60 * 60;

/** Seconds (90 days). A token cannot be revoked before it expires. */
export const MAX_REGISTRATION_TOKEN_LIFETIME = 90 * 24 * 60 * 60;

interface RegistrationToken {
  readonly token: string;
  readonly expiresAtMs: number;
  readonly warnings: readonly string[];
}

/**
 * Makes an initial access token, with which clients can register themselves (RFC 7591 §3).
 * @param lifetime in seconds
 */
export async function newRegistrationToken(
  parts: Pick<OperationParts, 'server' | 'configuration' | 'clock'>,
  lifetime: number,
  isForOne: boolean,
): Promise<RegistrationToken> {
  const { operator } = await parts.server();
  const token = await operator.newInitialAccessToken({ lifetime, isForOne });
  return {
    token,
    expiresAtMs: parts.clock() + lifetime * 1000,
    warnings:
      parts.configuration.settings.registration === 'token'
        ? []
        : ['the server accepts this token only with --registration token'],
  };
}

/** What is known about a client besides its metadata. */
export function stateOf(client: ClientRecord) {
  const { secrets, registrationTokenDigest, disabledAtMs } = client;
  return {
    type: isConfidential(client) ? ('confidential' as const) : ('public' as const),
    isSelfRegistered: registrationTokenDigest !== undefined,
    disabledAtMs,
    secrets: secrets?.map(({ serverSecret, createdAtMs, expiresAt, lastUsedAtMs }) => ({
      createdAtMs,
      endsAtMs: expiresAt === undefined ? undefined : expiresAt * 1000,
      lastUsedAtMs,
      serverSecret,
    })),
  };
}

/**
 * Catches mistyped URIs, which would name an API that no request can get.
 * @throws {OperationRefused} a URI is not that of an enabled API
 */
async function requireKnownApis(
  { storage }: Pick<OperationParts, 'storage'>,
  resources: readonly string[] = [],
): Promise<void> {
  const apis = (await storage.clients.findApis?.({ resources, scopes: [] })) ?? [];
  const unknown = resources.find((resource) => !apis.some((api) => isSameResource(api.resource, resource)));
  if (unknown !== undefined)
    throw new OperationRefused(
      'conflict',
      `no client has the resource URI ${unknown}`,
      `add the API first, for example with grantd client add my-api --resource ${unknown} --api-scope read`,
    );
}

/**
 * Catches mistyped names, which would keep everyone out, and names in another spelling.
 * @throws {OperationRefused} there is no such group
 */
async function requireKnownGroups(
  { groups }: Pick<OperationParts, 'groups'>,
  names: readonly string[] = [],
): Promise<void> {
  for (const name of names) {
    const found = await groups.byName(name);
    if (found?.name === name) continue;
    const advice =
      found === undefined
        ? `add it first with grantd group add ${JSON.stringify(name)}`
        : `use ${found.name}`;
    throw new OperationRefused('conflict', `there is no group ${name}`, `${advice}.`);
  }
}

/** Revokes the tokens of users who may no longer use a client. @returns a sentence if there were any */
export async function revokeForOthers(
  parts: OperationParts,
  client: NewClient,
  onUsers: (users: number) => void = () => {},
): Promise<readonly string[]> {
  const users = await new AccessEnding(parts).leaveClient(client, onUsers);
  if (users === 0) return [];
  return [
    `revoked the tokens of ${users === 1 ? '1 user' : `${users} users`} who may no longer use ${client.id}`,
  ];
}

/**
 * Warns about a name that users could mistake for another. It is only a warning, because the operator may have chosen
 * it on purpose.
 */
function unreadableName(client: NewClient): readonly string[] {
  const expected = unreadableNameOf(documentOf(client));
  return expected === undefined
    ? []
    : [`users may not recognise the name of ${client.id}: expected ${expected}`];
}

/** Warns each time that the operator waives PKCE. `client show` also shows it. */
function missingPkce({ id, metadata }: NewClient): readonly string[] {
  if (metadata?.insecure_allow_missing_pkce !== true) return [];
  return [
    `${id} may omit PKCE, which exposes it to code injection (RFC 9700 section 2.1.1). Once it uses PKCE, run grantd client update ${id} --unset insecure-allow-missing-pkce.`,
  ];
}

/** Warns about scopes that the client cannot get, because they belong to APIs that it may not request. */
async function foreignScopes(
  { storage }: Pick<OperationParts, 'storage'>,
  { id, scopes, metadata }: NewClient,
): Promise<readonly string[]> {
  const { apis: allowed = [] } = metadata ?? {};
  const apis = (await storage.clients.findApis?.({ resources: [], scopes })) ?? [];
  return scopes.flatMap((scope) => {
    const owners = apis.filter((api) => api.scopes.includes(scope)).map(({ resource }) => resource);
    if (owners.length === 0 || owners.some((owner) => hasResource(allowed, owner))) return [];
    return [
      `${id} cannot get the scope ${scope}, which belongs to ${owners.join(' and ')}. To allow it, run ` +
        `grantd client update ${id} ${[...allowed, owners[0]].map((uri) => `--api ${uri}`).join(' ')}`,
    ];
  });
}

/**
 * Rejects a URL that the server would never fetch.
 * @param members the client settings to set
 * @throws {InvalidInput} a URL is not allowed
 */
function requireFetchable(members: Members, configuration: Configuration): void {
  const refused = unfetchable(members, configuration);
  if (refused !== undefined) throw new InvalidInput(refused.member, refused.problem);
}

/** Finds a URL that the server would never fetch. @returns its member, and why */
export function unfetchable(
  members: Members,
  { settings: { insecureDevelopment } }: Configuration,
): { readonly member: string; readonly problem: string } | undefined {
  for (const [name, value] of Object.entries(members)) {
    if (!isFetched(name)) continue;
    const [member] = withoutTag(name);
    for (const url of [value].flat()) {
      if (!URL.canParse(String(url))) continue; // the library reports it
      const refusal = documentRefusal(String(url), { allowPrivateAddresses: insecureDevelopment });
      if (refusal === undefined) continue;
      const way = insecureDevelopment
        ? ''
        : `; if the server runs with ${flagOf('insecureDevelopment')}, add that flag here too`;
      return { member, problem: `the server never fetches ${url}: ${refusal}${way}` };
    }
  }
  return undefined;
}

/** Whether operators can set this member of the client metadata. */
export function isSettable(name: string): boolean {
  const [base] = withoutTag(name);
  return isMemberName(base) && !memberOf(base).isDerived && base !== 'set_by_operator';
}

type MemberKind = ReturnType<typeof memberOf>['kind'];

/** JSON Schema of a member of client metadata. */
export function schemaOfKind({ type, each }: Pick<MemberKind, 'type' | 'each'>): object {
  if (each !== undefined) return { type: 'array', items: schemaOfKind(each) };
  const literals = [...type.matchAll(/'([^']*)'/g)].map(([, literal]) => literal);
  if (literals.length > 0) return { enum: literals };
  return { type: type === 'number' ? 'integer' : ['boolean', 'object'].includes(type) ? type : 'string' };
}
