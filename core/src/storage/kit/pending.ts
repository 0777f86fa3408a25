// Kit cases: pending rows of every kind.
import {
  type NewPendingRow,
  PENDING_KINDS,
  type PendingKind,
  type PendingRow,
} from '../../protocol/pending.ts';
import type { Found, PendingRepository } from '../contract.ts';
import {
  type Attempt,
  caseOfPart,
  expect,
  expectEqual,
  expectFault,
  type KitCase,
  type KitGroup,
  ONE_TIME_SECONDS,
  PARALLEL,
  RACERS,
  race,
  type Stage,
} from './stage.ts';

export const KINDS = Object.keys(PENDING_KINDS) as PendingKind[];

/** A case that runs once for each kind, on one store. */
function caseOfEachKind(
  group: KitGroup,
  title: string,
  check: (stage: Stage, pending: PendingRepository, kind: PendingKind) => Promise<void>,
): KitCase {
  return caseOfPart('pending', group, title, async (stage, pending) => {
    for (const kind of KINDS) await check(stage, pending, kind);
  });
}

/** Any JSON: stores do not know what a kind keeps. */
function dataWith(state: string): PendingRow['data'] {
  const data: object = { state, empty: '', list: [1.5, 'two', { three: null }], flag: false };
  return data as PendingRow['data'];
}

export function newPendingRow(stage: Stage, kind: PendingKind, id: string, otherId?: string): NewPendingRow {
  return {
    kind,
    id,
    ...(otherId !== undefined && { otherId }),
    clientId: 'https://client.example/a b',
    data: dataWith('né "quoted" \\ \u0000 \u{1f511}'),
    expiresAt: stage.now + ONE_TIME_SECONDS,
  };
}

function stored(row: NewPendingRow): PendingRow {
  return { ...row, version: 0 };
}

/** The members in one order. Absence has two spellings. */
function members(row: PendingRow | undefined | null): unknown {
  if (row == null) return 'absent';
  const { kind, id, otherId = null, clientId, data, version, expiresAt } = row;
  return { kind, id, otherId, clientId, data, version, expiresAt };
}

async function expectRow(found: Found<PendingRow>, expected: PendingRow | undefined, what: string) {
  expectEqual(members(await found), members(expected), what);
}

function count(outcomes: readonly unknown[], wanted: unknown): number {
  return outcomes.filter((outcome) => outcome === wanted).length;
}

/** The attempts of many callers, each through the repository of its own handle. */
function attempts<T>(
  pending: PendingRepository,
  number: number,
  attempt: (own: PendingRepository, index: number) => T | Promise<T>,
): readonly Attempt<T>[] {
  return Array.from(
    { length: number },
    (_, index) => (storage) => attempt(storage.pending ?? pending, index),
  );
}

export const pending: readonly KitCase[] = [
  caseOfPart(
    'pending',
    'records',
    'every field of a pending row comes back by either identifier, until it is taken',
    async (stage, pending) => {
      // The same identifiers in each kind.
      const rows = KINDS.flatMap((kind) => [
        newPendingRow(stage, kind, 'one', 'other'),
        { ...newPendingRow(stage, kind, 'two'), data: dataWith(kind) },
      ]);
      for (const row of rows) expectEqual(await pending.add(row), true, `adding a ${row.kind}`);
      for (const row of rows) {
        const { kind, id, otherId } = row;
        await expectRow(pending.get(kind, id), stored(row), `a stored ${kind}`);
        await expectRow(pending.get(kind, id), stored(row), `a ${kind} that was read before`);
        if (otherId !== undefined)
          await expectRow(
            pending.getByOtherId(kind, otherId),
            stored(row),
            `a ${kind} by its other identifier`,
          );
      }
      for (const kind of KINDS) {
        await expectRow(pending.get(kind, 'other'), undefined, 'a row by its other identifier alone');
        await expectRow(
          pending.getByOtherId(kind, 'one'),
          undefined,
          'a row by its identifier as the other one',
        );
        await expectRow(pending.get(kind, 'unknown'), undefined, 'an unknown row');
        await expectRow(pending.take(kind, 'unknown'), undefined, 'taking an unknown row');
      }
      for (const [index, row] of rows.entries()) {
        const { kind, id, otherId = 'none' } = row;
        await expectRow(pending.take(kind, id), stored(row), `taking a ${kind}`);
        await expectRow(pending.get(kind, id), undefined, `a ${kind} that was taken`);
        await expectRow(pending.getByOtherId(kind, otherId), undefined, 'the same by its other identifier');
        await expectRow(pending.take(kind, id), undefined, `taking a ${kind} again`);
        expectEqual(await pending.change(stored(row)), false, `changing a ${kind} that was taken`);
        for (const later of rows.slice(index + 1))
          await expectRow(pending.get(later.kind, later.id), stored(later), 'a row that was not taken');
      }
    },
  ),

  caseOfEachKind(
    'records',
    'a pending row is not added under an identifier that another one of its kind has',
    async (stage, pending, kind) => {
      const first = newPendingRow(stage, kind, 'one', 'other');
      expectEqual(await pending.add(first), true, 'the first row');
      for (const [id, otherId] of [
        ['one', 'new'],
        ['one', undefined],
        ['new', 'other'],
      ] as const) {
        const row = { ...newPendingRow(stage, kind, id, otherId), data: dataWith('another') };
        expectEqual(await pending.add(row), false, `adding ${id} with ${otherId}`);
      }
      await expectRow(pending.get(kind, 'one'), stored(first), 'the first row, after that');
      await expectRow(pending.getByOtherId(kind, 'new'), undefined, 'a row that was not added');
      await pending.take(kind, 'one');
      expectEqual(await pending.add(first), true, 'the identifiers of a row that was taken');
    },
  ),

  caseOfEachKind('records', 'a pending row is changed only as it was read', async (stage, pending, kind) => {
    const row = stored(newPendingRow(stage, kind, 'one', 'other'));
    await pending.add(newPendingRow(stage, kind, 'one', 'other'));
    await pending.add(newPendingRow(stage, kind, 'two'));
    const changed = { ...row, data: dataWith('changed'), expiresAt: row.expiresAt + 1 };
    expectEqual(await pending.change(changed), true, 'changing what was read');
    expectEqual(await pending.change({ ...row, data: dataWith('late') }), false, 'changing an older version');
    expectEqual(await pending.change({ ...row, version: 2 }), false, 'changing a version that is not there');
    const now = { ...changed, version: 1 };
    await expectRow(pending.get(kind, 'one'), now, 'the changed row');
    await expectRow(pending.getByOtherId(kind, 'other'), now, 'the changed row by its other identifier');
    expectEqual(await pending.change(now), true, 'changing the next version');
    await expectRow(pending.take(kind, 'one'), { ...now, version: 2 }, 'taking a changed row');
    await expectRow(pending.get(kind, 'two'), stored(newPendingRow(stage, kind, 'two')), 'another row');
  }),

  caseOfEachKind(
    'concurrency',
    `of ${PARALLEL} that take one pending row at once, one gets it`,
    async (stage, pending, kind) => {
      const row = newPendingRow(stage, kind, 'one', 'other');
      await pending.add(row);
      const take = attempts(pending, PARALLEL, async (own) => {
        const taken = await own.take(kind, 'one');
        return [taken != null, (await own.get(kind, 'one')) != null] as const;
      });
      const outcomes = await stage.parallel(take);
      expectEqual(
        count(
          outcomes.map(([isTaken]) => isTaken),
          true,
        ),
        1,
        'how many got it',
      );
      expectEqual(
        count(
          outcomes.map(([, isFound]) => isFound),
          true,
        ),
        0,
        'how many found it afterwards',
      );
    },
  ),

  caseOfEachKind(
    'concurrency',
    `of ${PARALLEL} that change one pending row at once, or add one under the same other identifier, one succeeds`,
    async (stage, pending, kind) => {
      const add = attempts(pending, PARALLEL, (own, index) =>
        own.add(newPendingRow(stage, kind, `row ${index}`, 'other')),
      );
      const added = await stage.parallel(add);
      expectEqual(count(added, true), 1, 'how many were added');
      const id = `row ${added.indexOf(true)}`;
      const row = stored(newPendingRow(stage, kind, id, 'other'));
      await expectRow(pending.getByOtherId(kind, 'other'), row, 'the row that was added');
      const change = attempts(pending, PARALLEL, (own, index) =>
        own.change({ ...row, data: dataWith(`by ${index}`) }),
      );
      const changed = await stage.parallel(change);
      expectEqual(count(changed, true), 1, 'how many changes succeeded');
      const data = dataWith(`by ${changed.indexOf(true)}`);
      await expectRow(pending.get(kind, id), { ...row, data, version: 1 }, 'the row that was changed');
    },
  ),

  caseOfEachKind(
    'concurrency',
    'no change brings back a pending row that is taken meanwhile',
    async (stage, pending, kind) => {
      const row = newPendingRow(stage, kind, 'one', 'other');
      await pending.add(row);
      const change = attempts(pending, RACERS, (own) => own.change(stored(row)));
      await race(stage, change, (storage) => (storage.pending ?? pending).take(kind, 'one'));
      await expectRow(pending.get(kind, 'one'), undefined, 'a row that was taken');
      await expectRow(pending.getByOtherId(kind, 'other'), undefined, 'the same by its other identifier');
    },
  ),

  caseOfEachKind(
    'expiry',
    'a pending row is found, changed and taken also when it has expired',
    async (stage, pending, kind) => {
      const row = newPendingRow(stage, kind, 'one', 'other');
      await pending.add(row);
      stage.advance(ONE_TIME_SECONDS + 1);
      await expectRow(pending.get(kind, 'one'), stored(row), 'an expired row');
      await expectRow(pending.getByOtherId(kind, 'other'), stored(row), 'the same by its other identifier');
      expectEqual(await pending.change(stored(row)), true, 'changing an expired row');
      await expectRow(pending.take(kind, 'one'), { ...row, version: 1 }, 'taking an expired row');
    },
  ),

  caseOfEachKind(
    'administration',
    'pending rows are swept when they have expired, a few a call, and not before',
    async (stage, pending, kind) => {
      const store = stage.administration;
      for (const id of ['a', 'b', 'c']) await pending.add(newPendingRow(stage, kind, id, `other ${id}`));
      const kept = { ...newPendingRow(stage, kind, 'kept'), expiresAt: stage.now + ONE_TIME_SECONDS + 1 };
      const prolonged = stored(newPendingRow(stage, kind, 'prolonged'));
      await pending.add(kept);
      await pending.add(newPendingRow(stage, kind, 'prolonged'));
      await pending.change({ ...prolonged, expiresAt: kept.expiresAt });
      stage.advance(ONE_TIME_SECONDS - 1);
      expectEqual(await store.sweep(100), 0, 'rows swept while none has expired');
      stage.advance(1);
      const swept = [await store.sweep(2), await store.sweep(2), await store.sweep(2)];
      expectEqual(swept, [2, 1, 0], 'rows swept');
      await expectRow(pending.get(kind, 'a'), undefined, 'a row that was swept');
      await expectRow(pending.getByOtherId(kind, 'other a'), undefined, 'the same by its other identifier');
      expectEqual(
        await pending.add(newPendingRow(stage, kind, 'd', 'other a')),
        true,
        'its other identifier again',
      );
      await expectRow(pending.get(kind, 'kept'), stored(kept), 'a row that has not expired');
      for (const id of ['kept', 'prolonged', 'd'])
        expect((await pending.take(kind, id)) != null, `${id} is there`);
    },
  ),

  caseOfPart(
    'pending',
    'faults',
    'a store that is unavailable neither adds, finds, takes nor changes pending rows',
    async (stage, pending) => {
      for (const kind of KINDS) await pending.add(newPendingRow(stage, kind, 'one', 'other'));
      await stage.break();
      for (const kind of KINDS) {
        const row = newPendingRow(stage, kind, 'one', 'other');
        await expectFault(pending, () => pending.add({ ...row, id: 'two' }), `adding another ${kind}`);
        await expectFault(pending, () => pending.get(kind, 'one'), `reading a ${kind}`);
        await expectFault(pending, () => pending.get(kind, 'unknown'), `reading an unknown ${kind}`);
        await expectFault(pending, () => pending.getByOtherId(kind, 'other'), `finding a ${kind}`);
        await expectFault(pending, () => pending.take(kind, 'one'), `taking a ${kind}`);
        await expectFault(pending, () => pending.change(stored(row)), `changing a ${kind}`);
      }
    },
  ),
];
