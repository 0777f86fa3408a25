// Measures whether the time of an answer tells strangers which users there are: at the sign-in page with a wrong password,
// and at the requests for a code by email and for a new password.
//
//     npm run measure:sign-in-timing -- --rounds 30
//
// Each round asks once for each kind of name, in another order. It prints the median of each kind, and its difference to
// the median of an unknown name.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { hashSync } from 'bcryptjs';
import { PasswordHasher } from '../server/src/people/password_hasher.ts';
import { Browser, hiddenFields } from '../server/test/harness/browser.ts';
import { grantdPrints } from '../server/test/harness/program.ts';
import { flagsOf, wholeNumber } from './arguments.ts';
import { runScript, showProgress } from './script.ts';

const values = flagsOf(
  `npm run measure:sign-in-timing -- [FLAGS]

  --rounds N         in which each kind of name is asked for once (30)`,
  { rounds: { type: 'string', default: '30' } },
);
const rounds = wholeNumber('rounds', values.rounds);

/** What strangers type. */
const NAMES: Readonly<Record<string, string>> = {
  'unknown name': 'nobody',
  'unknown address': 'nobody@example.com',
  username: 'ada',
  'verified address': 'ada@example.com',
  'without password': 'linked',
  disabled: 'gone',
  'imported hash, cheap': 'cheap',
  'imported hash, as usual': 'usual',
  'imported hash, PBKDF2': 'django',
  administrator: 'chief',
};

/** Of another password than the one that is tried. */
const DJANGO = `pbkdf2_sha256$260000$salt$${Buffer.alloc(32, 7).toString('base64')}`;

const SITES = { password: '/account', code: '/account', reset: '/forgot' } as const;

function median(times: readonly number[]): number {
  return times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)] ?? 0;
}

await runScript(async (workbench) => {
  const folder = workbench.folder();
  const own = await new PasswordHasher().hash('correct horse battery');
  const people = [
    { username: 'ada', password_hash: own, claims: address('ada') },
    { username: 'gone', password_hash: own, claims: address('gone') },
    { username: 'chief', password_hash: own, claims: address('chief') },
    { username: 'linked', claims: address('linked') },
    { username: 'cheap', password_hash: hashSync('correct horse', 4), claims: address('cheap') },
    { username: 'django', password_hash: DJANGO, claims: address('django') },
    { username: 'usual', password_hash: hashSync('correct horse', 10), claims: address('usual') },
  ];
  writeFileSync(join(folder, 'people.jsonl'), people.map((one) => `${JSON.stringify(one)}\n`).join(''));
  const first = await workbench.start(folder, []);
  const { port } = new URL(first.url);
  await grantdPrints(folder, ['user', 'import', 'people.jsonl']);
  await grantdPrints(folder, ['group', 'add', 'admins']);
  await grantdPrints(folder, ['group', 'add-member', 'admins', 'chief']);
  await grantdPrints(folder, ['user', 'disable', 'gone']);
  await first.stop();
  const server = await workbench.start(folder, [
    ...['--port', port, '--trusted-proxies', '127.0.0.1,::1', '--address-request-limit', '0'],
    ...['--smtp-url', 'smtp://127.0.0.1:9', '--mail-from', 'login@id.example', '--email-code', 'also'],
    ...['--console', '--admin-group', 'admins'],
  ]);

  let places = 0;
  const time = async (site: keyof typeof SITES, name: string): Promise<number> => {
    places += 1;
    const address = `2001:db8:${(places >> 16).toString(16)}:${(places & 0xffff).toString(16)}::1`;
    const browser = new Browser(server.url, { 'x-forwarded-for': address });
    const page = await browser.get(`${server.url}${SITES[site]}`);
    const [, codes = ''] = /id="code-send"[^>]* formaction="([^"]*)"/.exec(page.html) ?? [];
    const action = site === 'code' ? new URL(codes.replaceAll('&amp;', '&'), page.url).href : page.url;
    const fields = { ...hiddenFields(page), username: name, password: 'a wrong password' };
    const { password: _, ...withoutPassword } = fields;
    const beganMs = performance.now();
    const { status } = await browser.post(action, site === 'password' ? fields : withoutPassword);
    const tookMs = performance.now() - beganMs;
    if (status >= 500) throw new Error(`${site}: ${name}: status ${status}`);
    return tookMs;
  };

  let worst = 0;
  for (const site of Object.keys(SITES) as (keyof typeof SITES)[]) {
    const times = new Map<string, number[]>(Object.keys(NAMES).map((kind) => [kind, []]));
    for (let round = -2; round < rounds; round++) {
      showProgress(`${site}: round ${Math.max(round, 0)} of ${rounds}`);
      const kinds = Object.entries(NAMES);
      const order = [...kinds.slice(Math.abs(round) % kinds.length), ...kinds].slice(0, kinds.length);
      for (const [kind, name] of order) {
        const tookMs = await time(site, name);
        if (round >= 0) times.get(kind)?.push(tookMs);
      }
    }
    showProgress('');
    const base = median(times.get('unknown name') ?? []);
    for (const [kind, found] of times) {
      const difference = median(found) - base;
      worst = Math.max(worst, Math.abs(difference) / base);
      console.log(
        `${site.padEnd(9)}${kind.padEnd(25)}${median(found).toFixed(1).padStart(7)} ms  ${difference >= 0 ? '+' : ''}${difference.toFixed(1)} ms`,
      );
    }
  }
  console.log(`the largest difference is ${(worst * 100).toFixed(0)} % of the time of an unknown name`);
  return true;
});

function address(name: string): object {
  return { email: `${name}@example.com`, email_verified: true };
}
