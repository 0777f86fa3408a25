import assert from 'node:assert/strict';
import { Agent, createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../core/test/harness/free_port.ts';
import { type RunningServer, until, Workbench } from './harness/program.ts';
import { basic } from './harness/protocol.ts';

const workbench = new Workbench();
const balancers: Balancer[] = [];
after(async () => {
  for (const balancer of balancers) balancer.close();
  await workbench.clear();
});

const LOOK_EVERY_MS = 100;

interface Backend {
  readonly port: number;
  readonly agent: Agent;
  isReady: boolean;
}

/**
 * Sends each request to a server that is ready, the next one in turn. It keeps connections open, honours
 * `Connection: close`, and never sends a request twice.
 */
class Balancer {
  readonly failures: string[] = [];
  readonly #backends: readonly Backend[];
  readonly #http: Server;
  readonly #timer: NodeJS.Timeout;
  #turn = 0;

  constructor(ports: readonly number[]) {
    this.#backends = ports.map((port) => ({ port, agent: new Agent({ keepAlive: true }), isReady: false }));
    this.#timer = setInterval(() => this.#backends.forEach(look), LOOK_EVERY_MS);
    this.#http = createServer((incoming, outgoing) => {
      const fail = (what: string) => {
        this.failures.push(what);
        outgoing.writeHead(502).end();
      };
      const ready = this.#backends.filter(({ isReady }) => isReady);
      this.#turn += 1;
      const backend = ready[this.#turn % ready.length];
      if (backend === undefined) return fail('no server is ready');
      const { port, agent } = backend;
      const { method, url, headers } = incoming;
      const forwarded = request({ host: '127.0.0.1', port, agent, method, path: url, headers });
      forwarded.on('error', (error) => fail(`${method} ${url}: ${error.message}`));
      forwarded.on('response', (response) => {
        const { connection: _, 'keep-alive': __, ...passed } = response.headers;
        outgoing.writeHead(response.statusCode ?? 502, passed);
        response.pipe(outgoing);
      });
      incoming.pipe(forwarded);
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#http.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  isReady(port: number): boolean {
    return this.#backends.some((backend) => backend.port === port && backend.isReady);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#http.close();
    this.#http.closeAllConnections();
    for (const { agent } of this.#backends) agent.destroy();
  }
}

function look(backend: Backend): void {
  request({ host: '127.0.0.1', port: backend.port, path: '/health/ready', agent: false, timeout: 2000 })
    .on('response', (response) => {
      backend.isReady = response.statusCode === 200;
      response.resume();
    })
    .on('error', () => {
      backend.isReady = false;
    })
    .end();
}

/** Sends concurrent requests until it is stopped. */
function load(url: string) {
  const counts = { requests: 0, failed: 0 };
  let isStopped = false;
  const agent = new Agent({ keepAlive: true });
  const one = () =>
    new Promise<number>((resolve) => {
      const body = 'token=grantd_at_unknown';
      const asked = request(`${url}/token/introspect`, {
        agent,
        method: 'POST',
        headers: {
          authorization: basic('demo-api', 'demo-api-secret'),
          'content-type': 'application/x-www-form-urlencoded',
          'content-length': body.length,
        },
      });
      asked
        .on('error', () => resolve(0))
        .on('response', (response) => {
          response.on('error', () => resolve(0)).on('end', () => resolve(response.statusCode ?? 0));
          response.resume();
        });
      asked.end(body);
    });
  const caller = async () => {
    while (!isStopped) {
      counts.requests += 1;
      if ((await one()) !== 200) counts.failed += 1;
      // Eight callers at full speed would need one core until the end of the test.
      await pause(20);
    }
  };
  const callers = Array.from({ length: 8 }, caller);
  return {
    counts,
    async stop() {
      isStopped = true;
      await Promise.all(callers);
      agent.destroy();
    },
  };
}

describe('rolling restarts behind a balancer fail no request', () => {
  for (const workers of ['1', '2']) {
    test(`with --workers ${workers}`, { timeout: 180_000 }, async (t) => {
      const folder = workbench.folder();
      const ports = [await freePort(), await freePort()] as const;
      const args = (port: number) => [
        ...['--demo', '--issuer', `http://localhost:${ports[0]}`, '--port', String(port)],
        ...['--workers', workers, '--shutdown-delay', '2'],
      ];
      const start = (port: number) => workbench.start(folder, args(port));
      const servers = new Map<number, RunningServer>();
      for (const port of ports) servers.set(port, await start(port));
      const balancer = new Balancer(ports);
      balancers.push(balancer);
      const url = await balancer.listen();
      const allReady = () =>
        until(() => ports.every((port) => balancer.isReady(port)), 'the balancer finds both ready', 60_000);
      await allReady();
      const { counts, stop } = load(url);
      for (let round = 0; round < 1; round += 1) {
        for (const port of ports) {
          await pause(300);
          const { code } = (await servers.get(port)?.stop()) ?? {};
          assert.equal(code, 0);
          servers.set(port, await start(port));
          await allReady();
        }
      }
      await stop();
      t.diagnostic(`${counts.requests} requests, ${counts.failed} failed`);
      assert.deepEqual(balancer.failures, []);
      assert.equal(counts.failed, 0);
      assert.ok(counts.requests > 100);
    });
  }
});
