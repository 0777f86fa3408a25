import type { ServerResponse } from 'node:http';
import type { Instance } from '../instance/instance.ts';
import { causeOf } from '../log/cause.ts';
import type { Log } from '../log/log.ts';

/** `/health`: 200 only if storage answers. */
export function healthCheck({ storage, people }: Instance, log: Log) {
  return async (response: ServerResponse): Promise<void> => {
    const isHealthy = await answers(async () => {
      await storage.keys.currentKeyId('RS256');
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
