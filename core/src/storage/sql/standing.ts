import type { AuthorizationCodeRecord, Standing } from '../../protocol/records.ts';

/**
 * How a token or code stands to what its life depends on: part of every look-up, so that one statement answers
 * completely. `t` is the row that was looked up; each joined row is found by its primary key.
 */
export const STANDING_COLUMNS = `
  t.client_generation,  c.generation AS client_current,
  c.raised_at_ms AS client_raised_at_ms,  c.disabled_at_ms AS client_disabled_at_ms,
  t.subject_generation, s.generation AS subject_current,
  s.raised_at_ms AS subject_raised_at_ms, s.disabled_at_ms AS subject_disabled_at_ms,
  t.session_generation, e.generation AS session_current, e.raised_at_ms AS session_raised_at_ms,
  t.grant_generation,   g.generation AS grant_current,   g.raised_at_ms AS grant_raised_at_ms,
  i.not_before_ms`;

export const STANDING_JOINS = `
  JOIN issuers i ON i.id = t.issuer_id
  ${principalJoins('')}`;

/** That something is behind none of its principals. */
export const IS_NOT_BEHIND = `t.client_generation >= c.generation
  AND (t.subject IS NULL OR t.subject_generation >= s.generation)
  AND (t.session_id IS NULL OR t.session_generation >= e.generation)
  AND (t.grant_id IS NULL OR t.grant_generation >= g.generation)`;

/**
 * That a token was ended neither by itself nor by what was joined to it: what `storedLife` decides of a record, but for
 * its expiry. A disabling raises the generation and lets none be issued, so that it needs no condition of its own.
 */
export const STANDS = `
  t.revoked_at_ms IS NULL AND t.superseded_at_ms IS NULL
  AND t.issued_at_ms >= coalesce(i.not_before_ms, 0)
  AND ${IS_NOT_BEHIND}`;

/** @param schema before the names of tables */
export function principalJoins(schema: '' | 'grantd.'): string {
  return `
  LEFT JOIN ${schema}clients c ON c.issuer_id = t.issuer_id AND c.id = t.client_id
  LEFT JOIN ${schema}principals s ON s.issuer_id = t.issuer_id AND s.kind = 'subject' AND s.id = t.subject
  LEFT JOIN ${schema}principals e ON e.issuer_id = t.issuer_id AND e.kind = 'session' AND e.id = t.session_id
  LEFT JOIN ${schema}principals g ON g.issuer_id = t.issuer_id AND g.kind = 'grant' AND g.id = t.grant_id`;
}

export type StandingRow = {
  readonly client_generation: number;
  readonly client_current: number | null;
  readonly client_raised_at_ms: number | null;
  readonly client_disabled_at_ms: number | null;
  readonly subject_generation: number | null;
  readonly subject_current: number | null;
  readonly subject_raised_at_ms: number | null;
  readonly subject_disabled_at_ms: number | null;
  readonly session_generation: number | null;
  readonly session_current: number | null;
  readonly session_raised_at_ms: number | null;
  readonly grant_generation: number | null;
  readonly grant_current: number | null;
  readonly grant_raised_at_ms: number | null;
  readonly not_before_ms: number | null;
};

type Standings = Required<Pick<AuthorizationCodeRecord, 'standing'>> &
  Pick<AuthorizationCodeRecord, 'notBeforeMs'>;

/** The part of a record that `STANDING_COLUMNS` carry. */
export function standingsOf(row: StandingRow): Standings {
  const { client_generation, subject_generation, session_generation, grant_generation } = row;
  return {
    standing: {
      client: standing(
        client_generation,
        row.client_current,
        row.client_raised_at_ms,
        row.client_disabled_at_ms,
      ),
      ...(subject_generation !== null && {
        subject: standing(
          subject_generation,
          row.subject_current,
          row.subject_raised_at_ms,
          row.subject_disabled_at_ms,
        ),
      }),
      ...(session_generation !== null && {
        session: standing(session_generation, row.session_current, row.session_raised_at_ms, null),
      }),
      ...(grant_generation !== null && {
        grant: standing(grant_generation, row.grant_current, row.grant_raised_at_ms, null),
      }),
    },
    ...(row.not_before_ms !== null && { notBeforeMs: row.not_before_ms }),
  };
}

/** A principal whose row is gone is ahead of whatever copied it: rows are swept after the end of their last token. */
function standing(
  copied: number,
  current: number | null,
  raisedAtMs: number | null,
  disabledAtMs: number | null,
): Standing {
  return {
    copied,
    current: current ?? copied + 1,
    ...(raisedAtMs !== null && { raisedAtMs }),
    ...(disabledAtMs !== null && { disabledAtMs }),
  };
}
