import assert from 'node:assert/strict';
import { StorageFault } from '@grantd/core';

/** What a store could not do: the error behind a `StorageFault`. Anything else fails the test. */
export function reasonOf(error: unknown): string {
  assert.ok(error instanceof StorageFault, String(error));
  return String(error.cause);
}

/** For `assert.rejects`: a `StorageFault` for such a reason. */
export function faultBy(reason: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.match(reasonOf(error), reason);
    return true;
  };
}
