// Users of `manage.py dumpdata auth.user`, also of a user model of an application’s own.

import { type Fields, isObject } from '../fields.ts';
import { ImportFault } from '../import_faults.ts';
import {
  type ConvertOptions,
  creationTime,
  warnOfOthers,
  wholeName,
  withoutAbsent,
  withRoles,
} from './conversion.ts';

const USED: ReadonlySet<string> = new Set([
  ...['username', 'password', 'email', 'first_name', 'last_name', 'is_active', 'groups'],
  ...['is_staff', 'is_superuser', 'last_login', 'date_joined'],
]);

export function fromDjango(item: Fields, warnings: ImportFault[], options: ConvertOptions): Fields {
  const { model, pk } = item;
  const fields = isObject(item.fields) ? item.fields : {};
  const { username, password, email, first_name: given, last_name: family, is_active: isActive } = fields;
  if (typeof password !== 'string')
    return { isSkipped: true, reasons: [new ImportFault('no_model', String(model))] };
  warnOfOthers(fields, USED, warnings);
  // Without --natural-foreign, a group is a number.
  const groups = Array.isArray(fields.groups) ? fields.groups.flat().map(String) : [];
  const numbers = groups.filter((group) => /^\d+$/.test(group));
  if (numbers.length > 0) warnings.push(new ImportFault('groups_left_out', numbers.join(', ')));
  const roles = (['is_staff', 'is_superuser'] as const).filter((name) => fields[name] === true);
  return {
    username: username ?? email,
    subject: pk === undefined ? undefined : String(pk),
    claims: withoutAbsent({
      email: email === '' ? undefined : email,
      given_name: given === '' ? undefined : given,
      family_name: family === '' ? undefined : family,
      name: wholeName(given, family),
    }),
    groups: withRoles(
      groups.filter((group) => !numbers.includes(group)),
      roles.map((name) => name.replace('is_', '')),
      ...([warnings, options] as const),
    ),
    created_at: creationTime(fields.date_joined, warnings),
    disabled: isActive === undefined ? undefined : isActive !== true,
    // Django begins the hash of a user without a password with `!`.
    password_hash: password === '' || password.startsWith('!') ? undefined : password,
  };
}
