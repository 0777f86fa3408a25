import type { ClientRecord, SigningAlgorithm, TokenFormat } from '../../../protocol/records.ts';
import { originOf } from '../../../protocol/redirect_uri.ts';
import type { ClientRegistry, NewClient } from '../../contract.ts';
import { prepareAll, type SqliteHandle } from './connection.ts';

const COLUMNS = `id, name, secret_hash, grant_types, scopes, redirect_uris, resource, rotate_refresh_tokens,
  access_token_format, access_token_algorithm, id_token_algorithm, generation, disabled_at_ms`;

export const CLIENTS_SQL = {
  get: `SELECT ${COLUMNS} FROM clients WHERE issuer_id = :issuerId AND id = :id`,

  list: `SELECT ${COLUMNS} FROM clients WHERE issuer_id = :issuerId ORDER BY id`,

  hasRedirectOrigin: `
    SELECT 1 FROM redirect_origins o JOIN clients c ON c.issuer_id = o.issuer_id AND c.id = o.client_id
    WHERE o.issuer_id = :issuerId AND o.origin = :origin AND c.disabled_at_ms IS NULL LIMIT 1`,

  add: `
    INSERT INTO clients (issuer_id, id, name, secret_hash, grant_types, scopes, redirect_uris, resource,
      rotate_refresh_tokens, access_token_format, access_token_algorithm, id_token_algorithm)
    VALUES (:issuerId, :id, :name, :secretHash, :grantTypes, :scopes, :redirectUris, :resource,
      :rotateRefreshTokens, :accessTokenFormat, :accessTokenAlgorithm, :idTokenAlgorithm)
    ON CONFLICT (issuer_id, id) DO NOTHING`,

  addRedirectOrigin: `
    INSERT INTO redirect_origins (issuer_id, origin, client_id) VALUES (:issuerId, :origin, :clientId)`,

  replaceSecretHash: `
    UPDATE clients SET secret_hash = :secretHash
    WHERE issuer_id = :issuerId AND id = :id AND secret_hash IS NOT NULL`,
};

type ClientRow = {
  readonly id: string;
  readonly name: string | null;
  readonly secret_hash: string | null;
  readonly grant_types: string;
  readonly scopes: string;
  readonly redirect_uris: string;
  readonly resource: string | null;
  readonly rotate_refresh_tokens: number | null;
  readonly access_token_format: TokenFormat | null;
  readonly access_token_algorithm: SigningAlgorithm | null;
  readonly id_token_algorithm: SigningAlgorithm | null;
  readonly generation: number;
  readonly disabled_at_ms: number | null;
};

export function sqliteClients({ database, issuerId, transaction }: SqliteHandle): ClientRegistry {
  const sql = prepareAll(database, CLIENTS_SQL);
  return {
    get(id) {
      const row = sql.get.get({ issuerId, id }) as ClientRow | undefined;
      return row && toRecord(row);
    },
    hasRedirectOrigin(origin) {
      return sql.hasRedirectOrigin.get({ issuerId, origin }) !== undefined;
    },
    add(client) {
      return transaction(() => {
        if (sql.add.run({ issuerId, ...toParameters(client) }).changes === 0) return false;
        for (const origin of new Set(client.redirectUris.map(originOf))) {
          if (origin !== undefined) sql.addRedirectOrigin.run({ issuerId, origin, clientId: client.id });
        }
        return true;
      });
    },
    list() {
      return (sql.list.all({ issuerId }) as ClientRow[]).map(toRecord);
    },
    replaceSecretHash(id, secretHash) {
      return sql.replaceSecretHash.run({ issuerId, id, secretHash }).changes === 1;
    },
  };
}

function toRecord(row: ClientRow): ClientRecord {
  return {
    id: row.id,
    ...(row.name !== null && { name: row.name }),
    ...(row.secret_hash !== null && { secretHash: row.secret_hash }),
    grantTypes: JSON.parse(row.grant_types),
    scopes: JSON.parse(row.scopes),
    redirectUris: JSON.parse(row.redirect_uris),
    ...(row.resource !== null && { resource: row.resource }),
    ...(row.rotate_refresh_tokens !== null && { rotateRefreshTokens: row.rotate_refresh_tokens === 1 }),
    ...(row.access_token_format !== null && { accessTokenFormat: row.access_token_format }),
    ...(row.access_token_algorithm !== null && { accessTokenAlgorithm: row.access_token_algorithm }),
    ...(row.id_token_algorithm !== null && { idTokenAlgorithm: row.id_token_algorithm }),
    generation: row.generation,
    ...(row.disabled_at_ms !== null && { disabledAtMs: row.disabled_at_ms }),
  };
}

function toParameters(client: NewClient) {
  return {
    id: client.id,
    name: client.name ?? null,
    secretHash: client.secretHash ?? null,
    grantTypes: JSON.stringify(client.grantTypes),
    scopes: JSON.stringify(client.scopes),
    redirectUris: JSON.stringify(client.redirectUris),
    resource: client.resource ?? null,
    rotateRefreshTokens: client.rotateRefreshTokens === undefined ? null : Number(client.rotateRefreshTokens),
    accessTokenFormat: client.accessTokenFormat ?? null,
    accessTokenAlgorithm: client.accessTokenAlgorithm ?? null,
    idTokenAlgorithm: client.idTokenAlgorithm ?? null,
  };
}
