import { originOf } from '../../../protocol/redirect_uri.ts';
import type { ClientRegistry } from '../../contract.ts';
import { CLIENT_COLUMNS, type ClientRow, toClientColumns, toClientRecord } from '../client_rows.ts';
import { prepareAll, type SqliteHandle } from './connection.ts';

export const CLIENTS_SQL = {
  get: `SELECT ${CLIENT_COLUMNS} FROM clients WHERE issuer_id = :issuerId AND id = :id`,

  list: `SELECT ${CLIENT_COLUMNS} FROM clients WHERE issuer_id = :issuerId ORDER BY id`,

  hasRedirectOrigin: `
    SELECT 1 FROM redirect_origins o JOIN clients c ON c.issuer_id = o.issuer_id AND c.id = o.client_id
    WHERE o.issuer_id = :issuerId AND o.origin = :origin AND c.disabled_at_ms IS NULL LIMIT 1`,

  add: `
    INSERT INTO clients (issuer_id, id, name, secret_hash, grant_types, scopes, redirect_uris, resource,
      rotate_refresh_tokens, access_token_format, access_token_algorithm, id_token_algorithm)
    VALUES (:issuerId, :id, :name, :secret_hash, :grant_types, :scopes, :redirect_uris, :resource,
      :rotate_refresh_tokens, :access_token_format, :access_token_algorithm, :id_token_algorithm)
    ON CONFLICT (issuer_id, id) DO NOTHING`,

  addRedirectOrigin: `
    INSERT INTO redirect_origins (issuer_id, origin, client_id) VALUES (:issuerId, :origin, :clientId)`,

  replaceSecretHash: `
    UPDATE clients SET secret_hash = :secretHash
    WHERE issuer_id = :issuerId AND id = :id AND secret_hash IS NOT NULL`,
};

export function sqliteClients({ database, issuerId, transaction }: SqliteHandle): ClientRegistry {
  const sql = prepareAll(database, CLIENTS_SQL);
  return {
    get(id) {
      const row = sql.get.get({ issuerId, id }) as ClientRow | undefined;
      return row && toClientRecord(row);
    },
    hasRedirectOrigin(origin) {
      return sql.hasRedirectOrigin.get({ issuerId, origin }) !== undefined;
    },
    add(client) {
      return transaction(() => {
        if (sql.add.run({ issuerId, ...toClientColumns(client) }).changes === 0) return false;
        for (const origin of new Set(client.redirectUris.map(originOf))) {
          if (origin !== undefined) sql.addRedirectOrigin.run({ issuerId, origin, clientId: client.id });
        }
        return true;
      });
    },
    list() {
      return (sql.list.all({ issuerId }) as ClientRow[]).map(toClientRecord);
    },
    replaceSecretHash(id, secretHash) {
      return transaction(() => sql.replaceSecretHash.run({ issuerId, id, secretHash }).changes === 1);
    },
  };
}
