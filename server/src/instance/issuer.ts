import type { Configuration } from '../config/configuration.ts';
import { ConfigurationRefused } from '../config/configuration_refused.ts';
import { isLoopback } from '../config/networks.ts';
import { flagOf } from '../config/options.ts';
import { Refused } from './refused.ts';

/** An issuer that nobody chose, but that follows from the port. */
const DEFAULT_ISSUER = /^http:\/\/localhost:\d+$/;

export function defaultIssuer(port: number): string {
  return `http://localhost:${port}`;
}

/**
 * The issuer that a server on this port is: the given one, else the stored one, else the default.
 * @throws {Refused} the database belongs to another issuer
 */
export function issuerToServe(given: string | undefined, stored: string | undefined, port: number): string {
  if (stored === undefined) return given ?? defaultIssuer(port);
  // A stored default says what the port was: with another port its URLs would lead nowhere.
  const wanted = given ?? (DEFAULT_ISSUER.test(stored) ? defaultIssuer(port) : stored);
  return requireSame(wanted, stored);
}

/**
 * The issuer of a database for a command that works on it.
 * @throws {Refused} the database belongs to another issuer
 */
export function issuerToAdminister(given: string | undefined, stored: string): string {
  return requireSame(given ?? stored, stored);
}

function requireSame(wanted: string, stored: string): string {
  if (wanted === stored) return stored;
  const port = DEFAULT_ISSUER.test(stored) ? ` (or --port ${new URL(stored).port || '80'})` : '';
  throw new Refused(
    `the database belongs to the issuer ${stored}, not to ${wanted}: every token in it names that issuer. ` +
      `Use --issuer ${stored}${port}, or another --database.`,
  );
}

/**
 * Plain http shows passwords, codes and tokens to everyone on the way (RFC 9700 §2.6).
 * @throws {ConfigurationRefused} the given issuer is http and not on loopback
 */
export function refuseInsecureIssuer({ settings, sourceOf }: Configuration): void {
  const { issuer, insecureDevelopment } = settings;
  if (issuer === undefined || insecureDevelopment || !isInsecure(issuer)) return;
  throw new ConfigurationRefused(`${sourceOf('issuer')}: ${issuer}: ${ADVICE}`);
}

/** @throws {Refused} the stored issuer is http and not on loopback */
export function refuseStoredInsecureIssuer({ settings }: Configuration, issuer: string): void {
  if (settings.insecureDevelopment || !isInsecure(issuer)) return;
  throw new Refused(`the database belongs to the issuer ${issuer}: ${ADVICE}`);
}

function isInsecure(issuer: string): boolean {
  const { protocol, hostname } = new URL(issuer);
  return protocol === 'http:' && !isLoopback(hostname);
}

const ADVICE =
  'expected https, because plain http shows passwords and tokens to everyone on the way. ' +
  `Put a TLS proxy in front and use its https URL, or add ${flagOf('insecureDevelopment')} for development.`;
