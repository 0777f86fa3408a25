import { test } from 'node:test';
import { storageKit } from '../../src/storage/kit/kit.ts';
import { memoryStorage } from '../../src/storage/memory/memory_storage.ts';

const clock = { nowMs: 0 };

for (const revokeBy of ['flag', 'deletion', 'zero_expiry'] as const) {
  for (const answersIsAccessTokenRevoked of [false, true]) {
    const store = `memory by ${revokeBy}, ${answersIsAccessTokenRevoked ? 'with' : 'without'} isAccessTokenRevoked`;
    const open = () => memoryStorage({ clock: () => clock.nowMs, revokeBy, answersIsAccessTokenRevoked });
    for (const { group, title, run } of storageKit()) {
      test(`${store}, ${group}: ${title}`, () =>
        run({ clock, open, breakStorage: (storage) => storage.close() }));
    }
  }
}
