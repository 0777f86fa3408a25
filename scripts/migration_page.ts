import { readFileSync } from 'node:fs';

const FOLDER = 'examples/migration_from_oauth2_server';

/** `docs/migration.md`, with the code of the example, which is tested. */
export function migrationPage(): string {
  return `# From @jmondi/oauth2-server to grantd

An application that ran [@jmondi/oauth2-server](https://tsoauth2server.com) moves to grantd, and **the tokens that were issued before go on working**: they introspect as active, UserInfo answers for those with \`openid\`, they can be revoked, and a refresh token is exchanged for tokens of grantd. [The example](../${FOLDER}) does it in less than 60 lines; [tests](../examples/test/migration.test.ts) let the old server (4.3.7) issue tokens at its own endpoint, and ask grantd about them. [What changes for clients](../${FOLDER}/README.md#what-changes) is on its page.

## 1. What the old rows are

The option \`formerTokens\` of \`AuthorizationServer\` says how tokens of a server that was here before are known, and where they are kept; the storage needs \`getPrincipalState\`, which the library's stores have; [why it is as it is](adr/0033-tokens-of-a-former-server.md).

- \`keys\`: what checks their signatures, each key with the one algorithm that it is for. A secret is never tried with RS256, nor a public key with HMAC, and none of them signs.
- \`identify\`: which token a JWT is. To the old server all were of \`typ\` \`JWT\`: an access token has a \`jti\`, a refresh token has \`refresh_token_id\`, a code neither.
- \`find\`: its row. A row of the old server is a pair; \`undefined\` is that there is none, and only that: a look-up that throws is an outage, and is answered by 503. The old \`getBy…\` throw in both cases, so they are of no use here.
- \`revoke\`: ends the row, as the old server did.

${code('old_records.ts')}

## 2. The host

${code('host.ts')}

Send \`/token\` to grantd. Where people sign in to clients, \`/authorize\` stays a page of the application, which validates and completes requests by grantd: [express_with_users](../examples/express_with_users/host.ts) has one. Try an old token before the switch: with a wrong \`OLD_SECRET\` none of them verifies, and each is \`{"active":false}\`. Take the option away again when the last old refresh token is over.

## 3. Extra token fields

If your old \`JwtService\` had \`extraTokenFields\`, declare the same claims with [\`applicationClaims\`](application_claims.md). Old tokens keep their fields; introspection answers the ones that you declare.

${code('../test/extra_token_fields.ts')}

In \`host.ts\`, pass it to the server as \`applicationClaims: applicationClaims({ clients, tokens, users })\`. If a field is for some APIs or scopes only, add \`apis\` or \`scopes\` to its declaration.
`;
}

function code(file: string): string {
  return `\`\`\`ts\n${readFileSync(`${FOLDER}/${file}`, 'utf8').trimEnd()}\n\`\`\``;
}
