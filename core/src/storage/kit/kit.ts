// The kit: all cases that a store must pass.

import type { StorageGroup } from '../groups.ts';
import { administration } from './administration.ts';
import { atomicity, faults } from './atomicity.ts';
import { clientRegistry } from './client_registry.ts';
import { concurrency } from './concurrency.ts';
import { endpoints } from './endpoints.ts';
import { grants } from './grants.ts';
import { keys } from './keys.ts';
import { pending } from './pending.ts';
import { records } from './records.ts';
import { registrations } from './registrations.ts';
import type { KitCase } from './stage.ts';
import { expiry, sweeping } from './sweeping.ts';

export { type KitCase, KitFailure, type KitGroup, type KitSubject, type KitToken } from './stage.ts';

/**
 * Returns the cases that every store must pass, for any test runner. Run each with a subject that opens the store, and
 * expect no rejection. Cases of the group `administration` need an `AdministrableStorage`, and those of `faults` a
 * subject that can break its store: leave out a group that does not apply. Optional parts are checked only if the
 * storage has them.
 * @param groups of methods that the store has. Default: all. Without `issuing` and `authorizationCodes`, the cases are
 *   those of introspection, revocation and UserInfo.
 * @example
 * for (const { title, run } of storageKit([])) {
 *   test(title, () => run({ clock, open, registerClient, insertToken })); // a store with the required methods
 * }
 * @example
 * for (const { title, run } of storageKit()) {
 *   const clock = { nowMs: 0 };
 *   test(title, () => run({ clock, open: () => openMyStore(() => clock.nowMs) }));
 * }
 */
export function storageKit(
  groups: readonly StorageGroup[] = ['issuing', 'authorizationCodes'],
): readonly KitCase[] {
  if (!groups.includes('issuing') || !groups.includes('authorizationCodes')) return endpoints;
  return [
    ...endpoints,
    ...records,
    ...atomicity,
    ...concurrency,
    ...expiry,
    ...faults,
    ...administration,
    ...clientRegistry,
    ...registrations,
    ...grants,
    ...keys,
    ...pending,
    ...sweeping,
  ];
}
