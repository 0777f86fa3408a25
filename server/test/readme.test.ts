import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { freePort } from '../../core/test/harness/free_port.ts';
import { Browser } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { Workbench } from './harness/program.ts';
import { basic, postForm } from './harness/protocol.ts';

const ROOT = dirname(dirname(import.meta.dirname));
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');

const hasCurl = spawnSync('curl', ['--version']).status === 0;

const workbench = new Workbench();
after(() => workbench.clear());

/** The values that differ between responses, by member. */
const VOLATILE = /"(exp|iat|sub|jti)":(?:\d+|"[\w-]+")/g;

test('the commands of the README print what it says', {
  skip: hasCurl ? false : 'there is no curl on this machine',
}, async () => {
  const server = await workbench.start(workbench.folder(), ['--demo']);
  const [, TOKEN = ''] = /^ {2}(grantd_at_\S+)$/m.exec(server.stderr()) ?? [];
  assert.notEqual(TOKEN, '', server.stderr());
  const masked = (answer: string) =>
    answer.replaceAll(VOLATILE, '"$1":0').replaceAll(server.url, 'http://localhost:4000').trimEnd();

  const [first, ...steps] = block('console', 'curl ')
    .split(/^\$ /m)
    .slice(1)
    .map((step) => ({
      command: step.split('\n', 1)[0] ?? '',
      answer: step.slice(step.indexOf('\n') + 1),
    }));
  assert.match(first?.command ?? '', /^TOKEN=grantd_at_…/);
  assert.equal(steps.length, 4);
  for (const { command, answer } of steps) {
    const own = replaceOnce(command, 'http://localhost:4000', server.url);
    const env = { PATH: process.env.PATH, TOKEN };
    const given = masked(execFileSync('/bin/sh', ['-c', own], { encoding: 'utf8', env }));
    assertConsistsOf(given, masked(answer).split(' … '), command);
  }
});

test('the README’s own server has the API, the application and the user that its commands add', async () => {
  const folder = workbench.folder();
  const [install, ...lines] = block('sh', 'npx grantd serve').trimEnd().split('\n');
  assert.equal(install, 'npm install');
  const environment: Record<string, string> = {};
  const printed: string[] = [];
  for (const line of lines.slice(0, -1)) {
    const [, name, value] = /^export (\w+)=(\S+)$/.exec(line) ?? [];
    const [, , input = '', args] = /^(echo '(.*)' \| )?npx grantd (.*)$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) environment[name] = value;
    else printed.push(await grantdPrints(folder, args?.split(' ') ?? assert.fail(line), input, environment));
  }
  assert.equal(lines.at(-1), 'npx grantd serve');
  const issuer = environment.GRANTD_ISSUER ?? assert.fail();
  const port = await freePort();
  const { url } = await workbench.start(folder, ['--port', String(port)], environment);
  assert.match(README, new RegExp(`open <${issuer}/account> and sign in as \`carol\``));
  const browser = new Browser(url);
  const who = { username: 'carol', password: 'correct horse battery' };
  assert.match((await browser.submit(await browser.get(`${url}/account`), who)).html, /Carol/);

  const metadata = await (await fetch(`${url}/.well-known/oauth-authorization-server`)).json();
  assert.equal(metadata.issuer, issuer);
  const secret = printed[0]?.trimEnd().split('\n').at(-1) ?? '';
  const answer = await postForm(`${url}/token/introspect`, { token: 'x' }, basic('my-api', secret));
  assert.deepEqual(await answer.json(), { active: false });
  const people = await grantdPrints(folder, ['user', 'list'], '', environment);
  assert.match(people, /carol/);
});

/** The README's only code block of a language that contains a text. */
function block(language: string, part: string): string {
  const blocks = [...README.matchAll(/^```(\w+)\n(.*?)^```$/gms)]
    .filter(([, name, code]) => name === language && code?.includes(part))
    .map(([, , code = '']) => code);
  assert.equal(blocks.length, 1, `${language} with ${part} is in the README once`);
  return blocks[0] ?? '';
}

/** A text consists of these parts in this order, with anything in between that the README leaves out. */
function assertConsistsOf(text: string, parts: readonly string[], what: string): void {
  const ends = parts.map((part) => [text.indexOf(part), text.indexOf(part) + part.length] as const);
  const isInOrder = ends.every(([start], index) => start >= (ends[index - 1]?.[1] ?? 0));
  const isWhole = ends[0]?.[0] === 0 && text.endsWith(parts.at(-1) ?? '');
  if (parts.length === 1 || !isInOrder || !isWhole) assert.equal(text, parts.join(' … '), what);
}

function replaceOnce(text: string, part: string, by: string): string {
  assert.equal(text.split(part).length, 2, `${part} is in the README's code once`);
  return text.replace(part, () => by);
}
