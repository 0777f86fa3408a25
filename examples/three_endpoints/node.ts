import { createServer } from 'node:http';
import { mount } from '@grantd/core/node';
import { server } from './sqlite.ts';

createServer(mount(server)).listen(Number(process.env.PORT ?? 3000), '127.0.0.1');
