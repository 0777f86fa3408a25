// Issues tokens for an operator, without a grant by a user.

import { type Access, accessFor, audienceOf, refusedUse, type WantedAccess } from '../clients/access.ts';
import type { ClientContext } from '../clients/client.ts';
import { OAuthError } from '../http/errors.ts';
import { defined } from '../platform/environment.ts';
import { hasPairwiseSubjects, isPersonalScope, type TokenFormat } from '../protocol/client_metadata.ts';
import { underProfile } from '../protocol/profile.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { grantClaimsOf, mintAccessToken, mintRefreshToken } from '../tokens/mint.ts';
import { newTimedIdentifier } from '../tokens/opaque_token.ts';
import { ONE_SECTOR, sectorOf, subjectIdentifier } from '../tokens/subject_identifier.ts';

/** An operator’s order for tokens. They are as real as tokens from any grant. */
export interface OperatorIssue {
  readonly clientId: string;
  /** The user. Without it, the client acts for itself. */
  readonly subject?: string;
  /** The user’s readable name. */
  readonly username?: string;
  /** Default: all scopes of the client, or without a user, the scopes that need none. */
  readonly scopes?: readonly string[];
  /** Resource URIs. Default: the default audience, or the only API that the scopes belong to. */
  readonly resources?: readonly string[];
  /** Lifetime of the access token in seconds. */
  readonly lifetime?: number;
  /** Whether to issue a refresh token too. Requires a user. */
  readonly refresh?: boolean;
  readonly format?: TokenFormat;
}

export interface IssuedByOperator {
  readonly accessToken: string;
  readonly refreshToken?: string;
  /** Seconds since 1970. */
  readonly expiresAt: number;
  readonly scopes: readonly string[];
  readonly grantId?: string;
}

/** The order cannot be issued. The message says why. */
export class OperatorIssueError extends Error {
  override readonly name = 'OperatorIssueError';
}

/**
 * Issues `count` sets of tokens in one transaction, without a grant.
 * @throws {OperatorIssueError} the client or a scope does not allow it
 * @throws {StorageFault} storage is unavailable
 */
export async function issueByOperator(
  context: ClientContext,
  order: OperatorIssue,
  count = 1,
): Promise<readonly IssuedByOperator[]> {
  if (!isWholeFrom1(count) || !isWholeFrom1(order.lifetime ?? 1)) {
    throw new OperatorIssueError('the lifetime and the number of tokens must be positive whole numbers');
  }
  const found = await context.storage.clients.get(order.clientId);
  if (!found) throw new OperatorIssueError(`there is no client ${order.clientId}`);
  const client = underProfile(context, found);
  if (client.disabledAtMs !== undefined) throw new OperatorIssueError(`the client ${client.id} is disabled`);
  const { dpop_bound_access_tokens: toKey, tls_client_certificate_bound_access_tokens: toCertificate } =
    client.metadata ?? {};
  if (toKey || toCertificate) {
    const bound = toKey ? 'key' : 'certificate';
    throw new OperatorIssueError(`the tokens of the client ${client.id} are bound to a ${bound} of its own`);
  }
  if (order.refresh && order.subject === undefined) {
    throw new OperatorIssueError('a refresh token requires a user');
  }
  const hasPerson = order.subject !== undefined;
  if (order.subject !== undefined && (await refusedUse(context, client, order.subject)))
    throw new OperatorIssueError(`the user may not use the client ${client.id}`);
  const wanted = order.scopes ?? client.scopes.filter((scope) => hasPerson || !isPersonalScope(scope));
  for (const scope of wanted) {
    if (!client.scopes.includes(scope))
      throw new OperatorIssueError(`the client ${client.id} has no scope ${scope}`);
    if (!hasPerson && isPersonalScope(scope))
      throw new OperatorIssueError(`the scope ${scope} requires a user`);
  }

  const { scopes, resources } = await possibleAccess(context, client, {
    scopes: wanted,
    mustFit: order.scopes !== undefined,
    ...(order.resources !== undefined && { resources: order.resources }),
  });

  const { subject, username } = order;
  if (hasPerson && hasPairwiseSubjects(client) && sectorOf(client) === undefined)
    throw new OperatorIssueError(
      `the client ${client.id} has pairwise subjects, which require ${ONE_SECTOR}`,
    );
  const person =
    subject === undefined ? undefined : { subject, sub: await subjectIdentifier(context, client, subject) };
  const claims = grantClaimsOf(client, { username });
  const minted = await Promise.all(
    Array.from({ length: count }, async () => {
      const purpose = {
        client,
        scopes,
        claims,
        confirmation: undefined,
        audience: audienceOf(context, resources),
        ...(resources !== undefined && { resources }),
        ...(person !== undefined && {
          person,
          grantId: newTimedIdentifier(context),
        }),
        ...(order.refresh && {
          familyId: newTimedIdentifier(context),
          pairId: newTimedIdentifier(context),
        }),
      };
      const refresh = order.refresh ? await mintRefreshToken(context, purpose) : undefined;
      const access = await mintAccessToken(
        context,
        {
          ...purpose,
          ...defined({ lifetime: order.lifetime, format: order.format }),
        },
        refresh?.record.keepUntil,
      );
      return { access, refresh };
    }),
  );
  const records = minted.flatMap(({ access, refresh }) =>
    refresh ? [access.record, refresh.record] : [access.record],
  );
  const outcome = await context.storage.tokens.issue(records, { clientGeneration: client.generation ?? 0 });
  if (outcome !== 'issued')
    throw new OperatorIssueError(`the client ${client.id} or the user is disabled or has just been revoked`);

  return minted.map(({ access, refresh }) => ({
    accessToken: access.token,
    expiresAt: access.record.expiresAt,
    scopes,
    ...defined({ refreshToken: refresh?.token, grantId: access.record.grantId }),
  }));
}

/** @throws {OperatorIssueError} with the description that the client would get */
async function possibleAccess(
  context: ClientContext,
  client: ClientRecord,
  wanted: WantedAccess,
): Promise<Access> {
  try {
    return await accessFor(context, client, wanted);
  } catch (error) {
    if (error instanceof OAuthError) throw new OperatorIssueError(`${error.description}: ${error.value}`);
    throw error;
  }
}

function isWholeFrom1(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 1;
}
