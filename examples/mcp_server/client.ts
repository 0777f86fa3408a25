// An MCP client that knows only the URL of a server:
// node client.ts URL [--document URL | --client-id ID [--client-secret SECRET]] [--state FILE] [--tool NAME]
// It calls a tool. The file keeps its identifier and its tokens for the next run.
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { parseArgs } from 'node:util';
import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';

type Kept<Name extends 'clientInformation' | 'discoveryState' | 'tokens'> = Awaited<
  ReturnType<NonNullable<OAuthClientProvider[Name]>>
>;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    document: { type: 'string' },
    'client-id': { type: 'string' },
    'client-secret': { type: 'string' },
    state: { type: 'string' },
    tool: { type: 'string', default: 'whoami' },
  },
});
const { document, 'client-id': client_id, 'client-secret': client_secret, state: file } = values;
const server = new URL(positionals[0] ?? 'http://localhost:3001/mcp');

/** What the client remembers. */
const memory: {
  client?: Kept<'clientInformation'>;
  tokens?: Kept<'tokens'>;
  discovery?: Kept<'discoveryState'>;
  verifier?: string;
} = {
  ...(client_id !== undefined && {
    client: { client_id, ...(client_secret !== undefined && { client_secret }) },
  }),
  ...(file !== undefined && existsSync(file) && JSON.parse(readFileSync(file, 'utf8'))),
};

/** Where the browser returns to. The port may be another one in each run. */
const callback = createServer();
await once(callback.listen(0, '127.0.0.1'), 'listening');
const address = callback.address();
const redirectUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/callback`;

const provider: OAuthClientProvider = {
  redirectUrl,
  ...(document !== undefined && { clientMetadataUrl: document }),
  clientMetadata: {
    client_name: 'Example client',
    redirect_uris: [redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'none',
  },
  clientInformation: () => memory.client,
  saveClientInformation: (client) => {
    memory.client = client;
  },
  tokens: () => memory.tokens,
  saveTokens: (tokens) => {
    memory.tokens = tokens;
  },
  codeVerifier: () => memory.verifier ?? '',
  saveCodeVerifier: (verifier) => {
    memory.verifier = verifier;
  },
  discoveryState: () => memory.discovery,
  saveDiscoveryState: (discovery) => {
    memory.discovery = discovery;
  },
  invalidateCredentials: (scope) => {
    if (scope === 'all' || scope === 'tokens') memory.tokens = undefined;
  },
  redirectToAuthorization: (url) => console.log(`Open this URL in a browser: ${url}`),
};

async function call(transport: StreamableHTTPClientTransport): Promise<string> {
  // Without sessions, as of 2026-07-28. Earlier servers get the earlier protocol.
  const versionNegotiation = { mode: 'auto' } as const;
  const client = new Client({ name: 'example-client', version: '1.0.0' }, { versionNegotiation });
  await client.connect(transport);
  const { content } = await client.callTool({ name: values.tool, arguments: {} });
  await client.close();
  return JSON.stringify(content);
}

/** A server may ask for more scopes, or move to another issuer. It asks forever if it does not accept what it gets. */
const MOST_SIGN_INS = 2;

async function signedIn(left = MOST_SIGN_INS): Promise<string> {
  const transport = new StreamableHTTPClientTransport(server, { authProvider: provider });
  try {
    return await call(transport);
  } catch (error) {
    if (!(error instanceof UnauthorizedError) || left === 0) throw error;
    const [request, response] = (await once(callback, 'request')) as [
      IncomingMessage,
      { end(text: string): void },
    ];
    response.end('You can close this window.');
    await transport.finishAuth(new URL(request.url ?? '', redirectUrl).searchParams);
    memory.discovery = undefined; // The server may name another issuer the next time.
    return signedIn(left - 1);
  }
}

const answer = await signedIn().catch(({ message }: Error) => {
  console.error(message);
  process.exit(1);
});
callback.close();
if (file !== undefined) writeFileSync(file, JSON.stringify(memory), { mode: 0o600 });
console.log(answer);
