import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfiguration } from '../../src/config/configuration.ts';
import type { Person } from '../../src/data/people.ts';
import { type Instance, openInstance } from '../../src/instance/instance.ts';
import { LinkBook } from '../../src/people/mailing.ts';
import { startApplication } from '../harness/application.ts';
import { Authenticator } from '../harness/authenticator.ts';
import { ALICE, Browser, type Page } from '../harness/browser.ts';
import { cheapHash } from '../harness/cheap_hash.ts';
import { grantdPrints } from '../harness/commands.ts';
import { DATABASES } from '../harness/databases.ts';
import { IdentityProvider } from '../harness/identity_provider.ts';
import { type RunningServer, Workbench } from '../harness/program.ts';
import { authorizationUrl, newPkce } from '../harness/protocol.ts';
import { databaseIn } from '../harness/stored.ts';
import { buttonOn, codeOf, type Entrance, follow, send, type World } from './form_crawl.ts';

/** A server with all pages, and the ways into them. */
export interface Entrances {
  readonly server: RunningServer;
  readonly entrances: readonly Entrance[];
  isProvider(url: string): boolean;
  /** Where the provider leads from there. */
  answerAt(url: string): Promise<string>;
  close(): Promise<void>;
}

const ENVIRONMENT = {
  PASSWORD_MILLISECONDS: '20',
  PROVIDER_SECRET: 'the secret of the client at the provider',
};

const PASSWORD = 'correct horse';

/** The page of an application with which the console can sign in. */
const TRIED = '/console/clients?id=tried';

const LOGIN = '/login login-submit';
const SECOND = '/login/second';
const FACTORS = '/account/factors';

export async function openEntrances(): Promise<Entrances> {
  const workbench = new Workbench();
  const application = await startApplication();
  application.put('/callback', '');
  const company = await IdentityProvider.open();
  const server = await startServer(workbench, `${application.origin}/callback`, company.url);
  // What an operator does before each press, on the database of the server: a command takes longer.
  const database = databaseIn(server.folder);
  const configuration = readConfiguration({}, { GRANTD_ISSUER: server.url, GRANTD_ADMIN_GROUP: 'admins' });
  const instance = await openInstance(configuration, database, server.url, 'cli');
  return {
    server,
    entrances: entrancesOf(server, instance, `${application.origin}/callback`, company),
    isProvider: (url) => url.startsWith(company.url),
    async answerAt(url) {
      const { headers } = await fetch(url, { redirect: 'manual' });
      return headers.get('location') ?? assert.fail(url);
    },
    async close() {
      await database.close();
      await workbench.clear();
      await company.close();
      application.close();
    },
  };
}

/** With two workers, and clients `shop`, `closed`, `tried`, `a-client` and `b-client`. */
async function startServer(
  workbench: Workbench,
  redirectUri: string,
  provider: string,
): Promise<RunningServer> {
  const folder = workbench.folder();
  const company = { client_id: 'login', client_secret: { env: 'PROVIDER_SECRET' }, issuer: provider };
  writeFileSync(join(folder, 'providers.json'), JSON.stringify({ company: { ...company, name: 'Company' } }));
  const flags = [
    ...[
      '--demo',
      '--workers',
      '2',
      '--email-code',
      'also',
      '--sign-up',
      'open',
      '--providers',
      'providers.json',
    ],
    ...['--personal-tokens', '--personal-token-apis', 'http://localhost:4003'],
    ...['--trusted-proxies', '127.0.0.1,::1', '--console-sign-in-policy', 'password'],
  ];
  const first = await workbench.start(folder, flags, ENVIRONMENT);
  for (const [id, ...more] of [
    ['shop', '--public'],
    ['closed', '--allow-group=staff'],
    ['tried', '--public', '--application-type=web', `--redirect-uri=${first.url}/console/try`],
    ['a-client'],
    ['b-client'],
  ]) {
    if (id === 'closed') await grantdPrints(folder, ['group', 'add', 'staff']);
    const client = ['client', 'add', String(id), `--redirect-uri=${redirectUri}`, '--scope=openid profile'];
    await grantdPrints(folder, [...client, ...more]);
  }
  // It has to be there when the console opens.
  await grantdPrints(folder, ['group', 'add', 'admins']);
  const { port } = new URL(first.url);
  await first.stop();
  return workbench.start(
    folder,
    [...flags, '--console', '--admin-group', 'admins', '--port', port],
    ENVIRONMENT,
  );
}

function entrancesOf(
  server: RunningServer,
  instance: Instance,
  redirectUri: string,
  company: IdentityProvider,
): readonly Entrance[] {
  const { people, groups, scopeTexts, storage, mails, mailedLinks } = instance;
  const passwordHash = cheapHash(PASSWORD);
  let count = 0;

  const requestOf = (parameters = {}) =>
    authorizationUrl(server.url, newPkce(), { client_id: 'shop', redirect_uri: redirectUri, ...parameters });
  const at = (path: string) => `${server.url}${path}`;

  /** A new user with a new browser, at an address of its own. The console is for this machine. */
  async function newWorld(url: string, isAdministrator = false) {
    count += 1;
    const name = `user-${count}`;
    const claims = { email: `${name}@example.com`, email_verified: true };
    await people.add({ name, passwordHash, claims });
    const who = { username: name, password: PASSWORD };
    const headers: Record<string, string> = isAdministrator
      ? {}
      : { 'x-forwarded-for': `2001:db8:0:${count.toString(16)}::1` };
    const values = { ...who, email: `new-${name}@example.com` };
    return { browser: new Browser(server.url, headers), headers, url, values };
  }

  const personOf = async ({ values: { username = '' } }: World): Promise<Person> =>
    (await people.byName(username)) ?? assert.fail(username);

  const elsewhere = (world: World): World => ({ ...world, browser: new Browser(server.url, world.headers) });

  const signIn = (world: World) => follow({ ...world, url: at('/account') }, [LOGIN]);

  async function signedIn(url: string, isAdministrator = false) {
    const world = await newWorld(url, isAdministrator);
    if (isAdministrator) {
      const { subject } = await personOf(world);
      await groups.addMember({ subject, group: 'admins' }, Date.now());
    }
    await signIn(world);
    return world;
  }

  async function signedInEarlier(path: string): Promise<World> {
    const world = await signedIn(at(path));
    const { subject } = await personOf(world);
    await DATABASES[0]?.run(
      server.folder,
      `UPDATE sessions SET signed_in_at_ms = signed_in_at_ms - 601000 WHERE subject = '${subject}'`,
    );
    return world;
  }

  const agree = (world: World) => follow({ ...world, url: requestOf() }, ['/consent consent-allow']);

  /** With an app, recovery codes and a passkey, which another browser has added. */
  async function withFactors(url: string): Promise<World> {
    const world = await newWorld(url);
    const authenticator = new Authenticator(server.url);
    const other = { ...elsewhere(world), authenticator };
    await signIn(other);
    const security = { ...other, url: at('/account/security') };
    const offer = await follow(security, [`${FACTORS} add-totp`]);
    const [, secret = ''] = /<code id="totp-secret">([^<]*)</.exec(offer.html) ?? assert.fail(offer.url);
    const codes = await send(other, buttonOn(offer, other, `${FACTORS} confirm-totp`));
    const [, recoveryCode = ''] = /<li><code>([^<]*)</.exec(codes.html) ?? assert.fail(codes.url);
    await follow(security, [`${FACTORS} add-passkey`]);
    const values = { ...world.values, recovery_code: recoveryCode, code: codeOf(secret, 1) };
    return { ...world, authenticator, values };
  }

  /** A change needs the passkey of the user. A code is less. */
  async function signedInWith(factor: 'passkey-submit' | 'second-submit', path: string): Promise<World> {
    const world = await withFactors(at(path));
    await follow(world, [LOGIN, `${SECOND} ${factor}`]);
    return world;
  }

  /** With wrong answers to everything that a sign-in asks for. */
  const mistaken = (world: World): World => ({
    ...world,
    values: { ...world.values, code: '000000', recovery_code: 'none' },
    authenticator: new Authenticator(server.url),
  });

  async function withLink(purpose: 'reset' | 'verify', world: World): Promise<World> {
    const person = await personOf(world);
    // An address belongs to one user.
    const address = `${purpose === 'verify' ? 'new.' : ''}${person.name}@example.com`;
    const links = new LinkBook({ links: mailedLinks, issuer: server.url });
    const url = await links.make({ purpose, address, person });
    return { ...world, url };
  }

  /** Through the provider, by a button of a page. */
  async function throughProvider(world: World, path: string, kind: string): Promise<Page> {
    const { url } = await follow({ ...world, url: at(path) }, [kind]);
    return world.browser.get(company.answer(url, { sub: world.values.username ?? '' }).href);
  }

  return [
    { name: 'an application', longestWay: 1, open: () => newWorld(requestOf()) },
    {
      name: 'an application with consent',
      only: [LOGIN],
      async open() {
        const world = await newWorld(requestOf());
        const other = elsewhere(world);
        await signIn(other);
        await agree(other);
        return world;
      },
    },
    {
      name: 'a wrong password',
      only: [LOGIN],
      async open() {
        const world = await newWorld(at('/account'));
        return { ...world, values: { ...world.values, password: 'wrong' } };
      },
    },
    { name: 'a second step', longestWay: 1, open: () => withFactors(requestOf()) },
    {
      name: 'a wrong second step',
      only: ['second-submit', 'recovery-submit', 'passkey-submit'].map((id) => `${SECOND} ${id}`),
      longestWay: 1,
      open: async () => mistaken(await withFactors(at('/account'))),
    },
    {
      name: 'an account',
      longestWay: 3,
      async open() {
        const world = await signedIn(at('/account'));
        await agree(world);
        await signIn(elsewhere(world));
        return world;
      },
    },
    { name: 'an account with factors', open: () => signedInWith('passkey-submit', '/account/security') },
    { name: 'factors after a code', open: () => signedInWith('second-submit', '/account/security') },
    { name: 'data after a code', open: () => signedInWith('second-submit', '/account/data') },
    { name: 'an account after a while', open: () => signedInEarlier('/account/security') },
    { name: 'tokens after a while', open: () => signedInEarlier('/account/tokens') },
    {
      name: 'an identity of a provider',
      longestWay: 1,
      async open() {
        const world = await newWorld(at('/upstream/company/connect'));
        await throughProvider(world, '/account', '/upstream/company/sign_in provider-*');
        return world;
      },
    },
    {
      name: 'an account of a provider',
      async open() {
        const world = await signedIn(at('/account/security'));
        await throughProvider(world, '/account/security', '/upstream/company/connect connect-*');
        return world;
      },
    },
    { name: 'a choice', open: () => signedIn(requestOf({ prompt: 'select_account' })) },
    { name: 'a code of a device', open: () => signedIn(at('/device')) },
    { name: 'an application for others', open: () => signedIn(requestOf({ client_id: 'closed' })) },
    { name: 'a link for a password', open: async () => withLink('reset', await newWorld('')) },
    { name: 'a link for an address', open: async () => withLink('verify', await signedIn('')) },
    {
      name: 'the console',
      longestWay: 3,
      async open() {
        const world = await signedIn(at('/console'), true);
        await storage.setDisabled('client', 'a-client', false);
        const scope = `crew:${world.values.username}`;
        await scopeTexts.add({ scope, api: undefined, texts: { name: 'Read the crew' } });
        const { operator } = await instance.server();
        const issue = async ({ subject }: Person) => {
          const [issued] = await operator.issueTokens({ clientId: 'demo-web', subject });
          return issued?.accessToken ?? assert.fail();
        };
        // The first user of the list has access again, whatever an earlier button has ended.
        await issue((await people.byName(ALICE.username)) ?? assert.fail());
        const token = await issue(await personOf(world));
        return {
          ...world,
          values: {
            ...world.values,
            scope: `new:${world.values.username}`,
            name: `crew of ${world.values.username}`,
            token,
          },
        };
      },
    },
    {
      name: 'a new user',
      only: ['/console/users save-*'],
      async open() {
        const world = await signedIn(at('/console/users?ask=add'), true);
        return { ...world, values: { ...world.values, username: `new ${world.values.username}` } };
      },
    },
    {
      name: 'a new client',
      only: ['save-*', 'secret-saved'].map((id) => `/console/clients ${id}`),
      longestWay: 2,
      async open() {
        const world = await signedIn(at('/console/clients?ask=add_machine'), true);
        return { ...world, values: { ...world.values, client_id: `of-${world.values.username}` } };
      },
    },
    {
      name: 'a user who is locked out',
      only: ['/console/users enable', '/console/users unlock'],
      async open() {
        const locked = await newWorld(at('/account'));
        const wrong = { ...locked, values: { ...locked.values, password: 'wrong' } };
        for (let attempt = 1; attempt <= 10; attempt++) await follow(wrong, [LOGIN]);
        const { subject } = await personOf(locked);
        await storage.setDisabled('subject', subject, true);
        return signedIn(at(`/console/users?sub=${subject}`), true);
      },
    },
    {
      name: 'an application to try',
      only: ['/console/try try-here'],
      open: () => signedIn(at(TRIED), true),
    },
    {
      name: 'what an application gets',
      only: ['/console/try try-again', '/console/try revoke-trial'],
      async open() {
        const world = await signedIn(at(TRIED), true);
        const begin = buttonOn(await follow(world, []), world, '/console/try try-here');
        await follow(world, [begin.kind, '/consent consent-allow']);
        // The server asks for no consent any more, so the request leads to the page.
        const body = new URLSearchParams(begin.fields);
        const { headers } = await world.browser.send(begin.action, { method: 'POST', body });
        return { ...world, url: headers.get('location') ?? assert.fail() };
      },
    },
    {
      name: 'several users',
      only: ['/console/users console-yes'],
      async open() {
        const { subject } = await personOf(await newWorld(''));
        return signedIn(
          at(`/console/users?${new URLSearchParams({ ask: 'bulk', do: 'disable', picked: subject })}`),
          true,
        );
      },
    },
    {
      name: 'an email that has failed',
      only: ['/console/mails retry-*'],
      async open() {
        const world = await signedIn(at('/console/mails'), true);
        const mail = { recipient: 'failed@example.com', template: 'reset', language: 'en', sealed: '' };
        await mails.fail(await mails.add(mail, Date.now()), Date.now(), 'no such host');
        return world;
      },
    },
    {
      name: 'a disabled client',
      only: ['/console/clients enable'],
      async open() {
        const world = await signedIn(at('/console/clients?id=b-client'), true);
        await storage.setDisabled('client', 'b-client', true);
        return world;
      },
    },
  ];
}
