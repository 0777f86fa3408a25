import {
  type Claims,
  type HostToken,
  type JwtVerifier,
  jwtVerifier,
  type PreviousServer,
  type PreviousToken,
  type PreviousTokenRepository,
  type TokenName,
  type VerificationKey,
} from '@grantd/core';
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
interface Order {
  readonly clientId?: string;
  readonly scopes?: readonly string[];
  readonly claims?: Claims;
}

/** A row, with its kind and identifier. */
type Row = PreviousToken & { readonly name: string };

/** A previous server with its own rows. Its JWTs name no key and no issuer. */
export class OldServer implements PreviousServer, PreviousTokenRepository {
  readonly jwtService: JwtVerifier;
  readonly tokens = this;
  /** By kind and identifier. */
  readonly rows = new Map<string, Row>();
  /** The called methods, in order. */
  readonly asked: ('find' | 'revoke')[] = [];
  /** The methods that currently fail. */
  outage: 'find' | 'revoke' | undefined;
  #issued = 0;

  constructor(keys: readonly VerificationKey[] = [{ algorithm: 'HS256', secret: OLD_SECRET }]) {
    this.jwtService = jwtVerifier(keys);
  }

  /** An access token has a `jti`, a refresh token a `refresh_id`. */
  identify({ jti, refresh_id }: Claims): TokenName | undefined {
    if (jti !== undefined) return { kind: 'access_token', key: jti };
    return refresh_id === undefined ? undefined : { kind: 'refresh_token', key: refresh_id };
  }

  async getByAccessToken(id: string): Promise<Row | undefined> {
    this.#ask('find');
    return this.rows.get(`access_token ${id}`);
  }

  async getByRefreshToken(id: string): Promise<Row | undefined> {
    this.#ask('find');
    return this.rows.get(`refresh_token ${id}`);
  }

  async revoke(found: HostToken): Promise<void> {
    this.#ask('revoke');
    const row = found as Row;
    const [kind, id] = row.name.split(' ');
    const refreshId = kind === 'refresh_token' ? id : String(row.refreshTokenId);
    for (const [name, one] of this.rows) {
      const isOfPair = name === `refresh_token ${refreshId}` || one.refreshTokenId === refreshId;
      if (name === row.name || isOfPair) this.rows.set(name, { ...one, expiresAt: 0 });
    }
  }

  /** Whether the rows of a pair are revoked: access token, refresh token. */
  revoked({ accessId, refreshId }: PreviousPair): readonly boolean[] {
    return [`access_token ${accessId}`, `refresh_token ${refreshId}`].map(
      (name) => this.rows.get(name)?.expiresAt === 0,
    );
  }

  /** Resets the rows of a pair, as if they had never been revoked. */
  resurrect({ accessId, refreshId }: PreviousPair, { nowMs }: SettableClock): void {
    for (const name of [`access_token ${accessId}`, `refresh_token ${refreshId}`]) {
      const row = this.rows.get(name);
      if (row !== undefined) this.rows.set(name, { ...row, expiresAt: Math.ceil(nowMs / 1000) + 1000 });
    }
  }

  /** A pair for Alice. Default: at the client `web` with `openid` and `email`. */
  async issue(clock: SettableClock, order: Order = {}): Promise<PreviousPair> {
    const { clientId = 'web', scopes = ['openid', 'email'], claims = {} } = order;
    const [accessId, refreshId] = [`access-${++this.#issued}`, `refresh-${this.#issued}`];
    const { nowMs, seconds: iat } = clock;
    const row = { clientId, scopes, subject: 'alice', issuedAtMs: nowMs };
    const exp = iat + OLD_ACCESS_LIFETIME;
    this.#add({ ...row, name: `access_token ${accessId}`, expiresAt: exp, refreshTokenId: refreshId });
    this.#add({ ...row, name: `refresh_token ${refreshId}`, expiresAt: iat + OLD_REFRESH_LIFETIME });
    const said = { sub: 'alice', client_id: clientId, scope: scopes.join(' '), aud: 'https://api.example' };
    return {
      accessId,
      refreshId,
      access: await previousJwt({ ...said, iat, nbf: iat, exp, jti: accessId, ...claims }),
      refresh: await previousJwt({ refresh_id: refreshId, iat, ...claims }),
    };
  }

  #add(row: Row): void {
    this.rows.set(row.name, row);
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
