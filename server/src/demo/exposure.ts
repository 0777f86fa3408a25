import type { Configuration } from '../config/configuration.ts';
import { isLoopback } from '../config/options.ts';
import { ConfigurationRefused, Refused } from '../config/refused.ts';
import type { Instance } from '../instance/instance.ts';

/**
 * Demo data is for this machine alone: everyone knows its passwords.
 * @throws {ConfigurationRefused} others could reach it
 */
export function refuseExposedDemo({ settings, sourceOf }: Configuration): void {
  if (!settings.demo || isLoopback(settings.host)) return;
  throw new ConfigurationRefused(
    `${sourceOf('host')}: expected a loopback address such as 127.0.0.1, since ` +
      `${sourceOf('demo')} brings passwords that everyone knows`,
  );
}

/**
 * A database that serves others gets no demo data.
 * @throws {Refused} it would
 */
export function refuseForeignDemo({ settings }: Configuration, issuer: string, databaseName: string): void {
  if (settings.demo && !isLoopback(new URL(issuer).hostname)) {
    throw new Refused(
      `the database ${databaseName} belongs to ${issuer}, and --demo would bring passwords that everyone knows: ` +
        'use another --database.',
    );
  }
}

/**
 * A database that has demo data serves nobody else.
 * @throws {Refused} it would
 */
export async function refuseKnownPasswords(
  { settings }: Configuration,
  { database, demoMark }: Instance,
): Promise<void> {
  if (!isLoopback(settings.host) && (await demoMark.isSet())) {
    throw new Refused(
      `the database ${database.name} holds demo data, whose passwords everyone knows: ` +
        'use another --database, or a loopback --host.',
    );
  }
}
