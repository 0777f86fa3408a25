import type { Transport } from '../../harness/transports/transport.ts';
import { Lacking } from './node_test.ts';

/** For runtimes without `node:http`. */
export const NODE: Transport = {
  name: 'the node adapter',
  async open() {
    throw new Lacking('the adapter for node:http needs Node');
  },
};
