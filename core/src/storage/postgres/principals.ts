// Generations of principals, and administration in PostgreSQL: revocation, disabling and counting.
import { MOST_ALIVE } from '../../protocol/record_rules.ts';
import type { AdministrableStorage, PrincipalState, RevocationTarget } from '../contract.ts';
import { markedUntil, principalFacts, principalsBehind } from '../issuing.ts';
import { type AliveRow, aliveToken, COUNTS, countFor, forPostgres, PRINCIPALS } from '../statements.ts';
import { changesOf, isStorable, namedStatements, type PostgresCall, rowsOf } from './connections.ts';
import { type EventInsertion, eventOf, insertEvent } from './events.ts';
import type { PostgresHandle } from './lookups.ts';
import { type Found, underLease } from './primary.ts';

/** A change with its event, which is written only if something changed. */
const withEvent = (change: string, event: string, others: EventInsertion = {}) => `
  WITH changed AS (${change} RETURNING 1)
  ${insertEvent(event, { each: 'changed', ...others })}`;

/** The client and user of a grant; of another principal, those of the event. */
const OF_GRANT: EventInsertion = {
  each: "changed LEFT JOIN grantd.grants g ON g.issuer_id = $1 AND g.grant_id = $3 AND $2 = 'grant'",
  clientId: 'coalesce(e.client_id, g.client_id)',
  subject: 'coalesce(e.subject, g.subject)',
};

/** Parameters of statements that change one client or subject. */
const OF_ONE = ['issuerId', 'id', 'nowMs'];

export const PRINCIPALS_SQL = {
  // A generation begins with the time of the row's creation. If a row was swept and is created again, it is ahead of
  // all tokens that copied the old one. Rows are locked in the order of their kinds. A subject's row, which many
  // transactions may need at once, is locked only if it has to be created.
  keep: `
    INSERT INTO grantd.principals (issuer_id, kind, id, generation, keep_until)
    SELECT $1, n.kind, n.id, $2, n."keepUntil"
    FROM json_to_recordset($3) AS n (kind text, id text, "keepUntil" bigint)
    WHERE n.kind <> 'subject' OR (
      SELECT p.id FROM grantd.principals p WHERE p.issuer_id = $1 AND p.kind = n.kind AND p.id = n.id) IS NULL
    ORDER BY n.kind, n.id
    ON CONFLICT (issuer_id, kind, id) DO UPDATE SET keep_until = excluded.keep_until
    WHERE excluded.keep_until > principals.keep_until`,

  // Every change of a grant's tokens or code begins with this lock, so that each sees the effects of the one
  // before.
  lockGrant: `
    SELECT 1 FROM grantd.principals WHERE issuer_id = $1 AND kind = 'grant' AND id = $2 FOR UPDATE`,

  raise: withEvent(forPostgres(PRINCIPALS.raise, 'issuerId', 'kind', 'id', 'nowMs'), '$5', OF_GRANT),
  raiseMarked: withEvent(
    forPostgres(PRINCIPALS.raiseMarked, 'issuerId', 'kind', 'id', 'nowMs', 'keepUntil'),
    '$6',
  ),
  raiseClient: withEvent(forPostgres(PRINCIPALS.raiseClient, ...OF_ONE), '$4'),
  disableClient: withEvent(forPostgres(PRINCIPALS.disableClient, ...OF_ONE), '$4'),
  disableSubject: withEvent(forPostgres(PRINCIPALS.disableSubject, ...OF_ONE), '$4'),
  enableClient: withEvent(forPostgres(PRINCIPALS.enableClient, 'issuerId', 'id'), '$3'),
  enableSubject: withEvent(forPostgres(PRINCIPALS.enableSubject, 'issuerId', 'id'), '$3'),

  stateOfClient: underLease(forPostgres(PRINCIPALS.stateOfClient, 'issuerId', 'id')),
  stateOfSubject: underLease(forPostgres(PRINCIPALS.stateOfSubject, 'issuerId', 'id')),
};

type StateRow = {
  readonly id: string;
  readonly raised_at_ms: number | null;
  readonly disabled_at_ms: number | null;
};

export interface Principals {
  /** Makes sure that the principals of tokens and codes exist and outlive them. Empty if there are none. */
  keep(dependents: Parameters<typeof principalsBehind>[0]): readonly PostgresCall[];
  /** Empty if there is no grant. */
  lockGrant(grantId: string | undefined): readonly PostgresCall[];
  /** Revokes all tokens of a principal and writes the event. Changes nothing if there is no such principal, unless `markedUntil` counts it as one. */
  raise(target: Exclude<RevocationTarget, { readonly issuedBeforeMs: number }>): PostgresCall;
  /** Also writes the event. Changes nothing if the state is the same already. */
  setDisabled(principal: 'client' | 'subject', id: string, disabled: boolean): PostgresCall;
  /** When its tokens were revoked last, and since when it is disabled. */
  state(principal: 'client' | 'subject', id: string): Promise<PrincipalState | undefined>;
}

/** The generations of the principals of tokens. Clients keep theirs in their own row. */
export async function postgresPrincipals(handle: PostgresHandle): Promise<Principals> {
  const { primary, issuerId, clock, originOf } = handle;
  const sql = await namedStatements(PRINCIPALS_SQL);
  const disabling = { client: sql.disableClient, subject: sql.disableSubject };
  const enabling = { client: sql.enableClient, subject: sql.enableSubject };
  const reading = { client: sql.stateOfClient, subject: sql.stateOfSubject };

  return {
    keep(dependents) {
      const kept = principalsBehind(dependents);
      return kept.length === 0 ? [] : [[sql.keep, issuerId, clock(), JSON.stringify(kept)]];
    },
    lockGrant(grantId) {
      return grantId === undefined ? [] : [[sql.lockGrant, issuerId, grantId]];
    },
    raise(target) {
      const { principal, id } = target;
      const facts = principalFacts(principal, id, target);
      const event = eventOf(handle, `${principal}_revoked`, facts, originOf());
      const nowMs = clock();
      const keepUntil = markedUntil(principal, id, nowMs);
      if (keepUntil !== undefined) return [sql.raiseMarked, issuerId, principal, id, nowMs, keepUntil, event];
      return principal === 'client'
        ? [sql.raiseClient, issuerId, id, nowMs, event]
        : [sql.raise, issuerId, principal, id, nowMs, event];
    },
    setDisabled(principal, id, disabled) {
      const type = `${principal}_${disabled ? 'disabled' : 'enabled'}` as const;
      const event = eventOf(handle, type, principalFacts(principal, id), originOf());
      // Only the event of enabling has a time.
      return disabled
        ? [disabling[principal], issuerId, id, clock(), event]
        : [enabling[principal], issuerId, id, event];
    },
    async state(principal, id) {
      if (!isStorable(id)) return undefined;
      return primary.readUnderLease([reading[principal], issuerId, id], (row: Found<StateRow, 'id'>) =>
        row.id === null ? undefined : toPrincipalState(row),
      );
    },
  };
}

function toPrincipalState({
  raised_at_ms: raisedAtMs,
  disabled_at_ms: disabledAtMs,
}: StateRow): PrincipalState {
  return {
    ...(raisedAtMs !== null && { raisedAtMs }),
    ...(disabledAtMs !== null && { disabledAtMs }),
  };
}

const OF_PRINCIPAL = ['issuerId', 'now', 'id'];

export const ADMINISTRATION_SQL = {
  raiseNotBefore: `
    WITH raised AS (
      UPDATE grantd.issuers SET not_before_ms = $2
      WHERE id = $1 AND coalesce(not_before_ms, 0) < $2 RETURNING 1)
    ${insertEvent('$3', { each: 'raised' })}`,

  disabledSubjects: `
    SELECT id, disabled_at_ms FROM grantd.principals
    WHERE issuer_id = $1 AND kind = 'subject' AND id = ANY ($2::text[]) AND disabled_at_ms IS NOT NULL`,

  recordAct: insertEvent('$2'),

  countOfClient: forPostgres(COUNTS.countOfClient, ...OF_PRINCIPAL),
  countOfSubject: forPostgres(COUNTS.countOfSubject, ...OF_PRINCIPAL),
  countOfSession: forPostgres(COUNTS.countOfSession, ...OF_PRINCIPAL),
  countOfGrant: forPostgres(COUNTS.countOfGrant, ...OF_PRINCIPAL),
  countIssuedBefore: forPostgres(COUNTS.countIssuedBefore, ...OF_PRINCIPAL),
  unread: forPostgres(COUNTS.unread, 'issuerId', 'now'),
  aliveOfClient: forPostgres(COUNTS.aliveOfClient, ...OF_PRINCIPAL, 'most'),
};

type Administration = Pick<
  AdministrableStorage,
  | 'revokeAll'
  | 'countAlive'
  | 'aliveOfClient'
  | 'setDisabled'
  | 'getPrincipalState'
  | 'disabledSubjects'
  | 'recordAct'
>;

export async function postgresAdministration(
  handle: PostgresHandle,
  principals: Principals,
): Promise<Administration> {
  const { primary, issuerId, clock, originOf } = handle;
  const sql = await namedStatements(ADMINISTRATION_SQL);
  const secondsNow = () => Math.floor(clock() / 1000);
  const hasUnread = (now: number) =>
    primary.read([sql.unread, issuerId, now], (found) => rowsOf(found).length > 0);

  const cutoffEvent = (issuedBeforeMs: number) =>
    eventOf(handle, 'issued_before_revoked', { target: String(issuedBeforeMs) }, originOf());

  return {
    async revokeAll(target) {
      if ('id' in target && !isStorable(target.id)) return false;
      return primary.write(
        [
          'issuedBeforeMs' in target
            ? [sql.raiseNotBefore, issuerId, target.issuedBeforeMs, cutoffEvent(target.issuedBeforeMs)]
            : principals.raise(target),
        ],
        ([raised]) => changesOf(raised) === 1,
      );
    },

    async countAlive(target) {
      const { name, id } = countFor(target);
      if (typeof id === 'string' && !isStorable(id)) return { count: 0, hasMore: false };
      const now = secondsNow();
      const count = await primary.read([sql[name], issuerId, now, id], (found) =>
        Number(rowsOf<{ alive: number }>(found)[0]?.alive),
      );
      if (count > MOST_ALIVE) return { count: MOST_ALIVE, hasMore: true };
      return { count, hasMore: name !== 'countOfGrant' && (await hasUnread(now)) };
    },

    async aliveOfClient(clientId, most) {
      if (!isStorable(clientId)) return { tokens: [], hasMore: false };
      const now = secondsNow();
      const tokens = await primary.read([sql.aliveOfClient, issuerId, now, clientId, most + 1], (found) =>
        rowsOf<AliveRow>(found).map(aliveToken),
      );
      if (tokens.length > most) return { tokens: tokens.slice(0, most), hasMore: true };
      return { tokens, hasMore: await hasUnread(now) };
    },

    async setDisabled(principal, id, disabled) {
      if (!isStorable(id)) return;
      await primary.write([principals.setDisabled(principal, id, disabled)]);
    },

    async recordAct({ type, actor, ...facts }) {
      await primary.write([
        [sql.recordAct, issuerId, eventOf(handle, type, facts, { ...originOf(), actor })],
      ]);
    },

    getPrincipalState(principal, id) {
      return principals.state(principal, id);
    },

    async disabledSubjects(subjects) {
      return primary.read(
        [sql.disabledSubjects, issuerId, subjects.filter(isStorable)],
        (found) =>
          new Map(
            rowsOf<{ id: string; disabled_at_ms: number }>(found).map((row) => [row.id, row.disabled_at_ms]),
          ),
      );
    },
  };
}
