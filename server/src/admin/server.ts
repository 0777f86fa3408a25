// The server itself: its options and its health.
import packageJson from '../../package.json' with { type: 'json' };
import type { EffectiveOption } from '../config/configuration.ts';
import { isPostgresUrl, OPTION_NAMES, OPTIONS, withoutPassword } from '../config/options.ts';
import { operation } from './operation.ts';
import { named, object, oneOf, type Schema, text, type ValueOf, whole } from './schema.ts';

const OPTION = object({
  option: text('The name of the option, as in the config file.'),
  value: {
    description:
      'The value of the option, or null if the option is not set and has no default. If the value is secret, the response has “set” in its place.',
  } as Schema,
});
const CONFIGURATION = whole('Configuration', OPTION, 'The options of the server.');
const HEALTH = named(
  'Health',
  object({
    status: oneOf(['ok', 'unavailable'], 'Whether the server can answer requests.'),
    issuer: text('The issuer.'),
    database: text('The database, without its password.'),
    version: text('The version of grantd.'),
  }),
);

/** An option as it is in force. A secret is only “set”. */
export function shownOption({
  name,
  value,
}: Pick<EffectiveOption, 'name' | 'value'>): ValueOf<typeof OPTION> {
  return { option: name, value: value === undefined ? null : shown(name, value) };
}

function shown(name: EffectiveOption['name'], value: unknown): unknown {
  if ('isSecret' in OPTIONS[name]) return 'set';
  if (name === 'smtpUrl') return withoutPassword(String(value));
  return name === 'database' && isPostgresUrl(String(value)) ? withoutPassword(String(value)) : value;
}

export const SERVER_OPERATIONS = {
  showConfiguration: operation({
    method: 'GET',
    path: '/config',
    scope: 'grantd:config:read',
    summary: 'Show every option of the server with its value. Secrets are left out',
    status: 200,
    output: CONFIGURATION,
    async perform({ configuration }) {
      const options = OPTION_NAMES.map((name) => ({ name, value: configuration.settings[name] }));
      return { document: { items: options.map(shownOption) } };
    },
  }),
  showHealth: operation({
    method: 'GET',
    path: '/health',
    scope: 'grantd:config:read',
    summary: 'Show whether the server can answer requests',
    status: 200,
    output: HEALTH,
    async perform({ isReady, issuer, database }) {
      const status = (await isReady()) ? 'ok' : 'unavailable';
      return { document: { status, issuer, database: database.name, version: packageJson.version } };
    },
  }),
};
