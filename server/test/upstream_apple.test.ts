// Sign in with Apple: the answer is a form of another site, and the client secret a JWT.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { jwtVerify } from 'jose';
import { Browser, type Page } from './harness/browser.ts';
import { ANY_DATABASE } from './harness/databases.ts';
import { IdentityProvider } from './harness/identity_provider.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { withDatabaseOf } from './harness/stored.ts';
import { press } from './harness/upstream.ts';

const KEYS = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const PEM = String(KEYS.privateKey.export({ type: 'pkcs8', format: 'pem' }));

for (const database of ANY_DATABASE) {
  describe(`Sign in with Apple on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    let apple: IdentityProvider;
    let server: RunningServer;
    after(async () => {
      await workbench.clear();
      await apple?.close();
    });
    before(async () => {
      apple = await IdentityProvider.open();
      // Apple has neither UserInfo nor a logout.
      apple.metadata = {
        ...{ userinfo_endpoint: undefined, end_session_endpoint: undefined },
        authorization_response_iss_parameter_supported: undefined,
        token_endpoint_auth_methods_supported: ['client_secret_post'],
      };
      const folder = await workbench.home();
      writeFileSync(join(folder, 'AuthKey_ABCDE12345.p8'), PEM, { mode: 0o600 });
      const of = { client_id: 'example.login', team_id: 'TEAM123456', private_key_id: 'ABCDE12345' };
      const settings = { private_key: { file: 'AuthKey_ABCDE12345.p8' }, trusted_domains: ['*'] };
      writeFileSync(
        join(folder, 'providers.json'),
        JSON.stringify({
          apple: { ...of, ...settings, kind: 'apple', issuer: apple.url, create_users: true },
          plain: { client_id: 'login', client_secret: { env: 'PLAIN' }, name: 'Plain', issuer: apple.url },
        }),
      );
      server = await workbench.start(folder, ['--demo', '--providers', 'providers.json'], {
        PLAIN: 'secret',
      });
    });

    const at = (path: string) => `${server.url}${path}`;

    async function toApple(browser: Browser): Promise<URL> {
      const page = await press(browser, await browser.get(at('/account')), 'provider-apple');
      assert.equal(page.status, 303, page.html);
      return new URL(page.url);
    }

    /** What Apple’s page sends. */
    const answerOf = (request: URL, claims: object, user?: object): Record<string, string> => ({
      ...Object.fromEntries(apple.answer(request, { ...claims }).searchParams),
      ...(user !== undefined && { user: JSON.stringify(user) }),
    });

    /** Apple’s form comes without the cookies of this server. @returns where it leads the browser */
    async function post(fields: Readonly<Record<string, string>>, provider = 'apple'): Promise<string> {
      const response = await fetch(at(`/upstream/${provider}/callback`), {
        ...{ method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' },
        headers: { origin: apple.url, 'sec-fetch-site': 'cross-site' },
      });
      assert.equal(response.headers.get('set-cookie'), null);
      assert.equal(response.headers.get('cache-control'), 'no-store');
      return response.headers.get('location') ?? String(response.status);
    }

    const isAccount = ({ status, url, html }: Page) =>
      assert.deepEqual([status, url], [200, at('/account')], html.slice(-2000));
    const isForeign = ({ status, html }: Page) => {
      assert.equal(status, 400);
      assert.match(html, /was not started here/);
    };

    test('the first sign-in has a name, which is not signed, and each has a new client secret', async () => {
      const browser = new Browser(server.url);
      const request = await toApple(browser);
      assert.equal(request.searchParams.get('response_mode'), 'form_post');
      assert.equal(request.searchParams.get('scope'), 'openid name email');
      const claims = { sub: 'a-1', email: 'x1y2@privaterelay.appleid.com', email_verified: 'true' };
      const user = { name: { firstName: 'Ada', lastName: 'Love\u0007lace' }, email: 'root@example.com' };
      const fields = answerOf(request, { ...claims, is_private_email: 'true' }, user);
      const location = await post(fields);
      for (const secret of [fields.code ?? '', fields.state ?? '', 'Ada'])
        assert.ok(!location.includes(secret));
      isAccount(await browser.get(at(location)));
      const person = await withDatabaseOf(server, async ({ upstreamIdentities, people }) => {
        const name = { provider: 'apple', upstreamIssuer: apple.url, upstreamSub: 'a-1' };
        const { subject = '' } = (await upstreamIdentities.find(name)) ?? {};
        return people.bySubject(subject);
      });
      assert.deepEqual(person?.claims, {
        ...{ name: 'Ada Lovelace', given_name: 'Ada', family_name: 'Lovelace' },
        ...{ email: 'x1y2@privaterelay.appleid.com', email_verified: true },
      });
      assert.match(person?.name ?? '', /^apple-[0-9a-f]{10}$/, 'a made-up address is no name');
      const [first] = apple.tokenRequests.slice(-1);
      assert.equal(first?.authorization, undefined);
      assert.equal(first?.form.get('client_id'), 'example.login');
      const { payload, protectedHeader } = await jwtVerify(
        first?.form.get('client_secret') ?? '',
        KEYS.publicKey,
        { issuer: 'TEAM123456', subject: 'example.login', audience: apple.url, algorithms: ['ES256'] },
      );
      assert.equal(protectedHeader.kid, 'ABCDE12345');
      assert.equal((payload.exp ?? 0) - (payload.iat ?? 0), 300);
      const again = new Browser(server.url);
      isAccount(await again.get(at(await post(answerOf(await toApple(again), claims)))));
    });

    test('login CSRF: an answer counts once, and only in the browser that has asked for it', async () => {
      const [victim, attacker] = [new Browser(server.url), new Browser(server.url)];
      const claims = { sub: 'a-2', email: 'mallory@example.com', email_verified: 'true' };
      const own = await toApple(victim);
      const location = await post(answerOf(await toApple(attacker), claims));
      isForeign(await victim.get(at(location)));
      assert.equal(victim.cookies.has('grantd_session'), false);
      isAccount(await attacker.get(at(location)));
      attacker.cookies.delete('grantd_session');
      assert.equal((await attacker.get(at(location))).status, 400, 'it was used');

      // A code of the attacker’s sign-in, with the victim’s state, does not fit the verifier of the victim.
      const { code = '' } = answerOf(await toApple(attacker), claims);
      const mixed = await post({ code, state: own.searchParams.get('state') ?? '' });
      const refused = await victim.get(at(mixed));
      assert.equal(refused.status, 403, refused.html.slice(-500));
      assert.equal(victim.cookies.has('grantd_session'), false);
    });

    test('an answer is sealed for one provider, for two minutes, and has a limit', async () => {
      const browser = new Browser(server.url);
      const fields = answerOf(await toApple(browser), { sub: 'a-3' });
      const location = await post(fields);
      isForeign(await browser.get(at(location.replace('/apple/', '/plain/'))));
      isForeign(await browser.get(at(`${location.slice(0, -2)}xx`)));
      assert.equal(await post(fields, 'plain'), '405');
      assert.equal(await post({ ...fields, code: 'x'.repeat(5000) }), '400');
      const withoutUser = await post({ ...fields, user: 'x'.repeat(9000) });
      assert.ok(withoutUser.length < 4000);
      isAccount(await browser.get(at(withoutUser)));
    });

    test('a user who cancels at Apple comes back, and Apple cannot ask for a new sign-in', async () => {
      const browser = new Browser(server.url);
      const state = (await toApple(browser)).searchParams.get('state') ?? '';
      const page = await browser.get(at(await post({ state, error: 'user_cancelled_authorize' })));
      assert.equal(page.status, 403);
      assert.match(page.html, /You are not signed in/);
    });
  });
}
