import { readFileSync } from 'node:fs';

const FOLDER = 'examples/migration_from_oauth2_server';

/** `docs/migration.md`, with the code of the examples, which is tested. */
export function migrationPage(): string {
  return `# Come from another library

Let grantd answer introspection, revocation and UserInfo for the tokens that your present library issues. Your tables and clients stay as they are, and your library continues to issue tokens. Later, you can [move the issuance to grantd](#move-issuance-from-jmondioauth2-server) too.

You need your tables, the key or secret that signs your JWTs, and [the library](library.md#install).

## Keep only these endpoints

You write a storage over your tables with the methods that these endpoints need. This page has one for each of four libraries. [Its tests](../examples/test/coming_from.test.ts) issue tokens with the library itself. grantd and the library then agree which tokens are active, whichever of them revokes.

| library | access tokens | refresh tokens | client secrets |
| --- | --- | --- | --- |
| [@jmondi/oauth2-server](#jmondioauth2-server) 4.3.7 | JWTs with \`typ: JWT\`. The row has their \`jti\`. | JWTs with \`typ: JWT\`. The row has their \`refresh_token_id\`. With \`useOpaqueRefreshTokens\`, opaque. | as your tables have them, here as text |
| [oidc-provider](#oidc-provider) 9 | opaque | opaque | text |
| [@node-oauth/oauth2-server](#node-oauthoauth2-server) 5 | opaque. JWTs if your model has \`generateAccessToken\`. | opaque | as your tables have them, here as scrypt hashes |
| [better-auth](#better-auth) 1.7 with @better-auth/oauth-provider | opaque. The row has their SHA-256 digest. | opaque. The row has their SHA-256 digest. | SHA-256 digests |

Pass the storage to the server, and mount it as on [the page for your framework](hosts.md):

${code('../coming_from/host.ts')}

| option | set it if |
| --- | --- |
| \`jwtService\` | your tokens are JWTs. \`jwtVerifier()\` takes the keys that signed them. |
| \`insecureAllowGenericJwts\` | your access tokens have \`typ: JWT\` or no \`typ\`. Without it, UserInfo accepts only \`at+jwt\`. |
| \`issuer\` | always: it is the \`iss\` of your tokens. UserInfo refuses JWTs without \`iss\`. |

Then check: introspect a token of your library at grantd. If the response is \`{"active":false}\`, the event \`inactive\` of the option \`onEvent\` has the reason.

### @jmondi/oauth2-server

Set the library's option \`issuer\` to the issuer of grantd, so that new tokens have \`iss\`. If its option \`useOpaqueRefreshTokens\` is on, pass the same option to this function.

${code('../coming_from/jmondi.ts')}

### oidc-provider

The storage calls the models of your provider, so it works with every adapter. Your provider needs no options.

${code('../coming_from/oidc_provider.ts')}

- JWTs for APIs (\`accessTokenFormat: 'jwt'\`) have no row, so they cannot be revoked. grantd calls them inactive. Your APIs continue to verify them.
- If clients have the subject type \`pairwise\`, return their identifier of the user as \`claims: { sub }\`.

### @node-oauth/oauth2-server

Your model defines the tables. Change the names of the columns, and the check of client secrets.

${code('../coming_from/node_oauth.ts')}

If your \`generateAccessToken\` makes JWTs, sign \`iss\`, \`sub\` and \`exp\` into them. Set \`typ: at+jwt\`, or \`insecureAllowGenericJwts\`.

### better-auth

Pass \`(await auth.$context).adapter\`. The issuer of grantd is the base URL with its path, such as \`https://login.example/api/auth\`.

${code('../coming_from/better_auth.ts')}

- JWTs for a \`resource\` have no row, so they cannot be revoked. grantd calls them inactive.
- A \`prefix\`, \`storeTokens\` or \`storeClientSecret\` of your own needs the same change in this storage.
- If clients have the subject type \`pairwise\`, return their identifier of the user as \`claims: { sub }\`.

### For every library

- Clients authenticate with a secret, or are public (\`none\`). \`private_key_jwt\` also needs \`oneTimeIdentifiers\` in the storage.
- UserInfo refuses tokens that are bound to a key, because DPoP also needs \`oneTimeIdentifiers\`.
- oidc-provider and better-auth revoke several rows without a transaction, and so do these storages. If a client refreshes at the library during a revocation, its new tokens can survive.
- If JWTs and opaque tokens are in one table, \`keyedBy\` names the opaque kinds. Otherwise anyone who knows a \`jti\` could use it as a token ([ADR 144](adr/0144-hosts-name-the-kinds-of-opaque-tokens.md)).

## Move issuance from @jmondi/oauth2-server

Replace [@jmondi/oauth2-server](https://tsoauth2server.com) with grantd, and **keep the tokens that it issued**. You can still introspect and revoke these tokens. UserInfo accepts old access tokens with the scope \`openid\`. When a client uses an old refresh token, it gets tokens of grantd. You write fewer than 60 lines of code, besides the storage.

First read [what changes for clients](../${FOLDER}/README.md#what-changes) and [what is not kept](../${FOLDER}/README.md#what-is-not-kept), such as opaque refresh tokens.

The code below is from [an example that runs](../${FOLDER}). [Its tests](../examples/test/migration.test.ts) issue tokens with version 4.3.7 of the old server, and introspect them at grantd.

### 1. Describe the old tokens

With the option \`previousServer\`, grantd recognises tokens of a previous server and finds their rows ([ADR 33](adr/0033-tokens-of-a-previous-server-keep-working.md)). The storage of grantd needs the method \`getPrincipalState\`, which the stores of the library have.

| member | purpose |
| --- | --- |
| \`jwtService\` | Verifies old tokens. grantd never signs with its keys. |
| \`issuer\` | The \`iss\` of old tokens, if it differs from the issuer of grantd. |
| \`tokens\` | The tokens of [the storage above](#jmondioauth2-server), with \`identify\`. All JWTs of the old server have \`typ: JWT\`, so \`identify\` derives the kind and the key of a token from its claims. Rows of access tokens have \`refreshTokenId\`: the key of the refresh token that was issued with it. |

The clients move to the tables of grantd:

${code('old_clients.ts')}

### 2. Write the host

${code('host.ts')}

### 3. Switch over

1. Introspect an old token at the new host. If the response is \`{"active":false}\`, \`OLD_SECRET\` may be wrong.
2. Route \`/token\` to grantd. Keep \`/authorize\` as a page of your application, but validate and complete its requests with grantd, as in [express_with_users](../examples/express_with_users/host.ts).
3. Remove the option \`previousServer\` when the last old refresh token has expired.

### Extra token fields

If your old \`JwtService\` has \`extraTokenFields\`, declare the same claims with [\`applicationClaims\`](application_claims.md). New tokens then contain these claims, and introspection returns them for old and new tokens. The old tokens themselves do not change.

${code('../test/extra_token_fields.ts')}

In \`host.ts\`, pass the result of this function to the server: \`applicationClaims: applicationClaims({ clients, tokens, users })\`. If only some APIs or scopes need a field, add \`apis\` or \`scopes\` to its declaration.

Next: [hosts for your framework](hosts.md), [protect an API](resource_servers.md), [the library](library.md).
`;
}

function code(file: string): string {
  return `\`\`\`ts\n${readFileSync(`${FOLDER}/${file}`, 'utf8').trimEnd()}\n\`\`\``;
}
