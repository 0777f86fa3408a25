// Signs in with the recipes of docs/clients.md as they are printed, except for addresses.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type DPoPState, InMemoryWebStorage, OidcClient, WebStorageStateStore } from 'oidc-client-ts';
import * as client from 'openid-client';
import { freePort } from '../../core/test/harness/free_port.ts';
import { Browser, signInAndConsent } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { listenOnLoopback } from './harness/listening.ts';
import { type RunningServer, Workbench } from './harness/program.ts';

const ROOT = dirname(dirname(import.meta.dirname));
const PAGE = readFileSync(join(ROOT, 'docs', 'clients.md'), 'utf8');
const ISSUER = 'https://login.example.com';
const CAROL = { username: 'carol', password: 'correct horse battery' };

/** The blocks below a heading, by language, with the addresses of a test. */
function recipe(title: string, addresses: Readonly<Record<string, string>>) {
  const [, text = assert.fail(title)] = new RegExp(`^### ${title}\n(.*?)(?=^##)`, 'ms').exec(PAGE) ?? [];
  return (language: string): readonly string[] =>
    [...text.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'))].map(([, code = '']) =>
      Object.entries(addresses).reduce((changed, [from, to]) => changed.replaceAll(from, to), code),
    );
}

const workbench = new Workbench();
after(() => workbench.clear());

/** A server with the client of a recipe and a user. */
async function serverFor(
  command: string,
  port: number,
): Promise<RunningServer & { readonly secret: string }> {
  const folder = workbench.folder();
  const environment = { GRANTD_ISSUER: `http://localhost:${port}` };
  const words = command
    .replace(/^npx grantd /, '')
    .trimEnd()
    .split(' ');
  const printed = await grantdPrints(folder, words, '', environment);
  const user = [
    'user',
    'add',
    'carol',
    '--password-stdin',
    '--claim',
    'name=Carol',
    '--email',
    'carol@example.com',
  ];
  await grantdPrints(folder, [...user, '--email-verified'], CAROL.password, environment);
  const server = await workbench.start(folder, ['--port', String(port)], environment);
  return { ...server, secret: printed.trimEnd().split('\n').at(-1) ?? '' };
}

test('better-auth signs a user in', async (t) => {
  const [issuerPort, port] = [await freePort(), await freePort()];
  const [issuer, home] = [`http://localhost:${issuerPort}`, `http://localhost:${port}`];
  const blocks = recipe('better-auth', { [ISSUER]: issuer, 'https://members.example': home });
  const [[command = ''], [code = '']] = [blocks('sh'), blocks('js')];
  const { secret } = await serverFor(command, issuerPort);
  process.env.BETTER_AUTH_SECRET = 'a secret for tests, of more than 32 characters';
  process.env.CLIENT_SECRET = secret;
  const file = join(ROOT, '.test-results', `better_auth_${port}.mjs`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(
    file,
    `import { DatabaseSync } from 'node:sqlite';\nconst database = new DatabaseSync(':memory:');\n${code}`,
  );
  t.after(() => rmSync(file));
  const { auth } = await import(file);
  const { getMigrations } = await import('better-auth/db/migration');
  await (await getMigrations(auth.options)).runMigrations();

  const begun: Response = await auth.handler(
    new Request(`${home}/api/auth/sign-in/social`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: home },
      body: JSON.stringify({ provider: 'grantd', callbackURL: '/' }),
    }),
  );
  const { url } = (await begun.json()) as { readonly url: string };
  const callback = await signInAndConsent(new Browser(issuer), url, CAROL);
  const signedIn: Response = await auth.handler(
    new Request(callback, { headers: { cookie: cookiesOf(begun) } }),
  );
  assert.equal(signedIn.status, 302, await signedIn.text());
  const session = await auth.api.getSession({ headers: new Headers({ cookie: cookiesOf(signedIn) }) });
  assert.deepEqual([session?.user.name, session?.user.email], ['Carol', 'carol@example.com']);
});

test('oidc-client-ts with a key sends Bearer to UserInfo, and has the claims in the ID token instead', async (t) => {
  // Browsers have it.
  Object.assign(globalThis, { window: globalThis });
  t.after(() => Reflect.deleteProperty(globalThis, 'window'));
  const [issuerPort, port] = [await freePort(), await freePort()];
  const issuer = `http://localhost:${issuerPort}`;
  const home = `http://localhost:${port}`;
  const [command = ''] = recipe('oidc-client-ts', { [ISSUER]: issuer, 'https://spa.example': home })('sh');
  await serverFor(`${command.trimEnd()} --id-token-user-claims`, issuerPort);
  const keys = new Map<string, DPoPState>();
  const store = {
    get: async (key: string) => keys.get(key) as DPoPState,
    set: async (key: string, state: DPoPState) => void keys.set(key, state),
    getAllKeys: async () => [...keys.keys()],
    remove: async () => assert.fail(),
  };
  const signIn = async (loadUserInfo: boolean) => {
    const application = new OidcClient({
      ...{ authority: issuer, client_id: 'spa', redirect_uri: `${home}/callback`, loadUserInfo },
      ...{ scope: 'openid profile offline_access', dpop: { store } },
      stateStore: new WebStorageStateStore({ store: new InMemoryWebStorage() }),
    });
    const { url } = await application.createSigninRequest({});
    const callback = await signInAndConsent(new Browser(issuer), url, CAROL);
    return application.processSigninResponse(callback.href);
  };
  await assert.rejects(signIn(true), /the access token is bound to a key and needs a proof/);
  const { profile, token_type: type } = await signIn(false);
  assert.deepEqual([profile.name, type], ['Carol', 'DPoP']);
});

test('openid-client says with the Basic challenge that the secret in the form is wrong', async () => {
  const port = await freePort();
  const issuer = `http://localhost:${port}`;
  await serverFor('npx grantd client add job --grant client_credentials --scope read', port);
  const execute = [client.allowInsecureRequests];
  const wrong = client.ClientSecretPost('wrong');
  const configuration = await client.discovery(new URL(issuer), 'job', {}, wrong, { execute });
  const error: unknown = await client.clientCredentialsGrant(configuration).catch((thrown) => thrown);
  assert.ok(error instanceof client.WWWAuthenticateChallengeError);
  assert.match(error.message, /server responded with a challenge in the WWW-Authenticate HTTP Header/);
  const schemes = error.cause.map(({ scheme }) => scheme);
  assert.deepEqual([schemes, (await error.response.json()).error], [['basic'], 'invalid_client']);
});

function cookiesOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';', 1)[0])
    .join('; ');
}

const hasOauth2Proxy = spawnSync('oauth2-proxy', ['--version']).status === 0;

test('oauth2-proxy signs a user in for a whole web application', {
  skip:
    !hasOauth2Proxy && 'oauth2-proxy is not installed: go install github.com/oauth2-proxy/oauth2-proxy/v7',
}, async (t) => {
  const [issuerPort, port] = [await freePort(), await freePort()];
  const [issuer, home] = [`http://localhost:${issuerPort}`, `http://localhost:${port}`];
  const application = createServer(({ headers }, response) => {
    response.end(String(headers['x-forwarded-email']));
  });
  const upstream = `http://127.0.0.1:${await listenOnLoopback(application)}`;
  t.after(() => application.close());
  const blocks = recipe('oauth2-proxy', {
    ...{ [ISSUER]: issuer, 'https://app.example': home, '127.0.0.1:4180': `127.0.0.1:${port}` },
    'http://127.0.0.1:8080': upstream,
  });
  const [[command = ''], [settings = '']] = [blocks('sh'), blocks('ini')];
  const { secret, folder } = await serverFor(command, issuerPort);
  const file = join(folder, 'oauth2_proxy.cfg');
  const own = settings.replace('grantd_cs_…', secret).replace('COOKIE_SECRET', 'a'.repeat(32));
  // The test has no TLS.
  writeFileSync(file, `${own}cookie_secure = false\n`);
  const child = spawn('oauth2-proxy', ['--config', file], { stdio: 'ignore' });
  t.after(() => child.kill());
  const browser = new Browser(home);
  await untilOpen(home);
  const { url } = await browser.get(`${home}/oauth2/start?rd=/`);
  const callback = await signInAndConsent(new Browser(issuer), url, CAROL);
  assert.equal((await browser.get(callback.href)).html, 'carol@example.com');
  assert.equal((await new Browser(home).get(home)).status, 403, 'without a session');
});

const PYTHON = process.env.PYTHON ?? 'python3';
const hasAllauth = spawnSync(PYTHON, ['-c', 'import allauth'], { stdio: 'ignore' }).status === 0;

test('django-allauth signs a user in', {
  skip:
    !hasAllauth && 'django-allauth is not installed (pip install "django-allauth[socialaccount]", PYTHON=…)',
}, async (t) => {
  const { issuer, home, port, settings, secret, folder } = await applicationOf(
    'django-allauth',
    'python',
    'https://django.example',
  );
  const file = join(folder, 'providers.py');
  writeFileSync(file, settings);
  const args = [join(import.meta.dirname, 'harness', 'allauth_site.py'), file, join(folder, 'django.sqlite')];
  const env = { ...process.env, CLIENT_SECRET: secret };
  const site = spawn(PYTHON, [...args, String(port)], { stdio: 'ignore', env });
  t.after(() => site.kill());
  await untilOpen(home);
  const browser = new Browser(home);
  const { url } = await browser.get(`${home}/accounts/oidc/grantd/login/`);
  const callback = await signInAndConsent(new Browser(issuer), url, CAROL);
  assert.equal((await browser.get(callback.href)).html, 'carol carol@example.com');
});

/** Debian's packages, or those that are unpacked in another folder. */
const RUBY = `${process.env.RUBY_ROOT ?? ''}/usr`;
const pathsOfRuby = (...paths: readonly string[]) => paths.map((path) => `${RUBY}/${path}`).join(':');
const RUBY_ENVIRONMENT = {
  ...process.env,
  LD_LIBRARY_PATH: pathsOfRuby('lib/x86_64-linux-gnu'),
  RUBYLIB: ['lib', 'lib/x86_64-linux-gnu']
    .map((lib) =>
      pathsOfRuby(`${lib}/ruby/vendor_ruby`, `${lib}/ruby/vendor_ruby/3.1.0`, `${lib}/ruby/3.1.0`),
    )
    .join(':'),
  GEM_PATH: pathsOfRuby(
    ...['share/rubygems-integration/all', 'share/rubygems-integration/3.1.0', 'lib/ruby/gems/3.1.0'],
  ),
};
const hasOmniauth =
  spawnSync(`${RUBY}/bin/ruby`, ['-e', "require 'omniauth_openid_connect'"], {
    stdio: 'ignore',
    env: RUBY_ENVIRONMENT,
  }).status === 0;

test('the library with which GitLab signs in signs a user in', {
  skip: !hasOmniauth && 'ruby-omniauth-openid-connect and ruby-webrick are not installed',
}, async (t) => {
  // This version of the library does not know the setting `pkce`.
  const flag = '--insecure-allow-missing-pkce';
  const application = await applicationOf('GitLab', 'ruby', 'https://gitlab.example', flag);
  const { issuer, home, port, settings, secret, folder } = application;
  const file = join(folder, 'gitlab.rb');
  writeFileSync(file, settings.replace('grantd_cs_…', secret));
  const args = [join(import.meta.dirname, 'harness', 'omniauth_site.rb'), file, String(port)];
  const site = spawn(`${RUBY}/bin/ruby`, args, {
    stdio: 'ignore',
    env: RUBY_ENVIRONMENT,
  });
  t.after(() => site.kill());
  await untilOpen(home);
  const browser = new Browser(home);
  const { url } = await browser.get(`${home}/users/auth/openid_connect`);
  const callback = await signInAndConsent(new Browser(issuer), url, CAROL);
  assert.match((await browser.get(callback.href)).html, /^\S+ carol carol@example\.com$/);
});

/** A server with the client of an application's recipe, and the settings in a language, with the addresses of the test. */
async function applicationOf(title: string, language: string, site: string, ...flags: string[]) {
  const [issuerPort, port] = [await freePort(), await freePort()];
  const [issuer, home] = [`http://localhost:${issuerPort}`, `http://localhost:${port}`];
  const blocks = recipe(title, { [ISSUER]: issuer, [site]: home });
  const [[command = ''], [settings = '']] = [blocks('sh'), blocks(language)];
  return {
    ...(await serverFor([command.trimEnd(), ...flags].join(' '), issuerPort)),
    issuer,
    home,
    port,
    settings,
  };
}

/** Debian's packages, or those that are unpacked in another folder. */
const APACHE = process.env.APACHE_ROOT ?? '';
const MODULES = `${APACHE}/usr/lib/apache2/modules`;
const hasApache = existsSync(`${MODULES}/mod_auth_openidc.so`);

test('Apache signs a user in', { skip: !hasApache && 'mod_auth_openidc is not installed' }, async (t) => {
  const [issuerPort, port] = [await freePort(), await freePort()];
  const [issuer, home] = [`http://localhost:${issuerPort}`, `http://localhost:${port}`];
  const folder = workbench.folder();
  const secrets = join(folder, 'grantd_secrets.conf');
  const blocks = recipe('Apache: mod_auth_openidc', {
    ...{ [ISSUER]: issuer, 'https://apache.example': home },
    '/etc/apache2/grantd_secrets.conf': secrets,
  });
  const [[command = ''], [settings = '', secretSettings = '']] = [blocks('sh'), blocks('apache')];
  const { secret } = await serverFor(command, issuerPort);
  writeFileSync(
    secrets,
    secretSettings.replace('grantd_cs_…', secret).replace('…', 'passphrase-of-the-test'),
  );
  await openApache(t, folder, home, settings);
  const browser = new Browser(home);
  const { url } = await browser.get(`${home}/protected/`);
  const callback = await signInAndConsent(new Browser(issuer), url, CAROL);
  assert.equal((await browser.get(callback.href)).html, 'the page');
});

async function openApache(t: TestContext, folder: string, home: string, settings: string): Promise<void> {
  const site = join(folder, 'site', 'protected');
  mkdirSync(site, { recursive: true });
  writeFileSync(join(site, 'index.html'), 'the page');
  chmodSync(folder, 0o755);
  const names = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'dir', 'auth_openidc'];
  const configuration = `ServerRoot ${folder}
${names.map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`).join('\n')}
Listen 127.0.0.1:${new URL(home).port}
ServerName ${new URL(home).host}
UseCanonicalName On
PidFile ${folder}/pid
ErrorLog ${folder}/error.log
DocumentRoot ${join(folder, 'site')}
${settings}
<Location /protected>
AuthType openid-connect
Require valid-user
OIDCUnAuthAction auth true
</Location>
`;
  writeFileSync(join(folder, 'httpd.conf'), configuration);
  const env = { ...process.env, LD_LIBRARY_PATH: `${APACHE}/usr/lib/x86_64-linux-gnu` };
  const args = ['-f', join(folder, 'httpd.conf'), '-DFOREGROUND'];
  const child = spawn(`${APACHE}/usr/sbin/apache2`, args, { stdio: 'inherit', env });
  t.after(() => child.kill());
  await untilOpen(home);
}

async function untilOpen(home: string): Promise<void> {
  const isOpen = () =>
    fetch(home).then(
      () => true,
      () => false,
    );
  for (let attempt = 0; attempt < 300 && !(await isOpen()); attempt += 1) await pause(50);
}
