import { administration } from './administration.ts';
import { atomicity } from './atomicity.ts';
import type { KitCase } from './case.ts';
import { clientRegistry } from './client_registry.ts';
import { concurrency } from './concurrency.ts';
import { contention } from './contention.ts';
import { counting } from './counting.ts';
import { expiry } from './expiry.ts';
import { faults } from './faults.ts';
import { grants } from './grants.ts';
import { keys } from './keys.ts';
import { oneTimeIdentifiers } from './one_time_identifiers.ts';
import { plainRecords } from './plain_records.ts';
import { principalState } from './principal_state.ts';
import { pushedRequests } from './pushed_requests.ts';
import { records } from './records.ts';
import { sweeping } from './sweeping.ts';

export type { KitCase, KitGroup } from './case.ts';
export { KitFailure } from './failure.ts';
export type { KitSubject } from './subject.ts';

/**
 * What every store must do, as cases for whatever test runner a host has: run each with a subject that opens the
 * store, and expect no rejection. Cases of the group `administration` need an `AdministrableStorage`, those of
 * `faults` a subject that can break its store; leave out a group that does not apply. Of the parts of a storage that are
 * optional only those are tried that it has.
 */
export function storageKit(): readonly KitCase[] {
  return [
    ...records,
    ...plainRecords,
    ...pushedRequests,
    ...atomicity,
    ...concurrency,
    ...contention,
    ...expiry,
    ...oneTimeIdentifiers,
    ...faults,
    ...administration,
    ...clientRegistry,
    ...grants,
    ...counting,
    ...principalState,
    ...keys,
    ...sweeping,
  ];
}
