import type { PushedRequestRepository } from '../../contract.ts';
import {
  PUSHED_REQUEST_COLUMNS,
  type PushedRequestRow,
  toPushedRequest,
  toPushedRequestColumns,
} from '../pushed_request_rows.ts';
import type { PostgresHandle } from './handle.ts';
import { type Found, underLease } from './primary.ts';
import { namedStatements } from './statement.ts';
import { isStorable } from './storable.ts';

export const PUSHED_REQUESTS_SQL = {
  add: `
    INSERT INTO grantd.pushed_requests (issuer_id, ${PUSHED_REQUEST_COLUMNS}) VALUES ($1, $2, $3, $4, $5)`,

  get: underLease(`
    SELECT ${PUSHED_REQUEST_COLUMNS} FROM grantd.pushed_requests WHERE issuer_id = $1 AND id = $2`),

  remove: `
    DELETE FROM grantd.pushed_requests WHERE issuer_id = $1 AND id = $2`,
};

export async function postgresPushedRequests({
  primary,
  issuerId,
}: PostgresHandle): Promise<PushedRequestRepository> {
  const sql = await namedStatements(PUSHED_REQUESTS_SQL);
  return {
    async add(request) {
      const { id, client_id, parameters, expires_at } = toPushedRequestColumns(request);
      await primary.write([[sql.add, issuerId, id, client_id, parameters, expires_at]]);
    },
    async get(id) {
      if (!isStorable(id)) return undefined;
      const row = await primary.readUnderLease<Found<PushedRequestRow, 'id'>>([sql.get, issuerId, id]);
      return row.id === null ? undefined : toPushedRequest(row);
    },
    async remove(id) {
      if (isStorable(id)) await primary.write([[sql.remove, issuerId, id]]);
    },
  };
}
