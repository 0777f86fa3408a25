import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { freePort } from '../../core/test/harness/free_port.ts';
import { Browser, signInAndConsent } from './harness/browser.ts';
import { grantd } from './harness/commands.ts';
import { ANY_DATABASE } from './harness/databases.ts';
import { DEMO_OPTIONS, type RunningServer, Workbench } from './harness/program.ts';
import { basic, introspect, postForm, userInfo } from './harness/protocol.ts';

const hasCurl = spawnSync('curl', ['--version']).status === 0;

for (const database of ANY_DATABASE) {
  describe(`grantd serve --demo on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());
    let server: RunningServer;
    before(async () => {
      const folder = await workbench.home();
      server = await workbench.start(folder, ['--demo']);
    });

    test('prints commands for the three endpoints, with their actual responses', {
      skip: hasCurl ? false : 'there is no curl on this machine',
    }, () => {
      const lines = server
        .stderr()
        .split('\n')
        .map((line) => line.trim());
      const at = lines.flatMap((line, index) => (line.startsWith('curl ') ? [index] : []));
      assert.equal(at.length, 5);
      const answers = at.map((index) =>
        execFileSync('/bin/sh', ['-c', lines[index] ?? ''], { encoding: 'utf8' }),
      );
      const [introspected, claims, revoked, introspectedAgain] = answers;
      assert.equal(introspected, lines[(at[0] ?? 0) + 1]);
      assert.equal(JSON.parse(introspected ?? '').active, true);
      assert.equal(claims, lines[(at[1] ?? 0) + 1]);
      assert.equal(JSON.parse(claims ?? '').email, 'alice@example.com');
      assert.equal(revoked, '');
      assert.equal(introspectedAgain, '{"active":false}');
    });

    test('prints how demo-machine gets a token for demo-api, and what each client needs', {
      skip: hasCurl ? false : 'there is no curl on this machine',
    }, async () => {
      const printed = server.stderr();
      const [, command = ''] = /^ {2}(curl .*client_credentials.*)$/m.exec(printed) ?? [];
      const { access_token: token } = JSON.parse(
        execFileSync('/bin/sh', ['-c', command], { encoding: 'utf8' }),
      );
      const { aud, scope, client_id } = await introspect(server.url, token);
      assert.deepEqual([aud, scope, client_id], ['http://localhost:4003', 'api:read', 'demo-machine']);
      for (const line of [
        /^ {4}secret +demo-machine-secret$/m,
        /^ {4}resource +http:\/\/localhost:4003$/m,
        /^ {4}declares +api:read api:write$/m,
        /^ {4}after logout +http:\/\/localhost:4002\/$/m,
      ])
        assert.match(printed, line);
      const issue = ['token', 'issue', '--client', 'demo-spa', '--user', 'alice', '--scope', 'api:read'];
      const { stdout } = await grantd(server.folder, issue);
      assert.equal((await introspect(server.url, stdout.trim())).aud, 'http://localhost:4003');
    });

    test('prints a link by which alice signs in, and a command that redeems the code that it ends with', {
      skip: hasCurl ? false : 'there is no curl on this machine',
    }, async () => {
      const printed = server.stderr();
      assert.match(printed, /^5\. alice \(password wonderland\) signs in to demo-web/m);
      assert.ok(printed.includes(`\n  ${server.url}/account\n`), printed);
      const [, url = ''] = /^ {2}(http\S+\/authorize\?\S+)$/m.exec(printed) ?? [];
      const [, command = ''] = /^ {2}CODE=…; (curl .*)$/m.exec(printed) ?? [];
      const code = (await signInAndConsent(new Browser(server.url), url)).searchParams.get('code') ?? '';
      const env = { PATH: process.env.PATH, CODE: code };
      const tokens = JSON.parse(execFileSync('/bin/sh', ['-c', command], { encoding: 'utf8', env }));
      assert.equal(tokens.scope, 'openid profile email');
    });

    test('prints no password that was changed, and no link if requests must be pushed', async () => {
      const folder = await workbench.home();
      const first = await workbench.start(folder, ['--demo']);
      await grantd(folder, ['user', 'set-password', 'alice', '--password-stdin'], { input: 'looking-glass' });
      await first.stop();
      const required = '--require-pushed-authorization-requests';
      const second = await workbench.start(folder, ['--demo', '--port', String(first.port), required]);
      assert.match(second.stderr(), /alice \(whose password was changed\)/);
      assert.doesNotMatch(second.stderr(), /wonderland|looking-glass|authorize\?/);
    });

    test('prints no command for UserInfo if OpenID Connect is off', async () => {
      const own = await workbench.start(await workbench.home(), ['--demo', '--oidc', 'false']);
      assert.doesNotMatch(own.stderr(), /userinfo|undefined/);
      assert.match(own.stderr(), /OpenID Connect is off/);
    });

    test('contains demo-machine, which gets tokens for itself', async () => {
      const authorization = basic('demo-machine', 'demo-machine-secret');
      const response = await postForm(
        `${server.url}/token`,
        { grant_type: 'client_credentials' },
        authorization,
      );
      const { access_token: token } = (await response.json()) as { access_token: string };
      assert.equal((await introspect(server.url, token)).client_id, 'demo-machine');
    });

    test('contains alice, who has a claim for every standard scope', async () => {
      const issue = ['token', 'issue', '--client', 'demo-spa', '--user', 'alice'];
      const { stdout: token } = await grantd(server.folder, issue);
      const claims = (await (await userInfo(server.url, token.trim())).json()) as Record<string, unknown>;
      const names = [
        'name',
        'family_name',
        'given_name',
        'middle_name',
        'nickname',
        'preferred_username',
        'profile',
      ];
      const others = [
        'picture',
        'website',
        'gender',
        'birthdate',
        'zoneinfo',
        'locale',
        'updated_at',
        'address',
      ];
      const verified = ['email', 'email_verified', 'phone_number', 'phone_number_verified'];
      assert.deepEqual(Object.keys(claims).sort(), [...names, ...others, ...verified, 'sub'].sort());
    });

    test('has the clients, grants and redirect URIs that its documents name', async () => {
      const { stdout } = await grantd(server.folder, ['client', 'list', '--json']);
      const clients = (JSON.parse(stdout) as Record<string, unknown>[]).map((client) => ({
        id: client.client_id,
        type: client.type,
        grants: client.grant_types,
        redirectUris: client.redirect_uris,
        isApi: client.resource !== undefined,
      }));
      const code = ['authorization_code', 'refresh_token'];
      assert.deepEqual(clients, [
        { id: 'demo-api', type: 'confidential', grants: [], redirectUris: [], isApi: true },
        {
          id: 'demo-cli',
          type: 'public',
          grants: [...code, 'urn:ietf:params:oauth:grant-type:device_code'],
          redirectUris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
          isApi: false,
        },
        {
          id: 'demo-machine',
          type: 'confidential',
          grants: ['client_credentials'],
          redirectUris: [],
          isApi: false,
        },
        {
          id: 'demo-spa',
          type: 'public',
          grants: code,
          redirectUris: ['http://localhost:4002/callback'],
          isApi: false,
        },
        {
          id: 'demo-web',
          type: 'confidential',
          grants: code,
          redirectUris: ['http://localhost:4001/callback'],
          isApi: false,
        },
      ]);
    });

    test('keeps the data over a second start, and changes nothing that was changed', async () => {
      const folder = await workbench.home();
      const first = await workbench.start(folder, ['--demo']);
      const { stdout } = await grantd(folder, [
        'token',
        'issue',
        '--client',
        'demo-web',
        '--user',
        'alice',
        '--json',
      ]);
      const token: string = JSON.parse(stdout).accessToken;
      const { sub } = await introspect(first.url, token);
      await grantd(folder, ['client', 'disable', 'demo-spa']);
      assert.equal((await first.stop()).code, 0);

      const second = await workbench.start(folder, ['--demo', '--port', String(first.port)]);
      assert.equal((await introspect(second.url, token)).sub, sub);
      const spa = await grantd(folder, ['client', 'show', 'demo-spa', '--json']);
      assert.ok(JSON.parse(spa.stdout).disabled_at);
    });

    test('is what a later start without --demo warns of, until it is removed', async () => {
      const folder = await workbench.home();
      const first = await workbench.start(folder, ['--demo']);
      await first.stop();
      const warning = async () => {
        const own = await workbench.start(folder, ['--port', String(first.port)]);
        await own.stop();
        return /still contains data of --demo, with public passwords: (.*)\. Use/.exec(own.stderr())?.[1];
      };
      const clients = ['demo-web', 'demo-api', 'demo-spa', 'demo-cli', 'demo-machine'];
      const all = [...clients.map((id) => `the client ${id}`), 'the user alice'];
      assert.equal(await warning(), all.join(', '));
      for (const id of clients) await grantd(folder, ['client', 'remove', id, '--yes']);
      assert.equal(await warning(), 'the user alice');
      await grantd(folder, ['user', 'remove', 'alice', '--yes']);
      assert.equal(await warning(), undefined);
    });

    test('is refused on an address that others can reach, before anything is made', async () => {
      const folder = await workbench.home();
      const { code, stderr } = await grantd(folder, ['serve', '--demo', '--host', '0.0.0.0', '--port', '0']);
      assert.equal(code, 2);
      assert.match(stderr, /^grantd: --host: expected a loopback address/);
      assert.equal(existsSync(join(folder, 'grantd-data')), false);
    });

    test('is refused on the database of a server that others know', async () => {
      const folder = await workbench.home();
      await grantd(folder, ['client', 'add', 'x', '--issuer', 'https://id.example']);
      const { code, stderr } = await grantd(folder, ['serve', '--demo', '--port', '0']);
      assert.equal(code, 1);
      assert.match(stderr, /belongs to https:\/\/id\.example, and --demo would add public passwords/);
      assert.doesNotMatch((await grantd(folder, ['client', 'list'])).stdout, /demo-/);
    });

    test('leaves a mark: its database is not served to others without --demo either', async () => {
      const args = ['serve', '--host', '0.0.0.0', '--port', '0', '--issuer', server.url];
      const { code, stderr } = await grantd(server.folder, args);
      assert.equal(code, 1);
      assert.match(stderr, /contains demo data with public passwords/);
    });
  });
}

const files = new Workbench();
after(() => files.clear());

test('makes the database and its secret below the current folder, for their owner alone', async () => {
  const server = await files.start(files.folder(), ['--demo']);
  for (const name of ['grantd.db', 'grantd.db.secret']) {
    assert.equal(statSync(join(server.folder, 'grantd-data', name)).mode & 0o777, 0o600, name);
  }
});

for (const path of ['/', '/tenant', '/tenant/']) {
  test(`prints commands that work if the issuer ends in ${path}`, {
    skip: hasCurl ? false : 'there is no curl on this machine',
  }, async () => {
    const port = await freePort();
    const issuer = `http://localhost:${port}${path}`;
    const own = await files.start(files.folder(), ['--demo', '--issuer', issuer, '--port', String(port)]);
    const lines = own
      .stderr()
      .split('\n')
      .map((line) => line.trim());
    const commands = lines.filter((line) => line.startsWith('curl '));
    const [introspected, claims, revoked, introspectedAgain] = commands.map((command) =>
      execFileSync('/bin/sh', ['-c', command], { encoding: 'utf8' }),
    );
    assert.equal(JSON.parse(introspected ?? '').iss, issuer);
    assert.equal(JSON.parse(claims ?? '').email, 'alice@example.com');
    assert.equal(revoked, '');
    assert.equal(introspectedAgain, '{"active":false}');

    // As behind a proxy that removes the path of the issuer.
    const stripped = await (await fetch(`http://localhost:${port}/token/stripped`)).text();
    const expected = `All paths of this server begin with ${path.replace(/\/$/, '')}, because its issuer is ${issuer}.`;
    assert.equal(stripped.includes(expected), path !== '/', stripped);
    assert.doesNotMatch(
      await (await fetch(`${issuer.replace(/\/$/, '')}/unknown`)).text(),
      /All paths of this/,
    );
  });
}

test('`npm start` accepts MCP clients with a document and ones that register, for the server of docs/mcp.md', async () => {
  const { url } = await files.start(files.folder(), DEMO_OPTIONS);
  const metadata = await (await fetch(`${url}/.well-known/oauth-authorization-server`)).json();
  assert.equal(metadata.client_id_metadata_document_supported, true);
  const client = { redirect_uris: ['http://127.0.0.1/callback'], token_endpoint_auth_method: 'none' };
  const registered = await fetch(metadata.registration_endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...client, scope: 'mcp:use' }),
  });
  const { scope, apis } = await registered.json();
  const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'mcp.md'), 'utf8');
  const [, resource] = /client add my-mcp --resource (http:\S+) --api-scope mcp:use/.exec(page) ?? [];
  assert.deepEqual([registered.status, scope, apis], [201, 'mcp:use', [resource]]);
});
