import type { Settings } from '../config/options.ts';
import type { Database } from './database/database.ts';
import { Refused } from './refused.ts';

/**
 * A database that is missing may be one that is not mounted, or not the one that was meant. An empty one in its place
 * would answer every client and token of the right one as unknown.
 * @throws {Refused} a database that is missing may not be made
 */
export async function requireMaking({ create }: Pick<Settings, 'create'>, database: Database): Promise<void> {
  if (create === true) return;
  if (create === false)
    throw new Refused(`there is no database ${database.name}, and with --create false none is made.`);
  const doubt = await database.doubtAboutMaking();
  if (doubt !== undefined)
    throw new Refused(`there is no database ${database.name}, ${doubt}, or make a new one with --create.`);
}
