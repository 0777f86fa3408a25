import type { FetchDocument } from '@grantd/core';
import type { Transport } from '../../harness/transports/transport.ts';
import { Lacking } from './node_test.ts';

/** What the harness takes from modules that need Node, for runtimes without them: a test that asks is skipped. */
function without(what: string): () => never {
  return () => {
    throw new Lacking(`there is no ${what} here`);
  };
}

export const NODE: Transport = { name: 'the node adapter', open: without('node:http') };

export const openRemoteSite = without('server on loopback');

/** Made while a suite loads, and asked by tests. */
export function documentFetcher(): FetchDocument {
  return without('node:http');
}

export const openSqliteStorage = without('node:sqlite');

export const mkdtempSync = without('node:fs');
export { mkdtempSync as join, mkdtempSync as rmSync, mkdtempSync as tmpdir };
