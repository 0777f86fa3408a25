// Does what the tutorials say, with their commands and files unchanged except for ports.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Browser, signInAndConsent } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { freePort } from './harness/free_port.ts';
import { Workbench } from './harness/program.ts';

const ROOT = dirname(dirname(import.meta.dirname));
const LONGEST_START_MS = 20_000;
const hasCurl = spawnSync('curl', ['--version']).status === 0;

describe('tutorials', { skip: hasCurl ? false : 'there is no curl on this machine' }, () => {
  const workbench = new Workbench();
  const running: ReturnType<typeof spawn>[] = [];
  /** Addresses in the pages, and those of this run. */
  const addresses = new Map<string, string>();
  const secrets = new Map<string, string>();
  let folder = '';

  before(async () => {
    folder = workbench.folder();
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    const port = await freePort();
    const environment = { GRANTD_PORT: String(port) };
    addresses.set('http://localhost:4000', `http://localhost:${port}`);
    for (const own of [3000, 3001])
      addresses.set(`http://127.0.0.1:${own}`, `http://127.0.0.1:${await freePort()}`);
    for (const page of ['web_application', 'protected_api']) {
      for (const [, input = '', words = ''] of read(page).matchAll(
        /^ *(?:echo '(.*)' \| )?npx grantd ((?:client|user) add .*)$/gm,
      )) {
        const args = words.split(' ');
        const printed = await grantdPrints(folder, args, input, environment);
        secrets.set(args[2] ?? '', printed.split('\n').at(-1) ?? '');
      }
    }
    assert.deepEqual([...secrets.keys()], ['shop', 'carol', 'notes-api', 'nightly-job']);
    await workbench.start(folder, ['--port', String(port)], environment);
  });
  after(async () => {
    for (const child of running) child.kill();
    await workbench.clear();
  });

  test('web_application.md: the user that it adds is greeted by name', async () => {
    const home = await start('web_application', 'web.mjs', 3000, { CLIENT_SECRET: secretOf('shop') });
    assert.equal(await (await fetch(home)).text(), 'Go to /sign-in');

    const begun = await fetch(`${home}/sign-in`, { redirect: 'manual' });
    const carol = { username: 'carol', password: 'correct horse battery' };
    const server = addresses.get('http://localhost:4000') ?? '';
    const callback = await signInAndConsent(new Browser(server), begun.headers.get('location') ?? '', carol);
    const cookie = cookieOf(begun);
    const done = await fetch(callback, { redirect: 'manual', headers: { cookie } });
    assert.equal(done.headers.get('location'), '/');
    assert.notEqual(cookieOf(done), cookie);
    const greeting = await fetch(home, { headers: { cookie: cookieOf(done) } });
    assert.equal(await greeting.text(), 'Hello Carol');
    assert.equal((await fetch(callback, { headers: { cookie } })).status, 400);
  });

  test('protected_api.md: each command prints what it says', async () => {
    await start('protected_api', 'api.mjs', 3001, { API_SECRET: secretOf('notes-api') });
    const [console] = [...read('protected_api').matchAll(/^```console\n(.*?)^```$/gms)].map(
      ([, text = '']) => text,
    );
    const steps = (console ?? '').split(/^\$ /m).slice(1);
    assert.equal(steps.length, 6);
    const [getToken = '', ...others] = steps;
    const JOB_SECRET = secretOf('nightly-job');
    const prints = (command: string, TOKEN = '') => {
      const env = { PATH: process.env.PATH, JOB_SECRET, TOKEN };
      return execFileSync('/bin/sh', ['-c', command], { encoding: 'utf8', env });
    };
    const token = prints(`${getToken}\nprintf %s "$TOKEN"`);
    for (const step of others) {
      const [command = '', ...answer] = step.trimEnd().split('\n');
      assert.equal(prints(command, token), answer.join('\n'), command);
    }
  });

  test('machine.md: the program calls the API', async () => {
    const [file, code] = fileOf('machine', 'job.mjs');
    writeFileSync(file, code);
    const env = { PATH: process.env.PATH, JOB_SECRET: secretOf('nightly-job') };
    const printed = execFileSync(process.execPath, [file], { encoding: 'utf8', env });
    assert.ok(read('machine').includes(`The program prints \`${printed.trim()}\`.`), printed);
  });

  /** A page with the addresses of this run. */
  function read(page: string): string {
    const text = readFileSync(join(ROOT, 'docs', 'tutorials', `${page}.md`), 'utf8');
    return [...addresses].reduce((changed, [printed, own]) => changed.replaceAll(printed, own), text);
  }

  function secretOf(client: string): string {
    return secrets.get(client) ?? assert.fail(`no secret of ${client}`);
  }

  function cookieOf(response: Response): string {
    return response.headers.get('set-cookie')?.split(';', 1)[0] ?? assert.fail('no cookie');
  }

  /** The file that a page tells to save. */
  function fileOf(page: string, name: string): readonly [path: string, code: string] {
    const code = new RegExp(`Save this as \`${name}\`:\n\n *\`\`\`js\n(.*?)^ *\`\`\`$`, 'ms').exec(
      read(page),
    )?.[1];
    return [join(folder, name), code ?? assert.fail(`${page}.md has no ${name}`)];
  }

  /** Starts the server that a page tells to save. @returns its address */
  async function start(
    page: string,
    name: string,
    port: number,
    secret: Record<string, string>,
  ): Promise<string> {
    const address = addresses.get(`http://127.0.0.1:${port}`) ?? '';
    const [file, code] = fileOf(page, name);
    writeFileSync(file, code.replaceAll(`.listen(${port},`, `.listen(${new URL(address).port},`));
    const env = { PATH: process.env.PATH, ...secret };
    const child = spawn(process.execPath, [file], { stdio: ['ignore', 'ignore', 'inherit'], env });
    running.push(child);
    const ended = once(child, 'exit').then(() => assert.fail(`${name} ended`));
    ended.catch(() => {});
    const endsAtMs = performance.now() + LONGEST_START_MS;
    while (
      !(await fetch(address).then(
        () => true,
        () => false,
      ))
    ) {
      assert.ok(performance.now() < endsAtMs, `${name} does not listen`);
      await Promise.race([ended, pause(50)]);
    }
    return address;
  }
});
