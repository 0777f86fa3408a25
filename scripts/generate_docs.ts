// Writes the generated pages of the repository, and the generated parts of others. Those of built_pages.ts are not in
// the repository. With --check it only compares, and exits with 1 if a page is out of date.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { MEMBER_NAMES, memberOf } from '@grantd/core';
import { MEMBER_TEXTS, type Option } from '@grantd/core/options';
import { flagOfMember } from '../server/src/cli/client_flags.ts';
import { flagOf, OPTIONS, variableOf } from '../server/src/config/options.ts';
import { schemaOfTheme } from '../server/src/pages/drawing/theme.ts';
import { mapOfPages } from '../site/pages.ts';
import { hostsPage } from './hosts_page.ts';
import { libraryPage } from './library_page.ts';
import { migrationPage } from './migration_page.ts';
import { monitoringPage } from './monitoring_page.ts';
import { libraryOptionsTables, meaningAndDefault, optionsInterfaces } from './options_page.ts';
import { productionPage } from './production_page.ts';
import { publicNamesPage } from './public_names_page.ts';
import { readmePage } from './readme_page.ts';
import { runtimesPage } from './runtimes_page.ts';
import { pageWithWalk } from './walk_picture.ts';

process.chdir(dirname(import.meta.dirname));

const isCheck = process.argv.includes('--check');
let isStale = false;
for (const [path, text] of [
  [
    'core/src/options/authorization_server_options.generated.ts',
    optionsInterfaces('core/src/options/authorization_server_options.generated.ts'),
  ],
  ['docs/configuration.md', configuration()],
  ['docs/client_metadata.md', clientMetadata()],
  ['docs/production.md', productionPage()],
  ['docs/hosts.md', hostsPage()],
  ['docs/library.md', libraryPage()],
  ['docs/migration.md', migrationPage()],
  ['docs/monitoring.md', monitoringPage()],
  ['docs/public_names.md', await publicNamesPage()],
  ['docs/README.md', mapOfPages()],
  ['docs/theme.schema.json', `${JSON.stringify(schemaOfTheme(), undefined, 2)}\n`],
  ['README.md', readmePage()],
  ['docs/runtimes.md', runtimesPage()],
  ['CONTRIBUTING.md', await pageWithWalk()],
] as const) {
  if (!isCheck) writeFileSync(path, text);
  else if (readFileSync(path, 'utf8') !== text) {
    console.error(`${path} is not what the code says: run \`npm run docs\``);
    isStale = true;
  }
}
process.exit(isStale ? 1 : 0);

function configuration(): string {
  const options = Object.entries<Option<unknown, unknown>>(OPTIONS);
  const rows = options.map(([name, option]) => {
    const flag = option.isSecret !== true ? flagOf(name) : variableOf(name);
    return `| \`${name}\` | \`${flag}\` | ${meaningAndDefault(option)} |`;
  });
  const flags = new Map(options.map(([name, option]) => [meaningAndDefault(option), flagOf(name)]));
  return `# Configuration

## Options of the program

Set an option by flag, by environment variable, or in the JSON file that \`--config\` or \`GRANTD_CONFIG\` names. A flag
overrides a variable, and a variable overrides the file. The variable is \`GRANTD_\` with the flag in capitals:
\`GRANTD_LOG_ADDRESSES\` for \`--log-addresses\`. If a value is wrong, or the file contains an unknown name, the command
fails. The error names the option and the expected value.

To change the options of a running server, edit this file and send the server SIGHUP, for example with
\`systemctl reload grantd\` ([how](production.md#change-the-configuration)). Options with the note “A change needs a
restart” keep their value until you restart the server.

\`grantd config show\` prints every option with its value and its source. \`grantd config check\` makes the same checks of
options and files as \`grantd serve\`, but opens no database and no port.

\`grantd\` starts Node with its own memory settings, which override \`NODE_OPTIONS\` and \`MALLOC_ARENA_MAX\`
([details](performance.md#caches-and-memory)). To set Node's memory flags yourself, run
\`node FLAGS node_modules/grantd/bin/grantd.mjs\`.

| name in the file | flag | meaning | default |
| --- | --- | --- | --- |
${rows.join('\n')}

An example of the file:

\`\`\`json
{
  "issuer": "https://login.example.com",
  "database": "sqlite:/var/lib/grantd/grantd.db",
  "accessTokenLifetime": 600,
  "introspectionPolicy": "audience",
  "defaultAudience": ["https://api.example.com"],
  "oidc": { "claimsByScope": { "profile": ["name"], "email": ["email", "email_verified"] } }
}
\`\`\`

## Options of the library

\`new AuthorizationServer()\` checks its options before the first request. It throws a \`ConfigurationError\` for a wrong value
and for an unknown name. For an unknown name, the error suggests a similar name.

${libraryOptionsTables(flags)}
`;
}

function clientMetadata(): string {
  const rows = MEMBER_NAMES.map((name) => {
    const { kind, setBy, isDerived, isLocalizable } = memberOf(name);
    const { about, defaultInWords = '', registeredInWords = defaultInWords } = MEMBER_TEXTS[name];
    const flag = isDerived ? 'none' : `\`${flagOfMember(name)}\``;
    const sentence = `${about}${isLocalizable ? '. Can have values in several languages' : ''}`;
    const registered =
      registeredInWords === defaultInWords ? registeredInWords && 'the same' : registeredInWords;
    const whenRegistered = setBy === 'client' ? registered : 'operator only';
    return `| \`${name}\` | ${flag} | ${sentence} | ${kind.expected} | ${defaultInWords} | ${whenRegistered} |`;
  });
  return `# Client metadata

This page lists every setting of a client. Each setting is a member of the client's metadata (RFC 7591).

- An operator sets a member with its flag of \`grantd client add\` and \`grantd client update\`. \`grantd client show\` prints
  all members of a client.
- A client that [registers itself](registration.md) sends the members in its registration request. It cannot set those with
  _operator only_ in the last column.

If a member is a list, pass its flag once for each value. \`client update\` replaces the whole list, so also pass the
values that stay.

Some members can have values in several languages. The value in German is in a member of its own, such as
\`client_name#de\`. Set it with the flag \`--localized\`.

If a cell for a default is empty, the member has no default.

| member | flag | meaning | expected | default | default if the client registers itself |
| --- | --- | --- | --- | --- | --- |
${rows.join('\n')}
`;
}
