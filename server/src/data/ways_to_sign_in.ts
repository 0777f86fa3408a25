import type { Provider } from '../config/providers.ts';

/** The password hash of users without a password. No password fits it. */
export const NO_PASSWORD = '';

/** Which ways to sign in the configuration of the server opens. */
export interface OpenWays {
  readonly providers: readonly Pick<Provider, 'id' | 'issuer' | 'domains'>[];
  /** Whether browsers can use passkeys at this server. */
  readonly hasPasskeys: boolean;
  /** Whether a directory checks passwords. */
  readonly hasDirectory: boolean;
}

/** Which ways to sign in count for a user, by the configuration of the server. */
export interface WaysToSignIn {
  /** Whether the sign-in page asks this user for a password. It does not if the username leads to a provider. */
  readonly hasPasswords: boolean;
  /** Whether browsers can use passkeys at this server. A security key is no way of its own. */
  readonly hasPasskeys: boolean;
  /** Whether a directory checks passwords. */
  readonly hasDirectory: boolean;
  /** The user’s links to identities at configured providers, by ID. */
  readonly links: readonly string[];
  /** The ID of a passkey or link that does not count, because it is about to be removed. */
  readonly without?: string;
}

/** The removal of a passkey or link from a user who need not keep a way to sign in. */
export const ANY_WAY = 'any_way';

/** The condition of the removal of a passkey or link, as `hasWay`. */
export function mayRemove(id: string, ways: WaysToSignIn | typeof ANY_WAY) {
  return ways === ANY_WAY
    ? { condition: '1 = 1', values: { removed: id } }
    : hasWay({ ...ways, without: id });
}

/**
 * SQL that tells whether a user can sign in, perhaps after the removal of a link or passkey. It then belongs into the
 * statement that removes, which a lock of the user must precede. Otherwise two concurrent removals could each rely on what
 * the other removes. The user is the parameter `:subject`.
 * @returns also the values of the other parameters
 */
export function hasWay({
  hasPasswords,
  hasPasskeys,
  hasDirectory,
  links,
  without: removed = '',
}: WaysToSignIn) {
  const has = (table: string, condition: string) =>
    `EXISTS (SELECT 1 FROM grantd.${table} WHERE issuer = :issuer AND subject = :subject AND ${condition})`;
  const ids = links.map((_, index) => `:link${index}`).join(', ');
  const ways = [
    ...(hasPasswords ? [has('people', `password_hash <> '${NO_PASSWORD}'`)] : []),
    ...(hasPasswords && hasDirectory ? [has('people', 'directory_id IS NOT NULL')] : []),
    ...(hasPasskeys ? [has('passkeys', 'id <> :removed AND is_security_key = 0')] : []),
    ...(links.length > 0 ? [has('upstream_identities', `id <> :removed AND id IN (${ids})`)] : []),
  ];
  return {
    condition: ways.length === 0 ? '1 = 0' : `(${ways.join('\n        OR ')})`,
    values: Object.fromEntries([['removed', removed], ...links.map((link, index) => [`link${index}`, link])]),
  };
}
