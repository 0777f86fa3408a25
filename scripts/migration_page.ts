import { readFileSync } from 'node:fs';

const FOLDER = 'examples/migration_from_oauth2_server';

/** `docs/migration.md`, with the code of the example, which is tested. */
export function migrationPage(): string {
  return `# Move from @jmondi/oauth2-server

Replace [@jmondi/oauth2-server](https://tsoauth2server.com) with grantd, and **keep the tokens that it issued**. You can still introspect and revoke these tokens. UserInfo accepts old access tokens with the scope \`openid\`. When a client uses an old refresh token, it gets tokens of grantd. You write fewer than 60 lines of code.

You need your tables, the key or secret that signed the old tokens, and [the library](library.md#install). First read [what changes for clients](../${FOLDER}/README.md#what-changes) and [what is not kept](../${FOLDER}/README.md#what-is-not-kept), such as opaque refresh tokens.

The code below is from [an example that runs](../${FOLDER}). [Its tests](../examples/test/migration.test.ts) issue tokens with version 4.3.7 of the old server, and introspect them at grantd.

## 1. Describe the old rows

With the option \`previousServer\`, grantd recognises tokens of a previous server and finds their rows ([ADR 33](adr/0033-tokens-of-a-previous-server-keep-working.md)). The storage needs the method \`getPrincipalState\`, which the stores of the library have.

| member | purpose |
| --- | --- |
| \`keys\` | The keys and secrets that verify old tokens, each with its algorithm. grantd never signs with them. |
| \`identify\` | All JWTs of the old server have \`typ: JWT\`, so this function derives the kind and identifier of a token from its claims. An access token has \`jti\`, a refresh token has \`refresh_token_id\`, and a code has neither. |
| \`find\` | Returns the row of a token, or \`undefined\` if the token has no row. If \`find\` throws, the response is 503. Do not use the old \`getBy…\` methods in it, because they also throw for a missing row. |
| \`revoke\` | Revokes the row in the same way as the old server. |

${code('old_records.ts')}

## 2. Write the host

${code('host.ts')}

## 3. Switch over

1. Introspect an old token at the new host. If the response is \`{"active":false}\`, \`OLD_SECRET\` may be wrong.
2. Route \`/token\` to grantd. Keep \`/authorize\` as a page of your application, but validate and complete its requests with grantd, as in [express_with_users](../examples/express_with_users/host.ts).
3. Remove the option \`previousServer\` when the last old refresh token has expired.

## Extra token fields

If your old \`JwtService\` has \`extraTokenFields\`, declare the same claims with [\`applicationClaims\`](application_claims.md). New tokens then contain these claims, and introspection returns them for old and new tokens. The old tokens themselves do not change.

${code('../test/extra_token_fields.ts')}

In \`host.ts\`, pass the result of this function to the server: \`applicationClaims: applicationClaims({ clients, tokens, users })\`. If only some APIs or scopes need a field, add \`apis\` or \`scopes\` to its declaration.

Next: [hosts for your framework](hosts.md), [protect an API](resource_servers.md), [the library](library.md).
`;
}

function code(file: string): string {
  return `\`\`\`ts\n${readFileSync(`${FOLDER}/${file}`, 'utf8').trimEnd()}\n\`\`\``;
}
