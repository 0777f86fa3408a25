import { unknownName } from '@grantd/core/options';
import type { ClientConfig } from 'pg';
import { readCertificates } from '../config/certificates_file.ts';
import { typedPath } from '../config/configuration.ts';
import { readPrivateText } from '../config/private_file.ts';
import { ConfigurationRefused } from '../config/refused.ts';

/** The parameters of a database URL. The driver ignores all others, such as `sslmod`. */
const PARAMETERS = [
  'host',
  'port',
  'user',
  'password',
  'options',
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
] as const;

type FileParameter = 'sslrootcert' | 'sslcert' | 'sslkey';

/**
 * Whether a connection uses TLS, and checks the certificate and the host name of the server. The driver’s own reading
 * warns of a later version in which some modes check less.
 */
const MODES: Readonly<Record<string, 'off' | 'unchecked' | 'checked'>> = {
  disable: 'off',
  'no-verify': 'unchecked',
  require: 'checked',
  'verify-ca': 'checked',
  'verify-full': 'checked',
};

/**
 * What the driver connects to. It reads PG… variables itself, such as PGPASSWORD.
 * @param source the option or flag of the URL, for messages
 * @throws {ConfigurationRefused} a parameter is unknown, repeated or invalid, or a file is unreadable or has no certificate
 */
export function connectionOf(
  url: string,
  source = 'the database URL',
  environment = process.env,
): Pick<ClientConfig, 'connectionString' | 'ssl'> {
  // The driver also reads URLs without a host, which `URL` cannot parse.
  const [address = '', ...query] = url.split('?');
  const parameters = new URLSearchParams(query.join('?'));
  const unknown = [...parameters.keys()].find((name) => !PARAMETERS.some((parameter) => parameter === name));
  if (unknown !== undefined)
    throw new ConfigurationRefused(unknownName(`${source}: ${unknown}`, unknown, PARAMETERS, 'parameter'));
  const repeated = [...parameters.keys()].find((name) => parameters.getAll(name).length > 1);
  if (repeated !== undefined)
    throw new ConfigurationRefused(`${source}: ${repeated}: expected once, because only one value can hold`);
  const take = (name: (typeof PARAMETERS)[number]) => {
    const value = parameters.get(name) ?? undefined;
    parameters.delete(name);
    return value;
  };
  const takeFile = (name: FileParameter, read: (path: string, source: string) => string) => {
    const path = take(name);
    return path === undefined ? undefined : read(typedPath(environment, path), `${source}: ${name}`);
  };
  const ofUrl = take('sslmode');
  const mode = ofUrl ?? (environment.PGSSLMODE || undefined);
  const [ca, cert, key] = [
    takeFile('sslrootcert', readCertificates),
    takeFile('sslcert', readCertificates),
    takeFile('sslkey', readPrivateText),
  ];
  if ((cert === undefined) !== (key === undefined))
    throw new ConfigurationRefused(`${source}: expected both sslcert and sslkey`);
  const files = { ...(ca !== undefined && { ca }), ...(key !== undefined && { cert, key }) };
  const check = mode === undefined ? (ca ?? key) && 'checked' : MODES[mode];
  if (mode !== undefined && check === undefined)
    throw new ConfigurationRefused(
      `${ofUrl === undefined ? 'PGSSLMODE' : `${source}: sslmode`}: expected ${Object.keys(MODES).join(', ')}, got ${mode}`,
    );
  return {
    connectionString: parameters.size === 0 ? address : `${address}?${parameters}`,
    ssl:
      check === undefined || check === 'off' ? false : { ...files, rejectUnauthorized: check === 'checked' },
  };
}
