import { test } from 'node:test';
import { withPreviousTokens } from '../../src/previous_server/previous_tokens.ts';
import type { AdministrableStorage } from '../../src/storage/contract.ts';
import { hostStorage } from '../../src/storage/host_storage.ts';
import { storageKit } from '../../src/storage/kit/kit.ts';
import { memoryStorage } from '../../src/storage/memory/memory_storage.ts';

const clock = { nowMs: 0 };
const NO_OLD_TOKENS = {
  find: () => undefined,
  isRevoked: () => false,
  revoke: () => {},
  getPrincipalState: () => undefined,
};

function openJoined(): AdministrableStorage {
  const own = memoryStorage({ clock: () => clock.nowMs });
  const parts = { previous: NO_OLD_TOKENS, clock: () => clock.nowMs };
  return { ...own, tokens: withPreviousTokens(hostStorage(own), parts).tokens };
}

for (const { group, title, run } of storageKit()) {
  test(`storage with old tokens, ${group}: ${title}`, () =>
    run({ clock, open: openJoined, breakStorage: (storage) => storage.close() }));
}
