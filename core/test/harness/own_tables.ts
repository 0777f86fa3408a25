import { createHash, randomUUID } from 'node:crypto';
import {
  AuthorizationServer,
  type AuthorizationServerOptions,
  type HostClient,
  type HostToken,
  jwtVerifier,
  type ServerEvent,
  type Storage,
  type StoredTime,
  type TokenKind,
} from '@grantd/core';
import { generateKeyPair, SignJWT } from 'jose';
import { SettableClock } from './settable_clock.ts';
import type { TestResponse } from './transports/transport.ts';
import { basic, ISSUER, PEOPLE } from './world.ts';

/** The ways in which a host can store that a token is revoked. */
export const REVOCATIONS = ['flag', 'deletion', 'zero_expiry'] as const;
export type HostRevocation = (typeof REVOCATIONS)[number];

export interface TablesOptions {
  readonly revokeBy?: HostRevocation;
  readonly keyedBy?: 'digest' | 'token';
  readonly identify?: NonNullable<Storage['tokens']['identify']>;
  /** Whether the host has `isAccessTokenRevoked`, as it needs it if it flags. */
  readonly hasAccessCheck?: boolean;
  /** Whether the host has refresh tokens. */
  readonly hasRefreshTokens?: boolean;
  /** What the host returns instead of a row. */
  readonly present?: (row: Row) => unknown;
}

/** A row as a host has it. */
export interface Row extends HostToken {
  readonly kind: TokenKind;
  isFlagged: boolean;
  expiresAt: StoredTime;
}

type ServerOptions = Partial<Omit<AuthorizationServerOptions, 'storage' | 'clock'>>;

const keys = await generateKeyPair('ES256');
export const publicKey = keys.publicKey;

/** An application with its own tables and keys, and a server with only the storage methods that are required. */
export class OwnTables {
  readonly clock = new SettableClock();
  readonly events: ServerEvent[] = [];
  readonly rows = new Map<string, Row>();
  readonly clients = new Map<string, HostClient & { readonly secret?: string }>([
    ['web', { id: 'web', secret: 'secret of web' }],
    ['api', { id: 'api', secret: 'secret of api' }],
    ['spa', { id: 'spa', tokenEndpointAuthMethod: 'none' }],
  ]);
  /** The calls of the host's methods. */
  readonly calls: string[] = [];
  /** Method that fails. */
  outage: string | undefined;
  readonly storage: Storage;
  readonly server: AuthorizationServer<Storage>;

  constructor(tables: TablesOptions = {}, options: ServerOptions = {}) {
    this.storage = this.#storage(tables);
    this.server = new AuthorizationServer({
      issuer: ISSUER,
      jwtService: jwtVerifier(publicKey),
      oidc: { getUserClaims: (subject) => PEOPLE[subject] },
      onEvent: (event) => event.type !== 'answered' && this.events.push(event),
      ...options,
      storage: this.storage,
      clock: this.clock.read,
    });
  }

  #storage({
    revokeBy = 'flag',
    keyedBy,
    identify,
    hasAccessCheck = revokeBy === 'flag',
    hasRefreshTokens = true,
    present = (row) => row,
  }: TablesOptions): Storage {
    const call = (method: string, ...args: readonly unknown[]): void => {
      this.calls.push([method, ...args].join(' '));
      if (this.outage === method) throw new Error('the connection is lost');
    };
    const find = (kind: TokenKind) => async (key: string) => {
      call(kind === 'access_token' ? 'getByAccessToken' : 'getByRefreshToken', key);
      const row = this.rows.get(`${kind} ${key}`);
      return (row === undefined ? null : present(row)) as HostToken | null;
    };
    const isFlagged = (method: string) => async (record: HostToken) => {
      call(method);
      return (record as Row).isFlagged === true;
    };
    return {
      clients: {
        get: async (id) => {
          call('clients.get', id);
          return this.clients.get(id);
        },
        verifySecret: async (client, secret) => {
          call('verifySecret', client?.id, secret);
          return client !== undefined && this.clients.get(String(client.id))?.secret === secret;
        },
      },
      tokens: {
        // The host has JWTs too, so it names each kind that can be opaque.
        ...(keyedBy && { keyedBy: { access_token: keyedBy, refresh_token: keyedBy } }),
        ...(identify && { identify }),
        getByAccessToken: find('access_token'),
        ...(hasRefreshTokens && {
          getByRefreshToken: find('refresh_token'),
          isRefreshTokenRevoked: isFlagged('isRefreshTokenRevoked'),
        }),
        ...(hasAccessCheck && { isAccessTokenRevoked: isFlagged('isAccessTokenRevoked') }),
        revoke: async (record) => {
          call('revoke', record.clientId);
          const row = record as Row;
          for (const [key, one] of this.rows) {
            const isOfPair = row.pairId !== undefined && one.pairId === row.pairId;
            if (one !== row && !isOfPair) continue;
            if (revokeBy === 'deletion') this.rows.delete(key);
            else if (revokeBy === 'flag') one.isFlagged = true;
            else one.expiresAt = 0;
          }
        },
      },
    };
  }

  /** Stores a token under a key. */
  store(kind: TokenKind, key: string, fields: Partial<Row> = {}): Row {
    const row: Row = {
      kind,
      isFlagged: false,
      clientId: 'web',
      scopes: 'openid email',
      subject: 'alice',
      expiresAt: this.clock.seconds + 60,
      ...(kind === 'access_token' && { tokenType: 'Bearer' }),
      ...fields,
    };
    this.rows.set(`${kind} ${key}`, row);
    return row;
  }

  /** Signs a JWT with the host's key. `typ: undefined` leaves the header out. */
  async jwt(
    claims: Readonly<Record<string, unknown>> = {},
    header: object = { typ: 'at+jwt' },
  ): Promise<string> {
    const usual = { iss: ISSUER, sub: 'alice', exp: this.clock.seconds + 60, jti: randomUUID() };
    return new SignJWT({ ...usual, ...claims })
      .setProtectedHeader({ alg: 'ES256', ...header })
      .sign(keys.privateKey);
  }

  async post(
    path: '/token/introspect' | '/token/revoke',
    parameters: Readonly<Record<string, string>>,
    authorization: string | undefined,
  ): Promise<TestResponse> {
    const response = await this.server.handle({
      method: 'POST',
      url: path,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        ...(authorization !== undefined && { authorization }),
      },
      body: new URLSearchParams(parameters).toString(),
    });
    if (response === undefined) throw new Error(`${path} is not mounted`);
    const { status, headers, body } = response;
    return { status, headers: headers as TestResponse['headers'], body: String(body) };
  }

  introspect(token: string, hint?: string, as = 'api'): Promise<TestResponse> {
    const parameters = { token, ...(hint !== undefined && { token_type_hint: hint }) };
    return this.post('/token/introspect', parameters, secretOf(as));
  }

  revoke(token: string, hint?: string, as = 'web'): Promise<TestResponse> {
    const parameters = { token, ...(hint !== undefined && { token_type_hint: hint }) };
    return this.post('/token/revoke', parameters, secretOf(as));
  }

  async userInfo(token: string): Promise<TestResponse> {
    const headers = { authorization: `Bearer ${token}` };
    const response = await this.server.handle({ method: 'GET', url: '/userinfo', headers });
    if (response === undefined) throw new Error('UserInfo is not mounted');
    return { ...response, body: String(response.body) } as TestResponse;
  }

  async isActive(token: string, hint?: string): Promise<boolean> {
    const { status, body } = await this.introspect(token, hint);
    if (status !== 200) throw new Error(`introspection answered with ${status}: ${body}`);
    return JSON.parse(body).active;
  }

  get lastReason(): string | undefined {
    return this.events.flatMap((event) => ('reason' in event ? [event.reason] : [])).at(-1);
  }

  /** The message of the last fault. */
  get lastFault(): string {
    const cause = this.events.flatMap((event) => ('cause' in event ? [event.cause] : [])).at(-1);
    return cause instanceof Error ? cause.message : String(cause);
  }
}

export function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}

function secretOf(clientId: string): string {
  return basic(clientId, `secret of ${clientId}`);
}
