// Koa 3.
import { mount } from '@grantd/core/koa';
import Koa from 'koa';
import { port, server } from './authorization_server.ts';

const app = new Koa();
app.use(mount(server));
app.use((context) => {
  if (context.path === '/') context.body = 'the application';
});
app.listen(port, '127.0.0.1');
