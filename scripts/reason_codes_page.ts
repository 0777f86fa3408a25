import { ERROR_STATUS, INACTIVE_REASONS, REFUSAL_REASONS } from '../core/src/http/errors.ts';
import { PAGE_REASONS } from '../server/src/log/page_events.ts';

/** The page of every reason code of an inactive token, a refusal and a page. */
export function reasonCodesPage(): string {
  const table = (reasons: Readonly<Record<string, string>>) =>
    `| code | meaning |\n| --- | --- |\n${Object.entries(reasons)
      .map(([code, meaning]) => `| \`${code}\` | ${meaning} |`)
      .join('\n')}`;
  const errors = Object.entries(ERROR_STATUS).map(([code, status]) => `| \`${code}\` | ${status} |`);
  return `# Reason codes

A reason code says why a token is inactive, or why an endpoint or a page rejected a request. Reason codes do not change
between versions.

Reason codes are for operators. They appear in the log, in the output of \`grantd token explain\`, and in the events that the
library passes to the option \`onEvent\`. Clients and users do not see them: the responses that they get contain only
[error codes](#error-codes-in-responses).

## Why a token is inactive

${table(INACTIVE_REASONS)}

The log contains these codes in two events:

- If introspection returns \`{"active":false}\`, the log has the event \`inactive\` with one of these codes.
- If the server ignores a request to revoke a token, the log has the event \`revocation_ignored\`. It contains one of these
  codes. If the token or authorization code was issued to a different client, it contains \`token_foreign\` or
  \`code_foreign\` from the next table.

## Why a request was refused

${table(REFUSAL_REASONS)}

If an endpoint rejects a request, the log has the event \`refused\` with a code from this table. If the request was rejected
because of an inactive token, the code is from [the table of inactive tokens](#why-a-token-is-inactive). The event also
contains the \`error\` and the HTTP status of the response.

## Why a page stopped a request

These codes are about the pages in the browser, such as the sign-in page. The log contains them in the event \`refused\` of
the page.

${table(PAGE_REASONS)}

## Error codes in responses

The member \`error\` of an error response has one of these codes. The standards define their meaning. The table shows the
usual HTTP status of each code. In some cases, a response has another status.

Three error codes have the same name as a reason code: \`consent_required\`, \`interaction_required\` and
\`account_selection_required\`.

| error | status |
| --- | --- |
${errors.join('\n')}
`;
}
