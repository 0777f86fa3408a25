import {
  type ClientIdentity,
  ClientMetadataError,
  type ClientRecord,
  type ClientSecretRecord,
  DocumentError,
  documentOf,
  FETCHED_MEMBERS,
  hasSecret,
  METADATA_MEMBERS,
  type MemberName,
  type NewClient,
  unreadableNameOf,
} from '@grantd/core';
import { documentRefusal } from '@grantd/core/node';
import { seconds } from '@grantd/core/options';
import { type Configuration, type GivenFlags, readConfiguration } from '../config/configuration.ts';
import { flagOf } from '../config/options.ts';
import { Refused } from '../config/refused.ts';
import { serverOverNothing } from '../instance/instance.ts';
import { asBadUsage, flagOfMember, memberNamed, membersOf, withoutMembers } from './client_flags.ts';
import { type CommandParts, type Output, printOne, readStandardInput, requireClient } from './command.ts';
import { BadUsage } from './exit.ts';

export interface ClientAddFlags extends GivenFlags {
  readonly secretStdin?: true;
  readonly public?: true;
}

type Members = Readonly<Record<string, unknown>>;

/** Whoever turns what is said of a client into its record: a server. */
interface ClientMaker {
  clientFrom(identity: ClientIdentity, members: Members, registered?: ClientRecord): Promise<NewClient>;
}

/**
 * A registration as the flags describe it, without its secret. No database is opened for it, so that none is made for
 * a client that could not be.
 * @throws {BadUsage} it would not work, or would not be safe
 */
export async function registrationOf(id: string, flags: ClientAddFlags): Promise<NewClient> {
  if (!/^[\x21-\x7E]{1,200}$/.test(id))
    throw new BadUsage('ID: expected visible ASCII characters, at most 200');
  const given = membersOf(flags);
  const method = given.token_endpoint_auth_method;
  if (flags.public && method !== undefined && method !== 'none')
    throw new BadUsage('a --public client authenticates with nothing: leave out --auth-method');
  const members = {
    grant_types: usualGrants(given, flags),
    ...(flags.public && { token_endpoint_auth_method: 'none' }),
    ...given,
  };
  const configuration = readConfiguration(withoutMembers(flags), process.env);
  requireFetchable(given, configuration);
  const client = await clientFrom(serverOverNothing(configuration), { id }, members);
  if (flags.secretStdin && !hasSecret(client.metadata))
    throw new BadUsage('a client with this way to authenticate has no secret: leave out --secret-stdin');
  return client;
}

/**
 * A client's record, what is wrong with it said in the words of the command line.
 * @throws {BadUsage}
 * @throws {Refused} a document that it names cannot be fetched at the moment
 */
export async function clientFrom(
  maker: ClientMaker,
  identity: ClientIdentity,
  members: Members,
  registered?: ClientRecord,
): Promise<NewClient> {
  try {
    return await maker.clientFrom(identity, members, registered);
  } catch (error) {
    if (!(error instanceof ClientMetadataError)) throw error;
    const { cause } = error;
    if (cause instanceof DocumentError && cause.outcome === 'failed')
      throw new Refused(`what the client names cannot be fetched: ${cause.message}. Try again later.`);
    throw asBadUsage(error);
  }
}

/** Warns of a name that people could take for another; an operator may have chosen it on purpose. */
export function warnOfUnreadableName(client: NewClient): void {
  const expected = unreadableNameOf(documentOf(client));
  if (expected !== undefined)
    console.error(`grantd: people may not recognise the name of ${client.id}: expected ${expected}`);
}

/** Said each time that an operator waives it; `client show` shows it later. */
export function warnOfMissingPkce({ id, metadata }: NewClient): void {
  if (metadata?.insecure_allow_missing_pkce === true)
    console.error(
      `grantd: ${id} may leave out PKCE, which exposes it to code injection (RFC 9700 section 2.1.1): use PKCE and --unset insecure-allow-missing-pkce as soon as it can.`,
    );
}

/** What is meant where nobody said it: an application of people, an API, or a machine. */
function usualGrants(
  { redirect_uris: redirectUris, resource, token_endpoint_auth_method: method }: Members,
  flags: ClientAddFlags,
): readonly string[] {
  if (redirectUris !== undefined) return ['authorization_code', 'refresh_token'];
  return resource !== undefined || flags.public || method === 'none' ? [] : ['client_credentials'];
}

export interface ClientUpdateFlags extends GivenFlags {
  readonly unset?: readonly string[];
}

/** What an update says: members with their new values, and names of those that are to go. */
interface ClientChange {
  readonly members: Readonly<Record<string, unknown>>;
  readonly unset: readonly string[];
}

/** @throws {BadUsage} it says nothing, or something that no client has */
export function changeOf(flags: ClientUpdateFlags): ClientChange {
  const members = membersOf(flags);
  const unset = (flags.unset ?? []).map((text) => {
    const name = memberNamed(text);
    if (name === undefined)
      throw new BadUsage('--unset: expected the name of a setting, as in --unset logo-uri');
    if (Object.hasOwn(members, name)) throw new BadUsage(`--unset: ${text} is set by another flag`);
    return name;
  });
  if (Object.keys(members).length + unset.length === 0)
    throw new BadUsage('nothing to update: grantd client update --help tells what there is');
  return { members, unset };
}

const MOST_ATTEMPTS = 5;

/**
 * Replaces what is said and keeps everything else, also what others change at the same time; tokens live on.
 * @throws {Refused} there is no such client, or others change it again and again
 */
export async function updateClient(parts: CommandParts, id: string, change: ClientChange): Promise<void> {
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    const client = await requireClient(parts, id);
    const { record, newSecret } = await changed(parts, client, change);
    if (await parts.storage.clients.replace(record, client)) {
      if (change.members.client_name !== undefined) warnOfUnreadableName(record);
      if (change.members.insecure_allow_missing_pkce !== undefined) warnOfMissingPkce(record);
      await warnOfForeignScopes(parts, record);
      return printSecret(parts, id, newSecret, `updated ${id}`);
    }
  }
  throw new Refused(`${id} is being changed by others; nothing was updated: try again.`);
}

async function changed(parts: CommandParts, client: ClientRecord, change: ClientChange) {
  const { response_types: _, ...document } = documentOf(client); // follows from the grants, which may change
  const members: Record<string, unknown> = {
    ...withoutOverruled(document, client, change),
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
  const { apis = [] } = updated.metadata ?? {};
  await requireKnownApis(
    parts,
    apis.filter((uri) => !client.metadata?.apis?.includes(uri)),
  );

  const wantsSecret = hasSecret(updated.metadata) && !isPublicBySilence(client, updated);
  if (!wantsSecret) return { record: updated };
  if (client.secrets !== undefined) return { record: { ...updated, secrets: client.secrets } };
  const { stored, toPrint } = await secretFor(parts, 'generate');
  return { record: { ...updated, secrets: [stored] }, newSecret: toPrint };
}

/** What a client that registered itself said in other languages goes with what it said without one. */
function withoutOverruled(
  document: Readonly<Record<string, unknown>>,
  { registrationTokenDigest }: ClientRecord,
  { members, unset }: ClientChange,
) {
  if (registrationTokenDigest === undefined) return document;
  const said = new Set([...Object.keys(members), ...unset]);
  const isOverruled = (name: string) => name.includes('#') && said.has(name.split('#')[0] ?? name);
  return Object.fromEntries(Object.entries(document).filter(([name]) => !isOverruled(name)));
}

/**
 * What a client that registered itself cannot change any more: what this and former updates set or unset. Empty where
 * the operator lets go of all of it.
 */
function setByOperator(
  { registrationTokenDigest, metadata }: ClientRecord,
  { members, unset }: ClientChange,
): readonly string[] {
  if (registrationTokenDigest === undefined || unset.includes('set_by_operator')) return [];
  const { set_by_operator: before = metadata?.set_by_operator ?? [] } = members;
  const changed = [...Object.keys(members), ...unset].filter((name) => {
    const [base = ''] = name.split('#');
    return isMemberName(base) && METADATA_MEMBERS[base].setBy === 'client';
  });
  return [...new Set([...(Array.isArray(before) ? before.map(String) : []), ...changed])];
}

function isMemberName(name: string): name is MemberName {
  return Object.hasOwn(METADATA_MEMBERS, name);
}

/** A client without a secret and without a method is public, and stays public. */
function isPublicBySilence({ secrets }: ClientRecord, { metadata }: NewClient): boolean {
  return secrets === undefined && metadata?.token_endpoint_auth_method === undefined;
}

const LEAST_CHARACTERS = 8;

/** A client's secret: brought along, or to be generated. */
export type WantedSecret = { readonly brought: string } | 'generate';

/** A secret brought along is not printed: whoever brought it has it. */
export async function secretFor(
  parts: CommandParts,
  wanted: WantedSecret,
): Promise<{ readonly stored: ClientSecretRecord; readonly toPrint?: string }> {
  const server = await parts.server();
  if (wanted !== 'generate') return { stored: await server.hashClientSecret(wanted.brought) };
  const secret = server.newClientSecret();
  return { stored: await server.hashClientSecret(secret), toPrint: secret };
}

export async function wantedSecret({ secretStdin }: { readonly secretStdin?: true }): Promise<WantedSecret> {
  if (!secretStdin) return 'generate';
  const brought = await readStandardInput('the secret');
  if (!/^[\x20-\x7E]+$/.test(brought) || brought.length < LEAST_CHARACTERS)
    throw new BadUsage(`--secret-stdin: expected at least ${LEAST_CHARACTERS} ASCII characters`);
  return { brought };
}

export interface RotationFlags extends GivenFlags {
  readonly secretStdin?: true;
  readonly overlap?: string;
  readonly now?: true;
}

/** Seconds: a day. */
const USUAL_OVERLAP = 24 * 60 * 60;

/** Seconds: ninety days. */
const LONGEST_OVERLAP = 90 * 24 * 60 * 60;

/**
 * Seconds for which a replaced secret still authenticates.
 * @throws {BadUsage} no such time, or two of them
 */
export function overlapOf({ overlap, now }: RotationFlags): number {
  if (now && overlap !== undefined) throw new BadUsage('--now means no overlap: leave out --overlap');
  if (now) return 0;
  if (overlap === undefined) return USUAL_OVERLAP;
  const kind = seconds(1, LONGEST_OVERLAP);
  const read = kind.fromText(overlap);
  if (read === undefined) throw new BadUsage(`--overlap: expected ${kind.expected}`);
  return read;
}

export function printSecret(output: Output, id: string, secret: string | undefined, done: string): void {
  const lines = secret === undefined ? [done] : [`${done}; its secret, which is shown this once:`, secret];
  printOne(output, { id, ...(secret !== undefined && { secret }) }, lines);
}

type Parts = Pick<CommandParts, 'storage'>;

/**
 * A URI with a typing mistake would be an API that no request ever gets.
 * @throws {Refused} one of the URIs is no API that is enabled
 */
export async function requireKnownApis({ storage }: Parts, resources: readonly string[] = []): Promise<void> {
  const apis = (await storage.clients.findApis?.({ resources, scopes: [] })) ?? [];
  const unknown = resources.find((resource) => !apis.some((api) => api.resource === resource));
  if (unknown !== undefined)
    throw new Refused(
      `no client is the API ${unknown}: add it first, as in grantd client add my-api --resource ${unknown} --api-scope read`,
    );
}

/** Says on stderr which scopes of a client it cannot get, since only APIs that it may not ask for declare them. */
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
        `grantd: ${id} cannot get the scope ${scope}, which belongs to ${owners.join(' and ')}: ` +
          `grantd client update ${id} ${[...allowed, owners[0]].map((uri) => `--api ${uri}`).join(' ')}`,
      );
  }
}

/**
 * Refuses a URL that the server would never ask for, in the words of the command line.
 * @param members of the client that are being set
 * @throws {BadUsage}
 */
function requireFetchable(
  members: Readonly<Record<string, unknown>>,
  { settings: { insecureDevelopment } }: Configuration,
): void {
  for (const [name, value] of Object.entries(members)) {
    const [member = ''] = name.split('#');
    if (!FETCHED_MEMBERS.has(member)) continue;
    for (const url of [value].flat()) {
      if (!URL.canParse(String(url))) continue; // the library says what is wrong with it
      const refusal = documentRefusal(String(url), { allowPrivateAddresses: insecureDevelopment });
      if (refusal === undefined) continue;
      const way = insecureDevelopment
        ? ''
        : `; where the server runs with ${flagOf('insecureDevelopment')}, add that flag here too`;
      throw new BadUsage(`${flagOfMember(member)}: the server would never ask for ${url}: ${refusal}${way}`);
    }
  }
}
