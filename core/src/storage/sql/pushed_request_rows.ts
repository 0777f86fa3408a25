import type { PushedRequest } from '../../protocol/records.ts';

export const PUSHED_REQUEST_COLUMNS = 'id, client_id, parameters, expires_at';

export type PushedRequestRow = {
  readonly id: string;
  readonly client_id: string;
  readonly parameters: string;
  readonly expires_at: number;
};

export function toPushedRequest(row: PushedRequestRow): PushedRequest {
  return {
    id: row.id,
    clientId: row.client_id,
    parameters: JSON.parse(row.parameters),
    expiresAt: row.expires_at,
  };
}

/** What is stored of a request, by column. */
export function toPushedRequestColumns(request: PushedRequest) {
  return {
    id: request.id,
    client_id: request.clientId,
    parameters: JSON.stringify(request.parameters),
    expires_at: request.expiresAt,
  };
}
