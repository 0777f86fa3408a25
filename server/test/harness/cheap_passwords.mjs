/**
 * For `--import`: hashing a password takes 64 MiB and a tenth of a second, as it should, and most tests are about
 * something else. Here it takes no time. What the program stores says the full cost, and fits no other program.
 * With PASSWORD_MILLISECONDS in the environment, each check takes this time, but waits instead of computing.
 */
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

const { argon2 } = crypto;
const { PASSWORD_MILLISECONDS } = process.env;
crypto.argon2 = (algorithm, parameters, callback) =>
  argon2(algorithm, { ...parameters, memory: 8 * parameters.parallelism, passes: 1 }, (...result) => {
    if (PASSWORD_MILLISECONDS === undefined) callback(...result);
    else setTimeout(callback, Number(PASSWORD_MILLISECONDS), ...result);
  });
syncBuiltinESMExports();
