// Kit cases: what introspection, revocation and UserInfo need of every store.
import type { NewToken, TokenKind, TokenRecord } from '../../protocol/records.ts';
import type { HostClient, HostToken, Storage } from '../contract.ts';
import { isUnguarded } from '../faults.ts';
import { clientRecord, tokenRecord } from '../host_records.ts';
import { canContinue } from '../issuing.ts';
import {
  ACCESS_TOKEN_SECONDS,
  expect,
  expectEqual,
  expectFault,
  fresh,
  isAuthorizing,
  type KitCase,
  type KitSubject,
  type KitToken,
  REFRESH_TOKEN_SECONDS,
  START_MS,
} from './stage.ts';

export const endpoints: readonly KitCase[] = [
  endpointCase('a token is found under its key alone', async (host) => {
    for (const kind of host.kinds) {
      for (const newKey of host.keyForms(kind)) {
        const { key } = await host.token(kind, { key: newKey() });
        await host.expectFound(kind, key);
        // Another collation of the column, or a search for the beginning, would find them too.
        const others = [swappedCase(key), `${key} `, key.slice(0, -1), `${key.slice(0, -1)}%`, `${key}x`, ''];
        for (const other of others.filter((text) => text !== key)) await host.expectAbsent(kind, other);
        for (const otherKind of host.kinds.filter((one) => one !== kind))
          await host.expectAbsent(otherKind, key);
      }
    }
  }),

  endpointCase('any text can be looked up, and one that cannot be a key is absent', async (host) => {
    // Strangers send them. A column of numbers or UUIDs must not make an outage of them.
    const texts = [
      'abc',
      '0',
      '-1',
      '1e3',
      '9'.repeat(40),
      'x'.repeat(4096),
      "'",
      '%',
      '\\',
      '{}',
      'null',
      'NaN',
    ];
    for (const kind of host.kinds) for (const text of texts) await host.expectAbsent(kind, text);
    for (const text of texts)
      expect(!(await host.storage.clients.get(text)), `there must be no client ${text}`);
  }),

  endpointCase('the record of a token can be read, and says what was issued', async (host) => {
    for (const kind of host.kinds) {
      const issued = await host.token(kind, { scopes: ['openid', 'email'], subject: '7' }); // also for integers
      const record = await host.record(kind, issued.key);
      expectEqual(record?.clientId, issued.clientId, 'clientId');
      expectEqual(record?.scopes, issued.scopes, 'scopes');
      expectEqual(record?.expiresAt, issued.expiresAt, 'expiresAt');
      expectEqual(record?.subject, '7', 'subject');
      await host.expectAlive(kind, issued.key, true);
    }
  }),

  endpointCase('a revoked token is dead, and no other token is', async (host) => {
    for (const kind of host.kinds) {
      const [revoked, other] = [await host.token(kind), await host.token(kind)];
      await host.revoke(kind, revoked.key);
      await host.expectAlive(kind, revoked.key, false, 'revoke');
      await host.expectAlive(kind, other.key, true, 'revoking another token');
    }
  }),

  endpointCase('revoking either token of a pair revokes both', async (host) => {
    if (!host.kinds.includes('refresh_token')) return;
    for (const kind of host.kinds) {
      const owner = { clientId: await host.client(), subject: '7' };
      const pairOf = async (pairId: string, grantId: string) => [
        await host.token('access_token', { ...owner, pairId, grantId }),
        await host.token('refresh_token', { ...owner, pairId, grantId }),
      ];
      const pair = await pairOf(fresh('pair'), fresh('grant'));
      // The same client and user, who has signed in at another place.
      const others = await pairOf(fresh('pair'), fresh('grant'));
      await host.revoke(kind, pair.find((one) => one.kind === kind)?.key ?? '');
      for (const one of pair)
        await host.expectAlive(one.kind, one.key, false, `revoking the ${kind} of its pair`);
      for (const one of others)
        await host.expectAlive(one.kind, one.key, true, 'revoking a pair of another grant');
    }
  }),

  endpointCase('a token can be revoked again, and after its expiry', async (host) => {
    for (const kind of host.kinds) {
      const { key } = await host.token(kind);
      const [first, second] = [await host.find(kind, key), await host.find(kind, key)];
      host.advance(REFRESH_TOKEN_SECONDS - 1);
      for (const record of [first, second]) if (record) await host.storage.tokens.revoke(record);
      await host.expectAlive(kind, key, false);
    }
  }),

  endpointCase('a client is found under its identifier alone', async (host) => {
    const { clients } = host.storage;
    const id = await host.client();
    const found = await clients.get(id);
    expect(found !== undefined && found !== null, 'a registered client is found');
    expectEqual(clientRecord(found).id, id, 'id');
    for (const other of [fresh('unknown'), swappedCase(id), `${id} `, ''])
      expect(!(await clients.get(other)), `no client is found under "${other}"`);
  }),

  endpointCase('verifySecret accepts the secret of its client alone', async (host) => {
    const { clients } = host.storage;
    if (clients.verifySecret === undefined) return;
    const [one, another] = [
      await host.found(await host.client('one secret')),
      await host.found(await host.client('other secret')),
    ];
    expectEqual(await clients.verifySecret(one, 'one secret'), true, 'its own secret');
    for (const wrong of ['other secret', 'one secre', 'One secret', '', 'x'.repeat(1024)])
      expect((await clients.verifySecret(one, wrong)) !== true, `"${wrong.slice(0, 20)}" is refused`);
    expectEqual(await clients.verifySecret(another, 'other secret'), true, 'the secret of the other client');
    // For unknown clients, so that they take as long as wrong secrets.
    await clients.verifySecret(undefined, 'one secret');
  }),

  {
    ...endpointCase('a store that is unavailable rejects lookups and revocations', async (host) => {
      const { clients, tokens } = host.storage;
      const id = await host.client();
      const found: { kind: TokenKind; key: string; record: HostToken }[] = [];
      for (const kind of host.kinds) {
        const { key } = await host.token(kind);
        const record = await host.find(kind, key);
        if (record) found.push({ kind, key, record });
      }
      await host.break();
      await expectFault(clients, () => clients.get(id), 'clients.get');
      await expectFault(clients, () => clients.get('unknown'), 'clients.get of an unknown client');
      for (const { kind, key, record } of found) {
        await expectFault(tokens, () => host.find(kind, key), `the lookup of the ${kind}`);
        await expectFault(tokens, () => host.find(kind, 'unknown'), `the lookup of an unknown ${kind}`);
        await expectFault(tokens, () => tokens.revoke(record), 'revoke');
      }
    }),
    group: 'faults',
  },
];

/** A store as the three endpoints see it, with the steps that cases share. */
class Host {
  readonly storage: Storage;
  readonly kinds: readonly TokenKind[];
  readonly #subject: KitSubject<Storage>;

  constructor(subject: KitSubject<Storage>, storage: Storage) {
    this.#subject = subject;
    this.storage = storage;
    this.kinds = storage.tokens.getByRefreshToken ? ['refresh_token', 'access_token'] : ['access_token'];
  }

  /** A key of each form that lookups of a kind get: a `jti`, a digest, and if `keyedBy` says so, a token. */
  keyForms(kind: TokenKind): readonly (() => string)[] {
    const { keyedBy } = this.storage.tokens;
    const isToken = (typeof keyedBy === 'object' ? keyedBy[kind] : keyedBy) === 'token';
    return [
      () => fresh('Jti'),
      () => `Digest_${crypto.randomUUID().replaceAll('-', '')}_-aB`,
      ...(isToken ? [() => `Tok.en+/=~ ${crypto.randomUUID()}`] : []),
    ];
  }

  /** Registers a client with this secret. @returns its identifier */
  async client(secret = 'a secret of the kit'): Promise<string> {
    const id = fresh('client');
    const client = { id, grantTypes: [], scopes: ['openid', 'email'], redirectUris: [] };
    const { registerClient } = this.#subject;
    if (registerClient !== undefined) await registerClient(this.storage, client, secret);
    else {
      expect(isAuthorizing(this.storage) && 'add' in this.storage.clients, 'the kit needs registerClient');
      const { add } = this.storage.clients as { add(client: object): unknown };
      await add(client);
    }
    return id;
  }

  async found(clientId: string): Promise<HostClient> {
    const client = await this.storage.clients.get(clientId);
    expect(client !== undefined && client !== null, 'a registered client is found');
    return client;
  }

  /** Puts a token into the store. */
  async token(kind: TokenKind, fields: Partial<KitToken> = {}): Promise<KitToken> {
    const lifetime = kind === 'access_token' ? ACCESS_TOKEN_SECONDS : REFRESH_TOKEN_SECONDS;
    const { nowMs } = this.#subject.clock;
    const token: KitToken = {
      kind,
      key: fresh(kind),
      clientId: await this.client(),
      scopes: ['openid'],
      issuedAtMs: nowMs,
      expiresAt: Math.floor(nowMs / 1000) + lifetime,
      ...fields,
    };
    await this.#insert(token);
    return token;
  }

  async #insert(token: KitToken): Promise<void> {
    const { insertToken } = this.#subject;
    if (insertToken !== undefined) return insertToken(this.storage, token);
    expect(isAuthorizing(this.storage), 'the kit needs insertToken, because the store does not issue tokens');
    const { key, ...rest } = token;
    const digest = fresh('digest');
    const issued: NewToken = { ...rest, id: key, digest, keepUntil: token.expiresAt };
    const outcome = await this.storage.tokens.issue([issued], {});
    expectEqual(outcome, 'issued', 'issuing a token');
  }

  async find(kind: TokenKind, key: string): Promise<HostToken | undefined> {
    const { tokens } = this.storage;
    const found = await (kind === 'access_token'
      ? tokens.getByAccessToken(key)
      : tokens.getByRefreshToken?.(key));
    return found ?? undefined;
  }

  /** The record as the server reads it. */
  async record(kind: TokenKind, key: string): Promise<TokenRecord | undefined> {
    const found = await this.find(kind, key);
    return found && recordOf(this.storage, found, kind, key);
  }

  async revoke(kind: TokenKind, key: string): Promise<void> {
    const found = await this.find(kind, key);
    expect(found !== undefined, `the ${kind} is found before it is revoked`);
    await this.storage.tokens.revoke(found);
  }

  async expectFound(kind: TokenKind, key: string): Promise<void> {
    expect((await this.find(kind, key)) !== undefined, `the ${kind} is found under "${key}"`);
  }

  async expectAbsent(kind: TokenKind, key: string): Promise<void> {
    expect((await this.find(kind, key)) === undefined, `no ${kind} is found under "${key}"`);
  }

  /** A store can show a revocation by deleting the record, by its expiry, by `revokedAtMs`, or by its methods. */
  async expectAlive(
    kind: TokenKind,
    key: string,
    expected: boolean,
    after = 'what was called',
  ): Promise<void> {
    const { tokens } = this.storage;
    const found = await this.find(kind, key);
    const isLive =
      found !== undefined && canContinue(recordOf(this.storage, found, kind, key), this.#subject.clock.nowMs);
    const check = kind === 'access_token' ? tokens.isAccessTokenRevoked : tokens.isRefreshTokenRevoked;
    const isRevoked = isLive && check !== undefined && (await check.call(tokens, found));
    expect(
      (isLive && !isRevoked) === expected,
      `after ${after}, the ${kind} must be ${expected ? 'alive' : 'dead'}`,
    );
  }

  advance(seconds: number): void {
    this.#subject.clock.nowMs += seconds * 1000;
  }

  async break(): Promise<void> {
    const { breakStorage } = this.#subject;
    expect(breakStorage !== undefined, 'this case needs breakStorage: leave out the group "faults"');
    await breakStorage(this.storage);
  }

  async close(): Promise<void> {
    if (this.#subject.close !== undefined) await this.#subject.close(this.storage);
    else if ('close' in this.storage && typeof this.storage.close === 'function') await this.storage.close();
  }
}

/** A store whose records are plain is not read again. */
function recordOf(storage: Storage, found: HostToken, kind: TokenKind, key: string): TokenRecord {
  return isUnguarded(storage.tokens) ? (found as TokenRecord) : tokenRecord(found, kind, key);
}

function swappedCase(text: string): string {
  return text.replace(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
}

function endpointCase(title: string, check: (host: Host) => Promise<void>): KitCase {
  return {
    group: 'endpoints',
    title,
    async run(given) {
      const subject = given as unknown as KitSubject<Storage>; // it only gets storages that it has opened
      subject.clock.nowMs = START_MS;
      const host = new Host(subject, await subject.open());
      try {
        await check(host);
      } finally {
        await host.close();
      }
    },
  };
}
