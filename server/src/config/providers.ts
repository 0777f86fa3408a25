// Identity providers at which users can sign in, from the file of the option `providers`.

import { createPrivateKey, type KeyObject } from 'node:crypto';
import { basename, dirname, resolve } from 'node:path';
import { isJsonObject, isScopeToken, unknownName } from '@grantd/core/options';
import { type Configuration, readJsonFile, typedPath } from './configuration.ts';
import { isLoopback } from './networks.ts';
import { isDomain } from './options.ts';
import { type Picture, readLogo } from './picture.ts';
import { readPrivateText } from './private_file.ts';
import { ConfigurationRefused } from './refused.ts';

/** Whether a provider speaks OpenID Connect, or is GitHub, which only has OAuth 2.0 and an API. */
export type ProviderProtocol = 'openid' | 'github';

export type ProviderKind = keyof typeof KINDS;

/** An identity provider at which users can sign in. */
export interface Provider {
  /** Part of URLs, and of the links of users to this provider. */
  readonly id: string;
  /** The ready-made setting. */
  readonly kind: ProviderKind;
  readonly protocol: ProviderProtocol;
  /** The name on buttons, by language: `name`, `name#de`. */
  readonly names: Readonly<Record<string, string>>;
  readonly issuer: string;
  readonly clientId: string;
  readonly credential: ProviderCredential;
  readonly scopes: readonly string[];
  /** The provider’s claim for each claim of a new user. */
  readonly claims: Readonly<Record<string, string>>;
  /** Domains whose verified addresses are believed. `*` stands for all. */
  readonly trustedDomains: readonly string[];
  /** Whether unknown users get an account, or only those with a verified address of these domains. */
  readonly createUsers: boolean | readonly string[];
  /** Users who type an address of these domains are sent to the provider. */
  readonly domains: readonly string[];
  /** Whether its authentication methods (`amr`) are passed on. */
  readonly passAmr: boolean;
  /** Whether users who sign out here also sign out at the provider. */
  readonly signsOut: boolean;
  /** On the button. */
  readonly logo?: Picture;
  /** Further parameters of authorization requests. */
  readonly parameters: Readonly<Record<string, string>>;
}

export type ProviderCredential =
  | { readonly secret: string }
  | {
      readonly privateKey: KeyObject;
      readonly keyId: string | undefined;
      /** Of Apple, whose client secret is a JWT of this team. */
      readonly teamId?: string;
    };

/** A ready-made setting. */
interface Kind {
  readonly protocol: ProviderProtocol;
  readonly name?: string;
  readonly issuer?: (tenant: string) => string;
  readonly scopes: readonly string[];
  readonly claims?: Readonly<Record<string, string>>;
}

const OPENID: Kind = { protocol: 'openid', scopes: ['openid', 'profile', 'email'] };

const KINDS = {
  generic: OPENID,
  google: { ...OPENID, name: 'Google', issuer: () => 'https://accounts.google.com' },
  microsoft: {
    ...OPENID,
    name: 'Microsoft',
    issuer: (tenant) => `https://login.microsoftonline.com/${tenant}/v2.0`,
    // Users of a tenant can have unverified addresses. Entra has a claim of its own for verified ones.
    claims: { email_verified: 'xms_edov' },
  },
  github: {
    protocol: 'github',
    name: 'GitHub',
    issuer: () => 'https://github.com',
    scopes: ['read:user', 'user:email'],
    claims: { preferred_username: 'login', picture: 'avatar_url' },
  },
  apple: {
    protocol: 'openid',
    name: 'Apple',
    issuer: () => 'https://appleid.apple.com',
    scopes: ['openid', 'name', 'email'],
  },
} as const satisfies Readonly<Record<string, Kind>>;

/** Claims of a new user that a provider sets without a mapping. Their names are those of OpenID Connect. */
const COPIED_CLAIMS = [
  'preferred_username',
  'name',
  'given_name',
  'family_name',
  'nickname',
  'picture',
  'locale',
  'email',
  'email_verified',
];

/** Parameters that the server sets itself. */
const OWN_PARAMETERS: ReadonlySet<string> = new Set([
  'client_id',
  'client_secret',
  'code_challenge',
  'code_challenge_method',
  'nonce',
  'redirect_uri',
  'request',
  'request_uri',
  'response_mode',
  'response_type',
  'scope',
  'state',
]);

const MAX_PROVIDERS = 50;
const MAX_NAME = 40;

/**
 * Reads the providers and their secrets (ADR 76).
 * @throws {ConfigurationRefused} the file or a secret is unreadable, or has another form than expected
 */
export function readProviders(
  configuration: Configuration,
  environment: NodeJS.ProcessEnv,
): readonly Provider[] {
  const providers = entriesOf(configuration, environment).map(({ id, members, place, folder }) =>
    readProvider(id, members, { place, folder, environment }),
  );
  const { settings, sourceOf } = configuration;
  requireDistinctDomains(providers, `${sourceOf('providers')}: ${basename(settings.providers ?? '')}`);
  return providers;
}

/**
 * Reads only what tells whose way in a provider is. Its secrets may be closed to those who run a command.
 * @throws {ConfigurationRefused} the file is unreadable, or has another form than expected
 */
export function readProviderFacts(
  configuration: Configuration,
  environment: NodeJS.ProcessEnv,
): readonly Pick<Provider, 'id' | 'issuer' | 'domains'>[] {
  return entriesOf(configuration, environment).map(({ id, members, place }) =>
    providerFacts(id, requireObject(members, place), place),
  );
}

function providerFacts(id: string, members: Readonly<Record<string, unknown>>, place: string) {
  const read = reader(members, place);
  const { kindName, kind } = kindOf(read);
  return { id, issuer: issuerOf(kindName, kind, read, place), domains: domainsOf(read) };
}

function requireObject(members: unknown, place: string): Readonly<Record<string, unknown>> {
  if (isJsonObject(members)) return members;
  throw new ConfigurationRefused(`${place}: expected an object`);
}

function kindOf(read: Read): { readonly kindName: ProviderKind; readonly kind: Kind } {
  const kindName = read('kind', `one of ${Object.keys(KINDS).join(', ')}`, isKind) ?? 'generic';
  return { kindName, kind: KINDS[kindName] };
}

/** The members of the file. */
function entriesOf({ settings, sourceOf }: Configuration, environment: NodeJS.ProcessEnv) {
  if (settings.providers === undefined) return [];
  const path = typedPath(environment, settings.providers);
  const source = sourceOf('providers');
  const content = readJsonFile(path, source);
  if (!isJsonObject(content))
    throw new ConfigurationRefused(
      `${source}: ${path}: expected a JSON object with a member for each provider`,
    );
  const entries = Object.entries(content);
  if (entries.length > MAX_PROVIDERS)
    throw new ConfigurationRefused(`${source}: ${path}: expected at most ${MAX_PROVIDERS} providers`);
  return entries.map(([id, members]) => {
    const place = `${source}: ${basename(path)}: ${id}`;
    if (!/^[a-z0-9][a-z0-9_-]{0,31}$/.test(id))
      throw new ConfigurationRefused(
        `${place}: expected a name of at most 32 lower-case letters, digits, - and _`,
      );
    return { id, members, place, folder: dirname(path) };
  });
}

/** The source of a value, for messages and references. */
interface Origin {
  readonly place: string;
  readonly folder: string;
  readonly environment: NodeJS.ProcessEnv;
}

const MEMBERS = [
  'kind',
  'name',
  'issuer',
  'tenant',
  'team_id',
  'client_id',
  'client_secret',
  'private_key',
  'private_key_id',
  'scopes',
  'claims',
  'trusted_domains',
  'create_users',
  'domains',
  'pass_amr',
  'sign_out',
  'logo',
  'parameters',
] as const;

function readProvider(id: string, entry: unknown, origin: Origin): Provider {
  const { place } = origin;
  const members = requireObject(entry, place);
  for (const member of Object.keys(members)) {
    if (!MEMBERS.some((item) => item === member || member.startsWith('name#')))
      throw new ConfigurationRefused(unknownName(`${place}.${member}`, member, MEMBERS, 'member'));
  }
  const read = reader(members, place);
  const { kindName, kind } = kindOf(read);
  const { protocol } = kind;
  const mapping =
    read(
      'claims',
      'the provider’s claim for each claim of yours, as in {"name": "displayName"}',
      isMapping,
    ) ?? {};
  return {
    ...providerFacts(id, members, place),
    kind: kindName,
    protocol,
    names: namesOf(members, kind, read, place),
    clientId: required(
      read('client_id', 'the identifier of your client at the provider', isText),
      place,
      'client_id',
    ),
    credential:
      kindName === 'apple'
        ? appleCredentialOf(members, read, origin)
        : credentialOf(members, read, origin, protocol),
    scopes: scopesOf(kind, read, place),
    claims: { ...ownClaims(kind, mapping), ...mapping },
    trustedDomains: read('trusted_domains', `${DOMAINS}, or ["*"]`, isTrustedDomains) ?? [],
    createUsers: read('create_users', `true, false or ${DOMAINS}`, isSwitchOrDomains) ?? false,
    passAmr: read('pass_amr', 'true or false', isSwitch) ?? false,
    signsOut: read('sign_out', 'true or false', isSwitch) ?? true,
    ...logoOf(kindName, read, origin),
    parameters: parametersOf(read, place),
  };
}

/** What a kind copies. Its claim for verified addresses says nothing about an address from another claim. */
function ownClaims(kind: Kind, { email = 'email' }: Readonly<Record<string, string>>) {
  const claims = { ...Object.fromEntries(COPIED_CLAIMS.map((claim) => [claim, claim])), ...kind.claims };
  const { email_verified: _, ...others } = claims;
  return email === 'email' ? claims : others;
}

const DOMAINS = 'a list of domains such as ["example.com"]';

/** @throws {ConfigurationRefused} the member has another form */
type Read = <T>(member: string, expected: string, is: (value: unknown) => value is T) => T | undefined;

function reader(members: Readonly<Record<string, unknown>>, place: string): Read {
  return (member, expected, is) => {
    const value = members[member];
    if (value === undefined || is(value)) return value;
    throw new ConfigurationRefused(`${place}.${member}: expected ${expected}`);
  };
}

function domainsOf(read: Read): readonly string[] {
  return read('domains', DOMAINS, isDomains) ?? [];
}

function required<T>(value: T | undefined, place: string, member: string, why = ''): T {
  if (value !== undefined) return value;
  throw new ConfigurationRefused(`${place}.${member}: required${why}`);
}

function namesOf(members: Readonly<Record<string, unknown>>, kind: Kind, read: Read, place: string) {
  const names = Object.keys(members).filter((member) => member === 'name' || member.startsWith('name#'));
  const expected = `one line of at most ${MAX_NAME} characters`;
  for (const name of names) {
    if (name !== 'name' && !/^name#[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$/.test(name))
      throw new ConfigurationRefused(`${place}.${name}: expected a language tag, as in name#de`);
    read(name, expected, isLine);
  }
  const name = read('name', expected, isLine) ?? kind.name;
  const localized = names.map((name) => [name, String(members[name])]);
  return {
    ...Object.fromEntries(localized),
    name: required(name, place, 'name', ', because users see it on the button'),
  };
}

function issuerOf(kindName: string, kind: Kind, read: Read, place: string): string {
  const issuer = read('issuer', ISSUER_FORM, isProviderIssuer);
  const tenant = read('tenant', 'the tenant’s ID, such as 72f988bf-86f1-41af-91ab-2d7cd011db47', isUuid);
  if (kindName !== 'microsoft' && tenant !== undefined)
    throw new ConfigurationRefused(`${place}.tenant: expected only with "kind": "microsoft"`);
  // With `common`, users of any tenant could sign in.
  if (kindName === 'microsoft') return issuer ?? kind.issuer?.(required(tenant, place, 'tenant')) ?? '';
  return required(issuer ?? kind.issuer?.(''), place, 'issuer', `: ${ISSUER_FORM}`);
}

const ISSUER_FORM =
  'an https URL without query and fragment, as in the provider’s metadata; http only on loopback';

function isProviderIssuer(value: unknown): value is string {
  if (typeof value !== 'string' || !URL.canParse(value)) return false;
  const { protocol, hostname, search, hash, username } = new URL(value);
  const isSafe = protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
  return isSafe && search === '' && hash === '' && username === '' && !/[?#]/.test(value);
}

function scopesOf({ protocol, scopes }: Kind, read: Read, place: string): readonly string[] {
  const listed = read('scopes', 'a list of scopes such as ["openid", "email"]', isScopes);
  if (protocol === 'openid' && listed?.includes('openid') === false)
    throw new ConfigurationRefused(`${place}.scopes: expected openid among them`);
  return listed ?? scopes;
}

/** The marks of well-known providers are theirs, and built in. */
function logoOf(
  kind: ProviderKind,
  read: Read,
  { place, folder }: Origin,
): { readonly logo: Picture } | undefined {
  const file = read('logo', 'the path of an SVG or PNG file', isText);
  if (file === undefined) return undefined;
  if (kind !== 'generic')
    throw new ConfigurationRefused(`${place}.logo: expected only with "kind": "generic"`);
  if (!/\.(?:svg|png)$/i.test(file))
    throw new ConfigurationRefused(`${place}.logo: expected a file that ends with .svg or .png`);
  return { logo: readLogo(resolve(folder, file), `${place}.logo`) };
}

function parametersOf(read: Read, place: string): Readonly<Record<string, string>> {
  const parameters = read('parameters', 'texts by parameter, as in {"hd": "example.com"}', isMapping) ?? {};
  const own = Object.keys(parameters).find((name) => OWN_PARAMETERS.has(name));
  if (own === undefined) return parameters;
  throw new ConfigurationRefused(
    `${place}.parameters.${own}: expected another name, because the server sets it`,
  );
}

type Reference = { readonly env: string } | { readonly file: string };

const REFERENCE_FORM = '{"env": "VARIABLE"} or {"file": "PATH"}, because secrets stay outside of this file';

function credentialOf(
  members: Readonly<Record<string, unknown>>,
  read: Read,
  origin: Origin,
  protocol: ProviderProtocol,
): ProviderCredential {
  const { place } = origin;
  if (members.team_id !== undefined)
    throw new ConfigurationRefused(`${place}.team_id: expected only with "kind": "apple"`);
  const secret = read('client_secret', REFERENCE_FORM, isReference);
  const key = read('private_key', REFERENCE_FORM, isReference);
  const keyId = read('private_key_id', 'the key’s ID at the provider', isText);
  if (protocol === 'github' && key !== undefined)
    throw new ConfigurationRefused(
      `${place}.private_key: expected client_secret, because GitHub knows no keys`,
    );
  if ((secret === undefined) === (key === undefined))
    throw new ConfigurationRefused(
      `${place}.client_secret: expected ${REFERENCE_FORM}${protocol === 'openid' ? ', or private_key instead' : ''}`,
    );
  if (secret !== undefined) {
    if (members.private_key_id !== undefined)
      throw new ConfigurationRefused(`${place}.private_key_id: expected only with private_key`);
    return { secret: textOf(secret, 'client_secret', origin) };
  }
  return {
    privateKey: privateKeyOf(textOf(required(key, place, 'private_key'), 'private_key', origin), place),
    keyId,
  };
}

/** Apple's client secrets are JWTs, which the server signs itself. */
function appleCredentialOf(
  members: Readonly<Record<string, unknown>>,
  read: Read,
  origin: Origin,
): ProviderCredential {
  const { place } = origin;
  const why = ', because the server signs its client secrets with it';
  if (members.client_secret !== undefined)
    throw new ConfigurationRefused(`${place}.client_secret: expected private_key instead${why}`);
  const isId = (value: unknown): value is string => typeof value === 'string' && /^[A-Z0-9]{10}$/.test(value);
  const teamId = read('team_id', 'the ID of your team at Apple, of ten characters', isId);
  const keyId = read('private_key_id', 'the ID of the key at Apple, of ten characters', isId);
  const ids = {
    keyId: required(keyId, place, 'private_key_id'),
    teamId: required(teamId, place, 'team_id'),
  };
  const pem = required(read('private_key', REFERENCE_FORM, isReference), place, 'private_key', why);
  const privateKey = privateKeyOf(textOf(pem, 'private_key', origin), place);
  if (privateKey.asymmetricKeyType !== 'ec')
    throw new ConfigurationRefused(
      `${place}.private_key: expected the file AuthKey_….p8 of Apple: EC with P-256`,
    );
  return { privateKey, ...ids };
}

/** @throws {ConfigurationRefused} the secret is missing, or others can read its file */
function textOf(reference: Reference, member: string, { place, folder, environment }: Origin): string {
  const [source, text] =
    'env' in reference
      ? [`the variable ${reference.env}`, environment[reference.env]]
      : [
          `the file ${reference.file}`,
          readPrivateText(resolve(folder, reference.file), `${place}.${member}`),
        ];
  const trimmed = text?.trim() ?? '';
  if (trimmed !== '') return trimmed;
  throw new ConfigurationRefused(`${place}.${member}: ${source} is missing or empty`);
}

const KEY_FORM = 'a private key as PEM: RSA of at least 2048 bits, EC with P-256, or Ed25519';

function privateKeyOf(pem: string, place: string): KeyObject {
  const refuse = () => new ConfigurationRefused(`${place}.private_key: expected ${KEY_FORM}`);
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    // The error of Node could quote the key.
    throw refuse();
  }
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  const isUsable =
    (type === 'rsa' && (details?.modulusLength ?? 0) >= 2048) ||
    (type === 'ec' && details?.namedCurve === 'prime256v1') ||
    type === 'ed25519';
  if (!isUsable) throw refuse();
  return key;
}

/** Users of one domain go to one provider. */
function requireDistinctDomains(providers: readonly Provider[], place: string): void {
  const owners = new Map<string, string>();
  for (const { id, domains } of providers) {
    for (const domain of domains) {
      const owner = owners.get(domain);
      if (owner !== undefined && owner !== id)
        throw new ConfigurationRefused(
          `${place}: ${id}.domains: expected no domain of ${owner}, got ${domain}`,
        );
      owners.set(domain, id);
    }
  }
}

function isKind(value: unknown): value is ProviderKind {
  return typeof value === 'string' && Object.hasOwn(KINDS, value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && /^[\x20-\x7E]{1,1000}$/.test(value) && value.trim() === value;
}

function isLine(value: unknown): value is string {
  return (
    typeof value === 'string' && value.trim() !== '' && value.length <= MAX_NAME && !/\p{C}/u.test(value)
  );
}

function isUuid(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);
}

function isSwitch(value: unknown): value is boolean {
  return typeof value === 'boolean';
}

function isListOf(value: unknown, is: (one: string) => boolean): value is readonly string[] {
  return (
    Array.isArray(value) &&
    value.length <= 1000 &&
    value.every((item) => typeof item === 'string' && is(item))
  );
}

function isScopes(value: unknown): value is readonly string[] {
  return isListOf(value, isScopeToken);
}

function isDomains(value: unknown): value is readonly string[] {
  return isListOf(value, isDomain);
}

function isTrustedDomains(value: unknown): value is readonly string[] {
  return isDomains(value) || (isListOf(value, (item) => item === '*') && value.length === 1);
}

function isSwitchOrDomains(value: unknown): value is boolean | readonly string[] {
  return isSwitch(value) || isDomains(value);
}

function isMapping(value: unknown): value is Readonly<Record<string, string>> {
  return isJsonObject(value) && Object.entries(value).every(([name, text]) => name !== '' && isText(text));
}

function isReference(value: unknown): value is Reference {
  if (!isJsonObject(value)) return false;
  const [[source, name] = [], ...others] = Object.entries(value);
  return (
    others.length === 0 && (source === 'env' || source === 'file') && typeof name === 'string' && name !== ''
  );
}
