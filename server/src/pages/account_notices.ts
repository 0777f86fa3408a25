import { isJsonObject } from '@grantd/core/options';
import type { SealedValues } from './sealed_values.ts';
import type { AccountNotice } from './views/account.ts';

/** A notice as it is in an address, for one session alone: anyone can make up an address. */
export function sealNotice(notices: SealedValues, notice: AccountNotice, sessionId: string): Promise<string> {
  return notices.seal({ notice, sessionId });
}

/** @returns `undefined` where there is none, or it was not made here for this session */
export async function openNotice(
  notices: SealedValues,
  sealed: string | undefined,
  sessionId: string,
): Promise<AccountNotice | undefined> {
  const value = sealed === undefined ? undefined : await notices.open(sealed);
  return isJsonObject(value) && value.sessionId === sessionId ? noticeOf(value.notice) : undefined;
}

/** @returns `undefined` for what another version of the program sealed */
function noticeOf(value: unknown): AccountNotice | undefined {
  if (!isJsonObject(value)) return undefined;
  const { done, application, count } = value;
  if (done === 'session_ended' || done === 'nothing_to_end') return { done };
  if (done === 'access_ended' && typeof application === 'string') return { done, application };
  if (done === 'other_sessions_ended' && typeof count === 'number') return { done, count };
  return undefined;
}
