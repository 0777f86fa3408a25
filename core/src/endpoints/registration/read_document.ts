import { LANGUAGE_TAG } from '../../protocol/client_metadata.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { ClientDocument, MemberName } from './client_document.ts';
import { ClientMetadataError } from './client_metadata_error.ts';
import { METADATA_MEMBERS, type MetadataMember, UNSUPPORTED_MEMBERS } from './metadata_members.ts';

/** Who describes a client: itself, or the operator. */
export type Registrant = 'client' | 'operator';

/** Members in several languages, all together. */
const MOST_LOCALIZED = 50;

/** Characters of all that is stored of a client as JSON. */
const LONGEST_DOCUMENT = 32 * 1024;

/**
 * The members that this server knows of what a registrant wrote, each checked for itself. `null` and the empty text
 * are absence (RFC 7592 §2.2), others are ignored (RFC 7591 §2).
 * @throws {ClientMetadataError} one of them does not fit
 */
export function readDocument(written: JsonObject, registrant: Registrant): ClientDocument {
  const document: { [name: string]: unknown } = {};
  let localized = 0;
  for (const [name, value] of Object.entries(written)) {
    if (value === null || value === undefined || value === '') continue;
    if (name === 'software_statement') throw softwareStatement();
    if (UNSUPPORTED_MEMBERS.has(name)) throw new ClientMetadataError(name, 'is not supported by this server');
    const [base = '', tag] = split(name);
    const member = memberOf(base, registrant);
    if (member === undefined) continue;
    if (tag !== undefined) {
      if (!member.isLocalizable || !LANGUAGE_TAG.test(tag))
        throw new ClientMetadataError(base, 'expected a language tag, and only where people read it');
      if (++localized > MOST_LOCALIZED)
        throw new ClientMetadataError(base, `expected at most ${MOST_LOCALIZED} members with a language tag`);
    }
    const read = member.kind.read(value);
    if (read === undefined) throw unfit(base, member);
    document[name] = read;
  }
  if (JSON.stringify(document).length > LONGEST_DOCUMENT)
    throw new ClientMetadataError('metadata', `expected at most ${LONGEST_DOCUMENT} characters together`);
  return document as ClientDocument;
}

/** The member of that name, where the registrant has a say in it. */
function memberOf(name: string, registrant: Registrant): MetadataMember<unknown> | undefined {
  if (!isMemberName(name)) return undefined;
  const member = METADATA_MEMBERS[name];
  return registrant === 'operator' || member.setBy === 'client' ? member : undefined;
}

export function isMemberName(name: string): name is MemberName {
  return Object.hasOwn(METADATA_MEMBERS, name);
}

function split(name: string): readonly [base: string, tag?: string] {
  const end = name.indexOf('#');
  return end === -1 ? [name] : [name.slice(0, end), name.slice(end + 1)];
}

function unfit(name: string, { kind }: MetadataMember<unknown>): ClientMetadataError {
  const code = name === 'redirect_uris' ? 'invalid_redirect_uri' : 'invalid_client_metadata';
  return new ClientMetadataError(name, `expected ${kind.expected}`, code);
}

/** A statement would say who vouches for the client, and nobody whom this server knows does (RFC 7591 §2.3). */
function softwareStatement(): ClientMetadataError {
  const problem = 'no issuer of software statements is trusted by this server';
  return new ClientMetadataError('software_statement', problem, 'unapproved_software_statement');
}
