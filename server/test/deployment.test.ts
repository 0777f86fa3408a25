// The files of deploy/ say what the program says.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { join, matchesGlob } from 'node:path';
import { after, describe, test } from 'node:test';
import { freePort } from '../../core/test/harness/free_port.ts';
import { settingsOf } from '../../scripts/first_line.mjs';
import { helpPages } from '../src/cli/help_pages.ts';
import { OPTIONS } from '../src/config/options.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { listenOnLoopback } from './harness/listening.ts';
import { Workbench } from './harness/program.ts';
import { serverCertificate } from './harness/tls.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const workbench = new Workbench();
after(() => workbench.clear());

const read = (...path: string[]) => readFileSync(join(ROOT, ...path), 'utf8');
const { flags, variables } = settingsOf(join(ROOT, 'server', 'bin', 'grantd.mjs'));
const dockerfile = read('deploy', 'Dockerfile');
const unit = read('deploy', 'systemd', 'grantd.service');

test('the image and the guide have the pinned Node, and the image the settings of memory that the program has', () => {
  const pinned = JSON.parse(read('package.json')).dependencies.node;
  assert.match(dockerfile, new RegExp(`^ARG NODE=${pinned}$`, 'm'));
  const installed = read('docs', 'production.md').match(/\bv\d+\.\d+\.\d+\b/g);
  assert.deepEqual(new Set(installed), new Set([`v${pinned}`]));
  for (const [name, value] of Object.entries(variables)) {
    assert.match(dockerfile, new RegExp(`\\b${name}=${value}\\b`));
    assert.match(unit, new RegExp(`^Environment=.*\\b${name}=${value}\\b`, 'm'));
  }
});

test('the image is built from every source that the executable needs', async () => {
  const included = read('.dockerignore')
    .split('\n')
    .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []));
  const { workspaces } = JSON.parse(read('package.json')) as { workspaces: readonly string[] };
  const needed = [
    ...workspaces.map((workspace) => `${workspace}/package.json`),
    ...['core', 'protect', 'server'].map((workspace) => `${workspace}/src/index.ts`),
    ...['package.json', 'package-lock.json', 'server/bin/grantd.mjs', 'site/navigation.ts'],
    ...['scripts/executable.ts', 'deploy/image_package.json'],
    ...(await helpPages()).map(({ path }) => path),
  ];
  const missing = needed.filter((path) => !included.some((pattern) => matchesGlob(path, pattern)));
  assert.deepEqual(missing, []);
});

test('the service starts Node as the program does', () => {
  assert.match(unit, new RegExp(`^ExecStart=\\S+/node ${flags.join(' ')} \\S+/grantd\\.mjs serve$`, 'm'));
  assert.match(unit, /^ExecReload=\S+ -HUP \$MAINPID$/m);
});

const hasAnalyzer = spawnSync('systemd-analyze', ['--version']).status === 0;

test('the exposure of the service is below 2.5', {
  skip: !hasAnalyzer && 'systemd-analyze is not installed: apt install systemd',
}, () => {
  const file = join(ROOT, 'deploy', 'systemd', 'grantd.service');
  const { stdout } = spawnSync('systemd-analyze', ['security', '--offline=true', '--no-pager', file], {
    encoding: 'utf8',
  });
  const [, exposure = '10'] = /Overall exposure level for \S+: ([\d.]+)/.exec(stdout) ?? [];
  assert.ok(Number(exposure) < 2.5, stdout);
});

test('each way to end waits for the delay and for pending requests', () => {
  const least = OPTIONS.shutdownDelay.byDefault + 10;
  for (const [text, pattern] of [
    [read('deploy', 'kubernetes', 'deployment.yaml'), /terminationGracePeriodSeconds: (\d+)/],
    [unit, /^TimeoutStopSec=(\d+)$/m],
    [read('deploy', 'compose.yaml'), /stop_grace_period: (\d+)s/],
  ] as const)
    assert.ok(Number(pattern.exec(text)?.[1]) > least, String(pattern));
});

test('the configuration of the manifests is valid', async () => {
  const folder = workbench.folder();
  const [, json = ''] =
    /grantd\.json: \|\n([\s\S]*)$/.exec(read('deploy', 'kubernetes', 'configmap.yaml')) ?? [];
  writeFileSync(join(folder, 'grantd.json'), json);
  const environment = { GRANTD_SECRET: 'a secret of thirty-two characters' };
  const args = ['config', 'check', '--config', 'grantd.json'];
  assert.equal(await grantdPrints(folder, args, '', environment), 'the configuration is valid');
});

describe('grantd health', () => {
  const check = (...args: string[]) => grantd(workbench.folder(), ['health', ...args]);

  test('succeeds if the server is ready', async () => {
    const server = await workbench.start(workbench.folder());
    const { code, stdout, stderr } = await check('--port', String(server.port), '--host', '0.0.0.0');
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: 'the server is ready\n', stderr: '' });
    const json = await check('--port', String(server.port), '--json');
    assert.deepEqual(JSON.parse(json.stdout), { status: 'ok' });
  });

  test('asks a server with TLS over TLS', async () => {
    const { pem } = await serverCertificate();
    const server = createTlsServer(pem, (request, response) => {
      response.writeHead(request.url === '/health/ready' ? 200 : 404).end();
    });
    const port = await listenOnLoopback(server);
    const { code } = await check('--port', String(port), '--tls-certificate', 'any.pem');
    server.close();
    assert.equal(code, 0);
  });

  test('fails if nothing listens, or if the server is not ready, and says what it asked', async () => {
    const port = await freePort();
    const absent = await check('--port', String(port));
    assert.deepEqual([absent.code, absent.stdout], [1, '']);
    assert.match(
      absent.stderr,
      new RegExp(`^grantd: http://127\\.0\\.0\\.1:${port}/health/ready: .*ECONNREFUSED`),
    );
    const server = createServer((_request, response) => void response.writeHead(503).end());
    const busy = await check('--port', String(await listenOnLoopback(server)));
    server.close();
    assert.equal(busy.code, 1);
    assert.match(busy.stderr, /: expected 200, got 503\. The server’s log says why\n$/);
  });

  test('waits for a server that starts', async () => {
    let answers = 0;
    const server = createServer((_request, response) => {
      answers += 1;
      response.writeHead(answers < 3 ? 503 : 200).end();
    });
    const { code } = await check('--port', String(await listenOnLoopback(server)), '--wait', '60');
    server.close();
    assert.deepEqual([code, answers], [0, 3]);
  });

  test('refuses a port or a time that is none', async () => {
    for (const [args, message] of [
      [['--port', '0'], '--port: expected the port of the server, got 0'],
      [['--wait', 'x'], '--wait: expected whole seconds from 1 to 3600'],
    ] as const) {
      const { code, stderr } = await check(...args);
      assert.deepEqual([code, stderr], [2, `grantd: ${message}\n`]);
    }
  });
});
