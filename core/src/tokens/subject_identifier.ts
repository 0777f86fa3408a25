import { hmacSha256 } from '#hashing';
import type { ClientRecord } from '../protocol/records.ts';
import type { ServerSecret } from './server_secret.ts';

/** What decides how a client is told of a person. */
export type SubjectAudience = Pick<ClientRecord, 'id' | 'redirectUris' | 'metadata'>;

/** Whether every sector of clients is told of a person under another identifier (OpenID Connect Core §8). */
export function hasPairwiseSubjects({ metadata }: Pick<ClientRecord, 'metadata'>): boolean {
  return metadata?.subject_type === 'pairwise';
}

/**
 * The host by which the pairwise identifiers of a client are calculated (OpenID Connect Core §8.1).
 * @returns `undefined` where its redirect URIs have several, or none, and no `sector_identifier_uri` says which
 */
export function sectorOf({
  redirectUris,
  metadata,
}: Pick<ClientRecord, 'redirectUris' | 'metadata'>): string | undefined {
  const uris =
    metadata?.sector_identifier_uri === undefined ? redirectUris : [metadata.sector_identifier_uri];
  const [only, ...others] = new Set(uris.map((uri) => URL.parse(uri)?.hostname));
  return only === undefined || only === '' || others.length > 0 ? undefined : only;
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
    const missing = sector === undefined ? 'redirect URIs of one host' : 'the option pairwiseSecret';
    throw new Error(`the client ${client.id} has pairwise subjects, which need ${missing}`);
  }
  return hmacSha256(await pairwiseSecret.key(use), `${sector}\0${identifier}`);
}
