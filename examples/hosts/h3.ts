// h3 2.
import { mount } from '@grantd/core/h3';
import { H3, serve } from 'h3';
import { port, server } from './authorization_server.ts';

const app = new H3();
app.use(mount(server));
app.get('/', () => 'the application');
serve(app, { port, hostname: '127.0.0.1' });
