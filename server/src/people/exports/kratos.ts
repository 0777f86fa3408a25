// Identities of Ory Kratos, read with `include_credential=password` and `include_credential=oidc`.

import { type Fields, isObject, objectOf } from '../fields.ts';
import { ImportFault } from '../import_faults.ts';
import {
  type ConvertOptions,
  creationTime,
  linksFrom,
  objectsIn,
  warnOfOthers,
  wholeName,
  withoutAbsent,
} from './conversion.ts';

const KRATOS_USED: ReadonlySet<string> = new Set([
  ...['id', 'state', 'traits', 'credentials', 'verifiable_addresses', 'recovery_addresses'],
  ...['schema_id', 'schema_url', 'state_changed_at', 'created_at', 'updated_at', 'available_aal'],
]);
const KRATOS_TRAITS: ReadonlySet<string> = new Set(['email', 'username', 'name', 'phone']);
const KRATOS_CREDENTIALS: ReadonlySet<string> = new Set(['password', 'oidc']);

export function fromKratos(identity: Fields, warnings: ImportFault[], options: ConvertOptions): Fields {
  const { id, state, verifiable_addresses: addresses } = identity;
  const [traits = {}, credentials = {}] = [identity.traits, identity.credentials].map(objectOf);
  const [password = {}, oidc = {}] = [credentials.password, credentials.oidc].map(objectOf);
  const [config = {}, oidcConfig = {}] = [password.config, oidc.config].map(objectOf);
  const { email, username, name } = traits;
  const identifiers: readonly unknown[] = Array.isArray(password.identifiers) ? password.identifiers : [];
  const { first, last } = isObject(name) ? name : { first: undefined, last: undefined };
  const isVerified = objectsIn(addresses).some(({ value, verified }) => value === email && verified === true);
  warnOfOthers(identity, KRATOS_USED, warnings);
  warnOfOthers(traits, KRATOS_TRAITS, warnings, 'traits: ');
  warnOfOthers(credentials, KRATOS_CREDENTIALS, warnings, 'credentials: ');
  const links = objectsIn(oidcConfig.providers).map(({ provider, subject }) => ({
    ...{ provider, sub: subject, label: email },
  }));
  if (links.length === 0 && credentials.oidc !== undefined) warnings.push(new ImportFault('links_left_out'));
  return {
    username: username ?? email ?? identifiers[0],
    subject: id,
    claims: withoutAbsent({
      email,
      email_verified: email === undefined ? undefined : isVerified,
      name: typeof name === 'string' ? name : wholeName(first, last),
      given_name: first,
      family_name: last,
      phone_number: traits.phone,
    }),
    created_at: creationTime(identity.created_at, warnings),
    disabled: state === undefined ? undefined : state === 'inactive',
    links: linksFrom(links, options, warnings),
    password_hash: config.hashed_password,
  };
}
