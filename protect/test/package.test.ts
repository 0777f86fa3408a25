// The package as npm would publish it, alone and together with the core. Takes about 15 seconds of one core.
import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  installedLibraries,
  installedProtect,
  packedPackages,
} from '../../core/test/harness/package/archives.ts';
import { bundled } from '../../core/test/harness/package/bundle.ts';
import { ROOT } from '../../core/test/harness/package/packed.ts';
import { run } from '../../core/test/harness/package/run.ts';

const NODES = {
  '22': join(ROOT, 'runtimes', 'node_22', 'node_modules', 'node', 'bin', 'node'),
  '24': join(ROOT, 'runtimes', 'node_24', 'node_modules', 'node', 'bin', 'node'),
  '26': process.execPath,
};

const LARGEST_BUNDLE_BYTES = 60_000;

const archives = packedPackages();
const alone = installedProtect(archives);
const beside = installedLibraries(archives);

/** A program's JSON output. Its imports are written for each module system. */
function printed(
  folder: string,
  node: string,
  system: 'esm' | 'commonjs',
  imports: Readonly<Record<string, readonly string[]>>,
  body: string,
): unknown {
  const lines = Object.entries(imports).map(([entry, names]) =>
    system === 'esm'
      ? `import { ${names.join(', ')} } from '${entry}';`
      : `const { ${names.map((name) => name.replace(' as ', ': ')).join(', ')} } = require('${entry}');`,
  );
  const file = join(folder, system === 'esm' ? 'api.mjs' : 'api.cjs');
  writeFileSync(
    file,
    `${lines.join('\n')}\n${body}\nmain().then((found) => console.log(JSON.stringify(found)));`,
  );
  const { status, stdout, stderr } = run(node, ['--disable-warning=ExperimentalWarning', file], folder);
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  return JSON.parse(stdout);
}

test('an API installs jose and nothing else', () => {
  const packages = readdirSync(join(alone, 'node_modules')).filter((name) => !name.startsWith('.'));
  assert.deepEqual(packages.sort(), ['@grantd', 'jose']);
  assert.deepEqual(readdirSync(join(alone, 'node_modules', '@grantd')), ['protect']);
  assert.deepEqual(
    archives.protect.contents.filter((path) => /storage|clients|adapters|internal/.test(path)),
    [],
  );
});

for (const [version, node] of Object.entries(NODES)) {
  for (const system of ['esm', 'commonjs'] as const) {
    test(`Node ${version} verifies a token with the installed package alone: ${system}`, () => {
      const imports = {
        '@grantd/protect': ['AccessTokenVerifier'],
        '@grantd/protect/fetch': ['protect'],
        jose: ['SignJWT', 'exportJWK', 'generateKeyPair'],
      };
      assert.deepEqual(printed(alone, node, system, imports, VERIFYING), ['200 alice', '401', '403']);
    });
  }
}

test('the errors of both packages are the same classes for instanceof, and each package renders those of the other', () => {
  const imports = {
    '@grantd/core': ['AuthorizationServer', 'OAuthError', 'StorageFault', 'errorResponse'],
    '@grantd/core/memory': ['memoryStorage'],
    '@grantd/protect': [
      'AuthorizationServerFault',
      'ConfigurationError',
      'EmbeddedAccessTokens',
      'OAuthError as ProtectError',
    ],
    '@grantd/protect/fetch': ['protect'],
  };
  for (const system of ['esm', 'commonjs'] as const) {
    assert.deepEqual(printed(beside, process.execPath, system, imports, EMBEDDED), {
      areDifferentClasses: true,
      valid: '200 service',
      revoked: '401 invalid_token',
      forwarded: [true, true, true, 401, 'Bearer realm="api"'],
      outage: ['503', true],
      isOwnClassOnly: [true, false],
    });
  }
});

test('a bundle of an API has the verifier and no part of a server', async (t) => {
  const source = `import { AccessTokenVerifier } from '@grantd/protect';
import { protect } from '@grantd/protect/fetch';
export default (options, handler) => protect({ tokens: new AccessTokenVerifier(options) })(handler);`;
  const { bytes, files, others } = await bundled(beside, source);
  t.diagnostic(`${bytes} bytes minified, ${files.length} files`);
  assert.deepEqual(others, ['jose']);
  assert.deepEqual(
    files.filter((file) => !file.startsWith('protect/')),
    [],
  );
  assert.ok(bytes < LARGEST_BUNDLE_BYTES, `${bytes} bytes`);
});

const VERIFYING = `
async function main() {
  const issuer = 'https://login.example.com';
  const audience = 'https://api.example.com';
  const { publicKey, privateKey } = await generateKeyPair('RS256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256' };
  const token = await new SignJWT({ client_id: 'app', scope: 'read', sub: 'alice' })
    .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: 'one' })
    .setIssuer(issuer).setAudience(audience).setIssuedAt().setExpirationTime('1m')
    .sign(privateKey);
  const tokens = new AccessTokenVerifier({ issuer, audience, jwks: { keys: [jwk] } });
  const ask = async (scope, headers) => {
    const handler = protect({ tokens, scopes: [scope] })((_request, { sub }) => new Response(sub));
    const response = await handler(new Request(audience, { headers }));
    return response.ok ? response.status + ' ' + (await response.text()) : String(response.status);
  };
  const authorization = 'Bearer ' + token;
  return [await ask('read', { authorization }), await ask('read', {}), await ask('write', { authorization })];
}`;

const EMBEDDED = `
async function main() {
  const issuer = 'https://login.example.com';
  const storage = memoryStorage();
  const server = new AuthorizationServer({ issuer, secret: 'a secret of thirty-two characters', storage });
  await server.prepare();
  await storage.clients.add({
    id: 'service',
    secrets: [await server.operator.hashClientSecret('its secret')],
    grantTypes: ['client_credentials'],
    scopes: ['read'],
    redirectUris: [],
  });
  const form = (path, parameters) => ({
    method: 'POST',
    url: issuer + path,
    headers: {
      authorization: 'Basic ' + btoa('service:its+secret'),
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams(parameters).toString(),
  });
  const token = JSON.parse((await server.token(form('/token', { grant_type: 'client_credentials' }))).body).access_token;
  const embedded = new EmbeddedAccessTokens({ server, audience: issuer });
  const told = [];
  const ask = async (tokens, headers = { authorization: 'Bearer ' + token }, errors = 'render') => {
    const guard = protect({ tokens, errors, onFault: (fault) => told.push(fault) });
    const response = await guard((_request, { sub }) => new Response(sub))(new Request(issuer, { headers }));
    if (response.ok) return response.status + ' ' + (await response.text());
    const body = await response.json();
    return response.status === 503 ? '503' : response.status + ' ' + body.error;
  };
  const valid = await ask(embedded);
  await server.revoke(form('/token/revoke', { token }));
  const revoked = await ask(embedded);
  const thrown = await ask(embedded, {}, 'forward').catch((error) => error);
  const answer = errorResponse(thrown);
  const away = { verify: async () => { throw new StorageFault(new Error('away')); } };
  const outage = await ask(away);
  class OwnFault extends StorageFault {}
  return {
    areDifferentClasses: OAuthError !== ProtectError,
    valid,
    revoked,
    forwarded: [
      thrown instanceof OAuthError,
      thrown instanceof ProtectError,
      !(thrown instanceof ConfigurationError),
      answer.status,
      answer.headers['www-authenticate'],
    ],
    outage: [outage, told[0] instanceof AuthorizationServerFault && told[0].cause instanceof StorageFault],
    isOwnClassOnly: [new OwnFault(1) instanceof OwnFault, new StorageFault(1) instanceof OwnFault],
  };
}`;
