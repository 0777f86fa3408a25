import {
  type AuthorizationCodeRecord,
  PRINCIPALS,
  type Principal,
  type Standing,
} from '../../protocol/records.ts';
import { type Generations, type MemoryHandle, type PrincipalRow, principalKey } from './tables.ts';

/** Who a token or code depends on. */
export interface Dependencies {
  readonly clientId: string;
  readonly subject?: string;
  readonly sessionId?: string;
  readonly grantId?: string;
}

export interface Principals {
  find(principal: Principal, id: string): PrincipalRow | undefined;
  /** Sees to it that the principals of a token or code exist and outlive it (seconds). @returns their generations */
  keep(of: Dependencies, keepUntil: number): Generations;
  /** Ends all tokens of a principal. @returns whether there is one */
  raise(principal: Principal, id: string): boolean;
  /** Ends all tokens of a grant, unless that happened since `copied` was its generation. @returns whether it did */
  raiseGrantOnce(id: string, copied: number): boolean;
  /** @returns whether that changed anything */
  setDisabled(principal: 'client' | 'subject', id: string, disabled: boolean): boolean;
  /** How something that copied `generations` stands now. */
  standingsOf(of: Dependencies, generations: Generations): Standings;
}

export type Standings = Pick<AuthorizationCodeRecord, 'standing' | 'notBeforeMs'>;

/** The generations of all that tokens depend on. */
export function memoryPrincipals({ tables, clock }: MemoryHandle): Principals {
  const find = (principal: Principal, id: string) => tables().principals.get(principalKey(principal, id));
  const set = (principal: Principal, id: string, row: PrincipalRow) => {
    tables().principals.set(principalKey(principal, id), row);
  };

  /**
   * A generation begins as the time at which its row was made: a row that is made again after it was swept is ahead
   * of every token that copied the former one.
   */
  const kept = (principal: Principal, id: string, keepUntil: number): number => {
    const row = find(principal, id) ?? { generation: clock(), keepUntil };
    set(principal, id, { ...row, keepUntil: Math.max(row.keepUntil, keepUntil) });
    return row.generation;
  };

  const raise = (principal: Principal, id: string): boolean => {
    const row = find(principal, id);
    if (row === undefined) return false;
    set(principal, id, { ...row, generation: row.generation + 1, raisedAtMs: clock() });
    return true;
  };

  return {
    find,

    keep({ clientId, subject, sessionId, grantId }, keepUntil) {
      return {
        client: kept('client', clientId, Infinity),
        ...(subject !== undefined && { subject: kept('subject', subject, Infinity) }),
        ...(sessionId !== undefined && { session: kept('session', sessionId, keepUntil) }),
        ...(grantId !== undefined && { grant: kept('grant', grantId, keepUntil) }),
      };
    },

    raise,

    raiseGrantOnce(id, copied) {
      return find('grant', id)?.generation === copied && raise('grant', id);
    },

    setDisabled(principal, id, disabled) {
      // A person can be disabled before anything was issued for them; a client must be registered.
      if (disabled && principal === 'subject') kept(principal, id, Infinity);
      const row = find(principal, id);
      if (row === undefined || (row.disabledAtMs !== undefined) === disabled) return false;
      const { disabledAtMs: _, ...enabled } = row;
      const nowMs = clock();
      const ended = { generation: row.generation + 1, raisedAtMs: nowMs, disabledAtMs: nowMs };
      set(principal, id, disabled ? { ...enabled, ...ended } : enabled);
      return true;
    },

    standingsOf({ clientId, subject, sessionId, grantId }, generations) {
      const ids = { client: clientId, subject, session: sessionId, grant: grantId };
      const { notBeforeMs } = tables();
      const standing: Partial<Record<Principal, Standing>> = {};
      for (const principal of PRINCIPALS) {
        const id = ids[principal];
        const copied = generations[principal];
        if (id !== undefined && copied !== undefined)
          standing[principal] = standingOf(copied, find(principal, id));
      }
      return { standing, ...(notBeforeMs !== undefined && { notBeforeMs }) };
    },
  };
}

/** A principal whose row is gone is ahead of whatever copied it: rows are swept after the end of their last token. */
function standingOf(copied: number, row: PrincipalRow | undefined): Standing {
  return {
    copied,
    current: row?.generation ?? copied + 1,
    ...(row?.raisedAtMs !== undefined && { raisedAtMs: row.raisedAtMs }),
    ...(row?.disabledAtMs !== undefined && { disabledAtMs: row.disabledAtMs }),
  };
}
