// Next.js' app router: app/[...endpoint]/route.js, or .ts. Your own pages take precedence.
import { mount } from '@grantd/core/next';
import { server } from '../../server.js';

export const { GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS } = mount(server);
