// The MCP server with FastMCP. It answers its clients as server.ts does.
import { AccessTokenIntrospector, AuthorizationServerFault } from '@grantd/protect';
import { FastMCP } from 'fastmcp';

const port = Number(process.env.PORT ?? 3001);
const issuer = process.env.ISSUER ?? 'http://localhost:4000';
const resource = process.env.RESOURCE ?? `http://localhost:${port}/mcp`;
const tokens = new AccessTokenIntrospector({
  ...{ issuer, audience: resource },
  credentials: { clientId: 'my-mcp', clientSecret: process.env.API_SECRET ?? '' },
});

const server = new FastMCP({
  ...{ name: 'my-mcp', version: '1.0.0' },
  oauth: {
    enabled: true,
    protectedResource: { resource, authorizationServers: [issuer], scopesSupported: ['mcp:use'] },
  },
  /** @throws what FastMCP answers: 401 for an error, and 503 while grantd cannot be asked */
  async authenticate({ headers }) {
    const [, token] = (headers.authorization ?? '').split(' ');
    if (!token) throw new Error('an access token is required');
    const {
      sub,
      clientId = '',
      scopes,
    } = await tokens.verify(token).catch((error: unknown) => {
      if (!(error instanceof AuthorizationServerFault)) throw error;
      throw new Response(null, { status: 503, headers: { 'retry-after': '10' } });
    });
    if (!scopes.includes('mcp:use')) throw new Error('the scope mcp:use is missing');
    return { sub, clientId };
  },
});
server.addTool({
  ...{ name: 'whoami', description: 'Says who is signed in, and by which client' },
  execute: async (_, { session }) => `${session?.sub} by ${session?.clientId}`,
});
await server.start({
  transportType: 'httpStream',
  httpStream: { port, host: '127.0.0.1', stateless: true },
});
