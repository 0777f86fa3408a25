// An MCP server that accepts tokens of grantd. Its clients need nothing but its URL.

import { AccessTokenIntrospector } from '@grantd/protect';
import { metadata, protect, tokenOf } from '@grantd/protect/hono';
import { serve } from '@hono/node-server';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { Hono } from 'hono';

const port = Number(process.env.PORT ?? 3001);
const tokens = new AccessTokenIntrospector({
  issuer: process.env.ISSUER ?? 'http://localhost:4000',
  audience: process.env.RESOURCE ?? `http://localhost:${port}/mcp`,
  credentials: { clientId: 'my-mcp', clientSecret: process.env.API_SECRET ?? '' },
});
const options = { tokens, scopes: ['mcp:use'], resourceMetadata: true };

/** The server is stateless: each request gets a new one. */
const mcp = createMcpHandler(({ authInfo }) => {
  const server = new McpServer({ name: 'my-mcp', version: '1.0.0' });
  server.registerTool('whoami', { description: 'Says who is signed in, and by which client' }, () => ({
    content: [{ type: 'text', text: `${authInfo?.extra?.sub} by ${authInfo?.clientId}` }],
  }));
  return server;
});

const app = new Hono();
app.use(metadata(options));
app.all('/mcp', protect(options), (context) => {
  const { sub, clientId = '', scopes } = tokenOf(context);
  const [, token = ''] = (context.req.header('authorization') ?? '').split(' ');
  const authInfo = { token, clientId, scopes: [...scopes], extra: { sub } };
  return mcp.fetch(context.req.raw, { authInfo });
});
serve({ fetch: app.fetch, port, hostname: '127.0.0.1' });
console.log(`The MCP server is at http://localhost:${port}/mcp`);
