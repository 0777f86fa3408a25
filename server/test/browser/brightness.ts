import { inflateSync } from 'node:zlib';
import type { Page } from 'playwright-core';

/** The visible corner of the page, from 0 for black to 1 for white. */
export async function brightness(page: Page): Promise<number> {
  const take = () => page.screenshot({ clip: { x: 0, y: 0, width: 1, height: 1 } });
  // Chromium sometimes refuses a picture while it has no frame of the page yet, and takes it a moment later.
  const png = await take().catch((error: unknown) => {
    if (!String(error).includes('Unable to capture screenshot')) throw error;
    return page.waitForTimeout(500).then(take);
  });
  // One pixel: the filter byte of its line, then red, green and blue (PNG §11.2, §9.2).
  const [, red = 0, green = 0, blue = 0] = inflateSync(Buffer.concat([...dataOf(png)]));
  return (red + green + blue) / (3 * 255);
}

/** The compressed picture, possibly in several chunks (PNG §5.3, §11.2.3). */
function* dataOf(png: Buffer): Generator<Buffer> {
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const name = png.toString('latin1', at + 4, at + 8);
    if (name === 'IDAT') yield png.subarray(at + 8, at + 8 + length);
    at += length + 12;
  }
}
