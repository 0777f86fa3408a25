// Begins early: it runs many commands.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createProgram } from '../src/cli/program.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { ANY_DATABASE, DATABASES } from './harness/databases.ts';
import { grantd as grantdProcess, Workbench } from './harness/program.ts';

const files = new Workbench();
after(() => files.clear());

test('a configuration file that cannot be read is reported with one reason', async () => {
  const { code, stderr } = await grantdProcess(files.folder(), ['client', 'list', '--config', 'none.json']);
  assert.equal(code, 2);
  assert.match(stderr, /none\.json: expected a readable JSON file \(ENOENT: [^()]+\)\n$/);
});

for (const database of DATABASES) {
  describe(`the database that a command makes or finds, on ${database.name}`, {
    skip: database.absence,
  }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());

    test('the first user or client makes the database, for the default issuer unless another is given', async () => {
      const other = await workbench.home();
      const args = ['client', 'add', 'x', '--issuer', 'https://id.example', '--public'];
      const { code, stderr } = await grantdProcess(other, args);
      assert.equal(code, 0);
      const making = new RegExp(
        `creating the database ${database.calledAs} for the issuer https://id\\.example`,
      );
      assert.match(stderr, making);
      const refused = await grantdProcess(other, ['client', 'list', '--issuer', 'https://other.example']);
      assert.equal(refused.code, 1);
      assert.match(
        refused.stderr,
        /belongs to the issuer https:\/\/id\.example, not to https:\/\/other\.example/,
      );
    });

    test('a database that does not exist is not made by a command that only looks', async () => {
      const other = await workbench.home();
      const { code, stderr } = await grantdProcess(other, ['client', 'list']);
      assert.equal(code, 1);
      const problem =
        database.name === 'SQLite'
          ? 'does not exist: start the server first \\(grantd serve\\)'
          : 'does not exist, or it is empty: start the server first \\(grantd serve --create\\)';
      assert.match(stderr, new RegExp(`the database ${database.calledAs} ${problem}`));
      assert.equal(existsSync(join(other, 'grantd-data')), false);
    });

    test('a secret that is not the database’s is refused before anything is hashed or signed with it', async () => {
      const other = await workbench.home();
      assert.equal((await grantdProcess(other, ['client', 'add', 'x'])).code, 0);
      const environment = { GRANTD_SECRET: 'x'.repeat(32) };
      const { code, stderr } = await grantdProcess(other, ['client', 'add', 'y'], { environment });
      assert.equal(code, 1);
      assert.match(stderr, /encrypted with another server secret/);
    });

    test('no command says that a user is not locked if it has another secret than the server', async () => {
      const other = await workbench.home();
      assert.equal((await grantdProcess(other, ['client', 'add', 'x'])).code, 0);
      const adding = ['user', 'add', 'bob', '--password-stdin'];
      assert.equal((await grantdProcess(other, adding, { input: 'correct horse' })).code, 0);
      const environment = { GRANTD_SECRET: 'x'.repeat(32) };
      const unlock = await grantdProcess(other, ['user', 'unlock', 'bob'], { environment });
      assert.deepEqual([unlock.code, unlock.stdout], [1, '']);
      assert.match(unlock.stderr, /^grantd: the servers of this database have another secret: /);
      const show = await grantdProcess(other, ['user', 'show', 'bob'], { environment });
      assert.match(show.stdout, /\nlocked: unknown, /);
    });
  });
}

for (const database of ANY_DATABASE) {
  describe(`commands on ${database.name} that no server runs on`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());
    let folder: string;
    const run = (...args: string[]) => grantd(folder, args);
    const prints = (...args: string[]) => grantdPrints(folder, args);
    const printsJson = async (...args: string[]) => JSON.parse(await prints(...args, '--json'));

    before(async () => {
      folder = await workbench.home();
      const person = ['user', 'add', 'bob', '--password-stdin', '--claim', 'email=bob@example.com'];
      await grantdPrints(folder, [...person, '--claim', 'email_verified=true'], 'correct horse');
      const web = ['client', 'add', 'web', '--redirect-uri', 'https://web.example/cb', '--secret-stdin'];
      await grantdPrints(folder, [...web, '--scope', 'openid', '--scope', 'email'], 'battery staple');
    });

    test('client add prints a generated secret once, and never one that was brought along', async () => {
      const added = await printsJson('client', 'add', 'machine', '--scope', 'a b');
      assert.match(added.client_secret, /^grantd_cs_[\w-]{43}$/);
      const { secrets, ...shown } = await printsJson('client', 'show', 'machine');
      assert.deepEqual(
        secrets.map((one: object) => Object.keys(one)),
        [['created_at', 'server_secret']],
        'no hash of it',
      );
      assert.deepEqual(shown, {
        client_id: 'machine',
        ...{ grant_types: ['client_credentials'], response_types: [], scope: 'a b', redirect_uris: [] },
        ...{ type: 'confidential', registered_itself: false },
      });
      const taken = await run('client', 'add', 'machine');
      assert.equal(taken.code, 1);
      const brought = ['client', 'add', 'brought', '--secret-stdin', '--json'];
      const printed = await grantdPrints(folder, brought, 'my own secret\n');
      assert.deepEqual(
        [JSON.parse(printed).client_secret, printed.includes('own secret')],
        [undefined, false],
      );
    });

    test('client rotate-secret prints the new secret, and refuses a public client', async () => {
      assert.match((await printsJson('client', 'rotate-secret', 'web')).client_secret, /^grantd_cs_/);
      await prints('client', 'add', 'spa', '--public', '--redirect-uri', 'https://spa.example/cb');
      const refused = await run('client', 'rotate-secret', 'spa');
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, /public client/);
    });

    test('client disable and enable show in list', async () => {
      await prints('client', 'add', 'blinking');
      const disabledAt = async () => {
        const clients: { client_id: string; disabled_at?: string }[] = await printsJson('client', 'list');
        return clients.find(({ client_id: id }) => id === 'blinking')?.disabled_at;
      };
      const disabled = await printsJson('client', 'disable', 'blinking');
      assert.deepEqual([disabled.client_id, disabled.disabled_at], ['blinking', await disabledAt()]);
      assert.ok(await disabledAt());
      await prints('client', 'enable', 'blinking');
      assert.equal(await disabledAt(), undefined);
      assert.equal((await run('client', 'disable', 'nobody')).code, 1);
    });

    test('user add reads claims as JSON if they are JSON, and user list shows users without passwords', async () => {
      const people = await printsJson('user', 'list');
      const bob = people.find(({ username }: { username: string }) => username === 'bob');
      assert.deepEqual(Object.keys(bob).sort(), [
        'claims',
        'created_at',
        'groups',
        'has_password',
        'sub',
        'username',
      ]);
      assert.deepEqual(bob.claims, {
        email: 'bob@example.com',
        email_verified: true,
      });
      const again = await grantd(folder, ['user', 'add', 'bob', '--password-stdin'], {
        input: 'correct horse',
      });
      assert.equal(again.code, 1);
      const short = await grantd(folder, ['user', 'add', 'carol', '--password-stdin'], { input: 'short' });
      assert.equal(short.code, 2);
      assert.doesNotMatch(short.stderr, /short\b/);
    });

    test('token issue mints as many as asked for, with scope, lifetime and form', async () => {
      const issue = [
        'token',
        'issue',
        '--client',
        'web',
        '--user',
        'bob',
        '--scope',
        'email',
        '--ttl',
        '700',
      ];
      const lines = (await prints(...issue, '--opaque', '--refresh', '--count', '3', '--json')).split('\n');
      const tokens = lines.map((line) => JSON.parse(line));
      assert.equal(tokens.length, 3);
      assert.equal(new Set(tokens.map(({ accessToken }) => accessToken)).size, 3);
      for (const { accessToken, refreshToken, expiresAt, scopes } of tokens) {
        assert.match(accessToken, /^grantd_at_/);
        assert.match(refreshToken, /^grantd_rt_/);
        assert.ok(expiresAt - Date.now() / 1000 <= 700);
        assert.deepEqual(scopes, ['email']);
      }
      assert.equal(
        (await prints('token', 'issue', '--client', 'web', '--count', '501')).split('\n').length,
        501,
      );
      const refused = await run('token', 'issue', '--client', 'web', '--scope', 'admin');
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, /has no scope admin/);
    });

    test('token explain reads an argument or standard input, and exits with 0 for a dead token', async () => {
      const token = await prints('token', 'issue', '--client', 'web', '--user', 'bob');
      const alive = JSON.parse(await grantdPrints(folder, ['token', 'explain', '--json'], `${token}\n`));
      assert.equal(alive.active, true);
      assert.equal(alive.record.client_id, 'web');
      assert.equal(await prints('token', 'revoke', token), 'revoked the access token');
      const dead = await printsJson('token', 'explain', token);
      assert.equal(dead.reason, 'revoked');
      assert.ok(Date.parse(dead.since) <= Date.now());
      // Any text can be a token of a host. Only the prefix promises a form.
      for (const [text, reason] of [
        ['nonsense', 'no_record'],
        ['grantd_at_nonsense', 'malformed'],
      ] as const) {
        assert.match(await prints('token', 'explain', text), new RegExp(`because +${reason}: `));
        assert.match(await prints('token', 'revoke', text), new RegExp(`^nothing was revoked; ${reason}: `));
      }
      assert.match(
        await prints('token', 'revoke', token),
        /^the access token was already inactive \(revoked\)/,
      );
    });

    test('token explain shows whom a token is for', async () => {
      const token = await prints('token', 'issue', '--client', 'web', '--user', 'bob');
      const { claims } = await printsJson('token', 'explain', token);
      assert.match(await prints('token', 'explain', token), new RegExp(`^audience +${claims.aud}$`, 'm'));
    });

    test('token revoke counts only with --count or --dry-run, and --dry-run revokes nothing', async () => {
      const name = 'counted';
      await grantdPrints(folder, ['user', 'add', name, '--password-stdin'], 'correct horse');
      const issue = ['token', 'issue', '--client', 'web', '--user', name, '--count', '4'];
      const [token = ''] = (await prints(...issue)).split('\n');
      const mass = ['token', 'revoke', '--user', name];
      assert.deepEqual(await printsJson(...mass, '--dry-run'), { dry_run: true, active: 4 });
      assert.equal((await printsJson('token', 'explain', token)).active, true);
      assert.deepEqual(await printsJson(...mass, '--count'), { revoked: true, active: 4 });
      assert.equal((await printsJson('token', 'explain', token)).reason, 'subject_revoked');
      assert.deepEqual(await printsJson(...mass), { revoked: true });
      assert.equal((await run('token', 'revoke', '--user', 'nobody')).code, 1);
    });

    test('token revoke says so if there was nothing to revoke', async () => {
      assert.match(
        await prints('token', 'revoke', '--grant-id', 'typo'),
        /^nothing was revoked: there is no grant typo, or its last token has expired$/,
      );
      assert.deepEqual(await printsJson('token', 'revoke', '--grant-id', 'typo'), { revoked: false });
      await grantdPrints(folder, ['user', 'add', 'idle', '--password-stdin'], 'correct horse');
      assert.equal(
        await prints('token', 'revoke', '--user', 'idle'),
        'revoked all tokens of idle (--count prints how many)',
      );
      await prints('client', 'add', 'unused');
      assert.equal(
        await prints('token', 'revoke', '--client', 'unused'),
        'revoked all tokens of the client unused (--count prints how many)',
      );
    });

    test('token revoke ends a grant, a client’s tokens, and all that were issued before a time', async () => {
      const issueFor = async (client: string) => {
        const issued = await printsJson('token', 'issue', '--client', client, '--user', 'bob');
        const { accessToken, grantId }: { accessToken: string; grantId: string } = issued;
        const reason = async () => (await printsJson('token', 'explain', accessToken)).reason;
        return { grantId, reason };
      };
      await prints(
        'client',
        'add',
        'doomed',
        '--redirect-uri',
        'https://doomed.example/cb',
        '--scope',
        'openid',
      );
      const [ofGrant, ofClient, old] = [
        await issueFor('web'),
        await issueFor('doomed'),
        await issueFor('web'),
      ];
      await prints('token', 'revoke', '--grant-id', ofGrant.grantId);
      await prints('token', 'revoke', '--client', 'doomed');
      assert.deepEqual(
        [await ofGrant.reason(), await ofClient.reason(), await old.reason()],
        ['grant_revoked', 'client_revoked', undefined],
      );
      const cutoff = ['token', 'revoke', '--issued-before', new Date().toISOString()];
      assert.deepEqual(await printsJson(...cutoff), { revoked: true });
      assert.equal(await old.reason(), 'issued_before_cutoff');
      assert.match(
        await prints(...cutoff),
        /^nothing was revoked: all tokens issued before .* are already revoked$/,
      );
      assert.equal(
        await prints('token', 'revoke', '--grant-id', ofGrant.grantId),
        `revoked all tokens of the grant ${ofGrant.grantId} (--count prints how many)`,
      );
      const future = await run('token', 'revoke', '--issued-before', '4102444800');
      assert.equal(future.code, 2);
      assert.match(future.stderr, /expected a time that is not in the future/);
      for (const time of ['2026-01-01T12:00', '2026-02-31T00:00:00Z', '2025-02-29', '2026-02-00']) {
        const impossible = await run('token', 'revoke', '--issued-before', time);
        assert.deepEqual([impossible.code, impossible.stdout], [2, ''], time);
      }
    });

    test('keys rotate lets the published next key sign, of one algorithm or of all', async () => {
      const keyOf = async (status: string) => {
        const keys: { kid: string; status: string; algorithm: string }[] = await printsJson('keys', 'list');
        return keys.find((key) => key.status === status && key.algorithm === 'RS256')?.kid;
      };
      await prints('client', 'add', 'edwards', '--id-token-signed-response-alg', 'EdDSA', '--public');
      const next = await keyOf('next');
      const rotated: { algorithm: string; kid: string }[] = await printsJson('keys', 'rotate', '--now');
      const algorithms = rotated.map(({ algorithm }) => algorithm).sort();
      assert.deepEqual(algorithms, ['EdDSA', 'RS256'], 'those of the server and of its clients');
      assert.equal(rotated.find(({ algorithm }) => algorithm === 'RS256')?.kid, next);
      assert.equal(await keyOf('current'), next);
      const [eddsa] = await printsJson('keys', 'rotate', '--algorithm', 'EdDSA', '--now');
      assert.equal(eddsa.algorithm, 'EdDSA');
      const listed: { algorithm: string; status: string }[] = await printsJson('keys', 'list');
      const order = listed.map(({ algorithm, status }) => `${algorithm} ${status}`);
      assert.deepEqual(
        [...new Set(order)],
        ['RS256', 'EdDSA'].flatMap((algorithm) =>
          ['current', 'next', 'retired'].map((status) => `${algorithm} ${status}`),
        ),
      );
      const unused = await run('keys', 'rotate', '--algorithm', 'PS256', '--now');
      assert.equal(unused.code, 1);
      assert.match(unused.stderr, /there is no PS256 key, .*: the algorithms with keys are RS256, EdDSA\./);
    });

    test('keys rotate refuses keys that clients may not know yet, and says when it takes them', async () => {
      const { code, stderr } = await run('keys', 'rotate');
      assert.equal(code, 1);
      assert.match(stderr, /may not know the next keys yet, .*: try again in \d+ seconds, or use --now\./);
    });

    test('gc sweeps what has expired', async () => {
      await prints('token', 'issue', '--client', 'web', '--user', 'bob', '--ttl', '1', '--count', '2');
      await new Promise((resolve) => setTimeout(resolve, 2100));
      const { swept } = await printsJson('gc');
      assert.ok(swept >= 2, `${swept} rows`);
      assert.deepEqual(await printsJson('gc'), { swept: 0 });
    });
  });
}

test('a database whose secret is missing is refused instead of being given a new one', async () => {
  const other = files.folder();
  const environment = { GRANTD_SECRET: 's'.repeat(32) };
  assert.equal((await grantdProcess(other, ['client', 'add', 'y'], { environment })).code, 0);
  const { code, stderr } = await grantdProcess(other, ['client', 'add', 'z']);
  assert.equal(code, 1);
  assert.match(stderr, /the secret of the database .* is missing: set GRANTD_SECRET/);
});

test('bad usage ends with 2 and changes nothing', async () => {
  const other = files.folder();
  const usages = [
    ['client', 'add', 'x', '--grant', 'password'],
    ['client', 'add', 'x', '--redirect-uri', 'javascript:alert(1)'],
    ['client', 'add', 'x', '--public', '--grant', 'client_credentials'],
    ['user', 'add', 'bob'],
    ['token', 'revoke', 'x', '--user', 'bob'],
    ['token', 'issue'],
    ['nothing'],
  ];
  const outcomes = await Promise.all(usages.map((args) => grantdProcess(other, args)));
  assert.deepEqual(
    outcomes.map(({ code }) => code),
    usages.map(() => 2),
  );
  assert.deepEqual(
    outcomes.map(({ stdout }) => stdout),
    usages.map(() => ''),
  );
  assert.equal(existsSync(join(other, 'grantd-data')), false);
});

test('commands of every kind end by themselves as processes, with their exit codes', async () => {
  const folder = files.folder();
  await grantdPrints(folder, ['client', 'add', 'x']);
  // Most other tests run commands in a process that goes on.
  const ends: Readonly<Record<string, readonly [number, ...string[]]>> = {
    follow: [2, '--issuer', 'https://id.example', '--client-id', 'x', '--audience', 'https://api.example'],
    health: [1, '--port', '1'],
    help: [0],
    texts: [0],
    client: [0, 'list'],
    scope: [0, 'list'],
    user: [0, 'list'],
    admin: [0, 'openapi'],
    directory: [2, 'test', 'bob'],
    apply: [2],
    export: [0],
    group: [0, 'list'],
    mail: [0, 'list'],
    token: [0, 'explain', 'nonsense'],
    'personal-token': [0, 'list'],
    keys: [0, 'list'],
    secrets: [0, 'status'],
    events: [0, 'list'],
    audit: [0, 'list'],
    config: [0, 'show'],
    gc: [0],
    copy: [2],
    backup: [0, 'new-key', 'backup.key'],
    restore: [2],
    migrate: [0, 'status'],
  };
  const { commands } = await createProgram();
  const names = commands.map((command) => command.name()).filter((name) => name !== 'serve');
  assert.deepEqual(Object.keys(ends).sort(), names.sort());
  const codes = Object.entries(ends).map(async ([name, [, ...args]]) => {
    const { code } = await grantdProcess(folder, [name, ...args]);
    return [name, code];
  });
  assert.deepEqual(
    Object.fromEntries(await Promise.all(codes)),
    Object.fromEntries(Object.entries(ends).map(([name, [code]]) => [name, code])),
  );
});

test('every command prints its options and the exit codes with --help', async () => {
  const folder = files.folder();
  const commands = [
    'serve',
    'client add',
    'client rotate-secret',
    'user add',
    'token issue',
    'token explain',
  ];
  const others = ['token revoke', 'scope add', 'scope list', 'keys list', 'keys rotate', 'gc', 'copy'];
  const outcomes = await Promise.all(
    [...commands, ...others].map((command) => grantd(folder, [...command.split(' '), '--help'])),
  );
  for (const { code, stdout } of outcomes) {
    assert.equal(code, 0);
    assert.match(stdout, /--database/);
    assert.match(stdout, /Exit codes: 0 done, 1 failed or refused, 2 bad usage or configuration/);
  }
});
