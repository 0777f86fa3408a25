// What a check of `grantd follow` takes.
import { once } from 'node:events';
import { connect, type NetConnectOpts } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../core/test/harness/free_port.ts';
import type { Generator } from '../load/generator.ts';
import { writeRequestFile } from '../load/request_file.ts';
import { exactCpuSeconds } from '../processes/process_usage.ts';
import { API, AUDIENCE } from './parties.ts';
import { GRANTD, type Issuer, newTokens, type Servers } from './servers.ts';

const PATH = '/token/check?scope=api:read';

export interface CheckTimes {
  /** Microseconds of one check after another over one connection. */
  readonly p50: number;
  readonly p99: number;
  /** Microseconds of the process for each check. */
  readonly cpu: number;
}

export interface CheckFigures {
  readonly socket: CheckTimes;
  readonly loopback: CheckTimes;
  /** With 32 connections. */
  readonly loaded: { readonly perSecond: number; readonly cpu: number };
}

interface ChecksOrder {
  readonly generator: Generator;
  readonly checks: number;
  readonly seconds: number;
}

export async function measureCheckProcess(
  servers: Servers,
  issuer: Issuer,
  { generator, checks, seconds }: ChecksOrder,
): Promise<CheckFigures> {
  const tokens = await newTokens(issuer, 100);
  const follow = (listen: string) =>
    servers.start(
      [
        ...[GRANTD, 'follow', '--issuer', issuer.issuer, '--client-id', API.clientId],
        ...['--audience', AUDIENCE, '--listen', listen],
      ],
      { GRANTD_CLIENT_SECRET: API.clientSecret },
    );
  const path = join(servers.folder, 'socket');
  const port = await freePort();
  const atSocket = await follow(`unix:${path}`);
  const atPort = await follow(`127.0.0.1:${port}`);
  const address = `http://127.0.0.1:${port}`;
  while ((await fetch(`${address}/health/ready`)).status !== 200) await pause(50);
  const socket = await checkAgain({ path }, atSocket, tokens, checks);
  const loopback = await checkAgain({ host: '127.0.0.1', port }, atPort, tokens, checks);

  const requests = join(servers.folder, 'checks');
  const authorizations = tokens.map((token) => `Bearer ${token}`);
  await writeRequestFile(
    requests,
    authorizations.map((authorization) => ({ method: 'GET', path: PATH, authorization })),
  );
  const answers = [{ name: 'passed', status: 204, contains: '' }];
  const order = { address, requests, from: 0, answers, connections: 32 };
  await generator.run({ ...order, seconds: 2 });
  const before = exactCpuSeconds(atPort) ?? Number.NaN;
  const { right, seconds: took } = await generator.run({ ...order, seconds });
  const passed = right.passed ?? 0;
  const cpu = (((exactCpuSeconds(atPort) ?? Number.NaN) - before) / passed) * 1e6;
  return { socket, loopback, loaded: { perSecond: passed / took, cpu } };
}

/** @param pid of the process that answers */
async function checkAgain(
  place: NetConnectOpts,
  pid: number,
  tokens: readonly string[],
  checks: number,
): Promise<CheckTimes> {
  const connection = connect(place).setNoDelay();
  await once(connection, 'connect');
  const requests = tokens.map(
    (token) => `GET ${PATH} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  const times = new Float64Array(checks);
  const run = async () => {
    for (let at = 0; at < checks; at++) {
      const { promise, resolve } = Promise.withResolvers<Buffer>();
      connection.once('data', resolve);
      const sentAt = performance.now();
      connection.write(requests[at % requests.length] ?? '');
      const answer = await promise;
      times[at] = (performance.now() - sentAt) * 1000;
      if (!answer.subarray(0, 12).equals(PASSED)) throw new Error(`the check was answered: ${answer}`);
    }
  };
  await run(); // to warm up
  const before = exactCpuSeconds(pid) ?? Number.NaN;
  await run();
  const cpu = (((exactCpuSeconds(pid) ?? Number.NaN) - before) / checks) * 1e6;
  connection.destroy();
  times.sort();
  const at = (part: number) => times[Math.floor((checks - 1) * part)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), cpu };
}

const PASSED = Buffer.from('HTTP/1.1 204');
