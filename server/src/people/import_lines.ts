import { createHash } from 'node:crypto';
import type { Claims } from '@grantd/core';
import { claimsAsKept, nameAsKept, nameProblem } from '../data/people.ts';
import { readPasswordHash } from './password_formats.ts';

/** A user as a line of an import says. What a line does not say stays as it is in an update. */
export interface ImportLine {
  readonly username: string;
  readonly subject?: string;
  readonly claims: Claims;
  readonly groups?: readonly string[];
  readonly disabled?: boolean;
  readonly passwordHash?: string;
  /** Digest of all of it. */
  readonly digest: string;
}

/** Why a line cannot be imported. */
export interface LineProblem {
  readonly username?: string;
  readonly reason: string;
  /** Whether it is no user. */
  readonly isSkipped?: boolean;
}

/** Standard claims that are not text (OpenID Connect Core §5.1). Clients would read the text `no` as true. */
export const CLAIM_TYPES: ReadonlyMap<string, { readonly type: string; readonly expected: string }> = new Map(
  [
    ['email_verified', { type: 'boolean', expected: 'true or false' }],
    ['phone_number_verified', { type: 'boolean', expected: 'true or false' }],
    ['updated_at', { type: 'number', expected: 'seconds since 1970, as a number' }],
    ['address', { type: 'object', expected: 'a JSON object such as {"locality": "Paris"}' }],
  ],
);

const MEMBERS = ['username', 'subject', 'claims', 'groups', 'disabled', 'password_hash'];

const MAX_CLAIMS_LENGTH = 16 * 1024;
const MAX_GROUPS = 100;

/** OpenID Connect Core §2: at most 255 ASCII characters. A command would read a leading `-` as a flag. */
const SUBJECT = /^[\x21-\x2C\x2E-\x7E][\x21-\x7E]{0,254}$/;

/** Reads what a line says. */
export function readImportLine(value: unknown): ImportLine | LineProblem {
  if (!isObject(value)) return { reason: 'expected a JSON object such as {"username":"carol"}' };
  const { username, subject, claims = {}, groups, disabled, password_hash: passwordHash, ...others } = value;
  const known = typeof username === 'string' ? { username } : {};
  const reason = problemOf({ username, subject, claims, groups, disabled, passwordHash }, others);
  if (reason !== undefined) return { ...known, reason };
  const line = {
    username: nameAsKept(String(username)),
    ...(subject !== undefined && { subject: String(subject) }),
    claims: claimsAsKept(claims as Claims),
    ...(groups !== undefined && { groups: [...new Set(groups as readonly string[])].sort() }),
    ...(disabled !== undefined && { disabled: disabled === true }),
    ...(passwordHash !== undefined && { passwordHash: String(passwordHash) }),
  };
  return { ...line, digest: createHash('sha256').update(JSON.stringify(line)).digest('base64url') };
}

function problemOf(
  { username, subject, claims, groups, disabled, passwordHash }: Readonly<Record<string, unknown>>,
  others: object,
): string | undefined {
  const [other] = Object.keys(others);
  if (other !== undefined)
    return `${other}: unknown member: expected ${MEMBERS.slice(0, -1).join(', ')} or ${MEMBERS.at(-1)}`;
  if (typeof username !== 'string') return 'username: expected a text';
  const expected = nameProblem(username);
  if (expected !== undefined) return `username: expected ${expected}`;
  if (subject !== undefined && !(typeof subject === 'string' && SUBJECT.test(subject)))
    return 'subject: expected 1 to 255 visible ASCII characters, not beginning with -';
  if (!isObject(claims)) return 'claims: expected an object such as {"name":"Carol"}';
  if (JSON.stringify(claims).length > MAX_CLAIMS_LENGTH)
    return `claims: expected at most ${MAX_CLAIMS_LENGTH} characters of JSON`;
  if (Object.hasOwn(claims, 'sub')) return 'claims: sub: expected it as subject';
  for (const [name, { type, expected: kind }] of CLAIM_TYPES) {
    const value = claims[name];
    if (value !== undefined && (typeof value !== type || value === null || Array.isArray(value)))
      return `claims: ${name}: expected ${kind}`;
  }
  const areNames = Array.isArray(groups) && groups.every((one) => typeof one === 'string');
  if (groups !== undefined && !(areNames && groups.length <= MAX_GROUPS))
    return `groups: expected a list of at most ${MAX_GROUPS} names`;
  if (disabled !== undefined && typeof disabled !== 'boolean') return 'disabled: expected true or false';
  if (passwordHash === undefined) return undefined;
  const hash = typeof passwordHash === 'string' ? readPasswordHash(passwordHash) : { problem: 'a text' };
  return 'problem' in hash ? `password_hash: expected ${hash.problem}` : undefined;
}

/** Other formats of an import. */
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

/** Reads a user in another format. Subject identifiers stay the same, so that applications recognise their users. */
export function convertUser(format: ImportFormat, user: unknown): ImportLine | LineProblem {
  if (format === 'grantd') return readImportLine(user);
  if (!isObject(user)) return { reason: 'expected a JSON object' };
  const converted = CONVERTERS[format](user);
  if (converted.reason !== undefined)
    return {
      reason: String(converted.reason),
      isSkipped: converted.isSkipped === true,
      ...(typeof converted.username === 'string' && { username: converted.username }),
    };
  return readImportLine(withoutAbsent(converted));
}

type Fields = Readonly<Record<string, unknown>>;

const CONVERTERS: Readonly<Record<Exclude<ImportFormat, 'grantd'>, (user: Fields) => Fields>> = {
  keycloak: fromKeycloak,
  auth0: fromAuth0,
  kratos: fromKratos,
};

/** A user of a realm export (`kc.sh export`). */
function fromKeycloak(user: Fields): Fields {
  const { username, id, email, emailVerified, firstName, lastName, enabled, groups, credentials } = user;
  if (user.serviceAccountClientId !== undefined)
    return { username, isSkipped: true, reason: 'a service account: use grantd client add instead' };
  const attributes = isObject(user.attributes) ? Object.entries(user.attributes) : [];
  const passwords = objectsIn(credentials).filter(({ type }) => type === 'password');
  const [hash, ...more] = passwords.map(keycloakHash);
  if (more.length > 0) return { username, reason: 'credentials: expected at most one password' };
  if (hash !== undefined && typeof hash !== 'string') return { username, ...hash };
  const names = [firstName, lastName].filter((name) => typeof name === 'string' && name !== '');
  return {
    username,
    subject: id,
    claims: withoutAbsent({
      ...Object.fromEntries(attributes.map(([name, value]) => [name, singleIn(value)])),
      email,
      email_verified: email === undefined ? undefined : emailVerified,
      given_name: firstName,
      family_name: lastName,
      name: names.length > 0 ? names.join(' ') : undefined,
    }),
    // `/staff/berlin` is a path. Groups of grantd do not contain groups.
    groups: Array.isArray(groups) ? groups.map((path) => String(path).replace(/^\//, '')) : undefined,
    disabled: typeof enabled === 'boolean' ? !enabled : undefined,
    password_hash: hash,
  };
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

/** A line of a password hash export, or of a bulk user export, which has no hashes. */
function fromAuth0(user: Fields): Fields {
  const { email, email_verified: isVerified, passwordHash, blocked, _id: id, user_id: userId } = user;
  const known = ['name', 'given_name', 'family_name', 'nickname', 'picture', 'phone_number', 'locale'];
  const objectId = isObject(id) ? id.$oid : id;
  return {
    username: user.username ?? email,
    subject: userId ?? (objectId === undefined ? undefined : `auth0|${objectId}`),
    claims: withoutAbsent({
      ...Object.fromEntries(known.map((name) => [name, user[name]])),
      email,
      email_verified: email === undefined ? undefined : isVerified,
    }),
    disabled: blocked,
    password_hash: passwordHash,
  };
}

/** An identity of Ory Kratos, read with `include_credential=password`. */
function fromKratos(identity: Fields): Fields {
  const { id, state, verifiable_addresses: addresses } = identity;
  const traits = isObject(identity.traits) ? identity.traits : {};
  const credentials = isObject(identity.credentials) ? identity.credentials : {};
  const password = isObject(credentials.password) ? credentials.password : {};
  const config = isObject(password.config) ? password.config : {};
  const { email, username, name } = traits;
  const identifiers: readonly unknown[] = Array.isArray(password.identifiers) ? password.identifiers : [];
  const { first, last } = isObject(name) ? name : { first: undefined, last: undefined };
  const names = [first, last].filter((part) => typeof part === 'string' && part !== '');
  const isVerified = objectsIn(addresses).some(({ value, verified }) => value === email && verified === true);
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
    password_hash: config.hashed_password,
  };
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function objectsIn(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Keycloak stores these objects as JSON. */
function objectOf(json: unknown): Fields | undefined {
  try {
    const value: unknown = typeof json === 'string' ? JSON.parse(json) : json;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
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
