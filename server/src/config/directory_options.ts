// Options of an LDAP directory.
import {
  block,
  milliseconds,
  oneOf,
  option,
  optionWithoutDefault,
  text,
  textList,
  trueOrFalse,
  wholeNumber,
} from '@grantd/core/options';
import { FILE } from './option_kinds.ts';

/** Whether a text is the URL of a directory server. */
function isLdapUrl(url: string): boolean {
  return /^ldaps?:\/\/[^/?#@]+\/?$/.test(url) && URL.canParse(url) && new URL(url).hostname !== '';
}

/** Whether a text can be the name of an attribute of a directory (RFC 4512 §2.5). */
function isAttribute(name: string): boolean {
  return /^(?:[a-z][\w-]*|\d+(?:\.\d+)+)$/i.test(name);
}

/** Claims that are not single texts, or that grantd sets itself. */
const UNMAPPED_CLAIMS = ['sub', 'groups', 'address', 'email_verified', 'phone_number_verified', 'updated_at'];

function readLdapClaims(
  values: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string>> | undefined {
  const fits = ([claim, attribute]: [string, unknown]) =>
    claim !== '' &&
    !UNMAPPED_CLAIMS.includes(claim) &&
    typeof attribute === 'string' &&
    isAttribute(attribute);
  return Object.entries(values).every(fits) ? (values as Readonly<Record<string, string>>) : undefined;
}

function readLdapGroups(
  values: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string>> | undefined {
  const fits = ([dn, group]: [string, unknown]) =>
    dn.includes('=') && typeof group === 'string' && group !== '';
  return Object.entries(values).every(fits) ? (values as Readonly<Record<string, string>>) : undefined;
}

export const DIRECTORY_OPTIONS = {
  ldapUrl: optionWithoutDefault(
    'Directory',
    textList(
      'URLS',
      'ldaps://HOST:PORT or ldap://HOST:PORT, or several servers of one directory separated by commas',
      isLdapUrl,
      1,
    ),
    'LDAP servers or domain controllers whose users may sign in: ldaps:// for TLS from the start, ldap:// for STARTTLS. The server tries them in this order (docs/directory.md).',
    'none, so all users are local',
  ),
  ldapKind: option(
    'Directory',
    oneOf('ldap', 'active_directory'),
    'Kind of the directory. It sets the defaults of the options that name attributes and filters.',
    'ldap',
  ),
  ldapTls: option(
    'Directory',
    oneOf('required', 'off'),
    'Whether connections need TLS with a valid certificate. Use off only for a directory on loopback.',
    'required',
  ),
  ldapCa: optionWithoutDefault(
    'Directory',
    FILE,
    'PEM file of the CAs that issue the certificates of the LDAP servers.',
    'the CAs that Node trusts',
  ),
  ldapBindDn: optionWithoutDefault(
    'Directory',
    text('DN', 'a distinguished name such as cn=grantd,dc=example,dc=com, or user@example.com', (dn) =>
      /[=@\\]/.test(dn),
    ),
    'Account with which the server searches the directory. It needs only read access.',
    'none; the server searches anonymously',
  ),
  ldapBindPasswordFile: optionWithoutDefault(
    'Directory',
    FILE,
    'File with the password of the account in ldapBindDn. Others must not be able to read it (docs/secrets.md).',
    'none',
  ),
  ldapBindPassword: optionWithoutDefault(
    'Directory',
    text('PASSWORD', 'a text without line breaks', (password) => /^[^\r\n]+$/.test(password)),
    'Password of the account in ldapBindDn, instead of ldapBindPasswordFile.',
    'none',
    { isSecret: true },
  ),
  ldapBase: optionWithoutDefault(
    'Directory',
    text('DN', 'a distinguished name such as ou=people,dc=example,dc=com', (dn) => dn.includes('=')),
    'Entry of the directory below which the server searches for users.',
    'none; required with ldapUrl',
  ),
  ldapFilter: optionWithoutDefault(
    'Directory',
    text('FILTER', 'an LDAP filter with {username}, such as (uid={username})', (filter) =>
      filter.includes('{username}'),
    ),
    'Filter that finds a user. The server replaces {username} by the username that the user entered, with LDAP escapes.',
    '(&(objectClass=person)(uid={username})); for Active Directory (&(objectCategory=person)(objectClass=user)(sAMAccountName={username}))',
    { section: 'RFC 4515 §3' },
  ),
  ldapIdAttribute: optionWithoutDefault(
    'Directory',
    text('ATTRIBUTE', 'the name of an attribute', isAttribute),
    'Attribute by which the server recognizes the entry of a user at each sign-in. Choose one whose value never changes and is never used for another entry.',
    'entryUUID; for Active Directory objectGUID',
  ),
  ldapUsernameAttribute: optionWithoutDefault(
    'Directory',
    text('ATTRIBUTE', 'the name of an attribute', isAttribute),
    'Attribute with the username.',
    'uid; for Active Directory sAMAccountName',
  ),
  ldapClaims: optionWithoutDefault(
    'Directory',
    block('{"CLAIM": "ATTRIBUTE", …}', readLdapClaims),
    'Claims whose values come from the directory, with the attribute of each.',
    'name, given_name, family_name, email and phone_number, from cn (Active Directory: displayName), givenName, sn, mail and telephoneNumber',
  ),
  ldapEmailVerified: option(
    'Directory',
    trueOrFalse,
    'Whether email addresses of the directory count as verified. Set it only if users cannot change their address in the directory.',
    false,
  ),
  ldapGroups: optionWithoutDefault(
    'Directory',
    block('{"DISTINGUISHED NAME": "GROUP", …}', readLdapGroups),
    'Groups of the directory, each with a group of this server. At each sign-in, the server adds a member of the directory’s group to this server’s group, and removes any other user who signs in from it.',
    'none, so the directory determines the members of no group',
  ),
  ldapGroupAttribute: option(
    'Directory',
    text('ATTRIBUTE', 'the name of an attribute', isAttribute),
    'Attribute of a user with the distinguished names of their groups.',
    'memberOf',
  ),
  ldapGroupFilter: optionWithoutDefault(
    'Directory',
    text(
      'FILTER',
      'an LDAP filter with {dn} or {username}, such as (member={dn})',
      (filter) => filter.includes('{dn}') || filter.includes('{username}'),
    ),
    'Filter that finds the groups of a user, for directories without ldapGroupAttribute. The server replaces {dn} by the name of the user’s entry, and {username} by the username.',
    'none, so the server reads ldapGroupAttribute',
    { section: 'RFC 4515 §3' },
  ),
  ldapGroupBase: optionWithoutDefault(
    'Directory',
    text('DN', 'a distinguished name such as ou=groups,dc=example,dc=com', (dn) => dn.includes('=')),
    'Entry of the directory below which ldapGroupFilter searches for groups.',
    'the value of ldapBase',
  ),
  ldapConnections: option(
    'Directory',
    wholeNumber(1, 100),
    'Maximum connections to the directory per process.',
    8,
  ),
  ldapConnectTimeoutMs: option(
    'Directory',
    milliseconds(1),
    'Milliseconds to wait for a connection with TLS. Then the server tries the next LDAP server. If none is left, the sign-in fails with 503.',
    2000,
  ),
  ldapTimeoutMs: option(
    'Directory',
    milliseconds(1),
    'Milliseconds to wait for a free connection, and for each response of the directory. Then the sign-in fails with 503.',
    5000,
  ),
};
