// Generations of principals, and administration in SQLite: revocation, disabling and counting.
import type { EventFacts } from '../../protocol/event_records.ts';
import { MOST_ALIVE } from '../../protocol/record_rules.ts';
import type { Principal } from '../../protocol/records.ts';
import type { AdministrableStorage, PrincipalState, RevocationTarget } from '../contract.ts';
import { endOfDay, markedUntil, principalFacts, principalsBehind } from '../issuing.ts';
import { type AliveRow, aliveToken, COUNTS, countFor, forSqlite, PRINCIPALS } from '../statements.ts';
import type { SqliteHandle } from './connection.ts';
import type { Events } from './events.ts';
import { prepareAll } from './queues.ts';

export const PRINCIPALS_SQL = {
  ...forSqlite(PRINCIPALS),

  // A generation begins with the time of the row's creation. If a row was swept and is created again, it is ahead
  // of every token that copied the old one.
  keep: `
    INSERT INTO principals (issuer_id, kind, id, generation, keep_until)
    VALUES (:issuerId, :kind, :id, :nowMs, :keepUntil)
    ON CONFLICT (issuer_id, kind, id) DO UPDATE SET keep_until = excluded.keep_until
    WHERE excluded.keep_until > principals.keep_until`,

  raiseGrantOnce: `
    UPDATE principals SET generation = generation + 1, raised_at_ms = :nowMs
    WHERE issuer_id = :issuerId AND kind = 'grant' AND id = :id AND generation = :copied`,
};

export interface Principals {
  /**
   * Makes sure that the principals of tokens and codes exist and outlive them. They are kept to the end of a day, so that
   * their rows change about once a day and not with every token.
   */
  keep(dependents: Parameters<typeof principalsBehind>[0]): void;
  /** Revokes all tokens of a principal. @returns whether there is one, or `markedUntil` counts it as one */
  raise(principal: Principal, id: string): boolean;
  /** Revokes all tokens of a grant if its generation is still `copied`. @returns whether it was */
  raiseGrantOnce(id: string, copied: number): boolean;
  /** @returns whether that changed anything */
  setDisabled(principal: 'client' | 'subject', id: string, disabled: boolean): boolean;
  /** When its tokens were revoked last, and since when it is disabled. */
  state(principal: 'client' | 'subject', id: string): PrincipalState | undefined;
}

/** The generations of the principals of tokens. All writes run inside a caller's transaction. */
export function sqlitePrincipals({ database, issuerId, clock }: SqliteHandle): Principals {
  const sql = prepareAll(database, PRINCIPALS_SQL);
  const disabling = { client: sql.disableClient, subject: sql.disableSubject };
  const enabling = { client: sql.enableClient, subject: sql.enableSubject };
  const reading = { client: sql.stateOfClient, subject: sql.stateOfSubject };

  return {
    keep(dependents) {
      for (const { keepUntil, ...kept } of principalsBehind(dependents))
        sql.keep.run({ issuerId, ...kept, keepUntil: keepUntil && endOfDay(keepUntil), nowMs: clock() });
    },
    raise(principal, id) {
      const nowMs = clock();
      const keepUntil = markedUntil(principal, id, nowMs);
      const { changes } =
        keepUntil !== undefined
          ? sql.raiseMarked.run({ issuerId, kind: principal, id, nowMs, keepUntil })
          : principal === 'client'
            ? sql.raiseClient.run({ issuerId, id, nowMs })
            : sql.raise.run({ issuerId, kind: principal, id, nowMs });
      return changes === 1;
    },
    raiseGrantOnce(id, copied) {
      return sql.raiseGrantOnce.run({ issuerId, id, copied, nowMs: clock() }).changes === 1;
    },
    setDisabled(principal, id, disabled) {
      const { changes } = disabled
        ? disabling[principal].run({ issuerId, id, nowMs: clock() })
        : enabling[principal].run({ issuerId, id });
      return changes === 1;
    },
    state(principal, id) {
      const row = reading[principal].get({ issuerId, id });
      if (row === undefined) return undefined;
      const { raised_at_ms: raisedAtMs, disabled_at_ms: disabledAtMs } = row;
      return {
        ...(raisedAtMs !== null && { raisedAtMs: Number(raisedAtMs) }),
        ...(disabledAtMs !== null && { disabledAtMs: Number(disabledAtMs) }),
      };
    },
  };
}

export const ADMINISTRATION_SQL = {
  partiesOfGrant: 'SELECT client_id, subject FROM grants WHERE issuer_id = :issuerId AND grant_id = :id',

  disabledSubjects: `
    SELECT id, disabled_at_ms FROM principals
    WHERE issuer_id = :issuerId AND kind = 'subject' AND id IN (SELECT value FROM json_each(:subjects))
      AND disabled_at_ms IS NOT NULL`,

  raiseNotBefore: `
    UPDATE issuers SET not_before_ms = :notBeforeMs
    WHERE id = :issuerId AND coalesce(not_before_ms, 0) < :notBeforeMs`,

  ...forSqlite(COUNTS),
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

export function sqliteAdministration(
  { database, issuerId, clock, transaction }: SqliteHandle,
  parts: { readonly principals: Principals; readonly events: Events },
): Administration {
  const { principals, events } = parts;
  const sql = prepareAll(database, ADMINISTRATION_SQL);
  const ofGrant = (facts: EventFacts): EventFacts => {
    const { client_id: clientId, subject = facts.subject } =
      sql.partiesOfGrant.get({ issuerId, id: facts.target }) ?? {};
    return {
      ...facts,
      ...(clientId !== undefined && { clientId: String(clientId), subject: String(subject) }),
    };
  };
  const secondsNow = () => Math.floor(clock() / 1000);
  const hasUnread = (now: number) => sql.unread.get({ issuerId, now }) !== undefined;

  return {
    revokeAll(target: RevocationTarget) {
      return transaction((origin) => {
        if ('issuedBeforeMs' in target) {
          const notBeforeMs = target.issuedBeforeMs;
          if (sql.raiseNotBefore.run({ issuerId, notBeforeMs }).changes === 0) return false;
          events.add('issued_before_revoked', { target: String(notBeforeMs) }, origin);
          return true;
        }
        const { principal, id } = target;
        if (!principals.raise(principal, id)) return false;
        const facts = principalFacts(principal, id, target);
        events.add(`${principal}_revoked`, principal === 'grant' ? ofGrant(facts) : facts, origin);
        return true;
      });
    },

    countAlive(target) {
      const { name, id } = countFor(target);
      const now = secondsNow();
      const count = Number(sql[name].get({ issuerId, now, id })?.alive);
      if (count > MOST_ALIVE) return { count: MOST_ALIVE, hasMore: true };
      return { count, hasMore: name !== 'countOfGrant' && hasUnread(now) };
    },

    aliveOfClient(clientId, most) {
      const now = secondsNow();
      const rows: readonly unknown[] = sql.aliveOfClient.all({ issuerId, now, id: clientId, most: most + 1 });
      const tokens = rows.slice(0, most).map((row) => aliveToken(row as AliveRow));
      return { tokens, hasMore: rows.length > most || hasUnread(now) };
    },

    setDisabled(principal, id, disabled) {
      return transaction((origin) => {
        if (!principals.setDisabled(principal, id, disabled)) return;
        events.add(
          `${principal}_${disabled ? 'disabled' : 'enabled'}`,
          principalFacts(principal, id),
          origin,
        );
      });
    },

    recordAct({ type, actor, ...facts }) {
      return transaction((origin) => events.add(type, facts, { ...origin, actor }));
    },

    getPrincipalState(principal, id) {
      return principals.state(principal, id);
    },

    disabledSubjects(subjects) {
      const rows = sql.disabledSubjects.all({ issuerId, subjects: JSON.stringify(subjects) });
      return new Map(rows.map((row) => [String(row.id), Number(row.disabled_at_ms)]));
    },
  };
}
