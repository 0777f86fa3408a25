// The labels below the charts of the console.
import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { TIME_AXIS_SCRIPT } from '../src/console/charts.ts';
import { languages } from '../src/texts/texts.ts';

type Axis = { readonly times: readonly number[]; readonly labels: readonly string[] };

const timesOn: (from: number, to: number, most: number, language: string) => Axis = new Function(
  `${TIME_AXIS_SCRIPT}; return timesOn;`,
)();

const MINUTE = 60;
const DAY = 24 * 60 * MINUTE;

/** Every minute of two hours, every quarter of an hour of three days, and every day of 400 days. */
const SPANS = [
  ...Array.from({ length: 120 }, (_, index) => (index + 1) * MINUTE),
  ...Array.from({ length: 280 }, (_, index) => 2 * 60 * MINUTE + index * 15 * MINUTE),
  ...Array.from({ length: 398 }, (_, index) => (3 + index) * DAY),
];

/** Ends: within a minute, at midnight, after a change of the clocks, and after a leap day and a new year. */
const ENDS = ['2026-11-30T17:18:31Z', '2026-03-01T00:00:00Z', '2026-10-25T03:30:10Z', '2028-03-01T12:00:59Z'];

/** Labels of a narrow and of a wide chart, at most. */
const MOST = [3, 5, 9];

const ZONES = ['UTC', 'America/New_York', 'Asia/Kolkata', 'Pacific/Auckland'];

describe('the times of a chart', () => {
  const own = process.env.TZ;
  afterEach(() => {
    if (own === undefined) delete process.env.TZ;
    else process.env.TZ = own;
  });

  for (const language of languages())
    test(`${language}: no label is there twice, over a minute to 400 days, and all are in UTC`, () => {
      let first: readonly string[] | undefined;
      for (const zone of ZONES) {
        process.env.TZ = zone;
        assert.equal(new Date(0).getHours() === 0, zone === 'UTC', 'the zone is in force');
        const all: string[] = [];
        for (const end of ENDS.map((text) => Date.parse(text) / 1000))
          for (const span of SPANS)
            for (const most of MOST) {
              const { times, labels } = timesOn(end - span, end, most, language);
              const about = `${span} s, at most ${most}: ${labels.join(', ')}`;
              assert.equal(new Set(labels).size, labels.length, about);
              assert.ok(times.length <= most + 1, about);
              assert.ok(times.length > 0, about);
              assert.ok(
                times.every((at) => at >= end - span && at <= end),
                about,
              );
              all.push(labels.join());
            }
        first ??= all;
        assert.deepEqual(all, first, zone);
      }
    });

  test('labels are as long as they need to be', () => {
    const end = Date.parse('2026-11-30T12:00:00Z') / 1000;
    const labels = (span: number) => timesOn(end - span, end, 4, 'en').labels;
    assert.deepEqual(labels(2 * MINUTE), ['11:58', '11:59', '12:00']);
    assert.deepEqual(labels(60 * MINUTE), ['11:00', '11:15', '11:30', '11:45', '12:00']);
    const days = ['Nov 28, 12:00', 'Nov 29, 00:00', 'Nov 29, 12:00', 'Nov 30, 00:00', 'Nov 30, 12:00'];
    assert.deepEqual(labels(2 * DAY), days);
    assert.deepEqual(labels(20 * DAY), ['Nov 12', 'Nov 19', 'Nov 26']);
    assert.deepEqual(labels(400 * DAY), ['Nov 2025', 'Mar 2026', 'Jul 2026', 'Nov 2026']);
  });
});
