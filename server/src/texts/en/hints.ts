import type { MemberName } from '@grantd/core';
import { MEMBER_TEXTS } from '@grantd/core/options';

const OWN = {
  sign_in_policy: 'What a sign-in needs, if that is stricter than the server requires.',
  email: 'A new address is unverified, unless you also mark it as verified.',
  claims: 'A JSON object. Applications see what their scopes permit.',
  username: 'The user signs in with it.',
  client_id: 'The client sends it with its requests. It cannot be changed later.',
  client_name: 'Users see it.',
  redirect_uris: 'Where sign-ins may return.',
  post_logout_redirect_uris: 'Where the browser may return after a sign-out.',
  scope: 'Separated by spaces. The client can get these and no others.',
  scopes_of_apis: 'An access token is for an API only if the application has a scope of the API.',
  scope_name: 'One scope, as clients request it.',
  allowed_groups: 'Only members can use the client. Without any, everyone can.',
  apis: 'The APIs for which the client gets access tokens.',
  resource: 'The audience of its access tokens, such as https://api.example.com.',
  api_scopes: 'The scopes that belong to this API.',
  overlap:
    'How long both secrets work. With 0, the old one ends at once. By default one day (86400), at most 90 days (7776000).',
  generate: 'For servers whose secret is an option: shows a new secret once, and changes nothing.',
  reason: 'The audit trail records it.',
  issued_before: 'A time such as 2026-01-31 12:00 (UTC), not in the future.',
  api: 'For a scope that belongs to an API. Leave it empty for scopes of this server, such as email.',
  password: 'At least 8 characters.',
  language: 'Of the email, such as de. It must be a language of the pages.',
  groups: 'Names of groups that the user joins.',
  name: 'A short name.',
  description: 'One sentence that explains it.',
  client_secret: 'Only if you choose it yourself. By default, the server makes one.',
  trusted_issuer: 'Everything that was obtained with its JWTs about the subject ends.',
  trusted_sub: 'The subject (sub) that its JWTs name.',
  lifetime: 'By default one day (86400).',
  once: 'By default, any number of clients can.',
  client_ids: 'These clients are removed.',
  unused_since: 'What was in use after this time stays.',
  rule: 'The URL of a document, a host such as a.example, or *.a.example for every name below it.',
  note: 'For other administrators.',
  beyond_policy: 'For example, those that live longer than tokens may now.',
  force: 'Clients and keys that depend on them then stop working. Otherwise the server refuses.',
  recipient: 'Where the test email goes.',
  expect: 'The head of an earlier verification, which the chain must continue.',
};

const OF_MEMBERS = Object.entries(MEMBER_TEXTS).map(([name, { about }]) => [name, about]);

/** What forms say about a field, by its name. Members of clients have the text of the command line, if no other. */
export const HINTS: Readonly<Record<keyof typeof OWN | MemberName, string>> = {
  ...Object.fromEntries(OF_MEMBERS),
  ...OWN,
};
