import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openRemoteSite } from '../../core/test/harness/remote_site.ts';
import { ALICE, Browser } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { ENVIRONMENT_FILE, type RunningServer, Workbench } from './harness/program.ts';
import { authorizationUrl, newPkce } from './harness/protocol.ts';

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><rect width="1" height="1"/></svg>';

const workbench = new Workbench();
after(() => workbench.clear());

describe('names, logos and colours by configuration', () => {
  let server: RunningServer;
  before(async () => {
    const folder = workbench.folder();
    writeFileSync(join(folder, 'logo.svg'), SVG);
    writeFileSync(join(folder, ENVIRONMENT_FILE), JSON.stringify({ GRANTD_INSECURE_DEVELOPMENT: 'true' }));
    server = await workbench.start(folder, [
      '--demo',
      ...['--operator-name', 'Acme & Söhne', '--operator-color', '#7A1F5C', '--operator-logo', 'logo.svg'],
    ]);
  });

  const loginOf = (clientId: string, parameters: Readonly<Record<string, string>> = {}) =>
    new Browser(server.url).get(
      authorizationUrl(server.url, newPkce(), {
        client_id: clientId,
        ...parameters,
      }),
    );

  test('pages have the operator’s brand if no application has a name, a logo or a colour of its own', async () => {
    const { html } = await new Browser(server.url).get(`${server.url}/`);
    assert.match(html, /<h1>Acme &amp; Söhne<\/h1>/);
    assert.match(html, /--brand:#7a1f5c;/);
    assert.match(html, /<img class="mark logo" src="\/logo" alt="">/);
    assert.match(
      (await loginOf('demo-web')).html,
      /--brand:#7a1f5c;[\s\S]*<p class="operator"><img class="mark logo" src="\/logo" alt=""><bdi>Acme &amp; Söhne<\/bdi>/,
    );
  });

  test('the operator’s logo is a picture of this server that runs nothing', async () => {
    const response = await fetch(`${server.url}/logo`);
    assert.equal(await response.text(), SVG);
    assert.deepEqual(
      [
        'content-type',
        'content-security-policy',
        'x-content-type-options',
        'cross-origin-resource-policy',
        'cache-control',
      ].map((name) => response.headers.get(name)),
      [
        'image/svg+xml',
        "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        'nosniff',
        'same-origin',
        'public, max-age=3600',
      ],
    );
  });

  test('an application’s name, logo and colour are on its pages, but not on the password page', async (t) => {
    const site = await openRemoteSite(t, (request, response) =>
      request.url === '/logo.png'
        ? response.writeHead(200, { 'content-type': 'image/png' }).end('PNG')
        : response.writeHead(404).end(),
    );
    await grantdPrints(server.folder, [
      ...['client', 'update', 'demo-spa', '--logo-uri', `${site.origin}/logo.png`, '--insecure-development'],
      ...['--brand-color', '#ffdd00', '--localized', 'client_name#de=Vorführung'],
    ]);
    const browser = new Browser(server.url);
    const login = await browser.get(
      authorizationUrl(server.url, newPkce(), {
        ...{ client_id: 'demo-spa', redirect_uri: 'http://localhost:4002/callback' },
        ...{ ui_locales: 'de-AT en', prompt: 'consent' },
      }),
    );
    assert.match(login.html, /<html lang="de">/);
    assert.match(login.html, /weiter zu <bdi class="name">Vorführung<\/bdi>/);
    assert.match(login.html, /--brand:#7a1f5c;/);
    assert.doesNotMatch(login.html, /#ffdd00|\/logo\?/);
    const consent = await browser.submit(login, { ...ALICE });
    assert.match(consent.html, /--brand:#ffdd00;--on-brand:#000000;/);
    const source = /<img class="mark logo" src="([^"]*)" alt="">/
      .exec(consent.html)?.[1]
      ?.replaceAll('&amp;', '&');
    assert.equal(source, '/logo?client=demo-spa&language=de');
    const response = await fetch(`${server.url}${source}`);
    assert.equal(response.headers.get('content-type'), 'image/png');
    assert.equal(await response.text(), 'PNG');
    assert.equal(response.headers.get('content-disposition'), 'attachment');
    assert.equal(site.requests.length, 1);
  });

  test('a logo that is not to be had is the monogram of the name', async () => {
    await grantdPrints(server.folder, [
      ...['client', 'update', 'demo-machine', '--insecure-development'],
      ...['--logo-uri', 'http://127.0.0.1:9/logo.png'],
    ]);
    const response = await fetch(`${server.url}/logo?client=demo-machine`);
    assert.match(await response.text(), /<text [^>]*>DM<\/text>/);
    assert.equal(response.headers.get('cache-control'), 'public, max-age=60');
  });

  test('an unknown client, or one without a logo, has no logo URL', async () => {
    for (const client of ['demo-web', 'nobody', '', '..'])
      assert.equal((await fetch(`${server.url}/logo?client=${client}`)).status, 404, client);
  });
});

test('a logo that is not there, or is too large, is refused at the start', async () => {
  const folder = workbench.folder();
  writeFileSync(join(folder, 'large.png'), Buffer.alloc(256 * 1024 + 1));
  for (const file of ['absent.png', 'large.png']) {
    const { code, stderr } = await grantd(folder, ['serve', '--port', '0', '--operator-logo', file]);
    assert.equal(code === 0, false);
    assert.match(stderr, /--operator-logo: expected a readable file of at most 256 KiB/);
  }
});
