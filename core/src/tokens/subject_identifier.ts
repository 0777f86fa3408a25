// Identifiers by which clients know users and sessions.
import { hmacSha256 } from '#crypto';
import { hasPairwiseSubjects } from '../protocol/client_metadata.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { isOwnMachine } from '../protocol/redirect_uri.ts';
import type { ServerSecret } from './server_secret.ts';

/** The client's fields that determine its subject identifiers. */
export type SubjectAudience = Pick<ClientRecord, 'id' | 'redirectUris' | 'metadata'>;

/** What a client with pairwise subjects needs, for messages. */
export const ONE_SECTOR = 'https redirect URIs of one host, or a sector_identifier_uri';

/** The client shares its identifiers with no other one. */
const OWN_SECTOR = Symbol('own sector');

/**
 * Returns the sector of a client (OpenID Connect Core §8.1): the host of `sector_identifier_uri`, otherwise the only
 * web host of its redirect URIs. Only https proves a host, so a client with nothing but private-use schemes and
 * loopback addresses is a sector of its own.
 * @returns `undefined` if the redirect URIs have several hosts, or mix a web host with other URIs
 */
export function sectorOf({
  redirectUris,
  metadata,
}: Pick<ClientRecord, 'redirectUris' | 'metadata'>): string | typeof OWN_SECTOR | undefined {
  const { sector_identifier_uri: uri } = metadata ?? {};
  if (uri !== undefined) return URL.parse(uri)?.hostname;
  const [only, ...others] = new Set(redirectUris.map(webHostOf));
  if (others.length > 0) return undefined;
  return only ?? OWN_SECTOR;
}

/** Returns the web host of a redirect URI, or `undefined` for loopback addresses and schemes other than https. */
export function webHostOf(uri: string): string | undefined {
  const url = URL.parse(uri);
  return url?.protocol === 'https:' && !isOwnMachine(url.hostname) ? url.hostname : undefined;
}

interface PairwiseContext {
  readonly pairwiseSecret: ServerSecret | undefined;
}

/**
 * Returns the `sub` by which a client knows a user: the server's own identifier, or one that only its sector has and
 * that cannot be traced back to the user (OpenID Connect Core §8.1; ADR 23).
 * @throws {Error} the client has pairwise subjects, but no sector, or the server has no `pairwiseSecret`
 */
export function subjectIdentifier(
  context: PairwiseContext,
  client: SubjectAudience,
  subject: string,
): Promise<string> {
  return ofSector(context, client, 'pairwise_subject', subject);
}

/**
 * Returns the `sid` by which a client knows a session. With pairwise subjects it differs by sector too, because two
 * sectors could otherwise recognize the user by the session.
 * @throws {Error} like `subjectIdentifier`
 */
export function sessionIdentifier(
  context: PairwiseContext,
  client: SubjectAudience,
  sessionId: string,
): Promise<string> {
  return ofSector(context, client, 'pairwise_session', sessionId);
}

async function ofSector(
  { pairwiseSecret }: PairwiseContext,
  client: SubjectAudience,
  use: 'pairwise_subject' | 'pairwise_session',
  identifier: string,
): Promise<string> {
  if (!hasPairwiseSubjects(client)) return identifier;
  const sector = sectorOf(client);
  if (pairwiseSecret === undefined || sector === undefined) {
    const missing = sector === undefined ? ONE_SECTOR : 'the option pairwiseSecret';
    throw new Error(`the client ${client.id} has pairwise subjects, which need ${missing}`);
  }
  // Hosts contain no spaces, so a client is never taken for a host.
  const name = sector === OWN_SECTOR ? `client ${client.id}` : sector;
  return hmacSha256(await pairwiseSecret.key(use), `${name}\0${identifier}`);
}
