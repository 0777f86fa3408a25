import type { Claims } from '../protocol/claims.ts';
import type { InactiveReason } from '../protocol/reasons.ts';
import type { TokenKind, TokenRecord } from '../protocol/records.ts';
import { formatScope } from '../protocol/scope.ts';
import type { FormerVerifier } from './former_keys.ts';
import { parseClaims, readJwtHeader } from './signature.ts';

/** Which of a former server's tokens a JWT is. */
export interface FormerTokenName {
  readonly kind: TokenKind;
  /** The claim by which the token is found; what is no text, or empty, names none. */
  readonly id: unknown;
}

/** How the JWTs of a former server are known. */
export interface FormerJwtParts {
  readonly verifiers: readonly FormerVerifier[];
  /** `iss`, where they have one. */
  readonly issuer: string;
  /** @returns `undefined` for what is no access or refresh token */
  readonly identify: (claims: Claims) => FormerTokenName | undefined;
}

/** A token that a former server has signed. */
export interface FormerJwt {
  readonly kind: TokenKind;
  readonly id: string;
  readonly claims: Claims;
}

/** Or why it is none; `claims` where the signature has verified. */
export interface NoFormerJwt {
  readonly reason: Extract<InactiveReason, 'bad_signature' | 'wrong_type' | 'wrong_issuer'>;
  readonly claims?: Claims;
}

/** Checks what a former server signed. The algorithm is the key's own, never the token's choice. */
export class FormerJwts {
  readonly #parts: FormerJwtParts;

  constructor(parts: FormerJwtParts) {
    this.#parts = parts;
  }

  /** @returns `undefined` where the token names no key of the former server's */
  async verify(token: string): Promise<FormerJwt | NoFormerJwt | undefined> {
    const { verifiers, issuer, identify } = this.#parts;
    const header = readJwtHeader(token);
    if (header === undefined) return undefined;
    const named = verifiers.filter(({ keyId }) => keyId === header.keyId);
    if (named.length === 0) return undefined;

    // What a header says must be understood (RFC 7515 §4.1.11) was no part of these tokens.
    const claims = header.isExtended ? undefined : await signedClaims(token, named);
    if (claims === undefined) return { reason: 'bad_signature' };
    const { kind, id } = identify(claims) ?? {};
    if (!isKind(kind) || typeof id !== 'string' || id === '') return { reason: 'wrong_type', claims };
    if (claims.iss !== undefined && claims.iss !== issuer) return { reason: 'wrong_issuer', claims };
    return { kind, id, claims };
  }
}

/**
 * A former token with its record, told as this server tells of its own. It is about whom its row says, and ends when the
 * first of the two says: whoever checked the tokens by a secret could have signed others.
 */
export function inOwnTerms(
  iss: string,
  { kind, id: jti, claims }: FormerJwt,
  record: TokenRecord,
): { readonly record: TokenRecord; readonly claims: Claims } {
  const { subject: sub, clientId: client_id, scopes } = record;
  const expiresAt = earlier(record.expiresAt, claims.exp);
  const own = { iss, sub, jti, ...(expiresAt !== 0 && { exp: expiresAt }) };
  return {
    record: expiresAt === record.expiresAt ? record : { ...record, expiresAt },
    claims:
      kind === 'access_token'
        ? { ...claims, ...own }
        : { ...own, client_id, iat: claims.iat, ...(scopes.length > 0 && { scope: formatScope(scopes) }) },
  };
}

async function signedClaims(
  token: string,
  verifiers: readonly FormerVerifier[],
): Promise<Claims | undefined> {
  for (const verifier of verifiers) {
    const payload = await verifier.payloadOf(token);
    if (payload !== undefined) return parseClaims(payload);
  }
  return undefined;
}

function isKind(kind: unknown): kind is TokenKind {
  return kind === 'access_token' || kind === 'refresh_token';
}

/** Seconds. A token that says nothing is over when its row says. */
function earlier(stored: number, exp: unknown): number {
  return typeof exp === 'number' ? Math.floor(Math.min(stored, exp)) : stored;
}
