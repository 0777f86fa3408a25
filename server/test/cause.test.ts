import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DocumentError } from '@grantd/core';
import { causeOf } from '../src/log/cause.ts';

test('a document that could not be had is logged without a stack, anything else with one', () => {
  const error = new DocumentError('refused', 'the URL is not https');
  assert.deepEqual(causeOf(error), { name: 'DocumentError', message: 'the URL is not https' });
  assert.match(causeOf(new Error('x')).stack ?? '', /cause\.test\.ts/);
});
