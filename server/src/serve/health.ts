import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { readStoredIssuer } from '@grantd/core/sqlite';
import type { Instance } from '../instance/instance.ts';
import { causeOf } from '../log/cause.ts';
import type { Log } from '../log/log.ts';

/**
 * `/health`: 200 only if storage answers, and would answer as well if it had nothing in memory.
 * @param isInPlace whether the database is still the file that was opened
 */
export function healthCheck({ storage, people, path }: Instance, isInPlace: () => boolean, log: Log) {
  return async (response: ServerResponse): Promise<void> => {
    const isHealthy = await answers(async () => {
      if (!isInPlace()) throw new Error(`${path} is no longer the file that was opened`);
      // On a connection of its own: those that are open know by heart what they have read.
      if (readStoredIssuer(path) === undefined) throw new Error(`${path} is no longer a database of grantd`);
      await storage.keys.currentKeyId('RS256');
      await storage.tokens.getByAccessToken(randomBytes(16).toString('base64url'));
      people.byName('');
    }, log);
    response.writeHead(isHealthy ? 200 : 503, {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      ...(!isHealthy && { 'retry-after': '1' }),
    });
    response.end(JSON.stringify({ status: isHealthy ? 'ok' : 'unavailable' }));
  };
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
