import type { AuthorizationCodeRecord, Standing } from '../../protocol/records.ts';

/**
 * How a token or code stands to what its life depends on: part of every look-up, so that one statement answers
 * completely. `t` is the row that was looked up; each joined row is found by its primary key.
 */
export const STANDING_COLUMNS = `
  t.client_generation,  c.generation, c.raised_at_ms, c.disabled_at_ms,
  t.subject_generation, s.generation, s.raised_at_ms, s.disabled_at_ms,
  t.session_generation, e.generation, e.raised_at_ms,
  t.grant_generation,   g.generation, g.raised_at_ms,
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

/** In the order of `STANDING_COLUMNS`. */
export type StandingRow = readonly [
  clientGeneration: number,
  clientCurrent: number | null,
  clientRaisedAtMs: number | null,
  clientDisabledAtMs: number | null,
  subjectGeneration: number | null,
  subjectCurrent: number | null,
  subjectRaisedAtMs: number | null,
  subjectDisabledAtMs: number | null,
  sessionGeneration: number | null,
  sessionCurrent: number | null,
  sessionRaisedAtMs: number | null,
  grantGeneration: number | null,
  grantCurrent: number | null,
  grantRaisedAtMs: number | null,
  notBeforeMs: number | null,
];

/** A record while it is being made. */
export type Writable<T> = { -readonly [Member in keyof T]: T[Member] };

type Standings = Required<Pick<AuthorizationCodeRecord, 'standing'>> &
  Pick<AuthorizationCodeRecord, 'notBeforeMs'>;

/** The part of a record that `STANDING_COLUMNS` carry. */
export function standingsOf(row: StandingRow): Standings {
  const [client, clientCurrent, clientRaisedAtMs, clientDisabledAtMs, ...others] = row;
  const [subject, subjectCurrent, subjectRaisedAtMs, subjectDisabledAtMs, ...rest] = others;
  const [session, sessionCurrent, sessionRaisedAtMs, grant, grantCurrent, grantRaisedAtMs, notBeforeMs] =
    rest;
  const standings: Writable<Standings['standing']> = {
    client: standing(client, clientCurrent, clientRaisedAtMs, clientDisabledAtMs),
  };
  if (subject !== null)
    standings.subject = standing(subject, subjectCurrent, subjectRaisedAtMs, subjectDisabledAtMs);
  if (session !== null) standings.session = standing(session, sessionCurrent, sessionRaisedAtMs, null);
  if (grant !== null) standings.grant = standing(grant, grantCurrent, grantRaisedAtMs, null);
  return { standing: standings, ...(notBeforeMs !== null && { notBeforeMs }) };
}

/** A principal whose row is gone is ahead of whatever copied it: rows are swept after the end of their last token. */
function standing(
  copied: number,
  current: number | null,
  raisedAtMs: number | null,
  disabledAtMs: number | null,
): Standing {
  const one: Writable<Standing> = { copied, current: current ?? copied + 1 };
  if (raisedAtMs !== null) one.raisedAtMs = raisedAtMs;
  if (disabledAtMs !== null) one.disabledAtMs = disabledAtMs;
  return one;
}
