// node:http, without a framework.
import { createServer } from 'node:http';
import { mount } from '@grantd/core/node';
import { port, server } from './authorization_server.ts';

const endpoints = mount(server);
createServer((request, response) => {
  endpoints(request, response, () => {
    if (request.url === '/') response.end('the application');
    else response.writeHead(404).end();
  });
}).listen(port, '127.0.0.1');
