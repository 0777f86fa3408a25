/**
 * For `--import`: hashing a password takes 64 MiB and a tenth of a second, as it should, and most tests are about
 * something else. Here it takes no time. What the program stores says the full cost, and fits no other program.
 * With PASSWORD_MILLISECONDS in the environment, each check takes this time, but waits instead of computing.
 * With PASSWORD_GATE, each check waits while there is such a file.
 */
import crypto from 'node:crypto';
import { existsSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { argon2 } = crypto;
const { PASSWORD_MILLISECONDS, PASSWORD_GATE } = process.env;
const whenOpen = (callback, result) => {
  if (PASSWORD_GATE === undefined || !existsSync(PASSWORD_GATE)) callback(...result);
  else setTimeout(whenOpen, 10, callback, result);
};
crypto.argon2 = (algorithm, parameters, callback) =>
  argon2(algorithm, { ...parameters, memory: 8 * parameters.parallelism, passes: 1 }, (...result) => {
    if (PASSWORD_MILLISECONDS === undefined) whenOpen(callback, result);
    else setTimeout(callback, Number(PASSWORD_MILLISECONDS), ...result);
  });
syncBuiltinESMExports();
