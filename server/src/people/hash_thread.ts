/** A thread that checks one password against a hash whose algorithm would block the thread that calls it. */
import { parentPort, workerData } from 'node:worker_threads';

/** What the thread checks. Each scheme loads its own code. */
export interface HashOrder {
  readonly scheme: 'bcrypt' | 'sha_crypt' | 'phpass';
  readonly password: string;
  readonly hash: string;
  /** What a wrong password costs more: rounds, of bcrypt two to the power of its cost. */
  readonly extraUnits: number;
}

const LEAST_BCRYPT_COST = 4;

const { scheme, password, hash, extraUnits }: HashOrder = workerData;
parentPort?.postMessage(await isMatch());

async function isMatch(): Promise<boolean> {
  if (scheme === 'bcrypt') return isBcryptMatch();
  const { isPhpassMatch, isShaCryptMatch } = await import('./crypt_hashes.ts');
  return (scheme === 'phpass' ? isPhpassMatch : isShaCryptMatch)(password, hash, extraUnits);
}

async function isBcryptMatch(): Promise<boolean> {
  const { compareSync } = (await import('bcryptjs')).default;
  if (compareSync(password, hash)) return true;
  for (let cost = LEAST_BCRYPT_COST; 2 ** cost <= extraUnits; cost += 1)
    if (Math.floor(extraUnits / 2 ** cost) % 2 === 1)
      compareSync(password, `$2b$${String(cost).padStart(2, '0')}${hash.slice(-54)}`);
  return false;
}
