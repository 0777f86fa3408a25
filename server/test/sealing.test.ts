import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { ServerSecret } from '@grantd/core';
import { seal, unseal } from '../src/data/secrets.ts';
import { SealedValues } from '../src/pages/browser/cookies.ts';
import { openNotice, sealNotice } from '../src/pages/steps/account_visits.ts';

describe('a sealed text', () => {
  const [key, another] = [randomBytes(32), randomBytes(32)];

  test('is opened by its key alone, and for what it is bound to', () => {
    const sealed = seal(key, 'what it says', 'here');
    assert.equal(unseal(key, sealed, 'here'), 'what it says');
    assert.equal(unseal(another, sealed, 'here'), undefined);
    assert.equal(unseal(key, sealed, 'there'), undefined);
    assert.equal(unseal(key, sealed), undefined);
    assert.notEqual(seal(key, 'what it says', 'here'), sealed);
  });

  test('that is changed or cut is rejected', () => {
    const bytes = Buffer.from(seal(key, 'what it says'), 'base64url');
    for (let length = 0; length < bytes.length; length += 1)
      assert.equal(
        unseal(key, bytes.subarray(0, length).toString('base64url')),
        undefined,
        `${length} bytes`,
      );
    for (const [at, byte] of bytes.entries()) {
      const changed = Buffer.from(bytes);
      changed[at] = byte ^ 1;
      assert.equal(unseal(key, changed.toString('base64url')), undefined, `byte ${at}`);
    }
  });
});

describe('a notice of the account page', () => {
  const notices = new SealedValues(new ServerSecret('s'.repeat(32)), 'notice');

  test('is shown in the session that it was made for, as it was', async () => {
    for (const notice of [
      { done: 'access_ended', application: 'Mail' },
      { done: 'access_ended', application: 'Mail', isUnchecked: true },
      { done: 'session_ended' },
      { done: 'other_sessions_ended', count: 2 },
      { done: 'nothing_to_end' },
    ] as const) {
      const sealed = await sealNotice(notices, notice, 'mine');
      assert.deepEqual(await openNotice(notices, sealed, 'mine'), notice);
      assert.equal(await openNotice(notices, sealed, 'another'), undefined);
    }
    assert.equal(await openNotice(notices, undefined, 'mine'), undefined);
    assert.equal(await openNotice(notices, 'made up', 'mine'), undefined);
  });

  test('that another version of the program has sealed is rejected', async () => {
    for (const value of [
      null,
      'text',
      { sessionId: 'mine' },
      { sessionId: 'mine', notice: 'text' },
      { sessionId: 'mine', notice: { done: 'something_else' } },
      { sessionId: 'mine', notice: { done: 'access_ended' } },
      { sessionId: 'mine', notice: { done: 'other_sessions_ended', count: '2' } },
    ])
      assert.equal(await openNotice(notices, await notices.seal(value), 'mine'), undefined);
  });
});
