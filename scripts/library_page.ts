import { readFileSync } from 'node:fs';

/** `docs/library.md`, with the code of the examples, which are tested. */
export function libraryPage(): string {
  return `# Embed grantd in your application

Add the endpoints of an authorization server to your application. An application that embeds the library is called a host. It runs on Node 22.18 or later, Bun, Deno or workerd ([tested versions](runtimes.md)).

| your application | start with |
| --- | --- |
| already issues tokens, and needs introspection, revocation and UserInfo for them | [I have my own tokens](#i-have-my-own-tokens) |
| needs tokens | [grantd issues the tokens](#grantd-issues-the-tokens) |

To use grantd's own pages and users, [embed the program](embedding.md) instead.

## Install

The package is not on npm yet. Build it in this repository. If \`npm start\` runs there, stop it first:

\`\`\`sh
npm run build
npm pack ./core/dist    # makes grantd-core-VERSION.tgz
\`\`\`

Install this archive in your application. In a new folder, run \`npm init --yes\` first. The code in these pages is written as ES modules. CommonJS modules can load the library with \`require\`.

\`\`\`sh
npm pkg set type=module
npm install PATH/grantd-core-VERSION.tgz
\`\`\`

\`node --version\` must print v22.18 or later: earlier versions do not run TypeScript files, and cannot load \`node:sqlite\`.

If you check types, use TypeScript 5.6 or later with a current \`@types/node\`, and set \`"module": "nodenext"\` in \`tsconfig.json\`, or \`"moduleResolution": "bundler"\`. Imports such as \`./sqlite.ts\` need \`"allowImportingTsExtensions": true\` and \`"noEmit": true\`.

[The package](../core/README.md) lists what it depends on.

## I have my own tokens

In ten minutes, your tokens can be introspected and revoked, and your users' claims can be read. The host below has 40 lines with its SQL. Your application continues to issue the tokens, and its tables stay as they are.

You need [the package](#install), tables with your clients and tokens, and the public key that verifies your JWTs. The code uses two more packages:

\`\`\`sh
npm install bcryptjs jose
\`\`\`

### 1. Have a token

If you already have a token, go to step 2. To try the host without an application, save this program as \`application.ts\`. It creates tables and a key, and issues an access token and a refresh token:

${code('application.ts')}

\`\`\`sh
node application.ts > tokens.env
\`\`\`

### 2. Write the host

Save this file as \`sqlite.ts\`. If your database is PostgreSQL, take [postgres.ts](../examples/three_endpoints/postgres.ts) or, with Drizzle, [drizzle.ts](../examples/three_endpoints/drizzle.ts). They read \`DATABASE_URL\`, and need \`npm install pg\`, and \`drizzle-orm\` for Drizzle.

${code('sqlite.ts')}

Replace what is different in your application:

- **The SQL.** Name the columns as [the members of a record](#what-a-record-contains). If your table has only digests of refresh tokens, or access tokens are opaque too, see [forms of tokens](#forms-of-tokens).
- **The issuer**, which is the claim \`iss\` of your JWTs. The endpoints are below its path, so mount them at the root of your application.
- **\`getUserClaims\`**, which returns an object with [claims](https://openid.net/specs/openid-connect-core-1_0.html#StandardClaims), or \`undefined\` for an unknown user. UserInfo needs a token with the scope \`openid\`, and returns only the claims that its scopes permit.
- **The key.** [Keys](#keys) lists the forms.
- **\`verifySecret\`**, if your secrets are not hashed by bcrypt ([others](#secrets-of-clients)).

Then save the file for your framework, in the same folder.

\`node:http\`, as \`node.ts\`:

${code('node.ts')}

Express, as \`express.ts\`, after \`npm install express\`:

${code('express.ts')}

Hono, as \`hono.ts\`, after \`npm install hono @hono/node-server\`:

${code('hono.ts')}

Next.js, as \`app/[...endpoint]/route.ts\`:

${code('app/[...endpoint]/route.ts')}

Next.js makes its own \`tsconfig.json\`. Add \`"allowImportingTsExtensions": true\` to it. [Hosts](hosts.md) has the code for other frameworks. Start the host:

\`\`\`sh
node node.ts
\`\`\`

### 3. Check

In a second terminal, introspect a token, read the claims of its user, and revoke it:

\`\`\`console
$ . ./tokens.env
$ curl -s -u my-app:its-secret -d token=$ACCESS_TOKEN http://localhost:3000/token/introspect
{"active":true,"scope":"openid email","client_id":"my-app","exp":1795902199,"iat":1795898599,"sub":"7","iss":"http://localhost:3000","jti":"2d88c7df-9103-453f-ac5a-a8475edeb03e"}
$ curl -s -H "Authorization: Bearer $ACCESS_TOKEN" http://localhost:3000/userinfo
{"email":"alice@example.com","sub":"7"}
$ curl -s -u my-app:its-secret -d token=$REFRESH_TOKEN http://localhost:3000/token/revoke
$ curl -s -u my-app:its-secret -d token=$ACCESS_TOKEN http://localhost:3000/token/introspect
{"active":false}
\`\`\`

If a token of yours is inactive and should not be, this line says why:

\`\`\`ts
console.log(await server.operator.explainToken('eyJ…'));
\`\`\`

### What the storage has

| method | required |
| --- | --- |
| \`clients.get\`, \`tokens.getByAccessToken\`, \`tokens.revoke\` | always |
| \`clients.verifySecret\` | if clients have secrets that you hashed |
| \`tokens.getByRefreshToken\`, \`tokens.isRefreshTokenRevoked\` | both, if you have refresh tokens |
| \`tokens.isAccessTokenRevoked\` | if \`revoke\` sets a column of your own. **Without it, revoked access tokens stay active.** |

If \`revoke\` deletes the row, sets its expiry to 0, or sets a column that you return as \`revokedAtMs\`, the lookup alone decides. Then you can leave out \`isAccessTokenRevoked\`, and \`isRefreshTokenRevoked\` is \`() => false\`.

### What a record contains

Lookups return a row with these members, or \`undefined\` if there is none. A member that is \`null\` is absent. The server ignores other members, and passes the same object to \`revoke\`, \`isAccessTokenRevoked\` and \`isRefreshTokenRevoked\`.

| token | value |
| --- | --- |
| \`clientId\` | required: the identifier with which the client authenticates, as \`clients.get\` takes it |
| \`scopes\` | required: a text with spaces in between, or a list |
| \`expiresAt\` | required: when the token expires. Zero means revoked. A JWT also ends at its \`exp\`, which introspection returns. |
| \`subject\` | the user, as a text or an integer, for \`getUserClaims\`. Absent if the client acts for itself. Responses have the \`sub\` of the JWT, which may differ. |
| \`revokedAtMs\` | when the token was revoked. A token with it is inactive. \`revokedAt\`, in seconds, means the same. |
| \`issuedAtMs\` | when the token was issued. Introspection of an opaque token returns it as \`iat\`. |
| \`tokenType\` | \`Bearer\`. Introspection returns it as \`token_type\`. |
| \`claims\` | for an opaque token: claims that introspection returns, such as \`{ username: 'alice' }\` |
| \`digest\` | the SHA-256 digest of the whole token, in base64url. The server then accepts no other token with the same key. **Without it, a thief of your signing key can change the claims of a JWT**, such as \`sub\`. |

| client | value |
| --- | --- |
| \`id\` | required: a text or an integer |
| \`tokenEndpointAuthMethod\` | \`none\` for a public client, which has no secret. It can revoke its tokens, but not introspect. In SQL: \`CASE WHEN is_public THEN 'none' END AS tokenEndpointAuthMethod\`. |
| \`disabledAtMs\` | when the client was disabled. It can no longer authenticate, and its tokens are inactive. Or \`disabledAt\`, in seconds. |

Times can be what your driver returns: a number, a bigint, a text of digits (\`bigint\` of \`pg\`) or a \`Date\` (\`timestamptz\`). Numbers are in seconds for \`…At\` and in milliseconds for \`…Ms\`. A number in the other unit is a fault. Turn other texts into numbers in your SQL: \`unixepoch(expires) AS expiresAt\`, \`revoked_at * 1000 AS revokedAtMs\`.

### Forms of tokens

The server determines the kind of a token from the token itself, so clients need no hint. An unknown hint gets 400, unless the option \`ignoreUnknownTokenTypeHints\` is set.

| your token | a lookup gets | set |
| --- | --- | --- |
| JWT with \`typ: at+jwt\` or \`rt+jwt\` | its \`jti\` | nothing |
| JWT with \`typ: JWT\`, or without \`typ\`, as jose signs by default | its \`jti\` | \`digest\` in the record. The lookups of both kinds get the key. |
| JWT whose key is another claim, or whose record has no digest | what \`identify\` returns | \`tokens.identify\`, such as \`({ jti }) => ({ kind: 'access_token', key: jti })\`. Its second argument is the JWT. |
| opaque token, stored as its SHA-256 digest | the digest, in base64url. For hex, write \`Buffer.from(digest, 'base64url').toString('hex')\`. | nothing, or \`keyedBy: 'digest'\` if all tokens are opaque |
| opaque token, stored as it is | the token | \`keyedBy: { refresh_token: 'token' }\`, or \`keyedBy: 'token'\` if all tokens are opaque. Anyone with access to the table can use the tokens. |

An opaque token is looked up as a refresh token first, then as an access token. If \`keyedBy\` names kinds, it is looked up only as these kinds.

A JWT needs the claims \`iss\` and, if its record has a subject, \`sub\`. Without \`exp\`, \`expiresAt\` alone decides, and UserInfo refuses the token. UserInfo accepts only \`at+jwt\` and opaque tokens. For other JWTs, set \`insecureAllowGenericJwts\`, unless \`identify\` could mistake an ID token for an access token.

### Keys

\`jwtVerifier\` makes the \`jwtService\` of a host that signs its tokens itself:

| your key | write |
| --- | --- |
| PEM | \`jwtVerifier(await importSPKI(pem, 'ES256'))\` |
| JWK set | \`jwtVerifier({ keys: [jwk] })\` |
| URL of a JWK set | \`jwtVerifier(createRemoteJWKSet(new URL('https://login.example.com/jwks')))\` |
| shared secret of at least 32 bytes | \`jwtVerifier([{ algorithm: 'HS256', secret }])\` |
| none: all tokens are opaque | no \`jwtService\`, but \`keyedBy\` |

### Secrets of clients

\`verifySecret\` gets the client that \`get\` returned, and the secret of the request. Only \`true\` accepts the secret, and the console shows any other value than \`false\` once. For an unknown client, it gets \`undefined\` and its result does not count. Let it take as long as for a known one, otherwise the time reveals which clients exist.

| stored as | verify it with |
| --- | --- |
| bcrypt | \`compare\` of bcryptjs, as above |
| argon2 | [\`verifyArgon2\`](../examples/three_endpoints/argon2.ts), which needs no package on Node 24.7 or later, or \`verify\` of the package argon2 |
| a digest | \`timingSafeEqual\` of \`node:crypto\` |

### Faults

- **A fault is never an answer.** If a lookup, \`verifySecret\` or \`revoke\` throws, or a record has a wrong value, the response is 503 with \`Retry-After\`. The console says which member was wrong. To log it yourself, set [\`onEvent\`](events.md).
- **Revoke before you return.** After \`revoke\` has resolved, no lookup may return the token as active. It revokes the access token with its refresh token, and with a refresh token every token of its grant. The code above does both, since all rows of a grant have the same \`grant_id\`.
- **No column for the grant?** Add one: the same text in all rows that come from one sign-in. With \`WHERE client_id = ? AND user_id = ?\`, a revocation would also end the user’s other sign-ins. If \`user_id\` is \`NULL\`, it would revoke nothing.
- **A key that cannot exist is not a fault.** Anyone can send any text as a token or client ID. On a column of type \`uuid\` or \`integer\`, PostgreSQL rejects other texts with an error. Do not ask the database for them: \`UUID.test(key) ? row(byRefreshToken, key) : undefined\`, with a \`UUID\` that accepts only lower case.
- **Give the database a deadline.** Otherwise requests wait for as long as it hangs.

The kit tests these rules with your tables. \`insertClient\` and \`insertRow\` are yours, as in [the tests of the hosts above](../examples/test/three_endpoints_kit.test.ts):

\`\`\`ts
import { test } from 'node:test';
import { storageKit } from '@grantd/core/kit';

const open = () => server.storage;
const registerClient = (_: unknown, { id }: { id: string }, secret: string) => insertClient(id, secret);
const insertToken = (_: unknown, token: object) => insertRow(token); // kind, key, clientId, subject, scopes …
for (const { title, run } of storageKit([]))
  test(title, () => run({ clock: { nowMs: 0 }, open, registerClient, insertToken }));
\`\`\`

## grantd issues the tokens

This host has all endpoints, with storage in SQLite and a client that gets tokens for itself. You need [the package](#install) and a secret. Save both files, and start the host:

\`\`\`sh
export GRANTD_SECRET="$(node -p 'crypto.randomUUID()')" # keep it: it encrypts the keys in tokens.db
node node.ts
\`\`\`

\`authorization_server.ts\`:

${code('../hosts/authorization_server.ts')}

\`node.ts\`, or [the file for your framework](hosts.md):

${code('../hosts/node.ts')}

Get a token, and introspect it:

\`\`\`sh
TOKEN=$(curl -s -u my-service:its%20secret -d grant_type=client_credentials -d scope=read http://localhost:3000/token | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')
curl -s -u my-service:its%20secret -d token=$TOKEN http://localhost:3000/token/introspect
\`\`\`

To try a host without installing the library, run it in this repository: \`npx node examples/hosts/node.ts\`.

### Sign users in on your own pages

\`\`\`mermaid
sequenceDiagram
  participant B as Browser
  participant A as Your application
  participant S as AuthorizationServer
  B->>A: GET /authorize
  A->>S: authorization.validate(request)
  S-->>A: checked
  A-->>B: your sign-in page
  B->>A: name and password
  A->>S: authorization.resume(checked.parameters)
  A->>S: authorization.complete(checked, { subject })
  S-->>A: redirect with a code
  A-->>B: redirect to the client
\`\`\`

The steps in the diagram, in code:

1. \`server.authorization.validate(request)\` checks the request to \`/authorize\`, and returns \`checked\`.
2. Show your sign-in and consent pages. Meanwhile, store \`checked.parameters\` where users cannot change them, for example in your session. When the user submits a page, pass them to \`server.authorization.resume(parameters)\`, which checks them again and returns a new \`checked\`.
3. \`server.authorization.complete(checked, { subject })\` returns the redirect with the code. \`server.authorization.refuse(checked, code, description)\` returns an error instead.

[An Express host](../examples/express_with_users/host.ts) does this in less than 60 lines.

### Devices without a browser

Command lines and television sets show a short code, and their user enters it in a browser elsewhere (RFC 8628). Set the option \`deviceAuthorization: deviceAuthorization()\`. The server then has \`POST /device_authorization\`, and clients with the grant type \`urn:ietf:params:oauth:grant-type:device_code\` can use it, also public clients without a redirect URI.

Your application serves the page \`/device\` (\`paths.device\`):

1. \`server.device.find(userCode)\` returns the request that waits with a code, or \`undefined\`. Limit the attempts for each user and each address.
2. Sign the user in. Then ask for consent, always, also if the code was part of the link. Show the client, what it requests, and from \`request.device\` when and where the request came from. Warn users of codes that they did not request themselves: attackers send theirs. For \`place\`, pass the option \`place\` to your adapter.
3. \`server.device.approve(request, { subject })\` or \`server.device.deny(request)\` ends the request. The device learns the result at its next poll. For a later page, keep \`request.parameters\`, and call \`server.device.resume(parameters)\`.

## What else you can add

| to | use |
| --- | --- |
| call an endpoint yourself | \`introspect\`, \`revoke\`, \`userInfo\`, \`token\`, \`pushAuthorizationRequest\`, \`register\`, \`configureClient\`, \`metadata\` and \`jwks\`. They take a request value and return a response value. If they throw an error, \`errorResponse\` turns it into a response value. |
| sign users in on devices without a browser | [the option \`deviceAuthorization\`](#devices-without-a-browser) |
| introspect, revoke or read claims without HTTP | \`server.introspectToken(token)\`, \`server.revokeToken(token)\`, \`server.userInfoOf(accessToken)\` |
| sign users out on your own page | \`logout.validate\` before the page, \`logout.complete\` after it, and \`logout.notify\` for each client of the session. Pass to \`logout.notify\` the \`sub\` and \`sid\` that this client received in its ID token: \`server.subjectIdentifier\` and \`server.sessionIdentifier\` return them. |
| let clients register themselves | the option \`registration\`. No operator has checked these clients, so \`errorResponse\`, \`authorization.refuse\` and \`logout.complete\` do not redirect the browser to them, except after an error in a frame. They return a page with a link that names the client's host. To show your own page, take the link from \`response.leaving\` ([ADR 38](adr/0038-browsers-return-to-unchecked-clients-by-a-link.md)). |
| fetch the documents that clients name (\`jwks_uri\`, \`request_uri\` …) | the option \`fetchDocument: documentFetcher()\` of \`@grantd/core/node\`. It connects to public addresses only. Without the option, the library fetches no documents. |
| delete expired rows | \`sweep(storage)\`, once a minute |
| log | the option \`onEvent\`. It receives every refusal, inactive token, revocation, successful request and fault. Without the option, faults go to \`console.error\`. |
| store in PostgreSQL | \`await openPostgresStorage({ pool, issuer })\` of \`@grantd/core/postgres\`, with \`new Pool({ pipeline: true })\` of \`pg\`. Add \`pool.on('error', …)\`. Without this handler, a lost connection ends your process. |
| store in your own tables | Implement [the storage contract](../core/src/storage/contract.ts), and check your storage with the tests in \`@grantd/core/kit\`. [Examples](../examples/storage/) use Kysely, Drizzle, Prisma and Redis. |
| put roles, groups or a tenant into tokens | [application claims](application_claims.md) |
| protect an API with the tokens | [\`@grantd/protect\`](../protect/README.md) |
| keep the tokens of a previous server | [\`previousServer\`](migration.md) |
| authenticate clients by certificates, and bind tokens to them | [\`clientCertificates\`](bound_tokens.md#with-a-certificate) |
| grant rights as JSON objects | [\`authorizationDetails\`](rich_authorization_requests.md) |

[Configuration](configuration.md#options-of-the-library) lists all options. [Public names](public_names.md) lists everything that the packages export.

Next: [the code for your framework](hosts.md), [storages of your own](../examples/storage/README.md), [protect an API](../protect/README.md).
`;
}

function code(file: string): string {
  return `\`\`\`ts\n${readFileSync(`examples/three_endpoints/${file}`, 'utf8').trimEnd()}\n\`\`\``;
}
