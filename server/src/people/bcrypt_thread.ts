/** A thread that checks one password against a bcrypt hash, because bcryptjs computes on the thread that calls it. */
import { parentPort, workerData } from 'node:worker_threads';
import { compareSync } from 'bcryptjs';

export interface BcryptOrder {
  readonly password: string;
  readonly hash: string;
}

const { password, hash }: BcryptOrder = workerData;
parentPort?.postMessage(compareSync(password, hash));
