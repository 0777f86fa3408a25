import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StorageFault, unguarded } from '@grantd/core';
import type { GrantRecord, TokenRecord } from '../../src/protocol/records.ts';
import type {
  AdministrableStorage,
  AuthorizingStorage,
  IssuingTokenRepository,
} from '../../src/storage/contract.ts';
import { ContractBreach, guarded } from '../../src/storage/faults.ts';
import { KitFailure, storageKit } from '../../src/storage/kit/kit.ts';
import { memoryStorage } from '../../src/storage/memory/memory_storage.ts';
import { newClient, newToken } from './samples.ts';

/** Faulty stores, as seen in practice, each with a case that must detect it. */
const FAULTY: readonly { name: string; spoil: (sound: AdministrableStorage) => Faults; foundBy: RegExp }[] = [
  {
    name: 'whose revocation does nothing',
    spoil: () => ({ revoke() {} }),
    foundBy: /^revoking a token without pair, family and grant ends that token alone$/,
  },
  {
    name: 'that revokes an access token and leaves its refresh token',
    spoil: ({ tokens }) => ({
      revoke: ({ pairId: _, familyId: __, ...record }: TokenRecord) => tokens.revoke(record),
    }),
    foundBy: /^revoking an access token ends its pair/,
  },
  {
    name: 'that checks a refresh token, and rotates it in a second step',
    spoil: ({ tokens }) => ({
      async rotate(record, _successor, successors) {
        const stored = await tokens.getByRefreshToken(record.id);
        if (stored?.supersededAtMs !== undefined) return 'superseded';
        return tokens.issueFrom(record, successors);
      },
    }),
    foundBy: /^100 parallel rotations of one token leave one successor$/,
  },
  {
    name: 'whose rotations wait for each other within one handle alone',
    spoil: ({ tokens }) => {
      let last: Promise<unknown> = Promise.resolve();
      return {
        rotate(record, successor, successors) {
          const turn = last.then(async () => {
            const stored = await tokens.getByRefreshToken(record.id);
            if (stored?.supersededAtMs !== undefined) return 'superseded';
            const outcome = await tokens.rotate(record, successor, successors);
            return outcome === 'superseded' ? tokens.issue(successors, {}) : outcome;
          });
          last = turn.catch(() => undefined);
          return turn;
        },
      };
    },
    foundBy: /^100 parallel rotations of one token leave one successor$/,
  },
  {
    name: 'that looks whether a refresh token is alive, and issues beside it in a second step',
    spoil: ({ tokens, clients }) => ({
      async issueFrom(record, issued) {
        const stored = await tokens.getByRefreshToken(record.id);
        if (stored?.revokedAtMs !== undefined) return 'refused';
        if (stored?.supersededAtMs !== undefined) return 'superseded';
        const client = await clients.get(record.clientId);
        return tokens.issue(issued, { clientGeneration: client?.generation ?? 0 });
      },
    }),
    foundBy: /^rotations, issuances and revocations of a few grants at once/,
  },
  {
    name: 'that locks one grant after another as they are named, and hears of a deadlock',
    spoil({ tokens }) {
      let held: string | undefined;
      return {
        async issue(issued, basis) {
          const [first, ...others] = new Set(issued.map(({ grantId }) => grantId));
          if (held !== undefined && others.includes(held)) throw new Error('deadlock detected');
          held = first;
          await undefined;
          held = undefined;
          return tokens.issue(issued, basis);
        },
      };
    },
    foundBy: /^issuances that name the same grants in opposite orders are all made$/,
  },
  {
    name: 'that locks the grant of a refresh token, and nothing where there is none',
    spoil: ({ tokens }) => ({
      async rotate(record, successor, successors) {
        if (record.grantId !== undefined) return tokens.rotate(record, successor, successors);
        const stored = await tokens.getByRefreshToken(record.id);
        if (stored?.supersededAtMs !== undefined) return 'superseded';
        const outcome = await tokens.rotate(record, successor, successors);
        return outcome === 'superseded' ? tokens.issue(successors, {}) : outcome;
      },
    }),
    foundBy: /^of 20 parallel rotations of a token without a grant one succeeds$/,
  },
  {
    name: 'that finds a token as either kind',
    spoil: ({ tokens }) => ({
      getByAccessToken: async (id) => (await tokens.getByAccessToken(id)) ?? tokens.getByRefreshToken(id),
    }),
    foundBy: /^a token of one kind is not found as the other$/,
  },
  {
    name: 'that returns absence when it is unavailable',
    spoil: ({ tokens }) => ({
      async getByAccessToken(id) {
        try {
          return await tokens.getByAccessToken(id);
        } catch {
          return undefined;
        }
      },
    }),
    foundBy: /^a store that is unavailable rejects every lookup/,
  },
  {
    name: 'that issues whatever has become of the client since',
    spoil: ({ tokens, clients }) => ({
      async issue(issued) {
        const client = await clients.get(issued[0]?.clientId ?? '');
        return tokens.issue(issued, { clientGeneration: client?.generation ?? 0 });
      },
    }),
    foundBy: /^disabling a client ends its tokens and lets none be issued/,
  },
  {
    name: 'that looks at a refresh token, and issues beside it in a second step',
    spoil: ({ tokens, clients }) => ({
      async issueFrom(record, issued) {
        const stored = await tokens.getByRefreshToken(record.id);
        const standings = Object.values(stored?.standing ?? {});
        if (standings.some(({ copied, current }) => copied < current)) return 'refused';
        const client = await clients.get(record.clientId);
        return tokens.issue(issued, { clientGeneration: client?.generation ?? 0 });
      },
    }),
    foundBy: /^an issuance that races the revocation of all of its client leaves nothing of before alive$/,
  },
  {
    name: 'that forgets what its tokens depend on',
    spoil: ({ tokens }) => ({
      async getByAccessToken(id) {
        const { standing: _, ...record } = (await tokens.getByAccessToken(id)) ?? {};
        return 'id' in record ? record : undefined;
      },
    }),
    foundBy: /^revoking all of a session ends its tokens and codes, and no others$/,
  },
];

type Faults = Partial<IssuingTokenRepository>;

/** Faulty ways to take `once`. */
const FAULTY_ONCE: typeof FAULTY = [
  {
    name: 'that says it takes an identifier with a rotation, and does not',
    spoil: ({ tokens }) => ({
      rotate: (record, successor, successors) => tokens.rotate(record, successor, successors),
    }),
    foundBy: /^an identifier that was used before stops an issuance that would take it/,
  },
  {
    name: 'that takes an identifier before it looks whether the refresh token is alive',
    spoil: ({ tokens, oneTimeIdentifiers }) => ({
      async rotate(record, successor, successors, once) {
        if (once && !(await oneTimeIdentifiers.take(once.id, once.expiresAt))) return 'already_used';
        return tokens.rotate(record, successor, successors);
      },
    }),
    foundBy: /^an issuance that is not made takes no identifier$/,
  },
  {
    name: 'that rotates before it takes the identifier',
    spoil: ({ tokens, oneTimeIdentifiers }) => ({
      async rotate(record, successor, successors, once) {
        const outcome = await tokens.rotate(record, successor, successors);
        if (outcome !== 'issued' || once === undefined) return outcome;
        return (await oneTimeIdentifiers.take(once.id, once.expiresAt)) ? 'issued' : 'already_used';
      },
    }),
    foundBy: /^of 20 rotations that take one identifier at once/,
  },
];

/** The same for more than tokens. */
const FAULTY_ADMINISTRATION: readonly {
  name: string;
  spoil: (sound: AdministrableStorage) => Partial<AdministrableStorage>;
  foundBy: RegExp;
}[] = [
  {
    name: 'that looks for an identifier, and takes it in a second step',
    spoil() {
      const taken = new Set<string>();
      const take = async (id: string) => {
        if (taken.has(id)) return false;
        await undefined;
        taken.add(id);
        return true;
      };
      return { oneTimeIdentifiers: { take } };
    },
    foundBy: /^100 that take one identifier at once succeed once$/,
  },
  {
    name: 'that looks for a pending row, and removes it in a second step',
    spoil: ({ pending }) => ({
      pending: {
        ...pending,
        async take(kind, id) {
          const found = await pending.get(kind, id);
          await undefined;
          await pending.take(kind, id);
          return found;
        },
      },
    }),
    foundBy: /^of 100 that take one pending row at once, one gets it$/,
  },
  {
    name: 'that changes a pending row whatever its version is',
    spoil: ({ pending }) => ({
      pending: {
        ...pending,
        async change(row) {
          const found = await pending.get(row.kind, row.id);
          return found ? pending.change({ ...row, version: found.version }) : false;
        },
      },
    }),
    foundBy: /^a pending row is changed only as it was read$/,
  },
  {
    name: 'that keeps a pending row only under its first identifier',
    spoil: ({ pending }) => ({
      pending: {
        ...pending,
        add: ({ otherId: _, ...row }) => pending.add(row),
      },
    }),
    foundBy: /^every field of a pending row comes back by either identifier, until it is taken$/,
  },
  {
    name: 'that uses up what permits one registration before it adds the client',
    spoil: ({ clients, oneTimeIdentifiers }) => ({
      clients: {
        ...clients,
        add: async (client, limits, once) =>
          once !== undefined && !(await oneTimeIdentifiers.take(once.id, once.expiresAt))
            ? 'already_used'
            : clients.add(client, limits),
      },
    }),
    foundBy: /^what permits one registration is used up with the client, and by nothing that was refused$/,
  },
  {
    name: 'that replaces a client by removing and adding it',
    spoil: ({ clients }) => ({
      clients: {
        ...clients,
        replace: async (client) => (await clients.remove(client.id)) && (await clients.add(client)) === true,
      },
    }),
    foundBy: /^replacing a client replaces all of it, and its tokens live on$/,
  },
  {
    name: 'that replaces a client whatever has become of it since it was read',
    spoil: ({ clients }) => ({
      clients: {
        ...clients,
        replace: async (client) => clients.replace(client, (await clients.get(client.id)) ?? {}),
      },
    }),
    foundBy: /^a client is replaced only as it was read$/,
  },
  {
    name: 'that looks whether a client is as it was read, and replaces it in a second step',
    spoil: ({ clients }) => ({
      clients: {
        ...clients,
        async replace(client, { revision }) {
          if ((await clients.get(client.id))?.revision !== revision) return false;
          await clients.replace(client, (await clients.get(client.id)) ?? {});
          return true;
        },
      },
    }),
    foundBy: /^of several that replace a client as they read it one does$/,
  },
  {
    name: 'that counts those who have registered themselves, and adds another in a second step',
    spoil: ({ clients }) => ({
      clients: {
        ...clients,
        async add(client, { mostRegistered = Infinity } = { mostRegistered: Infinity }) {
          const all = await clients.list();
          const registered = all.filter((other) => other.registrationTokenDigest !== undefined);
          return registered.length < mostRegistered && clients.add(client);
        },
      },
    }),
    foundBy: /^no more clients are let in than may register themselves$/,
  },
  {
    name: 'that only hides a removed client, and shows it when its identifier is given again',
    spoil({ clients }) {
      const hidden = new Set<string>();
      const get = async (id: string) => (hidden.has(id) ? undefined : clients.get(id));
      return {
        clients: {
          ...clients,
          get,
          remove: async (id) => (await get(id)) != null && hidden.add(id).has(id),
          async add(client) {
            if (!hidden.delete(client.id)) return clients.add(client);
            return clients.replace(client, (await clients.get(client.id)) ?? {});
          },
        },
      };
    },
    foundBy: /^what a removed client had stays dead when its identifier is given again, however often$/,
  },
  {
    name: 'that lists grants whatever has become of them',
    spoil({ authorizationCodes }) {
      const known: GrantRecord[] = [];
      return {
        authorizationCodes: {
          ...authorizationCodes,
          issue(code, basis) {
            const { grantId, clientId, subject, scopes, sessionId, issuedAtMs: createdAtMs } = code;
            const grant = { id: grantId, clientId, subject, scopes, createdAtMs };
            known.unshift(sessionId === undefined ? grant : { ...grant, sessionId });
            return authorizationCodes.issue(code, basis);
          },
        },
        grantsOf: (subject) => known.filter((grant) => grant.subject === subject),
      };
    },
    foundBy: /^a grant is not listed any more when its session has ended$/,
  },
  {
    name: 'that ends the refresh tokens of a grant, and leaves its code',
    spoil: ({ grantsOf, tokens }) => ({
      async revokeGrants(subject, clientId) {
        const grants = (await grantsOf(subject)).filter((grant) => grant.clientId === clientId);
        const token = {
          kind: 'refresh_token',
          digest: '',
          clientId,
          scopes: [],
          issuedAtMs: 0,
          expiresAt: 0,
        } as const;
        for (const { id } of grants) await tokens.revoke({ ...token, id, grantId: id });
        return grants.length;
      },
    }),
    foundBy: /^ending what a user granted to a client ends its tokens and codes, and no others$/,
  },
];

async function failuresOf(
  spoil: (sound: AdministrableStorage) => Partial<AdministrableStorage>,
): Promise<string[]> {
  const clock = { nowMs: 0 };
  let sound = memoryStorage();
  const openAnother = () => ({ ...sound, ...spoil(sound) });
  const open = () => {
    sound = memoryStorage({ clock: () => clock.nowMs });
    return openAnother();
  };
  const failures: string[] = [];
  for (const { title, run } of storageKit()) {
    try {
      await run({ clock, open, openAnother, breakStorage: (storage) => storage.close() });
    } catch (error) {
      assert.ok(error instanceof KitFailure, `${title}: ${error}`);
      failures.push(title);
    }
  }
  return failures;
}

const FAULTY_STORES = [
  ...[...FAULTY, ...FAULTY_ONCE].map(({ spoil, ...rest }) => ({
    ...rest,
    spoil: (sound: AdministrableStorage) => ({ tokens: { ...sound.tokens, ...spoil(sound) } }),
  })),
  ...FAULTY_ADMINISTRATION,
];

for (const { name, spoil, foundBy } of FAULTY_STORES) {
  test(`the kit finds a store ${name}`, async () => {
    const failures = await failuresOf(spoil);
    assert.ok(
      failures.some((title) => foundBy.test(title)),
      `only found by: ${failures.join('; ')}`,
    );
  });
}

class Row {}

/** Stores that declare plain records, with the access token that they return. */
const NOT_PLAIN: Readonly<Record<string, (record: TokenRecord) => unknown>> = {
  'as an instance of a class': (record) => Object.assign(new Row(), record),
  'with an instance of a class in it': (record) => ({ ...record, claims: { when: new Date(0) } }),
  'with null for what it does not have': (record) => ({ ...record, revokedAtMs: null }),
  'with a member besides': (record) => ({ ...record, createdBy: 'somebody' }),
  'with a standing that has a member besides': (record) => ({
    ...record,
    standing: { ...record.standing, client: { ...record.standing?.client, name: 'App' } },
  }),
};

const TAKEN_AS_THEY_ARE = 'a store that says that its records are plain returns what the types say';

for (const [how, spoilt] of Object.entries(NOT_PLAIN)) {
  test(`the kit finds a store that says that its records are plain, and returns one ${how}`, async () => {
    const failures = await failuresOf(({ tokens }) => ({
      answersPlainRecords: true,
      tokens: {
        ...tokens,
        async getByAccessToken(id) {
          const record = await tokens.getByAccessToken(id);
          return record && (spoilt(record) as TokenRecord);
        },
      },
    }));
    assert.ok(failures.includes(TAKEN_AS_THEY_ARE), failures.join('; '));
  });
}

test('the kit finds a store that says that its records are plain, and returns null for absence', async () => {
  const failures = await failuresOf(({ clients }) => ({
    answersPlainRecords: true,
    clients: { ...clients, get: async (id) => (await clients.get(id)) ?? null },
  }));
  assert.ok(failures.includes(TAKEN_AS_THEY_ARE), failures.join('; '));
});

test('the kit finds a store that says that its records are plain, and changes one that it has answered', async () => {
  const failures = await failuresOf(({ tokens }) => {
    const answered = new Map<string, object>();
    return {
      answersPlainRecords: true,
      tokens: {
        ...tokens,
        async getByAccessToken(id) {
          const record = await tokens.getByAccessToken(id);
          if (!record) return record;
          const same = Object.assign(answered.get(id) ?? {}, record);
          answered.set(id, same);
          return same;
        },
        async revoke(record) {
          await tokens.revoke(record);
          for (const [id, one] of answered) Object.assign(one, await tokens.getByAccessToken(id));
        },
      },
    };
  });
  assert.ok(failures.includes(TAKEN_AS_THEY_ARE), failures.join('; '));
});

test('the records of the store in memory are as plain as it would have to be to say so', async () => {
  assert.deepEqual(await failuresOf(() => ({ answersPlainRecords: true })), []);
});

test('the kit finds a store that says that it needs no guard, and rejects with what its driver said', async () => {
  const clock = { nowMs: 0 };
  let isBroken = false;
  const open = () => {
    const storage = memoryStorage({ clock: () => clock.nowMs });
    const { getByAccessToken } = storage.tokens;
    const lookUp: typeof getByAccessToken = (id) =>
      isBroken ? Promise.reject(new Error('the connection is lost')) : getByAccessToken(id);
    return { ...storage, tokens: unguarded({ ...storage.tokens, getByAccessToken: lookUp }) };
  };
  const breakStorage = (storage: AdministrableStorage) => {
    isBroken = true;
    return storage.close();
  };
  const failures: string[] = [];
  for (const { title, run } of storageKit().filter(({ group }) => group === 'faults')) {
    isBroken = false;
    await run({ clock, open, breakStorage }).catch((error: unknown) => failures.push(`${title}: ${error}`));
  }
  assert.equal(failures.length, 2, failures.join('; '));
  assert.match(failures.join(), /every lookup.*the connection is lost instead of a StorageFault/);
});

test('the kit has no complaint about a sound store', async () => {
  assert.deepEqual(await failuresOf(() => ({})), []);
});

for (const { group, title, run } of storageKit().filter((kitCase) => kitCase.group !== 'administration')) {
  test(`a store without administration, ${group}: ${title}`, async () => {
    const clock = { nowMs: 0 };
    let whole = memoryStorage();
    const open = (): AuthorizingStorage => {
      whole = memoryStorage({ clock: () => clock.nowMs });
      const { get, hasRedirectOrigin } = whole.clients;
      return {
        clients: { get, hasRedirectOrigin },
        tokens: whole.tokens,
        authorizationCodes: whole.authorizationCodes,
      };
    };
    await run({
      clock,
      open,
      async registerClient(_storage, client) {
        await whole.clients.add(client);
      },
      breakStorage: () => whole.close(),
    });
  });
}

test('the titles of the kit differ from each other', () => {
  const titles = storageKit().map(({ title }) => title);
  assert.equal(new Set(titles).size, titles.length);
});

test('a repository that is declared unguarded is guarded once a method is replaced, in place or in a copy', async () => {
  const { tokens } = memoryStorage();
  assert.equal(guarded(tokens), tokens);
  const lost = () => Promise.reject(new Error('the connection is lost'));
  const copy = guarded({ ...tokens, getByAccessToken: lost });
  await assert.rejects(async () => copy.getByAccessToken(), StorageFault);
  const changed = guarded(Object.assign(tokens, { getByAccessToken: lost }));
  await assert.rejects(async () => changed.getByAccessToken(), StorageFault);
});

test('a guard distinguishes a broken contract from an outage', async () => {
  const storage = memoryStorage();
  await storage.clients.add(newClient('app'));
  const tied = newToken('app', { pairId: 'pair' });
  const copy = guarded({ ...storage.tokens });
  await assert.rejects(async () => copy.issue([tied], {}), ContractBreach);
});
