import { DocumentError, type FetchDocument, fetchBody } from '../../protocol/fetch_document.ts';
import { parseJson } from '../../protocol/json.ts';
import type { ClientRecord } from '../../protocol/records.ts';
import { hasPairwiseSubjects, sectorOf } from '../../tokens/subject_identifier.ts';
import type { ClientDocument } from './client_document.ts';
import { ClientMetadataError } from './client_metadata_error.ts';

/**
 * The document behind `sector_identifier_uri` vouches that every redirect URI is of the sector (OpenID Connect Dynamic
 * Client Registration §5).
 * @throws {ClientMetadataError} it does not, or cannot be fetched
 */
export async function requireSectorMembership(
  { sector_identifier_uri: uri, redirect_uris: redirectUris = [] }: ClientDocument,
  fetchDocument: FetchDocument,
): Promise<void> {
  if (uri === undefined) return;
  const members = await fetchMembers(uri, fetchDocument);
  if (members === undefined || !redirectUris.every((redirectUri) => members.includes(redirectUri)))
    throw unfit('expected a JSON array there that has every redirect URI');
}

/**
 * A client that registered itself stays the one that it is to people: with pairwise subjects, of its sector. As another
 * one's it would be told, by what rests upon what it was before, what that one's clients alone are told.
 * @throws {ClientMetadataError}
 */
export function requireSameSector(document: ClientDocument, registered: ClientRecord | undefined): void {
  if (registered === undefined || !hasPairwiseSubjects(registered)) return;
  if (document.subject_type !== 'pairwise')
    throw new ClientMetadataError('subject_type', 'a client with pairwise subjects keeps them');
  const { redirect_uris: redirectUris = [] } = document;
  if (sectorOf({ redirectUris, metadata: document }) !== sectorOf(registered))
    throw new ClientMetadataError('redirect_uris', 'a client with pairwise subjects stays with its host');
}

/**
 * What the host itself says, since the sector is named after it: a redirect may be open to whoever made the address.
 * @returns `undefined` where the answer is no JSON array
 */
async function fetchMembers(
  uri: string,
  fetchDocument: FetchDocument,
): Promise<readonly unknown[] | undefined> {
  try {
    const headers = { accept: 'application/json' };
    const body = await fetchBody(fetchDocument, uri, { headers, maxRedirects: 0 });
    const members = parseJson(body);
    return Array.isArray(members) ? members : undefined;
  } catch (error) {
    if (error instanceof DocumentError) throw unfit('the document could not be fetched', error);
    throw error;
  }
}

function unfit(problem: string, cause?: DocumentError): ClientMetadataError {
  return new ClientMetadataError('sector_identifier_uri', problem, 'invalid_client_metadata', cause);
}
