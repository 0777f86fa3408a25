import { PLANS, type Plan, type PlannedModule, type Result } from '../server/test/certification/plans.ts';
import { ALIAS, clientCommand, personCommand, SETTINGS } from '../server/test/certification/set_up.ts';

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

The OpenID Foundation certifies providers by its [conformance suite](https://gitlab.com/openid/conformance-suite), a program with a plan for each profile and in each plan a number of test modules. **The foundation's suite has not been run against grantd, and grantd is not certified.** What there is instead is a run of our own: [server/test/certification](../server/test/certification) has every module of the six plans below, written anew from what the suite's source says that it does. Each module runs against the real program, \`grantd serve\` with an https issuer on a database of its own, with pages that are gone through as a browser without scripts would, and with a relying party that checks what the suite checks: parameters of responses, \`iss\`, \`state\`, signature and claims of ID tokens, UserInfo, keys, metadata, headers. Where it could be stricter than the suite it is.

\`\`\`sh
npm test -- server/test/certification
\`\`\`

A module **passes**, ends with a **warning** (something that should be otherwise, but need not), is **skipped** (the provider says that it does not do this, and need not), or **fails**. Warnings and skipped modules do not keep a provider from being certified; a failure does. The tests hold every module to the result that is written here, and fail as well where one turns out better.

${summary()}

What does not simply pass:

${notes()}

The one that fails keeps the Dynamic profile out of reach for as long as implicit responses are refused; all other modules of that plan run with the response type \`code\`.

${PLANS.map(section).join('\n\n')}

## What our run is not

- The suite looks at pages by pictures that a person takes, uploads and somebody reviews; our modules look at the HTML.
- The suite examines TLS; our run has a certificate of its own and examines nothing of it.
- Plans that leave the way of registration to who runs them run here in the variant that has the most modules, \`dynamic_client\`; the two logout plans run with a client that the operator has added.
- \`oidcc-refresh-token-rp-key-rotation\` waits for 60 seconds in the suite, so that no provider refuses to ask for keys again so soon; grantd asks again after 10, and our module waits that long. \`oidcc-codereuse-30seconds\` does wait for 30 seconds, while other modules go on.

## Running the suite itself

One configuration does for all plans. The server has to be reachable for the suite by its https issuer, and has to reach the suite.

\`\`\`json
${jsonText({ issuer: ISSUER, database: 'sqlite:/var/lib/grantd/grantd.db', ...SETTINGS })}
\`\`\`

- \`registration\`: the suite registers its clients itself; the Dynamic plan does it in any case.
- \`allowConfidentialClientsWithoutPkce\`: nearly all modules leave out PKCE.
- \`registrationAssertionAudience\`: clients of the Dynamic plan sign their assertions for the token endpoint, where grantd otherwise wants the issuer.
- A suite on this machine, which is on a private address, needs \`"insecureDevelopment": true\` besides; the foundation's own does not.

None of the first three should be so on a server that is not there to be certified.

A person with every standard claim, so that no module of scopes has anything to remark:

\`\`\`sh
${personCommand('certified').map(quoted).join(' ').replace(/^/, 'echo "a password of theirs" | npx grantd ')}
\`\`\`

A plan's configuration in the suite, with clients that register themselves:

\`\`\`json
${jsonText(planConfiguration())}
\`\`\`

\`browser\` lets the suite fill in the pages by itself, since the ids of their fields and buttons do not change. A module that wants a picture is done by hand, or with an entry of its own below \`override\`.

With clients that the operator adds (\`static_client\`; not for the Dynamic plan), there are two of them, and their addresses go by the \`alias\`:

\`\`\`sh
${['suite', 'suite-2'].map((id) => `echo "$SECRET" | npx grantd ${clientCommand(id, SUITE).map(quoted).join(' ')}`).join('\n')}
\`\`\`

\`\`\`json
${jsonText(staticClients())}
\`\`\`

A client that is added so may send its secret in either way, so that \`client_secret_post\` can be the first one.

| plan | chosen in its menu |
| --- | --- |
${PLANS.map(({ name, menu }) => `| \`${name}\` | ${menu} |`).join('\n')}

- \`oidcc-server-rotate-keys\` waits until the keys have been rotated: \`npx grantd keys rotate --algorithm RS256\`. Without \`--algorithm\` an Ed25519 key may be among the new ones, which the module does not know.
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
    browser: [
      {
        match: `${ISSUER}/authorize*`,
        tasks: [
          {
            task: 'Sign in',
            optional: true,
            match: `${ISSUER}/login*`,
            commands: [
              ['text', 'id', 'username', 'certified'],
              ['text', 'id', 'password', 'a password of theirs'],
              ['click', 'id', 'login-submit'],
            ],
          },
          {
            task: 'Consent',
            optional: true,
            match: `${ISSUER}/consent*`,
            commands: [['click', 'id', 'consent-allow']],
          },
          {
            task: 'Back at the suite',
            match: `*/test/a/${ALIAS}/callback*`,
            commands: [['wait', 'id', 'submission_complete', 10]],
          },
        ],
      },
      {
        match: `${ISSUER}/logout*`,
        tasks: [
          {
            task: 'Sign out',
            optional: true,
            match: `${ISSUER}/logout*`,
            commands: [['click', 'id', 'logout-yes', 'optional']],
          },
        ],
      },
    ],
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
  return JSON.stringify(value, undefined, 2).replaceAll(/\[\n([^[\]{}]*)\n *\]/g, (_, items: string) => {
    return `[${items
      .split('\n')
      .map((line) => line.trim())
      .join(' ')}]`;
  });
}

function quoted(word: string): string {
  return /^[\w./:=@+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
