import { type ProgramTables, table } from './tables.ts';

/** A client that has acted for a user, with tokens that it obtained by exchange. */
export interface ActingUse {
  readonly subject: string;
  readonly clientId: string;
  /** The application through which it acted. */
  readonly applicationId: string;
  readonly sinceMs: number;
  /** To the hour. */
  readonly lastUsedMs: number;
}

/** Who has acted for users in the last 30 days. Every method rejects with a `StorageFault` if the database does not answer. */
export interface ActingUses {
  /** Adds uses, in one write. Of a known one, only a later use counts. */
  note(uses: readonly ActingUse[]): Promise<void>;
  ofSubject(subject: string): Promise<readonly ActingUse[]>;
}

const KEPT_MS = 30 * 24 * 60 * 60 * 1000;

export const ACTING_USES = table('acting_uses', {
  text: 'subject client_id application_id',
  integer: 'since_ms last_used_ms expires_at_ms',
});

/** Uses of a user. The consents of the same parties end with them. */
export const ACTING_USES_SQL = ACTING_USES.statements({
  note: `${ACTING_USES.insert} WHERE TRUE ON CONFLICT (issuer, subject, client_id, application_id) DO UPDATE
    SET last_used_ms = excluded.last_used_ms, expires_at_ms = excluded.expires_at_ms
    WHERE excluded.last_used_ms > acting_uses.last_used_ms`,
  ofSubject: `SELECT ${ACTING_USES.list} FROM grantd.acting_uses WHERE issuer = :issuer AND subject = :subject`,
  forget:
    'DELETE FROM grantd.acting_uses WHERE issuer = :issuer AND subject = :subject AND client_id = :clientId',
  forgetPerson: 'DELETE FROM grantd.acting_uses WHERE issuer = :issuer AND subject = :subject',
});

export function actingUsesTable(tables: ProgramTables): ActingUses {
  return {
    async note(uses) {
      if (uses.length === 0) return;
      const calls = uses.map((use) =>
        ACTING_USES_SQL.note({ ...use, expiresAtMs: use.lastUsedMs + KEPT_MS }),
      );
      await tables.run(...calls);
    },
    ofSubject: (subject) =>
      tables.list(ACTING_USES_SQL.ofSubject({ subject }), (row) => {
        const { expiresAtMs: _, ...use } = ACTING_USES.recordOf(row);
        return use;
      }),
  };
}
