// Token revocation. § refers to RFC 7009.

import { sha256 } from '#crypto';
import { authenticateClient } from '../clients/authentication.ts';
import type { ClientContext } from '../clients/client.ts';
import type { ReasonCode } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import { type Form, readForm, requireParameter } from '../http/form.ts';
import type { HttpRequest, HttpResponse } from '../http/http.ts';
import { inParallel } from '../platform/environment.ts';
import type { AuthorizationCodeRecord, ClientRecord } from '../protocol/records.ts';
import type { Context } from '../request/context.ts';
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
  const authentication = authenticateCaller(context, request, form, call);
  const [caller, found] = await inParallel(authentication, async () => {
    const token = requireParameter(form, 'token');
    return find(context, token, await readTokenTypeHint(context, form, authentication));
  });

  // §2.2 an invalid token is not an error
  await revokeFound(context, found, caller, call);
  return DONE;
}

/** @returns `undefined` if the option `authenticateRevoke` is off */
async function authenticateCaller(
  context: RevocationContext,
  request: HttpRequest,
  form: Form,
  call: Call,
): Promise<ClientRecord | undefined> {
  return context.authenticateRevoke ? authenticateClient(context, request, form, call) : undefined;
}

/** Options of revocation without HTTP. */
export interface RevocationOptions {
  /** Revokes the token only if it belongs to this client. Default: regardless of the client. */
  readonly owner?: ClientRecord | undefined;
  readonly hint?: TokenTypeHint | undefined;
}

/**
 * Revokes a token without HTTP. After it resolves, no request sees the token alive (ADR 2).
 * @throws {StorageFault} storage is unavailable; the token may or may not be revoked
 */
export async function revokeToken(
  context: ClientContext,
  token: string,
  { owner, hint }: RevocationOptions,
): Promise<RevocationResult> {
  return revokeFound(context, await find(context, token, hint), owner, { operation: 'revocation' });
}

/** A token, a code, or the reason why the text is neither. */
type Found =
  | FoundToken
  | { readonly code: AuthorizationCodeRecord }
  | { readonly reason: ReasonCode; readonly cause?: unknown };

/** Only the hint `auth_code` leads to a lookup of codes, and only if the text is one (grantd §6.5). */
async function find(context: TokenContext, token: string, hint: TokenTypeHint | undefined): Promise<Found> {
  const { groups } = context.storage;
  const canBeCode = hint === 'auth_code' && groups.has('authorizationCodes');
  if (!canBeCode || opaqueKindOf(token) !== 'authorization_code') return findToken(context, token);
  const code = await context.storage.authorizationCodes.get(await sha256(token));
  return code ? { code } : { reason: 'code_unknown' };
}

/**
 * Revokes a token or code, unless it belongs to another client than `owner`. Expired tokens too, because their pair may
 * still be alive.
 */
async function revokeFound(
  context: ClientContext,
  found: Found,
  owner: ClientRecord | undefined,
  call: Call,
): Promise<RevocationResult> {
  if ('reason' in found) return ignored(context, call, found.reason, found.cause);
  const { id, clientId } = 'code' in found ? found.code : found.record;
  if (owner !== undefined && clientId !== owner.id)
    return ignored(context, call, 'code' in found ? 'code_foreign' : 'token_foreign');

  const { authorizationCodes, tokens } = context.storage;
  await ('code' in found ? authorizationCodes.revoke(found.code) : tokens.revoke(found.record));
  context.onEvent({ ...call, type: 'token_revoked', tokenId: id });
  return { revoked: true, tokenId: id };
}

/** Only the operator learns the reason, from an event. */
function ignored(
  { onEvent }: ClientContext,
  call: Call,
  reason: ReasonCode,
  cause?: unknown,
): RevocationResult {
  onEvent({ ...call, type: 'revocation_ignored', reason, ...(cause !== undefined && { cause }) });
  return { revoked: false, reason };
}
