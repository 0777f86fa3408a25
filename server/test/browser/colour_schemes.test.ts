import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { inflateSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { CHROMIUM_ABSENCE } from '../harness/chromium_installation.ts';
import { addPageClients, PAGES } from './pages.ts';
import { scene } from './scene.ts';

describe('colour schemes in Chromium', { skip: CHROMIUM_ABSENCE }, () => {
  const set = scene();
  before(() => addPageClients(set().server));

  for (const { name, as, open, shows } of PAGES) {
    test(`${name}: light where a person wants light, dark where they want dark`, async () => {
      const visit = await set().visitor({ colorScheme: 'light' });
      if (as === 'alice') await visit.authorizeAndSignIn();
      await open(visit);
      await visit.page.waitForSelector(shows);
      assert.ok((await brightness(visit.page)) > 0.8);
      await visit.page.emulateMedia({ colorScheme: 'dark' });
      assert.ok((await brightness(visit.page)) < 0.2);
      await visit.person.close();
    });
  }
});

/** Of the corner of the page as it is seen: from 0 for black to 1 for white. */
async function brightness(page: Page): Promise<number> {
  const png = await page.screenshot({ clip: { x: 0, y: 0, width: 1, height: 1 } });
  // One pixel: after the filter of its line come red, green and blue (PNG §11.2, §9.2).
  const [, red = 0, green = 0, blue = 0] = inflateSync(chunk(png, 'IDAT'));
  return (red + green + blue) / (3 * 255);
}

/** The content of the first chunk with this name (PNG §5.3). */
function chunk(png: Buffer, name: string): Buffer {
  const at = png.indexOf(name, 0, 'latin1');
  assert.ok(at > 0, `the picture has no ${name}`);
  return png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4));
}
