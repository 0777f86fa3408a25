// Token revocation. § refers to RFC 7009.
import { sha256 } from '#crypto';
import { authenticateClient } from '../clients/authentication.ts';
import type { ClientContext } from '../clients/client.ts';
import type { Context } from '../context.ts';
import type { ReasonCode } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import { type Form, readForm, requireParameter } from '../http/form.ts';
import type { HttpRequest, HttpResponse } from '../http/http.ts';
import type { AuthorizationCodeRecord, ClientRecord, TokenRecord } from '../protocol/records.ts';
import { inParallel } from '../serve.ts';
import type { FoundToken, TokenContext } from '../tokens/context.ts';
import { opaqueKindOf } from '../tokens/opaque_token.ts';
import { findToken, readTokenTypeHint, type TokenTypeHint } from '../tokens/state.ts';

/** The result of a revocation, for the operator and in process. The wire does not reveal it (RFC 7009 §2.2). */
export type RevocationResult =
  | { readonly revoked: true; readonly tokenId: string }
  | { readonly revoked: false; readonly reason: ReasonCode };

/** The same response for every result. */
const DONE: HttpResponse = { status: 200, headers: { 'cache-control': 'no-store' }, body: '' };

/** What revocation needs from the server. */
export type RevocationContext = ClientContext &
  Pick<Context, 'authenticateRevoke' | 'ignoreUnknownTokenTypeHints'>;

/** `POST /token/revoke` (RFC 7009). */
export async function revocation(
  context: RevocationContext,
  request: HttpRequest,
  call: Call,
): Promise<HttpResponse> {
  // §2.1 read the request and authenticate the client
  const form = readForm(request);
  const asking = requireCaller(context, request, form, call);
  const [owner, found] = await inParallel(asking, async () => {
    const token = requireParameter(form, 'token');
    return find(context, token, await readTokenTypeHint(context, form, asking));
  });

  // §2.2 an invalid token is not an error
  await revokeFound(context, found, owner, call);
  return DONE;
}

/** @returns `undefined` if callers are not authenticated */
async function requireCaller(
  context: RevocationContext,
  request: HttpRequest,
  form: Form,
  call: Call,
): Promise<ClientRecord | undefined> {
  return context.authenticateRevoke ? authenticateClient(context, request, form, call) : undefined;
}

/** Options of revocation without HTTP. */
export interface RevocationOrder {
  /** Revokes the token only if it belongs to this client. Default: whatever client it belongs to. */
  readonly owner?: ClientRecord | undefined;
  readonly hint?: TokenTypeHint | undefined;
}

/**
 * Revokes a token without HTTP. After it resolves, no request sees the token alive.
 * @throws {StorageFault} storage is unavailable; the token may or may not be revoked
 */
export async function revokeToken(
  context: ClientContext,
  token: string,
  { owner, hint }: RevocationOrder,
  call: Call = { operation: 'revocation' },
): Promise<RevocationResult> {
  return revokeFound(context, await find(context, token, hint), owner, call);
}

/** A token, a code, or the reason why the text is neither. */
type Found = FoundToken | { readonly code: AuthorizationCodeRecord } | { readonly reason: ReasonCode };

/** Only the hint `auth_code` leads to a lookup of codes, and only if the text is one (grantd §6.5). */
async function find(context: TokenContext, token: string, hint: TokenTypeHint | undefined): Promise<Found> {
  if (hint !== 'auth_code' || opaqueKindOf(token) !== 'authorization_code') return findToken(context, token);
  const code = await context.storage.authorizationCodes.get(await sha256(token));
  return code ? { code } : { reason: 'code_unknown' };
}

async function revokeFound(
  context: ClientContext,
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
  context: ClientContext,
  found: Found,
  owner: ClientRecord | undefined,
): Promise<RevocationResult> {
  if ('reason' in found) return { revoked: false, reason: found.reason };
  return 'code' in found
    ? revokeCode(context, found.code, owner)
    : revokeIssued(context, found.record, owner);
}

async function revokeCode(
  { storage }: TokenContext,
  code: AuthorizationCodeRecord,
  owner: ClientRecord | undefined,
): Promise<RevocationResult> {
  if (owner !== undefined && code.clientId !== owner.id) return { revoked: false, reason: 'code_foreign' };
  await storage.authorizationCodes.revoke(code);
  return { revoked: true, tokenId: code.id };
}

/** Also revokes expired tokens, because their pair may still be alive. */
async function revokeIssued(
  { storage }: TokenContext,
  record: TokenRecord,
  owner: ClientRecord | undefined,
): Promise<RevocationResult> {
  if (owner !== undefined && record.clientId !== owner.id) return { revoked: false, reason: 'token_foreign' };
  await storage.tokens.revoke(record);
  return { revoked: true, tokenId: record.id };
}
