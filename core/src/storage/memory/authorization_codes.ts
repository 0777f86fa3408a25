import type { AuthorizationCodeRecord } from '../../protocol/records.ts';
import { canContinue } from '../continuation.ts';
import type { AuthorizationCodeRepository } from '../contract.ts';
import type { Issuing } from '../issuing.ts';
import { EXPIRED_CODE_SECONDS, latest } from '../retention.ts';
import { requireSamePrincipals } from '../ties.ts';
import type { Grants } from './grants.ts';
import type { Principals } from './principals.ts';
import type { Revoking } from './revoking.ts';
import { addEvent, type MemoryHandle, snapshot } from './tables.ts';

export function memoryAuthorizationCodes(
  handle: MemoryHandle,
  parts: {
    readonly issuing: Issuing;
    readonly grants: Grants;
    readonly principals: Principals;
    readonly revoking: Revoking;
  },
): AuthorizationCodeRepository {
  const { issuing, grants, principals, revoking } = parts;
  const { tables, clock } = handle;

  const find = (id: string): AuthorizationCodeRecord | undefined => {
    const row = tables().authorizationCodes.get(id);
    return row && { ...row.record, ...principals.standingsOf(row.record, row.generations) };
  };

  return {
    get: find,

    issue(code, { clientGeneration = 0 }) {
      const { authorizationCodes } = tables();
      if (!issuing.admits(code, clientGeneration)) return 'refused';
      if (authorizationCodes.has(code.id)) throw new Error('a code with this identifier is stored already');
      const record = snapshot(code);
      const keepUntil = code.expiresAt + EXPIRED_CODE_SECONDS;
      const generations = principals.keep(code, code.expiresAt);
      authorizationCodes.set(code.id, { record, keepUntil, generations });
      grants.begin(record, generations);
      return 'issued';
    },

    redeem({ id }, tokens) {
      const stored = find(id);
      const row = tables().authorizationCodes.get(id);
      if (stored === undefined || row === undefined) return 'refused';
      if (stored.redeemedAtMs !== undefined) return 'already_redeemed';
      if (!canContinue(stored, clock())) return 'refused';
      requireSamePrincipals(stored, tokens);
      if (!tokens.every((token) => issuing.admits(token))) return 'refused';
      issuing.insert(tokens);
      const record = { ...row.record, redeemedAtMs: clock() };
      const keepUntil = Math.max(row.keepUntil, latest(tokens));
      tables().authorizationCodes.set(id, { ...row, record, keepUntil });
      return 'issued';
    },

    revoke({ id, grantId }) {
      const row = tables().authorizationCodes.get(id);
      if (row === undefined) return;
      const marked = revoking.endCode(row);
      const ended = revoking.endGrant(grantId, row.generations.grant);
      if (marked || ended > 0) addEvent(handle, 'code_revoked', id);
    },
  };
}
