import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Plot, plot } from '../report/plot.ts';

const bar = (subject: string, ratio: number) => ({ subject, ratio, min: ratio - 0.02, max: ratio + 0.03 });

const PLOT: Plot = {
  title: 'Ratio to bare <node:http>',
  rows: [
    {
      label: 'introspection, JWT',
      goal: 0.6,
      bars: [bar('grantd', 0.65), bar('oidc-provider', 0.13), bar('oauth2-server', 0.2)],
    },
    { label: 'UserInfo', bars: [bar('grantd', 0.5), bar('oidc-provider', 0.1)] },
  ],
  caption: 'npm run bench',
};

test('a plot says in words what it shows', () => {
  assert.ok(
    plot(PLOT).includes(
      'introspection, JWT: grantd 0.65, oidc-provider 0.13, oauth2-server 0.20; goal of grantd 0.60. ' +
        'UserInfo: grantd 0.50, oidc-provider 0.10.',
    ),
  );
});

test('a plot has a bar for each program that did a work, and a mark for each goal beside the one of the legend', () => {
  const svg = plot(PLOT);
  assert.equal(svg.match(/<rect class="s0"/g)?.length, 1 + 2);
  assert.equal(svg.match(/<rect class="s2"/g)?.length, 1 + 1);
  assert.equal(svg.match(/class="goal"/g)?.length, 1 + 1);
});

test('bars are as long as their ratios', () => {
  const widths = [...plot(PLOT).matchAll(/<rect class="s\d" x="210" y="\d+" width="([\d.]+)"/g)];
  assert.deepEqual(
    widths.map(([, width]) => Number(width)),
    [0.65, 0.13, 0.2, 0.5, 0.1].map((ratio) => Math.round(ratio * 5500) / 10),
  );
});

test('an axis that ends at the bare server grows if something was faster', () => {
  const quick = plot({ title: 'quick', rows: [{ label: 'work', bars: [bar('grantd', 1.15)] }] });
  assert.ok(!plot(PLOT).includes('>1.2<'));
  assert.ok(quick.includes('>1.2<'));
});

test('text of a plot is no markup', () => {
  assert.ok(plot(PLOT).includes('Ratio to bare &#60;node:http&#62;'));
});

test('a plot refuses more programs than it has colours', () => {
  const bars = ['a', 'b', 'c', 'd', 'e'].map((subject) => bar(subject, 0.1));
  assert.throws(() => plot({ title: 'many', rows: [{ label: 'work', bars }] }), RangeError);
});

test('a legend that is too wide for one line has two, and the rows begin below it', () => {
  const row = (subjects: readonly string[]) => ({
    label: 'work',
    bars: subjects.map((subject) => ({ subject, ratio: 0.5, min: 0.4, max: 0.6 })),
  });
  const long = ['first', 'second', 'third'].map((name) => `the ${name} program, with a long name`);
  const keys = (svg: string) =>
    [...svg.matchAll(/class="key" x="([\d.]+)" y="(\d+)"/g)].map(([, x, y]) => [x, y]);
  const firstBar = (svg: string) => Number(/<rect class="s0" x="210" y="(\d+)"/.exec(svg)?.[1]);
  const [one, two] = [['a', 'b', 'c'], long].map((subjects) => plot({ title: 'T', rows: [row(subjects)] }));
  assert.ok(one !== undefined && two !== undefined);
  assert.deepEqual(
    keys(one).map(([, y]) => y),
    ['58', '58', '58'],
  );
  assert.deepEqual(
    keys(two).map(([, y]) => y),
    ['58', '58', '78'],
  );
  assert.equal(firstBar(two), firstBar(one) + 20);
});
