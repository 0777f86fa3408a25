import { argon2Sync, createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readConfiguration } from '../../server/src/config/configuration.ts';
import { sqliteDatabase } from '../../server/src/data/sqlite_database.ts';
import { openInstance } from '../../server/src/instance/instance.ts';
import {
  Browser,
  type Credentials,
  isConsent,
  isLogin,
  type Page,
} from '../../server/test/harness/browser.ts';
import { BENCH_CLIENTS, CALLBACK, CODE_VERIFIER, ISSUER } from '../population/clients.ts';
import { watch } from '../processes/cpu_watch.ts';
import { startMeasured } from '../processes/measured_process.ts';
import { exactCpuSeconds } from '../processes/process_usage.ts';
import { type Spread, spread } from '../statistics.ts';
import { grantd } from '../subjects/contestants.ts';
import { ACTIVE } from './answers.ts';
import { introspecting } from './requests.ts';
import { type Stage, tokensOf } from './stage.ts';

const name = 'sign-in';

const FLOWS = 100;
const BATCHES = 5;
const WARM_UP_FLOWS = 600;

const PASSWORD = 'correct horse battery staple';
/** The least that argon2id accepts, in KiB, passes and lanes. */
const LEAST_COST = { memory: 8, passes: 1, parallelism: 1 } as const;
/** CPU milliseconds of the thread pool per sign-in. With the program's own hashes, it would be a hundred times as much. */
const MAX_POOL_MS = 2;

export interface SignInResult {
  /** CPU milliseconds of the program per sign-in, in each batch, without the thread pool, which hashes passwords. */
  readonly cpuMs: Spread;
  /** Sign-ins that were measured. */
  readonly flows: number;
}

interface MeasuredSignIn {
  /** `undefined` if the system does not report CPU times. */
  readonly signIn: SignInResult | undefined;
  readonly othersCpu: number | undefined;
}

/** How many sign-ins, for tests. */
interface Counts {
  readonly warmUp: number;
  readonly batches: number;
  readonly flows: number;
}

/**
 * Users whom the server has not seen before sign in one after another, each with a new browser: authorization request,
 * sign-in page, consent page, code.
 */
export async function measureSignIn(
  stage: Stage,
  { warmUp, batches, flows }: Counts = { warmUp: WARM_UP_FLOWS, batches: BATCHES, flows: FLOWS },
): Promise<MeasuredSignIn> {
  const population = await stage.population();
  const [token = ''] = tokensOf(population, 'jwt_rs256');
  const workload = { ...(await stage.requests(name, introspecting([token]))), answers: [ACTIVE] };
  const {
    process: order,
    database = '',
    beforeStart,
  } = grantd(stage, population, workload, { name, changes: true });
  beforeStart?.();
  const names = Array.from({ length: warmUp + batches * flows }, (_, index) => `${name}-${index}`);
  await addPeople(database, names, leastHash(PASSWORD));

  const running = await startMeasured({ ...order, command: (port) => withCheapHashes(order.command(port)) });
  try {
    const { address, pid } = running;
    const signInAll = async (some: readonly string[]) => {
      for (const username of some) await signInOnce(address, { username, password: PASSWORD });
    };
    await signInAll(names.slice(0, warmUp));
    const cpuMs: number[] = [];
    const whole = watch({ server: pid });
    for (let from = warmUp; from < names.length; from += flows) {
      const measured = watchThreads(pid);
      await signInAll(names.slice(from, from + flows));
      const { poolMs, otherMs } = measured();
      if (poolMs / flows > MAX_POOL_MS)
        throw new Error(`${name}: the program hashes passwords at another cost`);
      if (!Number.isNaN(otherMs)) cpuMs.push(otherMs / flows);
    }
    const { othersCpu } = whole();
    const signIn = cpuMs.length < batches ? undefined : { cpuMs: spread(cpuMs), flows: batches * flows };
    return { signIn, othersCpu };
  } finally {
    await running.end();
  }
}

/**
 * From the authorization request to the code, through the pages.
 * @throws Error if a page is missing, or the application gets no code
 */
export async function signInOnce(address: string, who: Credentials): Promise<string> {
  const browser = new Browser(address);
  const login = await browser.get(`${address}/authorize?${AUTHORIZATION_REQUEST}`);
  if (!isLogin(login)) throw unexpected('the sign-in page', login);
  const consent = await browser.submit(login, { ...who });
  if (!isConsent(consent)) throw unexpected('the consent page', consent);
  const left = await browser.submit(consent, { decision: 'allow' });
  const code = left.url.startsWith(`${CALLBACK}?`) ? new URL(left.url).searchParams.get('code') : null;
  if (code === null) throw unexpected('a code', left);
  return code;
}

const AUTHORIZATION_REQUEST = new URLSearchParams({
  client_id: BENCH_CLIENTS.web.id,
  response_type: 'code',
  redirect_uri: CALLBACK,
  scope: 'openid profile email',
  state: 'state-of-the-application',
  code_challenge: createHash('sha256').update(CODE_VERIFIER).digest('base64url'),
  code_challenge_method: 'S256',
});

function unexpected(what: string, { status, url }: Page): Error {
  return new Error(`${name}: expected ${what}, got ${status} from ${new URL(url).pathname}`);
}

/** Starts measuring. @returns a function that ends it. It returns CPU milliseconds, `NaN` if the system reports none */
function watchThreads(pid: number): () => { poolMs: number; otherMs: number } {
  const now = () => {
    const [all = Number.NaN, other = Number.NaN] = [true, false].map((pool) =>
      exactCpuSeconds(pid, { pool }),
    );
    return { pool: all - other, other };
  };
  const before = now();
  return () => {
    const after = now();
    return { poolMs: (after.pool - before.pool) * 1000, otherMs: (after.other - before.other) * 1000 };
  };
}

function withCheapHashes([node = '', ...args]: readonly string[]): readonly string[] {
  const preloaded = pathToFileURL(join(import.meta.dirname, '..', 'subjects', 'cheap_hashes.ts'));
  for (const [name, value] of Object.entries(LEAST_COST)) preloaded.searchParams.set(name, String(value));
  return [node, '--import', preloaded.href, ...args];
}

/** As the program stores it. */
function leastHash(password: string): string {
  const nonce = randomBytes(16);
  const tag = argon2Sync('argon2id', { message: password, nonce, tagLength: 32, ...LEAST_COST });
  const { memory, passes, parallelism } = LEAST_COST;
  const text = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${text(nonce)}$${text(tag)}`;
}

async function addPeople(path: string, names: readonly string[], passwordHash: string): Promise<void> {
  const database = sqliteDatabase(path);
  try {
    const { people } = await openInstance(readConfiguration({}, {}), database, ISSUER, 'cli');
    const add = (name: string) => people.add({ name, passwordHash, claims: { name } });
    const added = await Promise.all(names.map(add));
    if (added.includes(undefined)) throw new Error('the name of a person is taken in a new database');
  } finally {
    await database.close();
  }
}
