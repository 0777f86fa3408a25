/**
 * For `--import`: hashing a password takes 64 MiB and a tenth of a second, as it should, and most tests are about
 * something else. Here it takes no time. What the program stores says the full cost, and fits no other program.
 */
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

const { argon2 } = crypto;
crypto.argon2 = (algorithm, parameters, callback) =>
  argon2(algorithm, { ...parameters, memory: 8 * parameters.parallelism, passes: 1 }, callback);
syncBuiltinESMExports();
