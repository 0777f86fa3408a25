import { FAPI_PLANS, LIFETIME, modulesIn } from '../server/test/certification/fapi/plans.ts';
import { PLANS, type PlannedModule, type Result } from '../server/test/certification/plans.ts';
import {
  ALIAS,
  atSuite,
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

/** The page `certification`: counts what the plans of server/test/certification say of each module, which the tests check. */
export function certificationPage(): string {
  return `# Certification

The OpenID Foundation certifies providers with its [conformance suite](https://gitlab.com/openid/conformance-suite). The suite has a test plan for each profile, and a plan consists of many tests, called modules. Although grantd is not certified, it has been tested with these modules in two ways.

**With the suite itself.** Version 5.2.4 of the suite tested grantd (commit 41d7960) over https, with clients that the operator had added (static) and clients that registered themselves (dynamic). The modules of the OpenID Connect plans ran 515 times, with these results:

| passed | warning | a person must review a screenshot | skipped | failed |
| --- | --- | --- | --- | --- |
| 369 | 22 | 82 | 37 | 5 |

In all five failed runs, the module was \`oidcc-discovery-endpoint-verification\` of the Dynamic profile, which requires implicit response types. [Run the suite](#run-the-suite) shows the configuration.

**With our own tests, in every \`npm test\`.** [server/test/certification](../server/test/certification) contains our own version of every module of the eight plans below. Each module runs against the real program, with an https issuer and a new database. It uses the pages like a browser without scripts. It makes the same checks as the suite: of response parameters, ID tokens, UserInfo, keys, metadata and headers.

\`\`\`sh
npm test -- server/test/certification
\`\`\`

A module has one of four results: it **passes**, gives a **warning** (the provider does not follow a recommendation), is **skipped** (the provider lacks an optional feature), or **fails**. Only a failure prevents certification. [plans.ts](../server/test/certification/plans.ts) lists the modules of each plan. [planned_modules.ts](../server/test/certification/planned_modules.ts) says what each module checks, and which result we expect. The tests fail if a result is worse or better than expected.

The table shows the results for each plan. The column "run with" has the variants of the plan: how clients are added, how they authenticate, and the response mode.

${summary()}

We have not yet run the suite's FAPI 2.0 plans against this version. Our own tests contain all modules of these plans for the variants \`plain_fapi\` and \`openid_connect\`. The program runs with the [FAPI 2.0 profile](fapi.md), and serves https itself. The column "run with" has the variants of the plan: how clients authenticate, how tokens are bound, and the form of requests and of responses.

${fapiSummary()}

In our own tests, these modules do not pass:

${notes()}

grantd returns no implicit responses, so it cannot pass the Dynamic profile. All other modules of that plan run with the response type \`code\`.

## Limits of our own run

Our own tests differ from the suite in these points:

- **Pages.** In the suite, a person reviews screenshots. Our modules read the HTML.
- **TLS.** The suite tests TLS versions and ciphers. Our FAPI 2.0 modules test the versions but not the ciphers. Our other modules do not test TLS.
- **Registration.** If a plan allows static and dynamic clients, our tests use \`dynamic_client\`, because this variant has the most modules. In the two logout plans, they use a static client.
- **Waiting.** In the suite, \`oidcc-refresh-token-rp-key-rotation\` waits for 60 seconds until the provider fetches the client's keys again. Our module waits only for 10 seconds, because grantd fetches them again after this time.
- **The claim \`sid\`.** The suite's list of claims lacks \`sid\`, a registered claim of OpenID Connect Front-Channel Logout. The FAPI 2.0 module \`test-claims-parameter-identity-claims\` warns that the ID token has it. grantd keeps \`sid\` in the ID tokens of all clients, also of those without a back-channel logout URI: with it, a request to sign out names the session, and the user is signed out without a question.
- **FAPI 2.0.** Two modules wait until a code or a pushed request has expired. In our tests, these expire after ${LIFETIME} seconds, so that the modules need not wait for a minute. The API that these plans call is grantd's UserInfo. Our tests serve it on another port than 443, so each DPoP proof must contain the port.

## Run the suite

This server configuration works for all OpenID Connect plans. The suite must reach the server at its https issuer, and the server must reach the suite.

\`\`\`json
${jsonText({ issuer: ISSUER, database: 'sqlite:/var/lib/grantd/grantd.db', ...SETTINGS })}
\`\`\`

| setting | why |
| --- | --- |
| \`registration\` | The suite registers its clients itself. The Dynamic plan needs this. |
| \`registrationInsecureAllowMissingPkce\` | Nearly all modules omit PKCE. For static clients, the flag \`--insecure-allow-missing-pkce\` has the same effect. |
| \`registrationAssertionAudience\` | Clients of the Dynamic plan sign assertions with the token endpoint as audience. By default, grantd requires the issuer. |
| \`"insecureDevelopment": true\` | Add this if the suite has a private address, such as that of your own machine. Otherwise grantd does not fetch keys of clients and other documents from there. |

Do not use these settings on any other server.

Add a user with every standard claim. Otherwise the modules about scopes end with a warning:

\`\`\`sh
${personCommand('certified').map(quote).join(' ').replace(/^/, 'echo "correct horse battery" | npx grantd ')}
\`\`\`

In the suite, create a plan with this configuration. Its clients register themselves:

\`\`\`json
${jsonText(planConfiguration())}
\`\`\`

With the member \`browser\`, the suite opens grantd's pages itself and fills them in, so you need no browser. The ids of fields and buttons do not change between versions. Note the following:

- At a second sign-in (\`oidcc-prompt-login\`, \`oidcc-max-age-1\`), the username is read-only. The selector \`:not([readonly])\` and \`optional\` make the suite skip this field.
- After an error or a sign-out, grantd does not redirect to a self-registered client, but shows a page with a link ([ADR 38](adr/0038-browsers-return-to-unchecked-clients-by-a-link.md)). The task with \`leave\` follows this link. grantd redirects errors only in frames, which the suite does not use.
- The pages do not show the logos of self-registered clients, so the screenshot for \`oidcc-registration-logo-uri\` shows no logo.
- If a module requests a screenshot, upload one. To automate this, add an entry for the module to the member \`override\` of the configuration.

Every plan except the Dynamic plan can also run with static clients (\`static_client\`). Add two such clients. Their redirect URIs contain the \`alias\` of the configuration:

\`\`\`sh
${['suite', 'suite-2'].map((id) => `echo "$SECRET" | npx grantd ${clientCommand(id, SUITE).map(quote).join(' ')}`).join('\n')}
\`\`\`

In the configuration of the plan, replace \`client\` and \`client2\` by these members:

\`\`\`json
${jsonText(staticClients())}
\`\`\`

These clients may send their secret in the header or in the form. Therefore the configuration uses the first client also for \`client_secret_post\`.

For the RP-Initiated Logout plan, register no back-channel logout URI for these clients. The suite does not expect logout messages in this plan, so five modules would fail. For the Back-Channel plan, add a back-channel logout URI:

\`\`\`sh
npx grantd ${backChannelCommand('suite', SUITE).map(quote).join(' ')}
\`\`\`

In the suite's menu, choose these variants for each plan:

| plan | choose |
| --- | --- |
${PLANS.map(({ name, menu }) => `| \`${name}\` | ${menu} |`).join('\n')}

While the modules run:

- The module \`oidcc-server-rotate-keys\` waits until you rotate the keys with \`npx grantd keys rotate --algorithm RS256\`. If the command says that clients may not know the next keys yet, add \`--now\`. Without \`--algorithm\`, the command may create an Ed25519 key, which the module does not support.
- If you omit the member \`browser\`, the suite shows the URLs of each module, and you open them in your own browser. Use a new private window for each module, and the same window for all URLs of the module. In a window with the session cookie of an earlier module, grantd shows no sign-in page, so \`oidcc-prompt-none-not-logged-in\` fails, for example.

## Run the FAPI 2.0 plans

Start the server with the FAPI 2.0 profile, and with a second port for client certificates ([guide](bound_tokens.md#with-a-certificate)):

\`\`\`json
${jsonText(FAPI_SETTINGS)}
\`\`\`

For \`fapi2-message-signing-final-test-plan\`, set the profile to \`fapi2-message-signing\`. Add the user as [for the other plans](#run-the-suite), and two clients. Each client has its own RSA key with \`alg\` \`PS256\`. The file in \`--jwks-file\` contains the public keys, and the configuration of the suite contains the private keys. For the variants \`private_key_jwt\` and \`dpop\`, add these clients:

\`\`\`sh
${([1, 2] as const).map((number) => `npx grantd ${bankCommand(`suite-${number}`, SUITE, DPOP, number).map(quote).join(' ')}`).join('\n')}
\`\`\`

For the variants in which client authentication and sender constraining are both \`mtls\`, add these clients instead:

\`\`\`sh
${([1, 2] as const).map((number) => `npx grantd ${bankCommand(`suite-${number}`, SUITE, MTLS, number).map(quote).join(' ')}`).join('\n')}
\`\`\`

Create a plan with the following configuration. Adapt it to your variant:

- **Without \`mtls\`**: omit the members \`mtls\` and \`mtls2\`.
- **With \`mtls\`**, for client authentication, sender constraining or both: set \`resourceUrl\` to \`${ISSUER}:${FAPI_SETTINGS.mtlsPort}/userinfo\`. The server requests client certificates only at this port.

\`\`\`json
${jsonText(fapiConfiguration())}
\`\`\`

Also add the member \`browser\` from [the configuration of the other plans](#run-the-suite). In the suite's menu for the plan, choose \`plain_fapi\` and \`openid_connect\`. For Message Signing, also choose \`signed_non_repudiation\` and \`jarm\`.
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
    browser: BROWSER,
  };
}

const BROWSER = browserTasks(ISSUER, SUITE, { username: 'certified', password: 'correct horse battery' });

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
      tasks: [
        { task: 'Cancel', match: `${ISSUER}/login*`, commands: [['click', 'id', 'login-cancel']] },
        atSuite(SUITE),
      ],
    },
  ];
  // The module opens the same address twice, and signs in only the second time.
  const looksFirst = [
    {
      match: `${ISSUER}/authorize*`,
      'match-limit': 1,
      tasks: [{ task: 'Look', match: `${ISSUER}/login*`, commands: [['wait', 'id', 'login-submit', 10]] }],
    },
    BROWSER[0],
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
    override: {
      'fapi2-security-profile-final-user-rejects-authentication': { browser: cancels },
      'fapi2-security-profile-final-par-ensure-reused-request-uri-prior-to-auth-completion-succeeds': {
        browser: looksFirst,
      },
    },
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

function quote(word: string): string {
  return /^[\w./:=@+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
