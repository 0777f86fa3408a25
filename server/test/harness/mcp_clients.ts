// What well-known clients of the Model Context Protocol send, as they were published or recorded in 2026.
// The names and identifiers of their users are replaced.

type Members = Readonly<Record<string, unknown>>;

/** How a client signs its user in. */
export interface McpClient {
  /** The document at the URL that is its identifier. Without one, the client registers. */
  readonly document?: Members & { readonly client_id: string };
  /** The body of its registration. */
  readonly registration?: Members;
  /** What the server registers of it, where it differs. */
  readonly registered?: Members;
  /** Where the browser returns to. */
  readonly redirectUri: string;
  /** The scope that it asks for; without one, it sends none. */
  readonly scope?: string;
  /** Further parameters of its authorization request. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Whether its URL library ends the URL of a host with a slash. */
  readonly addsSlash?: boolean;
  /** Whether it leaves out `resource` when it refreshes. */
  readonly refreshesWithoutResource?: boolean;
}

const CODE = { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] };
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code';
const PUBLIC = { token_endpoint_auth_method: 'none' };

const EDITOR = {
  client_name: 'Visual Studio Code',
  grant_types: [...CODE.grant_types, DEVICE],
  response_types: ['code'],
  ...PUBLIC,
  application_type: 'native',
};

const CURSOR_URIS = [
  'cursor://anysphere.cursor-mcp/oauth/callback',
  'https://www.cursor.com/agents/mcp/oauth/callback',
  'http://localhost:8787/callback',
] as const;

/** For the client with a key: where its keys are. */
export const KEYS_URL = 'https://chatgpt.com/oauth/jwks.json';

export const MCP_CLIENTS: Readonly<Record<string, McpClient>> = {
  'Claude, with its document': {
    document: {
      client_id: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
      client_name: 'Claude',
      client_uri: 'https://claude.ai',
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
      ...CODE,
      ...PUBLIC,
    },
    redirectUri: 'https://claude.ai/api/mcp/auth_callback',
    scope: 'mcp:use offline_access',
    addsSlash: true,
  },
  'Claude, by registration with a secret': {
    registration: {
      client_name: 'Claude',
      ...CODE,
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
      token_endpoint_auth_method: 'client_secret_post',
      scope: 'claudeai',
    },
    registered: {
      scope: 'openid profile email address phone offline_access mcp:use',
      application_type: 'web',
    },
    redirectUri: 'https://claude.ai/api/mcp/auth_callback',
    scope: 'claudeai mcp:use offline_access',
    addsSlash: true,
  },
  'Claude Code, with its document': {
    document: {
      client_id: 'https://claude.ai/oauth/claude-code-client-metadata',
      client_name: 'Claude Code',
      client_uri: 'https://claude.ai',
      redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
      ...CODE,
      ...PUBLIC,
    },
    redirectUri: 'http://localhost:55611/callback',
    scope: 'mcp:use offline_access',
    addsSlash: true,
  },
  'Claude Code, with its document and an IP address': {
    document: {
      client_id: 'https://claude.ai/oauth/claude-code-client-metadata',
      client_name: 'Claude Code',
      client_uri: 'https://claude.ai',
      redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
      ...CODE,
      ...PUBLIC,
    },
    redirectUri: 'http://127.0.0.1:52163/callback',
    scope: 'mcp:use offline_access',
    addsSlash: true,
  },
  'Claude Code, by registration': {
    registration: {
      client_name: 'Claude Code (notes)',
      redirect_uris: ['http://localhost:55611/callback'],
      ...CODE,
      ...PUBLIC,
    },
    registered: { application_type: 'native' },
    redirectUri: 'http://localhost:55612/callback',
    scope: 'mcp:use offline_access',
    addsSlash: true,
  },
  'ChatGPT, with its document and its key': {
    document: {
      client_id: 'https://chatgpt.com/oauth/client.json',
      client_uri: 'https://chatgpt.com/',
      redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
      ...CODE,
      client_name: 'ChatGPT',
      logo_uri: 'https://persistent.oaistatic.com/sonic/misc/openai-logo.png',
      token_endpoint_auth_signing_alg: 'RS256',
      jwks_uri: KEYS_URL,
    },
    redirectUri: 'https://chatgpt.com/connector_platform_oauth_redirect',
    scope: 'openid email mcp:use offline_access',
  },
  'VS Code, with its document': {
    document: {
      ...EDITOR,
      client_id: 'https://vscode.dev/oauth/client-metadata.json',
      client_uri: 'https://vscode.dev/product',
      logo_uri: 'https://code.visualstudio.com/assets/branding/code-stable.png',
      redirect_uris: ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect'],
    },
    redirectUri: 'http://127.0.0.1:41234/',
    scope: 'mcp:use',
  },
  'VS Code in a browser, with its document': {
    document: {
      ...EDITOR,
      client_id: 'https://vscode.dev/oauth/client-metadata.json',
      client_uri: 'https://vscode.dev/product',
      logo_uri: 'https://code.visualstudio.com/assets/branding/code-stable.png',
      redirect_uris: ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect'],
    },
    redirectUri: 'https://vscode.dev/redirect',
    scope: 'mcp:use',
  },
  'VS Code, by registration': {
    registration: {
      ...EDITOR,
      client_uri: 'https://code.visualstudio.com',
      redirect_uris: [
        'https://insiders.vscode.dev/redirect',
        'https://vscode.dev/redirect',
        'http://127.0.0.1/',
        'http://127.0.0.1:33418/',
      ],
    },
    registered: { grant_types: CODE.grant_types },
    redirectUri: 'http://127.0.0.1:33418/',
    scope: 'mcp:use',
  },
  'Cursor, as it calls itself a web application': {
    registration: {
      client_name: 'Cursor',
      redirect_uris: CURSOR_URIS,
      ...CODE,
      ...PUBLIC,
      application_type: 'web',
    },
    redirectUri: CURSOR_URIS[0],
    scope: 'mcp:use',
  },
  'Cursor on a desktop': {
    registration: { client_name: 'Cursor', redirect_uris: CURSOR_URIS, ...CODE, ...PUBLIC },
    registered: { application_type: 'native' },
    redirectUri: CURSOR_URIS[2],
    scope: 'mcp:use',
  },
  'Cursor in a browser': {
    registration: { client_name: 'Cursor', redirect_uris: CURSOR_URIS, ...CODE, ...PUBLIC },
    redirectUri: CURSOR_URIS[1],
    scope: 'mcp:use',
  },
  'Gemini CLI': {
    registration: {
      client_name: 'Gemini CLI MCP Client',
      redirect_uris: ['http://localhost:7777/oauth/callback'],
      ...CODE,
      ...PUBLIC,
      code_challenge_method: ['S256'],
      scope: '',
    },
    registered: { scope: 'openid profile email address phone offline_access mcp:use' },
    redirectUri: 'http://localhost:51004/oauth/callback',
    scope: 'mcp:use',
  },
  'Copilot CLI': {
    registration: {
      client_name: 'GitHub Copilot CLI',
      redirect_uris: ['http://127.0.0.1:56679/'],
      ...CODE,
      ...PUBLIC,
      application_type: 'native',
    },
    redirectUri: 'http://127.0.0.1:56702/',
  },
  'mcp-remote': {
    registration: {
      redirect_uris: ['http://localhost:3334/oauth/callback'],
      ...PUBLIC,
      ...CODE,
      client_name: 'MCP CLI Proxy',
      client_uri: 'https://github.com/modelcontextprotocol/mcp-cli',
      software_id: '2e6dc280-f3c3-4e01-99a7-8181dbd1d23d',
      software_version: '0.15.1',
      scope: 'mcp:use mcp:admin offline_access',
    },
    registered: { scope: 'mcp:use offline_access' },
    redirectUri: 'http://localhost:3335/oauth/callback',
    scope: 'mcp:use mcp:admin offline_access',
    parameters: { prompt: 'consent' },
    addsSlash: true,
  },
  'MCP Inspector': {
    registration: {
      redirect_uris: ['http://localhost:6274/oauth/callback', 'http://localhost:6274/oauth/callback/debug'],
      ...PUBLIC,
      ...CODE,
      client_name: 'MCP Inspector',
      client_uri: 'https://github.com/modelcontextprotocol/inspector',
      scope: '',
    },
    redirectUri: 'http://localhost:6274/oauth/callback/debug',
    scope: 'mcp:use offline_access',
    parameters: { prompt: 'consent' },
    addsSlash: true,
  },
  FastMCP: {
    registration: {
      client_name: 'FastMCP Client',
      redirect_uris: ['http://localhost:53682/callback'],
      ...CODE,
      token_endpoint_auth_method: 'client_secret_post',
      scope: 'mcp:use offline_access',
    },
    registered: { application_type: 'native' },
    redirectUri: 'http://localhost:53683/callback',
    scope: 'mcp:use offline_access',
    parameters: { prompt: 'consent' },
    addsSlash: true,
    refreshesWithoutResource: true,
  },
};
