import assert from 'node:assert/strict';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { finish } from '../src/serve/shutdown.ts';

test('what does not finish in time is closed', async () => {
  const http = createServer(() => {});
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address() as AddressInfo;
  const isAsked = new Promise((resolve) => http.once('request', resolve));
  const isClosed = new Promise((resolve) => get({ port, host: '127.0.0.1' }).on('error', resolve));
  await isAsked;
  assert.equal(await finish(http, 50), false);
  assert.ok((await isClosed) instanceof Error);
});
