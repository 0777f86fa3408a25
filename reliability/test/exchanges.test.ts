import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exchangesIn } from '../system_calls/exchanges.ts';

const REQUEST = '7    read(28<socket:[1]>, "POST /token/revoke HTTP/1.1\\r\\nHost: a"..., 65536) = 959';
const WRITE = '7 pwrite64(24</db/g.db-wal>, "\\0\\0"..., 24, 226632) = 24';
const FLUSH = '7    fdatasync(24</db/g.db-wal>)       = 0';
const RESPONSE = '7 write(28<socket:[1]>, "HTTP/1.1 200 OK\\r\\nx-request-id: "..., 188) = 188';
const REVOCATION = { request: 'POST /token/revoke', status: 200 };

function exchanges(...lines: readonly string[]) {
  return exchangesIn(lines.join('\n'));
}

test('a flush of the log between the last write to it and the response is seen', () => {
  assert.deepEqual(exchanges(REQUEST, WRITE, WRITE, FLUSH, RESPONSE), [
    { ...REVOCATION, logWrites: 2, isFlushed: true },
  ]);
});

test('a response before the flush is seen, and so is a write after it', () => {
  const unflushed = { ...REVOCATION, isFlushed: false };
  assert.deepEqual(exchanges(REQUEST, WRITE, RESPONSE, FLUSH), [{ ...unflushed, logWrites: 1 }]);
  assert.deepEqual(exchanges(REQUEST, WRITE, FLUSH, WRITE, RESPONSE), [{ ...unflushed, logWrites: 2 }]);
  assert.deepEqual(exchanges(FLUSH, REQUEST, RESPONSE), [{ ...unflushed, logWrites: 0 }]);
});

test('a flush that failed, or of another file, does not count', () => {
  const failed = '7 fsync(24</db/g.db-wal>) = -1 EIO (Input/output error)';
  const other = '7 fsync(23</db/g.db>) = 0';
  assert.deepEqual(exchanges(REQUEST, WRITE, failed, other, RESPONSE), [
    { ...REVOCATION, logWrites: 1, isFlushed: false },
  ]);
});

test('a call that another thread interrupts counts when it is over, and a response when it begins', () => {
  const begun = '9 fsync(24</db/g.db-wal> <unfinished ...>';
  const over = '9 <... fsync resumed>) = 0';
  assert.deepEqual(exchanges(REQUEST, WRITE, begun, over, RESPONSE), [
    { ...REVOCATION, logWrites: 1, isFlushed: true },
  ]);
  assert.deepEqual(exchanges(REQUEST, WRITE, begun, RESPONSE, over), [
    { ...REVOCATION, logWrites: 1, isFlushed: false },
  ]);
  const writing =
    '7 writev(28<socket:[1]>, [{iov_base="HTTP/1.1 503 Service"..., iov_len=9}], 1 <unfinished ...>';
  assert.deepEqual(exchanges(REQUEST, WRITE, writing, FLUSH, '7 <... writev resumed>) = 9'), [
    { request: 'POST /token/revoke', status: 503, logWrites: 1, isFlushed: false },
  ]);
});
