// Which redirect URIs a client may register, by each way to add it, and which it may then send (RFC 8252 §7, ADR 5).
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { grantd, grantdPrints } from './harness/commands.ts';
import { CHEAP_OPTIONS, type RunningServer, Workbench } from './harness/program.ts';
import { authorizationUrl, newPkce } from './harness/protocol.ts';

type Registrant = 'anyone' | 'operator' | 'no one';

/**
 * Each form, who may register it for a native application, and the group of forms that count as the same URI. Without a
 * group, nothing but the form itself does.
 */
const FORMS: readonly (readonly [uri: string, registrant: Registrant, group?: string])[] = [
  ['http://127.0.0.1/callback', 'anyone', 'IPv4'],
  ['http://127.0.0.1:50123/callback', 'anyone', 'IPv4'],
  ['http://127.0.0.1:80/callback', 'anyone', 'IPv4'],
  ['http://[::1]/callback', 'anyone', 'IPv6'],
  ['http://[::1]:50123/callback', 'anyone', 'IPv6'],
  ['http://localhost/callback', 'anyone', 'localhost'],
  ['http://localhost:50123/callback', 'anyone', 'localhost'],
  ['http://127.0.0.1/other', 'anyone'],
  ['http://127.0.0.1/callback/', 'anyone'],
  ['http://127.0.0.1/Callback', 'anyone'],
  ['http://127.0.0.1/callback?a=b', 'anyone', 'query'],
  ['http://127.0.0.1:50123/callback?a=b', 'anyone', 'query'],
  ['http://127.0.0.1/a/../callback', 'anyone'],
  ['http://127.0.0.1/%63allback', 'anyone'],
  // Browsers go to the same place, but only the usual spelling has a free port.
  ['HTTP://127.0.0.1/callback', 'anyone'],
  ['http://LOCALHOST/callback', 'anyone'],
  ['http://0x7f.1/callback', 'anyone'],
  ['http://[0:0:0:0:0:0:0:1]/callback', 'anyone'],
  ['https://app.example/callback', 'anyone'],
  ['com.example.app:/callback', 'anyone'],
  ['com.example.app://callback', 'anyone'],
  ['editor:/callback', 'operator'],
  ['https://127.0.0.1/callback', 'operator'],
  ['https://127.0.0.1:50123/callback', 'operator'],
  ['https://localhost/callback', 'operator'],
  ['http://127.0.0.2/callback', 'operator'],
  ['http://localhost./callback', 'operator'],
  ['http://app.localhost/callback', 'operator'],
  ['http://[::ffff:127.0.0.1]/callback', 'operator'],
  ['http://127.0.0.1.evil.example/callback', 'no one'],
  ['http://localhost.evil.example/callback', 'no one'],
  ['http://evil.example/callback', 'no one'],
  ['http://127.0.0.1@evil.example/callback', 'no one'],
  ['http://user@127.0.0.1/callback', 'no one'],
  ['http://127.0.0.1:50123@evil.example/callback', 'no one'],
  ['http://127.0.0.1\\@evil.example/callback', 'no one'],
  ['http:127.0.0.1/callback', 'no one'],
  ['http://127.0.0.1/callback#a', 'no one'],
  ['http://127.0.0.1:65536/callback', 'no one'],
  ['http://127.0.0.1:*/callback', 'no one'],
  ['javascript://127.0.0.1/%0aalert(1)', 'no one'],
];

function areSame(one: (typeof FORMS)[number], other: (typeof FORMS)[number]): boolean {
  return one[0] === other[0] || (one[2] !== undefined && one[2] === other[2]);
}

const workbench = new Workbench();
after(() => workbench.clear());

describe('redirect URIs of native applications', () => {
  const HOST = 'client.example';
  const site = createServer(({ url = '' }, response) => {
    const [redirect_uri] = FORMS[Number(url.slice(1))] ?? [];
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({ ...METADATA, client_id: `https://${HOST}${url}`, redirect_uris: [redirect_uri] }),
    );
  });
  const METADATA = { application_type: 'native', token_endpoint_auth_method: 'none' };
  const pkce = newPkce();
  let server: RunningServer;
  before(async () => {
    await once(site.listen(0, '127.0.0.1'), 'listening');
    const preload = pathToFileURL(join(import.meta.dirname, 'harness', 'public_sites.mjs'));
    const limits = ['--address-request-limit', '--client-document-site-limit'].flatMap((name) => [name, '0']);
    const options = ['--registration', 'open', '--client-documents', 'open', ...limits];
    server = await workbench.start(workbench.folder(), ['--demo', ...options], {
      NODE_OPTIONS: `${CHEAP_OPTIONS} --import ${preload}`,
      PUBLIC_SITES: `${(site.address() as AddressInfo).port},${HOST}`,
    });
  });
  after(() => site.close());

  /** Whether the server would send a browser to this URI, and so shows the sign-in page. */
  async function isSent(client_id: string, redirect_uri: string): Promise<boolean> {
    const parameters = { client_id, redirect_uri, scope: 'openid' };
    const { status } = await fetch(authorizationUrl(server.url, pkce, parameters), { redirect: 'manual' });
    assert.ok(status === 200 || status === 400, `${redirect_uri}: ${status}`);
    return status === 200;
  }

  async function registered(uri: string): Promise<string | undefined> {
    const response = await fetch(`${server.url}/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...METADATA, redirect_uris: [uri] }),
    });
    const { client_id, error } = await response.json();
    if (response.status !== 201) assert.equal(error, 'invalid_redirect_uri', uri);
    return client_id;
  }

  async function withDocument(uri: string, index: number): Promise<string | undefined> {
    const id = `https://${HOST}/${index}`;
    return (await isSent(id, uri)) ? id : undefined;
  }

  async function added(uri: string, index: number): Promise<string | undefined> {
    const words = ['client', 'add', `added-${index}`, '--public', '--application-type', 'native'];
    const grants = ['--grant', 'authorization_code', '--scope', 'openid', '--redirect-uri', uri];
    const { code } = await grantd(server.folder, [...words, ...grants]);
    return code === 0 ? `added-${index}` : undefined;
  }

  async function applied(uri: string, index: number): Promise<string | undefined> {
    const id = `applied-${index}`;
    const client = {
      ...METADATA,
      redirect_uris: [uri],
      grant_types: ['authorization_code'],
      scope: 'openid',
    };
    const input = JSON.stringify({ clients: { [id]: client } });
    const { code } = await grantd(server.folder, ['apply', '-f', '-', '--yes'], { input });
    return code === 0 ? id : undefined;
  }

  for (const [way, add, registrants] of [
    ['that registers itself', registered, ['anyone']],
    ['with a document', withDocument, ['anyone']],
    ['that an operator adds', added, ['anyone', 'operator']],
    ['of an applied file', applied, ['anyone', 'operator']],
  ] as const)
    test(`the redirect URIs of a client ${way} follow the rule`, async () => {
      const allowed: readonly Registrant[] = registrants;
      for (const [index, form] of FORMS.entries()) {
        const [uri, registrant] = form;
        const id = await add(uri, index);
        assert.equal(id !== undefined, allowed.includes(registrant), uri);
        if (id === undefined) continue;
        const sent = await Promise.all(FORMS.map(async (other) => (await isSent(id, other[0])) && other[0]));
        const expected = FORMS.filter((other) => areSame(form, other)).map(([other]) => other);
        assert.deepEqual(sent.filter(Boolean), expected, uri);
      }
    });

  test('a client of an operator without a type has no free port at localhost', async () => {
    const [registeredUri, otherUri] = ['http://localhost:50123/callback', 'http://localhost/callback'];
    const words = `client add web --public --grant authorization_code --scope openid --redirect-uri ${registeredUri}`;
    await grantdPrints(server.folder, words.split(' '));
    assert.deepEqual([await isSent('web', registeredUri), await isSent('web', otherUri)], [true, false]);
  });
});
