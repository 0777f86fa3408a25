import { PLANS, type Plan, type PlannedModule, type Result } from '../server/test/certification/plans.ts';
import {
  ALIAS,
  backChannelCommand,
  browserTasks,
  clientCommand,
  personCommand,
  SETTINGS,
} from '../server/test/certification/set_up.ts';

const SUITE = 'https://www.certification.openid.net';
const ISSUER = 'https://login.example.com';

const RESULTS = {
  passed: 'passes',
  warning: '**warning**',
  skipped: '**skipped**',
  failed: '**fails**',
} as const satisfies Record<Result, string>;

/** docs/certification.md: the table is the one that the tests are held against. */
export function certificationPage(): string {
  return `# Certification

The OpenID Foundation certifies providers with its [conformance suite](https://gitlab.com/openid/conformance-suite). The suite has a test plan for each profile, and each plan has a number of test modules. grantd is not certified, but it is tested with these modules in two ways.

**The suite itself, version 5.2.4, over https, with static and dynamic clients.** It ran against commit 41d7960: 515 module runs of the OpenID Connect plans, of which 369 passed, 22 ended with a warning, 82 wait for a person to review a picture, 37 were skipped and 5 failed. All five failures are the same module for the same reason: \`oidcc-discovery-endpoint-verification\` of the Dynamic profile wants implicit response types. [Running the suite itself](#running-the-suite-itself) has the configuration.

**Our own run of the same checks, in every \`npm test\`.** [server/test/certification](../server/test/certification) has every module of the six plans below, written from what the suite's source does. Each module runs against the real program with an https issuer and a database of its own. It goes through the pages as a browser without scripts does, and checks what the suite checks: response parameters, \`iss\`, \`state\`, the signature and claims of ID tokens, UserInfo, keys, metadata and headers.

\`\`\`sh
npm test -- server/test/certification
\`\`\`

A module **passes**, ends with a **warning** (the provider does not follow a recommendation), is **skipped** (the provider does not support an optional feature), or **fails**. Warnings and skipped modules do not prevent certification; a failure does. The tests compare each module with the result in the tables below, and also fail when a module turns out better.

${summary()}

What does not simply pass:

${notes()}

The failing module keeps the Dynamic profile out of reach as long as grantd refuses implicit responses. All other modules of that plan run with the response type \`code\`.

${PLANS.map(section).join('\n\n')}

## What our run is not

- The suite looks at pages by pictures that a person takes, uploads and somebody reviews; our modules look at the HTML.
- The suite examines TLS; our run has a certificate of its own and examines nothing of it.
- Plans that leave the way of registration to who runs them run here in the variant that has the most modules, \`dynamic_client\`; the two logout plans run with a client that the operator has added.
- \`oidcc-refresh-token-rp-key-rotation\` waits for 60 seconds in the suite, so that no provider refuses to ask for keys again so soon; grantd asks again after 10, and our module waits that long. \`oidcc-codereuse-30seconds\` does wait for 30 seconds, while other modules go on.

## Running the suite itself

One server configuration works for all plans. The suite must reach the server at its https issuer, and the server must reach the suite.

\`\`\`json
${jsonText({ issuer: ISSUER, database: 'sqlite:/var/lib/grantd/grantd.db', ...SETTINGS })}
\`\`\`

- \`registration\`: the suite registers its clients itself. The Dynamic plan always does.
- \`registrationInsecureAllowMissingPkce\`: nearly all modules leave out PKCE. Static clients have \`--insecure-allow-missing-pkce\` for that.
- \`registrationAssertionAudience\`: clients of the Dynamic plan sign their assertions for the token endpoint, where grantd otherwise wants the issuer.
- A suite on this machine, which is on a private address, needs \`"insecureDevelopment": true\` besides; the foundation's own does not.

Do not use the first three settings on any other server.

Add a person with every standard claim; otherwise the scope modules end with a warning:

\`\`\`sh
${personCommand('certified').map(quoted).join(' ').replace(/^/, 'echo "a password of theirs" | npx grantd ')}
\`\`\`

The configuration of a plan in the suite, with clients that register themselves:

\`\`\`json
${jsonText(planConfiguration())}
\`\`\`

\`browser\` lets the suite fill in the pages. The ids of fields and buttons do not change. When a person signs in again (\`oidcc-prompt-login\`, \`oidcc-max-age-1\`), the user name cannot be edited; the selector and \`optional\` of the first command skip it. Clients that register themselves get errors, and people back after signing out, through a page with a link (\`leave\`), which a task follows ([ADR 38](adr/0038-the-browser-leaves-for-unchecked-clients-by-a-link.md)); their logos are not shown, so the picture of \`oidcc-registration-logo-uri\` has none. A module that wants a picture needs a person, or an entry of its own below \`override\`.

With static clients (\`static_client\`; not for the Dynamic plan), add two of them. Their addresses contain the \`alias\`:

\`\`\`sh
${['suite', 'suite-2'].map((id) => `echo "$SECRET" | npx grantd ${clientCommand(id, SUITE).map(quoted).join(' ')}`).join('\n')}
\`\`\`

\`\`\`json
${jsonText(staticClients())}
\`\`\`

These clients may send their secret in either way, so \`client_secret_post\` can be the first client.

They have no back-channel logout URI: with one, five modules of the RP-Initiated Logout plan fail, because the suite does not expect the request there. For the Back-Channel plan, add it:

\`\`\`sh
npx grantd ${backChannelCommand('suite', SUITE).map(quoted).join(' ')}
\`\`\`

| plan | chosen in its menu |
| --- | --- |
${PLANS.map(({ name, menu }) => `| \`${name}\` | ${menu} |`).join('\n')}

- \`oidcc-server-rotate-keys\` waits until the keys have been rotated: \`npx grantd keys rotate --algorithm RS256\`. In the first five minutes add \`--now\`. Without \`--algorithm\` an Ed25519 key may be among the new ones, which the module does not know.
- Each module wants a browser without cookies, or a fresh private window.
`;
}

function summary(): string {
  const counts = PLANS.map(({ name, profile, modules }) => {
    const count = (result: Result) => modules.filter((module) => module.result === result).length || '–';
    return `| ${profile} | \`${name}\` | ${modules.length} | ${count('passed')} | ${count('warning')} | ${count('skipped')} | ${count('failed')} |`;
  });
  return `| profile | plan | modules | pass | warning | skipped | fail |\n| --- | --- | --- | --- | --- | --- | --- |\n${counts.join('\n')}`;
}

/** What does not simply pass, by why. */
function notes(): string {
  const noted = new Map<string, { readonly modules: Set<string>; readonly profiles: Set<string> }>();
  for (const { profile, modules } of PLANS) {
    for (const { name, result, because } of modules) {
      if (because === undefined) continue;
      const key = `${RESULTS[result]}, since ${because}`;
      const note = noted.get(key) ?? { modules: new Set(), profiles: new Set() };
      noted.set(key, { modules: note.modules.add(`\`${name}\``), profiles: note.profiles.add(profile) });
    }
  }
  return [...noted]
    .map(
      ([key, { modules, profiles }]) => `- ${key}: ${[...modules].join(', ')} (${[...profiles].join(', ')})`,
    )
    .join('\n');
}

function section({ profile, name, variant, modules }: Plan): string {
  return `## ${profile}

\`${name}\`, run with \`${variant.registration}\`, \`${variant.authentication}\` and response mode \`${variant.responseMode}\`.

| module | result | what it checks |
| --- | --- | --- |
${modules.map(row).join('\n')}`;
}

function row({ name, result, checks }: PlannedModule): string {
  return `| \`${name}\` | ${RESULTS[result]} | ${checks} |`;
}

function planConfiguration() {
  return {
    alias: ALIAS,
    description: 'grantd',
    server: { discoveryUrl: `${ISSUER}/.well-known/openid-configuration`, login_hint: 'certified' },
    client: { client_name: 'suite' },
    client2: { client_name: 'suite-2' },
    browser: browserTasks(ISSUER, { username: 'certified', password: 'a password of theirs' }),
  };
}

function staticClients() {
  const [client_secret, first] = ['what $SECRET was', 'suite'];
  return {
    client: { client_id: first, client_secret },
    client_secret_post: { client_id: first, client_secret },
    client2: { client_id: 'suite-2', client_secret },
  };
}

/** JSON with short lists on one line. */
function jsonText(value: object): string {
  return JSON.stringify(value, undefined, 2).replaceAll(
    /\[\n((?: *(?:"[^"]*"|\d+),?\n)*) *\]/g,
    (_, items: string) => {
      return `[${items
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '')
        .join(' ')}]`;
    },
  );
}

function quoted(word: string): string {
  return /^[\w./:=@+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
