import type { Configuration } from '../config/configuration.ts';
import { isLoopback } from '../config/options.ts';
import { ConfigurationRefused, Refused } from '../config/refused.ts';
import type { Instance } from '../instance/instance.ts';

/**
 * Demo data is for this machine only, because its passwords are public. No profile allows the secrets of its clients.
 * @throws {ConfigurationRefused} the host is not on loopback, or the server has a profile
 */
export function refuseExposedDemo({ settings, sourceOf }: Configuration): void {
  if (settings.demo && settings.profile !== undefined)
    throw new ConfigurationRefused(
      `${sourceOf('demo')}: expected false, because ${sourceOf('profile')} does not allow the secrets of demo clients`,
    );
  if (!settings.demo || isLoopback(settings.host)) return;
  throw new ConfigurationRefused(
    `${sourceOf('host')}: expected a loopback address such as 127.0.0.1, because ` +
      `${sourceOf('demo')} adds public passwords`,
  );
}

/**
 * Keeps demo data out of other databases.
 * @throws {Refused} the issuer is not on loopback
 */
export function refuseForeignDemo({ settings }: Configuration, issuer: string, databaseName: string): void {
  if (settings.demo && !isLoopback(new URL(issuer).hostname)) {
    throw new Refused(
      `the database ${databaseName} belongs to ${issuer}, and --demo would add public passwords: ` +
        'use another --database.',
    );
  }
}

/**
 * Keeps a database with demo data on loopback.
 * @throws {Refused} the host is not on loopback
 */
export async function refuseKnownPasswords(
  { settings }: Configuration,
  { database, demoMark }: Instance,
): Promise<void> {
  if (!isLoopback(settings.host) && (await demoMark.isSet())) {
    throw new Refused(
      `the database ${database.name} contains demo data with public passwords: ` +
        'use another --database, or a loopback --host.',
    );
  }
}
