import type {
  AuthorizationCodeRecord,
  ClientRecord,
  NewAuthorizationCode,
  NewToken,
  TokenRecord,
} from '../../protocol/records.ts';
import type { AdministrableStorage, Awaitable, NewClient, Storage } from '../contract.ts';
import { expect, expectEqual } from './failure.ts';
import { findToken, isAlive } from './liveness.ts';
import type { KitSubject } from './subject.ts';

/** What the tokens of one authorization have in common. */
export type Grant = Required<Pick<NewToken, 'clientId' | 'subject' | 'sessionId' | 'grantId' | 'familyId'>>;

/** Where a grant has the identifier of each principal. */
export const FIELD = {
  client: 'clientId',
  subject: 'subject',
  session: 'sessionId',
  grant: 'grantId',
} as const;

export interface Pair {
  readonly refresh: NewToken;
  readonly access: NewToken;
}

export const ACCESS_TOKEN_SECONDS = 300;
export const REFRESH_TOKEN_SECONDS = 3600;
export const CODE_SECONDS = 60;

/** An opened store, and what a case does with it over and over. */
export class Stage<S extends Storage = Storage> {
  readonly storage: S;
  readonly clock: { nowMs: number };
  readonly #subject: KitSubject<S>;
  readonly #others: S[] = [];

  constructor(subject: KitSubject<S>, storage: S) {
    this.storage = storage;
    this.clock = subject.clock;
    this.#subject = subject;
  }

  /** The store with its administration. @throws KitFailure where it has none */
  get administration(): AdministrableStorage {
    return administrationOf(this.storage);
  }

  /** @throws KitFailure where the subject does not say how */
  async break(): Promise<void> {
    const subject = this.#subject;
    expect(subject.breakStorage !== undefined, 'this case needs breakStorage: leave out the group "faults"');
    await subject.breakStorage(this.storage);
  }

  async close(): Promise<void> {
    for (const storage of [...this.#others, this.storage]) {
      if (this.#subject.close !== undefined) await this.#subject.close(storage);
      else if (isAdministrable(storage)) await storage.close();
    }
  }

  /** Starts all attempts before any of them is awaited, through the store's handles in turn. */
  async parallel<T>(attempts: readonly ((storage: Storage) => Awaitable<T>)[]): Promise<T[]> {
    if (this.#others.length === 0) {
      const another = await this.#subject.openAnother?.(this.storage);
      if (another !== undefined) this.#others.push(another);
    }
    const handles = [this.storage, ...this.#others];
    const started = attempts.map(async (attempt, index) =>
      attempt(handles[index % handles.length] ?? this.storage),
    );
    return Promise.all(started);
  }

  /** The stage's time, in seconds. */
  get now(): number {
    return Math.floor(this.clock.nowMs / 1000);
  }

  advance(seconds: number): void {
    this.clock.nowMs += seconds * 1000;
  }

  /** Registers a client and reads it back. */
  async client(fields: Partial<NewClient> = {}): Promise<ClientRecord> {
    const client: NewClient = {
      id: fresh('client'),
      grantTypes: ['authorization_code', 'refresh_token', 'client_credentials'],
      scopes: ['openid', 'email'],
      redirectUris: ['https://app.example/callback'],
      ...fields,
    };
    await this.#register(client);
    const record = await this.storage.clients.get(client.id);
    expect(record !== undefined && record !== null, 'a registered client is found');
    return record;
  }

  /** A new authorization, with a client, person and session of its own unless said otherwise. */
  async grant(fields: Partial<Grant> = {}): Promise<Grant> {
    return {
      clientId: fields.clientId ?? (await this.client()).id,
      subject: fresh('subject'),
      sessionId: fresh('session'),
      grantId: fresh('grant'),
      familyId: fresh('family'),
      ...fields,
    };
  }

  accessToken(of: Partial<NewToken> & Pick<NewToken, 'clientId'>): NewToken {
    return this.#token('access_token', ACCESS_TOKEN_SECONDS, { tokenType: 'Bearer', ...of });
  }

  refreshToken(of: Partial<NewToken> & Pick<NewToken, 'clientId'>): NewToken {
    return this.#token('refresh_token', REFRESH_TOKEN_SECONDS, of);
  }

  /** A refresh token with an access token. */
  pair(grant: Grant, fields: Partial<NewToken> = {}): Pair {
    const tied = { ...grant, pairId: fresh('pair'), ...fields };
    return { refresh: this.refreshToken(tied), access: this.accessToken(tied) };
  }

  /** Stores a new code of a grant. */
  async code(grant: Grant, fields: Partial<NewAuthorizationCode> = {}): Promise<AuthorizationCodeRecord> {
    const { familyId: _, ...rest } = grant;
    const code: NewAuthorizationCode = {
      id: fresh('code'),
      redirectUri: 'https://app.example/callback',
      redirectUriGiven: true,
      scopes: ['openid'],
      claims: {},
      issuedAtMs: this.clock.nowMs,
      expiresAt: this.now + CODE_SECONDS,
      ...rest,
      ...fields,
    };
    const client = await this.storage.clients.get(code.clientId);
    expect(client !== undefined && client !== null, 'the client of a code is found');
    const outcome = await this.storage.authorizationCodes.issue(code, basisOf(client));
    expectEqual(outcome, 'issued', 'issuing a code');
    return code;
  }

  /** Has a code issued and redeemed for a pair. */
  async redeemed(grant: Grant): Promise<Pair & { readonly code: AuthorizationCodeRecord }> {
    const code = await this.code(grant);
    const pair = this.pair(grant);
    const outcome = await this.storage.authorizationCodes.redeem(code, [pair.refresh, pair.access]);
    expectEqual(outcome, 'issued', 'redeeming a code');
    return { code, ...pair };
  }

  /** Rotates a refresh token, expecting that it works. */
  async rotated(grant: Grant, refresh: NewToken): Promise<Pair> {
    const pair = this.pair(grant);
    const outcome = await this.storage.tokens.rotate(refresh, pair.refresh, [pair.refresh, pair.access]);
    expectEqual(outcome, 'issued', 'rotating a refresh token');
    return pair;
  }

  /** Stores tokens that rest upon their client alone, expecting that it works. */
  async issued(client: ClientRecord, ...tokens: NewToken[]): Promise<void> {
    const outcome = await this.storage.tokens.issue(tokens, basisOf(client));
    expectEqual(outcome, 'issued', 'issuing tokens');
  }

  async expectAlive(...tokens: readonly NewToken[]): Promise<void> {
    for (const token of tokens) {
      expect(await isAlive(this.storage, token, this.clock.nowMs), `${token.kind} ${token.id} must be alive`);
    }
  }

  async expectDead(...tokens: readonly NewToken[]): Promise<void> {
    for (const token of tokens) {
      expect(
        !(await isAlive(this.storage, token, this.clock.nowMs)),
        `${token.kind} ${token.id} must be dead`,
      );
    }
  }

  async expectAbsent(...tokens: readonly NewToken[]): Promise<void> {
    for (const token of tokens) {
      expect((await this.find(token)) === undefined, `${token.kind} ${token.id} must not be stored`);
    }
  }

  find(token: Pick<TokenRecord, 'id' | 'kind'>): Promise<TokenRecord | undefined> {
    return findToken(this.storage, token);
  }

  async #register(client: NewClient): Promise<void> {
    const subject = this.#subject;
    const storage: Storage = this.storage;
    if (subject.registerClient !== undefined) return subject.registerClient(this.storage, client);
    expect(isAdministrable(storage), 'the kit needs registerClient, for `clients` has no `add`');
    expectEqual(await storage.clients.add(client), true, 'adding a client');
  }

  #token(
    kind: NewToken['kind'],
    seconds: number,
    fields: Partial<NewToken> & Pick<NewToken, 'clientId'>,
  ): NewToken {
    const expiresAt = this.now + seconds;
    return {
      id: fresh(kind),
      kind,
      digest: fresh('digest'),
      scopes: ['openid'],
      issuedAtMs: this.clock.nowMs,
      expiresAt,
      keepUntil: fields.expiresAt ?? expiresAt,
      ...fields,
    };
  }
}

/** @throws KitFailure where a store has no administration */
export function administrationOf(storage: Storage): AdministrableStorage {
  expect(isAdministrable(storage), 'this case needs an AdministrableStorage: leave out its group');
  return storage;
}

/** What issuance for a client rests upon, as the caller read it. */
export function basisOf({ generation }: ClientRecord): { readonly clientGeneration?: number } {
  return generation === undefined ? {} : { clientGeneration: generation };
}

function fresh(what: string): string {
  return `${what}-${crypto.randomUUID()}`;
}

function isAdministrable(storage: Storage): storage is AdministrableStorage {
  return 'revokeAll' in storage && 'sweep' in storage;
}
