import assert from 'node:assert/strict';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { openAskedIssuer } from './asked_issuer.ts';
import { type Command, MARK, said } from './outcomes.ts';
import { hostFolder } from './package_under_test.ts';

const METADATA = '/.well-known/oauth-authorization-server';

/** An API uses the runtime's own fetch: once for concurrent requests, and without following redirects. */
export async function assertApiAsks(
  t: TestContext,
  /** Runs a module in a folder. Returns its `answers`. */
  answersIn: (folder: string, module: string) => Promise<unknown>,
): Promise<void> {
  const asked = await openAskedIssuer(t);
  const redirecting = await openAskedIssuer(t);
  redirecting.outage = (request, response) =>
    response.writeHead(307, { location: asked.issuer + request.url }).end();
  const folder = hostFolder(t);
  copyFileSync(join(import.meta.dirname, 'inside', 'protected_api.mjs'), join(folder, 'protected_api.mjs'));
  const { issuer, token } = asked;
  const settings = JSON.stringify({ issuer, redirecting: redirecting.issuer, token });
  const module = `import { answersOf } from './protected_api.mjs';
const answers = () => answersOf(${settings});
`;
  assert.deepEqual(await answersIn(folder, module), {
    verified: ['200 machine'],
    introspected: ['200 machine'],
    unfollowed: 307,
    redirected: ['503 ', '503 '],
  });
  assert.deepEqual(asked.paths, [METADATA, '/jwks', METADATA, '/token/introspect']);
  assert.deepEqual(redirecting.paths, ['/any', METADATA, METADATA]);
}

export function assertProgramAsks(t: TestContext, command: Command): Promise<void> {
  return assertApiAsks(t, (folder, module) => {
    const last = `console.log(${JSON.stringify(MARK)} + JSON.stringify(await answers()));`;
    writeFileSync(join(folder, 'api.mjs'), module + last);
    return said(folder, command, 'api.mjs');
  });
}
