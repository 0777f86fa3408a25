// Commits to a database of grantd 50 times a second until it is told to end: prints a line when it
// has begun, and how many it has made a second in the end.
//   node writer.ts DATABASE
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { AuthorizationServer } from '@grantd/core';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { BENCH_CLIENTS, ISSUER } from '../population/clients.ts';

const PER_SECOND = 50;

const [path = ''] = process.argv.slice(2);
const storage = openSqliteStorage({ path, issuer: ISSUER });
const secret = readFileSync(`${path}.secret`, 'utf8').trim();
const server = new AuthorizationServer({ issuer: ISSUER, secret, storage });
await server.prepare();

let ending = false;
process.on('SIGTERM', () => {
  ending = true;
});
const startedAtMs = performance.now();
let commits = 0;
while (!ending) {
  await server.issueTokens({ clientId: BENCH_CLIENTS.machine_opaque.id });
  commits += 1;
  if (commits === 1) console.log('writing');
  await sleep(Math.max(0, startedAtMs + (commits * 1000) / PER_SECOND - performance.now()));
}
console.log(JSON.stringify({ perSecond: (commits * 1000) / (performance.now() - startedAtMs) }));
await storage.close();
