// Next.js: app/[...endpoint]/route.ts.
import { mount } from '@grantd/core/next';
import { server } from '../../sqlite.ts';

export const { GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS } = mount(server);
