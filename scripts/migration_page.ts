import { readFileSync } from 'node:fs';

const FOLDER = 'examples/migration_from_oauth2_server';

/** `docs/migration.md`, with the code of the example, which is tested. */
export function migrationPage(): string {
  return `# From @jmondi/oauth2-server to grantd

An application that ran [@jmondi/oauth2-server](https://tsoauth2server.com) moves to grantd, and **the tokens that were issued before go on working**: they introspect as active, UserInfo answers for those with \`openid\`, they can be revoked, and a refresh token is exchanged for tokens of grantd. [The example](../${FOLDER}) does it in three steps; a [test](../examples/test/migration.test.ts) lets the old server (4.3.7) issue tokens at its own endpoint, and asks grantd about them. [What changes for clients](../${FOLDER}/README.md#what-changes) is on its page.

## 1. The old rows, as grantd's records

A row of the old server is a pair. Its identifiers are what the old JWTs carry: \`jti\` in the access token, \`refresh_token_id\` in the refresh token. \`find\` is a look-up that answers \`undefined\` where there is no row: the old repositories throw there, as they do where the database is away, and that must not look like an answer.

${code('old_tokens.ts')}

[former_tokens.ts](../${FOLDER}/former_tokens.ts) puts them behind [the storage contract](../core/src/storage/contract.ts), beside grantd's own tables.

## 2. The old signatures

grantd asks a \`JwtService\` whether a JWT is its own. This one asks grantd's keys first, and after them the old key, with the one algorithm that it is for: a secret is never tried with RS256, nor a public key with HMAC. It signs nothing.

${code('old_signatures.ts')}

## 3. The server

${code('new_server.ts')}

Register the clients once ([import_clients.ts](../${FOLDER}/import_clients.ts)), send \`/token\` to grantd, and take the three files away again when the last old refresh token is over.
`;
}

function code(file: string): string {
  return `\`\`\`ts\n${readFileSync(`${FOLDER}/${file}`, 'utf8').trimEnd()}\n\`\`\``;
}
