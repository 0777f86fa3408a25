// § refers to OpenID Connect Core.
// Long: one provider, with each way in which it can answer.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ServerSecret } from '@grantd/core';
import { freePort } from '../../core/test/harness/free_port.ts';
import { type ProgramSecretUse, readSecretFile } from '../src/data/secrets.ts';
import { SealedValues } from '../src/pages/browser/cookies.ts';
import { canBeIssuer } from '../src/people/ways_to_sign_in.ts';
import { Authenticator, passkeyFormOf } from './harness/authenticator.ts';
import {
  Browser,
  hiddenFields,
  isConsent,
  isLogin,
  type Page,
  signInAndConsent,
  unescaped,
} from './harness/browser.ts';
import { grantdPrints, grantd as grantdRuns } from './harness/commands.ts';
import { ANY_DATABASE } from './harness/databases.ts';
import { ACCOUNT, DirectoryServer, passwordOf, SUFFIX } from './harness/directory_server.ts';
import { IdentityProvider } from './harness/identity_provider.ts';
import { newPerson } from './harness/new_person.ts';
import { environmentOf, type RunningServer, Workbench } from './harness/program.ts';
import { authorizationUrl, introspect, newPkce, payloadOf, redeem } from './harness/protocol.ts';
import { withDatabaseOf } from './harness/stored.ts';
import { press } from './harness/upstream.ts';

const withoutStyle = (html: string) => html.replace(/<style>[\s\S]*<\/style>/, '');

const SECRET = 'the secret of the client at the provider';

for (const database of ANY_DATABASE) {
  test('a link counts if discovery at the configured URL accepts its issuer', () => {
    const accepts = (configured: string, issuer: string) => canBeIssuer(new URL(issuer), new URL(configured));
    const guid = 'https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0';
    assert.equal(accepts('https://login.microsoftonline.com/contoso.onmicrosoft.com/v2.0', guid), true);
    assert.equal(accepts('https://contoso.b2clogin.com/a/v2.0', 'https://contoso.b2clogin.com/b/v2.0'), true);
    assert.equal(
      accepts('https://idp.example/.well-known/openid-configuration', 'https://idp.example'),
      true,
    );
    assert.equal(accepts('https://idp.example', 'https://idp.example/'), true);
    assert.equal(accepts('https://idp.example', 'https://earlier.example'), false);
    assert.equal(accepts('https://idp.example/a', 'https://idp.example/b'), false);
  });

  describe(`sign-in through other providers on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    let company: IdentityProvider;
    let other: IdentityProvider;
    let grantd: RunningServer;
    let server: RunningServer;
    after(async () => {
      await workbench.clear();
      await Promise.all([company?.close(), other?.close()]);
    });
    before(async () => {
      [company, other] = await Promise.all([IdentityProvider.open(), IdentityProvider.open()]);
      const port = String(await freePort());
      grantd = await workbench.start(workbench.folder(), ['--demo']);
      await grantdPrints(
        grantd.folder,
        [
          ...['client', 'add', 'login', '--name=Login', '--scope=openid profile email', '--secret-stdin'],
          `--redirect-uri=http://localhost:${port}/upstream/grantd/callback`,
        ],
        SECRET,
      );
      const folder = await workbench.home();
      const of = { client_id: 'login', client_secret: { env: 'PROVIDER_SECRET' } };
      const trusting = { issuer: company.url, trusted_domains: ['company.example'] };
      writeFileSync(
        join(folder, 'providers.json'),
        JSON.stringify({
          company: {
            ...{ ...of, name: 'Company', 'name#de': 'Firma', issuer: company.url },
            ...{ trusted_domains: ['company.example'], create_users: true },
          },
          other: { ...of, name: 'Other', issuer: other.url },
          grantd: { ...of, name: 'Another grantd', issuer: grantd.url, create_users: true, pass_amr: true },
          mapped: { ...of, ...trusting, name: 'Mapped', claims: { email: 'upn' } },
          verified: {
            ...{ ...of, ...trusting, name: 'Verified' },
            claims: { email: 'upn', email_verified: 'upn_verified' },
          },
          entra: { ...of, ...trusting, kind: 'microsoft' },
          'entra-mapped': { ...of, ...trusting, kind: 'microsoft', claims: { email: 'upn' } },
          github: { ...of, kind: 'github', issuer: company.url, create_users: true },
        }),
      );
      server = await workbench.start(folder, ['--demo', '--providers', 'providers.json', '--port', port], {
        PROVIDER_SECRET: SECRET,
      });
    });

    /** From a sign-in page to the provider. @returns the authorization request */
    async function toProvider(browser: Browser, id: string, url = `${server.url}/account`): Promise<URL> {
      const page = await press(browser, await browser.get(url), `provider-${id}`);
      assert.equal(page.status, 303, page.html);
      return new URL(page.url);
    }

    /** A sign-in of a user with these claims. */
    async function signIn(
      claims: Readonly<Record<string, unknown>>,
      { browser = new Browser(server.url), url = `${server.url}/account`, provider = 'company' } = {},
    ): Promise<Page> {
      const idp = provider === 'other' ? other : company;
      return browser.get(idp.answer(await toProvider(browser, provider, url), claims).href);
    }

    async function setEmail(of: RunningServer, name: string, email: string, isVerified = false) {
      await withDatabaseOf(of, async ({ people }) => {
        const person = await people.byName(name);
        assert.ok(person);
        const claims = { ...person.claims, email, email_verified: isVerified };
        assert.equal(await people.update({ ...person, claims }), 'updated');
      });
    }

    const linksOf = (name: string) =>
      withDatabaseOf(server, async ({ people, upstreamIdentities }) => {
        const person = await people.byName(name);
        return person === undefined ? undefined : upstreamIdentities.ofSubject(person.subject);
      });

    const claimsOfPerson = (name: string) =>
      withDatabaseOf(server, async ({ people }) => (await people.byName(name))?.claims);

    const isAt = ({ url, html, status }: Page, path: string) => {
      assert.deepEqual([status, new URL(url).pathname], [200, path], withoutStyle(html));
    };

    const seconds = () => Math.floor(Date.now() / 1000);

    const isProblem = ({ status, html }: Page, expected: number, text: RegExp) => {
      assert.deepEqual(
        [status, /<h1>(.*)<\/h1>/.exec(html)?.[1]?.match(text)?.length],
        [expected, 1],
        withoutStyle(html),
      );
      assert.match(html, /id="try-again" class="button[^"]*" href="\/(login\?pending=|account)/);
    };

    test('a user of a second grantd signs in, gets an account, and comes back to the application', async () => {
      const [browser, there] = [new Browser(server.url), new Browser(grantd.url)];
      const pkce = newPkce();
      const request = await toProvider(
        browser,
        'grantd',
        authorizationUrl(server.url, pkce, { scope: 'openid email' }),
      );
      assert.equal(request.origin, grantd.url);
      await newPerson(server, 'zoe');
      const { who } = await newPerson(grantd, 'zoe');
      await setEmail(grantd, 'zoe', 'zoe@mail.example', true);
      const callback = await signInAndConsent(there, request.href, who);
      const consent = await browser.get(callback.href);
      const left = await browser.submit(consent, { decision: 'allow' });
      const tokens = await redeem(server.url, pkce, new URL(left.url));
      const { amr, sub } = payloadOf(tokens.id_token);
      assert.deepEqual(amr, ['pwd', 'fed']);
      const person = await withDatabaseOf(server, ({ people }) => people.bySubject(String(sub)));
      assert.deepEqual(
        [person?.passwordHash, person?.claims.email, person?.claims.email_verified],
        ['', 'zoe@mail.example', false],
      );
      // The name of the provider's user belongs to another user here.
      assert.equal(person?.name, 'zoe-2');
      const elsewhere = await toProvider(new Browser(server.url), 'grantd');
      const again = await browser.get((await there.get(elsewhere.href)).url);
      isProblem(again, 400, /not started here/);
    });

    test('the same identity is the same user, and the log and the events name the provider', async () => {
      isAt(await signIn({ sub: 'cora-1', preferred_username: 'cora', name: 'Cora' }), '/account');
      isAt(await signIn({ sub: 'cora-1', preferred_username: 'other-name' }), '/account');
      const links = await linksOf('cora');
      assert.deepEqual(
        links?.map(({ provider, upstreamIssuer, upstreamSub, label }) => ({
          provider,
          upstreamIssuer,
          upstreamSub,
          label,
        })),
        [{ provider: 'company', upstreamIssuer: company.url, upstreamSub: 'cora-1', label: 'cora' }],
      );
      assert.equal(await claimsOfPerson('other-name'), undefined);
      const line = await server.logged(
        ({ event, provider }) => event === 'signed_in' && provider === 'company',
        'a sign-in',
      );
      assert.equal(line.page, 'upstream');
      const events = JSON.parse(
        await grantdPrints(server.folder, ['events', 'list', '--type', 'person_linked', '--json']).then(
          (text) => `[${text.trim().split('\n').join(',')}]`,
        ),
      ).flat();
      const target = `company/${links?.[0]?.subject}`;
      assert.equal(events.filter((event: { target: string }) => event.target === target).length, 1);
    });

    test('§3.1.2.1 the request has PKCE, a nonce and a state, and the token request authenticates', async () => {
      const request = await toProvider(new Browser(server.url), 'company');
      const { searchParams: of } = request;
      assert.deepEqual(
        [of.get('client_id'), of.get('response_type'), of.get('scope'), of.get('code_challenge_method')],
        ['login', 'code', 'openid profile email', 'S256'],
      );
      assert.equal(of.get('redirect_uri'), `${server.url}/upstream/company/callback`);
      for (const name of ['state', 'nonce', 'code_challenge'])
        assert.match(of.get(name) ?? '', /^[\w-]{43}$/, name);
      await signIn({ sub: 'pia-1' });
      assert.match(company.tokenRequests.at(-1)?.authorization ?? '', /^Basic /);
    });

    test('pre-hijacking: an unverified address here is never linked, whoever the provider says it is', async () => {
      await newPerson(server, 'mallory');
      await setEmail(server, 'mallory', 'vic@company.example');
      isAt(
        await signIn({
          sub: 'vic-1',
          email: 'vic@company.example',
          email_verified: true,
          preferred_username: 'vic',
        }),
        '/account',
      );
      assert.deepEqual(await linksOf('mallory'), []);
      assert.equal((await claimsOfPerson('vic'))?.email_verified, true);
    });

    test('an address that the provider has not verified, or of a domain without trust, is never linked', async () => {
      for (const [name, address] of [
        ['dora', 'dora@company.example'],
        ['dan', 'dan@elsewhere.example'],
      ] as const) {
        await newPerson(server, name);
        await setEmail(server, name, address, true);
      }
      const unverified = [
        { sub: 'dora-1', email: 'dora@company.example', email_verified: false },
        { sub: 'dora-1', email: 'dora@company.example' },
        { sub: 'dora-1', email: 'dora@company.example', email_verified: 'yes' },
        { sub: 'dan-1', email: 'dan@elsewhere.example', email_verified: true },
        { sub: 'dan-1', email: 'DAN@ELSEWHERE.example', email_verified: true },
      ];
      for (const claims of unverified) isProblem(await signIn(claims), 403, /No account is connected/);
      assert.deepEqual([await linksOf('dora'), await linksOf('dan')], [[], []]);
      const [one] = unverified;
      isAt(await signIn({ ...one, email_verified: true }), '/account');
      assert.equal((await linksOf('dora'))?.length, 1);
    });

    test('a trusted domain links no account that a factor protects', async () => {
      await newPerson(server, 'iris');
      await setEmail(server, 'iris', 'iris@company.example', true);
      await withDatabaseOf(server, async ({ people, factors }) => {
        const { subject } = (await people.byName('iris')) ?? assert.fail();
        const totp = { sealed: 'sealed', createdAtMs: Date.now(), countsFromMs: 0 };
        assert.equal(await factors.addTotp(subject, totp, 0), true);
      });
      const claims = { sub: 'iris-1', email: 'iris@company.example', email_verified: true };
      isProblem(await signIn(claims), 403, /No account is connected/);
      assert.deepEqual(await linksOf('iris'), []);
    });

    test('a user signs in with the ID token if the provider refuses further claims', async () => {
      const of = { sub: 'finn-1', email: 'finn@company.example', email_verified: true };
      for (const [userInfo, reason] of [
        ['refused', 'unexpected HTTP response status code'],
        ['page', 'unexpected response content-type'],
      ] as const) {
        isAt(await signIn({ ...of, userInfo }), '/account');
        const isMeant = (line: object) => JSON.stringify(line).includes(reason);
        assert.equal((await server.logged(isMeant, `that ${reason}`)).event, 'signed_in');
      }
      isProblem(await signIn({ ...of, userInfo: { sub: 'another' } }), 403, /did not succeed/);
      isProblem(await signIn({ ...of, userInfo: 'outage' }), 503, /./);
      isAt(await signIn({ user: { id: 77, login: 'finn' } }, { provider: 'github' }), '/account');
    });

    test('a key that the provider has just replaced is fetched at once, but not at the will of strangers', async () => {
      const claims = { sub: 'hugo-1', preferred_username: 'hugo' };
      isAt(await signIn(claims), '/account');
      await company.replaceKey('two');
      const before = company.paths.length;
      isAt(await signIn(claims), '/account');
      for (const kid of ['three', 'four']) {
        const token = await company.logoutToken({ aud: 'login', sub: 'hugo-1' }, { kid }, true);
        const body = new URLSearchParams({ logout_token: token });
        const url = `${server.url}/upstream/company/backchannel_logout`;
        assert.equal((await fetch(url, { method: 'POST', body })).status, 400);
      }
      assert.equal(company.paths.slice(before).filter((path) => path === '/keys').length, 1);
    });

    test('UserInfo cannot verify the address of the ID token', async () => {
      await newPerson(server, 'eva');
      await setEmail(server, 'eva', 'eva@company.example', true);
      const userInfo = { email: 'mine@company.example', email_verified: true };
      isProblem(
        await signIn({ sub: 'eva-1', email: 'eva@company.example', userInfo }),
        403,
        /No account is connected/,
      );
      isAt(
        await signIn({ sub: 'eva-2', userInfo: { email: 'eva@company.example', email_verified: true } }),
        '/account',
      );
      assert.deepEqual(
        (await linksOf('eva'))?.map(({ upstreamSub }) => upstreamSub),
        ['eva-2'],
      );
    });

    test('an unverified address gives a new user an unverified claim, and only if users are created', async () => {
      isAt(
        await signIn({
          sub: 'fay-1',
          email: 'fay@free.example',
          email_verified: true,
          preferred_username: 'fay',
        }),
        '/account',
      );
      assert.deepEqual(await claimsOfPerson('fay'), { email: 'fay@free.example', email_verified: false });
      isProblem(
        await signIn({ sub: 'fay-2', preferred_username: 'fay-two' }, { provider: 'other' }),
        403,
        /No account is connected/,
      );
      assert.equal(await claimsOfPerson('fay-two'), undefined);
    });

    test('a user signs in here first, and then connects the identity', async () => {
      const { who, browser } = await newPerson(server, 'gus');
      const pkce = newPkce();
      const url = authorizationUrl(server.url, pkce, { scope: 'openid' });
      const problem = await signIn(
        { sub: 'gus-1', email: 'gus@mail.example' },
        { browser, url, provider: 'other' },
      );
      isProblem(problem, 403, /No account is connected/);
      assert.match(problem.html, /<bdi class="name">gus@mail.example<\/bdi>/);
      const login = await browser.get(new URL('/upstream/other/connect', server.url).href);
      assert.ok(isLogin(login), 'only a sign-in leads on');
      const security = await browser.submit(login, who);
      isAt(security, '/account/security');
      const consent = await press(browser, security, 'connect-yes');
      assert.match(consent.html, /id="consent-allow"/, 'the application waits for its user');
      for (const decision of ['yes', 'no']) {
        const fields = { ...hiddenFields(security), decision, later: 'yes' };
        const later = await browser.post(`${server.url}/upstream/other/connect`, fields);
        isAt(later, '/account/security');
        assert.equal(/id="notice"/.test(later.html), decision === 'yes');
      }
      assert.equal((await linksOf('gus'))?.length, 1);
      isAt(await signIn({ sub: 'gus-1' }, { provider: 'other' }), '/account');
    });

    test('an identity is not connected with a session from before, nor after a no', async () => {
      const { who, browser } = await newPerson(server, 'hal');
      await browser.submit(await browser.get(`${server.url}/account`), who);
      const url = authorizationUrl(server.url, newPkce(), { prompt: 'login' });
      isProblem(
        await signIn({ sub: 'hal-1' }, { browser, url, provider: 'other' }),
        403,
        /No account is connected/,
      );
      const security = await browser.get(`${server.url}/account/security`);
      assert.doesNotMatch(security.html, /connect-yes/);
      const login = await browser.get(new URL('/upstream/other/connect', server.url).href);
      assert.ok(isLogin(login), 'the session is older than the identity');
      await press(browser, await browser.submit(login, who), 'connect-no');
      assert.doesNotMatch((await browser.get(`${server.url}/account/security`)).html, /connect-yes/);
      assert.deepEqual(await linksOf('hal'), []);
    });

    test('an identity is not connected if its user adds a factor on the way to the provider and back', async () => {
      const { who, browser } = await newPerson(server, 'ines');
      await browser.submit(await browser.get(`${server.url}/account`), { ...who });
      const page = await press(browser, await browser.get(`${server.url}/account/security`), 'connect-other');
      const answer = other.answer(page.url, { sub: 'ines-1' }).href;
      await withDatabaseOf(server, async ({ people, factors }) => {
        const { subject } = (await people.byName('ines')) ?? assert.fail();
        await factors.addTotp(subject, { sealed: '', createdAtMs: 1, countsFromMs: 0 }, 0);
      });
      isAt(await browser.get(answer), '/login/second');
      assert.deepEqual(await linksOf('ines'), []);
    });

    test('a user connects and disconnects a provider, which ends the sessions that came through it', async () => {
      const { who, browser } = await newPerson(server, 'ida');
      const security = async () => browser.get(`${server.url}/account/security`);
      await browser.submit(await browser.get(`${server.url}/account`), who);
      const page = await press(browser, await security(), 'connect-other');
      isAt(
        await browser.get(other.answer(page.url, { sub: 'ida-1', name: 'Ida' }).href),
        '/account/security',
      );
      const elsewhere = new Browser(server.url);
      const pkce = newPkce();
      const url = authorizationUrl(server.url, pkce, { scope: 'openid' });
      const consent = await signIn({ sub: 'ida-1' }, { browser: elsewhere, url, provider: 'other' });
      const tokens = await redeem(
        server.url,
        pkce,
        new URL((await elsewhere.submit(consent, { decision: 'allow' })).url),
      );
      assert.equal((await introspect(server.url, tokens.access_token)).active, true);
      const [link] = (await linksOf('ida')) ?? [];
      isAt(await press(browser, await security(), `unlink-${link?.id}`), '/account/security');
      assert.ok(isLogin(await elsewhere.get(`${server.url}/account`)));
      assert.equal((await introspect(server.url, tokens.access_token)).active, false);
      isProblem(await signIn({ sub: 'ida-1' }, { provider: 'other' }), 403, /No account is connected/);
    });

    test('the only way to sign in cannot be removed, and a linked identity cannot be taken over', async () => {
      const browser = new Browser(server.url);
      await signIn({ sub: 'jan-1', preferred_username: 'jan' }, { browser });
      const [link] = (await linksOf('jan')) ?? [];
      const page = await press(
        browser,
        await browser.get(`${server.url}/account/security`),
        `unlink-${link?.id}`,
      );
      assert.match(page.html, /id="provider-problem"/);
      assert.equal((await linksOf('jan'))?.length, 1);
      const { who, browser: thief } = await newPerson(server, 'kim');
      await thief.submit(await thief.get(`${server.url}/account`), who);
      const request = await press(
        thief,
        await thief.get(`${server.url}/account/security`),
        'connect-company',
      );
      isProblem(
        await thief.get(company.answer(request.url, { sub: 'jan-1' }).href),
        409,
        /connected already/,
      );
      assert.deepEqual(await linksOf('kim'), []);
    });

    test('the answer to another browser, a second use of it, and an answer without a request are refused', async () => {
      const [victim, attacker] = [new Browser(server.url), new Browser(server.url)];
      const planted = company.answer(await toProvider(attacker, 'company'), {
        sub: 'eve-1',
        preferred_username: 'eve',
      });
      await victim.get(`${server.url}/account`);
      isProblem(await victim.get(planted.href), 400, /not started here/);
      isAt(await attacker.get(planted.href), '/account');
      isProblem(await attacker.get(planted.href), 400, /not started here/);
      isProblem(
        await victim.get(`${server.url}/upstream/company/callback?code=x&state=unknown-unknown-un`),
        400,
        /not started here/,
      );
    });

    test('an answer that comes too late leads back to the application, through another sign-in', async () => {
      const browser = new Browser(server.url);
      const answers = company.answer(
        await toProvider(browser, 'company', authorizationUrl(server.url, newPkce())),
        {
          sub: 'late-1',
          preferred_username: 'late',
        },
      );
      const [name = '', sealed = ''] =
        [...browser.cookies].find(([name]) => name.startsWith('grantd_upstream_')) ??
        assert.fail('no cookie');
      const file = () => readSecretFile(join(server.folder, 'grantd-data', 'grantd.db'))?.[0];
      const secret = environmentOf(server.folder).GRANTD_SECRET ?? file() ?? assert.fail('no secret');
      const values = new SealedValues(new ServerSecret<ProgramSecretUse>(secret), 'upstream');
      const begun = (await values.open(sealed)) as { readonly begunAtMs: number };
      browser.cookies.set(name, await values.seal({ ...begun, begunAtMs: begun.begunAtMs - 15 * 60 * 1000 }));
      const late = await browser.get(answers.href);
      isProblem(late, 400, /not started here/);
      const [, again = ''] = /id="try-again"[^>]* href="([^"]*)"/.exec(late.html) ?? assert.fail(late.html);
      const login = await browser.get(new URL(unescaped(again), server.url).href);
      const page = await press(browser, login, 'provider-company');
      const user = { sub: 'late-1', preferred_username: 'late' };
      assert.ok(isConsent(await browser.get(company.answer(new URL(page.url), user).href)));
    });

    test('an answer that comes twice after a second press at the provider signs in once, and both get to the application', async () => {
      const browser = new Browser(server.url);
      const request = await toProvider(browser, 'company', authorizationUrl(server.url, newPkce()));
      const user = { sub: 'twice-1', preferred_username: 'twice' };
      // The provider answers each press with a code of its own.
      const answers = [company.answer(request, user), company.answer(request, user)];
      const before = company.tokenRequests.length;
      const [first, second] = await Promise.all(answers.map(({ href }) => browser.get(href)));
      assert.ok(isConsent(first ?? assert.fail()), withoutStyle(first?.html ?? ''));
      assert.ok(isConsent(second ?? assert.fail()), withoutStyle(second?.html ?? ''));
      assert.equal(company.tokenRequests.length, before + 1, 'one code is redeemed');
    });

    test('RFC 9207 mix-up: an answer of another provider, by its path or its iss, is refused', async () => {
      const browser = new Browser(server.url);
      const request = await toProvider(browser, 'company');
      const before = other.tokenRequests.length + company.tokenRequests.length;
      const foreign = other.answer(request, { sub: 'x' });
      isProblem(await browser.get(foreign.href), 403, /did not succeed/);
      const second = await toProvider(browser, 'company');
      const moved = company.answer(second, { sub: 'x' });
      moved.pathname = '/upstream/other/callback';
      isProblem(await browser.get(moved.href), 400, /not started here/);
      const third = company.answer(await toProvider(browser, 'company'), { sub: 'x' });
      third.searchParams.delete('iss');
      isProblem(await browser.get(third.href), 403, /did not succeed/);
      assert.equal(
        other.tokenRequests.length + company.tokenRequests.length,
        before,
        'no code left the server',
      );
    });

    test('§3.1.3.7 an ID token with a wrong nonce, iss, aud, key or time signs nobody in', async () => {
      const wrong: readonly Readonly<Record<string, unknown>>[] = [
        { nonce: 'another' },
        { nonce: undefined },
        { iss: other.url },
        { aud: 'another-client' },
        { aud: ['login', 'another-client'], azp: 'another-client' },
        { exp: 1 },
        { isForeign: true },
        { sub: undefined },
      ];
      for (const claims of wrong) {
        const browser = new Browser(server.url);
        const page = await signIn({ sub: 'leo-1', preferred_username: 'leo', ...claims }, { browser });
        isProblem(page, 403, /did not succeed/);
        assert.ok(isLogin(await browser.get(`${server.url}/account`)), JSON.stringify(claims));
      }
      assert.equal(await claimsOfPerson('leo'), undefined);
    });

    test('a code that was used before is a refusal', async () => {
      const browser = new Browser(server.url);
      const answer = company.answer(await toProvider(browser, 'company'), { sub: 'max-1' });
      const next = new URL((await toProvider(browser, 'company')).href);
      // The code of one request with the state of the next one.
      answer.searchParams.set('state', next.searchParams.get('state') ?? '');
      isProblem(await browser.get(answer.href), 403, /did not succeed/);
    });

    test('a user who declines at the provider gets a page with a way back to the same request', async () => {
      const browser = new Browser(server.url);
      const url = authorizationUrl(server.url, newPkce());
      const callback = company.answer(await toProvider(browser, 'company', url), {});
      callback.searchParams.delete('code');
      callback.searchParams.set('error', 'access_denied');
      const page = await browser.get(callback.href);
      isProblem(page, 403, /You are not signed in/);
      const [, back = ''] = /id="try-again" class="button[^"]*" href="([^"]*)"/.exec(page.html) ?? [];
      assert.match((await browser.get(new URL(unescaped(back), server.url).href)).html, /id="login-cancel"/);
    });

    test('an outage of the provider is a 503 page, before and after its page, and never a refusal', async () => {
      const browser = new Browser(server.url);
      const answer = company.answer(await toProvider(browser, 'company'), { sub: 'nia-1' });
      company.outage = 502;
      try {
        const page = await browser.get(answer.href);
        isProblem(page, 503, /does not answer/);
        assert.equal(page.headers.get('retry-after'), '10');
      } finally {
        company.outage = undefined;
      }
      const again = company.answer(await toProvider(browser, 'company'), {});
      again.searchParams.delete('code');
      again.searchParams.set('error', 'temporarily_unavailable');
      isProblem(await browser.get(again.href), 503, /does not answer/);
    });

    test('GitHub: the user comes from its API, with the verified primary address', async () => {
      const user = {
        id: 17,
        login: 'octo',
        name: 'Octo',
        email: 'public@company.example',
        avatar_url: 'https://a.example/1',
      };
      const emails = [
        { email: 'second@company.example', verified: true, primary: false },
        { email: 'octo@free.example', verified: true, primary: true },
      ];
      const browser = new Browser(server.url);
      const callback = company.answer(await toProvider(browser, 'github'), { user, emails });
      callback.searchParams.delete('iss');
      isAt(await browser.get(callback.href), '/account');
      assert.deepEqual(await claimsOfPerson('octo'), {
        ...{ name: 'Octo', picture: 'https://a.example/1' },
        ...{ email: 'octo@free.example', email_verified: false },
      });
      assert.equal((await linksOf('octo'))?.[0]?.upstreamSub, '17');
      const login = await browser.get(authorizationUrl(server.url, newPkce(), { prompt: 'login' }));
      assert.doesNotMatch(login.html, /provider-github/, 'GitHub cannot ask its users to sign in again');
    });

    test('OpenID Connect Core §5.1 claims that a user can choose at a provider have the forms that clients expect', async () => {
      const chosen = { picture: 'javascript:alert(1)', locale: 'no such', nickname: ['Zoe'], name: 7 };
      isAt(await signIn({ sub: 'xeno-1', preferred_username: 'xeno', ...chosen }), '/account');
      assert.deepEqual(await claimsOfPerson('xeno'), { name: '7', nickname: 'Zoe' });
    });

    test('a disabled user does not get in, and no token of a provider is stored or logged', async () => {
      await signIn({ sub: 'oli-1', preferred_username: 'oli' });
      await grantdPrints(server.folder, ['user', 'disable', 'oli']);
      isProblem(await signIn({ sub: 'oli-1' }), 403, /is disabled/);
      const isRefusal = ({ event, reason, provider, subject }: Readonly<Record<string, unknown>>) =>
        event === 'sign_in_failed' &&
        reason === 'person_disabled' &&
        provider === 'company' &&
        typeof subject === 'string';
      await server.logged(isRefusal, 'the refused user');
      const { tokenRequests } = company;
      const codes = tokenRequests.map(({ form }) => form.get('code') ?? '');
      for (const secret of [...codes, SECRET, 'not-kept']) assert.ok(!server.stdout().includes(secret));
    });

    test('a user without a password exports the links, and deletes the account after a recent sign-in', async () => {
      const browser = new Browser(server.url);
      await signIn({ sub: 'quy-1', preferred_username: 'quy' }, { browser });
      const page = await browser.get(`${server.url}/account/data`);
      assert.doesNotMatch(page.html, /current_password/);
      const [link] = (await linksOf('quy')) ?? assert.fail();
      const data = JSON.parse((await press(browser, page, 'export-data')).html);
      assert.deepEqual(data.providers, [
        {
          ...{ provider: 'company', issuer: company.url, sub: 'quy-1', label: 'quy' },
          connectedAt: new Date(link?.linkedAtMs ?? 0).toISOString(),
        },
      ]);
      const gone = await press(browser, page, 'delete-account', { confirm: 'yes' });
      assert.deepEqual([gone.status, await claimsOfPerson('quy')], [200, undefined]);
    });

    test('of concurrent first sign-ins and removals of links, one succeeds, and no user is left without a link', async () => {
      await withDatabaseOf(server, async ({ people, upstreamIdentities }) => {
        const identity = {
          provider: 'company',
          upstreamIssuer: company.url,
          upstreamSub: 'ron-1',
          label: 'ron',
        };
        const add = (name: string) =>
          upstreamIdentities.addPerson(identity, { name, passwordHash: '', claims: {} }, 1);
        const names = ['ron-a', 'ron-b', 'ron-c', 'ron-d'];
        const added = (await Promise.all(names.map(add))).filter((one) => one !== undefined);
        const found = await people.list({ search: 'ron-' });
        assert.deepEqual([added.length, found.map(({ name }) => name)], [1, [added[0]?.person.name]]);
        const { subject } = found[0] ?? assert.fail();
        const second = await upstreamIdentities.link({ ...identity, upstreamSub: 'ron-2' }, subject, 2);
        const ids = [added[0]?.identity.id ?? '', second?.id ?? ''];
        const ways = { hasPasswords: true, hasPasskeys: true, hasDirectory: true, links: ids };
        const removed = await Promise.all(ids.map((id) => upstreamIdentities.unlink(id, subject, ways)));
        assert.equal(removed.filter((one) => one !== undefined).length, 1);
        assert.equal((await upstreamIdentities.ofSubject(subject)).length, 1);
        assert.equal(
          await upstreamIdentities.link({ ...identity, upstreamSub: 'ron-3' }, 'nobody', 3),
          undefined,
        );
      });
    });

    test('a user with a passkey can remove the last link, but then not the passkey', async () => {
      const browser = new Browser(server.url);
      const security = () => browser.get(`${server.url}/account/security`);
      await signIn({ sub: 'tea-1', preferred_username: 'tea' }, { browser });
      const [link] = (await linksOf('tea')) ?? assert.fail();
      // Links of a provider that was removed from the configuration, or now has another issuer.
      await withDatabaseOf(server, async ({ people, upstreamIdentities }) => {
        const { subject } = (await people.byName('tea')) ?? assert.fail();
        const identity = { upstreamIssuer: 'https://earlier.example', upstreamSub: 'tea-2', label: 'tea' };
        for (const provider of ['earlier', 'other'])
          assert.ok(await upstreamIdentities.link({ provider, ...identity }, subject, Date.now()));
      });
      const refused = await press(browser, await security(), `unlink-${link?.id}`);
      assert.match(refused.html, /id="provider-problem"/);

      const authenticator = new Authenticator(server.url);
      const form = passkeyFormOf(await security());
      const passkey = authenticator.create(form.options);
      await browser.post(form.action, { ...form.fields, passkey, passkey_name: '' });
      isAt(await press(browser, await security(), `unlink-${link?.id}`), '/account/security');
      const left = (await linksOf('tea'))?.map(({ provider }) => provider).toSorted();
      assert.deepEqual(left, ['earlier', 'other']);

      const kept = await press(browser, await security(), `remove-passkey-${authenticator.id}`);
      assert.match(kept.html, /You have no other way to sign in/);
      await server.logged(
        ({ event, reason }) => event === 'refused' && reason === 'passkey_needed',
        'the refused removal',
      );
    });

    test('an operator sees and removes a link, which ends the sessions that came through it', async () => {
      const browser = new Browser(server.url);
      await signIn({ sub: 'sia-1', preferred_username: 'sia' }, { browser });
      const [link] = (await linksOf('sia')) ?? assert.fail();
      const id = link?.id ?? '';
      const shown = await grantdPrints(server.folder, ['user', 'show', 'sia']);
      assert.match(shown, new RegExp(`^link ${id}: sia at company, since `, 'm'));
      const none = await grantdRuns(server.folder, ['user', 'unlink', 'alice', id]);
      assert.deepEqual([none.code, none.stderr.includes('alice has no link')], [1, true]);
      const done = await grantdPrints(server.folder, ['user', 'unlink', 'sia', id]);
      assert.equal(done, 'removed the link of sia to sia at company, and ended 1 session');
      assert.ok(isLogin(await browser.get(`${server.url}/account`)));
    });

    const HOUR = 3600;

    test('§2 prompt=login and max_age=0 need an auth_time after the request', async () => {
      await signIn({ sub: 'ula-1', preferred_username: 'ula' });
      for (const asked of [{ prompt: 'login' }, { max_age: '0' }]) {
        const url = authorizationUrl(server.url, newPkce(), asked);
        const request = await toProvider(new Browser(server.url), 'company', url);
        const { searchParams } = request;
        assert.deepEqual([searchParams.get('prompt'), searchParams.get('max_age')], ['login', '0']);
        for (const authTime of [undefined, seconds() - 60]) {
          const browser = new Browser(server.url);
          const page = await signIn({ sub: 'ula-1', auth_time: authTime }, { browser, url });
          isProblem(page, 403, /did not succeed/);
          assert.ok(isLogin(await browser.get(`${server.url}/account`)));
        }
        // Clocks differ.
        const page = await signIn({ sub: 'ula-1', auth_time: seconds() - 10 }, { url });
        assert.match(page.html, /id="consent-allow"/);
      }
      await server.logged(
        ({ event, reason }) => event === 'sign_in_failed' && reason === 'provider_sign_in_old',
        'a refusal',
      );
    });

    test('a change of the account needs a sign-in at the provider that the user has just made', async () => {
      const browser = new Browser(server.url);
      const claims = { sub: 'uma-1', preferred_username: 'uma', auth_time: seconds() - 2 * HOUR };
      await signIn(claims, { browser });
      const page = await browser.get(`${server.url}/account/data`);
      const again = await press(browser, page, 'delete-account', { confirm: 'yes' });
      assert.ok(isLogin(again), 'the sign-in at the provider is old');
      assert.doesNotMatch(again.html, /provider-github/, 'GitHub cannot ask its users to sign in again');
      for (const silent of [claims, { ...claims, auth_time: undefined }]) {
        const request = await press(browser, await browser.get(again.url), 'provider-company');
        assert.equal(new URL(request.url).searchParams.get('prompt'), 'login');
        isProblem(await browser.get(company.answer(request.url, silent).href), 403, /did not succeed/);
      }
      const security = await browser.get(`${server.url}/account/security`);
      assert.match(security.html, /id="confirm-identity"/, 'factors need a fresh sign-in');
      const confirm = await press(browser, security, 'confirm-identity');
      assert.doesNotMatch(confirm.html, /provider-github/);
      const asked = await press(browser, confirm, 'provider-company');
      isProblem(await browser.get(company.answer(asked.url, claims).href), 403, /did not succeed/);
      assert.ok(await claimsOfPerson('uma'));
      const request = await press(browser, await browser.get(again.url), 'provider-company');
      const data = await browser.get(company.answer(request.url, { sub: 'uma-1' }).href);
      isAt(data, '/account/data');
      await press(browser, data, 'delete-account', { confirm: 'yes' });
      assert.equal(await claimsOfPerson('uma'), undefined);
    });

    test('§3.1.2.1 a sign-in of the provider from an hour ago does not satisfy a later max_age', async () => {
      const browser = new Browser(server.url);
      const authTime = seconds() - HOUR;
      await signIn({ sub: 'uri-1', preferred_username: 'uri', auth_time: authTime }, { browser });
      const url = authorizationUrl(server.url, newPkce(), { max_age: '600' });
      assert.ok(isLogin(await browser.get(url)));
      const pkce = newPkce();
      const consent = await browser.get(
        authorizationUrl(server.url, pkce, { scope: 'openid', max_age: '7200' }),
      );
      const left = new URL((await browser.submit(consent, { decision: 'allow' })).url);
      const { id_token: idToken } = await redeem(server.url, pkce, left);
      assert.equal(payloadOf(idToken).auth_time, authTime);
    });

    test('a sign-in of the provider that is too old for any session is asked for again', async () => {
      const browser = new Browser(server.url);
      const claims = { sub: 'ute-1', preferred_username: 'ute', auth_time: 1_000_000_000 };
      const asked = await signIn(claims, { browser });
      assert.equal(asked.status, 303);
      const { searchParams, origin } = new URL(asked.url);
      assert.deepEqual([origin, searchParams.get('prompt')], [company.url, 'login']);
      isAt(await browser.get(company.answer(asked.url, { sub: 'ute-1' }).href), '/account');

      // Only a user who has just signed in may add the factor that the request needs.
      const acr = { essential: true, values: ['urn:grantd:acr:multi-factor'] };
      const url = authorizationUrl(server.url, newPkce(), { claims: JSON.stringify({ id_token: { acr } }) });
      const other = new Browser(server.url);
      const old = await signIn({ sub: 'ute-1', auth_time: seconds() - HOUR }, { browser: other, url });
      assert.equal(new URL(old.url).searchParams.get('prompt'), 'login', withoutStyle(old.html));
      isAt(await other.get(company.answer(old.url, { sub: 'ute-1' }).href), '/account/security');
    });

    test('methods that a provider passes on give no acr', async () => {
      const { who, browser: there } = await newPerson(grantd, 'vera');
      await there.submit(await there.get(`${grantd.url}/account`), who);
      const form = passkeyFormOf(await there.get(`${grantd.url}/account/security`));
      const passkey = new Authenticator(grantd.url).create(form.options);
      await there.post(form.action, { ...form.fields, passkey, passkey_name: '' });
      const browser = new Browser(server.url);
      const pkce = newPkce();
      const url = authorizationUrl(server.url, pkce, { scope: 'openid' });
      const request = await toProvider(browser, 'grantd', url);
      const consentThere = await there.get(request.href);
      const back = await there.submit(consentThere, { decision: 'allow' });
      const consent = await browser.get(back.url);
      const left = new URL((await browser.submit(consent, { decision: 'allow' })).url);
      const { amr, acr } = payloadOf((await redeem(server.url, pkce, left)).id_token);
      assert.deepEqual([amr, acr], [['pwd', 'pop', 'user', 'mfa', 'fed'], undefined]);
    });

    test('an address from another claim is verified only by a claim that the operator has mapped too', async () => {
      await newPerson(server, 'wim');
      await setEmail(server, 'wim', 'wim@company.example', true);
      const claims = { sub: 'wim-1', upn: 'wim@company.example', email: 'a@company.example' };
      isProblem(
        await signIn({ ...claims, email_verified: true }, { provider: 'mapped' }),
        403,
        /No account is connected/,
      );
      isAt(await signIn({ ...claims, upn_verified: true }, { provider: 'verified' }), '/account');
    });

    test('Entra verifies its own address with xms_edov, and no other', async () => {
      await newPerson(server, 'xia');
      await setEmail(server, 'xia', 'xia@company.example', true);
      const claims = { sub: 'xia-1', email: 'xia@company.example' };
      const unverified = [
        { ...claims, email_verified: true },
        { ...claims, xms_edov: false },
        { ...claims, email: undefined, xms_edov: true, userInfo: { email: 'xia@company.example' } },
      ];
      for (const one of unverified)
        isProblem(await signIn(one, { provider: 'entra' }), 403, /No account is connected/);
      const mapped = { sub: 'xia-2', upn: 'xia@company.example', xms_edov: true };
      isProblem(await signIn(mapped, { provider: 'entra-mapped' }), 403, /No account is connected/);
      isAt(await signIn({ ...claims, xms_edov: true }, { provider: 'entra' }), '/account');
    });

    test('the ID token cannot verify the address of UserInfo', async () => {
      await newPerson(server, 'yan');
      await setEmail(server, 'yan', 'yan@company.example', true);
      const claims = { sub: 'yan-1', email_verified: true, userInfo: { email: 'yan@company.example' } };
      isProblem(await signIn(claims), 403, /No account is connected/);
      const same = {
        email: 'yan@company.example',
        userInfo: { email: 'yan@company.example', email_verified: true },
      };
      isProblem(await signIn({ sub: 'yan-1', ...same }), 403, /No account is connected/);
      assert.deepEqual(await linksOf('yan'), []);
    });

    test('removing a user removes the links, and the identity is free again', async () => {
      await signIn({ sub: 'pam-1', preferred_username: 'pam' });
      await grantdPrints(server.folder, ['user', 'remove', 'pam', '--yes']);
      isAt(await signIn({ sub: 'pam-1', preferred_username: 'pam' }), '/account');
      assert.equal((await linksOf('pam'))?.length, 1);
    });

    test('the console asks the provider for a new sign-in if the last one is too old', async () => {
      const folder = await workbench.home();
      const of = { name: 'Company', issuer: company.url, client_id: 'login', create_users: true };
      const providers = { company: { ...of, client_secret: { env: 'SECRET' } } };
      writeFileSync(join(folder, 'providers.json'), JSON.stringify(providers));
      // The group exists before the server needs it.
      const before = await workbench.start(folder, ['--demo']);
      await grantdPrints(folder, ['group', 'add', 'admins']);
      await before.stop();
      const flags = [
        '--port',
        String(before.port),
        '--providers',
        'providers.json',
        '--console',
        '--admin-group',
        'admins',
      ];
      const lifetimes = ['--session-lifetime', '864000', '--session-idle-lifetime', '864000'];
      const here = await workbench.start(folder, ['--demo', ...flags, ...lifetimes], { SECRET });
      const browser = new Browser(here.url);
      const first = await press(browser, await browser.get(`${here.url}/account`), 'provider-company');
      const claims = { sub: 'oda-1', preferred_username: 'oda' };
      isAt(await browser.get(company.answer(first.url, claims).href), '/account');
      await grantdPrints(folder, ['group', 'add-member', 'admins', 'oda']);
      await database.run(
        folder,
        `UPDATE ${database.schema}sessions SET signed_in_at_ms = signed_in_at_ms - 46800000`,
      );
      const login = await browser.get(`${here.url}/console`);
      isAt(login, '/login');
      const again = await press(browser, login, 'provider-company');
      assert.equal(new URL(again.url).searchParams.get('prompt'), 'login');
      const back = await browser.get(company.answer(again.url, claims).href);
      isAt(back, '/account/security');
      assert.match(back.html, /id="factor-needed"/, 'the console still needs a factor');
      await here.stop();
    });

    test('providers and passkeys sign in users of a directory only while it lets them in, with what it says', async () => {
      const directory = await new DirectoryServer().start();
      try {
        const folder = await workbench.home();
        writeFileSync(join(folder, 'password'), ACCOUNT.password, { mode: 0o600 });
        writeFileSync(
          join(folder, 'providers.json'),
          JSON.stringify({
            company: {
              name: 'Company',
              issuer: company.url,
              client_id: 'login',
              client_secret: { env: 'SECRET' },
              trusted_domains: ['example.com', 'new.example'],
              create_users: ['new.example'],
            },
          }),
        );
        const options = {
          ...{ ldapUrl: [`ldap://127.0.0.1:${directory.port}`], ldapTls: 'off', ldapTimeoutMs: 1000 },
          ...{ ldapBindDn: ACCOUNT.dn, ldapBindPasswordFile: 'password', ldapBase: `ou=people,${SUFFIX}` },
          ldapFilter: '(&(uid={username})(!(employeeType=former)))',
          ldapEmailVerified: true,
          ldapGroups: { [`cn=staff,ou=groups,${SUFFIX}`]: 'staff' },
        };
        writeFileSync(join(folder, 'grantd.json'), JSON.stringify(options));
        const flags = ['--demo', '--config', 'grantd.json', '--providers', 'providers.json'];
        const here = await workbench.start(folder, flags, { SECRET });
        await grantdPrints(folder, ['group', 'add', 'staff']);
        directory.addPerson('zac');
        const account = `${here.url}/account`;
        const browser = new Browser(here.url);
        const who = { username: 'zac', password: passwordOf('zac') };
        isAt(await browser.submit(await browser.get(account), who), '/account');
        const linkWithCompany = () =>
          withDatabaseOf(here, async ({ people, upstreamIdentities }) => {
            const person = await people.byName('zac');
            const of = {
              provider: 'company',
              upstreamIssuer: company.url,
              upstreamSub: 'zac-1',
              label: 'zac',
            };
            const link = await upstreamIdentities.link(of, person?.subject ?? '', Date.now());
            return link?.id ?? assert.fail();
          });
        const only = await linkWithCompany();
        isAt(
          await press(browser, await browser.get(`${account}/security`), `unlink-${only}`),
          '/account/security',
        );
        const authenticator = new Authenticator(here.url);
        const form = passkeyFormOf(await browser.get(`${account}/security`));
        const passkey = authenticator.create(form.options);
        await browser.post(form.action, { ...form.fields, passkey, passkey_name: '' });
        await linkWithCompany();
        const byProvider = async () => {
          const other = new Browser(here.url);
          const request = await press(other, await other.get(account), 'provider-company');
          return other.get(company.answer(request.url, { sub: 'zac-1' }).href);
        };
        const byPasskey = async () => {
          const other = new Browser(here.url);
          const { action, options: asked, fields } = passkeyFormOf(await other.get(account));
          return other.post(action, { ...fields, passkey: authenticator.get(asked) });
        };
        const shown = async () => JSON.parse(await grantdPrints(folder, ['user', 'show', 'zac', '--json']));
        for (const [index, way] of [byProvider, byPasskey].entries()) {
          const memberOf = index === 0 ? [`cn=staff,ou=groups,${SUFFIX}`] : [];
          directory.change('zac', { cn: `Zac ${index}`, memberOf });
          const page = await way();
          // Who signs in by a provider owes a second factor, as the user has one.
          isAt(page, way === byProvider ? '/login/second' : '/account');
          const { claims, groups = [] } = await shown();
          assert.deepEqual([claims.name, groups], [`Zac ${index}`, index === 0 ? ['staff'] : []]);
          for (const change of [
            { userAccountControl: '514' },
            { accountExpires: '1' },
            { employeeType: 'former' },
          ]) {
            directory.change('zac', change);
            const refused = await way();
            assert.equal(refused.status, 403, withoutStyle(refused.html));
            assert.match(refused.html, /is disabled/);
            directory.change('zac', {
              userAccountControl: undefined,
              accountExpires: undefined,
              employeeType: undefined,
            });
          }
          directory.isSilent = true;
          assert.equal((await way()).status, 503);
          directory.isSilent = false;
          const { entries } = directory;
          const [entry] = entries.splice(0);
          assert.equal((await way()).status, 403);
          if (entry !== undefined) entries.push(entry);
        }

        // An address that the directory has given to nobody, or to somebody else, leads to no user.
        const byAddress = async (sub: string) => {
          const other = new Browser(here.url);
          const request = await press(other, await other.get(account), 'provider-company');
          const claims = { sub, email: 'first@example.com', email_verified: true };
          return other.get(company.answer(request.url, claims).href);
        };
        directory.change('zac', { mail: 'first@example.com' });
        await byPasskey();
        assert.equal((await shown()).claims.email_verified, true);
        // A factor would keep the address from linking.
        await grantdPrints(folder, ['user', 'reset-factors', 'zac']);
        isAt(await byAddress('zac-2'), '/account');
        directory.change('zac', { mail: 'second@example.com' });
        isProblem(await byAddress('zac-3'), 403, /No account is connected/);
        directory.change('zac', { mail: 'first@example.com', employeeType: 'former' });
        isProblem(await byAddress('zac-4'), 403, /No account is connected/);

        // A new user gets no username of the directory, whose user may not have signed in yet.
        directory.addPerson('yan');
        const newcomer = async (sub: string) => {
          const other = new Browser(here.url);
          const request = await press(other, await other.get(account), 'provider-company');
          const claims = { preferred_username: 'yan', email: `${sub}@new.example`, email_verified: true };
          return other.get(company.answer(request.url, { sub, ...claims }).href);
        };
        directory.isSilent = true;
        assert.equal((await newcomer('yan-away')).status, 503);
        directory.isSilent = false;
        isAt(await newcomer('yan-new'), '/account');
        const names = JSON.parse(await grantdPrints(folder, ['user', 'list', '--search', 'yan', '--json']));
        assert.deepEqual(
          names.map(({ username }: { username: string }) => username),
          ['yan-2'],
        );
      } finally {
        await directory.stop();
      }
    });
  });
}
