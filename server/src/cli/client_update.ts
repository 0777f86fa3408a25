import { type ClientRecord, documentOf, METADATA_MEMBERS, type MemberName } from '@grantd/core';
import type { GivenFlags } from '../config/configuration.ts';
import { Refused } from '../instance/refused.ts';
import { requireKnownApis, warnOfForeignScopes } from './client_apis.ts';
import { memberNamed, membersOf } from './client_flags.ts';
import { clientFrom, hasSecret, warnOfMissingPkce, warnOfUnreadableName } from './client_registration.ts';
import { printSecret, secretFor } from './client_secrets.ts';
import { BadUsage } from './exit.ts';
import { requireFetchable } from './fetched_urls.ts';
import { requireClient } from './require_client.ts';
import type { CommandParts } from './with_instance.ts';

export interface ClientUpdateFlags extends GivenFlags {
  readonly unset?: readonly string[];
}

/** What an update says: members with their new values, and names of those that are to go. */
export interface ClientChange {
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

  const wantsSecret = hasSecret(updated) && !isPublicBySilence(client, updated);
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

type Authenticated = Parameters<typeof hasSecret>[0];

/** A client without a secret of which nobody ever said how it authenticates is public, and stays so. */
function isPublicBySilence(
  { secrets }: Pick<Authenticated, 'secrets'>,
  { metadata }: Authenticated,
): boolean {
  return secrets === undefined && metadata?.token_endpoint_auth_method === undefined;
}
