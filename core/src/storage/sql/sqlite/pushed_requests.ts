import type { PushedRequestRepository } from '../../contract.ts';
import {
  PUSHED_REQUEST_COLUMNS,
  type PushedRequestRow,
  toPushedRequest,
  toPushedRequestColumns,
} from '../pushed_request_rows.ts';
import { prepareAll, type SqliteHandle } from './connection.ts';

export const PUSHED_REQUESTS_SQL = {
  add: `
    INSERT INTO pushed_requests (issuer_id, id, client_id, parameters, expires_at)
    VALUES (:issuerId, :id, :client_id, :parameters, :expires_at)`,

  take: `
    DELETE FROM pushed_requests WHERE issuer_id = :issuerId AND id = :id RETURNING ${PUSHED_REQUEST_COLUMNS}`,
};

export function sqlitePushedRequests({
  database,
  issuerId,
  transaction,
}: SqliteHandle): PushedRequestRepository {
  const sql = prepareAll(database, PUSHED_REQUESTS_SQL);
  return {
    async add(request) {
      const columns = toPushedRequestColumns(request);
      await transaction(() => sql.add.run({ issuerId, ...columns }));
    },
    take(id) {
      return transaction(() => {
        const row = sql.take.get({ issuerId, id }) as PushedRequestRow | undefined;
        return row && toPushedRequest(row);
      });
    },
  };
}
