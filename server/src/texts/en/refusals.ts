import { METADATA_PROBLEMS } from '@grantd/core';
import { FILE_PROBLEMS } from '../../config/refused.ts';

/** Why an operation was refused, by the code of the reason. Commands and the admin API say it in English. */
export const REFUSALS = {
  // What is wrong with the metadata of a client. The library says it in English.
  ...METADATA_PROBLEMS,
  ...FILE_PROBLEMS,
  // What is not there, or no longer.
  no_user: (name: string) => `there is no user ${name}`,
  no_subject: (sub: string) => `there is no user with the sub ${sub}`,
  user_gone: (name: string) => `there is no user ${name} any more`,
  no_group: (name: string) => `there is no group ${name}`,
  group_gone: (name: string) => `another command has just removed the group ${name}`,
  no_client: (id: string) => `there is no client ${id}`,
  client_gone: (id: string) => `another command has just removed ${id}`,
  no_scope_texts: (scope: string, api: string) => `${scopeOf(scope, api)} has no texts`,
  no_session: (name: string, id: string) => `${name} has no session ${id}`,
  no_factor: (name: string, id: string) => `${name} has no factor ${id}`,
  no_link: (name: string, id: string) => `${name} has no link ${id}`,
  not_of_user: () => 'the user does not have this, or no longer',
  no_consent: (name: string, client: string) => `${name} has given no consent to ${client}`,
  no_claim: (name: string, claim: string) => `${name} has no claim ${claim}`,
  no_mail: (id: string) =>
    `there is no email ${id} that has failed, or whose next attempt is more than two minutes away`,
  no_key: (algorithm: string) =>
    `there is no ${algorithm} key, because neither the server nor a client has used this algorithm`,
  no_event: (number: string) => `there is no event ${number}`,
  not_denied: (rule: string) => `${rule} is not denied`,
  // What is there already.
  user_exists: (name: string) =>
    `user ${name} already exists, or a user whose name differs only by case, width or look-alike letters`,
  group_exists: (name: string) =>
    `group ${name} already exists, or a group whose name differs only by case, width or look-alike letters`,
  client_exists: (id: string) => `client ${id} already exists`,
  scope_texts_exist: (scope: string, api: string) => `${scopeOf(scope, api)} already has texts`,
  // Administrators.
  administrator_not_disabled: () =>
    'an administrator cannot be disabled: first remove them from the group of administrators',
  administrators_stay: () => 'the group of administrators cannot be removed',
  not_oneself: () => 'administrators cannot remove themselves: another one has to',
  no_longer_administrator: () => 'you are no longer an administrator',
  last_administrator: (name: string, group: string) =>
    `${name} is the last administrator who can sign in: first add another one to the group ${group}`,
  became_administrator: () =>
    'the user has just become an administrator: first remove them from the group of administrators',
  // What does not fit what is stored.
  changed_by_others: (name: string) => `other commands keep changing ${name}. Nothing was updated`,
  not_an_api: (id: string) => `${id} is not an API`,
  no_api: (resource: string) => `no client has the resource URI ${resource}`,
  client_for_group: (client: string, group: string) => `the client ${client} is for the group ${group}`,
  client_of_personal_tokens: (id: string) =>
    `${id} is the client of the personal access tokens. Only the options of the server change it`,
  client_without_secret: (id: string) =>
    `${id} has no secret, because it is a public client or authenticates with keys`,
  only_one_secret: () => 'there is only one secret, and it is in use',
  secrets_changed: () => 'the secrets have just changed',
  other_keys_sign: () => 'other keys sign now',
  next_keys_unknown: () => 'clients may not know the next keys yet, because they cache the key set',
  invited_elsewhere: (name: string) => `${name} was invited with another address`,
  signs_in_at_provider: (name: string) =>
    `${name} signs in through an identity provider, so there is no password to choose`,
  signs_in_at_directory: (name: string) =>
    `${name} signs in through the directory, so there is no password to choose`,
  user_disabled: (name: string) => `${name} is disabled`,
  no_verified_address: (name: string) =>
    `${name} has no verified email address, so a link could reach another person`,
  too_many_links: (name: string, most: string) => `${name} has got ${most} emails with a link within an hour`,
  /** @param why in English. The others are the same: the server, the kind of failure, and what the server said */
  mail_not_sent: (why: string, _server: string, _kind: string, _said: string) => `no email was sent. ${why}`,
  document_unfetched: (why: string) => `a document of the client cannot be fetched: ${why}. Try again later`,
  /** @param words what depends on the secrets, in English. The others are the same as names and numbers. */
  secrets_in_use: (
    words: string,
    _clients: string,
    _keys: string,
    _apps: string,
    _pairwise: string,
    _trail: string,
  ) =>
    `${words}. Clients move to the new secret when they authenticate, keys and authenticator apps when the server starts. For the others, run grantd client rotate-secret, or use --force, which stops them from working`,
  read_again: () => 'read it again, then repeat the change',
  state_changed: () => 'what is stored has changed since the plan, and nothing was applied',
  // Files of groups and clients.
  /** @param message of the parser, in English */
  file_syntax: (message: string) => message,
  one_document: () => 'expected one document, without a second ---',
  keys_repeated: () => 'expected each key of a map once',
  file_long: (most: string) => `expected at most ${most} characters`,
  names_needed: () => 'expected names with values',
  names_or_none: () => 'expected names with values, or {} for none',
  unknown_name: () => 'unknown name',
  misspelled_name: (similar: string) => `unknown name. Did you mean ${similar}?`,
  merge_keys: () => 'unknown name, because YAML 1.2 has no merge keys: write the members',
  providers_elsewhere: () =>
    'identity providers belong to the configuration of the server: name their file with --providers, and restart or reload the server',
  policy_elsewhere: () =>
    'the sign-in policy of the server belongs to its configuration: set it with --sign-in-policy, or give a group or a client a sign_in_policy',
  users_elsewhere: () => 'users are not part of this file: add them with grantd user import',
  value_needed: () => 'expected a value. Omit the member for its default',
  true_or_false: () => 'expected true or false',
  api_needed: () => 'expected an API, which has a resource URI',
  text_needed: () => 'expected a text, in quotes if it is a number or true or false',
  stored_name: (name: string) => `expected the name as it is stored, ${name}`,
  usernames_needed: (most: string) => `expected a list of at most ${most} usernames`,
  secret_reference: () => 'expected { env: VARIABLE } or { file: PATH }',
  secret_reference_alone: () =>
    'expected { env: VARIABLE } or { file: PATH }, because the file holds no secrets',
  secret_missing: () => 'expected the secret to which the state refers',
  secret_unreferred: () => 'the client refers to no secret in the state',
  secret_unneeded: () => 'a client with this authentication method has no secret',
  secret_needed: () =>
    'expected secret: { env: VARIABLE } or { file: PATH }, because it authenticates with a secret (a public client has token_endpoint_auth_method: none)',
  too_many_names: (most: string, got: string) =>
    `expected at most ${most} groups, clients and scope texts, got ${got}`,
  lookalike_group: (name: string) => `there is a group ${name}, which differs only by look-alike letters`,
  no_enabled_api: (resource: string) => `no enabled client has the resource URI ${resource}`,
  self_registered: () => 'this client registered itself: change it with grantd client update',
  document_client: () => 'this client has a document: change it with grantd client update',
  no_administrator_stays: () => 'no administrator who can sign in would be left',
  admin_group_stays: (name: string) => `the group of administrators, ${name}, cannot be removed`,
  // Rights.
  scope_needed: (scope: string) => `the operation also needs the scope ${scope}`,
  every_scope_needed: () => 'the user has just become an administrator: the operation needs every scope',
  own_sign_in: () =>
    'a token does not change how its own user signs in. Use the page /account/security, or the token of another operator',
  // Values. A rule of a schema has its keyword and value, such as minLength and 8.
  schema_rule: (expected: string, _keyword: string, _rule: string) => `expected ${expected}`,
  uri_rule: (expected: string, _rule: string) => `expected ${expected}`,
  id_of_admin_api: (id: string) => `${id} is the ID of this server’s admin API`,
  id_of_personal_tokens: (id: string) => `${id} is the ID of the personal access tokens of this server`,
  id_of_user: (id: string) => `a user has or had the sub ${id}, so APIs could take the client for the user`,
  // Only English says more than what is common to all of them.
  name_form: (name: string, expected: string) => `expected ${expected}, got ${name}`,
  claim_form: (value: string, expected: string) => `expected ${expected}, got ${value}`,
  policy_unreachable: (problem: string) => problem,
  not_configured: (problem: string) => problem,
  not_for_admin_api: (problem: string) => problem,
  client_id_form: () => 'expected visible ASCII characters, at most 200',
  secret_form: (least: string) => `expected at least ${least} ASCII characters`,
  password_short: (least: string) => `expected at least ${least} characters`,
  password_hash: () => 'expected a password, got a password hash, with which the user could not sign in',
  email_form: (value: string) => `expected an address such as bob@example.com, got ${value}`,
  phone_form: (value: string) => `expected a number such as +441865000000, got ${value}`,
  date_form: (value: string) =>
    `expected a date such as 1990-01-31, a year such as 1990, or 0000-01-31 without the year, got ${value}`,
  url_form: (value: string) => `expected a URL such as https://example.com/ada, got ${value}`,
  zone_form: (value: string) => `expected a time zone such as Europe/Paris, got ${value}`,
  number_form: (value: string) => `expected numbers up to 9007199254740991, or text, got ${value}`,
  locale_form: (value: string) => `expected a language tag such as en-US, got ${value}`,
  group_comma: () => 'expected no comma, because options separate the names of groups by commas',
  description_form: (most: string) => `expected visible characters, at most ${most}`,
  claim_of_username: () => 'it is the username: change the username instead',
  claim_of_server: () => 'it comes from the server, so that applications can rely on it',
  claim_sub: () => 'sub is random and cannot be chosen',
  future_time: () => 'expected a time that is not in the future',
  no_time: () => 'expected a time such as 2026-01-31T12:00:00Z',
  document_rule: () => 'expected the https URL of a document, a host without a port, or *. and a host',
  one_line: () => 'expected one line',
  no_nul: () => 'expected no NUL',
  cursor_form: () => 'expected next_cursor or previous_cursor of a page',
  cursor_next: () => 'expected next_cursor of a page',
  head_form: (value: string) => `expected a head as grantd audit verify prints it, got ${value}`,
  event_type: (value: string) => `expected a type of event, got ${value}`,
  range_form: (values: string, value: string) => `expected ${values}, got ${value}`,
  time_form: (value: string) => `expected a time such as 2026-01-31 12:00, got ${value}`,
  token_identifier: () => 'expected the identifier of a token',
  several_clients: (ids: string) => `several clients have this name: enter one of their IDs, ${ids}`,
  no_such_username: () => 'there is no user with this name',
  language_unknown: (languages: string, value: string) => `expected ${languages}, got ${value}`,
  scope_form: () => 'expected a scope without spaces and quotes',
  scope_text_name: (name: string) =>
    `${name}: expected name or description, or either with a language tag, such as name#de`,
  scope_text_form: (name: string, most: string) => `${name}: expected one line of at most ${most} characters`,
  scope_text_missing: () => 'name: expected a text without a language tag',
  claims_long: (most: string) => `expected at most ${most} characters of JSON`,
  claims_prototype: () => 'expected no member __proto__',
  claim_groups: () =>
    'applications would see it instead of the user’s groups: add the user to groups with PUT /groups/{group}/members/{sub}',
  groups_of_invited: () => 'expected none with an invitation: add them later',
  mail_unconfigured: () => 'required to send an email, as for the server itself',
  no_policy: () => 'expected the option personalTokens, with those of the policy',
  no_condition: () => 'expected this or another condition',
  secret_in_file: () => 'omit it, because the secret is in a file that this command changes itself',
  trusted_pair: () => 'expected trusted_issuer and trusted_sub together',
  trusted_option: () => 'expected the option trustedIssuers of the server',
  counted_for_one: () => 'not possible with both sub and client_id',
  required: () => 'expected a value',
};

function scopeOf(scope: string, api: string): string {
  return api === '' ? `the scope ${scope}` : `the scope ${scope} of ${api}`;
}
