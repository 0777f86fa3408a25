// Reads client metadata, converts between it and a client's record, and says where a document of a client is.
import type { JWK } from 'jose';
import { formatScope, parseScope } from '../http/form.ts';
import { isJsonObject, type JsonObject } from '../http/http.ts';
import {
  type ClientDocument,
  type ClientMetadata,
  isMemberName,
  isServerAlgorithm,
  LANGUAGE_TAG,
  MEMBER_NAMES,
  type MetadataMember,
  memberOf,
  offeredValue,
  withoutTag,
} from '../protocol/client_members.ts';
import {
  type GrantType,
  MOST_KEYS,
  requirementsOf,
  SIGNING_ALGORITHMS,
  type SigningAlgorithm,
} from '../protocol/client_metadata.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { isOwnMachine } from '../protocol/redirect_uri.ts';
import type { NewClient } from '../storage/contract.ts';
import { readPublicKeys } from '../tokens/public_keys.ts';

/** Members of a client's record that are not metadata: identifier and credentials. */
export type ClientIdentity = Pick<
  NewClient,
  'id' | 'secrets' | 'registrationTokenDigest' | 'registeredAt' | 'documentValidAt'
>;

/** Returns the record of a client whose metadata has passed all rules (ADR 88). */
export function recordOf(identity: ClientIdentity, document: ClientDocument): NewClient {
  const fields: Record<string, unknown> = {};
  const metadata: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(document)) {
    const { field, isDerived } = isMemberName(name) ? memberOf(name) : {};
    if (isDerived || value === undefined) continue;
    if (field === undefined) metadata[name] = value;
    else fields[field] = name === 'scope' ? parseScope(String(value)) : value;
  }
  return {
    ...identity,
    ...{ grantTypes: [], scopes: [], redirectUris: [] },
    ...fields,
    ...(Object.keys(metadata).length > 0 && { metadata: metadata as ClientMetadata }),
  };
}

/** The reverse of `recordOf`: returns the metadata that would give the same record. */
export function documentOf(client: ClientRecord): ClientDocument {
  const document: Record<string, unknown> = {};
  for (const name of MEMBER_NAMES) {
    const { field } = memberOf(name);
    const value: unknown = field && Reflect.get(client, field);
    if (value !== undefined) document[name] = value;
  }
  const { grantTypes, scopes, metadata } = client;
  const { scope: _, ...fields } = document;
  return {
    ...fields,
    response_types: responseTypesOf(grantTypes),
    ...(scopes.length > 0 && { scope: formatScope(scopes) }),
    ...metadata,
  };
}

/** Returns the algorithms with which the server signs for a client, as far as it registers them. */
export function signingAlgorithmsOf(client: NewClient): readonly SigningAlgorithm[] {
  const document: Readonly<Record<string, unknown>> = documentOf(client);
  const registered = MEMBER_NAMES.filter(isServerAlgorithm).map((name) => document[name]);
  return SIGNING_ALGORITHMS.filter((algorithm) => registered.includes(algorithm));
}

/** Returns the response types that the grant types need (RFC 7591 §2.1). */
export function responseTypesOf(grantTypes: readonly GrantType[]): readonly 'code'[] {
  return [...new Set(grantTypes.flatMap((grantType) => requirementsOf(grantType).responseTypes))];
}

/** Error codes of RFC 7591 §3.2.2. */
export type ClientMetadataErrorCode = 'invalid_redirect_uri' | 'invalid_client_metadata';

/** What can be wrong with a member of client metadata, by a code. The facts are names and limits, never values. */
export const METADATA_PROBLEMS = {
  /** @param _placeholder that of the kind, if the value has not its form */
  wrong: (expected: string, _placeholder?: string) => `expected ${expected}`,
  one_of: (names: string) => `expected one of ${names}`,
  profile: (expected: string, profile: string) => `expected ${expected}, because of the profile ${profile}`,
  needs: (what: string) => `needs ${what}`,
  unsupported: (name: string) => `${name} is not supported by this server`,
  // Sizes.
  language_tag: () => 'expected a valid language tag, on a member that users read',
  language_tags: (most: string) => `expected at most ${most} members with a language tag`,
  too_long: (most: string) => `expected at most ${most} characters together`,
  too_short: (least: string) => `expected at least ${least} bytes`,
  // Grants.
  grant_needs: (grant: string, what: string) => `${grant} needs ${what}`,
  confidential: (grant: string) => `${grant} needs a confidential client (RFC 6749 section 4.4)`,
  no_grant: (open: string) => `none of them is open to this client; expected ${open}`,
  no_code: () => 'expected code with the grant type authorization_code, otherwise an empty list',
  pkce: () => 'a public client needs PKCE (RFC 9700 section 2.1.1)',
  // Authentication and keys.
  lacks: (method: string, what: string) => `${method} ${what}`,
  algorithms: (method: string, names: string) => `${method} has ${names}`,
  goes_with: (methods: string) => `goes with ${methods} alone`,
  both_keys: () => 'expected jwks or jwks_uri, not both',
  key_for: (algorithm: string) => `needs a key for ${algorithm} in jwks`,
  certificates: () => 'this server cannot read the certificates of clients',
  // URIs.
  unstable_uri: () => 'expected a URI that URL libraries do not change, for example without dot segments',
  no_uri: (grant: string) => `expected at least one for the grant ${grant}`,
  exposed_uri: () =>
    'expected https, or http on loopback; insecure_redirect_uris allows plain http for development',
  no_fetch: () => 'this server does not fetch URLs of clients',
  not_fetched: (why: string) => `this server does not fetch this URL: ${why}`,
  // Subjects.
  sector: () => 'required unless all redirect URIs have one https host, or none is https',
  sector_list: () => 'expected a JSON array at this URL that lists every redirect URI',
  unfetched: () => 'the document could not be fetched',
  must_keep: (what: string) => `a client with pairwise subjects must keep ${what}`,
  own_issuer: () => 'expected other servers than this one',
  signs_in_as: () => 'needs signs_in_as, because of pairwise subjects',
};

type Problems = typeof METADATA_PROBLEMS;

/** A code, and the facts that its sentence names. */
export type MetadataProblem = {
  [Code in keyof Problems]: readonly [code: Code, ...facts: Parameters<Problems[Code]>];
}[keyof Problems];

/** Client metadata is wrong. The message contains only member names and literals, never values. */
export class ClientMetadataError extends Error {
  readonly code: ClientMetadataErrorCode;
  /** Name of the member that does not fit, without a language tag. */
  readonly member: string;
  /** What is wrong or what was expected. In the message it follows the member's name and a colon. */
  readonly problem: string;
  /** The same as a code with facts. */
  readonly said: MetadataProblem;
  /** What is wrong with other members. */
  readonly others: readonly ClientMetadataError[];

  constructor(
    member: string,
    said: MetadataProblem,
    code: ClientMetadataErrorCode = 'invalid_client_metadata',
    cause?: unknown,
    others: readonly ClientMetadataError[] = [],
  ) {
    const [name, ...facts] = said;
    const say = METADATA_PROBLEMS[name] as (...facts: readonly unknown[]) => string;
    const problem = say(...facts);
    super(`${member}: ${problem}`, cause === undefined ? undefined : { cause });
    this.name = 'ClientMetadataError';
    this.member = member;
    this.problem = problem;
    this.said = said;
    this.code = code;
    this.others = others;
  }
}

/** What is wrong with members: the first problem of each. */
export class Rejections {
  readonly #found = new Map<string, ClientMetadataError>();
  /** Notes a problem. */
  readonly reject = (member: string, ...said: MetadataProblem): void =>
    this.add(new ClientMetadataError(member, said));

  readonly add = (error: ClientMetadataError): void => {
    if (!this.#found.has(error.member)) this.#found.set(error.member, error);
  };

  get all(): readonly ClientMetadataError[] {
    return [...this.#found.values()];
  }

  /** @throws {ClientMetadataError} the first problem, with the others */
  throwAny(): void {
    const [first, ...others] = this.all;
    if (first !== undefined)
      throw new ClientMetadataError(first.member, first.said, first.code, first.cause, others);
  }
}

/** @throws {ClientMetadataError} always */
export function reject(member: string, ...said: MetadataProblem): never {
  throw new ClientMetadataError(member, said);
}

/** Who wrote the metadata. */
export type Registrant = 'client' | 'operator';

/** Limit for members with a language tag, in total. */
const MAX_LOCALIZED_MEMBERS = 50;

/** Limit for the whole metadata, in characters of JSON. */
const MAX_DOCUMENT_CHARACTERS = 32 * 1024;

/**
 * Reads the members that the registrant may set, each by its type. `null` and `''` count as absent (RFC 7592 §2.2).
 * Unknown members are ignored (RFC 7591 §2), and so are software statements (RFC 7591 §3.1.1). Of what a client names,
 * values that this server does not offer are left out (RFC 7591 §3.2.1).
 * @param rejections gets members with a wrong type or value, which the result leaves out
 * @throws {ClientMetadataError} without `rejections`: a member has a wrong type or value, or nothing is left of a list
 */
export function readDocument(
  written: JsonObject,
  registrant: Registrant,
  rejections?: Rejections,
): ClientDocument {
  const wrong = rejections ?? new Rejections();
  const document: { [name: string]: unknown } = {};
  let localized = 0;
  for (const [name, value] of Object.entries(written)) {
    if (value === null || value === undefined || value === '') continue;
    const [base, tag] = withoutTag(name);
    const member = settableMember(base, registrant);
    if (member === undefined) continue;
    if (tag !== undefined) {
      if (!member.isLocalizable || !LANGUAGE_TAG.test(tag)) wrong.reject(base, 'language_tag');
      if (++localized > MAX_LOCALIZED_MEMBERS)
        wrong.reject(base, 'language_tags', `${MAX_LOCALIZED_MEMBERS}`);
    }
    const offered = registrant === 'client' ? offeredValue(member, value) : value;
    if (offered === undefined && (member.isDispensable || !Array.isArray(value))) continue;
    const read = base === 'jwks' ? readKeySet(value) : member.kind.read(offered);
    if (read === undefined) wrong.add(unfit(base, member));
    else document[name] = read;
  }
  if (JSON.stringify(document).length > MAX_DOCUMENT_CHARACTERS)
    wrong.reject('metadata', 'too_long', `${MAX_DOCUMENT_CHARACTERS}`);
  if (rejections === undefined) wrong.throwAny();
  return document as ClientDocument;
}

/** Returns `undefined` if there is no such member, or if the registrant may not set it. */
function settableMember(name: string, registrant: Registrant): MetadataMember<unknown> | undefined {
  if (!isMemberName(name)) return undefined;
  const member = memberOf(name);
  return registrant === 'operator' || member.setBy === 'client' ? member : undefined;
}

/** Reads public keys (RFC 7517 §5) and drops those that this server cannot use. A secret key makes the set invalid. */
function readKeySet(value: unknown): { readonly keys: readonly JWK[] } | undefined {
  const keys = readPublicKeys(value, MOST_KEYS);
  if (keys === undefined || keys.length === 0 || !isJsonObject(value)) return undefined;
  const list: readonly unknown[] = Array.isArray(value.keys) ? value.keys : [];
  const isSecret = (jwk: unknown) => isJsonObject(jwk) && ('d' in jwk || 'k' in jwk);
  return list.length > MOST_KEYS || list.some(isSecret) ? undefined : { keys };
}

function unfit(name: string, { kind }: MetadataMember<unknown>): ClientMetadataError {
  const code = name === 'redirect_uris' ? 'invalid_redirect_uri' : 'invalid_client_metadata';
  return new ClientMetadataError(name, ['wrong', kind.expected, kind.placeholder], code);
}

/** The URL of a document, as rules name it. All spellings of a URL are the same one. */
export interface DocumentPlace {
  /** With a lower-case host in ASCII, without a dot at its end and without the port 443. */
  readonly url: string;
  /** Without port. */
  readonly host: string;
}

/** @returns `undefined` if the text is no Client Identifier URL (draft-ietf-oauth-client-id-metadata-document-03 §3) */
function documentUrl(id: string, allowInsecureUris: boolean): URL | undefined {
  const [, scheme, host, path] = /^(https?):\/\/([^/?#\\@]+)(\/[^?#\\]*)(?:\?[^#\\]*)?$/.exec(id) ?? [];
  if (scheme === undefined || host === undefined || path === undefined || id.length > MAX_URL_LENGTH)
    return undefined;
  const isDotSegment = (segment: string) => /^(?:\.|%2e){1,2}$/i.test(segment);
  if (!/^[\x21-\x7E]+$/.test(id) || path.split('/').some(isDotSegment)) return undefined;
  const url = URL.parse(id);
  if (url === null) return undefined;
  return scheme === 'https' || (allowInsecureUris && isOwnMachine(url.hostname)) ? url : undefined;
}

const MAX_URL_LENGTH = 2000;

/**
 * Where the document of a client is.
 * @param allowInsecureUris whether `http:` URLs of this machine count too
 * @returns `undefined` if the client ID is no URL of a document
 */
export function documentPlace(id: string, allowInsecureUris: boolean): DocumentPlace | undefined {
  const url = documentUrl(id, allowInsecureUris);
  if (url === undefined) return undefined;
  const host = hostOf(url);
  url.hostname = host;
  return { url: url.href, host };
}

/** With a dot at its end, a name is the same one. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/\.$/, '');
}
