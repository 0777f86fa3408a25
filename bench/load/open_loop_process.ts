// Sends requests at a fixed rate, each at its time, independent of the server, and prints the measurements. Latencies
// count from that time, so a request that waits for a connection, or behind a pause of the server, counts in full.
//
//     node open_loop_process.ts ORDER
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { percentile } from '../../reliability/load/percentiles.ts';
import { isAnswer, withoutTokens } from './generator.ts';
import type { OpenLoopOrder, OpenLoopResult, TailLatency } from './open_loop.ts';
import { rawRequestsIn } from './request_file.ts';

/** A response that takes longer is missing. */
const LONGEST_RESPONSE_MS = 10_000;

const order = JSON.parse(process.argv[2] ?? '') as OpenLoopOrder;
const { answers, connections, fromWrite, rate, writeEvery } = order;
const reads = rawRequestsIn(order.reads);
const writes = rawRequestsIn(order.writes);
const firstMeasured = Math.round(rate * order.warmUpSeconds);
let last = firstMeasured + Math.round(rate * order.seconds);

const latenciesMs = new Float64Array(last);
const lagsMs = new Float64Array(last);
let written = 0;
let arrived = 0;
let answered = 0;
let wrong = 0;
let firstWrong = '';
let errors = 0;

/** Used in turns, so that the server sees none idle for long. */
const free: Connection[] = [];
/** Arrivals that found no free connection, the earliest first. */
const waiting: number[] = [];

/** The time at which an arrival is due. */
const dueMs = (arrival: number) => startedAtMs + (arrival * 1000) / rate;

function requestOf(arrival: number): Buffer {
  const request =
    arrival % writeEvery === 0 ? writes[fromWrite + arrival / writeEvery] : reads[arrival % reads.length];
  if (request === undefined) throw new Error(`all ${writes.length} writes were used up`);
  if (arrival % writeEvery === 0) written += 1;
  return request;
}

/** One request at a time. */
class Connection {
  readonly #socket: Socket;
  #arrival: number | undefined;
  #received = '';

  constructor(socket: Socket) {
    this.#socket = socket;
    // A character for each byte, as lengths count bytes.
    socket.setEncoding('latin1').on('data', (bytes: string) => this.#receive(bytes));
    socket.on('error', () => {});
    socket.on('close', () => this.#fail());
  }

  send(arrival: number): void {
    this.#arrival = arrival;
    this.#socket.write(requestOf(arrival));
  }

  close(): void {
    this.#arrival = undefined;
    this.#socket.removeAllListeners('close').destroy();
  }

  #receive(bytes: string): void {
    this.#received += bytes;
    const bodyAt = this.#received.indexOf('\r\n\r\n') + 4;
    if (bodyAt === 3) return;
    const length = /^content-length: *(\d+)\r$/im.exec(this.#received.slice(0, bodyAt))?.[1];
    if (length === undefined) throw new Error(`a response has no length: ${this.#received.slice(0, bodyAt)}`);
    if (this.#received.length < bodyAt + Number(length)) return;
    const status = Number(this.#received.slice(9, 12));
    const body = this.#received.slice(bodyAt);
    this.#received = '';
    const arrival = this.#arrival;
    if (arrival === undefined) throw new Error('a response came without a request');
    latenciesMs[arrival] = performance.now() - dueMs(arrival);
    this.#arrival = undefined;
    answered += 1;
    if (!answers.some((answer) => isAnswer(answer, status, body))) {
      wrong += 1;
      if (firstWrong === '') firstWrong = withoutTokens(`${status} ${body.slice(0, 400)}`);
    }
    const next = waiting.shift();
    if (next === undefined) free.push(this);
    else this.send(next);
  }

  /** Its request may have had an effect, so it is not sent again. */
  #fail(): void {
    const at = free.indexOf(this);
    if (at >= 0) free.splice(at, 1);
    errors += 1;
    if (this.#arrival !== undefined) answered += 1;
  }
}

const { hostname, port } = new URL(order.address);
const open = await Promise.all(
  Array.from({ length: connections }, async () => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    await once(socket, 'connect');
    return new Connection(socket);
  }),
);
free.push(...open);
process.on('SIGTERM', () => {
  last = Math.min(last, arrived);
});

const startedAtMs = performance.now();
while (arrived < last) {
  for (const nowMs = performance.now(); arrived < last && dueMs(arrived) <= nowMs; arrived += 1) {
    lagsMs[arrived] = performance.now() - dueMs(arrived);
    const connection = free.shift();
    if (connection === undefined) waiting.push(arrived);
    else connection.send(arrived);
  }
  // Lets the system's events in, without sleeping.
  await new Promise(setImmediate);
}
const endedAtMs = performance.now();
while (answered < arrived && performance.now() < endedAtMs + LONGEST_RESPONSE_MS)
  await new Promise((resolve) => setTimeout(resolve, 1));
errors += arrived - answered;
for (const connection of open) connection.close();

const arrivals = Math.max(0, last - firstMeasured);
const result: OpenLoopResult = {
  ...{ rate, arrivals, writes: written, wrong },
  ...(firstWrong !== '' && { firstWrong }),
  errors,
  seconds: arrivals / rate,
  latencyMs: tailOf(latenciesMs),
  lagMs: tailOf(lagsMs),
};
console.log(JSON.stringify(result));

/** Of the arrivals of the measurement. */
function tailOf(milliseconds: Float64Array): TailLatency {
  const measured = [...milliseconds.subarray(firstMeasured, last)];
  return {
    p50: percentile(measured, 0.5),
    p99: percentile(measured, 0.99),
    p999: percentile(measured, 0.999),
    max: percentile(measured, 1),
  };
}
