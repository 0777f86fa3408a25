import type { Claims, FormerToken, FormerTokenName, FormerTokens, TokenKind } from '@grantd/core';
import { SignJWT } from 'jose';
import type { SettableClock } from './settable_clock.ts';

export const FORMER_SECRET = 'what the former server signed with';

/** Seconds. */
export const FORMER_ACCESS_LIFETIME = 3600;
/** Seconds. */
export const FORMER_REFRESH_LIFETIME = 30 * 24 * 3600;

/** A pair as its client has it, with the identifiers of its rows. */
export interface FormerPair {
  readonly access: string;
  readonly refresh: string;
  readonly accessId: string;
  readonly refreshId: string;
}

/** Changes to the usual pair. */
type Order = Partial<Pick<FormerToken, 'clientId' | 'scopes'>> & { readonly claims?: Claims };

/** A previous server with its own rows. Its JWTs name no key and no issuer. */
export class FormerServer implements FormerTokens {
  readonly keys: FormerTokens['keys'];
  /** By kind and identifier. */
  readonly rows = new Map<string, FormerToken>();
  /** The called methods, in order. */
  readonly asked: ('find' | 'revoke')[] = [];
  /** The methods that currently fail. */
  outage: 'find' | 'revoke' | undefined;
  #issued = 0;

  constructor(keys: FormerTokens['keys'] = [{ algorithm: 'HS256', secret: FORMER_SECRET }]) {
    this.keys = keys;
  }

  /** An access token has a `jti`, a refresh token a `refresh_id`. */
  identify({ jti, refresh_id }: Claims): FormerTokenName | undefined {
    if (jti !== undefined) return { kind: 'access_token', id: jti };
    return refresh_id === undefined ? undefined : { kind: 'refresh_token', id: refresh_id };
  }

  async find(kind: TokenKind, id: string): Promise<FormerToken | undefined> {
    this.#ask('find');
    return this.rows.get(`${kind} ${id}`);
  }

  async revoke(kind: TokenKind, id: string): Promise<void> {
    this.#ask('revoke');
    const row = this.rows.get(`${kind} ${id}`);
    if (row === undefined) return;
    const refreshId = kind === 'refresh_token' ? id : String(row.refreshTokenId);
    for (const [name, one] of this.rows) {
      const isOfPair = name === `refresh_token ${refreshId}` || one.refreshTokenId === refreshId;
      if (one === row || isOfPair) this.rows.set(name, { ...one, expiresAtMs: 0 });
    }
  }

  /** Whether the rows of a pair are revoked: access token, refresh token. */
  revoked({ accessId, refreshId }: FormerPair): readonly boolean[] {
    return [`access_token ${accessId}`, `refresh_token ${refreshId}`].map(
      (name) => this.rows.get(name)?.expiresAtMs === 0,
    );
  }

  /** Resets the rows of a pair, as if they had never been revoked. */
  resurrect({ accessId, refreshId }: FormerPair, { nowMs }: SettableClock): void {
    for (const name of [`access_token ${accessId}`, `refresh_token ${refreshId}`]) {
      const row = this.rows.get(name);
      if (row !== undefined) this.rows.set(name, { ...row, expiresAtMs: nowMs + 1_000_000 });
    }
  }

  /** A pair for Alice. Default: at the client `web` with `openid` and `email`. */
  async issue(clock: SettableClock, order: Order = {}): Promise<FormerPair> {
    const { clientId = 'web', scopes = ['openid', 'email'], claims = {} } = order;
    const [accessId, refreshId] = [`access-${++this.#issued}`, `refresh-${this.#issued}`];
    const { nowMs, seconds: iat } = clock;
    const row = { clientId, scopes, subject: 'alice', issuedAtMs: nowMs };
    const exp = iat + FORMER_ACCESS_LIFETIME;
    const refreshExpiresAtMs = (iat + FORMER_REFRESH_LIFETIME) * 1000;
    this.rows.set(`access_token ${accessId}`, { ...row, expiresAtMs: exp * 1000, refreshTokenId: refreshId });
    this.rows.set(`refresh_token ${refreshId}`, { ...row, expiresAtMs: refreshExpiresAtMs });
    const said = { sub: 'alice', client_id: clientId, scope: scopes.join(' '), aud: 'https://api.example' };
    return {
      accessId,
      refreshId,
      access: await formerJwt({ ...said, iat, nbf: iat, exp, jti: accessId, ...claims }),
      refresh: await formerJwt({ refresh_id: refreshId, iat, ...claims }),
    };
  }

  #ask(method: 'find' | 'revoke'): void {
    this.asked.push(method);
    if (this.outage === method) throw new Error('the former tables are away');
  }
}

/** A JWT in the previous server's format. Default: with its header and secret. */
export function formerJwt(
  claims: Claims,
  header: Readonly<Record<string, unknown>> = {},
  secret: string = FORMER_SECRET,
): Promise<string> {
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT', ...header })
    .sign(new TextEncoder().encode(secret));
}
