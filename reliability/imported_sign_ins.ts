// Imports users with the password hashes of other servers, signs each of them in once, up to the code, and compares the
// claims at UserInfo for a sample.
//
//     npm run measure:imported-sign-ins -- --users 50000 --sample 500 --minutes 60
//
// The hashes have the lowest cost that is of use: bcrypt 4, scrypt N = 16, PBKDF2 100 iterations, argon2id 8 KiB.
// The server's own hash, which it makes at each first sign-in, costs next to nothing here: at its real cost, the
// sign-ins would take as long as the hashes (cheap_passwords.mjs).
import assert from 'node:assert/strict';
import { argon2Sync, pbkdf2Sync, randomBytes, scryptSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { hashSync } from 'bcryptjs';
import { Browser, type Page } from '../server/test/harness/browser.ts';
import { grantd, grantdPrints, outputOf, type RunningServer } from '../server/test/harness/program.ts';
import { authorizationUrl, newPkce, redeem, userInfo } from '../server/test/harness/protocol.ts';
import { flagsOf, wholeNumber } from './arguments.ts';
import { runScript, showProgress } from './script.ts';

const CLIENT = 'imported-sign-ins';
const CALLBACK = 'https://app.example/callback';

/** Sign-ins at a time: fewer than the server admits from one address. */
const CONCURRENT = 8;

/** Attempts of a request that the server refuses because it is busy (503), a second apart. */
const MAX_ATTEMPTS = 60;

const values = flagsOf(
  `npm run measure:imported-sign-ins -- [FLAGS]

  --users N          who are imported (5000)
  --sample N         of them whose claims are compared (500)
  --minutes N        time after which the sign-ins stop (60)`,
  {
    users: { type: 'string', default: '5000' },
    sample: { type: 'string', default: '500' },
    minutes: { type: 'string', default: '60' },
  },
);
const users = wholeNumber('users', values.users);
const sample = wholeNumber('sample', values.sample);
const longestMs = wholeNumber('minutes', values.minutes) * 60_000;

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}

/** What other servers store, with a salt for each user. */
const KINDS: Readonly<Record<string, (password: string, salt: Buffer) => string>> = {
  argon2id(message, nonce) {
    const cost = { memory: 8, passes: 1, parallelism: 1, tagLength: 32 };
    return `$argon2id$v=19$m=8,t=1,p=1$${base64(nonce)}$${base64(argon2Sync('argon2id', { message, nonce, ...cost }))}`;
  },
  bcrypt: (password) => hashSync(password, 4),
  scrypt: (password, salt) =>
    `$scrypt$ln=4,r=8,p=1$${base64(salt)}$${base64(scryptSync(password, salt, 32, { N: 16, r: 8, p: 1 }))}`,
  PBKDF2: (password, salt) =>
    `$pbkdf2-sha256$i=100$${base64(salt)}$${base64(pbkdf2Sync(password, salt, 100, 32, 'sha256'))}`,
};

interface ImportedUser {
  readonly username: string;
  readonly password: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

function userOf(index: number): ImportedUser {
  const username = `person${index}`;
  return {
    username,
    password: `the password of person ${index}`,
    claims: { name: `Person ${index}`, email: `${username}@example.com`, email_verified: index % 3 === 0 },
  };
}

/** A line of the file for `grantd user import`. */
function lineOf(index: number): string {
  const { username, password, claims } = userOf(index);
  const kinds = Object.values(KINDS);
  const hash = kinds[index % kinds.length]?.(password, randomBytes(16));
  return `${JSON.stringify({ username, password_hash: hash, claims })}\n`;
}

async function whenNotBusy(load: () => Promise<Page>): Promise<Page> {
  for (let attempt = 1; ; attempt++) {
    const page = await load();
    if (page.status !== 503 || attempt === MAX_ATTEMPTS) return page;
    busy += 1;
    await pause(1000);
  }
}

/** Responses with 503. */
let busy = 0;

/** Signs a user in. @throws AssertionError the server does not issue a code, or UserInfo has other claims */
async function signIn({ url }: RunningServer, index: number, comparesClaims: boolean): Promise<void> {
  const { username, password, claims } = userOf(index);
  const pkce = newPkce();
  const parameters = { client_id: CLIENT, redirect_uri: CALLBACK, scope: 'openid profile email' };
  const request = authorizationUrl(url, pkce, parameters);
  const browser = new Browser(url);
  const login = await whenNotBusy(() => browser.get(request));
  const left = await whenNotBusy(() => browser.submit(login, { username, password }));
  const callback = new URL(left.url);
  assert.equal(callback.origin, new URL(CALLBACK).origin, `${username}: ${left.status} ${left.html}`);
  assert.ok(callback.searchParams.has('code'), `${username}: ${callback.search}`);
  if (!comparesClaims) return;
  const tokens = await redeem(url, pkce, callback, CLIENT);
  const { sub, ...shown } = (await (await userInfo(url, tokens.access_token)).json()) as { sub?: string };
  assert.ok(sub, username);
  assert.deepEqual(shown, { ...claims, preferred_username: username }, username);
}

await runScript(async (workbench) => {
  const folder = workbench.folder();
  const beganMs = performance.now();
  const secondsSince = (startMs: number) => (performance.now() - startMs) / 1000;
  const lines = Array.from({ length: users }, (_, index) => {
    if (index % 500 === 0) showProgress(`${index} of ${users} hashes made`);
    return lineOf(index);
  });
  writeFileSync(join(folder, 'people.jsonl'), lines.join(''));
  showProgress('');
  console.log(`${users} hashes (${Object.keys(KINDS).join(', ')}) in ${secondsSince(beganMs).toFixed(1)} s`);

  // All sign-ins come from one address.
  const server = await workbench.start(folder, ['--address-request-limit', '0']);
  await grantdPrints(folder, [
    ...['client', 'add', CLIENT, '--public', '--no-consent', '--redirect-uri', CALLBACK],
    ...['--scope', 'openid', '--scope', 'profile', '--scope', 'email'],
  ]);
  const importBeganMs = performance.now();
  const order = ['user', 'import', 'people.jsonl'];
  outputOf(order, await grantd(folder, order, { longestMs }));
  const importSeconds = secondsSince(importBeganMs);
  console.log(
    `imported in ${importSeconds.toFixed(1)} s: ${Math.round(users / importSeconds)} users a second`,
  );

  const signInsBeganMs = performance.now();
  const every = Math.max(1, Math.floor(users / sample));
  let [next, done, compared] = [0, 0, 0];
  const work = async () => {
    while (next < users && performance.now() - beganMs < longestMs) {
      const index = next++;
      const comparesClaims = index % every === 0;
      await signIn(server, index, comparesClaims);
      [done, compared] = [done + 1, compared + (comparesClaims ? 1 : 0)];
      if (done % 100 === 0) showProgress(`${done} of ${users} users signed in`);
      if (done % Math.ceil(users / 10) === 0)
        console.log(`${done} signed in after ${secondsSince(signInsBeganMs).toFixed(0)} s`);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT }, work));
  showProgress('');
  const seconds = secondsSince(signInsBeganMs);
  console.log(
    `${done} of ${users} users signed in in ${seconds.toFixed(1)} s: ${Math.round(done / seconds)} a second; the claims of ${compared} compared at UserInfo; ${busy} times, the server was busy (503)`,
  );
  return done === users;
});
