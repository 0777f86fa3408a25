import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { grantdPrints } from '../harness/commands.ts';
import type { RunningServer } from '../harness/program.ts';
import { scene } from './scene.ts';

/** A picture of one pixel (PNG). */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** The text of a phishing page at our address. */
const PHISHING = 'Your session has expired';
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100">
<a href="https://stranger.example/"><text x="1" y="9">${PHISHING}</text></a></svg>`;

describe('an application’s logo in Chromium', { skip: CHROMIUM_ABSENCE }, () => {
  const set = scene(['--insecure-development']);
  const addLogo = async ({ folder }: RunningServer, id: string, type: string, body: string | Uint8Array) => {
    const { application } = set();
    application.put(`/${id}`, body, type);
    await grantdPrints(folder, [
      ...['client', 'add', id, `--name=${PHISHING}`, `--logo-uri=${application.origin}/${id}`],
      ...['--redirect-uri=https://app.example/cb', '--scope=openid', '--insecure-development'],
    ]);
  };
  before(async () => {
    const { server } = set();
    await addLogo(server, 'svg', 'image/svg+xml', SVG);
    await addLogo(server, 'svg-as-png', 'image/png', SVG);
    await addLogo(server, 'html-as-png', 'image/png', `<!doctype html><h1>${PHISHING}</h1>`);
    await addLogo(server, 'png', 'image/png', PIXEL);
  });

  for (const id of ['svg', 'svg-as-png', 'html-as-png', 'png']) {
    test(`${id}: opened by itself, the logo is no page on the server’s origin`, async () => {
      const { server, visitor } = set();
      const { page } = await visitor();
      await page.goto(`${server.url}/`);
      const download = page.waitForEvent('download');
      await page.goto(`${server.url}/logo?client=${id}`).catch(() => {}); // Chromium aborts the navigation when it saves a file
      assert.equal((await download).url(), `${server.url}/logo?client=${id}`);
      assert.doesNotMatch(await page.content(), new RegExp(PHISHING));
      assert.equal(await page.locator('a[href*=stranger]').count(), 0);
    });
  }

  test('a page draws the logo, and a monogram for one that is no picture of pixels', async () => {
    const { server, visitor } = set();
    const { page } = await visitor();
    await page.goto(`${server.url}/`);
    const widthDrawn = (address: string) =>
      page.evaluate(async (source) => {
        const picture = new Image();
        picture.src = source;
        await picture.decode();
        return picture.naturalWidth;
      }, address);
    assert.equal(await widthDrawn('/logo?client=png'), 1);
    assert.ok((await widthDrawn('/logo?client=svg')) > 1);
    const monogram = await (await fetch(`${server.url}/logo?client=svg`)).text();
    assert.match(monogram, /^<svg [^>]*viewBox="0 0 48 48">/);
    assert.doesNotMatch(monogram, /stranger\.example/);
    const { headers } = await fetch(`${server.url}/logo?client=png`);
    assert.equal(headers.get('content-disposition'), 'attachment');
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'.*sandbox/);
  });
});
