import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Settings } from '../config/options.ts';
import type { Instance } from '../instance/instance.ts';
import { causeOf } from '../log/cause.ts';
import type { Log } from '../log/log.ts';

/** Whether the process runs, for whoever restarts it. A restart does not help against an outage of the database. */
export const LIVE_PATH = '/health/live';

/** Whether requests should be sent here. */
const READY_PATHS: ReadonlySet<string> = new Set(['/health', '/health/ready']);

/** Says that the process runs. */
export function answerLive(response: ServerResponse): void {
  answerHealth(response, 'ok');
}

export interface ReadinessParts {
  readonly settings: Settings;
  readonly instance: Instance;
  /** Whether the database is still the one that was opened. */
  readonly isInPlace: () => boolean;
  /** Whether the server was asked to end. */
  readonly isEnding: () => boolean;
  readonly log: Log;
}

/** Answers requests for the paths of health checks. */
export type HealthListener = (path: string, response: ServerResponse) => Promise<boolean>;

/**
 * The health checks. The server is ready only if storage answers everything that serving asks of it, would do so with
 * nothing in memory, and takes writes; and until the server is asked to end.
 * @returns a listener that resolves with whether the path is that of a health check
 */
export function healthListener({
  settings,
  instance,
  isInPlace,
  isEnding,
  log,
}: ReadinessParts): HealthListener {
  return async (path, response) => {
    if (path === LIVE_PATH) {
      answerLive(response);
      return true;
    }
    if (!READY_PATHS.has(path)) return false;
    const isReady = await answers(() => askForAll(settings, instance, isInPlace), log);
    answerHealth(response, isEnding() ? 'ending' : isReady ? 'ok' : 'unavailable');
    return true;
  };
}

function answerHealth(response: ServerResponse, status: 'ok' | 'unavailable' | 'ending'): void {
  const isOk = status === 'ok';
  response.writeHead(isOk ? 200 : 503, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    ...(!isOk && { 'retry-after': '1' }),
  });
  response.end(JSON.stringify({ status }));
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
