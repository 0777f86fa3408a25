import { hmacSha256 } from '#crypto';
import { type ClientRecord, hasPairwiseSubjects } from '../protocol/records.ts';
import { isOwnMachine } from '../protocol/redirect_uri.ts';
import type { ServerSecret } from './server_secret.ts';

/** What decides how a client is told of a person. */
export type SubjectAudience = Pick<ClientRecord, 'id' | 'redirectUris' | 'metadata'>;

/** What a client with pairwise subjects needs. */
export const ONE_SECTOR = 'https redirect URIs of one host, or a sector_identifier_uri';

/** The client itself is its sector: its identifiers are shared with no other client. */
const OWN_SECTOR = Symbol('own sector');

/**
 * What the pairwise identifiers of a client are calculated for (OpenID Connect Core §8.1): the host of
 * `sector_identifier_uri`, otherwise the one web host of its redirect URIs. Only https proves a host, so a client with
 * private-use schemes and loopback addresses alone is a sector of its own.
 * @returns `undefined` when the redirect URIs name several hosts, or mix a web host with URIs that prove none
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

/** The host that answers a redirect URI on the web; `undefined` for loopback addresses and any scheme but https. */
export function webHostOf(uri: string): string | undefined {
  const url = URL.parse(uri);
  return url?.protocol === 'https:' && !isOwnMachine(url.hostname) ? url.hostname : undefined;
}

/** What is calculated of the identifiers that a client is told. */
interface PairwiseContext {
  readonly pairwiseSecret: ServerSecret | undefined;
}

/**
 * `sub` as a client is told of a person: the server's own identifier, or one of its sector's that nobody can lead back
 * to the person or to another sector's (OpenID Connect Core §8.1).
 * @throws {Error} the client's subjects are pairwise, but the server has no secret for them, or the client no sector
 */
export function subjectIdentifier(
  context: PairwiseContext,
  client: SubjectAudience,
  subject: string,
): Promise<string> {
  return ofSector(context, client, 'pairwise_subject', subject);
}

/**
 * `sid` as a client is told of a session: where its subjects are pairwise one of its sector's as well, or two sectors
 * would know the person by the session.
 * @throws {Error} as `subjectIdentifier`
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
  // A host has no space in it, so no client is taken for a host.
  const name = sector === OWN_SECTOR ? `client ${client.id}` : sector;
  return hmacSha256(await pairwiseSecret.key(use), `${name}\0${identifier}`);
}
