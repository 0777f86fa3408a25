import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { type TestContext, test } from 'node:test';
import { documentFetcher } from '@grantd/core/node';
import { openRemoteSite } from '../../../core/test/harness/remote_site.ts';
import { Logos } from '../../src/pages/drawing/logos.ts';

/** The first bytes of a PNG, which are no text in any encoding. */
const PICTURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0xff, 0x00]);

async function logosOf(t: TestContext, answer: RequestListener) {
  const site = await openRemoteSite(t, answer);
  const clock = { nowMs: 0 };
  const fetchDocument = documentFetcher({ allowPrivateAddresses: true });
  return { site, clock, logos: new Logos({ fetchDocument, clock: () => clock.nowMs }) };
}

test('a logo comes byte by byte, with its type, and is fetched once in an hour', async (t) => {
  const { site, clock, logos } = await logosOf(t, (_, response) =>
    response.writeHead(200, { 'content-type': 'Image/PNG; q=1' }).end(PICTURE),
  );
  const expected = { type: 'image/png', bytes: PICTURE };
  const both = await Promise.all([logos.get(`${site.origin}/a`), logos.get(`${site.origin}/a`)]);
  assert.deepEqual(both, [expected, expected]);
  clock.nowMs = 60 * 60 * 1000 - 1;
  await logos.get(`${site.origin}/a`);
  assert.equal(site.requests.length, 1);
  clock.nowMs++;
  assert.deepEqual(await logos.get(`${site.origin}/a`), expected);
  assert.equal(site.requests.length, 2);
  assert.equal(site.requests[0]?.headers.accept, 'image/*');
});

for (const [title, status, type, body] of [
  ['a page', 200, 'text/html', '<script>'],
  ['a picture that was not found', 404, 'image/png', PICTURE],
  ['something without a type', 200, '', PICTURE],
  ['a picture that is too large', 200, 'image/png', Buffer.alloc(64 * 1024 + 1)],
] as const) {
  test(`${title} is no logo, and is not asked for again for a minute`, async (t) => {
    const { site, clock, logos } = await logosOf(t, (_, response) =>
      response.writeHead(status, type === '' ? {} : { 'content-type': type }).end(body),
    );
    assert.equal(await logos.get(site.origin), undefined);
    clock.nowMs = 60 * 1000 - 1;
    assert.equal(await logos.get(site.origin), undefined);
    assert.equal(site.requests.length, 1);
    clock.nowMs++;
    assert.equal(await logos.get(site.origin), undefined);
    assert.equal(site.requests.length, 2);
  });
}

test('an address that must not be asked gives no logo', async () => {
  const logos = new Logos({ fetchDocument: documentFetcher(), clock: () => 0 });
  assert.equal(await logos.get('https://127.0.0.1/logo.png'), undefined);
});

test('a hundred logos are kept, and of more the last', async (t) => {
  const { site, logos } = await logosOf(t, (_, response) =>
    response.writeHead(200, { 'content-type': 'image/png' }).end(PICTURE),
  );
  for (let at = 0; at < 101; at++) await logos.get(`${site.origin}/${at}`);
  await logos.get(`${site.origin}/1`);
  assert.equal(site.requests.length, 101);
  await logos.get(`${site.origin}/0`);
  assert.equal(site.requests.length, 102);
});
