// Users as other servers export them. Each converter says what this server leaves out.
import {
  type Fields,
  type ImportLine,
  isObject,
  type LineProblem,
  objectOf,
  PROVIDER_NAME,
  readImportLine,
} from './import_lines.ts';

/** Formats of an import. */
export type ImportFormat = (typeof IMPORT_FORMATS)[number];
export const IMPORT_FORMATS = ['grantd', 'keycloak', 'auth0', 'kratos'] as const;

/** Whether a file of the format is one JSON document. The others have a document per line. */
export function isOneDocument(format: ImportFormat): boolean {
  return format === 'keycloak' || format === 'kratos';
}

/**
 * Returns the users of a document.
 * @returns `undefined` if it has no list of users
 */
export function usersIn(document: unknown): readonly unknown[] | undefined {
  if (Array.isArray(document)) return document;
  return isObject(document) && Array.isArray(document.users) ? document.users : undefined;
}

/** The issuers of identity providers, by the names that links have. */
export type ProviderIssuers = ReadonlyMap<string, string>;

/** The providers whose issuer is known, by their kind. With others, such as Microsoft, servers know users by other identifiers. */
const KNOWN_ISSUERS: ReadonlyMap<string, string> = new Map([
  ['google', 'https://accounts.google.com'],
  ['github', 'https://github.com'],
]);

/** The providers of a realm. */
export function providersIn(document: unknown): ProviderIssuers {
  const providers = isObject(document) ? objectsIn(document.identityProviders) : [];
  return new Map(
    providers.flatMap(({ alias, providerId, config }) => {
      const ofConfig = isObject(config) && String(providerId).endsWith('oidc') ? config.issuer : undefined;
      const issuer = KNOWN_ISSUERS.get(String(providerId)) ?? ofConfig;
      return typeof issuer === 'string' ? [[String(alias), issuer] as const] : [];
    }),
  );
}

/** Reads a user in another format. Subject identifiers stay the same, so that applications recognise their users. */
export function convertUser(
  format: ImportFormat,
  user: unknown,
  issuers: ProviderIssuers = KNOWN_ISSUERS,
): ImportLine | LineProblem {
  if (format === 'grantd') return readImportLine(user);
  if (!isObject(user)) return { reason: 'expected a JSON object' };
  const warnings: string[] = [];
  const converted = CONVERTERS[format](user, warnings, issuers);
  if (converted.reason !== undefined)
    return {
      reason: String(converted.reason),
      isSkipped: converted.isSkipped === true,
      ...(typeof converted.username === 'string' && { username: converted.username }),
    };
  const read = readImportLine(withoutAbsent(converted), warnings);
  return 'reason' in read ? read : { ...read, warnings: [...read.warnings, ...withoutWayIn(read)] };
}

/** What a user misses who has nothing to sign in with, and no verified address for a link to choose a password. */
function withoutWayIn({ passwordHash, links, directoryId, invite, claims, warnings }: ImportLine): string[] {
  const canSignIn = [passwordHash, links, directoryId, invite].some((item) => item !== undefined);
  const isSaid = warnings.some((warning) => warning.includes('run grantd'));
  if (canSignIn || claims.email_verified === true || isSaid) return [];
  return ['sign-in: nothing to sign in with is imported: run grantd user set-password'];
}

type Converter = (user: Fields, warnings: string[], issuers: ProviderIssuers) => Fields;

const CONVERTERS: Readonly<Record<Exclude<ImportFormat, 'grantd'>, Converter>> = {
  keycloak: fromKeycloak,
  auth0: fromAuth0,
  kratos: fromKratos,
};

/** Warns about members that have a value, and that neither the converter uses nor anybody misses. */
function warnOfOthers(fields: Fields, used: ReadonlySet<string>, warnings: string[], prefix = ''): void {
  for (const [name, value] of Object.entries(fields)) {
    const hasContent =
      typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value);
    if (!used.has(name) && hasContent) warnings.push(`${prefix}${name}: not imported`);
  }
}

/** An account at a provider, as other servers describe it. */
interface OtherLink {
  readonly provider: unknown;
  readonly sub: unknown;
  readonly label?: unknown;
}

function linksFrom(links: readonly OtherLink[], issuers: ProviderIssuers, warnings: string[]) {
  const known = links.flatMap(({ provider, sub, label }) => {
    const name = String(provider);
    const issuer = issuers.get(name);
    const isUsable = issuer !== undefined && PROVIDER_NAME.test(name) && sub !== undefined && sub !== '';
    if (isUsable)
      return [{ provider: name, issuer, sub: String(sub), ...(typeof label === 'string' && { label }) }];
    warnings.push(
      `links: ${name}: not imported, because its issuer is unknown: the user connects the account again on the account page`,
    );
    return [];
  });
  return known.length > 0 ? known : undefined;
}

/** Attributes whose names differ from the claims that Keycloak’s own mappers make of them. */
const KEYCLOAK_CLAIMS: Readonly<Record<string, string>> = {
  phoneNumber: 'phone_number',
  phoneNumberVerified: 'phone_number_verified',
  middleName: 'middle_name',
  updatedAt: 'updated_at',
};

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
function fromKeycloak(user: Fields, warnings: string[], issuers: ProviderIssuers): Fields {
  const { username, id, email, emailVerified, firstName, lastName, enabled, groups, credentials } = user;
  if (user.serviceAccountClientId !== undefined)
    return { username, isSkipped: true, reason: 'a service account: use grantd client add instead' };
  const all = objectsIn(credentials);
  const passwords = all.filter(({ type }) => type === 'password');
  const [hash, ...more] = passwords.map(keycloakHash);
  if (more.length > 0) return { username, reason: 'credentials: expected at most one password' };
  if (hash !== undefined && typeof hash !== 'string') return { username, ...hash };
  for (const type of new Set(all.map((item) => String(item.type))))
    if (type !== 'password') warnings.push(`credentials: ${type}: not imported: the user adds it again`);
  const actions = Array.isArray(user.requiredActions) ? user.requiredActions.map(String) : [];
  const isTemporary =
    passwords.some(({ temporary }) => temporary === true) || actions.includes('UPDATE_PASSWORD');
  if (isTemporary) warnings.push('password: it was temporary: the user chooses one by an invitation');
  const otherActions = actions.filter((action) => action !== 'UPDATE_PASSWORD');
  if (otherActions.length > 0) warnings.push(`requiredActions: ${otherActions.join(', ')}: not imported`);
  warnOfRoles(user, warnings);
  warnOfOthers(user, KEYCLOAK_USED, warnings);
  const directoryId = directoryIdOf(user, warnings);
  const names = [firstName, lastName].filter((name) => typeof name === 'string' && name !== '');
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
      name: names.length > 0 ? names.join(' ') : undefined,
    }),
    // `/staff/berlin` is a path. Groups of grantd do not contain groups.
    groups: Array.isArray(groups) ? groups.map((path) => String(path).replace(/^\//, '')) : undefined,
    disabled: typeof enabled === 'boolean' ? !enabled : undefined,
    links: linksFrom(links, issuers, warnings),
    directory_id: directoryId,
    ...(directoryId === undefined && (isTemporary ? { invite: true } : { password_hash: hash })),
  };
}

/** Claims that the server makes itself. An attribute of the same name would be taken for it. */
const OWN_CLAIMS: ReadonlySet<string> = new Set(['sub', 'groups', 'preferred_username']);

function attributeClaims({ attributes }: Fields, warnings: string[]): Fields {
  const entries = isObject(attributes) ? Object.entries(attributes) : [];
  for (const [name] of entries)
    if (OWN_CLAIMS.has(name))
      warnings.push(`attributes: ${name}: not imported, because grantd sets this claim`);
  const pairs = entries
    .filter(([name]) => !LDAP_ATTRIBUTES.has(name) && !OWN_CLAIMS.has(name))
    .map(([name, value]) => [KEYCLOAK_CLAIMS[name] ?? name, singleIn(value)] as const);
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

/** Every user of a realm has its default roles, which grant access to Keycloak itself. */
function warnOfRoles({ realmRoles, clientRoles }: Fields, warnings: string[]): void {
  const ofRealm = (Array.isArray(realmRoles) ? realmRoles.map(String) : []).filter(
    (role) => !/^(default-roles-|offline_access$|uma_authorization$)/.test(role),
  );
  const ofClients = Object.entries(isObject(clientRoles) ? clientRoles : {})
    .filter(([client]) => client !== 'account')
    .flatMap(([client, roles]) => (Array.isArray(roles) ? roles.map((role) => `${client}/${role}`) : []));
  const roles = [...ofRealm, ...ofClients];
  if (roles.length > 0)
    warnings.push(`roles: ${roles.join(', ')}: not imported: use groups or claims instead`);
}

function directoryIdOf({ federationLink, attributes }: Fields, warnings: string[]): unknown {
  if (federationLink === undefined || federationLink === null) return undefined;
  const id = isObject(attributes) ? singleIn(attributes.LDAP_ID) : undefined;
  if (typeof id === 'string') return id;
  warnings.push('federationLink: the entry in the directory is unknown: run grantd directory link');
  return undefined;
}

const KEYCLOAK_DIGESTS: Readonly<Record<string, string>> = {
  pbkdf2: 'sha1',
  'pbkdf2-sha256': 'sha256',
  'pbkdf2-sha512': 'sha512',
};

function keycloakHash({ secretData, credentialData }: Fields): string | { readonly reason: string } {
  const [secret, data] = [secretData, credentialData].map(objectOf);
  const { algorithm, hashIterations, additionalParameters } = data ?? {};
  const [salt, value] = [secret?.salt, secret?.value].map((text) => String(text).replace(/=+$/, ''));
  const digest = KEYCLOAK_DIGESTS[String(algorithm)];
  if (digest !== undefined) return `$pbkdf2-${digest}$i=${hashIterations}$${salt}$${value}`;
  if (algorithm !== 'argon2')
    return {
      reason: `credentials: expected the algorithm argon2, ${Object.keys(KEYCLOAK_DIGESTS).join(', ')}, got ${JSON.stringify(algorithm)}`,
    };
  const parameters = isObject(additionalParameters) ? additionalParameters : {};
  const [type, memory, lanes, version] = ['type', 'memory', 'parallelism', 'version'].map((name) =>
    singleIn(parameters[name]),
  );
  if (version !== undefined && version !== '1.3')
    return { reason: `credentials: expected version 1.3 of argon2, got ${JSON.stringify(version)}` };
  return `$argon2${type ?? 'id'}$v=19$m=${memory},t=${hashIterations},p=${lanes}$${salt}$${value}`;
}

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

/** A line of a password hash export, or of a bulk user export, which has no hashes. */
function fromAuth0(user: Fields, warnings: string[], issuers: ProviderIssuers): Fields {
  const { email, email_verified: isVerified, passwordHash, blocked, _id: id, user_id: userId } = user;
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
    disabled: blocked,
    links: linksFrom(links, issuers, warnings),
    password_hash: passwordHash,
  };
}

const KRATOS_USED: ReadonlySet<string> = new Set([
  ...['id', 'state', 'traits', 'credentials', 'verifiable_addresses', 'recovery_addresses'],
  ...['schema_id', 'schema_url', 'state_changed_at', 'created_at', 'updated_at', 'available_aal'],
]);
const KRATOS_TRAITS: ReadonlySet<string> = new Set(['email', 'username', 'name', 'phone']);
const KRATOS_CREDENTIALS: ReadonlySet<string> = new Set(['password', 'oidc']);

/** An identity of Ory Kratos, read with `include_credential=password` and `include_credential=oidc`. */
function fromKratos(identity: Fields, warnings: string[], issuers: ProviderIssuers): Fields {
  const { id, state, verifiable_addresses: addresses } = identity;
  const [traits = {}, credentials = {}] = [identity.traits, identity.credentials].map(objectOf);
  const [password = {}, oidc = {}] = [credentials.password, credentials.oidc].map(objectOf);
  const [config = {}, oidcConfig = {}] = [password.config, oidc.config].map(objectOf);
  const { email, username, name } = traits;
  const identifiers: readonly unknown[] = Array.isArray(password.identifiers) ? password.identifiers : [];
  const { first, last } = isObject(name) ? name : { first: undefined, last: undefined };
  const names = [first, last].filter((part) => typeof part === 'string' && part !== '');
  const isVerified = objectsIn(addresses).some(({ value, verified }) => value === email && verified === true);
  warnOfOthers(identity, KRATOS_USED, warnings);
  warnOfOthers(traits, KRATOS_TRAITS, warnings, 'traits: ');
  warnOfOthers(credentials, KRATOS_CREDENTIALS, warnings, 'credentials: ');
  const links = objectsIn(oidcConfig.providers).map(({ provider, subject }) => ({
    ...{ provider, sub: subject, label: email },
  }));
  if (links.length === 0 && credentials.oidc !== undefined)
    warnings.push('links: not imported: read the identities with include_credential=oidc too');
  return {
    username: username ?? email ?? identifiers[0],
    subject: id,
    claims: withoutAbsent({
      email,
      email_verified: email === undefined ? undefined : isVerified,
      name: typeof name === 'string' ? name : names.length > 0 ? names.join(' ') : undefined,
      given_name: first,
      family_name: last,
      phone_number: traits.phone,
    }),
    disabled: state === undefined ? undefined : state === 'inactive',
    links: linksFrom(links, issuers, warnings),
    password_hash: config.hashed_password,
  };
}

function objectsIn(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** The only value of a list, or the list. */
function singleIn(value: unknown): unknown {
  return Array.isArray(value) && value.length === 1 ? value[0] : value;
}

function withoutAbsent(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  );
}
