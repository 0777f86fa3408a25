import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { grantdPrints } from './harness/commands.ts';
import { DATABASES } from './harness/databases.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { basic, introspect, postForm, userInfo } from './harness/protocol.ts';

for (const database of DATABASES) {
  describe(`a command on the database of a running server is seen by its next request, on ${database.name}`, {
    skip: database.absence,
  }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());
    let server: RunningServer;
    const prints = (...args: string[]) => grantdPrints(server.folder, args);
    const issue = async (...args: string[]): Promise<{ accessToken: string; refreshToken: string }> =>
      JSON.parse(
        await prints('token', 'issue', '--client', 'demo-web', '--user', 'alice', '--json', ...args),
      );
    const machineToken = () =>
      postForm(
        `${server.url}/token`,
        { grant_type: 'client_credentials' },
        basic('demo-machine', 'demo-machine-secret'),
      );

    before(async () => {
      server = await workbench.start(await workbench.home(), ['--demo']);
    });

    test('token issue: the token is alive at once, and UserInfo accepts it', async () => {
      const { accessToken } = await issue();
      assert.equal((await introspect(server.url, accessToken)).active, true);
      assert.equal((await userInfo(server.url, accessToken)).status, 200);
    });

    test('token revoke: the token is dead, with its pair', async () => {
      const { accessToken, refreshToken } = await issue('--refresh');
      await prints('token', 'revoke', accessToken);
      assert.deepEqual(await introspect(server.url, accessToken), { active: false });
      assert.deepEqual(await introspect(server.url, refreshToken), { active: false });
    });

    test('CVE-2023-22492: user disable ends tokens, refresh and UserInfo; enable brings none of them back', async () => {
      const { accessToken, refreshToken } = await issue('--refresh');
      await prints('user', 'disable', 'alice');
      assert.equal((await userInfo(server.url, accessToken)).status, 401);
      const refresh = { grant_type: 'refresh_token', refresh_token: refreshToken };
      const refreshed = await postForm(`${server.url}/token`, refresh, basic('demo-web', 'demo-web-secret'));
      assert.equal(refreshed.status, 400);
      assert.equal(((await refreshed.json()) as { error: string }).error, 'invalid_grant');
      await prints('user', 'enable', 'alice');
      assert.equal((await userInfo(server.url, accessToken)).status, 401);
      assert.equal((await userInfo(server.url, (await issue()).accessToken)).status, 200);
    });

    test('client disable: it gets nothing any more, until client enable', async () => {
      const { access_token: token } = (await (await machineToken()).json()) as { access_token: string };
      await prints('client', 'disable', 'demo-machine');
      assert.equal((await machineToken()).status, 401);
      assert.deepEqual(await introspect(server.url, token), { active: false });
      await prints('client', 'enable', 'demo-machine');
      assert.equal((await machineToken()).status, 200);
      assert.deepEqual(await introspect(server.url, token), { active: false });
    });

    test('client rotate-secret lets the old secret work until it ends, with --now not at all', async () => {
      const secretFrom = async (...args: string[]): Promise<string> =>
        JSON.parse(await prints('client', ...args, '--json')).client_secret;
      const statusesOf = async (...secrets: string[]) => {
        const grant = { grant_type: 'client_credentials' };
        const ask = async (used: string) =>
          (await postForm(`${server.url}/token`, grant, basic('rotating', used))).status;
        return Promise.all(secrets.map(ask));
      };
      const first = await secretFrom('add', 'rotating', '--scope', 'a');
      const second = await secretFrom('rotate-secret', 'rotating');
      assert.deepEqual(await statusesOf(first, second, 'another-secret'), [200, 200, 401]);
      const third = await secretFrom('rotate-secret', 'rotating', '--overlap', '3600');
      assert.deepEqual(await statusesOf(first, second, third), [401, 200, 200]);
      const fourth = await secretFrom('rotate-secret', 'rotating', '--now');
      assert.deepEqual(await statusesOf(second, third, fourth), [401, 401, 200]);
    });

    test('keys rotate: new tokens are signed by the key that was published before, old ones stay alive', async () => {
      const kidOf = (token: string) => JSON.parse(atob(token.split('.', 1)[0] ?? '')).kid;
      const tokenOf = async () =>
        ((await (await machineToken()).json()) as { access_token: string }).access_token;
      const old = await tokenOf();
      for (let round = 0; round < 3; round += 1) {
        const published = (await (await fetch(`${server.url}/jwks`)).json()) as { keys: { kid: string }[] };
        await prints('keys', 'rotate', '--now');
        const kid = kidOf(await tokenOf());
        assert.notEqual(kid, kidOf(old));
        assert.ok(published.keys.some((key) => key.kid === kid));
      }
      assert.equal((await introspect(server.url, old)).active, true);
    });

    test('gc: rows go while the server serves', async () => {
      const sweptByGc = async (): Promise<number> => {
        await prints('token', 'issue', '--client', 'demo-machine', '--ttl', '1', '--count', '3');
        await new Promise((resolve) => setTimeout(resolve, 2100));
        return JSON.parse(await prints('gc', '--json')).swept;
      };
      // The server's own first sweep can come in between, and its next one comes a minute later.
      const first = await sweptByGc();
      const swept = first >= 3 ? first : await sweptByGc();
      assert.ok(swept >= 3, `${swept} rows`);
    });
  });
}
