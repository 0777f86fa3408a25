// Measures followers of endings (docs/follow.md): how soon they refuse a revoked token, what a check of `grantd follow`
// takes, and what many followers cost the server. `npm run bench:follow`. Everything is on this machine. What a request
// costs an API is a part of `npm run bench`.
import { parseArgs } from 'node:util';
import { measureCheckProcess } from './follow/checks.ts';
import { measureMany } from './follow/many.ts';
import { timesOfRefusal } from './follow/refusals.ts';
import { Servers } from './follow/servers.ts';
import { generatorOf } from './load/generators.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: ['refusals', 'checks', 'many'] },
    seconds: { type: 'string', default: '5' },
    followers: { type: 'string', default: '1,10,100' },
    revocations: { type: 'string', default: '300' },
    delay: { type: 'string', default: '80' },
    checks: { type: 'string', default: '20000' },
    many: { type: 'string', default: '1000' },
  },
});
const number = (name: Exclude<keyof typeof values, 'only'>) => Number(values[name]);
const seconds = number('seconds');

const PARTS: Readonly<Record<string, (servers: Servers) => Promise<void>>> = {
  async refusals(servers) {
    const issuer = await servers.grantd();
    const revocations = number('revocations');
    const rows: string[][] = [];
    const counts = values.followers.split(',').map((followers) => [Number(followers), 0] as const);
    for (const [followers, delayMs] of [...counts, [10, number('delay')] as const]) {
      const { accepted, refused } = await timesOfRefusal(issuer, { followers, revocations, delayMs });
      const name = delayMs === 0 ? String(followers) : `${followers}, ${delayMs} ms away and back`;
      const figures = [accepted, refused].flatMap((times) =>
        [0.5, 0.99, 1].map((part) => ms(times[Math.floor((times.length - 1) * part)])),
      );
      rows.push([name, ...figures]);
    }
    print(
      'From the answer to a revocation to the last check that accepted the token, and to the first refusal',
      ['followers', 'accepted: p50', 'p99', 'worst', 'refused: p50', 'p99', 'worst'],
      rows,
    );
  },

  async checks(servers) {
    const issuer = await servers.grantd();
    const order = { generator: generatorOf(undefined), checks: number('checks'), seconds };
    const { socket, loopback, loaded } = await measureCheckProcess(servers, issuer, order);
    print(
      'A check of `grantd follow`, one after another over one connection',
      ['at', 'p50', 'p99', 'CPU of the process'],
      [
        ['a UNIX socket', us(socket.p50), us(socket.p99), us(socket.cpu)],
        ['loopback', us(loopback.p50), us(loopback.p99), us(loopback.cpu)],
        [`loopback, 32 connections: ${whole(loaded.perSecond)} a second`, '', '', us(loaded.cpu)],
      ],
    );
  },

  async many(servers) {
    const issuer = await servers.grantd();
    const count = number('many');
    const { alone, beside, quiet, bare, inContact } = await measureMany(servers, issuer, { count, seconds });
    print(
      `Shares of a core with ${whole(count)} followers and 100 revocations a second`,
      ['cost of', 'share'],
      [
        ['revocations without followers', percent(alone)],
        [`**followers beside revocations** (${whole(inContact)} in contact)`, percent(beside)],
        ['followers without revocations', percent(quiet)],
        ['as many nonces and messages at a bare server, for comparison', percent(bare)],
      ],
    );
  },
};

for (const part of values.only) {
  const measure = PARTS[part];
  if (measure === undefined) throw new Error(`--only: expected some of ${Object.keys(PARTS).join(', ')}`);
  const servers = new Servers();
  try {
    await measure(servers);
  } finally {
    await servers.close();
  }
}

function print(title: string, head: readonly string[], rows: readonly (readonly string[])[]): void {
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  console.log(`\n${title}\n\n${lines.join('\n')}`);
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}

function ms(value: number | undefined): string {
  return `${(value ?? Number.NaN).toFixed(1)} ms`;
}

function us(value: number): string {
  return `${value.toFixed(0)} µs`;
}

function percent(value: number): string {
  return `${value.toFixed(1)} %`;
}
