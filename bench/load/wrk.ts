import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { GENERATOR_CORE, pinned } from '../processes/pinning.ts';
import { type Generator, type LoadOrder, type LoadResult, withoutTokens } from './generator.ts';

const SCRIPT = join(import.meta.dirname, 'wrk.lua');

/** wrk as system packages install it; `undefined` if there is none. */
export function wrk(): Generator | undefined {
  const { stdout } = spawnSync('wrk', ['-v'], { encoding: 'utf8' });
  // It prints its version with exit code 1.
  const version = /^wrk \S+/.exec(stdout ?? '')?.[0];
  return version === undefined ? undefined : { name: version, run: (order) => runWrk(version, order) };
}

async function runWrk(version: string, order: LoadOrder): Promise<LoadResult> {
  const { address, requests, from, answers, connections, seconds, count = 0 } = order;
  const expected = answers.flatMap(({ name, status, contains }) => [name, String(status), contains]);
  const [command = '', ...args] = pinned(GENERATOR_CORE, [
    'wrk',
    '--threads=1',
    `--connections=${connections}`,
    `--duration=${seconds}s`,
    '--timeout=10s',
    `--script=${SCRIPT}`,
    address,
    '--',
    ...[requests, String(from), String(count)],
    ...expected,
  ]);
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.on('data', (said: Buffer) => {
    if (said.includes('= enough')) child.kill('SIGINT');
  });
  const [output, complaints, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  if (status !== 0) throw new Error(`wrk failed: ${complaints}${output}`);
  return wrkResult(version, order, output);
}

/** @throws Error if the script's output is incomplete */
export function wrkResult(version: string, { answers }: LoadOrder, output: string): LoadResult {
  const said = new Map(
    [...output.matchAll(/^= (\S+) (.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
  const number = (name: string) => {
    const value = Number(said.get(name) ?? Number.NaN);
    if (Number.isNaN(value)) throw new Error(`wrk's script did not say ${name}: ${output}`);
    return value;
  };
  const seconds = number('microseconds') / 1e6;
  const firstWrong = said.get('first_wrong') ?? '';
  return {
    generator: version,
    sent: number('sent'),
    right: Object.fromEntries(answers.map(({ name }, index) => [name, number(`right_${index + 1}`)])),
    wrong: number('wrong'),
    ...(firstWrong !== '' && { firstWrong: withoutTokens(firstWrong) }),
    errors: number('errors'),
    seconds,
    latencyMs: {
      p50: number('p50') / 1000,
      p90: number('p90') / 1000,
      p99: number('p99') / 1000,
      max: number('max') / 1000,
    },
    generatorCpu: said.has('ticks') ? number('ticks') / 100 / seconds : undefined,
  };
}
