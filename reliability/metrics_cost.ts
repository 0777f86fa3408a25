// Measures what metrics and traces cost: the CPU time of an introspection by a server with them, compared with one
// without. Both servers use one SQLite file and take turns, so that other work of the machine affects both alike.
//
//     npm run measure:metrics -- --rounds 30 --log json
import { exactCpuSeconds } from '../bench/processes/process_usage.ts';
import { flagsOf, wholeNumber } from './arguments.ts';
import { openLibrary, registerClients } from './deployments/library.ts';
import { startOnSqlite } from './deployments/sqlite.ts';
import { oneOf } from './load/choice.ts';
import { Connection } from './load/connection.ts';
import { introspect } from './load/protocol.ts';
import { CLIENTS } from './load/registrations.ts';
import { runScript, showProgress } from './script.ts';

const LIVE_TOKENS = 1000;
const SOCKETS = 16;
const WARM_UP_REQUESTS = 8_000;

const values = flagsOf(
  `npm run measure:metrics -- [FLAGS]

  --rounds N      turns of each server (20)
  --requests N    introspections in each turn (2000)
  --log FORMAT    of both servers: json or off (json)
  --with=FLAGS    of the server that is compared (--metrics-port 0)`,
  {
    rounds: { type: 'string', default: '20' },
    requests: { type: 'string', default: '2000' },
    log: { type: 'string', default: 'json' },
    with: { type: 'string', default: '--metrics-port 0' },
  },
);

await runScript(async (workbench) => {
  const rounds = wholeNumber('rounds', values.rounds);
  const requests = wholeNumber('requests', values.requests);
  const folder = workbench.folder();
  const start = (flags: readonly string[]) =>
    startOnSqlite(workbench, folder, { processes: 1, flags: ['--log', values.log, ...flags] });
  const cluster = await start([]);
  const library = await openLibrary(cluster);
  await registerClients(library);
  const issued = await library.opaque.operator.issueTokens({ clientId: CLIENTS.opaque.id }, LIVE_TOKENS);
  await library.close();
  const tokens = issued.map(({ accessToken }) => accessToken);
  const compared = await start(values.with.split(' '));

  const sides = [cluster, compared].map(({ servers: [server] }) => {
    if (server === undefined) throw new Error('no server was started');
    return { pid: server.running().pid, connection: new Connection(server.address, { sockets: SOCKETS }) };
  });
  const send = async (connection: Connection, count: number): Promise<void> => {
    let left = count;
    const stream = async () => {
      while (left-- > 0) {
        const seen = await introspect(connection, oneOf(tokens));
        if (seen !== 'active') throw new Error(`a live token was ${seen}`);
      }
    };
    await Promise.all(Array.from({ length: SOCKETS }, stream));
  };
  for (const { connection } of sides) await send(connection, WARM_UP_REQUESTS);

  const spent = sides.map((): number[] => []);
  for (let round = 0; round < rounds; round += 1) {
    showProgress(`round ${round + 1} of ${rounds}`);
    const order = round % 2 === 0 ? [0, 1] : [1, 0];
    for (const index of order) {
      const side = sides[index];
      if (side === undefined) continue;
      const before = exactCpuSeconds(side.pid) ?? Number.NaN;
      await send(side.connection, requests);
      spent[index]?.push(((exactCpuSeconds(side.pid) ?? Number.NaN) - before) / requests);
    }
  }
  showProgress('');
  for (const { connection } of sides) connection.close();
  const [without = [], withThem = []] = spent;
  const ratios = withThem.map((seconds, round) => seconds / (without[round] ?? Number.NaN));
  const inMicroseconds = (seconds: readonly number[]) => (1e6 * mean(seconds)).toFixed(1);
  console.log(
    `CPU µs per introspection: ${inMicroseconds(without)} without, ${inMicroseconds(withThem)} with`,
  );
  console.log(
    `with ${values.with}: ${percent(mean(withThem) / mean(without))} in total, ` +
      `${percent(median(ratios))} in the median of ${rounds} rounds`,
  );
  return true;
});

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

function percent(ratio: number): string {
  const change = (ratio - 1) * 100;
  return `${change < 0 ? '' : '+'}${change.toFixed(1)} %`;
}
