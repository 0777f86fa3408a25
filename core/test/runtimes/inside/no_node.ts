import type { FetchDocument } from '@grantd/core';
import type { Transport } from '../../harness/transports/transport.ts';
import { Lacking } from './node_test.ts';

/** Replaces the harness's Node modules on runtimes without them. A test that uses one is skipped. */
function without(what: string): () => never {
  return () => {
    throw new Lacking(`there is no ${what} here`);
  };
}

export const NODE: Transport = { name: 'the node adapter', open: without('node:http') };

export const openRemoteSite = without('server on loopback');

/** Created while a suite loads, and used by tests. */
export function documentFetcher(): FetchDocument {
  return without('node:http');
}

export const openSqliteStorage = without('node:sqlite');

export const mkdtempSync = without('node:fs');
export {
  mkdtempSync as join,
  mkdtempSync as readFileSync,
  mkdtempSync as rmSync,
  mkdtempSync as tmpdir,
  mkdtempSync as writeFileSync,
};
