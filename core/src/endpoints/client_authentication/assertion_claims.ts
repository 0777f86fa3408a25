import type { Claims } from '../../protocol/claims.ts';
import { endpointUrl } from '../../protocol/endpoint_url.ts';
import { CLIENT_CLOCK_AHEAD } from '../../protocol/environment.ts';
import type { RefusalReason } from '../../protocol/reasons.ts';
import type { ClientRecord } from '../../protocol/records.ts';
import type { Call, Context, EndpointPaths } from '../context.ts';
import type { Operation } from '../events.ts';

/** Seconds that an assertion may have before it. */
const LONGEST_LIFE = 5 * 60;

/** What there is to remember of an assertion that is as it should be; or what is wrong with it. */
export type Judged =
  | {
      readonly identifier: string;
      /** Seconds; not whole ones where the client is that exact. */
      readonly expiresAt: number;
    }
  | { readonly reason: RefusalReason };

/** Whether an assertion was made by this client, for this server, for now, and can be told from others (RFC 7523 §3). */
export function judgeClaims(
  context: Context,
  client: ClientRecord,
  claims: Claims | undefined,
  call: Call,
): Judged {
  const { iss, sub, aud, exp, iat = 0, nbf = 0, jti } = claims ?? {};
  if (iss !== client.id || sub !== client.id) return { reason: 'assertion_subject_wrong' };
  if (!isForThisServer(context, client, aud, call)) return { reason: 'assertion_audience_wrong' };
  if (!isTime(exp) || !isTime(iat) || !isTime(nbf)) return { reason: 'assertion_malformed' };
  const now = context.clock() / 1000;
  if (exp <= now) return { reason: 'assertion_expired' };
  if (exp > now + LONGEST_LIFE + CLIENT_CLOCK_AHEAD) return { reason: 'assertion_lives_too_long' };
  if (Math.max(iat, nbf) > now + CLIENT_CLOCK_AHEAD) return { reason: 'assertion_not_yet_valid' };
  if (typeof jti !== 'string' || jti === '') return { reason: 'assertion_identifier_missing' };
  return { identifier: jti, expiresAt: exp };
}

/** Where clients authenticate besides the token endpoint. */
const ENDPOINTS: Partial<Readonly<Record<Operation, keyof EndpointPaths>>> = {
  introspection: 'introspection',
  revocation: 'revocation',
  pushed_authorization_request: 'pushedAuthorizationRequest',
};

/**
 * The issuer, which no other server has; by the client's registration also the URL of the endpoint, which was long the
 * custom, or that of the token endpoint. A list names nobody else.
 */
function isForThisServer(
  { issuer, paths }: Context,
  client: ClientRecord,
  aud: unknown,
  { operation }: Call,
): boolean {
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (client.metadata?.assertion_audience !== 'endpoint') {
    return audiences.length === 1 && audiences[0] === issuer;
  }
  const endpoints = [paths.token, paths[ENDPOINTS[operation] ?? 'token']];
  const accepted = new Set<unknown>([issuer, ...endpoints.map((path) => endpointUrl(issuer, path))]);
  return audiences.length > 0 && audiences.every((one) => accepted.has(one));
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
