// What a start with another policy does to personal access tokens (ADR 194).
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { grantdPrints } from './harness/commands.ts';
import { DAY, make, OPTIONS, opened, valueIn, valuesIn, type Wanted } from './harness/personal_tokens.ts';
import { Workbench } from './harness/program.ts';
import { introspect } from './harness/protocol.ts';

const workbench = new Workbench();
after(() => workbench.clear());

test('a start with a smaller policy ends the tokens beyond it, and no others', async () => {
  let server = await workbench.start(await workbench.home(), OPTIONS);
  const port = ['--port', new URL(server.url).port];
  const tokens: Record<string, string> = {};
  const [max, moe] = [await opened(server, 'max'), await opened(server, 'moe')];
  const keep = async (name: string, { browser, page }: typeof max, wanted: Wanted) => {
    const made = await make(browser, page, wanted);
    tokens[name] = valuesIn(made).find((value) => !Object.values(tokens).includes(value)) ?? made.html;
  };
  const day = String(DAY);
  await keep('for long', max, { scope: 'api:write' });
  await keep('of max', max, { scope: 'api:write', lifetime: day });
  await keep('reading', moe, { scope: 'api:read', lifetime: day });
  await keep('of moe', moe, { scope: 'api:write', lifetime: day });
  await grantdPrints(server.folder, ['group', 'add', 'makers']);
  await grantdPrints(server.folder, ['group', 'add-member', 'makers', 'moe']);

  const isEnd = ({ event }: { readonly event?: unknown }) => event === 'personal_tokens_ended';
  const restart = async (...options: readonly string[]) => {
    await server.stop();
    server = await workbench.start(server.folder, [...options, ...port]);
  };
  const ends = async (name: string) => {
    assert.equal((await server.logged(isEnd, `${name} has ended`)).tokens, 1);
    delete tokens[name];
  };
  const areActive = async () => {
    for (const [name, token] of Object.entries(tokens))
      assert.equal((await introspect(server.url, token)).active, true, name);
  };
  const policy = [...OPTIONS];
  await restart(...policy);
  await areActive();
  assert.equal(server.log().filter(isEnd).length, 0);
  for (const [name, ...smaller] of [
    ['for long', '--personal-token-lifetime', day],
    ['reading', '--personal-token-scopes', 'api:write'],
    ['of max', '--personal-token-groups', 'makers'],
    ['of moe', '--personal-token-binding', 'dpop'],
  ] as const) {
    policy.push(...smaller);
    const ended = tokens[name] ?? '';
    await restart(...policy);
    await ends(name);
    assert.equal((await introspect(server.url, ended)).active, false, name);
    await areActive();
  }
  await restart(...OPTIONS);
  await keep('for the API', max, {});
  await restart(...OPTIONS.slice(0, -1), 'https://other.example');
  await ends('for the API');
  const trail = await grantdPrints(server.folder, ['audit', 'list', '--type', 'grant_revoked', '--json']);
  const events: readonly { readonly actor: string; readonly reason?: string }[] = JSON.parse(trail);
  assert.deepEqual(
    events.map(({ actor, reason }) => `${actor} ${reason}`),
    Array(5).fill('server beyond_policy'),
  );
  const changes = await grantdPrints(server.folder, ['audit', 'list', '--type', 'client_changed', '--json']);
  const actors = JSON.parse(changes).map(({ actor }: { readonly actor: string }) => actor);
  assert.deepEqual([...new Set(actors)], ['server']);
});

test('an outage at the start delays the end of tokens beyond the policy', async () => {
  let server = await workbench.start(await workbench.home(), OPTIONS);
  const { browser, page } = await opened(server, 'max');
  const token = valueIn(await make(browser, page));
  const port = ['--port', new URL(server.url).port];
  await server.stop();
  const database = new DatabaseSync(join(server.folder, 'grantd-data', 'grantd.db'), { timeout: 5000 });
  after(() => database.close());
  database.exec(`
    CREATE TRIGGER outage BEFORE UPDATE OF generation ON principals BEGIN SELECT RAISE(ABORT, 'no room'); END`);
  server = await workbench.start(server.folder, [
    ...OPTIONS,
    '--personal-token-lifetime',
    String(DAY),
    ...port,
  ]);
  await pause(1500);
  assert.equal((await introspect(server.url, token)).active, true, 'it could not be ended yet');
  database.exec('DROP TRIGGER outage');
  const isEnd = ({ event }: { readonly event?: unknown }) => event === 'personal_tokens_ended';
  assert.equal((await server.logged(isEnd, 'the token has ended')).tokens, 1);
  assert.equal((await introspect(server.url, token)).active, false);
});

test('a start without personal tokens lets them be, and the log counts them', async () => {
  let server = await workbench.start(await workbench.home(), OPTIONS);
  const { browser, page } = await opened(server, 'max');
  const token = valueIn(await make(browser, page));
  const port = ['--port', new URL(server.url).port];
  await server.stop();
  server = await workbench.start(server.folder, ['--demo', ...port]);
  const isMeant = ({ event }: { readonly event?: unknown }) => event === 'personal_tokens_beyond_policy';
  assert.equal((await server.logged(isMeant, 'how many tokens stay')).tokens, 1);
  const isActive = async () => (await introspect(server.url, token)).active;
  assert.equal(await isActive(), true);
  assert.equal((await browser.get(`${server.url}/account/tokens`)).status, 404);
  const applications = await browser.get(`${server.url}/account/applications`);
  assert.match(applications.html, /Personal access tokens/);
  const question = await browser.get(`${server.url}/account/applications?end=personal-tokens`);
  await browser.submit(question, { end_access: 'personal-tokens' });
  assert.equal(await isActive(), false);
});
