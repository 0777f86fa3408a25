import { mount } from '@grantd/core/fetch';
import { fetching } from './fetching.ts';
import type { Transport } from './transport.ts';

/** The Fetch adapter. */
export const FETCH: Transport = {
  name: 'the fetch adapter',
  open: async (server) => fetching(server, mount(server)),
};
