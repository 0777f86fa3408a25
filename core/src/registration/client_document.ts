import type {
  ClientMetadata,
  LocalizedMember,
  MetadataName,
  SigningAlgorithm,
} from '../protocol/client_metadata.ts';
import type { ClientRecord, GrantType, TokenFormat } from '../protocol/records.ts';
import { formatScope, parseScope } from '../protocol/records.ts';
import type { NewClient } from '../storage/contract.ts';

/** Members that records have of their own, in the names of the wire. */
interface OwnMembers {
  readonly client_name?: string;
  readonly redirect_uris?: readonly string[];
  readonly grant_types?: readonly GrantType[];
  /** Follows from the grants; it is not stored. */
  readonly response_types?: readonly 'code'[];
  readonly scope?: string;
  readonly id_token_signed_response_alg?: SigningAlgorithm;
  // This server's own
  readonly resource?: string;
  readonly access_token_format?: TokenFormat;
  readonly access_token_signed_response_alg?: SigningAlgorithm;
  readonly rotate_refresh_tokens?: boolean;
}

type Localized = `${LocalizedMember}#${string}`;

/** Names of all members, without language tags. */
export type MemberName = keyof OwnMembers | MetadataName;

/** What a client is, in the names of RFC 7591 §2 and of those that extend it. */
export type ClientDocument = {
  readonly [Name in MemberName]?: (OwnMembers & ClientMetadata)[Name];
} & { readonly [Name in Localized]: string };

/** Who a client is and what it proves itself by: what its metadata do not say. */
export type ClientIdentity = Pick<NewClient, 'id' | 'secrets' | 'registrationTokenDigest' | 'registeredAt'>;

/** The record of a client that is described by a document, whose rules it has passed. */
export function recordOf(identity: ClientIdentity, document: ClientDocument): NewClient {
  const {
    client_name: name,
    redirect_uris: redirectUris = [],
    grant_types: grantTypes = [],
    response_types: _,
    scope,
    id_token_signed_response_alg: idTokenAlgorithm,
    resource,
    access_token_format: accessTokenFormat,
    access_token_signed_response_alg: accessTokenAlgorithm,
    rotate_refresh_tokens: rotateRefreshTokens,
    ...metadata
  } = document;
  return {
    ...identity,
    grantTypes,
    scopes: scope === undefined ? [] : parseScope(scope),
    redirectUris,
    ...(name !== undefined && { name }),
    ...(resource !== undefined && { resource }),
    ...(idTokenAlgorithm !== undefined && { idTokenAlgorithm }),
    ...(accessTokenFormat !== undefined && { accessTokenFormat }),
    ...(accessTokenAlgorithm !== undefined && { accessTokenAlgorithm }),
    ...(rotateRefreshTokens !== undefined && { rotateRefreshTokens }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
}

/** A client's record as a document that would make it again. */
export function documentOf(client: ClientRecord): ClientDocument {
  const { name, grantTypes, scopes, redirectUris, resource, metadata } = client;
  const { idTokenAlgorithm, accessTokenFormat, accessTokenAlgorithm, rotateRefreshTokens } = client;
  return {
    ...(name !== undefined && { client_name: name }),
    redirect_uris: redirectUris,
    grant_types: grantTypes,
    response_types: responseTypesOf(grantTypes),
    ...(scopes.length > 0 && { scope: formatScope(scopes) }),
    ...(idTokenAlgorithm !== undefined && { id_token_signed_response_alg: idTokenAlgorithm }),
    ...metadata,
    ...(resource !== undefined && { resource }),
    ...(accessTokenFormat !== undefined && { access_token_format: accessTokenFormat }),
    ...(accessTokenAlgorithm !== undefined && { access_token_signed_response_alg: accessTokenAlgorithm }),
    ...(rotateRefreshTokens !== undefined && { rotate_refresh_tokens: rotateRefreshTokens }),
  };
}

/** The response types that go with grants (RFC 7591 §2.1): this server has `code` alone. */
export function responseTypesOf(grantTypes: readonly GrantType[]): readonly 'code'[] {
  return grantTypes.includes('authorization_code') ? ['code'] : [];
}

/** What RFC 7591 §3.2.2 calls what is wrong. */
export type ClientMetadataErrorCode =
  | 'invalid_redirect_uri'
  | 'invalid_client_metadata'
  | 'unapproved_software_statement';

/** A client cannot be as it is described. The message has nothing in it but the names of members and literals. */
export class ClientMetadataError extends Error {
  readonly code: ClientMetadataErrorCode;
  /** Name of the member that does not fit, without a language tag. */
  readonly member: string;
  /** What is wrong with it, or was expected; follows the member's name and a colon. */
  readonly problem: string;

  constructor(
    member: string,
    problem: string,
    code: ClientMetadataErrorCode = 'invalid_client_metadata',
    cause?: unknown,
  ) {
    super(`${member}: ${problem}`, cause === undefined ? undefined : { cause });
    this.name = 'ClientMetadataError';
    this.member = member;
    this.problem = problem;
    this.code = code;
  }
}
