// Express 5, or 4.
import { mount } from '@grantd/core/express';
import express from 'express';
import { port, server } from './authorization_server.ts';

const app = express();
app.use(mount(server));
app.get('/', (_request, response) => response.send('the application'));
app.listen(port, '127.0.0.1');
