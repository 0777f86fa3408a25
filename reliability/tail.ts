// Measures the latency that clients see at a fixed arrival rate, next to writes. A server on an SQLite file answers
// introspections of live tokens; some of the arrivals are revocations. Requests are sent when they are due, independent
// of earlier ones, so all waiting counts.
//
//     npm run measure:tail -- --rate 1000 --writes 5 --seconds 20
import { flagsOf, wholeNumber } from './arguments.ts';
import { openLibrary, registerClients } from './deployments/library.ts';
import { startOnSqlite } from './deployments/sqlite.ts';
import { oneOf } from './load/choice.ts';
import { Connection } from './load/connection.ts';
import { type Latency, latencyIn } from './load/latency.ts';
import { openLoop } from './load/open_loop.ts';
import { introspect, revoke } from './load/protocol.ts';
import { CLIENTS } from './load/registrations.ts';
import { runScript } from './script.ts';

const LIVE_TOKENS = 1000;
const SOCKETS = 128;
const WARM_UP_SECONDS = 3;

const values = flagsOf(
  `npm run measure:tail -- [FLAGS]

  --rate N      requests a second (1000)
  --writes N    percent of them that revoke a token (5)
  --seconds N   of the measurement, after ${WARM_UP_SECONDS} s of warming up (20)`,
  {
    rate: { type: 'string', default: '1000' },
    writes: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '20' },
  },
);

await runScript(async (workbench) => {
  const rate = wholeNumber('rate', values.rate);
  const percent = wholeNumber('writes', values.writes, 0);
  const seconds = wholeNumber('seconds', values.seconds);
  const cluster = await startOnSqlite(workbench, workbench.folder(), { processes: 1, flags: [] });
  const library = await openLibrary(cluster);
  await registerClients(library);
  const toRevoke = Math.ceil((rate * (seconds + WARM_UP_SECONDS) * percent) / 100) + rate;
  const issued = await library.opaque.operator.issueTokens(
    { clientId: CLIENTS.opaque.id },
    LIVE_TOKENS + (percent === 0 ? 0 : toRevoke),
  );
  await library.close();
  const tokens = issued.map(({ accessToken }) => accessToken);
  const live = tokens.slice(0, LIVE_TOKENS);
  const dying = tokens.slice(LIVE_TOKENS);

  const [server] = cluster.servers;
  if (server === undefined) throw new Error('no server was started');
  const connection = new Connection(server.address, { sockets: SOCKETS });
  const revocations: { readonly dueMs: number; readonly latencyMs: number }[] = [];
  let sent = 0;
  const send = async () => {
    sent += 1;
    const next = sent % 100 < percent ? dying.pop() : undefined;
    if (next === undefined) {
      const seen = await introspect(connection, oneOf(live));
      if (seen !== 'active') throw new Error(`a live token was ${seen}`);
      return;
    }
    const dueMs = performance.now();
    const done = await revoke(connection, next, CLIENTS.opaque.id);
    if (done !== 'done') throw new Error('a revocation was not answered');
    revocations.push({ dueMs, latencyMs: performance.now() - dueMs });
  };
  const stopping = new AbortController();
  const fromMs = performance.now() + WARM_UP_SECONDS * 1000;
  const untilMs = fromMs + seconds * 1000;
  setTimeout(() => stopping.abort(), untilMs - performance.now());
  const arrivals = await openLoop({ rate, signal: stopping.signal, send }).finally(() => connection.close());
  console.log(
    `${rate} requests a second, ${percent} % of them revocations; milliseconds from arrival to answer`,
  );
  print('all', latencyIn([{ fromMs, untilMs }], arrivals));
  if (percent > 0) print('revocations', latencyIn([{ fromMs, untilMs }], revocations));
  return true;
});

function print(name: string, { requests, p50, p99, p999, max }: Latency): void {
  const columns = [p50, p99, p999, max].map((item) => item.toFixed(1).padStart(8)).join('');
  console.log(`${name.padEnd(12)}${String(requests).padStart(8)} requests   p50 p99 p99.9 max:${columns}`);
}
