import { mount } from '@grantd/core/node';
import { listening } from './listener.ts';
import type { Transport } from './transport.ts';

/** The Node adapter, behind a real server on loopback. */
export const NODE: Transport = {
  name: 'the node adapter',
  open: (server) => listening(mount(server)),
};
