import { canContinue } from '../continuation.ts';
import type { AdministrableStorage, PrincipalState, RevocationTarget } from '../contract.ts';
import type { Principals } from './principals.ts';
import { addEvent, type MemoryHandle, type PrincipalRow, type TokenRow } from './tables.ts';

type Administration = Pick<
  AdministrableStorage,
  'revokeAll' | 'countAlive' | 'setDisabled' | 'getPrincipalState' | 'recordAct' | 'eventsAfter'
>;

export function memoryAdministration(handle: MemoryHandle, principals: Principals): Administration {
  const { tables, clock } = handle;

  const isAlive = ({ record, generations }: TokenRow): boolean =>
    record.supersededAtMs === undefined &&
    canContinue({ ...record, ...principals.standingsOf(record, generations) }, clock());

  return {
    revokeAll(target) {
      const held = tables();
      if ('issuedBeforeMs' in target) {
        if (target.issuedBeforeMs <= (held.notBeforeMs ?? 0)) return false;
        held.notBeforeMs = target.issuedBeforeMs;
        addEvent(handle, 'issued_before_revoked', String(target.issuedBeforeMs));
        return true;
      }
      if (!principals.raise(target.principal, target.id)) return false;
      addEvent(handle, `${target.principal}_revoked`, target.id);
      return true;
    },
    countAlive(target) {
      return [...tables().tokens.values()].filter((row) => isOf(target, row.record) && isAlive(row)).length;
    },
    setDisabled(principal, id, disabled) {
      if (!principals.setDisabled(principal, id, disabled)) return;
      addEvent(handle, `${principal}_${disabled ? 'disabled' : 'enabled'}`, id);
    },
    getPrincipalState(principal, id) {
      const row = principals.find(principal, id);
      return row && principalState(row);
    },
    recordAct({ type, target, actor }) {
      addEvent(handle, type, target, actor);
    },
    eventsAfter(sequence, limit) {
      return tables()
        .events.filter((event) => event.sequence > sequence)
        .slice(0, limit);
    },
  };
}

function principalState({ raisedAtMs, disabledAtMs }: PrincipalRow): PrincipalState {
  return {
    ...(raisedAtMs !== undefined && { raisedAtMs }),
    ...(disabledAtMs !== undefined && { disabledAtMs }),
  };
}

function isOf(target: RevocationTarget, token: TokenRow['record']): boolean {
  if ('issuedBeforeMs' in target) return token.issuedAtMs < target.issuedBeforeMs;
  const { clientId: client, subject, sessionId: session, grantId: grant } = token;
  return { client, subject, session, grant }[target.principal] === target.id;
}
