import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { DEVICE_GRANT } from '@grantd/core';
import Fastify, { type FastifyServerOptions } from 'fastify';
import { embed, type HostUser, type HostUsers } from 'grantd';
import * as client from 'openid-client';
import { Secret, TOTP } from 'otpauth';
import { freePort } from '../../core/test/harness/free_port.ts';
import { sqliteDatabase } from '../src/data/sqlite_database.ts';
import { Browser, hiddenFields, isLogin, type Page, signInAndConsent } from './harness/browser.ts';
import { hashCheaply } from './harness/cheap_hasher.ts';
import { enterCode } from './harness/devices.ts';
import { codeFlow, discovered } from './harness/relying_party.ts';

const REDIRECT_URI = 'https://web.example/callback';
const PASSWORD = 'correct horse';
const WHO = { username: 'ada', password: PASSWORD };

/** Keys that are cheap to make. */
const ES256 = { accessTokenAlgorithm: 'ES256', idTokenAlgorithm: 'ES256' };

hashCheaply();

const closing: (() => unknown)[] = [];
after(async () => {
  for (const close of closing.reverse()) await close();
});

/** The users of an application, which a test can change. */
class Users implements HostUsers {
  readonly groups = ['staff'];
  readonly all = new Map<string, HostUser>();
  fault: Error | undefined;

  constructor() {
    this.set({ claims: { name: 'Ada', email: 'ada@example.com', email_verified: true } });
  }

  set(change: Partial<HostUser>): void {
    const user = this.all.get('user-7') ?? { subject: 'user-7', username: 'ada' };
    this.all.set('user-7', { ...user, ...change });
  }

  async authenticate(username: string, password: string): Promise<HostUser | undefined> {
    if (this.fault !== undefined) throw this.fault;
    if (password !== PASSWORD) return undefined;
    return [...this.all.values()].find((user) => user.username === username);
  }

  async find(subject: string): Promise<HostUser | undefined> {
    if (this.fault !== undefined) throw this.fault;
    return this.all.get(subject);
  }
}

/** An application that embeds grantd, with a client. */
async function open() {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-embed-'));
  closing.push(() => rmSync(folder, { recursive: true }));
  const port = await freePort();
  const url = `http://localhost:${port}/auth`;
  const users = new Users();
  const path = join(folder, 'app.db');
  const grantd = await embed({ issuer: url, database: `sqlite:${path}`, users, ...ES256 });
  closing.push(() => grantd.close());
  const server = createServer((request, response) =>
    grantd.handle(request, response, () => response.end('the application’s own')),
  );
  await once(server.listen(port, '127.0.0.1'), 'listening');
  closing.push(() => server.close());
  const database = sqliteDatabase(path);
  const stored = await database.open(url);
  closing.push(() => database.close());
  await stored.storage.clients.add({
    id: 'web',
    redirectUris: [REDIRECT_URI],
    grantTypes: ['authorization_code', 'refresh_token'],
    scopes: ['openid', 'profile', 'email', 'offline_access'],
    metadata: { token_endpoint_auth_method: 'none' },
  });
  const configuration = await discovered({ url }, 'web', client.None(), {
    id_token_signed_response_alg: 'ES256',
  });
  const signIn = (browser = new Browser(url)) =>
    codeFlow({ url }, configuration, {
      redirectUri: REDIRECT_URI,
      person: (to) => signInAndConsent(browser, to.href, WHO),
    });
  return { url, users, grantd, stored, configuration, signIn };
}

test('the application’s users sign in on grantd’s pages with claims as they are now, and its other paths are its own', async () => {
  const ofApplication = [Request, Response];
  const { url, users, configuration, signIn } = await open();
  for (const path of ['/own', '/authentic', '/.well-known/oauth-authorization-server'])
    assert.equal(await (await fetch(new URL(path, url))).text(), 'the application’s own');

  const tokens = await signIn();
  assert.equal(tokens.claims()?.sub, 'user-7');
  const userInfo = () => client.fetchUserInfo(configuration, tokens.access_token, 'user-7');
  assert.equal((await userInfo()).email_verified, true);
  users.set({ claims: { name: 'Ada Lovelace' } });
  const { name: current, email } = await userInfo();
  assert.deepEqual([current, email], ['Ada Lovelace', undefined]);
  assert.deepEqual([Request, Response], ofApplication, 'the application’s globals are as they were');
});

test('RFC 8628 §3.3 the application’s users confirm the codes of devices on grantd’s page', async () => {
  const { url, stored } = await open();
  await stored.storage.clients.add({
    ...{ id: 'cli', redirectUris: [], grantTypes: [DEVICE_GRANT], scopes: ['openid'] },
    metadata: { token_endpoint_auth_method: 'none' },
  });
  const config = await discovered({ url }, 'cli', client.None(), { id_token_signed_response_alg: 'ES256' });
  const given = await client.initiateDeviceAuthorization(config, { scope: 'openid' });
  const browser = new Browser(url);
  const entry = await browser.submit(await browser.get(given.verification_uri), WHO);
  await browser.submit(await enterCode(browser, entry, given), { decision: 'allow' });
  const tokens = await client.pollDeviceAuthorizationGrant(config, { ...given, interval: 0 });
  assert.equal(tokens.claims()?.sub, 'user-7');
});

test('a logger of Fastify receives the line of a request and faults, at its level', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-embed-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const port = await freePort();
  for (const [level, expected] of [
    ['info', ['request', 'failure', 'request']],
    ['error', ['failure']],
  ] as const) {
    const lines: { readonly event?: string; readonly path?: string }[] = [];
    const stream = { write: (line: string) => void lines.push(JSON.parse(line)) };
    const options: FastifyServerOptions = { logger: { level, stream } };
    const users = new Users();
    const issuer = `http://localhost:${port}/auth`;
    const database = `sqlite:${join(folder, `${level}.db`)}`;
    const grantd = await embed({ issuer, database, users, logger: Fastify(options).log, ...ES256 });
    const server = createServer((request, response) => grantd.handle(request, response));
    await once(server.listen(port, '127.0.0.1'), 'listening');
    const browser = new Browser(issuer);
    const login = await browser.get(`${issuer}/account`);
    lines.length = 0;
    await browser.get(`${issuer}/keys?secret=1`);
    users.fault = new Error('the application has lost its users');
    await browser.submit(login, WHO);
    server.closeAllConnections();
    server.close();
    await grantd.close();
    const events = lines.map(({ event }) => event).filter((event) => expected.some((one) => one === event));
    assert.deepEqual(events, expected, JSON.stringify(lines));
    assert.ok(!JSON.stringify(lines).includes('secret=1'));
  }
});

test('a browser is signed in at several issuers of one host, each with cookies of its own', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-embed-'));
  closing.push(() => rmSync(folder, { recursive: true }));
  const port = await freePort();
  const issuers = ['/one', '/two'].map((path) => `http://localhost:${port}${path}`);
  const embedded: Awaited<ReturnType<typeof embed>>[] = [];
  for (const [index, issuer] of issuers.entries()) {
    const database = `sqlite:${join(folder, `${index}.db`)}`;
    const grantd = await embed({ issuer, database, users: new Users(), ...ES256 });
    closing.push(() => grantd.close());
    embedded.push(grantd);
  }
  const [one, two] = embedded;
  const server = createServer((request, response) =>
    one?.handle(request, response, () => two?.handle(request, response, () => response.end())),
  );
  await once(server.listen(port, '127.0.0.1'), 'listening');
  closing.push(() => server.close());

  const browser = new Browser(`http://localhost:${port}`);
  const account = (issuer: string) => browser.get(`${issuer}/account`);
  for (const issuer of issuers) {
    const login = await account(issuer);
    assert.ok(isLogin(login), issuer);
    assert.ok(!isLogin(await browser.submit(login, WHO)), issuer);
  }
  for (const issuer of issuers) assert.ok(!isLogin(await account(issuer)), issuer);
  const names = [...browser.cookies.keys()];
  for (const what of ['browser', 'known', 'session'])
    assert.equal(names.filter((name) => name.endsWith(`grantd_${what}`)).length, 2, names.join(' '));
});

test('a wrong password, a disabled user and an outage of the application’s users are three answers', async () => {
  const { url, users, grantd, signIn } = await open();
  const tokens = await signIn();
  const userInfo = async () =>
    (await fetch(`${url}/userinfo`, { headers: { authorization: `Bearer ${tokens.access_token}` } })).status;
  const login = async (password: string) => {
    const browser = new Browser(url);
    const page = await browser.get(`${url}/account`);
    return browser.submit(page, { username: 'ada', password });
  };
  assert.equal((await login('guessed')).status, 403);
  assert.match((await login(PASSWORD)).html, /Ada/);

  users.fault = new Error('the user database is down');
  assert.deepEqual([(await login(PASSWORD)).status, await userInfo()], [503, 503]);
  users.fault = undefined;
  assert.equal(await userInfo(), 200);

  users.set({ isDisabled: true });
  assert.deepEqual([(await login(PASSWORD)).status, await userInfo()], [403, 401]);
  await grantd.setDisabled('user-7', true);
  users.set({ isDisabled: false });
  assert.deepEqual([(await login(PASSWORD)).status, await userInfo()], [403, 401]);
  await grantd.setDisabled('user-7', false);
  assert.match((await login(PASSWORD)).html, /Ada/);
});

test('the application ends the access of a user, and removes them for good', async () => {
  const { url, grantd, signIn } = await open();
  const browser = new Browser(url);
  const { access_token: token } = await signIn(browser);
  const userInfo = async () =>
    (await fetch(`${url}/userinfo`, { headers: { authorization: `Bearer ${token}` } })).status;
  const account = async () => (await browser.get(`${url}/account`)).html.includes('id="login-submit"');
  assert.deepEqual([await userInfo(), await account()], [200, false]);
  await grantd.endAccess('user-7');
  assert.deepEqual([await userInfo(), await account()], [401, true]);

  await grantd.removeUser('user-7');
  const page = await browser.submit(await browser.get(`${url}/account`), WHO);
  assert.equal(page.status, 403);
});

test('the application decides about the groups that it names, at each sign-in', async () => {
  const { users, signIn, stored } = await open();
  for (const name of ['staff', 'local']) await stored.groups.add({ name, description: '' }, Date.now());
  const groups = async () => (await stored.people.bySubject('user-7'))?.groups;
  users.set({ groups: ['staff', 'unknown'] });
  await signIn();
  await stored.groups.addMember({ subject: 'user-7', group: 'local' }, Date.now());
  assert.deepEqual(await groups(), ['local', 'staff']);
  users.set({ groups: [] });
  await signIn();
  assert.deepEqual(await groups(), ['local']);
});

test('a handler below a path is refused, because it would compare a part of the path', async () => {
  const { grantd } = await open();
  const request = Object.assign(new IncomingMessage(new Socket()), {
    url: '/token',
    originalUrl: '/auth/token',
  });
  assert.throws(
    () => grantd.handle(request, new ServerResponse(request)),
    /^Error: handle: expected to be used/,
  );
});

for (const [name, value] of Object.entries({
  port: 4000,
  ldapUrl: 'ldaps://x',
  tlsKey: 'x',
  demo: true,
  prot: 1,
}))
  test(`the option ${name} is refused by its name, and nothing is written`, async () => {
    const options = { issuer: 'https://app.example/auth', database: 'sqlite:never.db', [name]: value };
    await assert.rejects(embed(options), { name: 'ConfigurationRefused', message: new RegExp(`^${name}: `) });
  });

for (const issuer of ['https://app.example', 'https://app.example/', 'https://app.example/auth/'])
  test(`the issuer ${issuer} would take paths of the application`, async () => {
    await assert.rejects(
      embed({ issuer, database: 'sqlite:never.db' }),
      /^.*issuer: expected a URL with a path/,
    );
  });

test('a user whom the application disables between password and code does not get in', async () => {
  const { url, users } = await open();
  const first = new Browser(url);
  await first.submit(await first.get(`${url}/account`), WHO);
  const press = (page: Page, fields: Readonly<Record<string, string>>) =>
    first.post(`${url}/account/factors`, { ...hiddenFields(page), ...fields });
  const offer = await press(await first.get(`${url}/account/security`), { act: 'offer_totp' });
  const [, secret = ''] = /<code id="totp-secret">([^<]*)</.exec(offer.html) ?? assert.fail(offer.html);
  const totp = new TOTP({ secret: Secret.fromBase32(secret.replaceAll(' ', '')) });
  await press(offer, { act: 'confirm_totp', code: totp.generate() });

  const browser = new Browser(url);
  const page = await browser.submit(await browser.get(`${url}/account`), WHO);
  assert.match(page.html, /id="second-submit"/);
  users.set({ isDisabled: true });
  const refused = await browser.post(page.url, {
    ...hiddenFields(page),
    code: totp.generate({ timestamp: Date.now() + 30_000 }),
  });
  assert.ok(isLogin(refused), refused.html);
  assert.ok(![...browser.cookies.keys()].some((name) => name.endsWith('grantd_session')));
});

test('a username that the application has given to another user is theirs here too', async () => {
  const { users, signIn, stored } = await open();
  assert.equal((await signIn()).claims()?.sub, 'user-7');
  users.set({ username: 'ada.l' });
  users.all.set('user-8', { subject: 'user-8', username: 'ada' });
  assert.equal((await signIn()).claims()?.sub, 'user-8');
  const names = ['user-7', 'user-8'].map(async (one) => (await stored.people.bySubject(one))?.name);
  assert.deepEqual(await Promise.all(names), ['ada.l', 'ada']);
});

test('a user joins no group that the application has not named, whatever roles it returns', async () => {
  const { users, signIn, stored } = await open();
  for (const name of ['staff', 'admins']) await stored.groups.add({ name, description: '' }, Date.now());
  users.set({ groups: ['staff', 'admins'] });
  await signIn();
  assert.deepEqual((await stored.people.bySubject('user-7'))?.groups, ['staff']);
});

test('claims sign a user in whether or not JSON has their values', async () => {
  const { users, configuration, signIn } = await open();
  const born = new Date('1815-12-10');
  users.set({ claims: { name: 'Ada', nickname: undefined, birthdate: born, zoneinfo: { at: undefined } } });
  const tokens = await signIn();
  const userInfo = await client.fetchUserInfo(configuration, tokens.access_token, 'user-7');
  assert.deepEqual([userInfo.name, userInfo.birthdate], ['Ada', born.toJSON()]);
});

for (const [what, change] of Object.entries({
  'a subject that is a number': { subject: 7 },
  'no subject': { subject: undefined },
  'a disabled user as the number 1': { isDisabled: 1 },
  'a group that is no text': { groups: [7] },
  'claims that are no object': { claims: 'name' },
  'claims that JSON cannot have': { claims: { big: 1n } },
  'claims that are too long': { claims: { picture: 'x'.repeat(20_000) } },
}))
  test(`${what} is a fault of the application, and signs nobody in`, async () => {
    const { url, users } = await open();
    users.set(change as unknown as Partial<HostUser>);
    const browser = new Browser(url);
    const login = await browser.submit(await browser.get(`${url}/account`), WHO);
    assert.equal(login.status, 503);
  });

test('another user than the one asked for is a fault of the application', async () => {
  const { url, users, signIn } = await open();
  const { access_token: token } = await signIn();
  const userInfo = async () => fetch(`${url}/userinfo`, { headers: { authorization: `Bearer ${token}` } });
  users.set({ subject: 'USER-7', claims: { email: 'other@example.com' } });
  const answer = await userInfo();
  assert.equal(answer.status, 503, await answer.text());
});

test('a user of the application cannot use up their subject identifier by deleting the account here', async () => {
  const { url, stored } = await open();
  const browser = new Browser(url);
  await browser.submit(await browser.get(`${url}/account`), WHO);
  const page = await browser.get(`${url}/account/data`);
  assert.match(page.html, /id="delete-elsewhere"/);
  assert.equal((await browser.submit(page, { confirm: 'yes' })).status, 403);
  assert.equal((await stored.people.bySubject('user-7'))?.name, 'ada');
});

test('a sign-in during which the access ends begins no session', async () => {
  // Also before the user has had a token.
  const { url, users, grantd, stored } = await open();
  assert.equal((await stored.people.bySubject('user-7'))?.subject, undefined);
  const { authenticate } = users;
  users.authenticate = async (...typed) => {
    const user = await authenticate.apply(users, typed);
    await grantd.endAccess('user-7');
    return user;
  };
  const browser = new Browser(url);
  const login = () => browser.get(`${url}/account`).then((page) => browser.submit(page, WHO));
  assert.equal((await login()).status, 403);
  users.authenticate = authenticate;
  assert.match((await login()).html, /Ada/);
});

test('RFC 9700 §4.15 a user whose subject is the ID of a client cannot sign in', async () => {
  const { url, users, stored } = await open();
  users.all.set('web', { subject: 'web', username: 'mallory' });
  const browser = new Browser(url);
  const login = await browser.get(`${url}/account`);
  const typed = { ...WHO, username: 'mallory' };
  assert.equal((await browser.submit(login, typed)).status, 503);
  assert.equal(await stored.people.bySubject('web'), undefined);
});

for (const createUsers of [true, ['app.example']])
  test(`a provider with create_users ${JSON.stringify(createUsers)} is refused with users, because its users could take their usernames`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'grantd-embed-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const providers = join(folder, 'providers.json');
    writeFileSync(join(folder, 'secret'), 'the secret of grantd at the provider', { mode: 0o600 });
    const acme = { name: 'Acme', issuer: 'https://acme.example', client_id: 'grantd' };
    const given = { ...acme, client_secret: { file: 'secret' }, create_users: createUsers };
    writeFileSync(providers, JSON.stringify({ acme: given }), { mode: 0o600 });
    const options = { issuer: 'https://app.example/auth', database: 'sqlite:never.db', providers };
    await assert.rejects(embed({ ...options, users: new Users() }), {
      name: 'ConfigurationRefused',
      message: /^providers: acme: create_users: expected false with users, /,
    });
  });

for (const [name, options] of Object.entries({
  console: { console: true },
  smtpUrl: { smtpUrl: 'smtp://localhost' },
  signUp: { signUp: 'open', smtpUrl: 'smtp://localhost', mailFrom: 'grantd@app.example' },
  registrationScopes: { registration: 'open', registrationScopes: ['grantd:clients:write'] },
  defaultAudience: { adminApi: true, defaultAudience: ['https://app.example/auth/admin'] },
}))
  test(`the option ${name} is refused, because it would open grantd to strangers`, async () => {
    await assert.rejects(
      embed({
        issuer: 'https://app.example/auth',
        database: 'sqlite:never.db',
        users: new Users(),
        ...options,
      }),
      { name: 'ConfigurationRefused', message: new RegExp(`^${name}: `) },
    );
  });
