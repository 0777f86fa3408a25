import { FAPI_PLANS, LIFETIME, modulesIn } from '../server/test/certification/fapi/plans.ts';
import { PLANS, type PlannedModule, type Result } from '../server/test/certification/plans.ts';
import {
  ALIAS,
  backChannelCommand,
  bankCommand,
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

/** docs/certification.md: counts what the plans of server/test/certification say of each module, which the tests check. */
export function certificationPage(): string {
  return `# Certification

The OpenID Foundation certifies providers with its [conformance suite](https://gitlab.com/openid/conformance-suite). It has one test plan per profile, each with many modules. grantd is not certified, but tested with these modules in two ways.

**The suite itself, version 5.2.4, over https, with static and dynamic clients.** The suite ran against commit 41d7960. Of 515 module runs of the OpenID Connect plans, 369 passed, 22 ended with a warning, 82 need a person to review a picture, 37 were skipped and 5 failed. All five failures are \`oidcc-discovery-endpoint-verification\` of the Dynamic profile, which requires implicit response types. [Run the suite](#run-the-suite) has the configuration.

**Our own run of the same checks, in every \`npm test\`.** [server/test/certification](../server/test/certification) has every module of the eight plans below. Each one runs against the real program with an https issuer and its own database. It uses the pages like a browser without scripts, and checks what the suite checks: response parameters, ID tokens, UserInfo, keys, metadata and headers.

\`\`\`sh
npm test -- server/test/certification
\`\`\`

A module **passes**, ends with a **warning** (the provider ignores a recommendation), is **skipped** (an optional feature is missing), or **fails**. Only a failure prevents certification. [plans.ts](../server/test/certification/plans.ts) lists the modules of each plan, and [planned_modules.ts](../server/test/certification/planned_modules.ts) what each module checks and how it ends. The tests compare the results, and also fail if one is better.

${summary()}

The suite has not yet run the plans of FAPI 2.0 against this version. Our own run has all their modules for \`plain_fapi\` and \`openid_connect\`, against the program with the [profile](fapi.md) and TLS of its own:

${fapiSummary()}

Modules that do not pass:

${notes()}

Without implicit responses, grantd cannot pass the Dynamic profile. All other modules of that plan run with the response type \`code\`.

## Limits of our own run

- The suite reviews pages by screenshots. Our modules read the HTML.
- The suite examines TLS, with all its ciphers. Our run uses its own certificate. Only the modules of FAPI 2.0 examine TLS: the versions, not the ciphers.
- If a plan leaves the kind of registration open, our run uses \`dynamic_client\`, the variant with the most modules. The two logout plans cannot register their own client, so they use one that the operator added beforehand.
- \`oidcc-refresh-token-rp-key-rotation\` waits for 60 seconds in the suite until the provider fetches keys again. grantd does so after 10 seconds, so our module waits that long.
- In the plans of FAPI 2.0, codes and pushed requests of our run expire after ${LIFETIME} seconds, so that two modules need not wait for a minute. The API is UserInfo. It is not at the default port of https, so that no module leaves out the port in a proof.

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

## Run the FAPI 2.0 plans

Start the server with the profile, and with a second port for client certificates ([guide](mtls.md)):

\`\`\`json
${jsonText(FAPI_SETTINGS)}
\`\`\`

For \`fapi2-message-signing-final-test-plan\`, the profile is \`fapi2-message-signing\`. Add the user as above, and two clients. Each has its own RSA key with \`alg\` \`PS256\`: the public part is in the file, the private one in the configuration of the suite. This is for \`private_key_jwt\` and \`dpop\`:

\`\`\`sh
${([1, 2] as const).map((number) => `npx grantd ${bankCommand(`suite-${number}`, SUITE, DPOP, number).map(quoted).join(' ')}`).join('\n')}
\`\`\`

For \`mtls\` as the way to authenticate, and as the binding:

\`\`\`sh
${([1, 2] as const).map((number) => `npx grantd ${bankCommand(`suite-${number}`, SUITE, MTLS, number).map(quoted).join(' ')}`).join('\n')}
\`\`\`

The configuration needs \`mtls\` and \`mtls2\` only then, and its \`resourceUrl\` is that of the second port:

\`\`\`json
${jsonText(fapiConfiguration())}
\`\`\`

\`browser\` is as above. In the menu, choose \`plain_fapi\` and \`openid_connect\`; for Message Signing also \`signed_non_repudiation\` and \`jarm\`.
`;
}

function summary(): string {
  const rows = PLANS.map(({ name, profile, variant, modules }) => {
    const run = `\`${variant.registration}\`, \`${variant.authentication}\`, \`${variant.responseMode}\``;
    return `| ${profile} | \`${name}\` | ${run} | ${countsOf(modules)} |`;
  });
  return `| profile | plan | run with | modules | pass | warning | skipped | fail |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n${rows.join('\n')}`;
}

function fapiSummary(): string {
  const rows = FAPI_PLANS.flatMap(({ name, variants }) =>
    variants.map((variant) => {
      const { authentication, binding, isSigned } = variant;
      const run = `\`${authentication}\`, \`${binding}\`, ${isSigned ? '`signed_non_repudiation`, `jarm`' : '`unsigned`, `plain_response`'}`;
      return `| \`${name}\` | ${run} | ${countsOf(modulesIn(variant))} |`;
    }),
  );
  return `| plan | run with | modules | pass | warning | skipped | fail |\n| --- | --- | --- | --- | --- | --- | --- |\n${rows.join('\n')}`;
}

function countsOf(modules: readonly PlannedModule[]): string {
  const results = ['passed', 'warning', 'skipped', 'failed'] as const;
  const counts = results.map((result) => modules.filter((module) => module.result === result).length || '–');
  return [modules.length, ...counts].join(' | ');
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

const DPOP = { authentication: 'private_key_jwt', binding: 'dpop' } as const;
const MTLS = { authentication: 'mtls', binding: 'mtls' } as const;

const FAPI_SETTINGS = {
  issuer: ISSUER,
  database: 'sqlite:/var/lib/grantd/grantd.db',
  profile: 'fapi2-security',
  port: 443,
  tlsCertificate: '/etc/grantd/tls.pem',
  tlsKey: '/etc/grantd/tls.key',
  mtlsPort: 8443,
  tlsClientCa: '/etc/grantd/clients.pem',
};

function fapiConfiguration() {
  const scope = 'openid profile email address phone';
  const client = (number: number) => ({
    client_id: `suite-${number}`,
    scope,
    jwks: { keys: [`the private key of suite-${number}, as a JWK`] },
  });
  const certificate = (number: number) => ({
    cert: `the certificate for suite-${number}.example, as PEM`,
    key: 'its private key, as PEM',
  });
  const cancels = [
    {
      match: `${ISSUER}/authorize*`,
      tasks: [{ task: 'Cancel', match: `${ISSUER}/login*`, commands: [['click', 'id', 'login-cancel']] }],
    },
  ];
  return {
    alias: ALIAS,
    description: 'grantd',
    server: { discoveryUrl: `${ISSUER}/.well-known/openid-configuration` },
    client: client(1),
    client2: client(2),
    mtls: certificate(1),
    mtls2: certificate(2),
    resource: { resourceUrl: `${ISSUER}/userinfo` },
    override: { 'fapi2-security-profile-final-user-rejects-authentication': { browser: cancels } },
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
