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

  get: `
    SELECT ${PUSHED_REQUEST_COLUMNS} FROM pushed_requests WHERE issuer_id = :issuerId AND id = :id`,

  remove: `
    DELETE FROM pushed_requests WHERE issuer_id = :issuerId AND id = :id`,
};

export function sqlitePushedRequests({
  database,
  issuerId,
  transaction,
  reads,
}: SqliteHandle): PushedRequestRepository {
  const sql = prepareAll(database, PUSHED_REQUESTS_SQL);
  return {
    async add(request) {
      const columns = toPushedRequestColumns(request);
      await transaction(() => sql.add.run({ issuerId, ...columns }));
    },
    get: (id) =>
      reads.read(() => {
        const row = sql.get.get({ issuerId, id }) as PushedRequestRow | undefined;
        return row && toPushedRequest(row);
      }),
    async remove(id) {
      await transaction(() => sql.remove.run({ issuerId, id }));
    },
  };
}
