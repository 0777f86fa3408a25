import { sha256 } from '#hashing';
import { readForm, requireParameter } from '../protocol/form.ts';
import type { HttpRequest, HttpResponse } from '../protocol/http.ts';
import type { ReasonCode } from '../protocol/reasons.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { findToken } from '../tokens/find.ts';
import { opaqueKindOf } from '../tokens/opaque_token.ts';
import { authenticateClient } from './client_authentication/authenticate_client.ts';
import type { Call, Context } from './context.ts';
import { readTokenTypeHint, type TokenTypeHint } from './token_type_hint.ts';

/** What became of a revocation; the wire tells none of it (RFC 7009 §2.2). */
export type RevocationResult =
  | { readonly revoked: true; readonly tokenId: string }
  | { readonly revoked: false; readonly reason: ReasonCode };

/** One answer for every outcome. */
const DONE: HttpResponse = { status: 200, headers: { 'cache-control': 'no-store' }, body: '' };

/** `POST /token/revoke` (RFC 7009). */
export async function revocation(context: Context, request: HttpRequest, call: Call): Promise<HttpResponse> {
  // §2.1 the request, and who asks
  const form = readForm(request);
  const owner = context.authenticateRevoke
    ? await authenticateClient(context, request, form, call)
    : undefined;
  const token = requireParameter(form, 'token');
  const hint = readTokenTypeHint(form);

  // §2.2 an invalid token is no error
  await revokeToken(context, token, { owner, hint }, call);
  return DONE;
}

export interface RevocationOrder {
  /** Only this client's tokens are revoked; anyone's where it is absent. */
  readonly owner?: ClientRecord | undefined;
  readonly hint?: TokenTypeHint | undefined;
}

/**
 * Revokes a token, without HTTP. Once it has resolved, nobody sees the token alive.
 * @throws {StorageFault} the token may or may not be revoked
 */
export async function revokeToken(
  context: Context,
  token: string,
  { owner, hint }: RevocationOrder,
  call: Call = { operation: 'revocation' },
): Promise<RevocationResult> {
  const result =
    (hint === 'auth_code' ? await revokeCode(context, token, owner) : undefined) ??
    (await revokeIssued(context, token, owner));
  context.onEvent({
    ...call,
    ...(result.revoked
      ? { type: 'token_revoked', tokenId: result.tokenId }
      : { type: 'revocation_ignored', reason: result.reason }),
  });
  return result;
}

/** Codes are revoked by their hint alone; `undefined` where the text is no code, so that a wrong hint does no harm. */
async function revokeCode(
  { storage }: Context,
  token: string,
  owner: ClientRecord | undefined,
): Promise<RevocationResult | undefined> {
  if (opaqueKindOf(token) !== 'authorization_code') return undefined;
  const code = await storage.authorizationCodes.get(await sha256(token));
  if (!code) return { revoked: false, reason: 'code_unknown' };
  if (owner !== undefined && code.clientId !== owner.id) return { revoked: false, reason: 'code_foreign' };
  await storage.authorizationCodes.revoke(code);
  return { revoked: true, tokenId: code.id };
}

/** An expired token is revoked like any other, since that takes its pair along. */
async function revokeIssued(
  context: Context,
  token: string,
  owner: ClientRecord | undefined,
): Promise<RevocationResult> {
  const found = await findToken(context, token);
  if ('reason' in found) return { revoked: false, reason: found.reason };
  const { record } = found;
  if (owner !== undefined && record.clientId !== owner.id) return { revoked: false, reason: 'token_foreign' };
  await context.storage.tokens.revoke(record);
  return { revoked: true, tokenId: record.id };
}
