import { newIdentifier, type ProgramTables } from './tables.ts';

/** What is stored of a request that may be repeated. */
interface StoredRequest {
  readonly requestDigest: string;
  /** The sealed answer; `undefined` while the request is pending. */
  readonly sealed: string | undefined;
}

/**
 * Requests that are performed once, however often they are sent: those of the admin API with an Idempotency-Key, and
 * forms. Every method rejects with a `StorageFault` if the database does not answer.
 */
export interface ApiRequests {
  /**
   * Takes a key for a request. Atomic: of concurrent callers, one gets it. A key that has expired is free.
   * @param expiresAtMs when the request counts as lost, if it is not finished
   * @returns the name of the attempt, or what is stored under the key
   */
  begin(
    keyDigest: string,
    requestDigest: string,
    nowMs: number,
    expiresAtMs: number,
  ): Promise<{ readonly attempt: string } | StoredRequest>;
  /** @returns `undefined` if nothing is stored under the key, or it has expired */
  find(keyDigest: string, nowMs: number): Promise<StoredRequest | undefined>;
  /** Stores the answer of an attempt, unless another one has taken its place. */
  finish(keyDigest: string, attempt: string, sealed: string, expiresAtMs: number): Promise<void>;
  /** Frees the key of an attempt that has changed nothing. */
  forget(keyDigest: string, attempt: string): Promise<void>;
}

const API_REQUESTS_SQL = {
  begin: `
    INSERT INTO grantd.api_requests AS r (issuer, key_digest, request_digest, attempt, expires_at_ms)
    VALUES ($1, $2, $3, $4, $6)
    ON CONFLICT (issuer, key_digest) DO UPDATE
    SET request_digest = excluded.request_digest, attempt = excluded.attempt, sealed = NULL,
      expires_at_ms = excluded.expires_at_ms
    WHERE r.expires_at_ms <= $5
    RETURNING key_digest`,
  find: `
    SELECT request_digest, sealed FROM grantd.api_requests
    WHERE issuer = $1 AND key_digest = $2 AND expires_at_ms > $3`,
  finish: `
    UPDATE grantd.api_requests SET sealed = $4, expires_at_ms = $5
    WHERE issuer = $1 AND key_digest = $2 AND attempt = $3`,
  forget: 'DELETE FROM grantd.api_requests WHERE issuer = $1 AND key_digest = $2 AND attempt = $3',
};

export function apiRequestsTable(tables: ProgramTables, issuer: string): ApiRequests {
  const find: ApiRequests['find'] = async (keyDigest, nowMs) => {
    const [row] = await tables.read(API_REQUESTS_SQL.find, issuer, keyDigest, nowMs);
    const sealed = row?.sealed;
    return row && { requestDigest: String(row.request_digest), sealed: sealed ? String(sealed) : undefined };
  };
  return {
    find,
    async begin(keyDigest, requestDigest, nowMs, expiresAtMs) {
      const attempt = newIdentifier();
      for (;;) {
        const values = [keyDigest, requestDigest, attempt, nowMs, expiresAtMs];
        const [taken] = await tables.write([API_REQUESTS_SQL.begin, issuer, ...values]);
        if (taken?.length === 1) return { attempt };
        const stored = await find(keyDigest, nowMs);
        // It may have been swept or freed since.
        if (stored !== undefined) return stored;
      }
    },
    async finish(keyDigest, attempt, sealed, expiresAtMs) {
      await tables.write([API_REQUESTS_SQL.finish, issuer, keyDigest, attempt, sealed, expiresAtMs]);
    },
    async forget(keyDigest, attempt) {
      await tables.write([API_REQUESTS_SQL.forget, issuer, keyDigest, attempt]);
    },
  };
}
