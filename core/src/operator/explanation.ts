// Explains to an operator what a token is and why it is inactive.
import { sha256 } from '#crypto';
import type { UnfitJwt } from '../clients/client.ts';
import { INACTIVE_REASONS, type InactiveReason, type ReasonCode } from '../http/errors.ts';
import type { Claims } from '../protocol/claims.ts';
import { type Life, NO_TOKEN } from '../protocol/record_rules.ts';
import type {
  Ancestor,
  AuthorizationCodeRecord,
  NewToken,
  TokenKind,
  TokenRecord,
} from '../protocol/records.ts';
import type { TokenContext } from '../tokens/context.ts';
import { readJwtHeader } from '../tokens/jwt.ts';
import { opaqueKindOf } from '../tokens/opaque_token.ts';
import { ancestorLives, assertionLife, codeLife, findToken, lifeOf } from '../tokens/state.ts';

/** JWTs of this server that grant no access, with their explanation. */
const OTHER_JWTS = {
  id_token: 'An ID token tells its client who signed in, and grants no access.',
  logout_token: 'A logout token tells a client that a session has ended.',
  identity_assertion: 'An identity assertion is for another server, and grants no access.',
} as const;

type OtherJwt = keyof typeof OTHER_JWTS;

function isOtherJwt(type: string | undefined): type is OtherJwt {
  return type !== undefined && Object.hasOwn(OTHER_JWTS, type);
}

/** Everything about a token, for the operator only. */
export interface Explanation {
  readonly kind: TokenKind | OtherJwt | 'authorization_code' | 'assertion' | 'unknown';
  readonly alive: boolean;
  /** Why the token is inactive. */
  readonly reason?: ReasonCode;
  /** The reason in a sentence. */
  readonly explanation?: string;
  /** Milliseconds since 1970: when the token became inactive, if recorded. */
  readonly sinceMs?: number;
  /** The stored record. The record of a host may lack `issuedAtMs`. */
  readonly record?:
    | (Omit<TokenRecord, 'issuedAtMs'> & { readonly issuedAtMs?: number })
    | AuthorizationCodeRecord;
  /** Of an assertion that no client has used yet: the row that it would leave. To end it, store and revoke the row. */
  readonly unused?: NewToken;
  /** Verified claims. */
  readonly claims?: Claims;
  /** Of an exchanged token: the tokens that it was obtained from, the first one first. */
  readonly ancestors?: readonly (Explanation & Ancestor)[];
  /** The ancestor that has ended the token: the one that ended first. */
  readonly endedBy?: Explanation & Ancestor;
}

/**
 * Explains what a token is and whether it is active. If it is not, explains why and since when.
 * @throws {StorageFault} storage is unavailable
 */
export async function explainToken(context: TokenContext, token: string): Promise<Explanation> {
  const isCode = opaqueKindOf(token) === 'authorization_code';
  if (isCode && context.storage.groups.has('authorizationCodes')) return explainCode(context, token);
  const found = await findToken(context, token);
  if ('reason' in found) {
    const { type, hasGenericType: _, ...none } = found;
    const isOther = isOtherJwt(type);
    return {
      ...dead(none.reason),
      kind: 'unknown',
      ...none,
      ...(isCutOff(token) && { explanation: `${INACTIVE_REASONS[none.reason]} ${CUT_OFF}` }),
      ...(isOther && none.claims?.iss === context.issuer && { kind: type, explanation: OTHER_JWTS[type] }),
    };
  }
  return explainFound(context, found.record, found.claims);
}

/**
 * Explains a token by its identifier, which events name.
 * @returns `undefined` if it is not stored, or has expired long ago
 * @throws {StorageFault} storage is unavailable
 */
export async function explainRecord(context: TokenContext, id: string): Promise<Explanation | undefined> {
  if (!IDENTIFIER.test(id)) return undefined;
  const { tokens } = context.storage;
  const record = (await tokens.getByAccessToken(id)) ?? (await tokens.getByRefreshToken(id));
  if (record === undefined) return undefined;
  return explainFound(context, record);
}

/** Shorter than any signed JWT. */
const IDENTIFIER = /^[\x21-\x7E]{1,128}$/;

async function explainFound(
  context: TokenContext,
  record: TokenRecord,
  claims?: Claims,
): Promise<Explanation> {
  // The row of a JWT of a trusted issuer, with which tokens were obtained.
  const isAssertion = record.tokenType === NO_TOKEN;
  const life = await (isAssertion
    ? assertionLife(context, record)
    : lifeOf(context, record, claims ?? { sub: '' }));
  const ancestors = record.ancestors && (await explainAncestors(context, record.ancestors));
  const known = {
    ...{ kind: isAssertion ? ('assertion' as const) : record.kind, record: described(record) },
    ...(claims && { claims }),
    ...(ancestors && { ancestors }),
  };
  if (life.alive) return { ...known, alive: true };
  const endedBy = life.reason === 'ancestor_ended' ? firstEnded(ancestors) : undefined;
  const sinceMs = life.sinceMs ?? endedBy?.sinceMs;
  return { ...known, ...dead(life.reason, sinceMs), ...(endedBy && { endedBy }) };
}

/** Explains a JWT of a trusted issuer that no client has used yet. @returns `undefined` if its signature does not verify */
export function explainUnused(row: NewToken | UnfitJwt): Explanation | undefined {
  if (!('reason' in row)) return { kind: 'assertion', alive: true, unused: row };
  return row.named === undefined ? undefined : { kind: 'assertion', alive: false, reason: row.reason };
}

/** Most descendants that are explained. */
const MOST_DESCENDANTS = 100;

/**
 * Explains the tokens that were obtained from a token and have not expired, those of fewer exchanges first. The storage
 * may not be able to find them.
 * @throws {StorageFault} storage is unavailable
 */
export async function explainDescendants(
  context: TokenContext,
  { kind, id }: Ancestor,
): Promise<readonly (Explanation & Ancestor)[]> {
  const found = (await context.storage.tokens.descendantsOf?.(id, MOST_DESCENDANTS)) ?? [];
  const below = found.filter(({ ancestors }) => ancestors?.some((one) => one.id === id && one.kind === kind));
  const hops = ({ ancestors = [] }: TokenRecord) => ancestors.length;
  return Promise.all(
    below
      .toSorted((one, other) => hops(one) - hops(other))
      .map(async (record) => explained(record, record, await lifeOf(context, record, { sub: '' }))),
  );
}

function explained({ kind, id }: Ancestor, record: TokenRecord | undefined, life: Life) {
  return {
    ...{ kind, id },
    ...(record && { record: described(record) }),
    ...(life.alive ? { alive: true } : dead(life.reason, life.sinceMs)),
  };
}

async function explainAncestors(context: TokenContext, ancestors: readonly Ancestor[]) {
  const lives = await ancestorLives(context, ancestors);
  return lives.map((ancestor) => explained(ancestor, ancestor.record, ancestor.life));
}

/** An ancestor without a time was removed, or ended long ago. */
function firstEnded(ancestors: Explanation['ancestors'] = []) {
  const ended = ancestors.filter(({ alive }) => !alive);
  return ended.toSorted((one, other) => (one.sinceMs ?? 0) - (other.sinceMs ?? 0))[0];
}

function described(record: TokenRecord): NonNullable<Explanation['record']> {
  const { issuedAtMs, ...stored } = record;
  return Number.isFinite(issuedAtMs) ? record : stored;
}

const CUT_OFF = 'The text looks cut off. Copy the whole token.';

const CUT_OPAQUE = /^grantd_(?:at|rt|ac)_[\w-]{0,42}$/;

/** Base64url characters of a signature. Those of RSA depend on the key, which has at least 2048 bits. */
const SIGNATURE_LENGTHS: Readonly<Record<string, number>> = { ES: 86, Ed: 86, RS: 342, PS: 342 };

/** Whether a text begins like a JWT or a token of this server, and is too short for one. */
function isCutOff(token: string): boolean {
  const [header = '', , signature = ''] = token.split('.');
  if (!header.startsWith('eyJ')) return CUT_OPAQUE.test(token);
  const algorithm = readJwtHeader(`${header}.e30.`)?.algorithm ?? '';
  return signature.length < (SIGNATURE_LENGTHS[algorithm.slice(0, 2)] ?? 1);
}

async function explainCode(context: TokenContext, code: string): Promise<Explanation> {
  const kind = 'authorization_code';
  const record = await context.storage.authorizationCodes.get(await sha256(code));
  if (!record) return { kind, ...dead('code_unknown') };
  if (record.redeemedAtMs !== undefined)
    return { kind, record, ...dead('code_redeemed', record.redeemedAtMs) };
  const life = await codeLife(context, record);
  return life.alive ? { kind, record, alive: true } : { kind, record, ...dead(life.reason, life.sinceMs) };
}

function dead(reason: InactiveReason, sinceMs?: number) {
  return {
    alive: false,
    reason,
    explanation: INACTIVE_REASONS[reason],
    ...(sinceMs !== undefined && { sinceMs }),
  };
}
