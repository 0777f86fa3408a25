import type { OneTimeIdentifiers } from '../contract.ts';
import { type KitCase, type KitGroup, kitCase } from './case.ts';
import { expect, expectEqual, expectRejection } from './failure.ts';
import { PARALLEL } from './race.ts';
import type { Stage } from './stage.ts';

const SECONDS = 60;

/** A case of a part that a storage may lack. */
function caseOf(
  group: KitGroup,
  title: string,
  check: (stage: Stage, identifiers: OneTimeIdentifiers) => Promise<void>,
): KitCase {
  return kitCase(group, title, async (stage) => {
    const { oneTimeIdentifiers } = stage.storage;
    if (oneTimeIdentifiers !== undefined) await check(stage, oneTimeIdentifiers);
  });
}

export const oneTimeIdentifiers: readonly KitCase[] = [
  caseOf('atomicity', 'an identifier is taken once, and others beside it', async (stage, identifiers) => {
    const until = stage.now + SECONDS;
    expectEqual(await identifiers.take('one', until), true, 'taking it');
    expectEqual(await identifiers.take('one', until), false, 'taking it again');
    expectEqual(await identifiers.take('one', until + SECONDS), false, 'taking it again for longer');
    expectEqual(await identifiers.take('One', until), true, 'taking another one');
    expectEqual(await identifiers.take('', until), true, 'taking the empty one');
  }),

  caseOf(
    'concurrency',
    `${PARALLEL} that take one identifier at once succeed once`,
    async (stage, identifiers) => {
      const take = () =>
        stage.parallel(
          Array.from(
            { length: PARALLEL },
            (_, index) => (storage) =>
              (storage.oneTimeIdentifiers ?? identifiers).take('one', stage.now + SECONDS + index),
          ),
        );
      const winnersOf = (outcomes: readonly boolean[]) => outcomes.filter((isTaken) => isTaken).length;
      expectEqual(winnersOf(await take()), 1, 'successes');
      stage.advance(SECONDS + PARALLEL);
      expectEqual(winnersOf(await take()), 1, 'successes once it is over');
    },
  ),

  caseOf(
    'expiry',
    'an identifier is taken until the second of its expiry, and can be taken again in it',
    async (stage, identifiers) => {
      const until = stage.now + SECONDS;
      await identifiers.take('one', until);
      stage.clock.nowMs = until * 1000 - 1;
      expectEqual(await identifiers.take('one', until + SECONDS), false, 'a millisecond before');
      stage.clock.nowMs = until * 1000;
      expectEqual(await identifiers.take('one', until + SECONDS), true, 'in the second');
      expectEqual(await identifiers.take('one', until + 2 * SECONDS), false, 'once more');
      stage.advance(SECONDS - 0.001);
      expectEqual(await identifiers.take('one', until + 2 * SECONDS), false, 'before its second expiry');
    },
  ),

  kitCase(
    'administration',
    'identifiers are swept when they are over, a few a call, and not before',
    async (stage) => {
      const store = stage.administration;
      const until = stage.now + SECONDS;
      for (const id of ['a', 'b', 'c']) await store.oneTimeIdentifiers.take(id, until);
      await store.oneTimeIdentifiers.take('later', until + 1);
      stage.advance(SECONDS - 1);
      expectEqual(await store.sweep(100), 0, 'rows swept while all are taken');
      stage.advance(1);
      expectEqual(
        [await store.sweep(2), await store.sweep(2), await store.sweep(2)],
        [2, 1, 0],
        'rows swept',
      );
      expectEqual(await store.oneTimeIdentifiers.take('later', until + 1), false, 'taking what is not over');
      expectEqual(await store.oneTimeIdentifiers.take('a', until + 1), true, 'taking what was swept');
    },
  ),

  caseOf(
    'faults',
    'a store that cannot be asked says of no identifier whether it was taken',
    async (stage, identifiers) => {
      const until = stage.now + SECONDS;
      expect((await identifiers.take('one', until)) === true, 'taking it');
      await stage.break();
      await expectRejection(() => identifiers.take('one', until), 'taking it again');
      await expectRejection(() => identifiers.take('two', until), 'taking another one');
    },
  ),
];
