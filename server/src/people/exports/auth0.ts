// Users of Auth0: a line of a password hash export, or of a bulk user export, which has no hashes.

import { type Fields, isObject } from '../fields.ts';
import type { ImportFault } from '../import_faults.ts';
import {
  type ConvertOptions,
  creationTime,
  linksFrom,
  objectsIn,
  warnOfOthers,
  withoutAbsent,
} from './conversion.ts';

const AUTH0_CLAIMS = ['name', 'given_name', 'family_name', 'nickname', 'picture', 'phone_number', 'locale'];

const AUTH0_USED: ReadonlySet<string> = new Set([
  ...['email', 'email_verified', 'passwordHash', 'blocked', '_id', 'user_id', 'username', 'identities'],
  ...[...AUTH0_CLAIMS, 'phone_verified'],
  // Times, and what Auth0 knows about its own tenant.
  ...[
    'tenant',
    'connection',
    '_tmp_is_unique',
    'password_set_date',
    'created_at',
    'updated_at',
    'last_login',
  ],
  ...['last_ip', 'logins_count', 'last_password_reset', 'global_client_id', 'provider'],
]);

/** The names of providers, by those of Auth0. */
const AUTH0_PROVIDERS: Readonly<Record<string, string>> = { 'google-oauth2': 'google' };

export function fromAuth0(user: Fields, warnings: ImportFault[], options: ConvertOptions): Fields {
  const { email, email_verified: isVerified, passwordHash, blocked, _id: id, user_id: userId } = user;
  const { created_at: createdAt } = user;
  const objectId = isObject(id) ? id.$oid : id;
  warnOfOthers(user, AUTH0_USED, warnings);
  const links = objectsIn(user.identities)
    .filter(({ provider }) => provider !== 'auth0')
    .map(({ provider, user_id: sub }) => ({
      ...{ provider: AUTH0_PROVIDERS[String(provider)] ?? provider, sub, label: email },
    }));
  return {
    username: user.username ?? email,
    subject: userId ?? (objectId === undefined ? undefined : `auth0|${objectId}`),
    claims: withoutAbsent({
      ...Object.fromEntries(AUTH0_CLAIMS.map((name) => [name, user[name]])),
      phone_number_verified: user.phone_number === undefined ? undefined : user.phone_verified,
      email,
      email_verified: email === undefined ? undefined : isVerified,
    }),
    created_at: creationTime(isObject(createdAt) ? createdAt.$date : createdAt, warnings),
    disabled: blocked,
    links: linksFrom(links, options, warnings),
    password_hash: passwordHash,
  };
}
