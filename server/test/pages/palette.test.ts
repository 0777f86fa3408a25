// § refers to WCAG 2.2.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brandColors, contrast, mix, paletteOf, SCHEMES, textOn } from '../../src/pages/drawing/brand.ts';

const STEPS = ['00', '33', '66', '80', '99', 'cc', 'ff'];

/** Colours from the whole cube, including greys. */
const COLORS = STEPS.flatMap((red) =>
  STEPS.flatMap((green) => STEPS.map((blue) => `#${red}${green}${blue}`)),
);

test('WCAG 2.2 contrast ratio: of black and white 21, of a colour and itself 1, in either order', () => {
  assert.equal(contrast('#000000', '#ffffff'), 21);
  assert.equal(contrast('#ffffff', '#000000'), 21);
  assert.equal(contrast('#1d5f63', '#1D5F63'), 1);
  assert.equal(contrast('#777777', '#ffffff').toFixed(2), '4.48');
  assert.equal(contrast('#ff0000', '#ffffff').toFixed(2), '4.00');
});

test('mixes a share of one colour into another', () => {
  assert.equal(mix('#000000', '#ffffff', 0), '#000000');
  assert.equal(mix('#000000', '#ffffff', 0.5), '#808080');
  assert.equal(mix('#102030', '#ffffff', 1), '#ffffff');
});

test('white stands on dark colours, black on light ones', () => {
  assert.deepEqual(['#000000', '#2458c4', '#ffdd00', '#ffffff'].map(textOn), [
    '#ffffff',
    '#ffffff',
    '#000000',
    '#000000',
  ]);
});

for (const [scheme, away] of [
  ['light', '#000000'],
  ['dark', '#ffffff'],
] as const) {
  const own = SCHEMES[scheme];

  test(`§1.4.3, §1.4.11 whatever colour a brand has, everything can be read in the ${scheme} scheme`, () => {
    for (const color of COLORS) {
      const colors = brandColors(color, own, away);
      const least = (one: string, other: string, ratio: number) =>
        assert.ok(contrast(one, other) >= ratio, `${color}: ${one} on ${other}`);
      least(colors['on-brand'], colors.brand, 4.5);
      least(colors['on-brand'], colors['brand-hover'], 4.5);
      least(colors.accent, own.surface, 4.5);
      least(colors.accent, own.ground, 4.5);
      least(colors['brand-edge'], own.surface, 3);
    }
  });

  test(`§1.4.3, §1.4.11 what belongs to the ${scheme} scheme can be read on all its grounds`, () => {
    for (const [text, grounds] of [
      [own.text, [own.surface, own.ground]],
      [own.muted, [own.surface, own.ground]],
      [own.danger, [own['danger-ground'], own.surface]],
      [own.success, [own['success-ground'], own.surface]],
    ] as const) {
      for (const ground of grounds) assert.ok(contrast(text, ground) >= 4.5, `${text} on ${ground}`);
    }
    assert.ok(contrast(own.edge, own.surface) >= 3);
  });
}

test('a colour that stands out enough is left as it is', () => {
  const { brand, accent, ...others } = brandColors('#2458c4', SCHEMES.light, '#000000');
  assert.deepEqual([brand, accent, others['brand-edge']], ['#2458c4', '#2458c4', '#2458c4']);
});

test('a link in the dark scheme has the hue of a dark brand, and is no greyer', () => {
  const { accent } = brandColors('#1d5f63', SCHEMES.dark, '#ffffff');
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => Number.parseInt(accent.slice(at, at + 2), 16));
  assert.ok(contrast(accent, SCHEMES.dark.surface) >= 7, accent);
  assert.ok(1 - red / Math.max(green, blue) >= 0.6, `the brand has a saturation of 0.7 (${accent})`);
});

test('both schemes name the same properties', () => {
  const [light, dark] = paletteOf('#2458c4')
    .split('@media')
    .map((part) => [...part.matchAll(/--([\w-]+):/g)].map(([, name]) => name));
  assert.deepEqual(light, dark);
});
