// Measures followers of endings: how long a revoked token is still accepted, what a check of a token costs, and what
// many followers cost the server. `npm run bench:follow`. Everything is on this machine; see METHOD.md for the rest.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { AccessTokenFollower, AccessTokenIntrospector, AccessTokenVerifier } from '@grantd/protect';
import { createRemoteJWKSet, jwtVerify } from 'jose';

const PORT = 4790;
const ISSUER = `http://localhost:${PORT}`;
const AUDIENCE = 'http://localhost:4003';
const CREDENTIALS = { clientId: 'demo-api', clientSecret: 'demo-api-secret' };
const COMMON = { issuer: ISSUER, audience: AUDIENCE };

const { values: options } = parseArgs({
  options: {
    followers: { type: 'string', default: '1,10,100' },
    revocations: { type: 'string', default: '300' },
    tokens: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '10' },
    // Milliseconds to the server and back, over a line that this program delays.
    delay: { type: 'string', default: '80' },
  },
});

const folder = mkdtempSync(join(tmpdir(), 'grantd-follow-'));
// npm’s variables would lead to the database of the caller.
const { PATH = '' } = process.env;
const place = { cwd: folder, env: { PATH } };
const main = join(import.meta.dirname, '..', 'server', 'bin', 'grantd.mjs');
const server = spawn(process.execPath, [main, 'serve', '--demo', '--port', String(PORT)], {
  ...place,
  stdio: ['ignore', 'ignore', 'pipe'],
});
const apis = [CREDENTIALS];
try {
  server.stderr.setEncoding('utf8');
  let said = '';
  while (!said.includes('listening on')) {
    const [text] = await Promise.race([once(server.stderr, 'data'), once(server, 'exit')]);
    if (server.exitCode !== null) throw new Error(`the server did not start: ${said}`);
    said += String(text);
  }
  server.stderr.resume();
  for (const count of options.followers.split(',').map(Number)) await measureRefusal(count);
  await measureRefusal(10, await delayed(Number(options.delay) / 2));
  await measureChecks();
  for (let at = 1; at < 10; at++) apis.push(addApi(at));
  await measureServer(1000);
} finally {
  if (server.exitCode === null && server.kill()) await once(server, 'exit');
  rmSync(folder, { recursive: true });
}

/** How long after the answer to its revocation a token is still accepted. */
async function measureRefusal(count: number, line?: Line): Promise<void> {
  const followers = await connected(count, line);
  const times: number[] = [];
  for (let at = 0; at < Number(options.revocations); at++) {
    const token = await newToken();
    for (const follower of followers) await follower.verify(token);
    await revoke(token);
    const revokedAt = performance.now();
    await Promise.all(
      followers.map(async (follower) => times.push(await lastAccepted(follower, token, revokedAt))),
    );
  }
  times.sort((a, b) => a - b);
  const at = (part: number) => (times[Math.floor((times.length - 1) * part)] ?? 0).toFixed(1);
  console.log(
    `${count} followers${line === undefined ? '' : ` across ${options.delay} ms`}: a revoked token was accepted for ${at(0.5)} ms (half), ${at(0.99)} ms (99 %), ${at(1)} ms (longest)`,
  );
  await Promise.all(followers.map((follower) => follower.close()));
  line?.close();
}

/** A way to the server that takes time. */
interface Line {
  readonly url: string;
  close(): void;
}

async function delayed(milliseconds: number): Promise<Line> {
  const later = (from: Socket, to: Socket) => {
    from.on('data', (bytes) => setTimeout(() => to.writable && to.write(bytes), milliseconds));
    from.on('close', () => setTimeout(() => to.destroy(), milliseconds));
    from.on('error', () => {});
  };
  const proxy = createServer((near) => {
    const far = connect(PORT, '127.0.0.1');
    near.setNoDelay();
    far.setNoDelay();
    later(near, far);
    later(far, near);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port } = proxy.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => void proxy.close() };
}

/** Milliseconds from the revocation to the last check that accepted the token. */
async function lastAccepted(
  follower: AccessTokenFollower,
  token: string,
  revokedAt: number,
): Promise<number> {
  let last = 0;
  for (;;) {
    const askedAt = performance.now();
    try {
      await follower.verify(token);
      last = askedAt - revokedAt;
    } catch {
      return last;
    }
    await turn();
  }
}

/** What the check of a token costs an API: each is checked again and again. */
async function measureChecks(): Promise<void> {
  const tokens: string[] = [];
  for (let at = 0; at < Number(options.tokens); at++) tokens.push(await newToken());
  const keys = createRemoteJWKSet(new URL(`${ISSUER}/jwks`));
  const [follower] = (await connected(1)) as [AccessTokenFollower];
  const verifier = new AccessTokenVerifier(COMMON);
  const remembering = new AccessTokenIntrospector({
    ...COMMON,
    credentials: CREDENTIALS,
    cache: { maxSeconds: 60 },
  });
  const asking = new AccessTokenIntrospector({ ...COMMON, credentials: CREDENTIALS });
  const ways: Record<string, (token: string) => Promise<unknown>> = {
    'jose, local verification': (token) => jwtVerify(token, keys, { issuer: ISSUER, audience: AUDIENCE }),
    AccessTokenVerifier: (token) => verifier.verify(token),
    AccessTokenFollower: (token) => follower.verify(token),
    'AccessTokenIntrospector, remembered for 60 s': (token) => remembering.verify(token),
    AccessTokenIntrospector: (token) => asking.verify(token),
  };
  for (const [way, check] of Object.entries(ways)) {
    for (const token of tokens) await check(token);
    const startedAt = performance.now();
    let checks = 0;
    while (performance.now() - startedAt < 3000)
      for (const token of tokens.slice(0, 100)) {
        await check(token);
        checks += 1;
      }
    const seconds = (performance.now() - startedAt) / 1000;
    console.log(`${way}: ${Math.round(checks / seconds).toLocaleString('en')} checks a second`);
  }
  await follower.close();
}

/** The share of a core that many followers cost the server, beside 100 revocations a second. */
async function measureServer(count: number): Promise<void> {
  const seconds = Number(options.seconds);
  const tokens: string[] = [];
  for (let at = 0; at < 100 * seconds * 2; at++) tokens.push(await newToken());
  const share = async () => {
    const before = processorSeconds();
    const startedAt = performance.now();
    for (let at = 0; at < 100 * seconds; at++) {
      await revoke(tokens.pop() ?? '');
      await pause(Math.max(0, startedAt + (at + 1) * 10 - performance.now()));
    }
    return ((processorSeconds() - before) / ((performance.now() - startedAt) / 1000)) * 100;
  };
  const alone = await share();
  const followers = await connected(count);
  await pause(3000);
  const followed = await share();
  console.log(
    `${count} followers cost the server ${(followed - alone).toFixed(1)} % of a core beside 100 revocations a second, which cost ${alone.toFixed(1)} %`,
  );
  await Promise.all(followers.map((follower) => follower.close()));
}

/** Followers with contact. A client may have a hundred. */
async function connected(count: number, line?: Line): Promise<readonly AccessTokenFollower[]> {
  const ways = line && {
    followEndpoint: `${line.url}/token/follow`,
    introspectionEndpoint: `${line.url}/token/introspect`,
    jwksUri: `${line.url}/jwks`,
  };
  const followers = Array.from(
    { length: count },
    (_, at) =>
      new AccessTokenFollower({ ...COMMON, ...ways, credentials: apis[Math.floor(at / 100)] ?? CREDENTIALS }),
  );
  await Promise.all(followers.map((follower) => follower.ready()));
  return followers;
}

async function newToken(): Promise<string> {
  const form = { grant_type: 'client_credentials', scope: 'api:read', resource: AUDIENCE };
  const { access_token } = (await (await post('/token', form)).json()) as { access_token: string };
  return access_token;
}

async function revoke(token: string): Promise<void> {
  const { status } = await post('/token/revoke', { token });
  if (status !== 200) throw new Error(`the revocation was answered with ${status}`);
}

function post(path: string, form: Readonly<Record<string, string>>): Promise<Response> {
  return fetch(ISSUER + path, {
    method: 'POST',
    body: new URLSearchParams(form),
    headers: { authorization: basic('demo-machine', 'demo-machine-secret') },
  });
}

function basic(id: string, secret: string): string {
  return `Basic ${btoa(`${id}:${secret}`)}`;
}

/** Adds an API. @returns its credentials */
function addApi(at: number) {
  const clientId = `api-${at}`;
  const added = spawnSync(process.execPath, [main, 'client', 'add', clientId, '--follow-all', '--json'], {
    ...place,
    encoding: 'utf8',
  });
  if (added.status !== 0) throw new Error(`client add failed: ${added.stderr}`);
  return { clientId, clientSecret: String(JSON.parse(added.stdout).client_secret) };
}

/** Of the server, from /proc. */
function processorSeconds(): number {
  const fields = readFileSync(`/proc/${server.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
