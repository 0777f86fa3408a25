import { mount } from '@grantd/core/next';
import { server } from '../server.js';

export const { GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS } = mount(server);
