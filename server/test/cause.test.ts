import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DocumentError } from '@grantd/core';
import { causeOf } from '../src/log/logged_error.ts';

test('a document that could not be had is logged without a stack, anything else with one', () => {
  const error = new DocumentError('refused', 'the URL is not https');
  assert.deepEqual(causeOf(error), { name: 'DocumentError', message: 'the URL is not https' });
  assert.match(causeOf(new Error('x')).stack ?? '', /cause\.test\.ts/);
});

test('long messages and stacks are cut, so that a line of the log can be written as a whole', () => {
  const nested = (depth: number): Error => {
    const message = `${'x'.repeat(1000)}grantd_at_${'y'.repeat(43)}`;
    return depth === 0 ? new Error(message) : new Error(message, { cause: nested(depth - 1) });
  };
  const cause = causeOf(nested(5));
  assert.equal(cause.message, `${'x'.repeat(300)}…`);
  assert.ok(Buffer.byteLength(JSON.stringify(cause)) < 3500);
});

test('what is cut shows no part of a bearer value', () => {
  const error = new Error(`${'x'.repeat(285)} grantd_at_${'y'.repeat(43)}`);
  assert.equal(causeOf(error).message, `${'x'.repeat(285)} [removed]`);
});
