// `npm run bench:profile`: shows the time of a request by step, using V8's own profiler in the program under load.
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generatorOf } from './load/generators.ts';
import { BadUsage, benchOptions } from './options.ts';
import { nowMicroseconds, readCpuProfile, timeByPart } from './profile/cpu_profile.ts';
import { partOfRequest } from './profile/parts_of_a_request.ts';
import { say, sayingRarely } from './report/progress.ts';
import { table } from './report/tables.ts';
import { Running } from './running.ts';
import { Stage } from './works/stage.ts';
import { WORKS } from './works/works.ts';

const HELP = `npm run bench:profile [-- FLAGS]

  --work NAME     the work to profile. Default: introspection-jwt
  --seconds S, --records N, --tokens N, --generator NAME, --list: as for npm run bench`;

/** Interval between two samples. */
const INTERVAL_MICROSECONDS = 200;

const options = optionsOf(process.argv.slice(2));
if (typeof options === 'string') console.log(options);
else await profile(options);

function optionsOf(args: readonly string[]) {
  const known = WORKS.map(({ name }) => name);
  try {
    const options = benchOptions(
      args.includes('--work') ? args : ['--work', 'introspection-jwt', ...args],
      known,
    );
    if (options === 'help') return HELP;
    return options === 'list' ? known.join('\n') : options;
  } catch (error) {
    if (!(error instanceof BadUsage)) throw error;
    console.error(`${error.message}\n\n${HELP}`);
    process.exit(2);
  }
}

async function profile({ works, sizes, seconds, warmUpSeconds, generator }: Exclude<typeof options, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-profile-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));
  const work = WORKS.find(({ name }) => name === works[0]);
  const [contestant] =
    (await work?.contestants(new Stage({ folder, sizes, say: sayingRarely(), hasPeers: false }))) ?? [];
  if (work === undefined || contestant === undefined) throw new Error('there is nothing to profile');
  const { command } = contestant.process;
  const flags = ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-interval=${INTERVAL_MICROSECONDS}`];
  const profiled = {
    ...contestant,
    process: {
      ...contestant.process,
      command: (port: number) => {
        const [node = '', ...rest] = command(port);
        return [node, ...flags, ...rest];
      },
    },
  };
  say(`${work.name}: warming up`);
  const running = await Running.start(work, profiled, generatorOf(generator));
  const during = { from: 0, until: 0 };
  let perSecond = 0;
  try {
    await running.warmUp(2 * warmUpSeconds);
    during.from = nowMicroseconds();
    ({ perSecond } = await running.measure(0, { rounds: 1, seconds }));
    during.until = nowMicroseconds();
  } finally {
    await running.end();
  }
  const answers = perSecond * seconds;
  const times = [...timeByPart(readCpuProfile(mainThreadOf(folder)), during, partOfRequest)];
  const all = times.reduce((sum, [, time]) => sum + time, 0);
  console.log(`${work.title}: ${Math.round(perSecond)} answers a second, with the profiler at work\n`);
  const rows = times
    .sort(([, a], [, b]) => b - a)
    .map(([part, time]) => [part, `${((100 * time) / all).toFixed(1)} %`, (time / answers).toFixed(2)]);
  console.log(
    table(
      ['part', 'of the main thread', 'µs an answer'],
      [...rows, ['all', '100 %', (all / answers).toFixed(2)]],
    ),
  );
}

/** Each thread writes a profile. The one of the main thread is by far the longest. */
function mainThreadOf(folder: string): string {
  const files = readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'));
  const [longest] = files
    .map((name) => join(folder, name))
    .sort((a, b) => statSync(b).size - statSync(a).size);
  if (longest === undefined) throw new Error('the program wrote no profile');
  return longest;
}
