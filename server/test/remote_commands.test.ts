// Commands with --url print what they print on the server’s machine, with the same exit codes and errors.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Command } from 'commander';
import { freePort } from '../../core/test/harness/free_port.ts';
import { call } from '../src/admin/in_process.ts';
import { ALL_OPERATIONS } from '../src/admin/table.ts';
import { NEEDS_MACHINE, OPERATIONS_WITHOUT_COMMAND } from '../src/cli/commands.ts';
import { createProgram } from '../src/cli/program.ts';
import { AdminClient } from '../src/cli/remote_call.ts';
import { ADMIN_VARIABLES } from '../src/config/configuration.ts';
import { ADMIN_SCOPES } from '../src/instance/admin_access.ts';
import { cheapHash } from './harness/cheap_hash.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { type Environment, type RunningServer, Workbench } from './harness/program.ts';

test('the table has every command and every operation of the API', async () => {
  const leaves = (command: Command, above: readonly string[]): readonly (readonly [string, Command])[] => {
    const path = [...above, command.name()];
    return command.commands.length === 0
      ? [[path.join(' '), command]]
      : command.commands.flatMap((one) => leaves(one, path));
  };
  const { commands } = await createProgram();
  const all = new Map(commands.flatMap((command) => leaves(command, [])));
  for (const [name, { options }] of all) {
    const needsMachine = NEEDS_MACHINE[name] ?? NEEDS_MACHINE[name.split(' ')[0] ?? ''];
    const hasUrl = options.some(({ long, hidden }) => long === '--url' && !hidden);
    assert.equal(hasUrl, needsMachine === undefined, name);
  }
  for (const [id, { command }] of ALL_OPERATIONS) {
    const name = command?.line.replace(/ <.*/, '');
    assert.equal(name === undefined, OPERATIONS_WITHOUT_COMMAND[id] !== undefined, id);
    assert.ok(name === undefined || all.has(name), id);
  }
  for (const id of Object.keys(OPERATIONS_WITHOUT_COMMAND))
    assert.ok(
      ALL_OPERATIONS.some(([one]) => one === id),
      id,
    );
});

describe('commands with --url', () => {
  const workbench = new Workbench();
  let folder: string;
  let server: RunningServer;
  /** The access of a token that the command gets with its private key. */
  let access: Environment;

  const privateFile = (name: string, content: string) => {
    const path = join(folder, name);
    writeFileSync(path, content);
    chmodSync(path, 0o600);
    return path;
  };
  const remotely = (args: readonly string[], input = '', environment = access) =>
    grantd(folder, [...args, '--url', server.url], { input, environment });

  before(async () => {
    folder = workbench.folder();
    server = await workbench.start(folder, ['--admin-api']);
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    writeFileSync(
      join(folder, 'jwks.json'),
      JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'a' }] }),
    );
    const scopes = Object.keys(ADMIN_SCOPES).flatMap((scope) => ['--scope', scope]);
    await grantdPrints(folder, [
      ...['client', 'add', 'ops', '--api', `${server.url}/admin`, ...scopes],
      ...['--auth-method', 'private_key_jwt', '--jwks-file', 'jwks.json'],
    ]);
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    access = {
      [ADMIN_VARIABLES.clientId]: 'ops',
      [ADMIN_VARIABLES.key]: privateFile('ops.pem', String(pem)),
    };
  });
  after(() => workbench.clear());

  /** Hides what differs between two things of a kind: random values, times, and their names. */
  const alike = (text: string, name: string) =>
    text
      .replaceAll(name, 'NAME')
      .replaceAll(/in \d+ seconds/g, 'in SOME seconds')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replaceAll(/[\w-]{20,}/g, 'RANDOM')
      // When a registration token expires.
      .replaceAll(/\b\d{10}\b/g, 'SECONDS');

  /** Runs a command on the machine for one thing and through the API for another, and compares what they print. */
  async function compare(args: readonly string[], input = ''): Promise<void> {
    for (const format of [[], ['--json']]) {
      const named = (name: string) => args.map((one) => one.replaceAll('NAME', name));
      const [here, there] = [`h${format.length}ere`, `t${format.length}ere`];
      const local = await grantd(folder, [...named(here), ...format], { input });
      const remote = await remotely([...named(there), ...format], input);
      const isNamed = args.some((one) => one.includes('NAME'));
      const shown = ({ code, stdout, stderr }: typeof local, name: string) => {
        const text = isNamed ? alike(stdout, name) : alike(stdout, 'NAME');
        // The order of members has no meaning.
        const isJson = code === 0 && format.length > 0;
        return { code, stdout: isJson ? JSON.parse(text) : text, stderr: alike(stderr, name) };
      };
      assert.deepEqual(shown(remote, there), shown(local, here), args.join(' '));
    }
  }

  test('on clients', async () => {
    await compare([
      'client',
      'add',
      'NAME',
      '--redirect-uri',
      'https://NAME.example/cb',
      '--scope',
      'openid',
      '--name',
      'Shop',
      '--localized',
      'client_name#de=Laden',
      '--no-consent',
    ]);
    await compare(['client', 'show', 'NAME']);
    await compare(['client', 'add', 'NAME', '--scope', 'openid']);
    await compare(['client', 'update', 'NAME', '--name', 'Store', '--unset', 'client_name#de']);
    await compare(['client', 'update', 'NAME', '--name', 'Other', '--dry-run']);
    await compare(['client', 'update', 'NAME', '--name', 'Other', '--dry-run', '--json']);
    await compare(['client', 'update', 'NAME', '--api', 'https://nowhere.example']);
    await compare(['client', 'show', 'NAME']);
    await compare(['client', 'rotate-secret', 'NAME', '--overlap', '3600']);
    await compare(['client', 'rotate-secret', 'NAME', '--secret-stdin', '--now'], 'a secret of my own');
    await compare(['client', 'disable', 'NAME']);
    await compare(['client', 'show', 'NAME']);
    await compare(['client', 'enable', 'NAME']);
    await compare(['client', 'list']);
    await compare(['client', 'registration-token', '--lifetime', '60', '--once']);
    await compare(['client', 'deny-document', 'NAME.A.example', '--note', 'One']);
    await compare(['client', 'deny-document', 'https://NAME.a.example/x', '--dry-run', '--json']);
    await compare(['client', 'deny-document', 'a.example:443']);
    await compare(['client', 'denied-documents']);
    await compare(['client', 'allow-document', 'NAME.a.example']);
    await compare(['client', 'allow-document', 'NAME.a.example']);
    await compare(['client', 'prune', '--unused-for', '1d', '--dry-run']);
    await compare(['client', 'prune', '--unused-for', '1d', '--yes']);
    await compare(['client', 'prune', '--unused-for', 'long', '--yes']);
    await compare(['client', 'remove', 'NAME', '--yes']);
    await compare(['client', 'remove', 'NAME', '--yes']);
    await compare(['client', 'show', 'NAME']);
    await compare(['client', 'rotate-secret', 'ops']);
  });

  test('on scopes', async () => {
    await compare(['scope', 'add', 'NAME', '--name', 'Read', '--name', '#de=Lesen']);
    await compare(['scope', 'add', 'NAME', '--name', 'Read']);
    await compare(['scope', 'update', 'NAME', '--description', 'More', '--name', '#de=']);
    await compare(['scope', 'show', 'NAME']);
    await compare(['scope', 'add', 'NAME', '--name', 'Read', '--api', 'ops']);
    await compare(['scope', 'list']);
    await compare(['scope', 'remove', 'NAME']);
    await compare(['scope', 'remove', 'NAME']);
  });

  test('on groups and users', async () => {
    await compare(['group', 'add', 'NAME', '--description', 'A group']);
    await compare(['group', 'add', 'NAME']);
    await compare(['group', 'update', 'NAME', '--description', 'Another']);
    await compare(
      [
        'user',
        'add',
        'NAME',
        '--password-stdin',
        '--claim',
        'name=Bob',
        '--email',
        'NAME@example.com',
        '--add-group',
        'NAME',
      ],
      'correct horse',
    );
    await compare(['user', 'add', 'NAME', '--password-stdin'], 'correct horse');
    await compare(['user', 'add', 'NAMEs', '--password-stdin', '--add-group', 'none'], 'correct horse');
    await compare(['user', 'invite', 'NAME-guest', '--email', 'NAME@example.org', '--language', 'de']);
    await compare(['user', 'invite', 'NAME-guest', '--email', 'NAME@example.net']);
    await compare(['user', 'show', 'NAME']);
    await compare(['user', 'list', '--group', 'NAME']);
    await compare(['user', 'list', '--search', 'NAME@', '--limit', '1']);
    await compare(['user', 'list', '--group', 'none']);
    await compare(['group', 'add-member', 'NAME', 'NAME', 'NAME-guest']);
    await compare(['group', 'show', 'NAME']);
    await compare(['group', 'list']);
    await compare(['group', 'remove-member', 'NAME', 'NAME-guest', 'NAME-guest']);
    await compare([
      'user',
      'update',
      'NAME',
      '--claim',
      'nickname=B',
      '--remove-claim',
      'name',
      '--remove-group',
      'NAME',
    ]);
    await compare(['user', 'update', 'NAME', '--remove-claim', 'name']);
    await compare(['user', 'send-password-link', 'NAME']);
    await compare(['user', 'update', 'NAME', '--email', 'NAME@example.com', '--email-verified']);
    await compare(['user', 'send-password-link', 'NAME', '--json']);
    await compare(['user', 'set-password', 'NAME', '--password-stdin'], 'another horse');
    await compare(['user', 'end-session', 'NAME', 'none']);
    await compare(['user', 'end-sessions', 'NAME']);
    await compare(['user', 'end-access', 'NAME']);
    await compare(['user', 'unlock', 'NAME']);
    await compare(['user', 'disable', 'NAME']);
    await compare(['user', 'show', 'NAME']);
    await compare(['user', 'enable', 'NAME']);
    await compare(['user', 'confirm-factors', 'NAME']);
    await compare(['user', 'remove-factor', 'NAME', 'none']);
    await compare(['user', 'reset-factors', 'NAME']);
    await compare(['user', 'unlink', 'NAME', 'none']);
    await compare(['user', 'withdraw-consent', 'NAME', 'none']);
    await compare(['user', 'remove', 'NAME', '--yes']);
    await compare(['user', 'remove', 'NAME', '--yes']);
    await compare(['group', 'remove', 'NAME', '--yes']);
    await compare(['group', 'show', 'NAME']);
    await compare(['user', 'add', 'NAME', '--password-stdin'], 'short');
  });

  test('on tokens, keys, events, mail and secrets', async () => {
    await grantdPrints(folder, ['client', 'add', 'machine', '--scope', 'read']);
    const issue = () => grantdPrints(folder, ['token', 'issue', '--client', 'machine']);
    const token = await issue();
    for (const args of [
      ['token', 'explain', 'nonsense'],
      ['token', 'revoke', 'nonsense'],
      ['token', 'revoke', token, '--dry-run'],
      ['token', 'revoke', '--client', 'machine', '--dry-run'],
      ['token', 'revoke', '--client', 'nobody'],
      ['keys', 'list'],
      ['keys', 'rotate', '--algorithm', 'ES256'],
      ['keys', 'rotate', '--algorithm', 'RS256'],
      ['mail', 'retry', 'nothing'],
      ['mail', 'test', 'bob@example.com'],
      ['secrets', 'status'],
      ['secrets', 'drop'],
    ])
      await compare(args);
    for (const format of [[], ['--json']]) {
      const explain = ['token', 'explain', token, ...format];
      assert.equal((await remotely(explain)).stdout.trim(), await grantdPrints(folder, explain));
    }
    const events = ['events', 'list', '--type', 'client_changed', '--after', '1'];
    const [local, remote] = [await grantdPrints(folder, events), await remotely(events)];
    assert.equal(remote.stdout.trim(), local);
    // A file of either output serves restore --replay-events.
    const added = ['events', 'list', '--type', 'person_added', '--json'];
    const replayable = (printed: string) =>
      JSON.parse(printed).map(({ number, at, type, target, actor, subject }: Record<string, unknown>) => {
        assert.equal(typeof subject, 'string');
        return { number, at, type, target, actor, subject };
      });
    assert.deepEqual(
      replayable((await remotely(added)).stdout),
      replayable(await grantdPrints(folder, added)),
    );
    const list = ['mail', 'list'];
    assert.equal((await remotely(list)).stdout.trim(), await grantdPrints(folder, list));

    // One token each, because a revocation ends it.
    const revoked = await remotely(['token', 'revoke', token, '--count']);
    const same = await grantd(folder, ['token', 'revoke', await issue(), '--count']);
    assert.deepEqual(revoked, same);
    assert.deepEqual(await remotely(['token', 'revoke', '--client', 'machine', '--count']), {
      code: 0,
      stdout: 'revoked all tokens of the client machine (0 were active)\n',
      stderr: '',
    });
  });

  test('import and export users', async () => {
    const hash = cheapHash('correct horse');
    const lines = (name: string) =>
      [
        JSON.stringify({ username: `${name}1`, password_hash: hash, groups: ['imported'] }),
        '{',
        JSON.stringify({ username: `${name}2`, password_hash: 'plain' }),
        '',
        JSON.stringify({ username: `${name}3`, claims: { email: 7 } }),
        JSON.stringify({ username: `${name}4` }),
      ].join('\n');
    for (const name of ['here', 'there']) writeFileSync(join(folder, `${name}.jsonl`), lines(name));
    const order = ['--create-groups', '--report'];
    // A server knows its group.
    const group = ['--admin-group', 'admins'];
    const local = await grantd(folder, ['user', 'import', 'here.jsonl', ...order, 'here.report', ...group]);
    const remote = await remotely(['user', 'import', 'there.jsonl', ...order, 'there.report']);
    const withoutIdentifier = ({ stdout, ...rest }: typeof local) => ({
      ...rest,
      stdout: stdout.replace(/^(identifier of the import: )\S{22}$/m, '$1…'),
    });
    assert.deepEqual(
      withoutIdentifier({ ...remote, stderr: remote.stderr.replaceAll('there', 'here') }),
      withoutIdentifier(local),
    );
    assert.match(withoutIdentifier(local).stdout, /^identifier of the import: …$/m);
    assert.equal(local.code, 1);
    const reported = (name: string) =>
      alike(readFileSync(join(folder, `${name}.report`), 'utf8'), name)
        .split('\n')
        .sort();
    assert.deepEqual(reported('there'), reported('here'));
    const again = await remotely(['user', 'import', 'here.jsonl']);
    assert.match(again.stdout, /^0 imported, 0 updated, 3 skipped, 2 refused$/m);

    const exported = ['user', 'export', '--group', 'imported', '--with-password-hashes'];
    assert.equal((await remotely(exported)).stdout.trim(), await grantdPrints(folder, exported));
    const none = ['user', 'export', 'none.jsonl', '--group', 'none'];
    assert.deepEqual(await remotely(none), await grantd(folder, none));
  });

  test('on files that cannot be applied, with the same lines and columns', async () => {
    const path = join(folder, 'wrong.yaml');
    for (const text of [
      'clients:\n  app: {redirect_uris: ["/"]}\n  b: {scope: read}\n',
      'clients:\n  app: {redirect_uris: ["https://a.example/cb"], apis: [https://nowhere.example]}\n',
      'clients:\n  app:\n    scope: read\n    allowed_groups: [nowhere]\n    secret: {env: SECRET}\n',
      'groups:\n  "a/b~c": {members: [nobody]}\n  "d.e": {sign_in_policy: phishing_resistant}\n',
      'groups: {staff: {member: []}}\n',
      'clients: {" ": {scope: read}}\n',
      'clients:\n  signer:\n    token_endpoint_auth_method: client_secret_jwt\n    secret: {env: SECRET}\n',
    ]) {
      writeFileSync(path, text);
      for (const mode of ['--yes', '--dry-run']) {
        const args = ['apply', '-f', 'wrong.yaml', mode];
        const environment = { SECRET: 'short secret' };
        const local = await grantd(folder, args, { environment });
        assert.equal(local.code, 2, local.stderr + text);
        assert.match(local.stderr, /^grantd: wrong\.yaml:\d+:\d+: /);
        assert.deepEqual(await remotely(args, '', { ...access, ...environment }), local);
      }
    }
    writeFileSync(path, 'groups: {applied: {description: Here}}\n');
    for (const args of [['--dry-run'], ['--dry-run', '--json']]) {
      const apply = ['apply', '-f', 'wrong.yaml', ...args];
      assert.deepEqual(await remotely(apply), await grantd(folder, apply));
    }
  });

  test('make the changes that they have shown, or none', async () => {
    const admin = await AdminClient.open(server.url, access);
    const order = { state: { groups: { shown: { description: 'First' } } } };
    const descriptionNow = async () => (await call(admin, 'getGroup', { group: 'shown' })).description;
    const planned = await admin.versioned('planState', order);
    await grantdPrints(folder, ['group', 'add', 'shown', '--description', 'Second']);
    await assert.rejects(admin.versioned('applyState', order, planned.version), {
      message: 'what is stored has changed since the plan, and nothing was applied: run grantd apply again.',
    });
    assert.equal(await descriptionNow(), 'Second');
    const again = await admin.versioned('planState', order);
    await admin.versioned('applyState', order, again.version);
    assert.equal(await descriptionNow(), 'First');
  });

  test('never reach another operation through a name that URLs take as a step in the path', async () => {
    await grantdPrints(folder, ['group', 'add', '..']);
    for (const name of ['..', '.'])
      for (const args of [
        ['group', 'show', name],
        ['group', 'remove', name, '--yes'],
        ['group', 'update', name, '--description', 'x'],
        ['client', 'show', name],
        ['client', 'disable', name],
        ['client', 'remove', name, '--yes'],
        ['scope', 'show', name],
        ['scope', 'remove', name],
        ['mail', 'retry', name],
      ])
        assert.deepEqual(
          await remotely(args),
          {
            code: 2,
            stdout: '',
            stderr: `grantd: --url: omit it and run the command on the server’s machine, because no URL can contain the name ${name}\n`,
          },
          args.join(' '),
        );
    await grantdPrints(folder, ['group', 'remove', '..', '--yes']);
  });

  test('take a token from a file, or a client secret', async () => {
    const { stdout } = await grantd(folder, [
      ...[
        'client',
        'add',
        'reader',
        '--api',
        `${server.url}/admin`,
        '--scope',
        'grantd:clients:read',
        '--json',
      ],
    ]);
    const secret = privateFile('reader.secret', JSON.parse(stdout).client_secret);
    const withSecret = { [ADMIN_VARIABLES.clientId]: 'reader', [ADMIN_VARIABLES.secret]: secret };
    const list = ['client', 'show', 'reader'];
    assert.equal((await remotely(list, '', withSecret)).code, 0);
    const issue = ['token', 'issue', '--client', 'reader', '--resource', `${server.url}/admin`];
    const token = privateFile('reader.token', `${await grantdPrints(folder, issue)}\n`);
    const withToken = { [ADMIN_VARIABLES.token]: token };
    assert.equal((await remotely(list, '', withToken)).code, 0);

    const denied = await remotely(['client', 'remove', 'reader', '--yes'], '', withToken);
    assert.equal(denied.code, 1);
    assert.match(
      denied.stderr,
      /^grantd: http\S+\/admin refused the request with 403\. .*grantd:clients:write/,
    );
    chmodSync(token, 0o644);
    const open = await remotely(list, '', withToken);
    assert.equal(open.code, 2);
    assert.match(open.stderr, /^grantd: GRANTD_ADMIN_TOKEN_FILE: .* is open to others/);
    chmodSync(token, 0o600);
    writeFileSync(token, 'wrong');
    const wrong = await remotely(list, '', withToken);
    assert.deepEqual([wrong.code, wrong.stdout], [1, '']);
    assert.match(wrong.stderr, /refused the request with 401/);
  });

  test('say what is missing', async () => {
    const list = ['client', 'list'];
    assert.deepEqual(await remotely(list, '', {}), {
      code: 2,
      stdout: '',
      stderr:
        'grantd: --url: set GRANTD_ADMIN_TOKEN_FILE, or GRANTD_ADMIN_CLIENT_ID with GRANTD_ADMIN_CLIENT_KEY_FILE or GRANTD_ADMIN_CLIENT_SECRET_FILE\n',
    });
    const plain = await grantd(folder, [...list, '--url', 'http://login.example'], { environment: access });
    assert.deepEqual(
      [plain.code, plain.stderr],
      [
        2,
        'grantd: --url: expected the issuer of a server, such as https://login.example.com, got "http://login.example"\n',
      ],
    );
    const both = await remotely([...list, '--database', 'sqlite:x.db']);
    assert.deepEqual([both.code, both.stderr], [2, 'grantd: --url and --database exclude each other\n']);
    const stranger = await remotely(list, '', { ...access, [ADMIN_VARIABLES.clientId]: 'nobody' });
    assert.equal(stranger.code, 1);
    assert.match(
      stranger.stderr,
      /gave no token to the client nobody \(it does not accept its key or secret\)\.$/m,
    );
    const nowhere = `http://127.0.0.1:${await freePort()}`;
    const silent = await grantd(folder, [...list, '--url', nowhere], { environment: access });
    assert.deepEqual([silent.code, silent.stdout], [1, '']);
    assert.match(silent.stderr, /^grantd: http:\/\/127\.0\.0\.1:\d+ does not answer \(connect ECONNREFUSED/);
    const notKey = { ...access, [ADMIN_VARIABLES.key]: privateFile('not.pem', 'secret text') };
    const noKey = await remotely(list, '', notKey);
    assert.deepEqual([noKey.code, noKey.stderr.includes('secret text')], [2, false]);
    const off = await workbench.start(workbench.folder());
    const token = { [ADMIN_VARIABLES.token]: privateFile('any.token', 'token') };
    const without = await grantd(folder, [...list, '--url', off.url], { environment: token });
    assert.equal(without.code, 1);
    assert.match(without.stderr, /it has no admin API: start the server with --admin-api/);
  });

  test('are refused in one sentence where they need the machine', async () => {
    const outcome = await remotely(['backup', 'create', 'x.backup']);
    assert.equal(outcome.code, 2);
    const gc = await remotely(['gc']);
    assert.deepEqual(
      [gc.code, gc.stderr],
      [
        2,
        'grantd: --url: omit it, because grantd gc deletes rows directly in the database. A running server deletes them without a command\n',
      ],
    );
    assert.match(
      (await grantd(folder, ['gc', '--help'])).stdout,
      /The command has no --url: it deletes rows/,
    );
    assert.match((await grantd(folder, ['client', 'add', '--help'])).stdout, /--url <ISSUER>/);
  });
});
