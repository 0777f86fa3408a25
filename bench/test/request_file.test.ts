import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { rawRequest, readRequestFile, writeRequestFile } from '../load/request_file.ts';

const ASKING = { method: 'GET', path: '/userinfo', authorization: 'Bearer abc' } as const;
const POSTING = {
  method: 'POST',
  path: '/token',
  authorization: 'Basic eA==',
  body: 'token=a%2Bb&name=ä',
} as const;

function requestFile(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-bench-test-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, 'requests');
}

test('a form is sent with its length in bytes', () => {
  assert.equal(
    rawRequest(POSTING),
    [
      'POST /token HTTP/1.1',
      'Host: 127.0.0.1',
      'Authorization: Basic eA==',
      'Accept: application/json',
      'Content-Type: application/x-www-form-urlencoded',
      'Content-Length: 19',
      '',
      'token=a%2Bb&name=ä',
    ].join('\r\n'),
  );
});

test('what was written to a file of requests is read from it', async (t) => {
  const file = requestFile(t);
  const written = await writeRequestFile(file, [ASKING, POSTING, ASKING]);
  assert.deepEqual(written, { requestCount: 3, sample: ASKING });

  const asking = {
    method: 'GET',
    path: '/userinfo',
    headers: { Authorization: 'Bearer abc', Accept: 'application/json' },
    body: '',
  };
  const posting = {
    method: 'POST',
    path: '/token',
    headers: {
      Authorization: 'Basic eA==',
      Accept: 'application/json',
      'Content-Type': 'application/x-www-form-urlencoded',
    },
    body: POSTING.body,
  };
  assert.deepEqual(readRequestFile(file), [asking, posting, asking]);
});

test('a file of no requests is refused', async (t) => {
  await assert.rejects(writeRequestFile(requestFile(t), []), /^Error: there are no requests for /);
});
