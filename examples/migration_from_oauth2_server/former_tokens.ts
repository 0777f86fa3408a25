import type { AdministrableStorage, Awaitable, IssueOutcome, TokenKind, TokenRecord } from '@grantd/core';

/** Tokens that another server issued, in its own tables. */
export interface FormerTokens {
  /** Their records' `keyId`, which no key of grantd's has. */
  readonly keyId: string;
  /** Their record, without a digest; an `expiresAt` of zero is a revoked one. */
  find(kind: TokenKind, id: string): Awaitable<TokenRecord | undefined>;
  /** Revokes a token with its pair. Idempotent, also where there is none. */
  revoke(kind: TokenKind, id: string): Awaitable<void>;
}

type Outcome = IssueOutcome | 'superseded';

/**
 * grantd's storage, where former tokens are found as well. They stay where they are; what a former refresh token is
 * exchanged for is grantd's own, beside a copy of it that says what became of it.
 */
export function withFormerTokens(own: AdministrableStorage, former: FormerTokens): AdministrableStorage {
  const { clients, tokens } = own;
  const isFormer = ({ keyId }: TokenRecord) => keyId === former.keyId;

  const find = async (kind: TokenKind, id: string): Promise<TokenRecord | undefined> => {
    const record = await former.find(kind, id);
    if (record === undefined || !(await clients.get(record.clientId))) return undefined;
    const states = [
      await own.getPrincipalState('client', record.clientId),
      record.subject !== undefined && (await own.getPrincipalState('subject', record.subject)),
    ];
    const isEnded = states.some(
      (state) => state && (state.disabledAtMs || Number(state.raisedAtMs) > record.issuedAtMs),
    );
    return isEnded ? { ...record, expiresAt: 0 } : record;
  };

  /** Of a former token itself, or of that from which the family of a new one began. */
  const revokeFormer = (record: TokenRecord) =>
    isFormer(record)
      ? former.revoke(record.kind, record.id)
      : former.revoke('refresh_token', record.familyId ?? '');

  /** Whoever revokes it meanwhile ends the former token first and then the copy: one of the two is noticed here. */
  const upon = async (record: TokenRecord, issue: () => Awaitable<Outcome>): Promise<Outcome> => {
    if (!isFormer(record)) return issue();
    const { generation = 0 } = (await clients.get(record.clientId)) ?? {};
    const copy = { ...record, digest: '', keepUntil: record.expiresAt };
    try {
      await tokens.issue([copy], { clientGeneration: generation });
    } catch (error) {
      if (!(await tokens.getByRefreshToken(record.id))) throw error; // otherwise it is there already
    }
    if ((await find('refresh_token', record.id))?.expiresAt) return issue();
    return (await tokens.getByRefreshToken(record.id))?.supersededAtMs ? 'superseded' : 'refused';
  };

  return {
    ...own,
    tokens: {
      ...tokens,
      getByAccessToken: async (id) => (await tokens.getByAccessToken(id)) ?? find('access_token', id),
      async getByRefreshToken(id) {
        const found = await tokens.getByRefreshToken(id);
        if (found && !isFormer(found)) return found;
        if (found?.supersededAtMs === undefined) return find('refresh_token', id);
        const { digest: _, ...copy } = found;
        return copy;
      },
      isRefreshTokenRevoked: (record) =>
        isFormer(record) ? record.revokedAtMs !== undefined : tokens.isRefreshTokenRevoked(record),
      async revoke(record) {
        await revokeFormer(record);
        await tokens.revoke(record);
      },
      async revokeFamily(record) {
        await revokeFormer(record);
        await tokens.revokeFamily(record);
      },
      async rotate(record, successor, issued) {
        const outcome = await upon(record, () => tokens.rotate(record, successor, issued));
        if (isFormer(record) && outcome !== 'refused') await revokeFormer(record);
        return outcome;
      },
      async issueBeside(record, issued) {
        if (!isFormer(record)) await revokeFormer(record); // a retry: what came first may have stopped halfway
        return upon(record, () => tokens.issueBeside(record, issued));
      },
    },
  };
}
