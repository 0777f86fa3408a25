// A command line whose users sign in with the browser, or with a code on another device:
// node notes.ts [--device] [--localhost]. It keeps its tokens in memory, and revokes them at `logout`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { parseArgs, styleText } from 'node:util';
import * as client from 'openid-client';

const { values: flags } = parseArgs({
  options: {
    /** Sign in with a code. */
    device: { type: 'boolean' },
    /** For browsers and proxies that do not open IP addresses. */
    localhost: { type: 'boolean' },
  },
});

const { ISSUER = 'http://localhost:4000', CLIENT_ID = 'demo-cli' } = process.env;
const SCOPE = 'openid profile';

const issuer = new URL(ISSUER);
const execute = issuer.protocol === 'http:' ? [client.allowInsecureRequests] : [];
const grantd = await client
  .discovery(issuer, CLIENT_ID, undefined, client.None(), { execute })
  .catch(explain);

const tokens = await (flags.device || !hasDisplay() ? signInWithCode() : signInWithBrowser()).catch(explain);
await greet();

console.log('Type whoami or logout');
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'whoami') await greet();
  if (line === 'logout') break;
}

// Without a refresh token, there is no other token of this sign-in.
await client.tokenRevocation(grantd, tokens.refresh_token ?? tokens.access_token);
console.log('Signed out');
process.exit();

/** The user denied access, or took too long, or the server is not there. Polling also ends by itself when the code expires. */
function explain(error: unknown): never {
  if (error instanceof TypeError && error.cause instanceof Error) {
    console.error(`${ISSUER} is not reachable: ${error.cause.message}`);
    process.exit(1);
  }
  const isAnswer =
    error instanceof client.ResponseBodyError || error instanceof client.AuthorizationResponseError;
  const isLate = error instanceof client.ClientError && error.code === 'OAUTH_TIMEOUT';
  if (!isAnswer && !isLate) throw error;
  const reason = isAnswer ? (error.error_description ?? error.error) : 'the device code has expired';
  console.error(`Not signed in: ${reason}`);
  process.exit(1);
}

async function signInWithBrowser() {
  // Any free port: grantd compares loopback redirect URIs without the port.
  const host = flags.localhost ? 'localhost' : '127.0.0.1';
  const server = createServer();
  await once(server.listen(0, host), 'listening');
  const redirect_uri = `http://${host}:${(server.address() as AddressInfo).port}/callback`;

  const pkceCodeVerifier = client.randomPKCECodeVerifier();
  const expectedState = client.randomState();
  const url = client.buildAuthorizationUrl(grantd, {
    redirect_uri,
    scope: SCOPE,
    state: expectedState,
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  });
  const callback = new Promise<URL>((resolve) => {
    server.on('request', (request, response) => {
      const returned = new URL(request.url ?? '', redirect_uri);
      // Browsers also request other paths, such as an icon.
      const isCallback = returned.pathname === '/callback';
      response.writeHead(isCallback ? 200 : 404, { connection: 'close' });
      response.end(isCallback ? 'Return to the command line.' : '');
      if (isCallback) resolve(returned);
    });
  });
  openBrowser(url);
  const returned = await callback;
  server.close();
  return client.authorizationCodeGrant(grantd, returned, { pkceCodeVerifier, expectedState });
}

async function signInWithCode() {
  const device = await client.initiateDeviceAuthorization(grantd, { scope: SCOPE });
  console.log(`Open ${device.verification_uri} on any device and enter ${device.user_code}`);
  await showQrCode(device.verification_uri_complete ?? device.verification_uri);
  return client.pollDeviceAuthorizationGrant(grantd, device);
}

async function showQrCode(url: string) {
  const { renderUnicodeCompact } = await import('uqr');
  const code = renderUnicodeCompact(url, { border: 2 });
  // Cameras need dark on light, in a terminal of any colors.
  for (const line of code.split('\n')) console.log(styleText(['whiteBright', 'bgBlack'], line));
}

async function greet() {
  const { sub = '' } = tokens.claims() ?? {};
  const user = await client.fetchUserInfo(grantd, tokens.access_token, sub);
  console.log(`Hello ${user.name}`);
}

/** Whether this machine can show a browser to the user. */
function hasDisplay(): boolean {
  const { SSH_CONNECTION, DISPLAY, WAYLAND_DISPLAY } = process.env;
  if (SSH_CONNECTION) return false;
  return process.platform !== 'linux' || Boolean(DISPLAY || WAYLAND_DISPLAY);
}

function openBrowser(url: URL): void {
  console.log(`If no browser opens, visit ${url}`);
  const openers: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
    darwin: ['open'],
    win32: ['rundll32', 'url.dll,FileProtocolHandler'],
  };
  const [command, ...args] = openers[process.platform] ?? ['xdg-open'];
  const opener = spawn(command, [...args, url.href], { stdio: 'ignore', detached: true });
  opener.on('error', () => {}); // The user has the URL.
  opener.unref();
}
