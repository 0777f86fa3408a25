/** What an operation says besides its outcome, by a code. Commands and the admin API say it in English. */
export const WARNINGS = {
  // Users and groups.
  groups_hidden: (name: string) =>
    `applications do not see the groups of ${name}, because a claim groups is stored: grantd user update ${name} --remove-claim groups removes it`,
  administrator_added: (name: string, group: string) =>
    `${name} is now an administrator, because members of the group ${group} can change everything on this server`,
  administrator_removed: (name: string, group: string) =>
    `${name} is no longer an administrator, because the group ${group} is that of the administrators`,
  admin_group_removed: () =>
    'it was the group of administrators: a server with --admin-group does not start without it',
  admin_group_unknown: () =>
    'the command does not know the group of the administrators, so it cannot tell whether users are added to it: use --admin-group, as for grantd serve',
  no_administrator_left: (group: string) =>
    `no administrator is left who can sign in: grantd group add-member ${JSON.stringify(group)} USERNAME adds one`,
  mail_waits: () => 'the email waits until a server with --smtp-url (or --demo) runs on this database',
  // Clients.
  no_scope: () => 'this client cannot obtain any scope, because --scope is missing',
  keys_unused: (id: string) =>
    `${id} authenticates with a secret, not with its keys. To use the keys, run grantd client update ${id} --auth-method private_key_jwt`,
  // Only English says what was expected.
  name_unreadable: (id: string, expected: string) =>
    `users may not recognise the name of ${id}: expected ${expected}`,
  pkce_waived: (id: string) =>
    `${id} may omit PKCE, which exposes it to code injection (RFC 9700 section 2.1.1). Once it uses PKCE, run grantd client update ${id} --unset insecure-allow-missing-pkce.`,
  no_trusted_issuer: (id: string, grant: string, variable: string, flag: string) =>
    `${id} cannot use the grant ${grant}, because no trusted issuer is configured. Set ${variable} for commands, and this or ${flag} for the server`,
  not_among_clients: (id: string, grant: string, variable: string) =>
    `${id} cannot use the grant ${grant}, because no grant of a trusted issuer (${variable}) has it among its clients`,
  /** @param owners the URIs of the APIs, separated by spaces. @param wanted those that the client would have */
  scope_of_others: (id: string, scope: string, owners: string, wanted: string) =>
    `${id} cannot get the scope ${scope}, which belongs to ${owners.split(' ').join(' and ')}. To allow it, run grantd client update ${id} ${wanted
      .split(' ')
      .map((uri) => `--api ${uri}`)
      .join(' ')}`,
  scope_unknown: (id: string, scope: string) =>
    `no API of this server has the scope ${scope} of ${id}, and no text describes it. Check its spelling`,
  scope_with_separator: (id: string, scope: string) =>
    `no API of this server has the scope ${scope} of ${id}, and no text describes it. Separate scopes with spaces`,
  tokens_of_others_revoked: (id: string, users: string) =>
    `revoked the tokens of ${users === '1' ? '1 user' : `${users} users`} who may no longer use ${id}`,
  tokens_with_other_sub_revoked: (id: string) =>
    `revoked the tokens of ${id}, which has other identifiers (sub) of its users from now on`,
  registration_by_token_off: () => 'the server accepts this token only with --registration token',
  // The audit trail.
  audit_head: (head: string) =>
    `the head: ${head}. To compare with it later, use grantd audit verify --expect`,
  head_not_authentic: () => 'the head of the chain was not written with the server secret',
  head_missing: () =>
    'no chain protects the events yet: a server begins it when it first runs. If a server has run here, the chain was removed',
  rows_changed: (from: string, to: string) =>
    `events ${from} to ${to}: some were changed, removed, added or moved`,
  index_changed: (from: string, to: string) =>
    `events ${from} to ${to}: their index was changed, so a search may not find them`,
  rows_before_beginning: (rows: string) => `${rows} events were added before the first one`,
  expected_removed: (event: string, last: string) =>
    `event ${event} of the expected head was removed for its age, as all up to ${last}: compare with a later head`,
  not_as_expected: (event: string) => `the chain does not continue the expected head at event ${event}`,
  // What else the console says about an outcome.
  mail_accepted: (server: string, tls: string, answer: string) => `${server}, ${tls}: ${answer}`,
  secret_place: (place: string) => `the secret is set by ${place}`,
};
