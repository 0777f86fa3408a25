import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as client from 'openid-client';
import { ALICE, Browser } from './harness/browser.ts';
import { newSigningKey } from './harness/client_key.ts';
import { addClient } from './harness/clients.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { codeFlow, discovered } from './harness/relying_party.ts';

const REDIRECT_URI = 'http://localhost:4001/callback';

const workbench = new Workbench();
after(() => workbench.clear());

describe('authorization requests of openid-client', () => {
  let server: RunningServer;
  before(async () => {
    server = await workbench.start(workbench.folder(), ['--demo']);
  });

  const web = () => discovered(server, 'demo-web', client.ClientSecretBasic('demo-web-secret'));

  async function readsTheirProfile(
    configuration: client.Configuration,
    tokens: Awaited<ReturnType<typeof codeFlow>>,
  ): Promise<void> {
    const { sub } = tokens.claims() ?? {};
    assert.ok(sub);
    const person = await client.fetchUserInfo(configuration, tokens.access_token, sub);
    assert.equal(person.name, 'Alice Liddell');
  }

  test('a pushed request (RFC 9126): its URL contains only the request_uri', async () => {
    const configuration = await web();
    const tokens = await codeFlow(server, configuration, {
      redirectUri: REDIRECT_URI,
      async request(of, parameters) {
        const url = await client.buildAuthorizationUrlWithPAR(of, parameters);
        assert.deepEqual([...url.searchParams.keys()].sort(), ['client_id', 'request_uri']);
        return url;
      },
    });
    await readsTheirProfile(configuration, tokens);
  });

  for (const algorithm of ['RS256', 'PS256', 'ES256', 'EdDSA'] as const) {
    test(`a request object that is signed with ${algorithm} (RFC 9101), in the address and pushed`, async () => {
      const id = `signs-${algorithm}`;
      const { privateKey, publicKey } = await newSigningKey(algorithm);
      await addClient(server, {
        id,
        grantTypes: ['authorization_code'],
        scopes: ['openid', 'profile', 'email'],
        redirectUris: [REDIRECT_URI],
        metadata: {
          jwks: { keys: [publicKey] },
          request_object_signing_alg: algorithm,
          require_signed_request_object: true,
        },
      });
      const configuration = await discovered(server, id, client.None());
      for (const pushed of [false, true]) {
        const tokens = await codeFlow(server, configuration, {
          redirectUri: REDIRECT_URI,
          async request(of, parameters) {
            const url = await client.buildAuthorizationUrlWithJAR(of, parameters, {
              key: privateKey,
              kid: algorithm,
            });
            return pushed ? client.buildAuthorizationUrlWithPAR(of, fieldsOf(url)) : url;
          },
        });
        await readsTheirProfile(configuration, tokens);
      }
    });
  }

  test('a response by form_post: the code is in no URL', async () => {
    const configuration = await web();
    const tokens = await codeFlow(server, configuration, {
      redirectUri: REDIRECT_URI,
      parameters: { response_mode: 'form_post', prompt: 'consent' },
      async person(url) {
        const browser = new Browser(server.url);
        const consent = await browser.submit(await browser.get(url.href), { ...ALICE });
        const answer = await browser.submit(consent, { decision: 'allow' });
        assert.doesNotMatch(answer.url, /code/);
        return postedBy(answer.html);
      },
    });
    await readsTheirProfile(configuration, tokens);
  });

  test('claims that the request asks for are in the ID token', async () => {
    const tokens = await codeFlow(server, await web(), {
      redirectUri: REDIRECT_URI,
      parameters: { claims: JSON.stringify({ id_token: { email: { essential: true } } }) },
    });
    assert.equal(tokens.claims()?.email, 'alice@example.com');
  });
});

const fieldsOf = (url: URL) => Object.fromEntries(url.searchParams);

/** The request that a browser sends to the client. */
function postedBy(html: string): Request {
  const [, action = ''] = /<form method="post" action="([^"]*)">/.exec(html) ?? [];
  const fields = html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g);
  const body = new URLSearchParams([...fields].map(([, name = '', value = '']) => [name, plain(value)]));
  return new Request(plain(action), { method: 'POST', body });
}

function plain(text: string): string {
  return text.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)));
}
