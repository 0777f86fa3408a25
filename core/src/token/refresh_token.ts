// The grant type `refresh_token`.
import { type RemainingAccess, refusedUse, remainingAccess } from '../clients/access.ts';
import { isConfidential } from '../clients/authentication.ts';
import type { ClientContext } from '../clients/client.ts';
import {
  confirmationOfAccessToken,
  confirmationOfRefreshToken,
  type Proofs,
  requireSameConfirmation,
} from '../confirmation/confirmation.ts';
import { grantEnded, invalidGrant } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import { type Form, requireParameter, valuesIn } from '../http/form.ts';
import { AUTHORIZATION_DETAILS } from '../protocol/authorization_details.ts';
import type { Confirmation } from '../protocol/claims.ts';
import type { ClientRecord, TokenRecord } from '../protocol/records.ts';
import type { FoundToken, NoToken } from '../tokens/context.ts';
import {
  FAMILY_END,
  grantClaimsOf,
  type MintedAccessToken,
  mintAccessToken,
  mintSuccessor,
  recallSuccessor,
  type TokenPurpose,
  withIdToken,
} from '../tokens/mint.ts';
import { newTimedIdentifier } from '../tokens/opaque_token.ts';
import { claimsOfRecord, confirmationOf, findToken, lifeOf, personOf } from '../tokens/state.ts';
import type { Grant } from './grant.ts';

/** A refresh token that the right client presented. */
interface Presented extends FoundToken {
  readonly token: string;
  readonly client: ClientRecord;
  /** What it is bound to. */
  readonly bound: Confirmation | undefined;
  /** What the request proves possession of. */
  readonly proven: Confirmation | undefined;
  readonly dpop: Proofs['dpop'];
}

/** Refreshes tokens (RFC 6749 §6), with rotation and detection of reuse (RFC 9700 §4.14.2). */
export const refreshToken: Grant<FoundToken | NoToken> = {
  lookUp: async (context, form) => findToken(context, requireParameter(form, 'refresh_token')),
  async issue(context, client, form, call, { proven, dpop }, found) {
    const token = requireParameter(form, 'refresh_token');
    if ('reason' in found) throw refused(found.reason);
    const { record, claims } = found;
    if (record.kind !== 'refresh_token') throw refused('wrong_type');
    if (record.clientId !== client.id) throw refused('refresh_token_foreign');
    const bound = confirmationOf(found);
    if (bound !== undefined) requireSameConfirmation(bound, proven); // RFC 8705 §4, RFC 9449 §5
    const life = await lifeOf(context, record, claims);
    if (!life.alive && life.reason !== 'superseded') throw refused(life.reason);

    const accepted = { ...found, token, client, bound, proven, dpop };
    if (!life.alive) return retry(context, accepted, form, call);
    return rotates(client) ? rotate(context, accepted, form, call) : keep(context, accepted, form);
  },
};

/** Replaces the presented token by its successor, and issues an access token. */
async function rotate(context: ClientContext, presented: Presented, form: Form, call: Call) {
  const { record, token, client, bound, proven, dpop } = presented;
  const remaining = await remainingAccess(context, client, record);
  // A public client that shows a key or certificate for the first time is bound to it.
  const confirmation = bound ?? (proven && confirmationOfRefreshToken(client, proven));
  const purpose = { ...purposeOf(presented, remaining), pairId: newTimedIdentifier(context), confirmation };
  const refresh = await mintSuccessor(context, purpose, token);
  const minted = await mintAccessAndIdToken(context, presented, refresh.record, remaining, form);
  const tokens = [minted.access.record, refresh.record];
  const outcome = await context.storage.tokens.rotate(record, refresh.record, tokens, dpop?.once);
  if (outcome === 'issued') return { ...minted, refreshToken: refresh.token };
  if (outcome !== 'superseded') throw grantEnded();

  // A concurrent request has rotated the token: a retry.
  const found = await context.storage.tokens.getByRefreshToken(record.id);
  if (!found) throw grantEnded();
  return retry(context, { ...presented, record: found }, form, call);
}

/** Refresh tokens of public clients always rotate (RFC 9700 §2.2.2). Others as registered. */
function rotates(client: ClientRecord): boolean {
  return client.rotateRefreshTokens !== false || !isConfidential(client);
}

/** Keeps the refresh token, for clients without rotation. */
async function keep(context: ClientContext, presented: Presented, form: Form) {
  const remaining = await remainingAccess(context, presented.client, presented.record);
  const minted = await mintAccessAndIdToken(context, presented, presented.record, remaining, form);
  const once = presented.dpop?.once;
  const outcome = await context.storage.tokens.issueFrom(presented.record, [minted.access.record], once);
  if (outcome !== 'issued') throw grantEnded();
  return { ...minted, refreshToken: presented.token };
}

/**
 * Handles a rotated token. Within the grace period, the immediate predecessor gets the same successor again. Any other
 * use revokes the family.
 */
async function retry(context: ClientContext, presented: Presented, form: Form, call: Call) {
  const { record, token, client, proven, dpop } = presented;
  await dpop?.useUp(); // a replayed request revokes nothing
  const ageMs = context.clock() - (record.supersededAtMs ?? 0);
  if (ageMs >= context.lifetimes.refreshGrace * 1000) throw await revokeStolen(context, presented, call);

  const successor = await context.storage.tokens.getByRefreshToken(record.successorId ?? '');
  if (!successor) throw refused('no_record');
  const claims = await claimsOfRecord(context, successor);
  const life = await lifeOf(context, successor, claims);
  if (!life.alive && life.reason === 'superseded') throw await revokeStolen(context, presented, call);
  if (!life.alive) throw refused(life.reason);
  const bound = confirmationOf({ record: successor, claims });
  if (bound !== undefined) requireSameConfirmation(bound, proven);
  // The first use of the token had no proof. To bind its successor now would let a thief take it from the client.
  const isLate = bound === undefined && proven && confirmationOfRefreshToken(client, proven);
  if (isLate) throw refused('proof_unexpected');

  const refreshToken = await recallSuccessor(context, successor, token);
  if (refreshToken === undefined) throw refused('refresh_token_inactive');
  const remaining = await remainingAccess(context, client, successor);
  const minted = await mintAccessAndIdToken(context, presented, successor, remaining, form);
  const outcome = await context.storage.tokens.issueFrom(successor, [minted.access.record]);
  if (outcome === 'superseded') throw await revokeStolen(context, presented, call);
  if (outcome !== 'issued') throw grantEnded();
  return { ...minted, refreshToken };
}

/**
 * Mints an access token for the pair of a refresh token, and an ID token about the original sign-in (OpenID Connect
 * Core §12.2). `scope`, `resource` and `authorization_details` narrow only this access token (RFC 6749 §6, RFC
 * 8707 §2.2, RFC 9396 §6).
 */
async function mintAccessAndIdToken(
  context: ClientContext,
  presented: Presented,
  refresh: Pick<TokenRecord, 'pairId' | 'expiresAt'>,
  remaining: RemainingAccess,
  form: Form,
): Promise<{ access: MintedAccessToken; idToken?: string }> {
  const purpose = {
    ...purposeOf(presented, remaining),
    ...remaining.select(valuesIn(form, 'resource'), form.get(AUTHORIZATION_DETAILS), form.get('scope')),
  };
  const { client, claims = {}, claimsRequest, person } = purpose;
  const refusal = person && (await refusedUse(context, client, person.subject, claims));
  if (refusal !== undefined) throw refused(refusal);
  const access = await mintAccessToken(context, { ...purpose, pairId: refresh.pairId }, refresh.expiresAt);
  return withIdToken(context, { client, person, access, claims, claimsRequest });
}

/** What the new tokens say: as the presented token, within the remaining access. */
function purposeOf(presented: Presented, { select: _, ...remaining }: RemainingAccess): TokenPurpose {
  const { record, claims, client, proven } = presented;
  const { familyId, grantId, sessionId, claimsRequest } = record;
  return {
    ...{ client, ...remaining, person: personOf(presented), familyId, grantId, sessionId, claimsRequest },
    confirmation: proven && confirmationOfAccessToken(client, proven),
    claims: grantClaimsOf(client, claims),
    ...(typeof claims[FAMILY_END] === 'number' && { familyEnd: claims[FAMILY_END] }),
  };
}

/** Revokes the family of a refresh token that was used twice (RFC 9700 §4.14.2). @returns the refusal */
async function revokeStolen(context: ClientContext, { record }: Presented, call: Call) {
  await context.storage.tokens.revokeFamily(record, 'refresh_token_reused');
  context.onEvent({ ...call, type: 'refresh_token_reused', tokenId: record.id });
  return refused('refresh_token_reused');
}

/** One description for every reason. */
function refused(reason: Parameters<typeof invalidGrant>[1]) {
  return invalidGrant('the refresh token is not valid', reason);
}
