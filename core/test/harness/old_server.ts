import type { Claims, PreviousServer, PreviousToken, TokenKind, TokenName } from '@grantd/core';
import { SignJWT } from 'jose';
import type { SettableClock } from './settable_clock.ts';

export const OLD_SECRET = 'what the previous server signed with';

/** Seconds. */
export const OLD_ACCESS_LIFETIME = 3600;
/** Seconds. */
export const OLD_REFRESH_LIFETIME = 30 * 24 * 3600;

/** A pair as its client has it, with the identifiers of its rows. */
export interface PreviousPair {
  readonly access: string;
  readonly refresh: string;
  readonly accessId: string;
  readonly refreshId: string;
}

/** Changes to the usual pair. */
type Order = Partial<Pick<PreviousToken, 'clientId' | 'scopes'>> & { readonly claims?: Claims };

/** A previous server with its own rows. Its JWTs name no key and no issuer. */
export class OldServer implements PreviousServer {
  readonly keys: PreviousServer['keys'];
  /** By kind and identifier. */
  readonly rows = new Map<string, PreviousToken>();
  /** The called methods, in order. */
  readonly asked: ('find' | 'revoke')[] = [];
  /** The methods that currently fail. */
  outage: 'find' | 'revoke' | undefined;
  #issued = 0;

  constructor(keys: PreviousServer['keys'] = [{ algorithm: 'HS256', secret: OLD_SECRET }]) {
    this.keys = keys;
  }

  /** An access token has a `jti`, a refresh token a `refresh_id`. */
  identify({ jti, refresh_id }: Claims): TokenName | undefined {
    if (jti !== undefined) return { kind: 'access_token', key: jti };
    return refresh_id === undefined ? undefined : { kind: 'refresh_token', key: refresh_id };
  }

  async find(kind: TokenKind, id: string): Promise<PreviousToken | undefined> {
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
  revoked({ accessId, refreshId }: PreviousPair): readonly boolean[] {
    return [`access_token ${accessId}`, `refresh_token ${refreshId}`].map(
      (name) => this.rows.get(name)?.expiresAtMs === 0,
    );
  }

  /** Resets the rows of a pair, as if they had never been revoked. */
  resurrect({ accessId, refreshId }: PreviousPair, { nowMs }: SettableClock): void {
    for (const name of [`access_token ${accessId}`, `refresh_token ${refreshId}`]) {
      const row = this.rows.get(name);
      if (row !== undefined) this.rows.set(name, { ...row, expiresAtMs: nowMs + 1_000_000 });
    }
  }

  /** A pair for Alice. Default: at the client `web` with `openid` and `email`. */
  async issue(clock: SettableClock, order: Order = {}): Promise<PreviousPair> {
    const { clientId = 'web', scopes = ['openid', 'email'], claims = {} } = order;
    const [accessId, refreshId] = [`access-${++this.#issued}`, `refresh-${this.#issued}`];
    const { nowMs, seconds: iat } = clock;
    const row = { clientId, scopes, subject: 'alice', issuedAtMs: nowMs };
    const exp = iat + OLD_ACCESS_LIFETIME;
    const refreshExpiresAtMs = (iat + OLD_REFRESH_LIFETIME) * 1000;
    this.rows.set(`access_token ${accessId}`, { ...row, expiresAtMs: exp * 1000, refreshTokenId: refreshId });
    this.rows.set(`refresh_token ${refreshId}`, { ...row, expiresAtMs: refreshExpiresAtMs });
    const said = { sub: 'alice', client_id: clientId, scope: scopes.join(' '), aud: 'https://api.example' };
    return {
      accessId,
      refreshId,
      access: await previousJwt({ ...said, iat, nbf: iat, exp, jti: accessId, ...claims }),
      refresh: await previousJwt({ refresh_id: refreshId, iat, ...claims }),
    };
  }

  #ask(method: 'find' | 'revoke'): void {
    this.asked.push(method);
    if (this.outage === method) throw new Error('the previous tables are away');
  }
}

/** A JWT in the previous server's format. Default: with its header and secret. */
export function previousJwt(
  claims: Claims,
  header: Readonly<Record<string, unknown>> = {},
  secret: string = OLD_SECRET,
): Promise<string> {
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT', ...header })
    .sign(new TextEncoder().encode(secret));
}
