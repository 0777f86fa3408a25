// Users of a realm export of Keycloak (`kc.sh export`).

import { type Fields, isObject, objectOf } from '../fields.ts';
import { ImportFault } from '../import_faults.ts';
import { isTotpSecret } from '../import_lines.ts';
import { DIGITS, PERIOD_SECONDS } from '../second_factors.ts';
import {
  type ConvertOptions,
  creationTime,
  KNOWN_ISSUERS,
  linksFrom,
  objectsIn,
  type ProviderIssuers,
  singleIn,
  warnOfOthers,
  wholeName,
  withoutAbsent,
  withRoles,
} from './conversion.ts';

/** The providers of a realm. */
export function providersOfRealm(identityProviders: unknown): ProviderIssuers {
  const providers = objectsIn(identityProviders);
  return new Map(
    providers.flatMap(({ alias, providerId, config }) => {
      const ofConfig = isObject(config) && String(providerId).endsWith('oidc') ? config.issuer : undefined;
      const issuer = KNOWN_ISSUERS.get(String(providerId)) ?? ofConfig;
      return typeof issuer === 'string' ? [[String(alias), issuer] as const] : [];
    }),
  );
}

/** Attributes whose names differ from the claims that Keycloak’s own mappers make of them. */
const KEYCLOAK_CLAIMS: ReadonlyMap<string, string> = new Map([
  ['phoneNumber', 'phone_number'],
  ['phoneNumberVerified', 'phone_number_verified'],
  ['middleName', 'middle_name'],
  ['updatedAt', 'updated_at'],
]);

/** Parts of an address, by the attributes that Keycloak’s mapper for addresses reads. */
const KEYCLOAK_ADDRESS: Readonly<Record<string, string>> = {
  street: 'street_address',
  locality: 'locality',
  region: 'region',
  postal_code: 'postal_code',
  country: 'country',
  formatted: 'formatted',
};

/** What Keycloak stores about an entry of LDAP. */
const LDAP_ATTRIBUTES: ReadonlySet<string> = new Set([
  ...['LDAP_ID', 'LDAP_ENTRY_DN', 'createTimestamp', 'modifyTimestamp'],
]);

const KEYCLOAK_USED: ReadonlySet<string> = new Set([
  ...[
    'username',
    'id',
    'email',
    'emailVerified',
    'firstName',
    'lastName',
    'enabled',
    'groups',
    'credentials',
  ],
  ...['attributes', 'federatedIdentities', 'federationLink', 'requiredActions', 'realmRoles', 'clientRoles'],
  // Times, and what Keycloak derives.
  ...['createdTimestamp', 'notBefore', 'totp', 'disableableCredentialTypes', 'access', 'self', 'origin'],
]);

/** A user of a realm export (`kc.sh export`). */
export function fromKeycloak(user: Fields, warnings: ImportFault[], options: ConvertOptions): Fields {
  const { username, id, email, emailVerified, firstName, lastName, enabled, groups, credentials } = user;
  if (user.serviceAccountClientId !== undefined)
    return { username, isSkipped: true, reasons: [new ImportFault('service_account')] };
  const all = objectsIn(credentials);
  const passwords = all.filter(({ type }) => type === 'password');
  const [hash, ...more] = passwords.map(keycloakHash);
  if (more.length > 0) return { username, reasons: [new ImportFault('several_passwords')] };
  if (hash instanceof ImportFault) return { username, reasons: [hash] };
  const totpSecret = totpSecretOf(
    all.filter(({ type }) => type === 'otp'),
    warnings,
  );
  for (const type of new Set(all.map((item) => String(item.type))))
    if (type !== 'password' && type !== 'otp') warnings.push(new ImportFault('credential_left_out', type));
  const actions = Array.isArray(user.requiredActions) ? user.requiredActions.map(String) : [];
  const isTemporary =
    passwords.some(({ temporary }) => temporary === true) || actions.includes('UPDATE_PASSWORD');
  if (isTemporary) warnings.push(new ImportFault('temporary_password'));
  const otherActions = actions.filter((action) => action !== 'UPDATE_PASSWORD');
  if (otherActions.length > 0) warnings.push(new ImportFault('actions_left_out', otherActions.join(', ')));
  warnOfOthers(user, KEYCLOAK_USED, warnings);
  const directoryId = directoryIdOf(user, warnings);
  const links = objectsIn(user.federatedIdentities).map(({ identityProvider, userId, userName }) => ({
    ...{ provider: identityProvider, sub: userId, label: userName },
  }));
  return {
    username,
    subject: id,
    claims: withoutAbsent({
      ...attributeClaims(user, warnings),
      email,
      email_verified: email === undefined ? undefined : emailVerified,
      given_name: firstName,
      family_name: lastName,
      name: wholeName(firstName, lastName),
    }),
    // `/staff/berlin` is a path. Groups of grantd do not contain groups.
    groups: withRoles(
      Array.isArray(groups) ? groups.map((path) => String(path).replace(/^\//, '')) : undefined,
      ...([rolesOf(user), warnings, options] as const),
    ),
    disabled: typeof enabled === 'boolean' ? !enabled : undefined,
    links: linksFrom(links, options, warnings),
    created_at: creationTime(user.createdTimestamp, warnings),
    totp_secret: totpSecret,
    directory_id: directoryId,
    ...(directoryId === undefined && (isTemporary ? { invite: true } : { password_hash: hash })),
  };
}

/** Claims that the server makes itself. An attribute of the same name would be taken for it. */
const OWN_CLAIMS: ReadonlySet<string> = new Set(['sub', 'groups', 'preferred_username']);

function attributeClaims({ attributes }: Fields, warnings: ImportFault[]): Fields {
  const entries = isObject(attributes) ? Object.entries(attributes) : [];
  for (const [name] of entries)
    if (OWN_CLAIMS.has(name)) warnings.push(new ImportFault('attribute_left_out', name));
  const pairs = entries
    .filter(([name]) => !LDAP_ATTRIBUTES.has(name) && !OWN_CLAIMS.has(name))
    .map(([name, value]) => [KEYCLOAK_CLAIMS.get(name) ?? name, singleIn(value)] as const);
  const addressPairs = pairs.filter(([name]) => Object.hasOwn(KEYCLOAK_ADDRESS, name));
  // A country alone can mean anything.
  if (!addressPairs.some(([name]) => name !== 'country')) return Object.fromEntries(pairs);
  const { address, ...others } = Object.fromEntries(
    pairs.filter(([name]) => !Object.hasOwn(KEYCLOAK_ADDRESS, name)),
  );
  const whole =
    address === undefined ? {} : (objectOf(address) ?? { formatted: [address].flat().join('\n') });
  const named = addressPairs.map(([name, value]) => [KEYCLOAK_ADDRESS[name] ?? name, value] as const);
  return { ...others, address: { ...whole, ...Object.fromEntries(named) } };
}

/** Without the default roles of a realm, which every user has, and which grant access to Keycloak itself. */
function rolesOf({ realmRoles, clientRoles }: Fields): readonly string[] {
  const ofRealm = (Array.isArray(realmRoles) ? realmRoles.map(String) : []).filter(
    (role) => !/^(default-roles-|offline_access$|uma_authorization$)/.test(role),
  );
  const ofClients = Object.entries(isObject(clientRoles) ? clientRoles : {})
    .filter(([client]) => client !== 'account')
    .flatMap(([client, roles]) => (Array.isArray(roles) ? roles.map((role) => `${client}/${role}`) : []));
  return [...ofRealm, ...ofClients];
}

function directoryIdOf({ federationLink, attributes }: Fields, warnings: ImportFault[]): unknown {
  if (federationLink === undefined || federationLink === null) return undefined;
  const id = isObject(attributes) ? singleIn(attributes.LDAP_ID) : undefined;
  if (typeof id === 'string') return id;
  warnings.push(new ImportFault('entry_unknown'));
  return undefined;
}

/** The secret of the first app whose codes the server can check, in base32. */
function totpSecretOf(devices: readonly Fields[], warnings: ImportFault[]): string | undefined {
  let found: string | undefined;
  for (const { secretData, credentialData } of devices) {
    const [secret, data] = [secretData, credentialData].map(objectOf);
    const { subType, algorithm, digits, period, secretEncoding } = data ?? {};
    const isOfTime = subType === 'totp' && algorithm === 'HmacSHA1';
    const facts = [subType, algorithm, `${digits} digits`, `${period} s`].join(', ');
    if (typeof secret?.value !== 'string' || data === undefined)
      warnings.push(new ImportFault('credential_left_out', 'otp'));
    else if (!(isOfTime && digits === DIGITS && period === PERIOD_SECONDS))
      warnings.push(new ImportFault('app_left_out', facts, String(DIGITS), String(PERIOD_SECONDS)));
    else if (found !== undefined) warnings.push(new ImportFault('second_app'));
    else {
      const encoded =
        secretEncoding === 'BASE32' ? secret.value.toUpperCase().replace(/=+$/, '') : base32(secret.value);
      if (isTotpSecret(encoded)) found = encoded;
      else warnings.push(new ImportFault('app_secret'));
    }
  }
  return found;
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** Base32 of the bytes of a text, without padding. Keycloak’s secrets are texts. */
function base32(text: string): string {
  const bits = [...Buffer.from(text)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? [])
    .map((group) => BASE32.charAt(Number.parseInt(group.padEnd(5, '0'), 2)))
    .join('');
}

const KEYCLOAK_DIGESTS: ReadonlyMap<string, string> = new Map([
  ['pbkdf2', 'sha1'],
  ['pbkdf2-sha256', 'sha256'],
  ['pbkdf2-sha512', 'sha512'],
]);

function keycloakHash({ secretData, credentialData }: Fields): string | ImportFault {
  const [secret, data] = [secretData, credentialData].map(objectOf);
  const { algorithm, hashIterations, additionalParameters } = data ?? {};
  const [salt, value] = [secret?.salt, secret?.value].map((text) => String(text).replace(/=+$/, ''));
  const digest = KEYCLOAK_DIGESTS.get(String(algorithm));
  if (digest !== undefined) return `$pbkdf2-${digest}$i=${hashIterations}$${salt}$${value}`;
  if (algorithm !== 'argon2')
    return new ImportFault('algorithm', [...KEYCLOAK_DIGESTS.keys()].join(', '), JSON.stringify(algorithm));
  const parameters = isObject(additionalParameters) ? additionalParameters : {};
  const [type, memory, lanes, version] = ['type', 'memory', 'parallelism', 'version'].map((name) =>
    singleIn(parameters[name]),
  );
  if (version !== undefined && version !== '1.3')
    return new ImportFault('argon2_version', JSON.stringify(version));
  return `$argon2${type ?? 'id'}$v=19$m=${memory},t=${hashIterations},p=${lanes}$${salt}$${value}`;
}
