import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { writeRequestFile } from '../load/request_file.ts';
import { wrk } from '../load/wrk.ts';
import { ACTIVE, REVOKED } from '../works/answers.ts';

const generator = wrk();
const skip = generator === undefined ? 'wrk is not installed' : false;
const TOKEN = 'secret'.repeat(10);

test('wrk sends the requests in their order, and distinguishes right responses from wrong ones', {
  skip,
}, async (t) => {
  if (generator === undefined) return;
  const folder = mkdtempSync(join(tmpdir(), 'grantd-bench-test-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const requests = join(folder, 'requests');
  const posted = ['active', 'inactive', 'revoked'].map(
    (body) => ({ method: 'POST', path: '/', body }) as const,
  );
  await writeRequestFile(requests, posted);

  const asked: string[] = [];
  const answers: Readonly<Record<string, string>> = {
    active: `{"active":true,"jti":"${TOKEN}"}`,
    inactive: `{"active":false,"jti":"${TOKEN}"}`,
    revoked: '',
  };
  const server = createServer(async (request, response) => {
    const body = await text(request);
    asked.push(body);
    response.end(answers[body]);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;

  const result = await generator.run({
    address: `http://127.0.0.1:${port}`,
    requests,
    from: 1,
    answers: [ACTIVE, REVOKED],
    connections: 1,
    seconds: 10,
    count: 6,
  });
  assert.deepEqual(result.right, { active: 2, revoked: 2 });
  assert.equal(result.wrong, 2);
  assert.equal(result.firstWrong, '200 {"active":false,"jti":"…"}');
  assert.equal(result.errors, 0);
  assert.ok(result.seconds < 5, 'it ends once all were answered');
  // wrk builds one request that it does not send.
  assert.deepEqual(asked.slice(0, 6), ['revoked', 'active', 'inactive', 'revoked', 'active', 'inactive']);
});
