import type { AdministrableStorage, Awaitable, IssueOutcome, TokenKind, TokenRecord } from '@grantd/core';
import type { OldRepositories } from './old_repositories.ts';
import { OLD_KEY } from './old_signatures.ts';

type Outcome = IssueOutcome | 'superseded';

/**
 * grantd's storage, where the tokens of the old table are found as well. That table is read, and rows in it are revoked;
 * what an old refresh token is exchanged for is grantd's own, beside a copy of it that says that it was exchanged.
 */
export function withOldTokens(
  own: AdministrableStorage,
  old: OldRepositories['tokens'],
): AdministrableStorage {
  const { tokens } = own;

  const findOld = async (kind: TokenKind, id: string): Promise<TokenRecord | undefined> => {
    const row = old.find(kind, id);
    if (row === undefined || !(await own.clients.get(row.client.id))) return undefined;
    const isAccessToken = kind === 'access_token';
    const expiresAtMs =
      (isAccessToken ? row.accessTokenExpiresAt : row.refreshTokenExpiresAt)?.getTime() ?? 0;
    const subject = row.user ? String(row.user.id) : undefined;
    // What the operator did to the client or the person as a whole.
    const client = await own.getPrincipalState('client', row.client.id);
    const person = subject === undefined ? undefined : await own.getPrincipalState('subject', subject);
    return {
      ...{ id, kind, keyId: OLD_KEY, clientId: row.client.id, issuedAtMs: row.issuedAt.getTime() },
      scopes: row.scopes.map(({ name }) => name),
      expiresAt: Math[isAccessToken ? 'floor' : 'ceil'](expiresAtMs / 1000), // as the old server rounds it
      ...(isAccessToken && { tokenType: 'Bearer' }),
      ...(subject !== undefined && { subject }),
      ...(row.refreshToken && { familyId: row.refreshToken, grantId: row.refreshToken }),
      notBeforeMs: Math.max(client?.raisedAtMs ?? 0, person?.raisedAtMs ?? 0),
      standing: { client: { ...CURRENT, ...client }, subject: { ...CURRENT, ...person } },
    };
  };
  const isRevoked = async ({ id }: TokenRecord) => {
    const row = old.find('refresh_token', id);
    return row === undefined || (await old.isRefreshTokenRevoked(row));
  };
  /** In the old table, where the old server sees it: the row of a token, or that from which its family began. */
  const revokeRow = async ({ keyId, kind, id, familyId = '' }: TokenRecord) => {
    const row = keyId === OLD_KEY ? old.find(kind, id) : old.find('refresh_token', familyId);
    if (row !== undefined) await old.revoke(row);
  };
  /** What is revoked while this runs finds either the row alive here, and then the copy, or lets it be refused. */
  const upon = async (record: TokenRecord, issue: () => Awaitable<Outcome>): Promise<Outcome> => {
    if (record.keyId !== OLD_KEY) return issue();
    try {
      await tokens.issue([{ ...record, digest: UNKNOWN, keepUntil: record.expiresAt }], {});
    } catch (error) {
      if (!(await tokens.getByRefreshToken(record.id))) throw error; // else it is there already
    }
    if (!(await isRevoked(record))) return issue();
    return (await tokens.getByRefreshToken(record.id))?.supersededAtMs ? 'superseded' : 'refused';
  };

  return {
    ...own,
    tokens: {
      ...tokens,
      getByAccessToken: async (id) => (await tokens.getByAccessToken(id)) ?? findOld('access_token', id),
      async getByRefreshToken(id) {
        const found = await tokens.getByRefreshToken(id);
        if (found?.keyId !== OLD_KEY) return found ?? findOld('refresh_token', id);
        const { digest: _, ...exchanged } = found;
        return found.supersededAtMs === undefined ? findOld('refresh_token', id) : exchanged;
      },
      isRefreshTokenRevoked: (record) =>
        record.keyId === OLD_KEY && record.supersededAtMs === undefined
          ? isRevoked(record)
          : tokens.isRefreshTokenRevoked(record),
      async revoke(record) {
        await revokeRow(record);
        await (record.keyId === OLD_KEY ? tokens.revokeFamily(record) : tokens.revoke(record));
      },
      async revokeFamily(record) {
        await revokeRow(record);
        await tokens.revokeFamily(record);
      },
      async rotate(record, successor, issued) {
        const outcome = await upon(record, () => tokens.rotate(record, successor, issued));
        if (record.keyId === OLD_KEY && outcome !== 'refused') await revokeRow(record);
        return outcome;
      },
      async issueBeside(record, issued) {
        // A retry, perhaps because the process ended before the row was revoked.
        if (record.keyId !== OLD_KEY) await revokeRow(record);
        return upon(record, () => tokens.issueBeside(record, issued));
      },
    },
  };
}

const CURRENT = { copied: 0, current: 0 };
/** In place of the digest of a token that the old server kept no digest of. */
const UNKNOWN = '';
