// Sends the requests of a file with autocannon in a separate process, and prints the measurements.
//
//     node autocannon_process.ts ORDER
import autocannon from 'autocannon';
import { isAnswer, type LoadOrder, type LoadResult, withoutTokens } from './generator.ts';
import { readRequestFile } from './request_file.ts';

const order = JSON.parse(process.argv[2] ?? '') as LoadOrder;
const requests = readRequestFile(order.requests);
const right: Record<string, number> = Object.fromEntries(order.answers.map(({ name }) => [name, 0]));
let sent = 0;
let answered = 0;
let wrong = 0;
let firstWrong = '';

function count(status: number, body: string): void {
  answered += 1;
  const answer = order.answers.find((each) => isAnswer(each, status, body));
  if (answer !== undefined) {
    right[answer.name] = (right[answer.name] ?? 0) + 1;
  } else {
    wrong += 1;
    if (firstWrong === '') firstWrong = withoutTokens(`${status} ${body.slice(0, 400)}`);
  }
  if (answered === order.count) instance.stop();
}

const startedAtMs = performance.now();
const cpuBefore = process.cpuUsage();
const instance = autocannon(
  {
    url: order.address,
    connections: order.connections,
    duration: order.seconds,
    requests: [
      {
        setupRequest: (request) => {
          const next = requests[(order.from + sent) % requests.length];
          sent += 1;
          return { ...request, ...next };
        },
        onResponse: count,
      },
    ],
  },
  (error, measured) => {
    if (error !== null) throw error;
    const seconds = (performance.now() - startedAtMs) / 1000;
    const { user, system } = process.cpuUsage(cpuBefore);
    const { p50, p90, p99, max } = measured.latency;
    const result: LoadResult = {
      generator: 'autocannon',
      sent,
      right,
      wrong,
      ...(firstWrong !== '' && { firstWrong }),
      errors: measured.errors + measured.timeouts,
      seconds,
      latencyMs: { p50, p90, p99, max },
      generatorCpu: (user + system) / 1e6 / seconds,
    };
    console.log(JSON.stringify(result));
  },
);
