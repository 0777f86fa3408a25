import {
  type AuthorizationServer,
  type ClientIdentity,
  ClientMetadataError,
  type ClientRecord,
  type ClientSecretRecord,
  DocumentError,
  documentOf,
  hasSecret,
  isFetched,
  isMemberName,
  memberOf,
  type NewClient,
  unreadableNameOf,
  usableSecrets,
  withoutTag,
} from '@grantd/core';
import { documentRefusal } from '@grantd/core/node';
import { seconds } from '@grantd/core/options';
import { type Configuration, type GivenFlags, readConfiguration } from '../config/configuration.ts';
import { flagOf } from '../config/options.ts';
import { Refused } from '../config/refused.ts';
import { serverWithoutDatabase } from '../instance/instance.ts';
import { AccessEnding } from '../people/groups.ts';
import { asBadUsage, flagOfMember, memberNamed, membersOf, withoutMembers } from './client_flags.ts';
import {
  type CommandParts,
  endProgress,
  type Output,
  printOne,
  readStandardInput,
  requireClient,
  showProgress,
} from './command.ts';
import { BadUsage } from './exit.ts';

export interface ClientAddFlags extends GivenFlags {
  readonly secretStdin?: true;
  readonly public?: true;
}

type Members = Readonly<Record<string, unknown>>;

/** The part of the server that validates metadata and builds client records. */
interface ClientBuilder {
  readonly operator: Pick<AuthorizationServer['operator'], 'clientFrom'>;
}

/**
 * Builds a registration from flags, without its secret. Opens no database, so that an invalid client never creates one.
 * @throws {BadUsage} the client would not work or would not be safe
 */
export async function registrationOf(id: string, flags: ClientAddFlags): Promise<NewClient> {
  if (!/^[\x21-\x7E]{1,200}$/.test(id))
    throw new BadUsage('ID: expected visible ASCII characters, at most 200');
  const given = membersOf(flags);
  const method = given.token_endpoint_auth_method;
  if (flags.public && method !== undefined && method !== 'none')
    throw new BadUsage('a --public client does not authenticate: omit --auth-method');
  const members = { ...(flags.public && { token_endpoint_auth_method: 'none' }), ...given };
  const configuration = readConfiguration(withoutMembers(flags), process.env);
  requireFetchable(given, configuration);
  const whole = { grant_types: defaultGrants(members), ...members };
  const client = await clientFrom(await serverWithoutDatabase(configuration, 'cli'), { id }, whole);
  if (flags.secretStdin && !hasSecret(client.metadata))
    throw new BadUsage('a client with this authentication method has no secret: omit --secret-stdin');
  return client;
}

/**
 * Builds a client record and reports errors in terms of flags.
 * @throws {BadUsage} the metadata is invalid
 * @throws {Refused} a document that the client names cannot be fetched right now
 */
export async function clientFrom(
  maker: ClientBuilder,
  identity: ClientIdentity,
  members: Members,
  registered?: ClientRecord,
): Promise<NewClient> {
  try {
    return await maker.operator.clientFrom(identity, members, registered);
  } catch (error) {
    if (!(error instanceof ClientMetadataError)) throw error;
    const { cause } = error;
    if (cause instanceof DocumentError && cause.outcome === 'failed')
      throw new Refused(`a document of the client cannot be fetched: ${cause.message}. Try again later.`);
    throw asBadUsage(error);
  }
}

/**
 * Warns about a name that users could mistake for another. It is only a warning, because the operator may have chosen
 * it on purpose.
 */
export function warnOfUnreadableName(client: NewClient): void {
  const expected = unreadableNameOf(documentOf(client));
  if (expected !== undefined)
    console.error(`grantd: users may not recognise the name of ${client.id}: expected ${expected}`);
}

/** Warns each time that the operator waives PKCE. `client show` also shows it. */
export function warnOfMissingPkce({ id, metadata }: NewClient): void {
  if (metadata?.insecure_allow_missing_pkce === true)
    console.error(
      `grantd: ${id} may omit PKCE, which exposes it to code injection (RFC 9700 section 2.1.1). Once it uses PKCE, run grantd client update ${id} --unset insecure-allow-missing-pkce.`,
    );
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

export interface ClientUpdateFlags extends GivenFlags {
  readonly unset?: readonly string[];
  readonly allowEveryone?: true;
}

/** New values of members, and names of members to remove. */
interface ClientChange {
  readonly members: Readonly<Record<string, unknown>>;
  readonly unset: readonly string[];
}

/** @throws {BadUsage} there is no change, or an unknown setting */
export function changeOf(flags: ClientUpdateFlags): ClientChange {
  const members = membersOf(flags);
  if (flags.allowEveryone && members.allowed_groups !== undefined)
    throw new BadUsage('--allow-everyone and --allow-group exclude each other');
  const named = [...(flags.unset ?? []), ...(flags.allowEveryone ? ['allowed_groups'] : [])];
  const unset = named.map((text) => {
    const name = memberNamed(text);
    if (name === undefined)
      throw new BadUsage('--unset: expected the name of a setting, as in --unset logo-uri');
    if (Object.hasOwn(members, name)) throw new BadUsage(`--unset: ${text} is set by another flag`);
    return name;
  });
  if (Object.keys(members).length + unset.length === 0)
    throw new BadUsage('nothing to update: grantd client update --help lists the settings');
  return { members, unset };
}

const MAX_ATTEMPTS = 5;

/**
 * Applies a change and keeps everything else, including concurrent changes. Tokens stay valid.
 * @throws {Refused} the client does not exist, or concurrent changes won every attempt
 */
export async function updateClient(parts: CommandParts, id: string, change: ClientChange): Promise<void> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const client = await requireClient(parts, id);
    const { record, newSecret } = await changed(parts, client, change);
    if (await parts.storage.clients.replace(record, client)) {
      // Also if nothing changed: an earlier attempt may have died before the end.
      if (change.members.allowed_groups !== undefined) await revokeForOthers(parts, record);
      if (change.members.client_name !== undefined) warnOfUnreadableName(record);
      if (change.members.insecure_allow_missing_pkce !== undefined) warnOfMissingPkce(record);
      await warnOfForeignScopes(parts, record);
      return printSecret(parts, id, newSecret, `updated ${id}`);
    }
  }
  throw new Refused(`other commands keep changing ${id}. Nothing was updated: try again.`);
}

async function changed(parts: CommandParts, client: ClientRecord, change: ClientChange) {
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
  const { apis = [], allowed_groups: groups = [] } = updated.metadata ?? {};
  await requireKnownGroups(
    parts,
    groups.filter((name) => !client.metadata?.allowed_groups?.includes(name)),
  );
  await requireKnownApis(
    parts,
    apis.filter((uri) => !client.metadata?.apis?.includes(uri)),
  );

  const wantsSecret = hasSecret(updated.metadata) && !isPublicByDefault(client, updated);
  if (!wantsSecret) return { record: updated };
  const usable = usableSecrets(updated.metadata, client.secrets);
  if (usable !== undefined) return { record: { ...updated, secrets: usable } };
  const { stored, toPrint } = await secretFor(parts, 'generate', updated);
  return { record: { ...updated, secrets: [stored] }, newSecret: toPrint };
}

/** Without a self-registered client’s translations of members that the operator now sets or unsets. */
function withoutOverridden(
  document: Readonly<Record<string, unknown>>,
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

/** A client without a secret and without a method is public, and stays public. */
export function isPublicByDefault({ secrets }: ClientRecord, { metadata }: NewClient): boolean {
  return secrets === undefined && metadata?.token_endpoint_auth_method === undefined;
}

const MIN_CHARACTERS = 8;

/** A client secret: supplied by the operator, or to be generated. */
export type WantedSecret = { readonly supplied: string } | 'generate';

/** Prints only generated secrets, because the operator already knows a supplied one. */
export async function secretFor(
  parts: CommandParts,
  wanted: WantedSecret,
  { metadata }: Pick<ClientRecord, 'metadata'>,
): Promise<{ readonly stored: ClientSecretRecord; readonly toPrint?: string }> {
  const server = await parts.server();
  if (wanted === 'generate') {
    const secret = server.operator.newClientSecret(metadata);
    return { stored: await server.operator.hashClientSecret(secret, metadata), toPrint: secret };
  }
  try {
    return { stored: await server.operator.hashClientSecret(wanted.supplied, metadata) };
  } catch (error) {
    if (error instanceof ClientMetadataError) throw new BadUsage(`--secret-stdin: ${error.problem}`);
    throw error;
  }
}

export async function wantedSecret({ secretStdin }: { readonly secretStdin?: true }): Promise<WantedSecret> {
  if (!secretStdin) return 'generate';
  const supplied = await readStandardInput('the secret');
  if (!isUsableSecret(supplied)) throw new BadUsage(`--secret-stdin: expected ${SECRET_FORM}`);
  return { supplied };
}

/** Whether an operator may choose this text as a client secret. */
export function isUsableSecret(text: string): boolean {
  return /^[\x20-\x7E]+$/.test(text) && text.length >= MIN_CHARACTERS;
}

/** Ends the sentence “expected …”. */
export const SECRET_FORM = `at least ${MIN_CHARACTERS} ASCII characters`;

export interface RotationFlags extends GivenFlags {
  readonly secretStdin?: true;
  readonly overlap?: string;
  readonly now?: true;
}

/** Seconds (one day). */
const DEFAULT_OVERLAP = 24 * 60 * 60;

/** Seconds (90 days). */
const MAX_OVERLAP = 90 * 24 * 60 * 60;

/**
 * Seconds for which the replaced secret still works.
 * @throws {BadUsage} the time is invalid, or both flags are present
 */
export function overlapOf({ overlap, now }: RotationFlags): number {
  if (now && overlap !== undefined) throw new BadUsage('--now means no overlap: omit --overlap');
  if (now) return 0;
  if (overlap === undefined) return DEFAULT_OVERLAP;
  const kind = seconds(1, MAX_OVERLAP);
  const read = kind.fromText(overlap);
  if (read === undefined) throw new BadUsage(`--overlap: expected ${kind.expected}`);
  return read;
}

export function printSecret(output: Output, id: string, secret: string | undefined, done: string): void {
  const lines = secret === undefined ? [done] : [`${done}. Its secret is shown only once:`, secret];
  printOne(output, { id, ...(secret !== undefined && { secret }) }, lines);
}

type Parts = Pick<CommandParts, 'storage'>;

/**
 * Catches mistyped URIs, which would name an API that no request can get.
 * @throws {Refused} a URI is not that of an enabled API
 */
export async function requireKnownApis({ storage }: Parts, resources: readonly string[] = []): Promise<void> {
  const apis = (await storage.clients.findApis?.({ resources, scopes: [] })) ?? [];
  const unknown = resources.find((resource) => !apis.some((api) => api.resource === resource));
  if (unknown !== undefined)
    throw new Refused(
      `no client has the resource URI ${unknown}: add the API first, for example with grantd client add my-api --resource ${unknown} --api-scope read`,
    );
}

/**
 * Catches mistyped names, which would keep everyone out, and names in another spelling.
 * @throws {Refused} there is no such group
 */
export async function requireKnownGroups(
  { groups }: Pick<CommandParts, 'groups'>,
  names: readonly string[] = [],
): Promise<void> {
  for (const name of names) {
    const found = await groups.byName(name);
    if (found?.name === name) continue;
    const advice =
      found === undefined
        ? `add it first with grantd group add ${JSON.stringify(name)}`
        : `use ${found.name}`;
    throw new Refused(`there is no group ${name}: ${advice}.`);
  }
}

/** Revokes the tokens of users who may no longer use a client, and says how many they were. */
async function revokeForOthers(parts: CommandParts, client: NewClient): Promise<void> {
  const show = (users: number) => showProgress(`${users} users checked`);
  const users = await new AccessEnding(parts).leaveClient(client, show);
  endProgress();
  if (users > 0)
    console.error(
      `grantd: revoked the tokens of ${users === 1 ? '1 user' : `${users} users`} who may no longer use ${client.id}`,
    );
}

/** Warns about scopes that the client cannot get, because they belong to APIs that it may not request. */
export async function warnOfForeignScopes(
  { storage }: Parts,
  { id, scopes, metadata }: NewClient,
): Promise<void> {
  const { apis: allowed = [] } = metadata ?? {};
  const apis = (await storage.clients.findApis?.({ resources: [], scopes })) ?? [];
  for (const scope of scopes) {
    const owners = apis.filter((api) => api.scopes.includes(scope)).map(({ resource }) => resource);
    if (owners.length > 0 && !owners.some((owner) => allowed.includes(owner)))
      console.error(
        `grantd: ${id} cannot get the scope ${scope}, which belongs to ${owners.join(' and ')}. To allow it, run ` +
          `grantd client update ${id} ${[...allowed, owners[0]].map((uri) => `--api ${uri}`).join(' ')}`,
      );
  }
}

/**
 * Rejects a URL that the server would never fetch.
 * @param members the client settings to set
 * @throws {BadUsage} a URL is not allowed
 */
function requireFetchable(members: Members, configuration: Configuration): void {
  const refused = unfetchable(members, configuration);
  if (refused !== undefined) throw new BadUsage(`${flagOfMember(refused.member)}: ${refused.problem}`);
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
