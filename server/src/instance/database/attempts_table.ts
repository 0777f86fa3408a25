import type { Attempts } from '../../people/attempts.ts';
import type { ProgramTables } from './program_tables.ts';

const SQL = {
  count: `
    INSERT INTO grantd.sign_in_attempts AS a (issuer, key_digest, attempts, ends_at_ms) VALUES ($1, $2, 1, $4)
    ON CONFLICT (issuer, key_digest) DO UPDATE SET
      attempts = CASE WHEN a.ends_at_ms <= $3 THEN 1 ELSE a.attempts + 1 END,
      ends_at_ms = CASE WHEN a.ends_at_ms <= $3 THEN excluded.ends_at_ms ELSE a.ends_at_ms END
    RETURNING attempts, ends_at_ms`,

  forget: 'DELETE FROM grantd.sign_in_attempts WHERE issuer = $1 AND key_digest = $2',
};

export function attemptsTable(tables: ProgramTables, issuer: string): Attempts {
  return {
    async count(keyDigest, nowMs, windowMs) {
      const [rows] = await tables.write([SQL.count, issuer, keyDigest, nowMs, nowMs + windowMs]);
      const [counted] = rows ?? [];
      return { attempts: Number(counted?.attempts), endsAtMs: Number(counted?.ends_at_ms) };
    },
    async forget(keyDigest) {
      await tables.write([SQL.forget, issuer, keyDigest]);
    },
  };
}
