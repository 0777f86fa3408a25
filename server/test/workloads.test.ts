// Does what docs/workloads.md says, with tokens of the real form from a signer of ours in the place of the platform.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { newCertificate } from '../../core/test/harness/certificates.ts';
import { freePort } from '../../core/test/harness/free_port.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { payloadOf } from './harness/protocol.ts';
import { serverCertificate } from './harness/tls.ts';

const ROOT = dirname(dirname(import.meta.dirname));
const PAGE = readFileSync(join(ROOT, 'docs', 'workloads.md'), 'utf8');
const TUTORIAL = readFileSync(join(ROOT, 'docs', 'tutorials', 'protected_api.md'), 'utf8');
const ISSUER = 'https://login.example.com';
const hasTools = ['curl', 'jq'].every((tool) => spawnSync(tool, ['--version']).status === 0);

/** The blocks of a section, in a language. */
function blocks(section: string, language: string): readonly string[] {
  const text = PAGE.split(/^## /m).find((part) => part.startsWith(section)) ?? assert.fail(section);
  return [...text.matchAll(new RegExp(`^( *)\`\`\`${language}\n(.*?)^ *\`\`\`$`, 'gms'))].map(
    ([, indent = '', code = '']) => code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

interface Signer {
  readonly jwks: { readonly keys: readonly object[] };
  sign(claims: object, header?: object): Promise<string>;
}

async function newSigner(): Promise<Signer> {
  const { publicKey, privateKey }: { publicKey: CryptoKey; privateKey: CryptoKey } =
    await generateKeyPair('RS256');
  const kid = randomUUID();
  return {
    jwks: { keys: [{ ...(await exportJWK(publicKey)), kid, use: 'sig', alg: 'RS256' }] },
    sign: (claims, header = {}) =>
      new SignJWT({ ...claims }).setProtectedHeader({ alg: 'RS256', kid, ...header }).sign(privateKey),
  };
}

const now = () => Math.floor(Date.now() / 1000);

describe('docs/workloads.md', { skip: hasTools ? false : 'there is no curl or jq on this machine' }, () => {
  const workbench = new Workbench();
  const requests: IncomingMessage[] = [];
  const closing: { close(): unknown }[] = [];
  let folder = '';
  let server: RunningServer;
  let cluster: Signer;
  let actions: Signer;
  let environment: Readonly<Record<string, string>> = {};

  /** A pod with a projected token (https://kubernetes.io/docs/concepts/storage/projected-volumes). */
  const podToken = (account: string, changes: object = {}) =>
    cluster.sign({
      aud: [server.url],
      ...{ exp: now() + 3607, iat: now(), nbf: now(), jti: randomUUID() },
      iss: 'https://kubernetes.default.svc.cluster.local',
      'kubernetes.io': {
        namespace: 'shop',
        node: { name: 'node-1', uid: randomUUID() },
        pod: { name: `${account}-5d8f`, uid: randomUUID() },
        serviceaccount: { name: account, uid: randomUUID() },
      },
      sub: `system:serviceaccount:shop:${account}`,
      ...changes,
    });

  /** As GitHub describes its tokens. */
  const jobToken = (aud: string, changes: object = {}) =>
    actions.sign(
      {
        ...{
          jti: randomUUID(),
          sub: 'repo:acme/shop:environment:production',
          environment: 'production',
          aud,
        },
        ...{ ref: 'refs/heads/main', sha: randomUUID(), repository: 'acme/shop', repository_owner: 'acme' },
        ...{ repository_owner_id: '4711', repository_visibility: 'private', repository_id: '74' },
        ...{ actor_id: '12', run_id: '8', run_number: '10', run_attempt: '2', actor: 'octocat' },
        ...{ runner_environment: 'github-hosted', workflow: 'deploy', head_ref: '', base_ref: '' },
        ...{ event_name: 'workflow_dispatch', ref_type: 'branch' },
        job_workflow_ref: 'acme/shop/.github/workflows/deploy.yml@refs/heads/main',
        iss: 'https://token.actions.githubusercontent.com',
        ...{ nbf: now() - 300, exp: now() + 300, iat: now() },
        ...changes,
      },
      { typ: 'JWT', x5t: 'eBZ_cn3sXYAd0ch4THBKHIgOwOE' },
    );

  before(async () => {
    folder = workbench.folder();
    [cluster, actions] = await Promise.all([newSigner(), newSigner()]);
    const authority = await newCertificate({ subject: [{ CN: [randomUUID()] }], isCa: true });
    const { pem } = await serverCertificate(authority);
    const api = createTlsServer(pem, (request, response) => {
      requests.push(request);
      const isRight = request.headers.authorization === 'Bearer of the pod of grantd';
      response.writeHead(isRight ? 200 : 401).end(JSON.stringify(cluster.jwks));
    }).listen(0, '127.0.0.1');
    await once(api, 'listening');
    closing.push(api);
    const { port: apiPort } = api.address() as AddressInfo;

    writeFileSync(join(folder, 'ca.crt'), authority.pem.cert);
    writeFileSync(join(folder, 'token'), 'of the pod of grantd\n');
    const inCluster = (blocks('Kubernetes', 'json')[0] ?? '')
      .replace('https://kubernetes.default.svc/', `https://localhost:${apiPort}/`)
      .replace('/var/run/secrets/kubernetes.io/serviceaccount/ca.crt', 'ca.crt')
      .replace('/var/run/secrets/kubernetes.io/serviceaccount/token', 'token');
    const issuers = { ...JSON.parse(inCluster), ...JSON.parse(blocks('GitHub Actions', 'json')[0] ?? '') };
    issuers.github.jwks = actions.jwks;
    writeFileSync(join(folder, 'issuers.json'), JSON.stringify(issuers));

    const port = await freePort();
    environment = { GRANTD_TRUSTED_ISSUERS: 'issuers.json', GRANTD_PORT: String(port) };
    const [, addApi = ''] = /npx grantd (client add notes-api .*)/.exec(TUTORIAL) ?? [];
    await grantdPrints(folder, addApi.split(' '), '', environment);
    for (const [line = ''] of ['Kubernetes', 'GitHub Actions'].flatMap((section) =>
      blocks(section, 'console').flatMap((block) => [...block.matchAll(/^\$ npx grantd client add .*$/gm)]),
    )) {
      const printed = await grantdPrints(folder, line.split(' ').slice(3), '', environment);
      assert.doesNotMatch(printed, /secret/i);
    }
    server = await workbench.start(folder, ['--port', String(port)], environment);
  });
  after(async () => {
    for (const item of closing) item.close();
    await workbench.clear();
  });

  /** Runs a block of the page with the address of this run. */
  function run(block: string, variables: Readonly<Record<string, string>> = {}) {
    const code = block
      .replaceAll(ISSUER, server.url)
      .replaceAll('/var/run/secrets/grantd/token', join(folder, 'pod.token'));
    return printedBy(code, variables);
  }

  function assertClient(answer: { readonly access_token?: string }, client: string): void {
    const { client_id, ...claims } = payloadOf(answer.access_token ?? assert.fail(JSON.stringify(answer)));
    const { sub, scope, aud } = claims;
    assert.deepEqual([client_id, sub, scope, aud], [client, client, 'read', 'http://127.0.0.1:3001']);
  }

  const lastRefusal = async (reason: string) =>
    server.logged((line) => line.reason === reason, `a refusal with ${reason}`);

  test('a pod of the service account gets tokens with its projected token, as often as it wants', async () => {
    writeFileSync(join(folder, 'pod.token'), await podToken('billing', { exp: now() + 3600 }));
    const [block = ''] = blocks('Kubernetes', 'sh');
    for (const _ of [1, 2, 3]) assertClient(await run(block), 'billing');
    assert.deepEqual(
      requests.map(({ url }) => url),
      ['/openid/v1/jwks'],
    );

    writeFileSync(join(folder, 'pod.token'), await podToken('orders', { exp: now() + 3600 }));
    assert.equal((await run(block)).error, 'invalid_client');
    const { value } = await lastRefusal('assertion_claims_unmatched');
    assert.match(String(value), /^claim [\w.]+ of .* system:serviceaccount:shop:orders$/);
    writeFileSync(join(folder, 'pod.token'), await podToken('billing', { exp: now() + 7200 }));
    assert.equal((await run(block)).error, 'invalid_client');
    await lastRefusal('assertion_lives_too_long');
  });

  test('a job of GitHub Actions gets a token with one of GitHub, once', async () => {
    let issued = '';
    const github = createServer(async (request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://localhost');
      assert.equal(request.headers.authorization, 'Bearer of-the-job');
      issued = await jobToken(searchParams.get('audience') ?? '');
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ value: issued }));
    }).listen(0, '127.0.0.1');
    await once(github, 'listening');
    closing.push(github);
    const url = `http://127.0.0.1:${(github.address() as AddressInfo).port}/token?api-version=2.0`;
    const [block = ''] = blocks('GitHub Actions', 'sh');
    const env = { ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'of-the-job', ACTIONS_ID_TOKEN_REQUEST_URL: url };
    assertClient(await run(block, env), 'deploy');
    assert.equal((await present(issued)).error, 'invalid_client');
    await lastRefusal('assertion_replayed');
    const other = await jobToken(server.url, { sub: 'repo:acme/shop-evil:environment:production' });
    assert.equal((await present(other)).error, 'invalid_client');
  });

  async function present(assertion: string) {
    const response = await fetch(`${server.url}/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: assertion,
      }),
    });
    return response.json();
  }

  test('a reload applies a changed file, and its log line names the option', async () => {
    const file = join(folder, 'issuers.json');
    const issuers = JSON.parse(readFileSync(file, 'utf8'));
    issuers.cluster.clients.push({ client: 'deploy', claims: { sub: 'system:serviceaccount:shop:deploy' } });
    writeFileSync(file, JSON.stringify(issuers));
    writeFileSync(join(folder, 'pod.token'), await podToken('deploy', { exp: now() + 3600 }));
    const [block = ''] = blocks('Kubernetes', 'sh');
    assert.equal((await run(block)).error, 'invalid_client');
    process.kill(server.pid, 'SIGHUP');
    const line = await server.logged(({ event }) => event === 'hangup', 'a reload');
    assert.deepEqual(line.reloaded, ['trustedIssuers']);
    assertClient(await run(block), 'deploy');
  });

  test('without the file, the error of the method says what to set', async () => {
    const args = ['client', 'add', 'other', '--auth-method', 'trusted_issuer_jwt'];
    const { code, stderr } = await grantd(folder, args);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /--auth-method: .* set GRANTD_TRUSTED_ISSUERS .* --trusted-issuers/);
  });

  test('a wrong file is refused by the name of its member', async () => {
    const refused = async (issuer: object, message: RegExp) => {
      writeFileSync(join(folder, 'wrong.json'), JSON.stringify({ ci: issuer }));
      const args = ['config', 'check', '--trusted-issuers', 'wrong.json'];
      const { code, stderr } = await grantd(folder, args);
      assert.equal(code, 2, stderr);
      assert.match(stderr, message);
    };
    const clients = [{ client: 'deploy', claims: { sub: 'repo:acme/shop' } }];
    const open = [{ client: 'deploy', claims: { sub: 'repo:*' } }];
    await refused(
      { kind: 'github', clients: open },
      /wrong\.json: ci\.clients\.0\.claims\.sub: expected at least 2 parts/,
    );
    await refused({ kind: 'gitea', clients }, /ci\.kind: expected one of generic, github/);
    await refused({ kind: 'github', clients, jwks_uri: 'x' }, /ci\.jwks_uri: expected an http or https URL/);
    await refused({ kind: 'github', clients, max_lifetime: 0 }, /ci\.max_lifetime: expected whole seconds/);
    await refused({ kind: 'github', clients, token_file: 'token' }, /ci\.token_file: expected ca_file/);
    await refused(
      { kind: 'github', clients, ca_file: 'token' },
      /ci\.ca_file: .*expected certificates in PEM/,
    );
    await refused({ kind: 'github', clients, ca_file: 7 }, /ci\.ca_file: expected the path of a file/);
    await refused({ kind: 'github', clients, jwks_file: 'ca.crt' }, /ci\.jwks_file: .*ca\.crt/);
    await refused({ kind: 'github', clients, jwks_file: 'x', jwks: {} }, /ci\.jwks_file: expected no jwks/);
    await refused({ kind: 'github', clients, secret: 'x' }, /ci\.secret/);
    await refused([], /ci: expected an object/);
  });
});

/** Runs a script that calls a server of this process. */
async function printedBy(code: string, variables: Readonly<Record<string, string>>) {
  const child = spawn('sh', ['-c', code], {
    env: { PATH: process.env.PATH, ...variables },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const text = (await child.stdout.setEncoding('utf8').toArray()).join('');
  return JSON.parse(text);
}
