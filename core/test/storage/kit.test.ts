import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TokenRecord } from '../../src/protocol/records.ts';
import type { AdministrableStorage, Storage, TokenRepository } from '../../src/storage/contract.ts';
import { KitFailure, storageKit } from '../../src/storage/kit/kit.ts';
import { memoryStorage } from '../../src/storage/memory/memory_storage.ts';

/** Stores as they have been seen in the wild, and a case that must find each of them. */
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
        return tokens.issueBeside(record, successors);
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
    name: 'that finds a token as either kind',
    spoil: ({ tokens }) => ({
      getByAccessToken: async (id) => (await tokens.getByAccessToken(id)) ?? tokens.getByRefreshToken(id),
    }),
    foundBy: /^a token of one kind is not found as the other$/,
  },
  {
    name: 'that answers absence when it cannot be asked',
    spoil: ({ tokens }) => ({
      async getByAccessToken(id) {
        try {
          return await tokens.getByAccessToken(id);
        } catch {
          return undefined;
        }
      },
    }),
    foundBy: /^a store that cannot be asked rejects every look-up/,
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
      async issueBeside(record, issued) {
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

type Faults = Partial<TokenRepository>;

async function failuresOf(spoil: (sound: AdministrableStorage) => Faults): Promise<string[]> {
  const clock = { nowMs: 0 };
  let sound = memoryStorage();
  const openAnother = () => ({ ...sound, tokens: { ...sound.tokens, ...spoil(sound) } });
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

for (const { name, spoil, foundBy } of FAULTY) {
  test(`the kit finds a store ${name}`, async () => {
    const failures = await failuresOf(spoil);
    assert.ok(
      failures.some((title) => foundBy.test(title)),
      `only found by: ${failures.join('; ')}`,
    );
  });
}

test('the kit has no complaint about a sound store', async () => {
  assert.deepEqual(await failuresOf(() => ({})), []);
});

for (const { group, title, run } of storageKit().filter((kitCase) => kitCase.group !== 'administration')) {
  test(`a store without administration, ${group}: ${title}`, async () => {
    const clock = { nowMs: 0 };
    let whole = memoryStorage();
    const open = (): Storage => {
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
