import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readableLines } from '../src/log/readable_lines.ts';

test('a readable line is one line without control characters, whatever its values', () => {
  const written: string[] = [];
  const lines = readableLines({ write: (line) => written.push(line) });
  const request = { event: 'request', method: 'GET', path: '/\u001b[2J\u009b2J', status: 404, durationMs: 1 };
  lines.write(`${JSON.stringify({ level: 'info', ...request, cause: 'one\ntwo', requestId: 'a-1' })}\n`);
  assert.equal(written.length, 1);
  assert.match(
    String(written[0]),
    /INFO: GET \/\\u001b\[2J\\u009b2J 404 1 ms cause=one\\u000atwo requestId=a-1\n$/,
  );
});
