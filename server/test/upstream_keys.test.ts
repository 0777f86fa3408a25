// Keys of an identity provider that are replaced. Tests set the clock.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Provider } from '../src/config/providers.ts';
import { ProviderRefusal, UpstreamClient } from '../src/people/upstream_client.ts';
import { IdentityProvider } from './harness/identity_provider.ts';

const REDIRECT_URI = 'http://127.0.0.1:9/upstream/company/callback';

describe('keys that a provider replaces without publishing the next one first', () => {
  let company: IdentityProvider;
  before(async () => {
    company = await IdentityProvider.open();
  });
  after(() => company.close());

  /** A server that knows the present key, a minute after it has fetched keys again. */
  async function newClient() {
    let nowMs = Date.now();
    const provider: Provider = {
      ...{
        id: 'company',
        kind: 'generic',
        protocol: 'openid',
        names: { name: 'Company' },
        issuer: company.url,
        clientId: 'login',
      },
      ...{ credential: { secret: 'secret' }, scopes: ['openid'], claims: {}, trustedDomains: [] },
      ...{ createUsers: true, domains: [], passAmr: false, signsOut: false, parameters: {} },
    };
    const client = new UpstreamClient(provider, () => nowMs);
    const signIn = async () => {
      const { url, request } = await client.begin({
        redirectUri: REDIRECT_URI,
        language: 'en',
        again: false,
      });
      return (await client.finish(company.answer(url, { sub: 'hugo' }), request)).sub;
    };
    assert.equal(await signIn(), 'hugo');
    const pass = (seconds: number) => {
      nowMs += seconds * 1000;
    };
    return { client, signIn, pass };
  }

  const fetchedKeys = () => company.paths.filter((path) => path === '/keys').length;

  test('are fetched at once, also if they have no kid, but not again within seconds', async () => {
    for (const [first, second, third] of [
      ['a', 'b', 'c'],
      [undefined, undefined, undefined],
    ]) {
      await company.replaceKey(first);
      const { signIn, pass } = await newClient();
      await company.replaceKey(second);
      assert.equal(await signIn(), 'hugo');
      await company.replaceKey(third);
      await assert.rejects(signIn(), ProviderRefusal);
      pass(11);
      assert.equal(await signIn(), 'hugo');
    }
  });

  test('are checked by the metadata of now, soon after a sign-in that they do not fit', async () => {
    await company.replaceKey('one');
    const { signIn, pass } = await newClient();
    for (const moved of [
      { id_token_signing_alg_values_supported: ['RS256'] },
      { token_endpoint: `${company.url}/moved` },
    ]) {
      pass(60 * 60);
      company.metadata = moved;
      await assert.rejects(signIn(), ProviderRefusal);
      company.metadata = {};
      await assert.rejects(signIn(), ProviderRefusal, 'not again within seconds');
      pass(11);
      assert.equal(await signIn(), 'hugo');
    }
  });

  test('are fetched for a sign-in, although a stranger has just had them fetched for a logout token', async () => {
    await company.replaceKey('one');
    const { client, signIn } = await newClient();
    const before = fetchedKeys();
    for (const kid of ['unknown', 'unknown too', 'one']) {
      const token = await company.logoutToken({ aud: 'login', sub: 'hugo' }, { kid }, true);
      await assert.rejects(client.logoutToken(token), ProviderRefusal);
    }
    assert.equal(fetchedKeys(), before + 1, 'strangers have them fetched once');
    await company.replaceKey('two');
    assert.equal(await signIn(), 'hugo');
    assert.equal(fetchedKeys(), before + 2);
  });
});
