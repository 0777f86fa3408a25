import { originOf } from '../../../protocol/redirect_uri.ts';
import type { ClientRegistry } from '../../contract.ts';
import { CLIENT_COLUMNS, type ClientRow, toClientColumns, toClientRecord } from '../client_rows.ts';
import { changesOf, rowsOf } from './connections.ts';
import { type Found, type PostgresHandle, underLease } from './primary.ts';
import { namedStatements } from './statement.ts';
import { isStorable } from './storable.ts';

export const CLIENTS_SQL = {
  get: underLease(`SELECT ${CLIENT_COLUMNS} FROM grantd.clients WHERE issuer_id = $1 AND id = $2`),

  list: `SELECT ${CLIENT_COLUMNS} FROM grantd.clients WHERE issuer_id = $1 ORDER BY id`,

  hasRedirectOrigin: `
    SELECT 1 FROM grantd.redirect_origins o
    JOIN grantd.clients c ON c.issuer_id = o.issuer_id AND c.id = o.client_id
    WHERE o.issuer_id = $1 AND o.origin = $2 AND c.disabled_at_ms IS NULL LIMIT 1`,

  add: `
    WITH added AS (
      INSERT INTO grantd.clients (issuer_id, id, name, secret_hash, grant_types, scopes, redirect_uris, resource,
        rotate_refresh_tokens, access_token_format, access_token_algorithm, id_token_algorithm)
      SELECT $1, n.* FROM json_to_record($2) AS n (id text, name text, secret_hash text, grant_types text, scopes text,
        redirect_uris text, resource text, rotate_refresh_tokens boolean, access_token_format text,
        access_token_algorithm text, id_token_algorithm text)
      ON CONFLICT (issuer_id, id) DO NOTHING
      RETURNING id),
    origins AS (
      INSERT INTO grantd.redirect_origins (issuer_id, origin, client_id)
      SELECT $1, o.origin, added.id FROM added, json_array_elements_text($3) AS o (origin))
    SELECT 1 FROM added`,

  replaceSecretHash: `
    UPDATE grantd.clients SET secret_hash = $3 WHERE issuer_id = $1 AND id = $2 AND secret_hash IS NOT NULL`,
};

export async function postgresClients({ primary, issuerId }: PostgresHandle): Promise<ClientRegistry> {
  const sql = await namedStatements(CLIENTS_SQL);
  return {
    async get(id) {
      if (!isStorable(id)) return undefined;
      const row = await primary.readUnderLease<Found<ClientRow, 'id'>>([sql.get, issuerId, id]);
      return row.id === null ? undefined : toClientRecord(row);
    },
    async hasRedirectOrigin(origin) {
      if (!isStorable(origin)) return false;
      return changesOf(await primary.read([sql.hasRedirectOrigin, issuerId, origin])) > 0;
    },
    async add(client) {
      const origins = new Set(client.redirectUris.map(originOf).filter((origin) => origin !== undefined));
      const [added] = await primary.write([
        [sql.add, issuerId, JSON.stringify(toClientColumns(client)), JSON.stringify([...origins])],
      ]);
      return rowsOf(added).length === 1;
    },
    async list() {
      return rowsOf<ClientRow>(await primary.read([sql.list, issuerId])).map(toClientRecord);
    },
    async replaceSecretHash(id, secretHash) {
      if (!isStorable(id)) return false;
      const [replaced] = await primary.write([[sql.replaceSecretHash, issuerId, id, secretHash]]);
      return changesOf(replaced) === 1;
    },
  };
}
