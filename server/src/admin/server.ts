// The server itself: its options and its health.
import packageJson from '../../package.json' with { type: 'json' };
import type { EffectiveOption } from '../config/configuration.ts';
import { isPostgresUrl, OPTION_NAMES, OPTIONS, withoutPassword } from '../config/options.ts';
import { type Outcome, operation } from './operation.ts';
import {
  count,
  flag,
  HAS_MORE,
  named,
  object,
  oneOf,
  type Schema,
  text,
  type ValueOf,
  whole,
} from './schema.ts';
import { pagesOf } from './user_rules.ts';

const OPTION = object({
  option: text('The name of the option, as in the config file.'),
  value: {
    description:
      'The value of the option, or null if the option is not set and has no default. If the value is secret, the response has “set” in its place.',
  } as Schema,
});
const CONFIGURATION = whole('Configuration', OPTION, 'The options of the server.');
const COUNTS = named(
  'Counts',
  object({
    clients: count('Number of clients.'),
    groups: count('Number of groups.'),
    'users?': count('Number of users. Present if the request has all.'),
    'active_tokens?': count('Number of active tokens. Present if the request has all.'),
    'has_more_tokens?': flag(HAS_MORE),
  }),
);
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
  return { option: name, value: value === undefined ? null : displayed(name, value) };
}

function displayed(name: EffectiveOption['name'], value: unknown): unknown {
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
  countStored: operation({
    method: 'GET',
    path: '/counts',
    scope: 'grantd:config:read',
    summary: 'Count clients and groups, and also users and active tokens, whose count reads all their rows',
    query: {
      all: { schema: flag(), about: 'Whether to count users and active tokens too. Default: false.' },
    },
    status: 200,
    output: COUNTS,
    async perform(parts, { all: countsAll = false }): Promise<Outcome<ValueOf<typeof COUNTS>>> {
      const { storage, groups, clock } = parts;
      const [clients, stored] = await Promise.all([storage.clients.list(), groups.list()]);
      const counted = { clients: clients.length, groups: stored.length };
      if (!countsAll) return { document: counted };
      let users = 0;
      for await (const some of pagesOf(parts, {})) users += some.length;
      const tokens = await storage.countAlive({ issuedBeforeMs: clock() });
      const all = { ...counted, users, active_tokens: tokens.count };
      return { document: { ...all, ...(tokens.hasMore && { has_more_tokens: true }) } };
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
