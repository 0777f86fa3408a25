import { PLANS, type Result } from '../server/test/certification/plans.ts';
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

/** docs/certification.md: counts what server/test/certification/plans.ts says of each module, which the tests check. */
export function certificationPage(): string {
  return `# Certification

The OpenID Foundation certifies providers with its [conformance suite](https://gitlab.com/openid/conformance-suite). It has one test plan per profile, each with many modules. grantd is not certified, but tested with these modules in two ways.

**The suite itself, version 5.2.4, over https, with static and dynamic clients.** The suite ran against commit 41d7960. Of 515 module runs of the OpenID Connect plans, 369 passed, 22 ended with a warning, 82 need a person to review a picture, 37 were skipped and 5 failed. All five failures are \`oidcc-discovery-endpoint-verification\` of the Dynamic profile, which requires implicit response types. [Run the suite](#run-the-suite) has the configuration.

**Our own run of the same checks, in every \`npm test\`.** [server/test/certification](../server/test/certification) has every module of the six plans below. Each one runs against the real program with an https issuer and its own database. It uses the pages like a browser without scripts, and checks what the suite checks: response parameters, ID tokens, UserInfo, keys, metadata and headers.

\`\`\`sh
npm test -- server/test/certification
\`\`\`

A module **passes**, ends with a **warning** (the provider ignores a recommendation), is **skipped** (an optional feature is missing), or **fails**. Only a failure prevents certification. [plans.ts](../server/test/certification/plans.ts) lists the modules of each plan, and [planned_modules.ts](../server/test/certification/planned_modules.ts) what each module checks and how it ends. The tests compare the results, and also fail if one is better.

${summary()}

Modules that do not pass:

${notes()}

Without implicit responses, grantd cannot pass the Dynamic profile. All other modules of that plan run with the response type \`code\`.

## Limits of our own run

- The suite reviews pages by screenshots. Our modules read the HTML.
- The suite examines TLS. Our run uses its own certificate and does not examine TLS.
- If a plan leaves the kind of registration open, our run uses \`dynamic_client\`, the variant with the most modules. The two logout plans cannot register their own client, so they use one that the operator added beforehand.
- \`oidcc-refresh-token-rp-key-rotation\` waits for 60 seconds in the suite until the provider fetches keys again. grantd does so after 10 seconds, so our module waits that long.

## Run the suite

One server configuration works for all plans. The suite must reach the server at its https issuer, and the server must reach the suite.

\`\`\`json
${jsonText({ issuer: ISSUER, database: 'sqlite:/var/lib/grantd/grantd.db', ...SETTINGS })}
\`\`\`

- \`registration\`: the suite registers its clients itself. The Dynamic plan always does.
- \`registrationInsecureAllowMissingPkce\`: nearly all modules omit PKCE. Static clients have \`--insecure-allow-missing-pkce\` for that.
- \`registrationAssertionAudience\`: clients of the Dynamic plan sign assertions for the token endpoint. By default grantd requires the issuer.
- A suite on a private address, such as your own machine, also needs \`"insecureDevelopment": true\`.

Do not use the first three settings on any other server.

Add a user with every standard claim, or the scope modules end with a warning:

\`\`\`sh
${personCommand('certified').map(quoted).join(' ').replace(/^/, 'echo "correct horse battery" | npx grantd ')}
\`\`\`

The configuration of a plan in the suite, with clients that register themselves:

\`\`\`json
${jsonText(planConfiguration())}
\`\`\`

\`browser\` lets the suite fill in the pages. The ids of fields and buttons are stable.

- At a second sign-in (\`oidcc-prompt-login\`, \`oidcc-max-age-1\`) the username is read-only: the selector and \`optional\` of the first command skip it.
- Clients that register themselves get errors, and users back after a sign-out, through a page with a link (\`leave\`), which a task follows ([ADR 38](adr/0038-browsers-return-to-unchecked-clients-by-a-link.md)). The pages do not show their logos, so the screenshot of \`oidcc-registration-logo-uri\` has none.
- For a module with a screenshot, a person has to upload it, or \`override\` needs an entry.

For static clients (\`static_client\`, not in the Dynamic plan), add two. Their URIs contain the \`alias\`:

\`\`\`sh
${['suite', 'suite-2'].map((id) => `echo "$SECRET" | npx grantd ${clientCommand(id, SUITE).map(quoted).join(' ')}`).join('\n')}
\`\`\`

\`\`\`json
${jsonText(staticClients())}
\`\`\`

These clients may send their secret either way, so the first one can also be \`client_secret_post\`.

They have no back-channel logout URI: with one, five modules of the RP-Initiated Logout plan fail, because the suite does not expect the request there. For the Back-Channel plan, add it:

\`\`\`sh
npx grantd ${backChannelCommand('suite', SUITE).map(quoted).join(' ')}
\`\`\`

| plan | chosen in its menu |
| --- | --- |
${PLANS.map(({ name, menu }) => `| \`${name}\` | ${menu} |`).join('\n')}

- \`oidcc-server-rotate-keys\` waits until you rotate the keys: \`npx grantd keys rotate --algorithm RS256\`. In the first five minutes, add \`--now\`. Without \`--algorithm\`, there may be an Ed25519 key, which the module does not know.
- Use a browser without cookies, or a new private window, for each module.
`;
}

function summary(): string {
  const counts = PLANS.map(({ name, profile, variant, modules }) => {
    const count = (result: Result) => modules.filter((module) => module.result === result).length || '–';
    const run = `\`${variant.registration}\`, \`${variant.authentication}\`, \`${variant.responseMode}\``;
    return `| ${profile} | \`${name}\` | ${run} | ${modules.length} | ${count('passed')} | ${count('warning')} | ${count('skipped')} | ${count('failed')} |`;
  });
  return `| profile | plan | run with | modules | pass | warning | skipped | fail |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n${counts.join('\n')}`;
}

/** The modules that do not pass, by reason. */
function notes(): string {
  const noted = new Map<string, { readonly modules: Set<string>; readonly profiles: Set<string> }>();
  for (const { profile, modules } of PLANS) {
    for (const { name, result, because } of modules) {
      if (because === undefined) continue;
      const key = `${RESULTS[result]} | ${because}`;
      const note = noted.get(key) ?? { modules: new Set(), profiles: new Set() };
      noted.set(key, { modules: note.modules.add(`\`${name}\``), profiles: note.profiles.add(profile) });
    }
  }
  const rows = [...noted].map(
    ([key, { modules, profiles }]) => `| ${key} | ${[...modules].join(', ')} | ${[...profiles].join(', ')} |`,
  );
  return `| result | reason | modules | profiles |\n| --- | --- | --- | --- |\n${rows.join('\n')}`;
}

function planConfiguration() {
  return {
    alias: ALIAS,
    description: 'grantd',
    server: { discoveryUrl: `${ISSUER}/.well-known/openid-configuration`, login_hint: 'certified' },
    client: { client_name: 'suite' },
    client2: { client_name: 'suite-2' },
    browser: browserTasks(ISSUER, { username: 'certified', password: 'correct horse battery' }),
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
