import { newIdentifier, type ProgramTables } from './tables.ts';

/** What is stored of a request with an Idempotency-Key. */
interface StoredRequest {
  readonly requestDigest: string;
  /** The sealed response; `undefined` while the request is pending. */
  readonly sealed: string | undefined;
}

/**
 * Requests to the admin API that callers may repeat. Every method rejects with a `StorageFault` if the database does not
 * answer.
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
  /** Stores the response of an attempt, unless another one has taken its place. */
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
  find: 'SELECT request_digest, sealed FROM grantd.api_requests WHERE issuer = $1 AND key_digest = $2',
  finish: `
    UPDATE grantd.api_requests SET sealed = $4, expires_at_ms = $5
    WHERE issuer = $1 AND key_digest = $2 AND attempt = $3`,
  forget: 'DELETE FROM grantd.api_requests WHERE issuer = $1 AND key_digest = $2 AND attempt = $3',
};

export function apiRequestsTable(tables: ProgramTables, issuer: string): ApiRequests {
  return {
    async begin(keyDigest, requestDigest, nowMs, expiresAtMs) {
      const attempt = newIdentifier();
      for (;;) {
        const values = [keyDigest, requestDigest, attempt, nowMs, expiresAtMs];
        const [taken] = await tables.write([API_REQUESTS_SQL.begin, issuer, ...values]);
        if (taken?.length === 1) return { attempt };
        const [row] = await tables.read(API_REQUESTS_SQL.find, issuer, keyDigest);
        // It may have been swept or freed since.
        if (row === undefined) continue;
        const sealed = row.sealed === null ? undefined : String(row.sealed);
        return { requestDigest: String(row.request_digest), sealed };
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
