import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, connect as connectPlainly, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { readConfiguration } from '../src/config/configuration.ts';
import { createHttpServer } from '../src/serve/http_server.ts';
import { TlsFiles } from '../src/serve/tls.ts';
import { until } from './harness/program.ts';
import { serverCertificate } from './harness/tls.ts';
import { answerTo } from './harness/wire.ts';

test('a request whose body stops coming is closed at the time limit, not at Node’s next look 30 seconds later', async (t) => {
  const { http, answerWith } = createHttpServer(undefined, { request: 500, checkInterval: 50 });
  answerWith((request, response) => {
    request.resume().on('end', () => response.end());
  });
  http.listen(0, '127.0.0.1');
  t.after(() => http.close());
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  const startedAtMs = performance.now();
  const head = 'POST /par HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n';
  const answer = await answerTo(port, `${head}client_id=app`);
  const tookMs = performance.now() - startedAtMs;
  assert.match(answer, /^HTTP\/1\.1 408 Request Timeout\r\nConnection: close\r\n/);
  assert.ok(tookMs >= 450 && tookMs < 10_000, `it took ${tookMs} ms`);
  assert.equal(createHttpServer().http.requestTimeout, 30_000);
});

test('TLS has the same limits at both ports, and one for the handshake', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [tlsCertificate, tlsKey] = [join(folder, 'tls.pem'), join(folder, 'tls.key')];
  const { pem } = await serverCertificate();
  writeFileSync(tlsCertificate, pem.cert);
  writeFileSync(tlsKey, pem.key, { mode: 0o600 });
  const configuration = readConfiguration({ tlsCertificate, tlsKey, mtlsPort: '0' }, {});
  const limits = { request: 500, checkInterval: 50 };
  const { http, mtls, answerWith } = createHttpServer(new TlsFiles(configuration, {}), limits);
  answerWith((request, response) => {
    request.resume().on('end', () => response.end());
  });
  assert.ok(mtls);
  const ports: number[] = [];
  for (const server of [http, mtls] satisfies Server[]) {
    server.listen(0, '127.0.0.1');
    t.after(() => server.close());
    await once(server, 'listening');
    ports.push((server.address() as AddressInfo).port);
  }
  const inTime = async (what: string, ended: Promise<string>) => {
    const startedAtMs = performance.now();
    const answer = await ended;
    const tookMs = performance.now() - startedAtMs;
    assert.ok(tookMs >= 400 && tookMs < 10_000, `${what} took ${tookMs} ms`);
    return answer;
  };
  const over = (port: number, bytes: string) =>
    new Promise<string>((resolve) => {
      let text = '';
      const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca: pem.cert });
      socket.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      socket.write(bytes);
      socket.on('error', () => {});
      socket.once('close', () => resolve(text));
    });
  const head = 'POST /par HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n';
  const checks = ports.flatMap((port) => [
    ...['', '\x16\x03\x01\x02\x00'].map(async (handshake) =>
      assert.equal(await inTime('a handshake', answerTo(port, handshake)), ''),
    ),
    ...['', head.slice(0, 20), head].map(async (part) =>
      assert.match(
        await inTime(JSON.stringify(part), over(port, part)),
        /^HTTP\/1\.1 408 Request Timeout\r\n/,
      ),
    ),
  ]);
  await Promise.all(checks);
});

test('an idle connection keeps nothing of its last request', async (t) => {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  const { http, answerWith } = createHttpServer();
  let last: WeakRef<ServerResponse> | undefined;
  answerWith((_request, response) => {
    last = new WeakRef(response);
    response.end();
  });
  http.listen(0, '127.0.0.1');
  t.after(() => {
    http.closeAllConnections();
    http.close();
  });
  await once(http, 'listening');
  const connection = connectPlainly((http.address() as AddressInfo).port, '127.0.0.1');
  connection.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await once(connection, 'data');
  await until(() => {
    collectGarbage();
    return last?.deref() === undefined;
  }, 'the response is collected');
  assert.equal(connection.closed, false);
});
