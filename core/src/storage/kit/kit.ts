import { administration } from './administration.ts';
import { atomicity } from './atomicity.ts';
import { clientRegistry } from './client_registry.ts';
import { concurrency } from './concurrency.ts';
import { expiry } from './expiry.ts';
import { faults } from './faults.ts';
import { grants } from './grants.ts';
import { keys } from './keys.ts';
import { records } from './records.ts';
import type { KitCase } from './stage.ts';
import { sweeping } from './sweeping.ts';

export { type KitCase, KitFailure, type KitGroup, type KitSubject } from './stage.ts';

/**
 * What every store must do, as cases for whatever test runner a host has: run each with a subject that opens the
 * store, and expect no rejection. Cases of the group `administration` need an `AdministrableStorage`, those of
 * `faults` a subject that can break its store; leave out a group that does not apply. Of the parts of a storage that are
 * optional only those are tried that it has.
 */
export function storageKit(): readonly KitCase[] {
  return [
    ...records,
    ...atomicity,
    ...concurrency,
    ...expiry,
    ...faults,
    ...administration,
    ...clientRegistry,
    ...grants,
    ...keys,
    ...sweeping,
  ];
}
