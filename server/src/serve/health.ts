import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Settings } from '../config/options.ts';
import type { Instance } from '../instance/instance.ts';
import { causeOf } from '../log/cause.ts';
import type { Log } from '../log/log.ts';

/**
 * `/health`: 200 only if storage answers all that serving asks of it, would answer as well if it had nothing in
 * memory, and takes writes.
 * @param isInPlace whether the database is still the one that was opened
 */
export function healthCheck(settings: Settings, instance: Instance, isInPlace: () => boolean, log: Log) {
  return async (response: ServerResponse): Promise<void> => {
    const isHealthy = await answers(() => askForAll(settings, instance, isInPlace), log);
    response.writeHead(isHealthy ? 200 : 503, {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      ...(!isHealthy && { 'retry-after': '1' }),
    });
    response.end(JSON.stringify({ status: isHealthy ? 'ok' : 'unavailable' }));
  };
}

/** @throws {Error} something was not answered, or not as it must be */
async function askForAll(
  { accessTokenAlgorithm, idTokenAlgorithm }: Settings,
  { issuer, database, storage, people, isDamaged, requireWritable }: Instance,
  isInPlace: () => boolean,
): Promise<void> {
  const { name } = database;
  if (isDamaged?.() === true) throw new Error(`${name} is corrupt`);
  if (!isInPlace()) throw new Error(`${name} is no longer what was opened`);
  const stored = await database.storedIssuer();
  if (stored !== issuer) throw new Error(`${name} belongs to ${stored ?? 'nobody'}, no longer to ${issuer}`);
  // A key that is missing is made when it is needed first.
  for (const algorithm of new Set([accessTokenAlgorithm, idTokenAlgorithm]))
    await storage.keys.currentKeyId(algorithm);
  await storage.tokens.getByAccessToken(randomBytes(16).toString('base64url'));
  await people.byName('');
  await requireWritable();
}

async function answers(ask: () => Promise<void>, log: Log): Promise<boolean> {
  try {
    await ask();
    return true;
  } catch (error) {
    log.error({ event: 'unhealthy', reason: 'storage_unavailable', cause: causeOf(error) });
    return false;
  }
}
