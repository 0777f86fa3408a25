// Long: one command, with every change that a file can make.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Validator } from '@cfworker/json-schema';
import { MEMBER_NAMES } from '@grantd/core';
import { parse } from 'yaml';
import { ADMIN_SCOPES } from '../src/instance/admin_access.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { DATABASES } from './harness/databases.ts';
import { type RunningServer, Workbench } from './harness/program.ts';

const FILE = `# Our clients
clients:
  # The web shop
  shop:
    client_name: Shop
    client_name#de: Laden
    redirect_uris: [https://shop.example/callback]
    scope: openid orders:read
    apis: [https://orders.example]
    secret: {env: SHOP_SECRET}
  reports:
    scope: orders:read
    apis: [https://orders.example]
    secret: {file: reports.secret}
  # After its clients, although they need it
  orders-api:
    resource: https://orders.example
    api_scopes: [orders:read]
    scope_texts:
      orders:read: {name: Read your orders, name#de: Bestellungen lesen}
    secret: {env: ORDERS_SECRET}
scope_texts:
  openid: {name: Know who you are}
`;

const ENVIRONMENT = { SHOP_SECRET: 'secret-of-the-shop', ORDERS_SECRET: 'secret-of-orders' };
const REPORTS_SECRET = 'secret-of-reports';
const SECRETS = [...Object.values(ENVIRONMENT), REPORTS_SECRET];

/** The file without the lines of one client, up to the next. */
const withoutReports = FILE.replace(/ {2}reports:[^#]*(?= {2}#)/, '');

/** The database does not depend on how its changes arrive, so one of them is enough. */
const PLACES = DATABASES.flatMap((database, index) =>
  [false, true].slice(0, index === 0 ? 2 : 1).map((isRemote) => ({ database, isRemote })),
);

for (const { database, isRemote } of PLACES) {
  const name = `grantd apply and export on ${database.name}${isRemote ? ' with --url' : ''}`;
  describe(name, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    const servers = new Map<string, RunningServer>();
    after(() => workbench.clear());

    async function newHome(file = FILE): Promise<string> {
      const folder = await workbench.home();
      writeFileSync(join(folder, 'grantd.yaml'), file);
      writeFileSync(join(folder, 'reports.secret'), `${REPORTS_SECRET}\n`, { mode: 0o600 });
      if (isRemote) {
        const server = await workbench.start(folder, ['--admin-api', '--registration', 'open']);
        servers.set(folder, server);
        const scopes = Object.keys(ADMIN_SCOPES).flatMap((scope) => ['--scope', scope]);
        const add = ['client', 'add', 'ops', '--api', `${server.url}/admin`, ...scopes, '--json'];
        const { client_secret: secret } = JSON.parse(await grantdPrints(folder, add));
        writeFileSync(join(folder, 'ops.secret'), secret, { mode: 0o600 });
      }
      return folder;
    }
    const serverIn = async (folder: string) =>
      servers.get(folder) ?? (await workbench.start(folder, ['--registration', 'open']));
    /** Runs a command on the machine of the server, or with `--url`. */
    const runAs = (folder: string, args: readonly string[]) => {
      const access = { GRANTD_ADMIN_CLIENT_ID: 'ops', GRANTD_ADMIN_CLIENT_SECRET_FILE: 'ops.secret' };
      const server = servers.get(folder);
      return grantd(folder, server === undefined ? args : [...args, '--url', server.url], {
        environment: { ...ENVIRONMENT, ...(isRemote && access) },
      });
    };
    const run = (folder: string, ...args: string[]) => runAs(folder, ['apply', '-f', 'grantd.yaml', ...args]);
    async function exportedIn(folder: string, ...args: string[]) {
      const { code, stdout, stderr } = await runAs(folder, ['export', ...args]);
      assert.equal(code, 0, stderr);
      // The client of the commands is not part of the file.
      return stdout.replace(/ {2}ops:\n(?: {4}.*\n)+/, '');
    }
    async function applied(folder: string, ...args: string[]) {
      const { code, stdout, stderr } = await run(folder, '--yes', '--json', ...args);
      assert.equal(code, 0, stderr);
      return JSON.parse(stdout);
    }
    const asked = (result: { changes: readonly { action: string; kind: string; name: string }[] }) =>
      result.changes.map(({ action, kind, name }) => `${action} ${kind} ${name}`);

    describe('on a running server', () => {
      let folder: string;
      let server: RunningServer;
      before(async () => {
        folder = await newHome();
        server = await serverIn(folder);
        assert.deepEqual(asked(await applied(folder)), [
          'add client orders-api',
          'add client shop',
          'add client reports',
          'add scope orders:read of orders-api',
          'add scope openid',
        ]);
      });

      const tokenFor = async (secret: string) => {
        const response = await fetch(`${server.url}/token`, {
          method: 'POST',
          headers: { authorization: `Basic ${btoa(`reports:${secret}`)}` },
          body: new URLSearchParams({ grant_type: 'client_credentials', resource: 'https://orders.example' }),
        });
        return { status: response.status, body: await response.json() };
      };

      test('clients authenticate with the secrets to which the file refers, and get what it allows', async () => {
        const { status, body } = await tokenFor(REPORTS_SECRET);
        assert.equal(status, 200);
        assert.equal(body.scope, 'orders:read');
        const introspected = await fetch(`${server.url}/token/introspect`, {
          method: 'POST',
          headers: { authorization: `Basic ${btoa(`orders-api:${ENVIRONMENT.ORDERS_SECRET}`)}` },
          body: new URLSearchParams({ token: body.access_token }),
        });
        assert.equal((await introspected.json()).active, true);
      });

      test('a second run changes nothing', async () => {
        const { code, stdout } = await run(folder, '--yes');
        assert.equal(code, 0);
        assert.equal(stdout, 'done: 0 changes, 5 unchanged\n');
      });

      test('a new secret works at once, and the old one for another day', async () => {
        writeFileSync(join(folder, 'reports.secret'), 'the-next-secret', { mode: 0o600 });
        const { stdout } = await run(folder, '--yes');
        assert.equal(stdout, '~ client reports\n    secret: replaced\ndone: 1 change, 4 unchanged\n');
        assert.equal((await tokenFor('the-next-secret')).status, 200);
        assert.equal((await tokenFor(REPORTS_SECRET)).status, 200);
        const { secrets } = JSON.parse(await grantdPrints(folder, ['client', 'show', 'reports', '--json']));
        const left = Date.parse(secrets[1].ends_at) - Date.now();
        assert.ok(left > 23 * 3600_000 && left <= 24 * 3600_000, secrets[1].ends_at);
        assert.deepEqual(asked(await applied(folder)), []);
      });

      test('disabling a client revokes its tokens at once; enabling brings none back', async () => {
        const { body } = await tokenFor('the-next-secret');
        const active = async () => {
          const explained = await grantd(folder, ['token', 'explain', '-', '--json'], {
            input: body.access_token,
          });
          return JSON.parse(explained.stdout).state ?? explained.stdout;
        };
        const before = await active();
        const file = (text: string) => writeFileSync(join(folder, 'grantd.yaml'), text);
        file(FILE.replace('  reports:\n', '  reports:\n    disabled: true\n'));
        const { stdout } = await run(folder, '--yes');
        assert.equal(stdout, '~ client reports\n    disabled: false → true\ndone: 1 change, 4 unchanged\n');
        assert.equal((await tokenFor('the-next-secret')).status, 401);
        file(FILE);
        await applied(folder);
        assert.equal((await tokenFor('the-next-secret')).status, 200);
        assert.notDeepEqual(await active(), before);
      });
    });

    test('what the file leaves out stays, unless --prune; self-registered clients always stay', async () => {
      const folder = await newHome();
      const server = await serverIn(folder);
      await applied(folder);
      const response = await fetch(`${server.url}/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ redirect_uris: ['https://stranger.example/cb'] }),
      });
      const { client_id: stranger } = await response.json();
      if (!isRemote) await server.stop();
      writeFileSync(
        join(folder, 'grantd.yaml'),
        withoutReports.replace(/scope_texts:\n {2}openid.*\n/, 'scope_texts: {}\n'),
      );
      assert.deepEqual(asked(await applied(folder)), []);
      assert.deepEqual(asked(await applied(folder, '--prune')), [
        'remove scope openid',
        'remove client reports',
      ]);
      const ids = JSON.parse(await grantdPrints(folder, ['client', 'list', '--json'])).map(
        ({ client_id: id }: { client_id: string }) => id,
      );
      // The client that sends the file stays too.
      const sender = isRemote ? ['ops'] : [];
      assert.deepEqual(ids.sort(), ['orders-api', 'shop', stranger, ...sender].sort());
      // Without its section, nothing of a kind is removed.
      writeFileSync(join(folder, 'grantd.yaml'), 'scope_texts: {}\n');
      assert.deepEqual(asked(await applied(folder, '--prune')), []);
    });

    test('groups come with their members; members and groups leave only with --prune', async () => {
      const folder = await newHome('groups: {}\n');
      await applied(folder);
      for (const name of ['bob', 'carol', 'dan'])
        await grantdPrints(folder, ['user', 'add', name, '--password-stdin'], 'correct horse battery');
      const write = (text: string) => writeFileSync(join(folder, 'grantd.yaml'), text);
      const clients = `clients:
  payroll:
    redirect_uris: [https://payroll.example/cb]
    token_endpoint_auth_method: none
    allowed_groups: [staff]
`;
      write(`groups:
  staff: {description: Everyone on the payroll, members: [bob, carol]}
  guests: {sign_in_policy: password}
${clients}`);
      const unknown = await run(folder, '--yes');
      assert.match(unknown.stderr, /^grantd: grantd\.yaml:3:12: groups\.guests\.sign_in_policy: expected /m);
      write(`groups:
  staff: {description: Everyone on the payroll, members: [bob, carol], sign_in_policy: second_factor}
  guests: {}
${clients}`);
      assert.deepEqual(asked(await applied(folder)), [
        'add group staff',
        'add group guests',
        'add client payroll',
      ]);
      assert.deepEqual(asked(await applied(folder)), []);
      const exported = await exportedIn(folder);
      assert.ok(
        exported.includes(
          'staff:\n    description: Everyone on the payroll\n    sign_in_policy: second_factor\n',
        ),
        exported,
      );
      assert.ok(!exported.includes('bob'));

      // Members that others added stay, and are exported where the file lists members.
      await grantdPrints(folder, ['group', 'add-member', 'staff', 'dan']);
      assert.deepEqual(asked(await applied(folder)), []);
      const kept = readFileSync(join(folder, 'grantd.yaml'), 'utf8');
      await exportedIn(folder, 'grantd.yaml');
      assert.deepEqual(parse(readFileSync(join(folder, 'grantd.yaml'), 'utf8')).groups, {
        staff: {
          ...{ description: 'Everyone on the payroll', sign_in_policy: 'second_factor' },
          members: ['bob', 'carol', 'dan'],
        },
        guests: {},
      });
      write(kept);
      const { changes } = await applied(folder, '--prune');
      assert.deepEqual(changes, [
        {
          ...{ action: 'change', kind: 'group', name: 'staff' },
          members: [{ name: 'members removed', after: ['dan'] }],
        },
      ]);
      const members = async () =>
        JSON.parse(await grantdPrints(folder, ['user', 'list', '--group', 'staff', '--json'])).map(
          ({ username }: { username: string }) => username,
        );
      assert.deepEqual(await members(), ['bob', 'carol']);

      write(`groups:\n  guests: {description: Visitors}\n${clients}`);
      const refused = await run(folder, '--yes', '--prune');
      assert.equal(refused.code, 2);
      assert.match(
        refused.stderr,
        /^grantd: grantd\.yaml:4:5: clients\.payroll\.allowed_groups: there is no group staff$|^grantd: grantd\.yaml:1:1: groups: the client payroll is for the group staff$/m,
      );
      write(`groups:\n  guests: {description: Visitors}\n${clients.replace('staff', 'guests')}`);
      assert.deepEqual(asked(await applied(folder, '--prune')), [
        'change group guests',
        'change client payroll',
        'remove group staff',
      ]);
    });

    test('an export leads to the same database, and to a like one elsewhere', async () => {
      const folder = await newHome();
      await applied(folder);
      const text = await exportedIn(folder);
      for (const secret of SECRETS) assert.ok(!text.includes(secret));
      writeFileSync(join(folder, 'grantd.yaml'), text);
      assert.deepEqual(asked(await applied(folder)), []);

      const elsewhere = await newHome(text);
      const refused = await run(elsewhere, '--yes');
      assert.equal(refused.code, 2);
      assert.match(
        refused.stderr,
        /^grantd: grantd\.yaml:\d+:3: clients\.orders-api: expected secret: \{ env: /m,
      );
      writeFileSync(
        join(elsewhere, 'grantd.yaml'),
        text.replaceAll(/# secret: .*$/gm, 'secret: { env: SHOP_SECRET }'),
      );
      await applied(elsewhere);
      assert.equal(await exportedIn(elsewhere), text);
    });
  });
}

describe('a file of grantd apply', () => {
  const workbench = new Workbench();
  after(() => workbench.clear());

  async function refusal(file: string, environment: Readonly<Record<string, string>> = ENVIRONMENT) {
    const folder = workbench.folder();
    writeFileSync(join(folder, 'grantd.yaml'), file);
    writeFileSync(join(folder, 'reports.secret'), REPORTS_SECRET, { mode: 0o600 });
    const outcome = await grantd(folder, ['apply', '-f', 'grantd.yaml', '--yes'], { environment });
    assert.notEqual(outcome.code, 0);
    const list = await grantd(folder, ['client', 'list', '--json']);
    if (list.code === 0) assert.equal(list.stdout, '[]\n', 'something was written');
    for (const secret of SECRETS) assert.ok(!`${outcome.stdout}${outcome.stderr}`.includes(secret));
    return outcome.stderr.replaceAll(/^grantd: creating the database.*\n/gm, '');
  }

  test('asks for the secret of a new client that names neither a secret nor another way to authenticate', async () => {
    assert.match(
      await refusal('clients: {shop: {scope: a}}\n'),
      /^grantd: grantd\.yaml:1:11: clients\.shop: expected secret: \{ env: /,
    );
  });

  test('is refused as a whole, with the place of everything that is wrong', async () => {
    const file = FILE.replace('redirect_uris:', 'redirect_uri:')
      .replace('api_scopes: [orders:read]', 'api_scope: orders:read')
      .replace('{env: ORDERS_SECRET}', 'secret-of-orders')
      .replace('name#de: Best', 'title: Best');
    assert.equal(
      await refusal(file),
      [
        'grantd: grantd.yaml:7:5: clients.shop.redirect_uri: unknown name. Did you mean redirect_uris?',
        'grantd: grantd.yaml:18:5: clients.orders-api.api_scope: unknown name. Did you mean api_scopes?',
        'grantd: grantd.yaml:21:5: clients.orders-api.secret: expected { env: VARIABLE } or { file: PATH }, because the file holds no secrets',
        'grantd: grantd.yaml:20:7: clients.orders-api.scope_texts.orders:read: title: expected name or description, or either with a language tag, such as name#de',
        '',
      ].join('\n'),
    );
  });

  test('is refused with the place of what the server would refuse', async () => {
    const file = FILE.replace('[https://shop.example/callback]', '[https://shop.example/*]').replace(
      'apis: [https://orders.example]\n    secret: {file',
      'apis: [https://order.example]\n    secret: {file',
    );
    const lines = (await refusal(file)).split('\n');
    assert.match(
      lines[0] ?? '',
      /^grantd: grantd\.yaml:7:21: clients\.shop\.redirect_uris\.0: expected no fragment/,
    );
    assert.equal(
      lines[1],
      'grantd: grantd.yaml:13:5: clients.reports.apis: no enabled client has the resource URI https://order.example',
    );
  });

  test('is refused with the place of groups and members that cannot be', async () => {
    assert.equal(
      await refusal(`groups:
  staff: {member: [bob]}
  guests: {members: bob, description: 7}
  " ": {}
`),
      [
        'grantd: grantd.yaml:2:11: groups.staff.member: unknown name. Did you mean members?',
        'grantd: grantd.yaml:3:26: groups.guests.description: expected a text, in quotes if it is a number or true or false',
        'grantd: grantd.yaml:3:12: groups.guests.members: expected a list of at most 1000 usernames',
        'grantd: grantd.yaml:4:3: groups. : expected visible characters, at most 128, got " "',
        '',
      ].join('\n'),
    );
    assert.equal(
      await refusal('groups: {"a, b": {}}'),
      'grantd: grantd.yaml:1:10: groups.a, b: expected no comma, because options separate the names of groups by commas\n',
    );
    assert.equal(
      await refusal(`groups: {staff: {members: [bob]}}
clients:
  app: {redirect_uris: ["https://a.example/cb"], token_endpoint_auth_method: none, allowed_groups: [stuff]}
`),
      [
        'grantd: grantd.yaml:1:18: groups.staff.members: there is no user bob',
        'grantd: grantd.yaml:3:84: clients.app.allowed_groups: there is no group stuff',
        '',
      ].join('\n'),
    );
  });

  test('is refused with one sentence about what belongs to the configuration', async () => {
    assert.equal(
      await refusal('providers: {google: {kind: google}}\nsign_in_policy: second_factor\nusers: {}\n'),
      [
        'grantd: grantd.yaml:1:1: providers: identity providers belong to the configuration of the server: name their file with --providers, and restart or reload the server',
        'grantd: grantd.yaml:2:1: sign_in_policy: the sign-in policy of the server belongs to its configuration: set it with --sign-in-policy, or give a group or a client a sign_in_policy',
        'grantd: grantd.yaml:3:1: users: users are not part of this file: add them with grantd user import',
        '',
      ].join('\n'),
    );
  });

  test('that is not YAML is refused without its text', async () => {
    assert.equal(
      await refusal('clients:\n  a: {secret: [secret-of-the-shop\n'),
      'grantd: grantd.yaml:3:1: Flow sequence in block collection must be sufficiently indented and end with a ]\n',
    );
    assert.match(
      await refusal('clients: {}\nclients: {}\n'),
      /^grantd: grantd\.yaml:2:1: expected each key of a map once/,
    );
    assert.match(await refusal('- clients\n'), /^grantd: grantd\.yaml: expected names with values$/m);
  });

  test('whose aliases grow without limit, or that has tags of YAML, is refused', async () => {
    const bomb = Array.from(
      { length: 9 },
      (_, level) => `a${level}: &a${level} [${`${level === 0 ? 'x' : `*a${level - 1}`},`.repeat(9)}]\n`,
    );
    const folder = workbench.folder();
    const refused = await grantd(folder, ['apply', '-f', '-', '--dry-run'], { input: bomb.join('') });
    assert.deepEqual(
      [refused.code, refused.stderr],
      [2, 'grantd: standard input: Excessive alias count indicates a resource exhaustion attack\n'],
    );
    // These would be read as a section without clients.
    for (const clients of ['!!set {a, b}', '!!omap [a: {}]'])
      assert.match(await refusal(`clients: ${clients}\n`), /^grantd: grantd\.yaml:1:10: Unresolved tag/);
  });

  test('whose secrets are missing or too short is refused by the name of the source', async () => {
    assert.equal(
      await refusal(FILE, { SHOP_SECRET: 'short' }),
      'grantd: grantd.yaml:10:5: clients.shop.secret: the variable SHOP_SECRET has no secret: expected at least 8 ASCII characters\n' +
        'grantd: grantd.yaml:21:5: clients.orders-api.secret: the variable ORDERS_SECRET is missing or empty\n',
    );
  });

  test('may be JSON, and come from standard input', async () => {
    const folder = workbench.folder();
    const input = JSON.stringify({
      clients: { app: { redirect_uris: ['http://127.0.0.1/cb'], token_endpoint_auth_method: 'none' } },
    });
    const { code, stdout } = await grantd(folder, ['apply', '-f', '-', '--yes'], { input });
    assert.equal(code, 0);
    assert.match(stdout, /^\+ client app\n/);
  });

  test('needs --yes without a terminal; a dry run writes nothing, not even a database', async () => {
    const folder = workbench.folder();
    writeFileSync(join(folder, 'grantd.yaml'), FILE);
    writeFileSync(join(folder, 'reports.secret'), REPORTS_SECRET, { mode: 0o600 });
    const apply = (...args: string[]) =>
      grantd(folder, ['apply', '-f', 'grantd.yaml', ...args], { environment: ENVIRONMENT });
    const unsure = await apply();
    assert.equal(unsure.code, 2);
    assert.match(unsure.stderr, /^grantd: --yes: required without a terminal/);
    assert.equal((await apply('--dry-run')).code, 1);
    assert.equal(existsSync(join(folder, 'grantd-data')), false);
    assert.equal((await apply('--yes')).code, 0);
    writeFileSync(join(folder, 'grantd.yaml'), FILE.replace('client_name: Shop', 'client_name: Store'));
    const dry = await apply('--dry-run');
    assert.equal(dry.code, 0);
    assert.equal(
      dry.stdout,
      '~ client shop\n    client_name: Shop → Store\nnot applied: 1 change, 4 unchanged\n',
    );
    assert.match(await grantdPrints(folder, ['client', 'show', 'shop']), /^name +Shop$/m);
  });

  test('keeps comments, order and references to secrets when grantd export updates it', async () => {
    const folder = workbench.folder();
    writeFileSync(join(folder, 'grantd.yaml'), FILE);
    writeFileSync(join(folder, 'reports.secret'), REPORTS_SECRET, { mode: 0o600 });
    await grantd(folder, ['apply', '-f', 'grantd.yaml', '--yes'], { environment: ENVIRONMENT });
    assert.equal(await grantdPrints(folder, ['export', 'grantd.yaml']), 'wrote 3 clients to grantd.yaml');
    const content = () => readFileSync(join(folder, 'grantd.yaml'), 'utf8');
    assert.equal(content(), FILE);
    await grantdPrints(folder, ['client', 'update', 'shop', '--name', 'Store', '--unset', 'client_name#de']);
    await grantdPrints(folder, ['client', 'remove', 'reports', '--yes']);
    await grantdPrints(folder, ['export', 'grantd.yaml']);
    assert.equal(
      content(),
      withoutReports.replace('client_name: Shop\n    client_name#de: Laden', 'client_name: Store'),
    );
  });

  test('keeps its byte order mark and line ends, and as a whole if nothing has changed', async () => {
    const folder = workbench.folder();
    const path = join(folder, 'grantd.yaml');
    await grantdPrints(folder, ['client', 'add', 'a', '--scope', 'read']);
    const file = '\uFEFFclients:\r\n  a:   { scope:   "read" } # a\r\nscope_texts: {}\r\n';
    writeFileSync(path, file);
    await grantdPrints(folder, ['export', 'grantd.yaml']);
    assert.equal(readFileSync(path, 'utf8'), file);
    await grantdPrints(folder, ['client', 'update', 'a', '--scope', 'write']);
    await grantdPrints(folder, ['export', 'grantd.yaml']);
    assert.equal(
      readFileSync(path, 'utf8'),
      '\uFEFFclients:\r\n  a: {scope: "write"} # a\r\nscope_texts: {}\r\n',
    );
  });

  test('with null where names belong is refused, and {} means none', async () => {
    const folder = workbench.folder();
    const add = ['client', 'add', 'kept', '--public', '--redirect-uri', 'http://127.0.0.1/cb'];
    await grantdPrints(folder, add);
    const clients = async () => JSON.parse(await grantdPrints(folder, ['client', 'list', '--json'])).length;
    const file = { redirect_uris: ['http://127.0.0.1/cb'], token_endpoint_auth_method: 'none' };
    const nulls: unknown[] = [
      ...['groups', 'clients', 'scope_texts'].map((section) => ({ [section]: null })),
      { groups: { staff: null } },
      { groups: { staff: { members: null } } },
      { groups: { staff: { description: null } } },
      { groups: { staff: { sign_in_policy: null } } },
      { clients: { kept: null } },
      { clients: { kept: { ...file, secret: null } } },
      { clients: { kept: { ...file, disabled: null } } },
      { clients: { kept: { ...file, resource: 'https://kept.example', scope_texts: null } } },
      { scope_texts: { email: null } },
      ...MEMBER_NAMES.map((name) => ({ clients: { kept: { ...file, [name]: null } } })),
    ];
    for (const content of nulls) {
      const input = JSON.stringify(content);
      const { code, stderr } = await grantd(folder, ['apply', '-f', '-', '--prune', '--yes'], { input });
      assert.equal(code, 2, input);
      assert.match(stderr, /^grantd: standard input:1:\d+: (?:groups|clients|scope_texts)/, input);
      assert.equal(await clients(), 1);
    }
    const applied = (input: string) => grantdPrints(folder, ['apply', '-f', '-', '--prune', '--yes'], input);
    assert.equal(await applied('# nothing'), 'done: 0 changes, 0 unchanged');
    assert.equal(await applied('clients: {}'), '- client kept\ndone: 1 change, 0 unchanged');
  });

  test('is updated by grantd export in every form that apply reads, or is refused and stays', async () => {
    const web = 'redirect_uris: ["http://127.0.0.1/cb"], token_endpoint_auth_method: none';
    const json = JSON.stringify({
      clients: { a: { redirect_uris: ['http://127.0.0.1/cb'], token_endpoint_auth_method: 'none' } },
    });
    const updated: Readonly<Record<string, string>> = {
      json,
      'json with a mark': `\ufeff${json}`,
      'flow style': `{clients: {a: {${web}}}, scope_texts: {}}`,
      'quoted names': `"clients":\n  'a': {${web}}\n`,
      'explicit names': `? clients\n: a: {${web}}\n`,
      'an end of the document': `---\nclients:\n  a: {${web}}\n...\n`,
      'line ends of Windows': `clients:\r\n  a:\r\n    {${web}}\r\n`,
      'an anchor that nothing uses': `clients: &all\n  a: {${web}}\n`,
      'YAML 1.1': `%YAML 1.1\n---\nclients:\n  a: {${web}}\n`,
      'only comments': '# nothing yet\n',
      nothing: '',
    };
    const refused: Readonly<Record<string, readonly [file: string, message: RegExp]>> = {
      'an alias': [
        `clients:\n  a: &a {${web}}\n  b: *a\n`,
        /:3:6: grantd export cannot update .* the alias \*a,/,
      ],
      'an alias of a list': [
        'clients:\n  a: {redirect_uris: &u ["http://127.0.0.1/cb"], token_endpoint_auth_method: none}\n' +
          '  b: {redirect_uris: *u, token_endpoint_auth_method: none}\n',
        /the alias \*u,/,
      ],
      'a merge key of YAML 1.1': [
        `%YAML 1.1\n---\nclients:\n  a: &a {${web}}\n  b: {<<: *a, client_name: B}\n`,
        /the alias \*a,/,
      ],
      'a merge key': [
        `clients:\n  a: &a {${web}}\n  b: {<<: *a}\n`,
        /clients\.b\.<<: unknown name, because YAML 1\.2/,
      ],
      'several documents': [
        `clients:\n  a: {${web}}\n---\nclients: {}\n`,
        /expected one document, without a second ---/,
      ],
      'unknown sections': [`x: 1\nclients: {a: {${web}}}`, /x: unknown name/],
    };
    const folder = workbench.folder();
    for (const [name, content] of [
      ...Object.entries(updated),
      ...Object.entries(refused).map(([form, [file]]) => [form, file] as const),
    ]) {
      const file = name.startsWith('json') ? 'state.json' : 'state.yaml';
      writeFileSync(join(folder, file), content);
      const apply = (...flags: string[]) => grantd(folder, ['apply', '-f', file, '--prune', ...flags]);
      const isRead = (await apply('--yes')).code === 0;
      await grantd(folder, ['client', 'remove', 'a', '--yes']);
      await grantdPrints(folder, ['client', 'add', 'c', '--public', '--redirect-uri', 'http://127.0.0.1/c']);
      const { code, stderr } = await grantd(folder, ['export', file]);
      const [, message] = refused[name] ?? [];
      if (message === undefined) {
        assert.deepEqual([isRead, code], [true, 0], `${name}: ${stderr}`);
        const planned = await apply('--dry-run');
        assert.match(planned.stdout, /^not applied: 0 changes, [1-9]/, `${name}: ${planned.stdout}`);
        if (file === 'state.json') JSON.parse(readFileSync(join(folder, file), 'utf8'));
      } else {
        assert.equal(code, 2, name);
        assert.match(stderr, message);
        assert.equal(readFileSync(join(folder, file), 'utf8'), content);
      }
      for (const id of ['b', 'c']) await grantd(folder, ['client', 'remove', id, '--yes']);
    }
    rmSync(join(folder, 'state.json'));
    await grantdPrints(folder, ['export', 'state.json']);
    assert.deepEqual(JSON.parse(readFileSync(join(folder, 'state.json'), 'utf8')), {
      clients: {},
      scope_texts: {},
    });
  });

  test('fits the JSON Schema that grantd apply --schema prints, and a wrong one does not', async () => {
    const schema = JSON.parse(await grantdPrints(workbench.folder(), ['apply', '--schema']));
    const validator = new Validator(schema, '2020-12');
    assert.deepEqual(validator.validate(parse(FILE)).errors, []);
    const groups = (text: string) => validator.validate(parse(`groups: {staff: ${text}}`)).valid;
    assert.equal(groups('{description: All, members: [bob]}'), true);
    assert.equal(groups('{member: [bob]}'), false);
    for (const wrong of ['redirect_uri: [a]', 'scope: [a]', 'secret: text', 'access_token_format: xml'])
      assert.equal(validator.validate(parse(`clients:\n  shop: {${wrong}}\n`)).valid, false, wrong);
  });
});
