// Kit cases: signing keys.
import type { KeyRecord } from '../../protocol/records.ts';
import type { AuthorizingStorage } from '../contract.ts';
import { expect, expectEqual, type KitCase, kitCase, type Stage } from './stage.ts';

function key(stage: Stage, kid: string, fields: Partial<KeyRecord> = {}): KeyRecord {
  return {
    kid,
    algorithm: 'ES256',
    status: 'next',
    publicJwk: { kty: 'EC', kid, x: 'x' },
    sealedPrivateKey: `sealed ${kid}`,
    createdAtMs: stage.clock.nowMs,
    ...fields,
  };
}

async function statuses(stage: Stage): Promise<string> {
  const listed = await stage.administration.keys.list();
  return listed.map(({ kid, status }) => `${kid} ${status}`).join(', ');
}

/** Sweeps to the end. */
async function sweep(stage: Stage): Promise<void> {
  while ((await stage.administration.sweep(100)) > 0);
}

export const keys: readonly KitCase[] = [
  kitCase(
    'administration',
    'keys are stored for an algorithm that has none yet, and only then',
    async (stage) => {
      const { keys } = stage.administration;
      const first = [key(stage, 'a', { status: 'current' }), key(stage, 'b')];
      await keys.initialize(first);
      await keys.initialize([key(stage, 'c', { status: 'current' }), key(stage, 'd')]);
      expectEqual(await keys.list(), first, 'keys');
      expectEqual(await keys.currentKeyId('ES256'), 'a', 'the current key');
      expectEqual((await keys.currentKeyId('RS256')) ?? null, null, 'the current key of another algorithm');
      await keys.initialize([key(stage, 'e', { algorithm: 'RS256', status: 'current' })]);
      expectEqual(await keys.currentKeyId('RS256'), 'e', 'the current key of another algorithm afterwards');
    },
  ),

  kitCase('administration', 'a key is found by its kid whatever its status, and no other', async (stage) => {
    const { keys } = stage.administration;
    await keys.initialize([key(stage, 'a', { status: 'current' }), key(stage, 'b')]);
    await keys.initialize([key(stage, 'r', { algorithm: 'RS256', status: 'current' })]);
    stage.advance(1);
    await keys.rotate('a', key(stage, 'c'));
    const found = [await keys.get('a'), await keys.get('b'), await keys.get('c'), await keys.get('r')];
    const listed = new Map((await keys.list()).map((one) => [one.kid, one]));
    expectEqual(
      found,
      ['a', 'b', 'c', 'r'].map((kid) => listed.get(kid)),
      'keys as they are listed',
    );
    const statuses = found.map((one) => one?.status);
    expectEqual(statuses, ['retired', 'current', 'next', 'current'], 'statuses');
    for (const kid of ['unknown', '', 'A']) {
      const absent = await keys.get(kid);
      expect(absent === undefined || absent === null, `the key "${kid}" is absent`);
    }
  }),

  kitCase('administration', 'of parallel rotations of one key one happens', async (stage) => {
    const { keys } = stage.administration;
    await keys.initialize([key(stage, 'a', { status: 'current' }), key(stage, 'b')]);
    stage.advance(1);
    const attempts = ['c', 'd', 'e'].map(
      (kid) => (storage: AuthorizingStorage) => storage.keys?.rotate('a', key(stage, kid)),
    );
    expectEqual((await stage.parallel(attempts)).filter(Boolean).length, 1, 'rotations');
    expectEqual(await keys.currentKeyId('ES256'), 'b', 'the current key');
    const listed = await keys.list();
    expectEqual(
      listed.map(({ status }) => status),
      ['retired', 'current', 'next'],
      'keys',
    );
    expectEqual(listed[0]?.retiredAtMs, stage.clock.nowMs, 'retiredAtMs');
    expectEqual(await keys.rotate('unknown', key(stage, 'f')), false, 'rotating an unknown key');
  }),

  kitCase(
    'administration',
    'a retired key stays until the last token that it signed was swept, through three rotations',
    async (stage) => {
      const { keys } = stage.administration;
      const client = await stage.client();
      const day = 24 * 60 * 60;
      const signed = (keyId: string, days: number) => {
        const expiresAt = stage.now + days * day;
        return stage.accessToken({ clientId: client.id, keyId, expiresAt });
      };
      await keys.initialize([key(stage, 'a', { status: 'current' }), key(stage, 'b')]);
      await stage.issued(client, signed('a', 10));
      stage.advance(1);
      await keys.rotate('a', key(stage, 'c'));
      await stage.issued(client, signed('b', 20));
      stage.advance(1);
      await keys.rotate('b', key(stage, 'd'));
      await stage.issued(client, signed('c', 2));
      // Its signature was asked for before the first rotation.
      await stage.issued(client, signed('a', 30));
      stage.advance(1);
      await keys.rotate('c', key(stage, 'e'));
      const all = 'a retired, b retired, c retired, d current, e next';
      expectEqual(await statuses(stage), all, 'keys');

      stage.advance(day);
      await sweep(stage);
      expectEqual(await statuses(stage), all, 'keys while tokens from before their retirement live');
      stage.advance(20 * day);
      await sweep(stage);
      const kids = (await keys.list()).map(({ kid }) => kid);
      expect(kids.includes('a'), 'a key is kept for the token that came after its retirement');
      stage.advance(10 * day);
      await sweep(stage);
      expectEqual(await statuses(stage), 'd current, e next', 'keys once nothing needs the retired ones');
    },
  ),

  kitCase(
    'administration',
    'a retired key stays for its own tokens, not for those of others, and a day longer at most',
    async (stage) => {
      const { keys } = stage.administration;
      const client = await stage.client();
      const day = 24 * 60 * 60;
      await keys.initialize([key(stage, 'a', { status: 'current' }), key(stage, 'b')]);
      await keys.initialize([key(stage, 'r', { algorithm: 'RS256', status: 'current' })]);
      const own = stage.accessToken({ clientId: client.id, keyId: 'a', expiresAt: stage.now + 10 * day + 5 });
      const other = stage.accessToken({ clientId: client.id, keyId: 'r', expiresAt: stage.now + 40 * day });
      await stage.issued(client, own, stage.accessToken({ clientId: client.id, keyId: 'a' }), other);
      await keys.rotate('a', key(stage, 'c'));

      stage.advance(10 * day + 4);
      await sweep(stage);
      await stage.expectAlive(own);
      expect((await keys.get('a'))?.status === 'retired', 'a key is there while a token of its own lives');
      stage.advance(day + 1);
      await sweep(stage);
      const absent = await keys.get('a');
      expect(absent === undefined || absent === null, 'a key is gone a day after its last token');
      await stage.expectAlive(other);
    },
  ),

  kitCase(
    'administration',
    'a retired key outlives tokens that expired but are not swept yet',
    async (stage) => {
      const { keys, sweep: sweepSome } = stage.administration;
      const client = await stage.client();
      await keys.initialize([key(stage, 'a', { status: 'current' }), key(stage, 'b')]);
      const tokens = Array.from({ length: 3 }, () => stage.accessToken({ clientId: client.id, keyId: 'a' }));
      await stage.issued(client, ...tokens);
      await keys.rotate('a', key(stage, 'c'));
      stage.advance(30 * 24 * 60 * 60);
      for (let left = 3; left > 0; left--) {
        expectEqual((await keys.list()).length, 3, `keys while ${left} tokens are left`);
        await sweepSome(1);
      }
      await sweep(stage);
      expectEqual(await statuses(stage), 'b current, c next', 'keys');
    },
  ),

  kitCase(
    'administration',
    'a key is sealed anew only as it was read, and nothing else of it',
    async (stage) => {
      const { keys } = stage.administration;
      const first = key(stage, 'a', { status: 'current' });
      const second = key(stage, 'b');
      await keys.initialize([first, second]);
      expectEqual(await keys.reseal('a', first.sealedPrivateKey, 'again'), true, 'sealing it anew');
      expectEqual(await keys.reseal('a', first.sealedPrivateKey, 'late'), false, 'as it was before');
      expectEqual(await keys.reseal('unknown', first.sealedPrivateKey, 'late'), false, 'of no key');
      expectEqual(await keys.list(), [{ ...first, sealedPrivateKey: 'again' }, second], 'keys');
    },
  ),
];
