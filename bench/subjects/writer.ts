// Commits to a grantd database 50 times per second until it is stopped. It prints a line when it has started, and its
// rate at the end. One commit in ten revokes: in turns a client's token, which ends alone, and a user's refresh token.
//
//     node writer.ts DATABASE
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { AuthorizationServer } from '@grantd/core';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { BENCH_CLIENTS, ISSUER } from '../population/clients.ts';

const PER_SECOND = 50;
const REVOCATION_EVERY = 10;

const [path = ''] = process.argv.slice(2);
const storage = openSqliteStorage({ path, issuer: ISSUER });
const secret = readFileSync(`${path}.secret`, 'utf8').trim();
const server = new AuthorizationServer({ issuer: ISSUER, secret, storage });
await server.prepare();

let ending = false;
process.on('SIGTERM', () => {
  ending = true;
});

/** The token of the last commit, if it is to be revoked. */
let revocable: string | undefined;

/** Each is one commit. */
async function write(number: number): Promise<void> {
  if (revocable !== undefined) {
    await server.revokeToken(revocable);
    revocable = undefined;
    return;
  }
  const isOfPerson = number % (2 * REVOCATION_EVERY) === REVOCATION_EVERY - 2;
  const [issued] = await server.operator.issueTokens(
    isOfPerson
      ? { clientId: BENCH_CLIENTS.web.id, subject: 'somebody', refresh: true, scopes: ['openid'] }
      : { clientId: BENCH_CLIENTS.machine_opaque.id },
  );
  if (number % REVOCATION_EVERY === REVOCATION_EVERY - 2)
    revocable = issued?.refreshToken ?? issued?.accessToken;
}

const startedAtMs = performance.now();
let commits = 0;
while (!ending) {
  await write(commits);
  commits += 1;
  if (commits === 1) console.log('writing');
  await sleep(Math.max(0, startedAtMs + (commits * 1000) / PER_SECOND - performance.now()));
}
console.log(JSON.stringify({ perSecond: (commits * 1000) / (performance.now() - startedAtMs) }));
await storage.close();
