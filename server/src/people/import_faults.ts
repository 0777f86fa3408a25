// What is wrong with a file of users or a line of it, and what an import leaves out, by a code. Commands and the admin API say it in English, and pages in
// their language.
import { Refused } from '../config/refused.ts';
import { type SaidIn, sentenceIn } from '../config/said.ts';

const LIST_OF_LINKS =
  'objects such as {"provider":"google","issuer":"https://accounts.google.com","sub":"1234"}';

/** A name at the beginning, up to a colon, is that of the member. */
export const IMPORT_FAULTS = {
  // The form of a line.
  no_json: () => 'expected JSON',
  no_object: () => 'expected a JSON object such as {"username":"carol"}',
  long: (most: string) => `expected at most ${most} characters`,
  element: (most: string) => `expected JSON of at most ${most} characters`,
  unknown_member: (name: string, known: string) => `${name}: unknown member: expected ${known}`,
  prototype: () => '__proto__: expected no member of this name',
  no_username: () => 'username: expected a text',
  // Only English says more than what is common to all names.
  username: (expected: string) => `username: expected ${expected}`,
  subject: () => 'subject: expected 1 to 255 visible ASCII characters, not beginning with -',
  claims: () => 'claims: expected an object such as {"name":"Carol"}',
  long_claims: (most: string) => `claims: expected at most ${most} characters of JSON`,
  claim_sub: () => 'claims: sub: expected it as subject',
  groups: (most: string) => `groups: expected a list of at most ${most} names`,
  flag: (name: string) => `${name}: expected true or false`,
  links: (most: string) => `links: expected a list of at most ${most} ${LIST_OF_LINKS}`,
  directory_id: (most: string) =>
    `directory_id: expected the identifier of an entry, at most ${most} characters`,
  created_at: () => 'created_at: expected a time such as 2024-05-31T12:00:00Z',
  totp_secret: () => 'totp_secret: expected 16 to 64 bytes in base32, without padding',
  hash_beside_directory: () => 'directory_id: the directory has the password: expected no password_hash',
  hash_beside_invitation: () => 'invite: the user would choose a password: expected no password_hash',
  // Only English says which forms and costs there are.
  password_hash: (expected: string) => `password_hash: expected ${expected}`,
  // Exports of other programs.
  no_model: (model: string) => `${model} is no model of users, which have a password`,
  service_account: () => 'a service account: use grantd client add instead',
  reserved_name: () => 'an organisation or a reserved name',
  firebase_hash: () =>
    'passwordHash: expected --firebase-hash-config FILE with the parameters of the project',
  several_passwords: () => 'credentials: expected at most one password',
  algorithm: (known: string, algorithm: string) =>
    `credentials: expected the algorithm argon2, ${known}, got ${algorithm}`,
  argon2_version: (version: string) => `credentials: expected version 1.3 of argon2, got ${version}`,
  // Rights of the caller.
  lines: (most: string) => `expected at most ${most} lines: send the rest in another request`,
  claim_groups: () => 'claims: groups: applications would see it instead of the user’s groups',
  groups_scope: () => 'groups: the token needs the scope grantd:groups:write',
  administrator_scopes: () => 'the token needs every scope to change an administrator',
  address_scopes: () => 'the token needs every scope to give a user the verified address of an administrator',
  own_user: () => 'an import does not change the user whose token it is',
  ends_administrator: () => 'an import does not disable administrators or remove them from their group',
  in_admin_group: (group: string) =>
    `the user is in ${group}, the group of the administrators: use --allow-administrators`,
  admin_group: (group: string) =>
    `groups: ${group} is the group of the administrators: use --allow-administrators`,
  // What does not fit what is stored.
  subject_of_client: () =>
    'subject: a client has this identifier, so APIs could take the user for the client',
  group_name: (name: string, expected: string) => `groups: ${name}: expected ${expected}`,
  group_comma: (name: string) =>
    `groups: ${name}: expected no comma, because options separate the names of groups by commas`,
  no_group: (name: string) =>
    `groups: there is no group ${name}: add it with grantd group add, or use --create-groups`,
  taken: () =>
    'the subject identifier belongs to another or a removed user, or another command has just taken the name',
  differs: (what: string) => `the user exists with another ${what}: use --update`,
  subject_stays: () => 'subject: a user keeps their subject identifier',
  entry_taken: () => 'directory_id: the entry belongs to another user',
  changed_meanwhile: () => 'another command has just changed the user: try again',
  /** @param why in English */
  not_changed: (why: string) => why,
  // What is left out of a line. In parentheses is what differs from user to user.
  own_claim: (name: string) => `claims: ${name}: left out: it comes from the server`,
  // Only English says what was expected.
  claim_left_out: (name: string, expected: string) => `claims: ${name}: left out: expected ${expected}`,
  unusual_name: (expected: string) => `username: no other user can have such a name: expected ${expected}`,
  not_invited: () => 'invite: there is no email address to send a link to: run grantd user set-password',
  not_imported: (name: string) => `${name}: not imported`,
  link_left_out: (provider: string) =>
    `links (${provider}): not imported, because the issuer is unknown: the user connects the account again on the account page`,
  links_left_out: () => 'links: not imported: read the identities with include_credential=oidc too',
  link_taken: (label: string, provider: string) =>
    `links (${label} at ${provider}): not imported, because another user has this link`,
  roles_left_out: (roles: string) =>
    `roles (${roles}): not imported: use --roles-as-groups, or groups or claims`,
  groups_left_out: (groups: string) => `groups (${groups}): not imported: export with --natural-foreign`,
  time_left_out: () => 'created_at: not imported: expected a time',
  hash_left_out: (expected: string) => `password_hash: not imported: expected ${expected}`,
  password_elsewhere: () => 'login_type: the password is elsewhere, so none is imported',
  temporary_password: () => 'password: it was temporary: the user chooses one by an invitation',
  factors_left_out: (name: string) => `${name}: second factors are not imported: the user adds them again`,
  credential_left_out: (type: string) => `credentials: ${type}: not imported: the user adds it again`,
  app_left_out: (facts: string, digits: string, seconds: string) =>
    `credentials: otp (${facts}): not imported: the server knows totp with HmacSHA1, ${digits} digits and ${seconds} s: the user adds it again`,
  second_app: () =>
    'credentials: otp: not imported: a user has one authenticator app, and the first was imported',
  app_secret: () =>
    'credentials: otp: not imported: the secret is too short or too long: the user adds it again',
  app_of_existing: () =>
    'totp_secret: not imported, because the user exists: the user adds the authenticator app again',
  actions_left_out: (actions: string) => `requiredActions (${actions}): not imported`,
  attribute_left_out: (name: string) => `attributes: ${name}: not imported, because grantd sets this claim`,
  entry_unknown: () => 'federationLink: the entry in the directory is unknown: run grantd directory link',
  lookalike: () =>
    'username: another user has a name that looks the same, so only the exact spelling finds this user: rename one of them',
  no_way_in: () => 'sign-in: nothing to sign in with is imported: run grantd user set-password',
  // The file as a whole.
  file_empty: () => 'the file is empty',
  file_bracket: () => 'the file is no JSON: a bracket closes that is not open',
  file_cut: () => 'the file ends in the middle of the JSON document: export it again',
  file_list: (member: string) => `the file has no JSON list, and no list ${member}`,
  file_quote: () => 'the file ends inside of a quoted field: a quotation mark is missing',
  file_json: (format: string) => `expected JSON, as ${format} exports it`,
  file_columns: () => 'expected the names of the columns in the first row',
  file_yaml: () => 'expected YAML, as in users_database.yml',
  file_users: () => 'expected the member users, as in users_database.yml',
  file_most: (most: string) => `expected at most ${most} users: grantd user import reads more`,
};

/** A code, and what its sentence names. */
export type ImportFaultSaid = SaidIn<typeof IMPORT_FAULTS>;

/** What is wrong with a line, or left out of it. As text and in JSON, it is its English sentence. */
export class ImportFault {
  readonly said: ImportFaultSaid;

  constructor(...said: ImportFaultSaid) {
    this.said = said;
  }

  toString(): string {
    return sentenceIn(IMPORT_FAULTS, this.said);
  }

  toJSON(): string {
    return this.toString();
  }
}

/** The file cannot be read to its end. */
export class ImportFileRefused extends Refused {
  readonly said: ImportFaultSaid;

  constructor(...said: ImportFaultSaid) {
    super(`${sentenceIn(IMPORT_FAULTS, said)}.`);
    this.said = said;
  }
}
