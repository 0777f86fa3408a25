// § refers to RFC 7009.
import { sha256 } from '#crypto';
import { authenticateClient } from '../clients/authentication.ts';
import type { Context } from '../context.ts';
import type { ReasonCode } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import { type Form, readForm, requireParameter } from '../http/form.ts';
import type { HttpRequest, HttpResponse } from '../http/http.ts';
import type { AuthorizationCodeRecord, ClientRecord, TokenRecord } from '../protocol/records.ts';
import { atOnce } from '../serve.ts';
import type { FoundToken } from '../tokens/context.ts';
import { opaqueKindOf } from '../tokens/opaque_token.ts';
import { findToken, readTokenTypeHint, type TokenTypeHint } from '../tokens/state.ts';

/** What became of a revocation; the wire tells none of it (RFC 7009 §2.2). */
export type RevocationResult =
  | { readonly revoked: true; readonly tokenId: string }
  | { readonly revoked: false; readonly reason: ReasonCode };

/** One answer for every outcome. */
const DONE: HttpResponse = { status: 200, headers: { 'cache-control': 'no-store' }, body: '' };

/** `POST /token/revoke` (RFC 7009). */
export async function revocation(context: Context, request: HttpRequest, call: Call): Promise<HttpResponse> {
  // §2.1 the request: who asks, and for which token
  const form = readForm(request);
  const asking = requireOwner(context, request, form, call);
  const [owner, found] = await atOnce(asking, async () => {
    const token = requireParameter(form, 'token');
    return find(context, token, await readTokenTypeHint(context, form, asking));
  });

  // §2.2 an invalid token is no error
  await revokeFound(context, found, owner, call);
  return DONE;
}

/** @returns `undefined` if callers are not authenticated */
async function requireOwner(
  context: Context,
  request: HttpRequest,
  form: Form,
  call: Call,
): Promise<ClientRecord | undefined> {
  return context.authenticateRevoke ? authenticateClient(context, request, form, call) : undefined;
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
  return revokeFound(context, await find(context, token, hint), owner, call);
}

/** What a text names, or why it names nothing. */
type Found = FoundToken | { readonly code: AuthorizationCodeRecord } | { readonly reason: ReasonCode };

/** Only the hint `auth_code` finds a code. With that hint, any other text is a token (grantd §6.5). */
async function find(context: Context, token: string, hint: TokenTypeHint | undefined): Promise<Found> {
  if (hint !== 'auth_code' || opaqueKindOf(token) !== 'authorization_code') return findToken(context, token);
  const code = await context.storage.authorizationCodes.get(await sha256(token));
  return code ? { code } : { reason: 'code_unknown' };
}

async function revokeFound(
  context: Context,
  found: Found,
  owner: ClientRecord | undefined,
  call: Call,
): Promise<RevocationResult> {
  const result = await resultOf(context, found, owner);
  context.onEvent({
    ...call,
    ...(result.revoked
      ? { type: 'token_revoked', tokenId: result.tokenId }
      : { type: 'revocation_ignored', reason: result.reason }),
  });
  return result;
}

async function resultOf(
  context: Context,
  found: Found,
  owner: ClientRecord | undefined,
): Promise<RevocationResult> {
  if ('reason' in found) return { revoked: false, reason: found.reason };
  return 'code' in found
    ? revokeCode(context, found.code, owner)
    : revokeIssued(context, found.record, owner);
}

async function revokeCode(
  { storage }: Context,
  code: AuthorizationCodeRecord,
  owner: ClientRecord | undefined,
): Promise<RevocationResult> {
  if (owner !== undefined && code.clientId !== owner.id) return { revoked: false, reason: 'code_foreign' };
  await storage.authorizationCodes.revoke(code);
  return { revoked: true, tokenId: code.id };
}

/** An expired token is revoked like any other, since that takes its pair along. */
async function revokeIssued(
  { storage }: Context,
  record: TokenRecord,
  owner: ClientRecord | undefined,
): Promise<RevocationResult> {
  if (owner !== undefined && record.clientId !== owner.id) return { revoked: false, reason: 'token_foreign' };
  await storage.tokens.revoke(record);
  return { revoked: true, tokenId: record.id };
}
