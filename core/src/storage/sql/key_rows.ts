import type { KeyRecord } from '../../protocol/records.ts';

export const KEY_COLUMNS =
  'kid, algorithm, status, public_jwk, sealed_private_key, created_at_ms, retired_at_ms';

export type KeyRow = {
  readonly kid: string;
  readonly algorithm: KeyRecord['algorithm'];
  readonly status: KeyRecord['status'];
  readonly public_jwk: string;
  readonly sealed_private_key: string;
  readonly created_at_ms: number;
  readonly retired_at_ms: number | null;
};

export function toKeyRecord(row: KeyRow): KeyRecord {
  return {
    kid: row.kid,
    algorithm: row.algorithm,
    status: row.status,
    publicJwk: JSON.parse(row.public_jwk),
    sealedPrivateKey: row.sealed_private_key,
    createdAtMs: row.created_at_ms,
    ...(row.retired_at_ms !== null && { retiredAtMs: row.retired_at_ms }),
  };
}

/** What is stored of a new key, by column. */
export function toKeyColumns(key: KeyRecord) {
  return {
    kid: key.kid,
    algorithm: key.algorithm,
    status: key.status,
    public_jwk: JSON.stringify(key.publicJwk),
    sealed_private_key: key.sealedPrivateKey,
    created_at_ms: key.createdAtMs,
  };
}
