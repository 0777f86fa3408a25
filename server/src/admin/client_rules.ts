// Rules about clients.
import {
  ClientMetadataError,
  type ClientRecord,
  type ClientSecretRecord,
  documentOf,
  hasResource,
  isSameResource,
  JWT_BEARER_GRANT,
  type NewClient,
  sectorOf,
  signingAlgorithmsOf,
  unreadableNameOf,
} from '@grantd/core';
import { isJsonObject } from '@grantd/core/options';
import { flagOf, variableOf } from '../config/options.ts';
import { OWN_SCOPE } from '../config/personal_token_options.ts';
import { ADMIN_CLIENT_ID } from '../instance/admin_access.ts';
import { isOfPersonalTokens, PERSONAL_TOKENS_CLIENT } from '../instance/personal_tokens_client.ts';
import { AccessEnding } from '../people/groups.ts';
import type { OperationParts } from './operation.ts';
import { InvalidInput, OperationRefused, requireEachFits, type Said } from './operation_refused.ts';
import { Warning, type WarningCode } from './warning.ts';

/** @throws {OperationRefused} the client does not exist */
export async function requireClient(
  { storage }: Pick<OperationParts, 'storage'>,
  id: string,
): Promise<ClientRecord> {
  const client = await storage.clients.get(id);
  if (!client)
    throw new OperationRefused('not_found', ['no_client', id], 'grantd client list shows all clients.');
  return client;
}

/**
 * The token of a client that acts for itself has the client’s ID as `sub` (RFC 9700 §4.15). The texts of scopes name
 * their API by its client ID.
 * @returns why a new client cannot have this ID; `undefined` if it can
 */
export async function idProblem(
  { people }: Pick<OperationParts, 'people'>,
  id: string,
): Promise<Said | undefined> {
  if (id === ADMIN_CLIENT_ID) return ['id_of_admin_api', id];
  if (id === PERSONAL_TOKENS_CLIENT) return ['id_of_personal_tokens', id];
  return (await people.isSubject(id)) ? ['id_of_user', id] : undefined;
}

export function clientExists(id: string): OperationRefused {
  const advice = `choose another ID, or run grantd client show ${id}.`;
  return new OperationRefused('conflict', ['client_exists', id], advice, 'client_id');
}

/** @throws {OperationRefused} no new client can have this ID now */
export async function requireFreeId(
  parts: Pick<OperationParts, 'people' | 'storage'>,
  id: string,
): Promise<void> {
  const problem = await idProblem(parts, id);
  if (problem !== undefined)
    throw new OperationRefused('conflict', problem, 'choose another ID.', 'client_id');
  if (await parts.storage.clients.get(id)) throw clientExists(id);
}

/** Operators can only disable and enable the client of the personal access tokens, and get none of its tokens. @throws {OperationRefused} it is this one */
export function requireOfOperators(client: Pick<ClientRecord, 'id' | 'metadata'>): void {
  if (!isOfPersonalTokens(client)) return;
  throw new OperationRefused(
    'conflict',
    ['client_of_personal_tokens', client.id],
    `grantd client disable ${client.id} ends all of these tokens.`,
  );
}

/** Publishes the keys with which the server will sign for a client. Without any, it opens no server. */
export async function publishKeys(parts: Pick<OperationParts, 'server'>, client: NewClient): Promise<void> {
  if (signingAlgorithmsOf(client).length > 0) await (await parts.server()).operator.publishKeys(client);
}

const MIN_CHARACTERS = 8;

/** Whether an operator may choose this text as a client secret. */
export function isUsableSecret(text: string): boolean {
  return /^[\x20-\x7E]+$/.test(text) && text.length >= MIN_CHARACTERS;
}

/** Ends the sentence “expected …”. */
export const SECRET_FORM = `at least ${MIN_CHARACTERS} ASCII characters`;

/** @throws {InvalidInput} an operator may not choose this text as a client secret */
export function requireUsableSecret(text: string): void {
  if (!isUsableSecret(text)) throw new InvalidInput('client_secret', ['secret_form', String(MIN_CHARACTERS)]);
}

/**
 * Hashes a client secret.
 * @param supplied by the operator. Default: the server generates one
 * @throws {InvalidInput} the client signs assertions with the secret, which is too short for that
 */
export async function secretFor(
  parts: Pick<OperationParts, 'server'>,
  supplied: string | undefined,
  { metadata }: Pick<ClientRecord, 'metadata'>,
): Promise<{ readonly stored: ClientSecretRecord; readonly generated?: string }> {
  const { operator } = await parts.server();
  if (supplied === undefined) {
    const generated = operator.newClientSecret(metadata);
    return { stored: await operator.hashClientSecret(generated, metadata), generated };
  }
  try {
    return { stored: await operator.hashClientSecret(supplied, metadata) };
  } catch (error) {
    if (error instanceof ClientMetadataError) throw new InvalidInput('client_secret', error.said);
    throw error;
  }
}

/** Seconds (one day) for which a replaced secret still works. */
export const DEFAULT_OVERLAP = 24 * 60 * 60;

/** Seconds (90 days). */
export const MAX_OVERLAP = 90 * 24 * 60 * 60;

/** Seconds (one day). */
export const DEFAULT_REGISTRATION_TOKEN_LIFETIME = 24 * 60 * 60;

/** Seconds (90 days). A token cannot be revoked before it expires. */
export const MAX_REGISTRATION_TOKEN_LIFETIME = 90 * 24 * 60 * 60;

/**
 * Catches mistyped URIs, which would name an API that no request can get.
 * @param known those that the client has already
 * @throws {OperationRefused} with each URI that is not that of an enabled API
 */
export async function requireKnownApis(
  { storage }: Pick<OperationParts, 'storage'>,
  resources: readonly string[] = [],
  known: readonly string[] = [],
): Promise<void> {
  const apis = (await storage.clients.findApis?.({ resources, scopes: [] })) ?? [];
  const unknown = [...resources.entries()].filter(
    ([, resource]) =>
      !hasResource(known, resource) && !apis.some((api) => isSameResource(api.resource, resource)),
  );
  await requireEachFits(
    unknown.map(([index, resource]) => async () => {
      throw new OperationRefused(
        'conflict',
        ['no_api', resource],
        `add the API first, for example with grantd client add my-api --resource ${resource} --api-scope read.`,
        `apis.${index}`,
      );
    }),
  );
}

/**
 * Catches mistyped names, which would keep everyone out, and names in another spelling.
 * @param known those that the client has already
 * @throws {OperationRefused} with each group that does not exist
 */
export async function requireKnownGroups(
  { groups }: Pick<OperationParts, 'groups'>,
  names: readonly string[] = [],
  known: readonly string[] = [],
): Promise<void> {
  await requireEachFits(
    names.map((name, index) => async () => {
      const found = known.includes(name) ? undefined : await groups.byName(name);
      if (known.includes(name) || found?.name === name) return;
      const advice =
        found === undefined
          ? `add it first with grantd group add ${JSON.stringify(name)}`
          : `use ${found.name}`;
      throw new OperationRefused('conflict', ['no_group', name], `${advice}.`, `allowed_groups.${index}`);
    }),
  );
}

/** Revokes the tokens of users who may no longer use a client. @returns a warning if there were any */
export async function revokeForOthers(
  parts: OperationParts,
  client: NewClient,
  onUsers: (users: number) => void = () => {},
): Promise<readonly Warning[]> {
  const users = await new AccessEnding(parts).leaveClient(client, onUsers);
  if (users === 0) return [];
  return [new Warning('tokens_of_others_revoked', client.id, String(users))];
}

/**
 * Revokes the tokens of a client that had other pairwise identifiers of its users before a change: no ending could name
 * those to followers (ADR 23).
 * @returns a warning if it had
 */
export async function revokeFormerSubjects(
  { storage }: Pick<OperationParts, 'storage'>,
  before: ClientRecord,
  client: NewClient,
): Promise<readonly Warning[]> {
  if (!hasFormerSubjects(before, client)) return [];
  await storage.revokeAll({ principal: 'client', id: client.id });
  return [new Warning('tokens_with_other_sub_revoked', client.id)];
}

/** Whether users of a client had other pairwise identifiers before a change. */
export function hasFormerSubjects(before: ClientRecord, client: NewClient): boolean {
  const [earlier, later] = [before, client].map((one) =>
    one.metadata?.subject_type === 'pairwise' ? sectorOf(one) : undefined,
  );
  return earlier !== undefined && earlier !== later;
}

/** What the operator should look at after a client was added or changed. @param isSet whether the operator has set a member */
export async function clientWarnings(
  parts: Pick<OperationParts, 'storage' | 'scopeTexts' | 'configuration' | 'trustedIssuers'>,
  client: NewClient,
  isSet: (member: string) => boolean = () => true,
): Promise<readonly Warning[]> {
  const { id, scopes, metadata: { apis = [] } = {} } = client;
  return [
    ...(isSet('client_name') ? unreadableName(client) : []),
    ...(isSet('insecure_allow_missing_pkce') ? missingPkce(client) : []),
    ...(isSet('grant_types') ? unusableJwtGrant(parts, client) : []),
    ...scopeWarnings(id, apis, await scopeConcerns(parts, { scopes, apis })),
  ];
}

/** Warns about a grant that no rule of the operator lets the client use. */
function unusableJwtGrant(
  { trustedIssuers }: Pick<OperationParts, 'trustedIssuers'>,
  { id, grantTypes }: NewClient,
): readonly Warning[] {
  if (!grantTypes.includes(JWT_BEARER_GRANT)) return [];
  const variable = variableOf('trustedIssuers');
  if (trustedIssuers === undefined)
    return [new Warning('no_trusted_issuer', id, JWT_BEARER_GRANT, variable, flagOf('trustedIssuers'))];
  const isNamed = trustedIssuers.some(([, { grants }]) =>
    (Array.isArray(grants) ? grants : []).some(
      (grant) => isJsonObject(grant) && Array.isArray(grant.clients) && grant.clients.includes(id),
    ),
  );
  return isNamed ? [] : [new Warning('not_among_clients', id, JWT_BEARER_GRANT, variable)];
}

/**
 * Warns about a name that users could mistake for another. It is only a warning, because the operator may have chosen
 * it on purpose.
 */
function unreadableName(client: NewClient): readonly Warning[] {
  const expected = unreadableNameOf(documentOf(client));
  return expected === undefined ? [] : [new Warning('name_unreadable', client.id, expected)];
}

/** Warns each time that the operator waives PKCE. `client show` also shows it. */
function missingPkce({ id, metadata }: NewClient): readonly Warning[] {
  if (metadata?.insecure_allow_missing_pkce !== true) return [];
  return [new Warning('pkce_waived', id)];
}

/** A scope that a client cannot get as it is registered, or that may be mistyped. */
export interface ScopeConcern {
  readonly scope: string;
  /** The APIs that have it, none of which the client may request. Empty if this server knows no such scope. */
  readonly owners: readonly string[];
}

/**
 * Scopes that belong to APIs that the client may not request, and scopes that neither an API, nor texts, nor an option
 * names.
 */
export async function scopeConcerns(
  { storage, scopeTexts, configuration }: Pick<OperationParts, 'storage' | 'scopeTexts' | 'configuration'>,
  { scopes, apis: allowed = [] }: { readonly scopes: readonly string[]; readonly apis?: readonly string[] },
): Promise<readonly ScopeConcern[]> {
  const others = scopes.filter((scope) => !OWN_SCOPE.test(scope));
  if (others.length === 0) return [];
  const apis = (await storage.clients.findApis?.({ resources: [], scopes: others })) ?? [];
  const named = new Set([
    ...(await scopeTexts.list()).map(({ scope }) => scope),
    ...(configuration.settings.registrationScopes ?? []),
  ]);
  return others.flatMap((scope) => {
    const owners = apis.filter((api) => api.scopes.includes(scope)).map(({ resource }) => resource);
    const isFine =
      owners.length === 0 ? named.has(scope) : owners.some((owner) => hasResource(allowed, owner));
    return isFine ? [] : [{ scope, owners }];
  });
}

/** A warning for each concern. */
function scopeWarnings(
  id: string,
  allowed: readonly string[],
  concerns: readonly ScopeConcern[],
): readonly Warning[] {
  return concerns.map(({ scope, owners: [owner, ...others] }) => {
    if (owner !== undefined)
      return new Warning(
        'scope_of_others',
        id,
        scope,
        [owner, ...others].join(' '),
        [...allowed, owner].join(' '),
      );
    return new Warning(/[,;]/.test(scope) ? 'scope_with_separator' : 'scope_unknown', id, scope);
  });
}

/** What the page of a client in the console shows as long as it is true. */
export const SCOPE_WARNINGS: readonly WarningCode[] = [
  'scope_of_others',
  'scope_unknown',
  'scope_with_separator',
];
