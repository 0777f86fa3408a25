import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowsOf } from '../population/order.ts';
import { COPIED } from '../population/populate.ts';
import { growthOrder } from '../works/growth.ts';
import { manyOrder } from '../works/introspection_many.ts';
import { populationOrder } from '../works/stage.ts';

/** The most access tokens that the SQLite store caches: two generations of 100,000. */
const MOST_REMEMBERED = 200_000;
const SIZES = { records: 1_000_000, tokens: 100_000, personal: 40_000 };

test('there are more opaque tokens than are cached, if there is room for them', () => {
  assert.equal(populationOrder(SIZES).tokens.opaque, 300_000);
  assert.equal(growthOrder(SIZES, 10_000_000).tokens.opaque, 300_000);
  assert.ok(300_000 > MOST_REMEMBERED);
});

for (const records of [1000, 10_000, 100_000, 10_000_000])
  test(`a database of ${records} records has room for the tokens that are asked about, and for copies`, () => {
    const order = growthOrder(SIZES, records);
    assert.ok(rowsOf(order) <= 0.9 * records);
    assert.ok((order.tokens.opaque ?? 0) > 0 && (order.tokens.web_refresh ?? 0) > 0);
  });

for (const tokens of [10, 10_000, 100_000])
  test(`with ${tokens} tokens, ten times as many are used at once, more than are cached by default at full size`, () => {
    const order = manyOrder({ ...SIZES, tokens });
    assert.equal(order.tokens.opaque, 10 * tokens);
    assert.ok(rowsOf(order) + COPIED <= order.records);
    assert.ok(tokens < 100_000 || order.tokens.opaque > MOST_REMEMBERED);
  });
