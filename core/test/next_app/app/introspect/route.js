import { handler } from '@grantd/core/next';
import { server } from '../server.js';

export const POST = handler((request) => server.introspect(request), { errors: 'forward' });
