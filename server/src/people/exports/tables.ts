// Rows of the tables of users in other programs, and of any table with the members of a line.

import type { Fields } from '../fields.ts';
import { ImportFault } from '../import_faults.ts';
import { giteaHash } from '../password_spellings.ts';
import { parsedList, plain, rowOf, text, texts, truth } from './cells.ts';
import {
  type ConvertOptions,
  creationTime,
  linksFrom,
  objectsIn,
  warnOfOthers,
  withoutAbsent,
  withRoles,
} from './conversion.ts';

function warnOfColumns(fields: Fields, used: readonly string[], warnings: ImportFault[]): void {
  const known = new Set(used.map(plain));
  const names = Object.keys(fields).filter((name) => known.has(plain(name)));
  warnOfOthers(fields, new Set(names), warnings);
}

const WORDPRESS = [
  ...['ID', 'user_login', 'user_email', 'display_name', 'user_pass', 'user_url', 'user_nicename', 'roles'],
  ...['user_registered', 'user_status', 'user_activation_key', 'spam', 'deleted'],
];

/** `wp user list --fields=…`. */
export function fromWordPress(user: Fields, warnings: ImportFault[], options: ConvertOptions): Fields {
  const row = rowOf(user);
  warnOfColumns(user, WORDPRESS, warnings);
  const isDeleted = truth(row('spam')) === true || truth(row('deleted')) === true;
  return {
    username: text(row('user_login')),
    subject: text(row('ID')),
    claims: withoutAbsent({
      email: row('user_email'),
      name: row('display_name'),
      website: row('user_url'),
    }),
    groups: withRoles(undefined, texts(row('roles')), warnings, options),
    created_at: creationTime(row('user_registered'), warnings),
    disabled: isDeleted ? true : undefined,
    password_hash: row('user_pass'),
  };
}

const NEXTCLOUD = ['uid', 'uid_lower', 'displayname', 'password', 'email', 'enabled', 'groups'];

/** The table `oc_users`, with the email address, the state and the groups from other tables. */
export function fromNextcloud(user: Fields, warnings: ImportFault[]): Fields {
  const row = rowOf(user);
  warnOfColumns(user, NEXTCLOUD, warnings);
  const enabled = truth(row('enabled'));
  return {
    username: text(row('uid')),
    claims: withoutAbsent({ email: row('email'), name: row('displayname') }),
    groups: row('groups') === undefined ? undefined : texts(row('groups')),
    disabled: enabled === undefined ? undefined : !enabled,
    password_hash: row('password'),
  };
}

const GITEA = [
  ...['id', 'lower_name', 'name', 'full_name', 'email', 'passwd', 'passwd_hash_algo', 'salt', 'type'],
  ...['login_type', 'login_source', 'login_name', 'is_active', 'prohibit_login', 'is_admin', 'is_restricted'],
  ...['website', 'language', 'must_change_password', 'rands', 'avatar', 'avatar_email', 'use_custom_avatar'],
];

/** Columns that say nothing about the user: times, counts, and settings of the forge. */
const GITEA_SETTINGS =
  /^(?:(?:created|updated|last_login)_unix|num_|keep_|email_notifications|visibility|allow_|max_|last_repo|diff_view|theme|repo_admin|enable_repo|is_org|description|location|pronouns|keep|conflict)/;

/** The table `user` of Gitea and Forgejo. */
export function fromGitea(user: Fields, warnings: ImportFault[], options: ConvertOptions): Fields {
  const row = rowOf(user);
  const username = text(row('name'));
  // The type of individuals is 0. Others are organisations and users that were only reserved.
  if (!['0', undefined].includes(text(row('type'))))
    return { username, isSkipped: true, reasons: [new ImportFault('reserved_name')] };
  const shown = Object.entries(user).filter(([name]) => !GITEA_SETTINGS.test(name));
  warnOfColumns(Object.fromEntries(shown), GITEA, warnings);
  const [isActive, isProhibited] = [truth(row('is_active')), truth(row('prohibit_login'))];
  const isLocal = ['0', '1', undefined].includes(text(row('login_type')));
  if (!isLocal) warnings.push(new ImportFault('password_elsewhere'));
  const isTemporary = isLocal && truth(row('must_change_password')) === true;
  if (isTemporary) warnings.push(new ImportFault('temporary_password'));
  const passwd = text(row('passwd'));
  const hash =
    passwd === undefined || !isLocal || isTemporary
      ? undefined
      : giteaHash(text(row('passwd_hash_algo')) ?? '', text(row('salt')) ?? '', passwd);
  return {
    username,
    subject: text(row('id')),
    claims: withoutAbsent({
      email: row('email'),
      email_verified: row('email') === undefined ? undefined : isActive,
      name: row('full_name'),
      website: row('website'),
      locale: row('language'),
    }),
    created_at: creationTime(row('created_unix'), warnings),
    groups: withRoles(undefined, truth(row('is_admin')) ? ['admin'] : [], warnings, options),
    disabled:
      isActive === undefined && isProhibited === undefined ? undefined : !isActive || isProhibited === true,
    ...(isTemporary ? { invite: true } : { password_hash: hash }),
  };
}

const ASPNET = [
  ...['Id', 'UserName', 'NormalizedUserName', 'Email', 'NormalizedEmail', 'EmailConfirmed', 'PasswordHash'],
  ...['SecurityStamp', 'ConcurrencyStamp', 'PhoneNumber', 'PhoneNumberConfirmed', 'LockoutEnd'],
  ...['LockoutEnabled', 'AccessFailedCount', 'TwoFactorEnabled', 'Roles'],
];

/** A lockout that ends later than any lockout after wrong passwords is how administrators disable users. */
const LOCKOUT_FOR_EVER = /^(?:[3-9]\d{3}|\d{5,})-/;

/** The table `AspNetUsers`. */
export function fromAspNet(user: Fields, warnings: ImportFault[], options: ConvertOptions): Fields {
  const row = rowOf(user);
  warnOfColumns(user, ASPNET, warnings);
  if (truth(row('TwoFactorEnabled'))) warnings.push(new ImportFault('factors_left_out', 'TwoFactorEnabled'));
  const phone = row('PhoneNumber');
  return {
    username: text(row('UserName')) ?? text(row('Email')),
    subject: text(row('Id')),
    claims: withoutAbsent({
      email: row('Email'),
      email_verified: row('Email') === undefined ? undefined : truth(row('EmailConfirmed')),
      phone_number: phone,
      phone_number_verified: phone === undefined ? undefined : truth(row('PhoneNumberConfirmed')),
    }),
    groups: withRoles(undefined, texts(row('Roles')), warnings, options),
    disabled: LOCKOUT_FOR_EVER.test(text(row('LockoutEnd')) ?? '') ? true : undefined,
    password_hash: row('PasswordHash'),
  };
}

const BETTER_AUTH = [
  ...[
    'id',
    'name',
    'email',
    'emailVerified',
    'image',
    'username',
    'displayUsername',
    'createdAt',
    'updatedAt',
  ],
  ...['phoneNumber', 'phoneNumberVerified', 'banned', 'role', 'password', 'accounts', 'twoFactorEnabled'],
  ...['banReason', 'banExpires'],
];

/** The table `user`, with its rows of the table `account` as a list. */
export function fromBetterAuth(user: Fields, warnings: ImportFault[], options: ConvertOptions): Fields {
  const row = rowOf(user);
  warnOfColumns(user, BETTER_AUTH, warnings);
  if (truth(row('twoFactorEnabled'))) warnings.push(new ImportFault('factors_left_out', 'twoFactorEnabled'));
  const accounts = row('accounts');
  const all = objectsIn(typeof accounts === 'string' ? parsedList(accounts) : accounts).map(rowOf);
  const own = all.find((account) => account('providerId') === 'credential');
  const links = all
    .filter((account) => account !== own)
    .map((account) => ({
      ...{ provider: account('providerId'), sub: account('accountId'), label: row('email') },
    }));
  const phone = row('phoneNumber');
  const roles = texts(row('role')).filter((role) => role !== 'user');
  return {
    username: text(row('username')) ?? text(row('email')),
    subject: text(row('id')),
    claims: withoutAbsent({
      name: row('name'),
      email: row('email'),
      email_verified: row('email') === undefined ? undefined : truth(row('emailVerified')),
      picture: row('image'),
      phone_number: phone,
      phone_number_verified: phone === undefined ? undefined : truth(row('phoneNumberVerified')),
    }),
    groups: withRoles(undefined, roles, warnings, options),
    created_at: creationTime(row('createdAt'), warnings),
    disabled: truth(row('banned')),
    links: linksFrom(links, options, warnings),
    password_hash: own?.('password') ?? row('password'),
  };
}

const MEMBERS: ReadonlySet<string> = new Set([
  ...['username', 'subject', 'password_hash', 'groups', 'disabled', 'directory_id', 'invite'],
  ...['created_at', 'totp_secret'],
]);

/** A table whose columns are named like the members of a line. All other columns are claims. */
export function fromTable(user: Fields, warnings: ImportFault[]): Fields {
  const row = rowOf(user);
  const claims = Object.entries(user).filter(
    ([name, value]) => !MEMBERS.has(name) && name !== '' && value !== '',
  );
  return {
    username: text(row('username')),
    subject: text(row('subject')),
    claims: withoutAbsent(Object.fromEntries(claims)),
    groups: row('groups') === undefined ? undefined : texts(row('groups')),
    disabled: truth(row('disabled')),
    directory_id: text(row('directory_id')),
    created_at: creationTime(row('created_at'), warnings),
    totp_secret: text(row('totp_secret')),
    invite: truth(row('invite')),
    password_hash: row('password_hash'),
  };
}
