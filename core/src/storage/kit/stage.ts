// The contents of kit cases: the store under test, records and expectations.
import { StorageFault } from '../../http/errors.ts';
import type {
  AuthorizationCodeRecord,
  ClientRecord,
  NewAuthorizationCode,
  NewToken,
  TokenKind,
  TokenRecord,
} from '../../protocol/records.ts';
import type {
  AdministrableStorage,
  AuthorizingStorage,
  Awaitable,
  NewClient,
  OneTimeUse,
  Storage,
} from '../contract.ts';
import { isUnguarded } from '../faults.ts';
import { isIssuing } from '../groups.ts';
import { canContinue } from '../issuing.ts';

/** The store under test, and how to control it. */
export interface KitSubject<S extends Storage = Storage> {
  /** The clock of the store. The cases set it. */
  readonly clock: { nowMs: number };
  /** Opens a new store without records. */
  open(): Awaitable<S>;
  /**
   * Opens a second handle on the same records, as another process would. Concurrency cases then use both in turn. Only
   * this reveals a store that synchronizes calls only within one handle.
   */
  openAnother?(storage: S): Awaitable<S>;
  /**
   * Registers a client. Needed only if `clients` has no `add`.
   * @param secret for stores with `verifySecret`
   */
  registerClient?(storage: S, client: NewClient, secret: string): Awaitable<void>;
  /** Puts a token into the tables, as the host issues it. Needed only without the group `issuing`. */
  insertToken?(storage: S, token: KitToken): Awaitable<void>;
  /** Makes the store unavailable, like an outage. Needed only by the group `faults`. */
  breakStorage?(storage: S): Awaitable<void>;
  /**
   * Called for each handle at the end of a case, also after `breakStorage`. Needed only if the store has no `close`.
   */
  close?(storage: S): Awaitable<void>;
}

/** A token as a host issues it. Tokens with the same `pairId` were issued together. */
export interface KitToken
  extends Pick<
    NewToken,
    'kind' | 'clientId' | 'subject' | 'scopes' | 'issuedAtMs' | 'expiresAt' | 'pairId' | 'grantId'
  > {
  /** What lookups get. */
  readonly key: string;
}

/** A guarantee that a store breaks; the message names it. */
export class KitFailure extends Error {
  override readonly name = 'KitFailure';
}

/** @throws KitFailure with `message` if the condition is false */
export function expect(condition: boolean, message: string): asserts condition {
  if (!condition) throw new KitFailure(message);
}

/**
 * Compares plain data by its JSON text, so that the order of members counts.
 * @throws KitFailure that shows both
 */
export function expectEqual(actual: unknown, expected: unknown, what: string): void {
  const [actualText, expectedText] = [JSON.stringify(actual), JSON.stringify(expected)];
  expect(actualText === expectedText, `${what}: expected ${expectedText}, got ${actualText}`);
}

/** @throws KitFailure if `attempt` resolves, or rejects without an error */
export async function expectRejection(attempt: () => unknown, what: string): Promise<void> {
  let answer: unknown;
  try {
    answer = await attempt();
  } catch (error) {
    expect(error instanceof Error, `${what}: expected a rejection with an Error, got ${String(error)}`);
    return;
  }
  throw new KitFailure(`${what}: expected a rejection, got ${JSON.stringify(answer)}`);
}

/**
 * Whether a repository that is unavailable rejects. One that was declared to report faults itself rejects with a
 * `StorageFault`.
 * @throws KitFailure
 */
export async function expectFault(repository: object, attempt: () => unknown, what: string): Promise<void> {
  await expectRejection(async () => {
    try {
      return await attempt();
    } catch (error) {
      const isFault = error instanceof StorageFault;
      if (isFault || !isUnguarded(repository)) throw error;
      return `a rejection with ${String(error)} instead of a StorageFault`;
    }
  }, what);
}

/** The record under a token's identifier; `undefined` if it is absent in either spelling. */
export async function findToken(
  { tokens }: AuthorizingStorage,
  token: { readonly id: string; readonly kind: TokenKind },
): Promise<TokenRecord | undefined> {
  const record = await (token.kind === 'access_token'
    ? tokens.getByAccessToken(token.id)
    : tokens.getByRefreshToken(token.id));
  return record ?? undefined;
}

/**
 * Whether a token is alive. A store can show a revocation by deleting the record, by its expiry, by `revokedAtMs`, by a
 * principal's generation, or by its `is…Revoked` methods.
 * @param nowMs milliseconds since 1970
 */
export async function isAlive(
  storage: AuthorizingStorage,
  token: { readonly id: string; readonly kind: TokenKind },
  nowMs: number,
): Promise<boolean> {
  const record = await findToken(storage, token);
  if (record === undefined || !canContinue(record, nowMs)) return false;
  const isRevoked =
    token.kind === 'access_token'
      ? await storage.tokens.isAccessTokenRevoked?.(record)
      : await storage.tokens.isRefreshTokenRevoked(record);
  return isRevoked !== true;
}

/** The members that the tokens of one authorization share. */
export type Grant = Required<Pick<NewToken, 'clientId' | 'subject' | 'sessionId' | 'grantId' | 'familyId'>>;

/** The member of a grant with the identifier of each principal. */
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
/** The lifetime of one-time identifiers and pending rows. */
export const ONE_TIME_SECONDS = 60;

/** An opened store, with the steps that cases share. */
export class Stage<S extends AuthorizingStorage = AuthorizingStorage> {
  readonly storage: S;
  readonly clock: { nowMs: number };
  readonly #subject: KitSubject<S>;
  readonly #others: S[] = [];

  constructor(subject: KitSubject<S>, storage: S) {
    this.storage = storage;
    this.clock = subject.clock;
    this.#subject = subject;
  }

  /** The store with its administration. @throws KitFailure if it has none */
  get administration(): AdministrableStorage {
    return administrationOf(this.storage);
  }

  /** @throws KitFailure if the subject cannot do this */
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

  /** Starts all attempts before awaiting one, through the store's handles in turn. */
  async parallel<T>(attempts: readonly ((storage: AuthorizingStorage) => Awaitable<T>)[]): Promise<T[]> {
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

  /** The time in seconds. */
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

  /** A new authorization, with its own client, user and session by default. */
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
      claims: { sub: rest.subject },
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

  /** Issues a code and redeems it for a pair. */
  async redeemed(grant: Grant): Promise<Pair & { readonly code: AuthorizationCodeRecord }> {
    const code = await this.code(grant);
    const pair = this.pair(grant);
    const outcome = await this.storage.authorizationCodes.redeem(code, [pair.refresh, pair.access]);
    expectEqual(outcome, 'issued', 'redeeming a code');
    return { code, ...pair };
  }

  /** Rotates a refresh token and expects success. */
  async rotated(grant: Grant, refresh: NewToken): Promise<Pair> {
    const pair = this.pair(grant);
    const outcome = await this.storage.tokens.rotate(refresh, pair.refresh, [pair.refresh, pair.access]);
    expectEqual(outcome, 'issued', 'rotating a refresh token');
    return pair;
  }

  /** Stores tokens whose only basis is their client, and expects success. */
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
    const storage: AuthorizingStorage = this.storage;
    if (subject.registerClient !== undefined)
      return subject.registerClient(this.storage, client, fresh('secret'));
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

/** @throws KitFailure if a store has no administration */
export function administrationOf(storage: AuthorizingStorage): AdministrableStorage {
  expect(isAdministrable(storage), 'this case needs an AdministrableStorage: leave out its group');
  return storage;
}

/** The basis of issuance for a client, as the caller read it. */
export function basisOf({ generation }: ClientRecord): { readonly clientGeneration?: number } {
  return generation === undefined ? {} : { clientGeneration: generation };
}

export function fresh(what: string): string {
  return `${what}-${crypto.randomUUID()}`;
}

export function isAuthorizing(storage: Storage): storage is AuthorizingStorage {
  return isIssuing(storage.tokens) && storage.authorizationCodes !== undefined;
}

function isAdministrable(storage: AuthorizingStorage): storage is AdministrableStorage {
  return 'revokeAll' in storage && 'sweep' in storage;
}

/** The number of attempts of which one succeeds. */
export const PARALLEL = 100;
/** The number of attempts that race something else. */
export const RACERS = 20;

export type Attempt<T> = (storage: AuthorizingStorage) => Awaitable<T>;

/** Starts attempts with `act` in the middle, so that it runs after some and before others. */
export async function race(
  stage: Stage,
  attempts: readonly Attempt<unknown>[],
  act: Attempt<unknown>,
): Promise<void> {
  const middle = attempts.length / 2;
  await stage.parallel([...attempts.slice(0, middle), act, ...attempts.slice(middle)]);
}

/** The guarantee that a case checks. */
export type KitGroup =
  | 'endpoints'
  | 'records'
  | 'atomicity'
  | 'concurrency'
  | 'expiry'
  | 'faults'
  | 'administration';

export interface KitCase {
  readonly group: KitGroup;
  /** A sentence: what the store does. */
  readonly title: string;
  /**
   * Opens a new store, runs the case and closes the store.
   * @throws KitFailure if the store fails the case
   */
  run<S extends Storage>(subject: KitSubject<S>): Promise<void>;
}

/** Every case starts at this time: 2030-01-01T00:00:00Z. */
export const START_MS = 1_893_456_000_000;

export function kitCase(group: KitGroup, title: string, check: (stage: Stage) => Promise<void>): KitCase {
  return {
    group,
    title,
    async run(given) {
      given.clock.nowMs = START_MS;
      const storage: Storage = await given.open();
      expect(isAuthorizing(storage), 'this case needs the groups issuing and authorizationCodes');
      const subject = given as unknown as KitSubject<AuthorizingStorage>; // it only gets storages that it has opened
      const stage = new Stage(subject, storage);
      try {
        await check(stage);
      } finally {
        await stage.close();
      }
    },
  };
}

/** A way to store a pair of a grant upon a refresh token or code, which takes an identifier. */
export interface IssuanceOnce {
  readonly name: string;
  readonly grant: Grant;
  /** The outcome with the same identifier, after it has succeeded. */
  readonly again: 'superseded' | 'already_redeemed' | 'already_used';
  store(pair: Pair, once: OneTimeUse): Awaitable<string>;
  /** Whether the refresh token or code was not used up. */
  isUnused(): Promise<boolean>;
}

/** The methods that take `once`, each with a grant of its own. Empty if the storage has none. */
export async function issuancesOnce(stage: Stage): Promise<readonly IssuanceOnce[]> {
  const { tokens, authorizationCodes } = stage.storage;
  const ways: IssuanceOnce[] = [];
  if (tokens.takesOnce === true) {
    const [kept, replaced] = [await stage.grant(), await stage.grant()];
    const { refresh: own } = await stage.redeemed(kept);
    const { refresh: presented } = await stage.redeemed(replaced);
    const isCurrent = async (token: NewToken) => (await stage.find(token))?.supersededAtMs === undefined;
    ways.push(
      {
        ...{ name: 'issueFrom', grant: kept, again: 'already_used', isUnused: () => isCurrent(own) },
        store: ({ access }, once) => tokens.issueFrom(own, [access], once),
      },
      {
        ...{ name: 'rotate', grant: replaced, again: 'superseded', isUnused: () => isCurrent(presented) },
        store: ({ refresh, access }, once) => tokens.rotate(presented, refresh, [refresh, access], once),
      },
    );
  }
  if (authorizationCodes.takesOnce === true) {
    const grant = await stage.grant();
    const code = await stage.code(grant);
    const isUnused = async () => (await authorizationCodes.get(code.id))?.redeemedAtMs === undefined;
    ways.push({
      ...{ name: 'redeem', grant, again: 'already_redeemed', isUnused },
      store: ({ refresh, access }, once) => authorizationCodes.redeem(code, [refresh, access], once),
    });
  }
  return ways;
}

/** A case of a part that a storage may lack. It passes if the part is missing. */
export function caseOfPart<P extends 'oneTimeIdentifiers' | 'pending'>(
  part: P,
  group: KitGroup,
  title: string,
  check: (stage: Stage, part: NonNullable<AuthorizingStorage[P]>) => Promise<void>,
): KitCase {
  return kitCase(group, title, async (stage) => {
    const found = stage.storage[part];
    if (found) await check(stage, found);
  });
}
