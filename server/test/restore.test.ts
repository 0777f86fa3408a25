import assert from 'node:assert/strict';
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { backedUpHome, databaseOf, issue, restored } from './harness/backups.ts';
import { Browser, signInAndConsent } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { newPerson } from './harness/new_person.ts';
import { Workbench } from './harness/program.ts';
import { authorizationUrl, basic, introspect, newPkce, postForm, redeem } from './harness/protocol.ts';

const workbench = new Workbench();
after(() => workbench.clear());

test('a restore removes the notes of the earlier file, and the server starts', async () => {
  const home = await backedUpHome(workbench);
  const path = databaseOf(home.folder);
  await grantdPrints(home.folder, ['backup', 'b.age', ...home.seal]);
  await home.server.stop();
  for (const file of [path, `${path}-inodes`]) assert.ok(existsSync(file));
  renameSync(path, `${path}.old`);
  writeFileSync(`${path}-corrupt`, 'database disk image is malformed\n');
  await grantdPrints(home.folder, ['restore', 'b.age', ...home.open]);
  assert.equal(existsSync(`${path}-inodes`) || existsSync(`${path}-corrupt`), false);
  const server = await workbench.start(home.folder, ['--demo', '--port', String(home.server.port)]);
  assert.equal((await fetch(`${server.url}/health/ready`)).status, 200);
  await server.stop();
});

test('--replay-events applies what ended after the backup, so that nothing of it is active again', async () => {
  const home = await backedUpHome(workbench);
  const { folder, server } = home;
  const prints = (...args: readonly string[]) => grantdPrints(folder, args);
  for (const [name, flags] of [
    ['gone', ['--grant', 'client_credentials', '--scope', 'a']],
    ['off', ['--grant', 'client_credentials', '--scope', 'a']],
  ] as const)
    await grantdPrints(
      folder,
      ['client', 'add', name, '--secret-stdin', ...flags],
      'a secret of the client in the test',
    );
  for (const name of ['ada', 'bob', 'eve'])
    await grantdPrints(folder, ['user', 'add', name, '--password-stdin'], 'correct horse');
  const ofUser = (user: string) => issue2(folder, user);
  const kept = [...(await issue(folder)), ...(await ofUser('alice'))];
  const [single = ''] = await issue(folder);
  const family = await ofUser('alice');
  const pair = await ofUser('alice');
  const ended = [
    single,
    ...family,
    ...pair,
    ...(await ofUser('ada')),
    ...(await ofUser('bob')),
    ...(await ofUser('eve')),
    await prints('token', 'issue', '--client', 'gone'),
    await prints('token', 'issue', '--client', 'off'),
  ];
  const browser = new Browser(server.url);
  const pkce = newPkce();
  const url = authorizationUrl(server.url, pkce);
  const ofSession = await redeem(
    server.url,
    pkce,
    await signInAndConsent(browser, url, { username: 'bob', password: 'correct horse' }),
  );
  ended.push(ofSession.access_token, ofSession.refresh_token ?? ofSession.access_token);
  for (const token of [...kept, ...ended]) assert.equal((await introspect(server.url, token)).active, true);
  await prints('backup', 'b.age', ...home.seal);

  await prints('token', 'revoke', single);
  await prints('token', 'revoke', pair[0] ?? '');
  const web = basic('demo-web', 'demo-web-secret');
  const refresh = () =>
    postForm(`${server.url}/token`, { grant_type: 'refresh_token', refresh_token: family[1] ?? '' }, web);
  const rotated = (await (await refresh()).json()) as { refresh_token: string };
  await prints('token', 'revoke', rotated.refresh_token);
  await prints('user', 'disable', 'ada');
  await prints('user', 'end-sessions', 'bob');
  await prints('token', 'revoke', '--user', 'bob');
  await prints('user', 'remove', 'eve', '--yes');
  await prints('client', 'remove', 'gone', '--yes');
  await prints('client', 'disable', 'off');
  await prints('client', 'rotate-secret', 'demo-api');
  const events = await prints('events', 'list', '--json');
  writeFileSync(join(folder, 'events.json'), events);

  const {
    folder: other,
    shown,
    stderr,
  } = await restored(workbench, home, 'b.age', ['--replay-events', 'events.json']);
  const state = async (token: string) =>
    /^alive +(yes|no)$/m.exec(await grantdPrints(other, ['token', 'explain', token]))?.[1];
  for (const token of kept) assert.equal(await state(token), 'yes');
  // The refresh token of the backup was used afterwards, and its successor was revoked.
  const unresolved = new Set(family);
  for (const token of ended) if (!unresolved.has(token)) assert.equal(await state(token), 'no', token);
  const { replayed } = shown as { replayed: { applied: number; unknown: number } };
  assert.equal(replayed.unknown, 1);
  assert.ok(replayed.applied >= 8);
  assert.match(stderr, /1 revoked tokens, codes or clients are not in the backup/);
  assert.match(stderr, /client_secret_rotated demo-api: the earlier secret is accepted again/);
  const { sessions } = JSON.parse(await grantdPrints(other, ['user', 'show', 'bob', '--json']));
  assert.deepEqual(sessions, []);
  assert.match((await grantd(other, ['user', 'show', 'eve'])).stderr, /there is no user eve/);
  const clients = JSON.parse(await grantdPrints(other, ['client', 'list', '--json'])) as {
    client_id: string;
    disabled_at?: string;
  }[];
  assert.equal(
    clients.some(({ client_id: id }) => id === 'gone'),
    false,
  );
  assert.ok(clients.find(({ client_id: id }) => id === 'off')?.disabled_at);

  const list: { number: number }[] = JSON.parse(events);
  writeFileSync(
    join(folder, 'gap.json'),
    JSON.stringify(list.filter(({ number }) => number !== (list.at(-1)?.number ?? 0) - 1)),
  );
  const gap = await restored(workbench, home, 'b.age', ['--replay-events', 'gap.json']);
  assert.match(gap.stderr, /The file lacks the events \d+ to \d+: what they ended may be active again\./);
  writeFileSync(
    join(folder, 'foreign.json'),
    JSON.stringify(list.map((event) => ({ ...event, target: 'x' }))),
  );
  const foreign = await grantd(folder, [
    ...[
      'restore',
      'b.age',
      '--database',
      `sqlite:${databaseOf(workbench.folder())}`,
      '--replay-events',
      'foreign.json',
    ],
    ...home.open,
  ]);
  assert.equal(foreign.code, 1);
  assert.match(foreign.stderr, /foreign\.json is of another database: event \d+ differs/);
});

test('--replay-events ends sessions without tokens again, and withdraws consents again', async () => {
  const home = await backedUpHome(workbench);
  const { folder, server } = home;
  const account = `${server.url}/account`;
  const signedIn = async (name: string) => {
    const { who, browser } = await newPerson(server, name);
    const signIn = async () => browser.submit(await browser.get(account), { ...who });
    await signIn();
    return { browser, signIn };
  };
  const signOut = async (browser: Browser) =>
    browser.submit(await browser.get(`${server.url}/logout`), { decision: 'yes' });
  const ada = await signedIn('ada');
  await signedIn('bob');
  const eve = await signedIn('eve');
  const later = [await signedIn('fay'), await signedIn('gus')];
  const consent = async (browser: Browser) =>
    browser.submit(await browser.get(authorizationUrl(server.url, newPkce())), { decision: 'allow' });
  await consent(eve.browser);
  await grantdPrints(folder, ['backup', 'b.age', ...home.seal]);

  for (const { browser } of later) await consent(browser);
  await signOut(ada.browser);
  await ada.signIn();
  await signOut(ada.browser);
  await grantdPrints(folder, ['user', 'end-sessions', 'bob']);
  await eve.browser.submit(await eve.browser.get(account), { end_access: 'demo-web' });
  const events: object[] = JSON.parse(await grantdPrints(folder, ['events', 'list', '--json']));
  writeFileSync(join(folder, 'events.json'), JSON.stringify(events));

  const replayEvents = ['--replay-events', 'events.json'];
  const { folder: other, shown, stderr } = await restored(workbench, home, 'b.age', replayEvents);
  const shownUser = async (name: string) =>
    JSON.parse(await grantdPrints(other, ['user', 'show', name, '--json']));
  const ofUser = async (name: string) => {
    const { sessions, consents } = await shownUser(name);
    return [sessions.length, consents.length];
  };
  assert.deepEqual(
    { ada: await ofUser('ada'), bob: await ofUser('bob'), eve: await ofUser('eve') },
    { ada: [0, 0], bob: [0, 0], eve: [1, 0] },
  );
  const { replayed } = shown as { replayed: { unknown: number; lost: Record<string, unknown>[] } };
  assert.equal(replayed.unknown, 0);
  const subjects = [(await shownUser('fay')).sub, (await shownUser('gus')).sub];
  assert.deepEqual(
    replayed.lost.map(({ type, target, subject }) => [type, target, subject]),
    subjects.map((subject) => ['consent_given', 'demo-web', subject]),
  );
  for (const subject of subjects) assert.ok(stderr.includes(`consent_given demo-web (user ${subject})`));

  // As the admin API of earlier versions listed them.
  const withoutUsers = events.map((event) => ({ ...event, subject: undefined }));
  writeFileSync(join(folder, 'events.json'), JSON.stringify(withoutUsers));
  const { stderr: unnamed } = await restored(workbench, home, 'b.age', replayEvents);
  assert.match(
    unnamed,
    /Repeat them:\n.*consent_withdrawn demo-web: these consents .* does not name their users\n.*consent_given demo-web\n/,
  );
});

/** An access token and its refresh token. */
async function issue2(folder: string, user: string): Promise<readonly string[]> {
  const printed = await grantdPrints(folder, [
    'token',
    'issue',
    '--client',
    'demo-web',
    '--user',
    user,
    '--refresh',
  ]);
  return printed.split('\n');
}
