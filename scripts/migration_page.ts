import { readFileSync } from 'node:fs';

const FOLDER = 'examples/migration_from_oauth2_server';

/** `docs/migration.md`, with the code of the example, which is tested. */
export function migrationPage(): string {
  return `# Move from @jmondi/oauth2-server

Replace [@jmondi/oauth2-server](https://tsoauth2server.com) with grantd, and **keep the tokens that it issued**. They introspect as active, UserInfo answers those with \`openid\`, and they can be revoked. A refresh token is exchanged for tokens of grantd. Your own code has less than 60 lines.

You need your tables, the key or secret that signed the old tokens, and [the library](library.md#install). The code is from [an example that runs](../${FOLDER}); [its tests](../examples/test/migration.test.ts) let version 4.3.7 of the old server issue tokens, and ask grantd about them. Read [what changes for clients](../${FOLDER}/README.md#what-changes) first.

## 1. Describe the old rows

The option \`formerTokens\` recognises tokens of a previous server and finds their rows ([ADR 33](adr/0033-tokens-of-a-previous-server-keep-working.md)). The storage needs \`getPrincipalState\`, which the stores of the library have.

| member | purpose |
| --- | --- |
| \`keys\` | Check signatures, each key with one algorithm. A secret is never used for RS256, nor a public key for HMAC. No key signs. |
| \`identify\` | Tells the kind of a JWT. The old server gave all of them \`typ: JWT\`: an access token has \`jti\`, a refresh token \`refresh_token_id\`, and a code neither. |
| \`find\` | Returns the row of a token, or \`undefined\` if there is none. An error is an outage and becomes 503. The old \`getBy…\` methods throw in both cases, so do not use them. |
| \`revoke\` | Ends the row, as the old server did. |

${code('old_records.ts')}

## 2. Write the host

${code('host.ts')}

## 3. Switch over

1. Introspect an old token at the new host. With a wrong \`OLD_SECRET\` no old token verifies, and each is \`{"active":false}\`.
2. Send \`/token\` to grantd. Keep \`/authorize\` as a page of your application, which validates and completes requests with grantd, as in [express_with_users](../examples/express_with_users/host.ts).
3. Remove the option when the last old refresh token has expired.

## Extra token fields

If your old \`JwtService\` has \`extraTokenFields\`, declare the same claims with [\`applicationClaims\`](application_claims.md). Old tokens keep their fields, and introspection returns the declared ones.

${code('../test/extra_token_fields.ts')}

In \`host.ts\`, pass it to the server as \`applicationClaims: applicationClaims({ clients, tokens, users })\`. If a field is for some APIs or scopes only, add \`apis\` or \`scopes\` to its declaration.
`;
}

function code(file: string): string {
  return `\`\`\`ts\n${readFileSync(`${FOLDER}/${file}`, 'utf8').trimEnd()}\n\`\`\``;
}
