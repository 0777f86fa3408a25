import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { grantdPrints } from './harness/commands.ts';
import { DATABASES } from './harness/databases.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { basic, introspect, postForm } from './harness/protocol.ts';

const ISSUER = ['--issuer', 'http://localhost:4000'];
const OPAQUE = /^grantd_rt_[\w-]{43}$/;
const JWT = /^ey[\w-]+\.[\w-]+\.[\w-]+$/;
const DEMO_WEB = basic('demo-web', 'demo-web-secret');

for (const database of DATABASES) {
  describe(`refresh tokens on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());

    test('the program issues opaque refresh tokens, or JWTs if it is set so, and takes both kinds after a change', async () => {
      const folder = await workbench.home();
      const config = join(folder, 'grantd.json');
      let server: RunningServer | undefined;
      const startWith = async (...args: string[]) => {
        await server?.stop();
        server = await workbench.start(folder, ['--demo', ...ISSUER, '--refresh-grace', '600', ...args]);
      };
      const url = () => server?.url ?? '';
      const issue = async (environment = {}): Promise<string> => {
        const order = ['token', 'issue', '--client', 'demo-web', '--user', 'alice', '--refresh', '--json'];
        return JSON.parse(await grantdPrints(folder, order, '', environment)).refreshToken;
      };
      const rotated = async (token: string): Promise<string> => {
        const form = { grant_type: 'refresh_token', refresh_token: token };
        const response = await postForm(`${url()}/token`, form, DEMO_WEB);
        assert.equal(response.status, 200);
        return ((await response.json()) as { refresh_token: string }).refresh_token;
      };
      const assertAlive = async (...tokens: string[]) => {
        for (const token of tokens) assert.equal((await introspect(url(), token)).active, true);
      };
      const assertRevocable = async (token: string) => {
        assert.equal((await postForm(`${url()}/token/revoke`, { token }, DEMO_WEB)).status, 200);
        assert.deepEqual(await introspect(url(), token), { active: false });
      };

      // Opaque by default, at the endpoint and on the command line.
      await startWith();
      const [first, unused, revoked] = [await issue(), await issue(), await issue()];
      const successor = await rotated(first);
      for (const token of [first, unused, revoked, successor]) assert.match(token, OPAQUE);

      // JWTs by flag, on a database with opaque tokens.
      await startWith('--use-opaque-refresh-tokens', 'false');
      await assertAlive(unused, revoked, successor);
      assert.equal(await rotated(first), successor, 'a retry from before the change');
      const jwt = await rotated(successor);
      assert.match(jwt, JWT);
      await assertRevocable(revoked);

      // JWTs by configuration file and by variable.
      writeFileSync(config, '{"useOpaqueRefreshTokens": false}');
      await startWith('--config', config);
      const nextJwt = await rotated(jwt);
      const [unusedJwt, revokedJwt] = [
        await issue({ GRANTD_USE_OPAQUE_REFRESH_TOKENS: 'false' }),
        await issue({ GRANTD_CONFIG: config }),
      ];
      for (const token of [nextJwt, unusedJwt, revokedJwt]) assert.match(token, JWT);

      // Opaque again, on a database with JWTs, as after an update from a version that issued them.
      await startWith();
      await assertAlive(unused, nextJwt, unusedJwt, revokedJwt);
      assert.equal(await rotated(jwt), nextJwt, 'a retry from before the change');
      for (const token of [unused, nextJwt, unusedJwt]) assert.match(await rotated(token), OPAQUE);
      await assertRevocable(revokedJwt);
    });
  });
}
