/** A thread that checks one password against a hash whose algorithm would block the thread that calls it. */
import { parentPort, workerData } from 'node:worker_threads';

/** What the thread checks. Each scheme loads its own code. */
export interface HashOrder {
  readonly scheme: 'bcrypt' | 'sha_crypt' | 'phpass';
  readonly password: string;
  readonly hash: string;
}

const { scheme, password, hash }: HashOrder = workerData;
parentPort?.postMessage(await isMatch());

async function isMatch(): Promise<boolean> {
  if (scheme === 'bcrypt') return (await import('bcryptjs')).default.compareSync(password, hash);
  const { isPhpassMatch, isShaCryptMatch } = await import('./crypt_hashes.ts');
  return scheme === 'phpass' ? isPhpassMatch(password, hash) : isShaCryptMatch(password, hash);
}
