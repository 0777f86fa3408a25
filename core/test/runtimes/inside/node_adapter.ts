import type { FetchDocument } from '@grantd/core';
import { Lacking } from './node_test.ts';

/** For runtimes without `node:http` and `node:dns`. */
export function documentFetcher(): FetchDocument {
  return async () => {
    throw new Lacking('documentFetcher needs Node');
  };
}
