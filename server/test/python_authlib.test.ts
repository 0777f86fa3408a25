// Authlib, a Python library, as a command line. `PYTHON` names an interpreter that has the packages authlib and requests.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { grantdPrints } from './harness/commands.ts';
import { COMMAND_LINE, enterCode } from './harness/devices.ts';
import { newPerson } from './harness/new_person.ts';
import { Workbench } from './harness/program.ts';
import { introspect } from './harness/protocol.ts';

const PYTHON = process.env.PYTHON ?? 'python3';
const CLIENT = fileURLToPath(new URL('harness/authlib_device.py', import.meta.url));
const hasLibrary = spawnSync(PYTHON, ['-c', 'import authlib, requests'], { stdio: 'ignore' }).status === 0;
const ABSENCE = hasLibrary
  ? false
  : 'Python or its packages are not installed (pip install authlib requests, PYTHON=…)';

const workbench = new Workbench();
after(() => workbench.clear());

test('Authlib polls until the user has decided, refreshes and revokes', { skip: ABSENCE }, async (t) => {
  const server = await workbench.start(workbench.folder(), ['--demo']);
  await grantdPrints(server.folder, ['client', 'add', 'cli', ...COMMAND_LINE]);
  const { who, browser } = await newPerson(server, 'ada');
  const library = spawn(PYTHON, [CLIENT, server.url, 'cli', 'openid offline_access'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, AUTHLIB_INSECURE_TRANSPORT: '1' },
  });
  t.after(() => library.kill());
  const lines = createInterface(library.stdout)[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value ?? assert.fail('Authlib has failed'));
  const given = await next();
  const entry = await browser.submit(await browser.get(given.verification_uri_complete), { ...who });
  await browser.submit(await enterCode(browser, entry, given), { decision: 'allow' });
  const { errors, first, second, user, refused } = await next();
  assert.ok(
    errors.every((error: string) => error === 'authorization_pending'),
    String(errors),
  );
  assert.ok(user.sub);
  assert.notEqual(second.access_token, first.access_token);
  assert.equal(refused, 'invalid_grant');
  assert.equal((await introspect(server.url, second.access_token)).active, false);
});
