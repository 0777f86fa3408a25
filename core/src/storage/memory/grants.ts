import type { GrantRecord } from '../../protocol/records.ts';
import type { AdministrableStorage } from '../contract.ts';
import type { GrantBeginning } from '../issuing.ts';
import type { Principals } from './principals.ts';
import { addEvent, type Generations, type GrantRow, type MemoryHandle, snapshot } from './tables.ts';

export interface Grants extends Pick<AdministrableStorage, 'grantsOf' | 'revokeGrants'> {
  /** Remembers what the first code or tokens of a grant tell of it; later ones only once it has ended. */
  begin(first: GrantBeginning, generations: Generations): void;
}

export function memoryGrants(handle: MemoryHandle, principals: Principals): Grants {
  const { tables, clock } = handle;

  const isAlive = ({ record, generations }: GrantRow): boolean => {
    const { standing = {} } = principals.standingsOf({ ...record, grantId: record.id }, generations);
    const keepUntil = principals.find('grant', record.id)?.keepUntil ?? 0;
    return (
      keepUntil * 1000 > clock() &&
      Object.values(standing).every(
        ({ copied, current, disabledAtMs }) => copied >= current && disabledAtMs === undefined,
      )
    );
  };

  const aliveOf = (subject: string): readonly GrantRecord[] =>
    [...tables().grants.values()]
      .filter((row) => row.record.subject === subject && isAlive(row))
      .map(({ record }) => record);

  return {
    begin({ grantId, clientId, subject, scopes, sessionId, issuedAtMs }, generations) {
      const { grants } = tables();
      if (grantId === undefined || subject === undefined) return;
      const known = grants.get(grantId);
      if (known !== undefined && isAlive(known)) return;
      const record = snapshot({
        id: grantId,
        clientId,
        subject,
        scopes,
        ...(sessionId !== undefined && { sessionId }),
        createdAtMs: issuedAtMs,
      });
      grants.set(grantId, { record, generations });
    },
    grantsOf(subject) {
      return aliveOf(subject).toSorted(newestFirst);
    },
    revokeGrants(subject, clientId) {
      const ended = aliveOf(subject).filter((grant) => grant.clientId === clientId);
      for (const { id } of ended) {
        principals.raise('grant', id);
        addEvent(handle, 'grant_revoked', id);
      }
      return ended.length;
    },
  };
}

function newestFirst(one: GrantRecord, other: GrantRecord): number {
  return other.createdAtMs - one.createdAtMs || (one.id < other.id ? 1 : -1);
}
