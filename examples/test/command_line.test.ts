// Follows docs/tutorials/command_line.md, with another port.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { renderUnicodeCompact } from 'uqr';
import { ALICE, Browser, signInAndConsent } from '../../server/test/harness/browser.ts';
import { grantdPrints } from '../../server/test/harness/commands.ts';
import { type RunningServer, until, Workbench } from '../../server/test/harness/program.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const EXAMPLE = readFileSync(join(ROOT, 'examples', 'command_line', 'notes.ts'), 'utf8');
const PAGE = readFileSync(join(ROOT, 'docs', 'tutorials', 'command_line.md'), 'utf8');
/** The page's blocks of a language, with neither fences nor indentation. */
const blocks = (language: string) =>
  [...PAGE.matchAll(new RegExp(`^( *)\`\`\`${language}\\n(.*?)^ *\`\`\`$`, 'gms'))].map(
    ([, indent = '', code = '']) => code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
const [PLAIN = '', LOCALHOST = '', DEVICE = '', SCRIPT = '', RUN_SCRIPT = '', ADD = '', ...OTHERS] =
  blocks('sh');
const TOOLS = ['curl', 'jq'].filter((tool) => spawnSync(tool, ['--version']).status !== 0);

const workbench = new Workbench();
after(() => workbench.clear());

test('the tutorial shows code of the example', () => {
  for (const block of blocks('ts')) assert.ok(EXAMPLE.includes(block), block);
  assert.deepEqual(OTHERS, []);
});

describe('docs/tutorials/command_line.md', () => {
  const children: ChildProcess[] = [];
  let server: RunningServer;
  /** Programs that the commands find in place of those of the system. */
  let bin = '';
  before(async () => {
    server = await workbench.start(workbench.folder(), ['--demo']);
    bin = join(workbench.folder(), 'bin');
    mkdirSync(bin);
    place('sleep', `echo "$1" >> "$SLEPT"; exec /bin/sleep 0.1`);
    place('npx', `shift; cd "$CLONE"; exec ${process.execPath} "$@"`);
  });
  after(() => {
    for (const child of children) child.kill('SIGKILL');
  });

  function place(name: string, code: string): void {
    writeFileSync(join(bin, name), `#!/bin/sh\n${code}\n`, { mode: 0o755 });
  }

  /** A command of the page in a terminal of its own. */
  function type(command: string, variables: Readonly<Record<string, string>> = {}) {
    const home = workbench.folder();
    const env = {
      ...{ PATH: `${bin}:${process.env.PATH}`, HOME: home, CLONE: ROOT, ISSUER: server.url },
      ...variables,
    };
    const child = spawn('/bin/sh', ['-c', command], { cwd: home, env });
    children.push(child);
    let printed = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        printed += text;
      });
    const exit = once(child, 'close');
    return {
      home,
      printed: () => printed,
      say: (line: string) => child.stdin.write(`${line}\n`),
      /** Waits for what it prints. */
      async prints(pattern: RegExp): Promise<RegExpExecArray> {
        await until(() => pattern.test(printed) || child.exitCode !== null, `it prints ${pattern}`);
        return pattern.exec(printed) ?? assert.fail(printed);
      },
      async ends(expected = 0): Promise<void> {
        const [code] = await exit;
        assert.equal(code, expected, printed);
      },
    };
  }

  /** How many tokens the client has revoked. */
  async function revocations(): Promise<number> {
    const printed = await grantdPrints(server.folder, [
      'events',
      'list',
      '--type',
      'token_revoked',
      '--json',
    ]);
    const events: readonly { readonly actor: string }[] = JSON.parse(printed);
    return events.filter(({ actor }) => actor === 'client:demo-cli').length;
  }

  async function enter(code: string, address: string, decision = 'allow'): Promise<void> {
    const browser = new Browser(server.url);
    const entry = await browser.submit(await browser.get(address), { ...ALICE });
    const consent = await browser.submit(entry, { user_code: code });
    const done = await browser.submit(consent, { decision });
    assert.match(done.url, decision === 'allow' ? /\/device\/approved$/ : /\/device\/denied$/);
  }

  const CODE = /^Open (\S+) on any device and enter (\S+)$/m;

  for (const [command, host] of [
    [PLAIN, '127.0.0.1'],
    [LOCALHOST, 'localhost'],
  ] as const)
    test(`the browser brings a code to ${host}, and logout revokes the tokens`, async () => {
      const before = await revocations();
      const opened = join(bin, host);
      for (const name of ['xdg-open', 'open']) place(name, `echo "$1" > ${opened}`);
      const program = type(command, { DISPLAY: ':0' });
      const [, url = ''] = await program.prints(/visit (\S+)$/m);
      await until(() => existsSync(opened) && readFileSync(opened, 'utf8') === `${url}\n`, 'it is opened');
      const returned = await signInAndConsent(new Browser(server.url), url);
      assert.equal(returned.hostname, host);
      assert.equal((await fetch(new URL('/favicon.ico', returned))).status, 404);
      assert.equal(await (await fetch(returned)).text(), 'Return to the command line.');
      await program.prints(/^Hello Alice Liddell$/m);
      program.say('whoami');
      await program.prints(/^Hello.*^Hello Alice Liddell$/ms);
      assert.equal(await revocations(), before);
      program.say('logout');
      await program.ends();
      assert.match(program.printed(), /Signed out\n$/);
      assert.equal(await revocations(), before + 1);
      assert.deepEqual(readdirSync(program.home), []);
    });

  for (const [what, command, variables] of [
    ['--device', DEVICE, { DISPLAY: ':0' }],
    ['no display', PLAIN, process.platform === 'linux' ? {} : { SSH_CONNECTION: '192.0.2.1' }],
  ] as const)
    test(`with ${what}, the user enters a code, or scans it`, async () => {
      const program = type(command, variables);
      const [, address = '', code = ''] = await program.prints(CODE);
      assert.equal(address, `${server.url}/device`);
      const qrCode = renderUnicodeCompact(`${address}?user_code=${code}`, { border: 2 });
      await until(() => program.printed().includes(qrCode), 'it prints the QR code of the complete address');
      await enter(code, address);
      await program.prints(/^Hello Alice Liddell$/m);
      program.say('logout');
      await program.ends();
      assert.deepEqual(readdirSync(program.home), []);
    });

  test('a denial ends the program, which says so', async () => {
    const program = type(DEVICE);
    const [, address = '', code = ''] = await program.prints(CODE);
    await enter(code, address, 'deny');
    await program.ends(1);
    assert.match(program.printed(), /^Not signed in: the user denied access$/m);
    assert.ok(PAGE.includes('`the user denied access`'));
  });

  test('a server that is not there ends the program, which says so', async () => {
    const program = type(DEVICE, { ISSUER: 'http://localhost:9' });
    await program.ends(1);
    assert.match(program.printed(), /^http:\/\/localhost:9 is not reachable: .+$/m);
  });

  test('a code that expires ends the program, which says so', async (t) => {
    const proxy = createServer(async ({ method = '', url = '', headers }, response) => {
      const { href, origin } = new URL(url, server.url);
      const body = method === 'POST' ? new URLSearchParams({ client_id: 'demo-cli', scope: 'openid' }) : null;
      const answer = await fetch(href, { method, body });
      const text = (await answer.text()).replaceAll(origin, `http://${headers.host}`);
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(text.replace(/"expires_in":\d+/, '"expires_in":1'));
    });
    await once(proxy.listen(0, 'localhost'), 'listening');
    t.after(() => proxy.close());
    const program = type(DEVICE, { ISSUER: `http://localhost:${(proxy.address() as AddressInfo).port}` });
    await program.prints(CODE);
    await program.ends(1);
    assert.match(program.printed(), /^Not signed in: the device code has expired$/m);
    assert.ok(PAGE.includes('`the device code has expired`'));
  });

  test('the shell script obeys slow_down, greets the user and revokes its token', {
    skip: TOOLS.length > 0 ? `not installed: ${TOOLS.join(', ')}` : false,
  }, async () => {
    const before = await revocations();
    const slept = join(workbench.folder(), 'slept');
    const file = join(workbench.folder(), 'sign_in.sh');
    writeFileSync(file, SCRIPT.replace('http://localhost:4000', server.url));
    const program = type(RUN_SCRIPT.replace('sign_in.sh', file), { SLEPT: slept });
    const [, address = '', code = ''] = await program.prints(CODE);
    // The shortened pauses are early for the server.
    await until(() => existsSync(slept) && /^10$/m.test(readFileSync(slept, 'utf8')), 'it slows down');
    await enter(code, address);
    await program.ends();
    assert.match(program.printed(), /^Hello Alice Liddell\n$/m);
    assert.equal(await revocations(), before + 1);
  });

  test('the client that the page adds signs in both ways', async () => {
    const [, words = ''] = /^npx grantd (.*)\n$/.exec(ADD) ?? [];
    await grantdPrints(server.folder, words.split(' '));
    const programs = [
      type(PLAIN, { DISPLAY: ':0', CLIENT_ID: 'my-cli' }),
      type(DEVICE, { CLIENT_ID: 'my-cli' }),
    ] as const;
    const [, url = ''] = await programs[0].prints(/visit (\S+)$/m);
    await fetch(await signInAndConsent(new Browser(server.url), url));
    const [, address = '', code = ''] = await programs[1].prints(CODE);
    await enter(code, address);
    for (const program of programs) {
      await program.prints(/^Hello Alice Liddell$/m);
      program.say('logout');
      await program.ends();
    }
  });
});
