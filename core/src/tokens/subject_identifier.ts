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

/**
 * `sub` as a client is told of a person: the server's own identifier, or one of its sector's that nobody can lead back
 * to the person or to another sector's (OpenID Connect Core §8.1).
 * @throws {Error} the client's subjects are pairwise, but the server has no secret for them, or the client no sector
 */
export async function subjectIdentifier(
  { pairwiseSecret }: { readonly pairwiseSecret: ServerSecret | undefined },
  client: SubjectAudience,
  subject: string,
): Promise<string> {
  if (!hasPairwiseSubjects(client)) return subject;
  const sector = sectorOf(client);
  if (pairwiseSecret === undefined || sector === undefined) {
    const missing = sector === undefined ? 'redirect URIs of one host' : 'the option pairwiseSecret';
    throw new Error(`the client ${client.id} has pairwise subjects, which need ${missing}`);
  }
  return hmacSha256(await pairwiseSecret.key('pairwise_subject'), `${sector}\0${subject}`);
}
