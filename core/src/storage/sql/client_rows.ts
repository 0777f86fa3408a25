import type { ClientMetadata } from '../../protocol/client_metadata.ts';
import type { ApiRecord, ClientRecord, TokenFormat } from '../../protocol/records.ts';
import type { SigningAlgorithm } from '../../protocol/signing_algorithm.ts';
import type { NewClient } from '../contract.ts';

/** What describes a client: all that `replace` writes. */
export const CLIENT_DESCRIPTION = [
  'name',
  'secrets',
  'grant_types',
  'scopes',
  'redirect_uris',
  'resource',
  'rotate_refresh_tokens',
  'access_token_format',
  'access_token_algorithm',
  'id_token_algorithm',
  'metadata',
  'registration_token_digest',
  'registered_at',
] as const;

export const CLIENT_COLUMNS = `id, ${CLIENT_DESCRIPTION.join(', ')}, generation, revision, registration_revision, disabled_at_ms`;

export type ClientRow = {
  readonly id: string;
  readonly name: string | null;
  readonly secrets: string | null;
  readonly grant_types: string;
  readonly scopes: string;
  readonly redirect_uris: string;
  readonly resource: string | null;
  readonly rotate_refresh_tokens: number | boolean | null;
  readonly access_token_format: TokenFormat | null;
  readonly access_token_algorithm: SigningAlgorithm | null;
  readonly id_token_algorithm: SigningAlgorithm | null;
  readonly metadata: string | null;
  readonly registration_token_digest: string | null;
  readonly registered_at: number | null;
  readonly generation: number;
  readonly revision: number;
  readonly registration_revision: number;
  readonly disabled_at_ms: number | null;
};

export function toClientRecord(row: ClientRow): ClientRecord {
  return {
    id: row.id,
    ...(row.name !== null && { name: row.name }),
    ...(row.secrets !== null && { secrets: JSON.parse(row.secrets) }),
    grantTypes: JSON.parse(row.grant_types),
    scopes: JSON.parse(row.scopes),
    redirectUris: JSON.parse(row.redirect_uris),
    ...(row.resource !== null && { resource: row.resource }),
    ...(row.rotate_refresh_tokens !== null && { rotateRefreshTokens: Boolean(row.rotate_refresh_tokens) }),
    ...(row.access_token_format !== null && { accessTokenFormat: row.access_token_format }),
    ...(row.access_token_algorithm !== null && { accessTokenAlgorithm: row.access_token_algorithm }),
    ...(row.id_token_algorithm !== null && { idTokenAlgorithm: row.id_token_algorithm }),
    ...(row.metadata !== null && { metadata: JSON.parse(row.metadata) }),
    ...(row.registration_token_digest !== null && {
      registrationTokenDigest: row.registration_token_digest,
    }),
    ...(row.registered_at !== null && { registeredAt: row.registered_at }),
    generation: row.generation,
    revision: row.revision,
    registrationRevision: row.registration_revision,
    ...(row.disabled_at_ms !== null && { disabledAtMs: row.disabled_at_ms }),
  };
}

export type ApiRow = { readonly id: string; readonly resource: string; readonly metadata: string | null };

export function toApiRecord({ id: clientId, resource, metadata }: ApiRow): ApiRecord {
  const { api_scopes: scopes = [] }: ClientMetadata = metadata === null ? {} : JSON.parse(metadata);
  return { clientId, resource, scopes };
}

/** What is stored of a new client, by column. */
export function toClientColumns(client: NewClient) {
  return {
    id: client.id,
    name: client.name ?? null,
    secrets: client.secrets === undefined ? null : JSON.stringify(client.secrets),
    grant_types: JSON.stringify(client.grantTypes),
    scopes: JSON.stringify(client.scopes),
    redirect_uris: JSON.stringify(client.redirectUris),
    resource: client.resource ?? null,
    rotate_refresh_tokens:
      client.rotateRefreshTokens === undefined ? null : Number(client.rotateRefreshTokens),
    access_token_format: client.accessTokenFormat ?? null,
    access_token_algorithm: client.accessTokenAlgorithm ?? null,
    id_token_algorithm: client.idTokenAlgorithm ?? null,
    metadata: client.metadata === undefined ? null : JSON.stringify(client.metadata),
    registration_token_digest: client.registrationTokenDigest ?? null,
    registered_at: client.registeredAt ?? null,
  };
}
