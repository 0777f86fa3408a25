import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { MEMBER_NAMES } from '@grantd/core';
import { exportJWK, generateKeyPair } from 'jose';
import { scriptOf } from '../../core/src/storage/migrations.ts';
import { SQLITE_STORE_TABLES } from '../../core/src/storage/sqlite/schema.ts';
import { createProgram } from '../src/cli/program.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const CALLBACK = 'https://shop.example/callback';

/** Commands that open no database, and `serve`, which takes every option. */
const WITHOUT_DATABASE: ReadonlySet<string> = new Set([
  'grantd serve',
  'grantd follow',
  'grantd health',
  'grantd help',
  'grantd texts',
  'admin openapi',
  'backup verify',
  'backup new-key',
]);

describe('settings of a client', () => {
  let folder: string;
  before(() => {
    folder = workbench.folder();
  });

  const printsJson = async (...args: string[]) => JSON.parse(await grantdPrints(folder, [...args, '--json']));
  const show = (id: string) => printsJson('client', 'show', id);

  test('a grant by JWT that no trusted issuer has for the client is warned about', async () => {
    const home = workbench.folder();
    const grants = [{ clients: ['reports'], subject: 'u-1', claims: { sub: 'job:shop' } }];
    const issuer = { issuer: 'https://jobs.example', grants };
    writeFileSync(join(home, 'issuers.json'), JSON.stringify({ jobs: issuer }));
    const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
    const environment = { GRANTD_TRUSTED_ISSUERS: 'issuers.json' };
    const run = async (args: readonly string[], options = {}) =>
      (await grantd(home, ['client', ...args], options)).stderr;
    const add = ['add', 'reports', '--grant', GRANT, '--scope', 'read'];
    assert.match(
      await run(add),
      /reports cannot use the grant \S+:jwt-bearer, because no trusted issuer is configured/,
    );
    const update = ['update', 'reports', '--grant', GRANT];
    assert.doesNotMatch(await run(update, { environment }), /cannot use the grant/);
    const other = ['add', 'other', '--grant', GRANT, '--scope', 'read'];
    assert.match(
      await run(other, { environment }),
      /other cannot use .* because no grant of a trusted issuer \(GRANTD_TRUSTED_ISSUERS\) has it among/,
    );
    assert.doesNotMatch(await run(['update', 'other', '--name', 'Other']), /cannot use the grant/);
  });

  test('a client whose PKCE is waived is warned about, and shown; a public one is refused', async () => {
    const home = workbench.folder();
    const add = (id: string, ...flags: string[]) =>
      grantd(home, [
        'client',
        'add',
        id,
        '--redirect-uri',
        CALLBACK,
        '--insecure-allow-missing-pkce',
        ...flags,
      ]);
    const warning = /grantd: old may omit PKCE, which exposes it to code injection/;
    assert.match((await add('old')).stderr, warning);
    assert.match(await grantdPrints(home, ['client', 'show', 'old']), /insecure allow missing pkce +true/);
    const update = (...flags: string[]) => grantd(home, ['client', 'update', 'old', ...flags]);
    assert.match((await update('--insecure-allow-missing-pkce')).stderr, warning);
    assert.doesNotMatch((await update('--unset', 'insecure-allow-missing-pkce')).stderr, warning);
    const refused = await add('app', '--public');
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /insecure_allow_missing_pkce|insecure-allow-missing-pkce/);
  });

  test('client add takes everything that a client can be', async () => {
    const { publicKey } = await generateKeyPair('ES256');
    const jwk = { ...(await exportJWK(publicKey)), kid: 'one' };
    writeFileSync(join(folder, 'jwks.json'), JSON.stringify({ keys: [jwk] }));
    const added = await printsJson(
      ...[
        'client',
        'add',
        'shop',
        '--name',
        'Shop',
        '--redirect-uri',
        CALLBACK,
        '--redirect-uri',
        `${CALLBACK}/2`,
      ],
      ...['--scope', 'openid', '--scope', 'email', '--scope', 'openid'],
      ...['--auth-method', 'private_key_jwt', '--jwks-file', 'jwks.json', '--auth-signing-alg', 'ES256'],
      ...['--post-logout-redirect-uri', 'https://shop.example/bye', '--default-max-age', '60'],
      ...[
        '--require-auth-time',
        '--backchannel-logout-session-required',
        'false',
        '--brand-color',
        '#00aa7f',
      ],
      ...[
        '--contact',
        'a@shop.example',
        '--contact',
        'b@shop.example',
        '--localized',
        'client_name#de=Laden = gut',
      ],
      ...['--resource', 'https://api.shop.example', '--access-token-format', 'opaque'],
      ...['--id-token-signed-response-alg', 'ES256', '--rotate-refresh-tokens', 'false'],
      ...['--backchannel-logout-uri', 'https://shop.example/logout', '--assertion-audience', 'endpoint'],
    );
    const { warnings, ...shown } = added;
    assert.deepEqual([warnings, 'client_secret' in added], [[], false]);
    assert.deepEqual(await show('shop'), shown);
    assert.deepEqual(shown, {
      client_id: 'shop',
      client_name: 'Shop',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      scope: 'openid email',
      redirect_uris: [CALLBACK, `${CALLBACK}/2`],
      resource: 'https://api.shop.example',
      access_token_format: 'opaque',
      id_token_signed_response_alg: 'ES256',
      rotate_refresh_tokens: false,
      token_endpoint_auth_method: 'private_key_jwt',
      contacts: ['a@shop.example', 'b@shop.example'],
      jwks: { keys: [jwk] },
      token_endpoint_auth_signing_alg: 'ES256',
      default_max_age: 60,
      require_auth_time: true,
      post_logout_redirect_uris: ['https://shop.example/bye'],
      backchannel_logout_uri: 'https://shop.example/logout',
      backchannel_logout_session_required: false,
      brand_color: '#00aa7f',
      assertion_audience: 'endpoint',
      'client_name#de': 'Laden = gut',
      ...{ type: 'confidential', registered_itself: false },
    });
    const lines = (await grantdPrints(folder, ['client', 'show', 'shop'])).split('\n');
    for (const line of [/^name +Shop$/, /^default max age +60$/, /^client name#de +Laden = gut$/])
      assert.ok(
        lines.some((one) => line.test(one)),
        String(line),
      );
  });

  test('client update changes what is said, unsets what is named, and keeps everything else', async () => {
    const before = await show('shop');
    const updated = await printsJson(
      ...['client', 'update', 'shop', '--name', 'Store', '--redirect-uri', `${CALLBACK}/3`],
      ...['--unset', 'brand-color', '--unset', 'client_name#de', '--unset', 'contact'],
      ...['--unset', 'default_max_age', '--unset', '--resource'],
    );
    assert.equal('client_secret' in updated, false);
    const unset = ['brand_color', 'client_name#de', 'contacts', 'default_max_age', 'resource'];
    const kept = Object.fromEntries(Object.entries(before).filter(([name]) => !unset.includes(name)));
    const changed = { ...kept, client_name: 'Store', redirect_uris: [`${CALLBACK}/3`] };
    assert.deepEqual(await show('shop'), changed);
  });

  test('client update gives a client that needs a secret one, takes it from one that does not, and leaves it otherwise', async () => {
    const update = async (...flags: string[]) => printsJson('client', 'update', 'shop', ...flags);
    const { client_secret: secret } = await update(
      '--auth-method',
      'client_secret_post',
      '--unset',
      'auth-signing-alg',
    );
    assert.match(secret, /^grantd_cs_/);
    assert.equal((await update('--name', 'Shop')).client_secret, undefined);
    assert.equal((await update('--unset', 'auth-method')).client_secret, undefined);
    assert.equal((await show('shop')).type, 'confidential');
    assert.equal((await update('--auth-method', 'none')).client_secret, undefined);
    assert.equal((await show('shop')).type, 'public');
    const { client_secret: another } = await update('--unset', 'auth-method');
    assert.match(another, /^grantd_cs_/, 'without a method, a client needs a secret');
    assert.equal((await show('shop')).type, 'confidential');
  });

  test('client update follows grants with what goes along', async () => {
    await grantdPrints(folder, ['client', 'add', 'machine', '--scope', 'read']);
    await grantdPrints(folder, [
      ...['client', 'update', 'machine', '--grant', 'authorization_code', '--redirect-uri', CALLBACK],
    ]);
    const { grant_types: grants, redirect_uris: uris } = await show('machine');
    assert.deepEqual([grants, uris], [['authorization_code'], [CALLBACK]]);
  });

  test('http redirect URIs off loopback need --insecure-redirect-uris, and wildcards are refused', async () => {
    const other = workbench.folder();
    const expected = 'expected https, or http on loopback; --insecure-redirect-uris allows plain http';
    for (const [args, message] of [
      [['--redirect-uri', 'http://shop.example/cb'], `--redirect-uri: ${expected}`],
      [
        ['--redirect-uri', CALLBACK, '--post-logout-redirect-uri', 'http://shop.example/bye'],
        `--post-logout-redirect-uri: ${expected}`,
      ],
      [
        ['--redirect-uri', 'https://*.shop.example/cb'],
        '--redirect-uri: https://*.shop.example/cb: expected',
      ],
      [['--redirect-uri', 'https://shop.example/*'], '--redirect-uri: https://shop.example/*: expected'],
    ] as const) {
      const { code, stderr } = await grantd(other, ['client', 'add', 'x', ...args]);
      assert.deepEqual([code, stderr.includes(`grantd: ${message}`)], [2, true], stderr);
    }
    for (const uri of [
      'http://localhost:3000/cb',
      'http://127.0.0.1/cb',
      'http://[::1]:1/cb',
      'com.shop:/cb',
    ])
      await grantdPrints(other, ['client', 'add', `own-${uri.length}`, '--redirect-uri', uri]);
    const insecure = ['--redirect-uri', 'http://shop.example/cb', '--insecure-redirect-uris'];
    await grantdPrints(other, ['client', 'add', 'insecure', ...insecure]);
    const { code, stderr } = await grantd(other, [
      'client',
      'update',
      'insecure',
      '--unset',
      'insecure-redirect-uris',
    ]);
    assert.deepEqual([code, stderr.includes(`--redirect-uri: ${expected}`)], [2, true], stderr);
  });

  test('every command on the database takes the common options, and suggests a name for a misspelt one', async () => {
    const program = await createProgram();
    const commands = program.commands
      .flatMap((command) => (command.commands.length > 0 ? command.commands : [command]))
      .filter((command) => !WITHOUT_DATABASE.has(`${command.parent?.name()} ${command.name()}`));
    assert.ok(commands.length > 15);
    for (const command of commands)
      for (const flag of ['--database', '--issuer', '--config', '--insecure-development', '--json'])
        assert.ok(
          command.options.some(({ long }) => long === flag),
          `${command.parent?.name()} ${command.name()} does not take ${flag}`,
        );
    const { code, stderr } = await grantd(folder, ['client', 'show', 'shop', '--insecure-developmnt']);
    assert.equal(code, 2);
    assert.match(stderr, /Did you mean --insecure-development\?/);
  });

  test('what does not fit is said in the words of the command line, and changes nothing', async () => {
    const other = workbench.folder();
    writeFileSync(join(other, 'key.pem'), '-----BEGIN PUBLIC KEY-----\n');
    writeFileSync(join(other, 'single.json'), '{"kty":"OKP","crv":"Ed25519","x":"AAAA"}');
    writeFileSync(join(other, 'empty.json'), '{"keys":[]}');
    writeFileSync(join(other, 'secret.json'), '{"keys":[{"kty":"oct","k":"AAAA"}]}');
    const add = ['client', 'add', 'x'];
    const attempts = [
      [
        [...add, '--redirect-uri', '/callback'],
        '--redirect-uri: /callback: expected an absolute URI without fragment',
      ],
      [[...add, '--grant', 'password'], '--grant: password: expected one of authorization_code'],
      [[...add, '--grant', 'authorization_code'], '--redirect-uri: expected at least one'],
      [[...add, '--scope', 'a"b'], '--scope: expected scopes separated by spaces'],
      [[...add, '--name', ''], '--name: expected a value'],
      [[...add, '--jwks-file', 'none.json'], '--jwks-file: none.json does not exist'],
      [[...add, '--jwks-file', '.'], '--jwks-file: . cannot be read'],
      [[...add, '--jwks-file', 'key.pem'], '--jwks-file: key.pem: expected JSON, got PEM'],
      [[...add, '--jwks-file', 'secret.json'], '--jwks-file: secret.json contains a private key'],
      [
        [...add, '--jwks-file', 'single.json'],
        '--jwks-file: single.json is a single key: expected a key set',
      ],
      [[...add, '--jwks-file', 'empty.json'], '--jwks-file: expected a JWK set'],
      [
        [...add, '--auth-method', 'private_key_jwt'],
        '--auth-method: private_key_jwt needs --jwks-file or --jwks-uri',
      ],
      [[...add, '--default-max-age', 'soon'], '--default-max-age: expected whole seconds'],
      [[...add, '--require-auth-time', 'yes'], '--require-auth-time: expected true or false'],
      [[...add, '--localized', 'name=x'], '--localized: expected MEMBER#TAG=TEXT'],
      [[...add, '--localized', 'shoe_size#de=x'], '--localized: expected MEMBER#TAG=TEXT'],
      [[...add, '--public', '--auth-method', 'private_key_jwt'], 'a --public client does not authenticate'],
      [[...add, '--public', '--secret-stdin'], 'omit --secret-stdin'],
      [['client', 'update', 'x'], 'nothing to update'],
      [['client', 'update', 'x', '--unset', 'shoe-size'], '--unset: expected the name of a setting'],
      [['client', 'update', 'x', '--unset', 'name', '--name', 'y'], '--unset: name is set by another flag'],
    ] as const;
    const outcomes = await Promise.all(attempts.map(([args]) => grantd(other, args)));
    for (const [index, { code, stdout, stderr }] of outcomes.entries()) {
      const [args, message] = attempts[index] ?? [[], ''];
      assert.deepEqual([code, stdout], [2, ''], args.join(' '));
      assert.ok(stderr.includes(message), `${args.join(' ')}: ${stderr}`);
    }
    assert.equal(existsSync(join(other, 'grantd-data')), false);
  });

  test('what the server would never ask for is refused, unless it is for development', async () => {
    const own = workbench.folder();
    await grantdPrints(own, ['client', 'add', 'x', '--scope', 'read']);
    const update = ['client', 'update', 'x'];
    const way = '; if the server runs with --insecure-development, add that flag here too';
    const attempts = [
      ['--backchannel-logout-uri', 'http://localhost:4001/bcl', 'the URL is not https'],
      ['--logo-uri', 'https://10.0.0.1/logo.png', 'the host has an address that is not public'],
      ['--jwks-uri', 'https://localhost/jwks', 'the host has an address that is not public'],
      ['--request-uri', 'https://x.example:80/request', 'the port must be 443, or 1024 or higher'],
    ] as const;
    for (const [flag, url, why] of attempts) {
      const { code, stderr } = await grantd(own, [...update, flag, url]);
      assert.deepEqual(
        [code, stderr],
        [2, `grantd: ${flag}: the server never fetches ${url}: ${why}${way}\n`],
      );
    }
    const { code } = await grantd(own, ['client', 'add', 'y', '--logo-uri', 'http://127.0.0.1/logo.png']);
    assert.equal(code, 2);
    const [flag, url] = attempts[0];
    await grantdPrints(own, [...update, flag, url, '--insecure-development']);
    await grantdPrints(own, [...update, '--name', 'what is there already is not asked about again']);
    await grantdPrints(own, [...update, '--logo-uri', 'https://x.example/logo.png']);
  });

  test('an operator is warned of a name that looks like another, and may keep it', async () => {
    const mixed = ['--name', 'P\u0430ypal'];
    for (const args of [
      ['add', 'named', '--scope', 'read', ...mixed],
      ['update', 'named', ...mixed],
    ]) {
      const { code, stderr } = await grantd(folder, ['client', ...args]);
      assert.equal(code, 0, stderr);
      assert.match(
        stderr,
        /users may not recognise the name of named: expected a name in letters of one script/,
      );
    }
    const { stderr } = await grantd(folder, ['client', 'update', 'named', '--name', 'Paypal']);
    assert.doesNotMatch(stderr, /recognise/);
  });

  test('a redirect URI has a scheme that fits the application, and what is stored stays', async () => {
    const home = workbench.folder();
    const add = (id: string, uri: string, ...args: string[]) =>
      grantd(home, ['client', 'add', id, '--scope', 'openid', '--redirect-uri', uri, ...args]);
    const web = ['--application-type', 'web'];
    for (const [uri, args, expected] of [
      ['localhost:3000/cb', [], 'https:// or http:// before the host'],
      ['app.example.com:3000/cb', [], 'https:// or http:// before the host'],
      ['myapp:/cb', [], 'https, http or a scheme with a period'],
      ['com.example.app:/cb', web, 'https or http for a web application'],
    ] as const) {
      const { code, stderr } = await add('unfit', uri, ...args);
      assert.equal(code, 2, uri);
      assert.ok(stderr.includes(`${uri}: expected ${expected}`), stderr);
    }
    assert.equal((await add('phone', 'com.example.app:/cb')).code, 0);
    assert.equal((await add('editor', 'editor://cb', '--application-type', 'native')).code, 0);
    const named = await grantd(home, ['client', 'update', 'editor', '--name', 'Editor']);
    assert.equal(named.code, 0, named.stderr);
    assert.equal((await grantd(home, ['client', 'update', 'editor', ...web])).code, 2);
  });

  test('a change of its pairwise identifiers ends the tokens of a client, and no other change does', async () => {
    const home = workbench.folder();
    const prints = (...args: string[]) => grantdPrints(home, args);
    await grantd(home, ['user', 'add', 'bob', '--password-stdin'], { input: 'correct horse battery' });
    const [a, b] = ['https://a.example/cb', 'https://b.example/cb'];
    const pairwise = { subject_type: 'pairwise', redirect_uris: [a] };
    const changes: readonly (readonly [ends: boolean, before: object, after: object])[] = [
      [true, pairwise, { redirect_uris: [a] }],
      [true, pairwise, { ...pairwise, redirect_uris: [b] }],
      [true, pairwise, { ...pairwise, redirect_uris: ['com.example.app:/cb'] }],
      [false, pairwise, { ...pairwise, redirect_uris: [a, `${a}/2`] }],
      [false, pairwise, { ...pairwise, client_name: 'App' }],
      [false, { redirect_uris: [a] }, pairwise],
      [false, { redirect_uris: [a] }, { redirect_uris: [b] }],
    ];
    const apply = async (client: object) => {
      const document = { token_endpoint_auth_method: 'none', scope: 'openid', ...client };
      const input = JSON.stringify({ clients: { app: document } });
      return grantd(home, ['apply', '-f', '-', '--yes'], { input });
    };
    const update = async (client: {
      redirect_uris?: readonly string[];
      subject_type?: string;
      client_name?: string;
    }) =>
      grantd(home, [
        ...['client', 'update', 'app'],
        ...(client.redirect_uris ?? []).flatMap((uri) => ['--redirect-uri', uri]),
        ...(client.subject_type === undefined
          ? ['--unset', 'subject-type']
          : ['--subject-type', client.subject_type]),
        ...(client.client_name === undefined ? [] : ['--name', client.client_name]),
      ]);
    for (const change of [apply, update])
      for (const [ends, before, after] of changes) {
        const about = `${change.name} ${JSON.stringify([before, after])}`;
        const applied = await apply(before);
        assert.equal(applied.code, 0, applied.stderr);
        const token = await prints('token', 'issue', '--client', 'app', '--user', 'bob');
        const { code, stderr } = await change(after);
        assert.equal(code, 0, stderr);
        assert.equal(/revoked the tokens of app/.test(stderr), ends, about);
        const explained = JSON.parse(await prints('token', 'explain', token, '--json'));
        assert.equal(explained.active, !ends, about);
      }
  });

  test('client remove ends its tokens, also when its identifier is given again', async () => {
    await grantdPrints(folder, ['client', 'add', 'gone', '--scope', 'read']);
    const token = await grantdPrints(folder, ['token', 'issue', '--client', 'gone']);
    const unsure = await grantd(folder, ['client', 'remove', 'gone']);
    assert.deepEqual([unsure.code, unsure.stdout], [2, '']);
    assert.match(unsure.stderr, /--yes: required, because a removal cannot be undone/);
    assert.deepEqual(await printsJson('client', 'remove', 'gone', '--yes'), {
      client_id: 'gone',
      removed: true,
    });
    await grantdPrints(folder, ['client', 'add', 'gone', '--scope', 'read']);
    const explained = JSON.parse(await grantdPrints(folder, ['token', 'explain', token, '--json']));
    assert.equal(explained.active, false);
    for (const args of [
      ['remove', '--yes'],
      ['update', '--name', 'x'],
    ]) {
      const { code, stderr } = await grantd(folder, ['client', ...args, 'nobody']);
      assert.deepEqual([code, /there is no client nobody/.test(stderr)], [1, true]);
    }
  });
});

describe('APIs of a client', () => {
  const BANK = 'https://bank.example';
  const MAIL = 'https://mail.example';
  let folder: string;
  before(async () => {
    folder = workbench.folder();
    for (const [id, uri, scope] of [
      ['bank', BANK, 'pay'],
      ['mail', MAIL, 'send'],
    ] as const)
      await grantdPrints(folder, ['client', 'add', id, '--resource', uri, '--api-scope', scope]);
  });
  const run = (...args: string[]) => grantd(folder, args);

  test('client add names the APIs and scopes of a client, and no API that is not there', async () => {
    const { code, stderr } = await run('client', 'add', 'app', '--scope', 'pay', '--api', `${BANK}/v1`);
    assert.deepEqual([code, stderr.includes(`no client has the resource URI ${BANK}/v1`)], [1, true], stderr);
    const added = await run('client', 'add', 'app', '--scope', 'pay', '--scope', 'send', '--api', BANK);
    assert.equal(added.code, 0, added.stderr);
    assert.ok(
      added.stderr.includes(
        `app cannot get the scope send, which belongs to ${MAIL}. To allow it, run grantd client update app --api ${BANK} --api ${MAIL}`,
      ),
      added.stderr,
    );
    const mistyped = await run(
      'client',
      'update',
      'app',
      '--scope',
      'pay',
      '--scope',
      'payy',
      '--scope',
      'a;b',
    );
    for (const [scope, advice] of [
      ['payy', 'Check its spelling'],
      ['a;b', 'Separate scopes with spaces'],
    ])
      assert.ok(
        mistyped.stderr.includes(
          `no API of this server has the scope ${scope} of app, and no text describes it. ${advice}`,
        ),
        mistyped.stderr,
      );
    assert.equal((await run('scope', 'add', 'payy', '--name', 'Pay')).code, 0);
    const described = await run('client', 'update', 'app', '--scope', 'pay', '--scope', 'payy');
    assert.doesNotMatch(described.stderr, /no API of this server/);
    await run('client', 'update', 'app', '--scope', 'pay', '--scope', 'send');
    assert.match((await run('client', 'show', 'app')).stdout, /^apis +https:\/\/bank\.example$/m);
    assert.match((await run('client', 'show', 'bank')).stdout, /^api scopes +pay$/m);
  });

  test('token issue names an API, and says which one it cannot', async () => {
    const issue = ['token', 'issue', '--client', 'app'];
    const { stdout: token } = await run(...issue, '--resource', BANK);
    const explained = JSON.parse((await run('token', 'explain', token.trim(), '--json')).stdout);
    assert.deepEqual(
      [explained.claims?.aud ?? explained.aud, explained.claims?.scope ?? explained.scope],
      [BANK, 'pay'],
    );
    const { code, stderr } = await run(...issue, '--resource', MAIL);
    assert.deepEqual(
      [code, stderr],
      [1, `grantd: a resource is not registered, or not for this client: ${MAIL}\n`],
    );
  });
});

test('the migration of a file says once what it assumed, and how to narrow it', async () => {
  const folder = workbench.folder();
  await grantdPrints(folder, ['client', 'add', 'api', '--resource', 'https://api.example']);
  await grantdPrints(folder, ['client', 'add', 'job', '--scope', 'read']);
  const path = join(folder, 'grantd-data', 'grantd.db');
  const database = new DatabaseSync(path);
  database.exec('PRAGMA foreign_keys = OFF');
  const rows = database.prepare('SELECT id, grant_types, scopes, redirect_uris, resource FROM clients').all();
  const { issuer } = database.prepare('SELECT issuer FROM issuers').get() ?? {};
  for (const { type, name } of database
    .prepare(
      "SELECT type, name FROM sqlite_schema WHERE type IN ('view', 'table') AND name NOT LIKE 'sqlite_%' ORDER BY type DESC",
    )
    .all())
    database.exec(`DROP ${type} "${name}"`);
  for (const migration of SQLITE_STORE_TABLES.migrations.slice(0, 4)) database.exec(scriptOf(migration));
  database.exec('PRAGMA user_version = 4');
  database.prepare('INSERT INTO issuers (id, issuer) VALUES (1, ?)').run(String(issuer));
  for (const row of rows)
    database
      .prepare(
        'INSERT INTO clients (issuer_id, id, grant_types, scopes, redirect_uris, resource) VALUES (1, ?, ?, ?, ?, ?)',
      )
      .run(...Object.values(row));
  database.exec(`
    INSERT INTO clients (issuer_id, id, grant_types, scopes, redirect_uris, registration_token_digest)
    VALUES (1, 'stranger', '["authorization_code"]', '["openid"]', '[]', 'digest')`);
  database.close();

  const migrated = await grantd(folder, ['migrate', 'up']);
  assert.equal(migrated.code, 0, migrated.stderr);
  assert.deepEqual(migrated.stderr.trim().split('\n'), [
    'grantd: migration: every client that an operator added may request every registered API: job',
    'grantd: migration: restrict clients with grantd client update ID --api URI, and declare the scopes of APIs with grantd client update API --api-scope SCOPE',
    'grantd: migration: self-registered clients (1) may request no API: allow APIs with grantd client update ID --api URI, and --registration-apis for new ones',
  ]);
  const issue = ['token', 'issue', '--client', 'job', '--resource', 'https://api.example'];
  const { code, stderr } = await grantd(folder, issue);
  assert.deepEqual([code, stderr], [0, '']);
});

test('every member of a client has a flag, and no two have the same', async () => {
  const add = (await createProgram()).commands
    .find((command) => command.name() === 'client')
    ?.commands.find((command) => command.name() === 'add');
  const flags = add?.options.map(({ long }) => long) ?? [];
  assert.equal(new Set(flags).size, flags.length);
  const besides = [
    'config',
    'database',
    'secret-file',
    'issuer',
    'create',
    'insecure-development',
    'json',
    'url',
  ];
  const ofClients = ['localized', 'secret-stdin', 'public', 'no-consent'];
  // One per member, except response_types, which follows from the grants.
  assert.equal(flags.length, MEMBER_NAMES.length - 1 + besides.length + ofClients.length);
  for (const name of [...besides, ...ofClients]) assert.ok(flags.includes(`--${name}`), name);
});
