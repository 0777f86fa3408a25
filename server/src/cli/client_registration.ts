import {
  type ClientIdentity,
  ClientMetadataError,
  type ClientRecord,
  DocumentError,
  documentOf,
  type NewClient,
  unreadableNameOf,
} from '@grantd/core';
import { type GivenFlags, readConfiguration } from '../config/configuration.ts';
import { Refused } from '../instance/refused.ts';
import { serverOverNothing } from '../instance/server_options.ts';
import { asBadUsage, membersOf, withoutMembers } from './client_flags.ts';
import { BadUsage } from './exit.ts';
import { requireFetchable } from './fetched_urls.ts';

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
  if (flags.secretStdin && !hasSecret(client))
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

/** Whether a client authenticates with a secret, where it is not public. */
export function hasSecret({ metadata }: NewClient): boolean {
  const method = metadata?.token_endpoint_auth_method;
  return method !== 'none' && method !== 'private_key_jwt';
}

/** What is meant where nobody said it: an application of people, an API, or a machine. */
function usualGrants(
  { redirect_uris: redirectUris, resource, token_endpoint_auth_method: method }: Members,
  flags: ClientAddFlags,
): readonly string[] {
  if (redirectUris !== undefined) return ['authorization_code', 'refresh_token'];
  return resource !== undefined || flags.public || method === 'none' ? [] : ['client_credentials'];
}
