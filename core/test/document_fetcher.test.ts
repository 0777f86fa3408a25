import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import { test } from 'node:test';
import { DOCUMENT_LIMITS, DocumentError, type DocumentOutcome } from '@grantd/core';
import { documentFetcher } from '@grantd/core/node';
import { isPublicAddress } from '../src/adapters/document_fetcher.ts';
import { newCertificate } from './harness/certificates.ts';
import { CALLBACK, openRegistration, postRegistration, register } from './harness/registration.ts';
import { openRemoteSite } from './harness/remote_site.ts';
import { publicErrorOf } from './harness/responses.ts';
import { openWorld } from './harness/world.ts';

const fetchAnywhere = documentFetcher({ allowPrivateAddresses: true });
const fetchSafely = documentFetcher();
const publicName = '93.184.215.14';

async function assertNotFetched(
  attempt: Promise<unknown>,
  outcome: DocumentOutcome,
  message: string,
): Promise<void> {
  await assert.rejects(attempt, (error) => {
    assert.ok(error instanceof DocumentError, String(error));
    assert.deepEqual([error.outcome, error.message], [outcome, message]);
    return true;
  });
}

// ── Responses ─────────────────────────────────────────────────────────────────────────────────────────────

test('a document comes with status, media type and text', async (t) => {
  const site = await openRemoteSite(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end('{"grüß":"Gott"}');
  });
  assert.deepEqual(await fetchAnywhere(`${site.origin}/document?q=1#part`), {
    status: 200,
    contentType: 'application/json; charset=utf-8',
    body: '{"grüß":"Gott"}',
  });
});

test('a document that is not text is returned as base64 on request', async (t) => {
  const bytes = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0x00]);
  const site = await openRemoteSite(t, (_, response) => response.end(bytes));
  const { body } = await fetchAnywhere(site.origin, { answerAs: 'base64' });
  assert.equal(body, bytes.toString('base64'));
});

test('a request carries no cookie and no credentials, and asks for an uncompressed response', async (t) => {
  const site = await openRemoteSite(t, (_, response) => response.setHeader('set-cookie', 'a=b').end());
  await fetchAnywhere(`${site.origin}/document?q=1#part`, { headers: { accept: 'application/json' } });
  await fetchAnywhere(site.origin);
  const headers = { 'accept-encoding': 'identity', 'user-agent': 'grantd', connection: 'close' };
  const host = `127.0.0.1:${site.port}`;
  assert.deepEqual(site.requests, [
    {
      method: 'GET',
      url: '/document?q=1',
      headers: { ...headers, accept: 'application/json', host },
      body: '',
    },
    { method: 'GET', url: '/', headers: { ...headers, accept: '*/*', host }, body: '' },
  ]);
});

test('a response with an error status is returned', async (t) => {
  const site = await openRemoteSite(t, (_, response) => response.writeHead(404).end('no such page'));
  assert.deepEqual(await fetchAnywhere(site.origin), {
    status: 404,
    contentType: undefined,
    body: 'no such page',
  });
});

test('a form is posted, and only the status of the response is read', async (t) => {
  const site = await openRemoteSite(t, (_, response) => {
    response.writeHead(200);
    response.write('an answer that never ends');
  });
  const answer = await fetchAnywhere(`${site.origin}/logout`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'logout_token=ü',
  });
  assert.deepEqual(answer, { status: 200, contentType: undefined, body: '' });
  const [arrived] = site.requests;
  assert.deepEqual(
    [arrived?.method, arrived?.headers['content-type'], arrived?.body],
    ['POST', 'application/x-www-form-urlencoded', 'logout_token=ü'],
  );
});

// ── Redirects ─────────────────────────────────────────────────────────────────────────────────────────────

test('three redirects are followed, also relative ones, and a fourth is refused', async (t) => {
  const site = await openRemoteSite(t, (request, response) => {
    const left = Number(request.url?.slice(1));
    if (left === 0) response.end('here');
    else response.writeHead([301, 302, 307, 308][left - 1] ?? 303, { location: `/${left - 1}` }).end();
  });
  assert.equal((await fetchAnywhere(`${site.origin}/3`)).body, 'here');
  await assertNotFetched(fetchAnywhere(`${site.origin}/4`), 'refused', 'too many redirects');
});

test('the caller limits the redirects, to three at most', async (t) => {
  const site = await openRemoteSite(t, (request, response) => {
    const left = Number(request.url?.slice(1));
    if (left === 0) response.end('here');
    else response.writeHead(302, { location: `/${left - 1}` }).end();
  });
  const follow = (path: string, maxRedirects: number) =>
    fetchAnywhere(`${site.origin}/${path}`, { maxRedirects });
  assert.equal((await follow('0', 0)).body, 'here');
  assert.equal((await follow('1', 1)).body, 'here');
  await assertNotFetched(follow('1', 0), 'refused', 'too many redirects');
  assert.equal(site.requests.filter(({ url }) => url === '/0').length, 2, 'nobody asked where it leads');
  await assertNotFetched(follow('4', 9), 'refused', 'too many redirects');
});

test('a redirect in response to a POST is not followed', async (t) => {
  const site = await openRemoteSite(t, (_, response) => response.writeHead(307, { location: '/' }).end());
  const answer = await fetchAnywhere(site.origin, { method: 'POST', body: 'a=b' });
  assert.deepEqual([answer.status, site.requests.length], [307, 1]);
});

test('the target of a redirect is checked like the requested URL', async (t) => {
  const targets = ['file:///etc/passwd', 'http://user:secret@127.0.0.1/', 'http://[', 'gopher://127.0.0.1/'];
  const site = await openRemoteSite(t, (request, response) => {
    response.writeHead(302, { location: targets[Number(request.url?.slice(1))] }).end();
  });
  const messages = [
    'the URL is not https',
    'the URL contains a username or password',
    'not a valid URL',
    'the URL is not https',
  ];
  for (const [index, message] of messages.entries())
    await assertNotFetched(fetchAnywhere(`${site.origin}/${index}`), 'refused', message);
});

// ── Allowed targets ───────────────────────────────────────────────────────────────────────────────────────

test('a URL that is malformed, not https, or contains credentials is refused', async () => {
  for (const [url, message] of [
    ['http://93.184.215.14/', 'the URL is not https'],
    ['ftp://93.184.215.14/', 'the URL is not https'],
    ['data:application/json,{}', 'the URL is not https'],
    ['https://user@93.184.215.14/', 'the URL contains a username or password'],
    ['https://:secret@93.184.215.14/', 'the URL contains a username or password'],
    ['/jwks', 'not a valid URL'],
    ['', 'not a valid URL'],
    ['https://93.184.215.14:22/', 'the port must be 443, or 1024 or higher'],
    ['https://93.184.215.14:80/', 'the port must be 443, or 1024 or higher'],
  ] as const)
    await assertNotFetched(fetchSafely(url), 'refused', message);
});

test('an address that is not public is refused in every form in which it can be written', async (t) => {
  const site = await openRemoteSite(t, (_, response) => response.end('never to be seen'));
  for (const host of [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.0.0.1',
    '017700000001',
    '127.0.0.1.',
    '①②⑦.0.0.1',
    '0',
    '0.0.0.0',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[64:ff9b::127.0.0.1]',
    '[64:ff9b:1::1]',
    '[2002:7f00:1::]',
    '[2001:0:53aa:64c:0:fbff:8000:1]',
    '[fe80::1]',
    '[fd00::1]',
    '[ff02::1]',
    '169.254.169.254',
    '10.0.0.1',
    'localhost',
    'LOCALHOST',
    'localhost.',
    'a.localhost',
  ]) {
    await assertNotFetched(
      fetchSafely(`https://${host}:${site.port}/`),
      'refused',
      'the host has an address that is not public',
    );
  }
  assert.deepEqual(site.requests, []);
});

test('a host name is refused if any of its addresses is not public', async () => {
  const asked: string[] = [];
  const answers: Readonly<Record<string, readonly string[]>> = {
    'inside.example': ['10.1.2.3'],
    'both.example': [publicName, '::1'],
    'metadata.example': ['169.254.169.254'],
  };
  const fetchDocument = documentFetcher({
    resolveName: async (name) => {
      asked.push(name);
      return answers[name] ?? [];
    },
  });
  for (const name of Object.keys(answers))
    await assertNotFetched(
      fetchDocument(`https://${name}/`),
      'refused',
      'the host has an address that is not public',
    );
  assert.deepEqual(asked, Object.keys(answers));
  await assertNotFetched(
    fetchDocument('https://nowhere.example/'),
    'failed',
    'the host name has no IP address',
  );
});

test('the connection goes to the address that was checked, and the name is not looked up again', async (t) => {
  const site = await openRemoteSite(t, (_, response) => response.end('from the checked address'));
  let lookups = 0;
  const fetchDocument = documentFetcher({
    allowPrivateAddresses: true,
    resolveName: async () => (lookups++ === 0 ? ['127.0.0.1'] : ['192.0.2.1']),
  });
  const { body } = await fetchDocument(`http://rebinding.example:${site.port}/`);
  assert.deepEqual([body, lookups], ['from the checked address', 1]);
  assert.equal(site.requests[0]?.headers.host, `rebinding.example:${site.port}`);
});

test('the name in a redirect is looked up for itself, and nothing is sent before it has been', async (t) => {
  const secret = await openRemoteSite(t, (_, response) => response.end('never to be seen'));
  const site = await openRemoteSite(t, (_, response) =>
    response.writeHead(302, { location: `http://inside.example:${secret.port}/` }).end(),
  );
  const names = { 'outside.example': ['127.0.0.1'], 'inside.example': [] as string[] };
  const fetchDocument = documentFetcher({
    allowPrivateAddresses: true,
    resolveName: async (name) => names[name as keyof typeof names],
  });
  await assertNotFetched(
    fetchDocument(`http://outside.example:${site.port}/`),
    'failed',
    'the host name has no IP address',
  );
  assert.deepEqual(secret.requests, []);
});

test('every special-purpose block is distinguished from public addresses, up to its borders', () => {
  const inside = `0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.1 127.255.255.255
    169.254.0.0 169.254.255.255 172.16.0.0 172.31.255.255 192.0.0.8 192.0.2.255 192.88.99.1 192.168.0.0 192.168.255.255
    198.18.0.0 198.19.255.255 198.51.100.7 203.0.113.255 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
    :: ::1 ::ffff:8.8.8.8 ::8.8.8.8 64:ff9b::10.0.0.1 64:ff9b::a00:1 64:ff9b:: 64:ff9b::1 64:ff9b:1::808:808 100::1 1fff::1
    2001::1 2001:2::1 2001:1ff::1 2001:db8::1 2002:808:808::1 2620:4f:8000::1 3fff::1 3fff:fff::1 4000::1 5f00::1
    fc00::1 fdff::1 fe80::1 fe80::1%lo febf::1 fec0::1 ff00::1 ff0e::1 2a00::1%eth0 example.org`;
  const outside = `1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255
    169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0
    203.0.112.255 203.0.114.0 223.255.255.255 64:ff9b::8.8.8.8 64:ff9b::101:101 2001:200::1 2001:db7::1 2001:db9::1
    2003::1 2606:4700:4700::1111 2a00::1 3ffe::1`;
  const words = (text: string) => text.split(/\s+/);
  assert.deepEqual(words(inside).filter(isPublicAddress), []);
  assert.deepEqual(
    words(outside).filter((address) => !isPublicAddress(address)),
    [],
  );
});

// ── Limits ────────────────────────────────────────────────────────────────────────────────────────────────

test('a body of 64 KiB is read, one byte more or one without end is refused', async (t) => {
  let closed = 0;
  const site = await openRemoteSite(t, (request, response) => {
    const length = Number(request.url?.slice(1));
    response.on('close', () => closed++);
    const write = () => {
      while (response.write('x'.repeat(1024)));
    };
    if (length > 0) response.end('x'.repeat(length));
    else write();
    response.on('drain', write);
  });
  const { bytes } = DOCUMENT_LIMITS;
  assert.equal((await fetchAnywhere(`${site.origin}/${bytes}`)).body.length, bytes);
  await assertNotFetched(
    fetchAnywhere(`${site.origin}/${bytes + 1}`),
    'refused',
    'the response is too large',
  );
  await assertNotFetched(fetchAnywhere(`${site.origin}/0`), 'refused', 'the response is too large');
  await assertNotFetched(
    fetchAnywhere(`${site.origin}/11`, { maxBytes: 10 }),
    'refused',
    'the response is too large',
  );
  await assertNotFetched(
    fetchAnywhere(`${site.origin}/${bytes + 1}`, { maxBytes: 10 * bytes }),
    'refused',
    'the response is too large',
  );
  for (let waited = 0; closed < 5 && waited < 5000; waited += 10)
    await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal(closed, 5, 'no connection stays open');
});

test('a compressed response is refused', async (t) => {
  const site = await openRemoteSite(t, (_, response) => response.setHeader('content-encoding', 'gzip').end());
  await assertNotFetched(fetchAnywhere(site.origin), 'refused', 'the response is compressed');
});

test('no response, half a head, half a body, a chain of slow redirects: all end at the time limit', async (t) => {
  const site = await openRemoteSite(t, (request, response) => {
    if (request.url === '/half') response.write('half');
    if (request.url === '/head') request.socket.write('HTTP/1.1 200 OK\r\n');
    if (request.url === '/slow') setTimeout(() => response.writeHead(302, { location: '/slow' }).end(), 60);
  });
  for (const path of ['/never', '/half', '/head', '/slow']) {
    await assertNotFetched(
      fetchAnywhere(site.origin + path, { timeoutMs: 100 }),
      'failed',
      'there was no answer in time',
    );
  }
});

test('a name that is never resolved is over in time', async () => {
  const fetchDocument = documentFetcher({ resolveName: () => new Promise(() => {}) });
  await assertNotFetched(
    fetchDocument('https://slow.example/', { timeoutMs: 50 }),
    'failed',
    'there was no answer in time',
  );
});

test('what no connection was possible to has failed, with the cause for the log', async (t) => {
  const site = await openRemoteSite(t, (request) => request.socket.destroy());
  for (const url of [site.origin, 'http://127.0.0.1:1/']) {
    await assert.rejects(fetchAnywhere(url), (error) => {
      assert.ok(error instanceof DocumentError && error.cause instanceof Error);
      assert.deepEqual([error.outcome, error.message], ['failed', 'the document could not be fetched']);
      return true;
    });
  }
});

test('a response with an untrusted certificate is refused', async (t) => {
  const site = await openRemoteSite(t, (_, response) => response.end());
  await assertNotFetched(
    fetchAnywhere(`https://127.0.0.1:${site.port}/`),
    'failed',
    'the document could not be fetched',
  );
});

test('a slow site leaves room for others, and its further requests wait for their turn', async () => {
  const looked: string[] = [];
  const slow = Promise.withResolvers<readonly string[]>();
  const fetchDocument = documentFetcher({
    resolveName: async (name) => {
      looked.push(name);
      return name.endsWith('slow.example') ? slow.promise : [];
    },
  });
  const ask = (host: string) =>
    assertNotFetched(fetchDocument(`https://${host}/`), 'failed', 'the host name has no IP address');
  const first = Array.from({ length: 40 }, (_, index) => ask(`n${index}.slow.example`));
  await ask('other.example');
  assert.equal(looked.length, 16 + 1);
  slow.resolve([]);
  await Promise.all(first);
  assert.equal(looked.length, 40 + 1);
});

test('a wait for a slow site ends in time, and frees its place', async () => {
  const slow = Promise.withResolvers<readonly string[]>();
  const looked: string[] = [];
  const fetchDocument = documentFetcher({
    resolveName: (name) => {
      looked.push(name);
      return slow.promise;
    },
  });
  const first = Array.from({ length: 16 }, () => fetchDocument('https://slow.example/'));
  const ends = first.map((one) => assertNotFetched(one, 'failed', 'the host name has no IP address'));
  const late = fetchDocument('https://late.slow.example/', { timeoutMs: 20 });
  await assertNotFetched(late, 'failed', 'there was no answer in time');
  slow.resolve([]);
  await Promise.all(ends);
  assert.ok(!looked.includes('late.slow.example'));
});

test('more than 64 requests at once fail at once, and the next ones have their place again', async () => {
  const waiting = Promise.withResolvers<readonly string[]>();
  const fetchDocument = documentFetcher({ resolveName: () => waiting.promise });
  const first = Array.from({ length: 64 }, () => fetchDocument('https://slow.example/'));
  await assertNotFetched(
    fetchDocument('https://slow.example/'),
    'failed',
    'too many documents are being fetched',
  );
  waiting.resolve([]);
  for (const attempt of first) await assertNotFetched(attempt, 'failed', 'the host name has no IP address');
  await assertNotFetched(fetchDocument('https://slow.example/'), 'failed', 'the host name has no IP address');
});

// ── Refused registrations ─────────────────────────────────────────────────────────────────────────────────

test('a URL that the server would never fetch cannot be registered, by the client or the operator', async (t) => {
  const pairwiseSecret = 'a secret of pairwise subjects with more than 32 characters';
  const options = { ...openRegistration(), fetchDocument: fetchSafely, pairwiseSecret };
  const world = await openWorld(t, options);
  const address = 'this server does not fetch this URL: the host has an address that is not public';
  const port = 'this server does not fetch this URL: the port must be 443, or 1024 or higher';
  for (const [members, member, problem] of [
    [{ jwks_uri: 'https://127.0.0.1/' }, 'jwks_uri', address],
    [{ backchannel_logout_uri: 'https://169.254.169.254/' }, 'backchannel_logout_uri', address],
    [{ sector_identifier_uri: 'https://[::1]/' }, 'sector_identifier_uri', address],
    [{ jwks_uri: 'https://app.example:22/jwks' }, 'jwks_uri', port],
  ] as const) {
    const described = { redirect_uris: [CALLBACK], ...members };
    const unfit = publicErrorOf(400, 'invalid_client_metadata', `${member}: ${problem}`);
    assert.deepEqual(await postRegistration(world, described), unfit);
    await assert.rejects(world.server.operator.clientFrom({ id: 'x' }, described), {
      message: `${member}: ${problem}`,
    });
  }
  // A client that registers itself goes without what protects nothing. An operator learns of the mistake.
  const request_uris = ['https://app.example/r'];
  for (const [members, member, left] of [
    [{ logo_uri: 'https://10.0.0.1/logo.png' }, 'logo_uri', {}],
    [{ 'logo_uri#de': 'https://localhost/logo.png' }, 'logo_uri', {}],
    [{ request_uris: [...request_uris, 'https://[fd00::1]/r'] }, 'request_uris', { request_uris }],
  ] as const) {
    const described = { redirect_uris: [CALLBACK], ...members };
    const { metadata } = await register(world, described);
    const kept = Object.entries(metadata).filter(([name]) => name.startsWith(member));
    assert.deepEqual(Object.fromEntries(kept), left);
    await assert.rejects(world.server.operator.clientFrom({ id: 'x' }, described), {
      message: `${member}: ${address}`,
    });
  }
  const insecure = world.server.operator.clientFrom({ id: 'x' }, { jwks_uri: 'http://app.example/jwks' });
  await assert.rejects(insecure, /jwks_uri: this server does not fetch this URL: the URL is not https/);

  const there = await openWorld(t, {
    ...openRegistration({ allowInsecureUris: true }),
    fetchDocument: fetchAnywhere,
  });
  const members = { redirect_uris: [CALLBACK], backchannel_logout_uri: 'http://127.0.0.1:4001/logout' };
  assert.equal(
    (await register(there, members)).metadata.backchannel_logout_uri,
    members.backchannel_logout_uri,
  );
});

// ── Servers of the operator ───────────────────────────────────────────────────────────────────────────────

test('with named authorities, only their servers are reached, by https alone', async (t) => {
  const authority = await newCertificate({ subject: [{ CN: ['authority'] }], isCa: true });
  const other = await newCertificate({ subject: [{ CN: ['another'] }], isCa: true });
  const names = [{ type: 'dns', value: 'localhost' }] as const;
  const { pem } = await newCertificate({
    subject: [{ CN: ['localhost'] }],
    names: [...names],
    issuer: authority,
  });
  const server = createServer(pem, (_, response) => response.end('{}')).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const address = server.address();
  const url = `https://localhost:${typeof address === 'object' ? address?.port : ''}/jwks`;
  const trusting = (certificateAuthorities: string) =>
    documentFetcher({ allowPrivateAddresses: true, certificateAuthorities });
  assert.equal((await trusting(authority.pem.cert)(url)).body, '{}');
  const failed = 'the document could not be fetched';
  await assertNotFetched(trusting(other.pem.cert)(url), 'failed', failed);
  await assertNotFetched(fetchAnywhere(url), 'failed', failed);
  const plain = url.replace('https:', 'http:');
  await assertNotFetched(trusting(authority.pem.cert)(plain), 'refused', 'the URL is not https');
});
