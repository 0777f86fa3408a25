// Users of Authelia’s `users_database.yml`. Each has the username as its key, which the reader adds as `username`.

import { type Fields, isObject } from '../fields.ts';
import type { ImportFault } from '../import_faults.ts';
import { warnOfOthers, withoutAbsent } from './conversion.ts';

/** Members that are claims of the same name. */
const CLAIMS = [
  ...['given_name', 'middle_name', 'family_name', 'nickname', 'gender', 'birthdate', 'website', 'profile'],
  ...['picture', 'zoneinfo', 'locale', 'phone_number', 'address', 'email'],
] as const;

const USED: ReadonlySet<string> = new Set([
  ...['username', 'displayname', 'password', 'groups', 'disabled'],
  ...CLAIMS,
]);

export function fromAuthelia(user: Fields, warnings: ImportFault[]): Fields {
  const { username, displayname, password, groups, disabled } = user;
  warnOfOthers(user, USED, warnings);
  const claims = Object.fromEntries(CLAIMS.map((name) => [name, user[name]]));
  return {
    username,
    claims: withoutAbsent({ ...claims, name: displayname }),
    groups: Array.isArray(groups) ? groups.map(String) : undefined,
    disabled,
    password_hash: password,
  };
}

/** The users of a document. @returns `undefined` if it has none */
export function usersOfAuthelia(document: unknown): readonly unknown[] | undefined {
  if (!isObject(document) || !isObject(document.users)) return undefined;
  return Object.entries(document.users).map(([username, user]) =>
    isObject(user) ? { ...user, username } : user,
  );
}
