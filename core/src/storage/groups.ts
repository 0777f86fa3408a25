// The groups of storage methods, and the check that a storage has what its server needs.
import { ConfigurationError } from '../http/errors.ts';
import { isJsonObject } from '../http/http.ts';
import { isTokenKind } from '../protocol/record_rules.ts';
import type {
  AuthorizationCodeRepository,
  ClientRegistry,
  ClientRepository,
  IssuingTokenRepository,
  KeyRepository,
  OneTimeIdentifiers,
  PendingRepository,
  Storage,
  TokenRepository,
} from './contract.ts';

/** Methods that a storage has as a whole or not at all. */
interface Group {
  /** The member of the storage with the methods. */
  readonly repository: 'clients' | 'tokens' | 'authorizationCodes' | OptionalRepository;
  readonly methods: readonly string[];
  /** What a server without the group lacks. */
  readonly serves: string;
}

type OptionalRepository = 'keys' | 'oneTimeIdentifiers' | 'pending';

/** Every method of these names; the type requires that each is one of the repository. */
function methodsOf<R>(...methods: readonly (keyof R & string)[]): readonly string[] {
  return methods;
}

/** The groups. The required methods (`clients.get`, `tokens.getByAccessToken`, `tokens.revoke`) are in none. */
export const STORAGE_GROUPS = {
  refreshTokens: {
    repository: 'tokens',
    methods: methodsOf<TokenRepository>('getByRefreshToken', 'isRefreshTokenRevoked'),
    serves: 'refresh tokens',
  },
  issuing: {
    repository: 'tokens',
    methods: methodsOf<IssuingTokenRepository>('issue', 'rotate', 'issueFrom', 'revokeFamily'),
    serves: 'the token endpoint, metadata and JWKS',
  },
  authorizationCodes: {
    repository: 'authorizationCodes',
    methods: methodsOf<AuthorizationCodeRepository>('issue', 'get', 'redeem', 'revoke'),
    serves: 'the authorization endpoint',
  },
  keys: {
    repository: 'keys',
    methods: methodsOf<KeyRepository>('get', 'list', 'currentKeyId', 'initialize', 'rotate'),
    serves: 'signing keys of the server',
  },
  oneTimeIdentifiers: {
    repository: 'oneTimeIdentifiers',
    methods: methodsOf<OneTimeIdentifiers>('take'),
    serves: 'client assertions, DPoP and pushed authorization requests',
  },
  pending: {
    repository: 'pending',
    methods: methodsOf<PendingRepository>('add', 'get', 'getByOtherId', 'take', 'change'),
    serves: 'pushed authorization requests',
  },
  apis: {
    repository: 'clients',
    methods: methodsOf<ClientRepository>('findApis'),
    serves: 'APIs that clients can name',
  },
  redirectOrigins: {
    repository: 'clients',
    methods: methodsOf<ClientRepository>('hasRedirectOrigin'),
    serves: 'CORS for the origins of redirect URIs',
  },
  registration: {
    repository: 'clients',
    methods: methodsOf<ClientRegistry>('add', 'replace', 'remove'),
    serves: 'client registration',
  },
} as const satisfies Record<string, Group>;

export type StorageGroup = keyof typeof STORAGE_GROUPS;

const GROUPS: readonly (readonly [StorageGroup, Group])[] = Object.entries(STORAGE_GROUPS) as [
  StorageGroup,
  Group,
][];

/** Returns the groups of a storage that `requireStorage` has accepted. */
export function groupsOf(storage: Storage): ReadonlySet<StorageGroup> {
  return new Set(GROUPS.flatMap(([name, group]) => (absentIn(storage, group).length === 0 ? [name] : [])));
}

/** Methods that requests call in addition to groups. */
const REQUIRED = {
  clients: methodsOf<ClientRepository>('get'),
  tokens: methodsOf<TokenRepository>('getByAccessToken', 'revoke'),
} as const;

/** Methods that a storage may have by themselves. */
const OPTIONAL = {
  clients: methodsOf<ClientRepository>('verifySecret', 'replaceSecrets'),
  tokens: methodsOf<TokenRepository>('isAccessTokenRevoked', 'identify'),
} as const;

/** A group that an option needs, with the reason. */
export type StorageNeeds = Partial<Readonly<Record<StorageGroup, string>>>;

/**
 * Checks that a storage has every method that requests will call.
 * @param needs groups that the options need
 * @param others what else the options lack, as `option: expected …`
 * @throws {ConfigurationError} lists everything that is missing, one line for each group, with what needs it
 */
export function requireStorage(storage: Storage, needs: StorageNeeds, others: readonly string[] = []): void {
  const problems = [
    ...requiredProblems(storage),
    ...plainProblems(storage),
    ...GROUPS.flatMap(groupProblems(storage, needs)),
    ...others,
  ];
  const [first] = problems;
  if (first === undefined) return;
  const option = first.slice(0, first.indexOf(': '));
  const expected = first.slice(option.length + ': expected '.length);
  throw new ConfigurationError(option, expected, problems.join('\n'));
}

function requiredProblems(storage: Storage): readonly string[] {
  return (['clients', 'tokens'] as const).flatMap((name) => {
    const repository: unknown = storage[name];
    if (!isJsonObject(repository))
      return [`storage.${name}: expected an object with the methods ${REQUIRED[name].join(', ')}`];
    const isMethod = (method: string) => typeof Reflect.get(repository, method) === 'function';
    return [
      ...REQUIRED[name]
        .filter((method) => !isMethod(method))
        .map((method) => `storage.${name}.${method}: expected a method`),
      ...OPTIONAL[name]
        .filter((method) => Reflect.get(repository, method) !== undefined && !isMethod(method))
        .map((method) => `storage.${name}.${method}: expected a method or nothing`),
      ...misspelt(name, repository),
      ...(name === 'tokens' ? keyProblems(storage.tokens) : []),
    ];
  });
}

/** Every member that a repository of a host can have. */
function knownMembers(name: 'clients' | 'tokens'): readonly string[] {
  const ofGroups = GROUPS.flatMap(([, { repository, methods }]) => (repository === name ? methods : []));
  return [...REQUIRED[name], ...OPTIONAL[name], ...ofGroups, ...(name === 'tokens' ? ['keyedBy'] : [])];
}

/** What has nearly the name of an optional member would never be used, and revoked tokens would pass. */
function misspelt(name: 'clients' | 'tokens', repository: object): readonly string[] {
  const known = knownMembers(name);
  const absent = known.filter((one) => one.length > 6 && Reflect.get(repository, one) === undefined);
  return memberNames(repository)
    .filter((found) => !known.includes(found))
    .flatMap((found) => {
      const meant = absent.find((one) => isNearly(found, one));
      return meant === undefined ? [] : [`storage.${name}.${found}: expected the name ${meant}`];
    });
}

function memberNames(repository: object): readonly string[] {
  const names = new Set<string>();
  for (let one: object | null = repository; one && one !== Object.prototype; one = Object.getPrototypeOf(one))
    for (const name of Object.getOwnPropertyNames(one)) names.add(name);
  return [...names];
}

/** Whether two names differ by case, or by one letter that is missing, too many or another one, twice at most. */
function isNearly(found: string, meant: string, edits = 2): boolean {
  const [a, b] = [found.toLowerCase(), meant.toLowerCase()];
  if (a === b) return true;
  if (edits === 0 || Math.abs(a.length - b.length) > edits) return false;
  let at = 0;
  while (a[at] === b[at]) at++;
  const [restA, restB] = [a.slice(at), b.slice(at)];
  return (
    isNearly(restA.slice(1), restB, edits - 1) ||
    isNearly(restA, restB.slice(1), edits - 1) ||
    isNearly(restA.slice(1), restB.slice(1), edits - 1)
  );
}

/** Whether a repository can store the server's own tokens. */
export function isIssuing(tokens: TokenRepository): tokens is IssuingTokenRepository {
  return typeof (tokens as Partial<IssuingTokenRepository>).issue === 'function';
}

/** Without the check of each record, a table with other types would go unnoticed. */
function plainProblems({ answersPlainRecords, tokens }: Storage): readonly string[] {
  if (answersPlainRecords !== true || !isJsonObject(tokens) || isIssuing(tokens)) return [];
  return ['storage.answersPlainRecords: expected nothing: the storage issues no tokens'];
}

const TOKEN_KEYS: readonly unknown[] = ['digest', 'token'];

/** The server stores its own tokens under their digests. */
function keyProblems(tokens: TokenRepository): readonly string[] {
  const { keyedBy = 'digest' }: { readonly keyedBy?: unknown } = tokens;
  const isOfKinds =
    isJsonObject(keyedBy) &&
    Object.entries(keyedBy).every(
      ([kind, key]) => isTokenKind(kind) && (key === undefined || TOKEN_KEYS.includes(key)),
    );
  if (!isOfKinds && !TOKEN_KEYS.includes(keyedBy))
    return [
      'storage.tokens.keyedBy: expected digest, token, or one of them for access_token or refresh_token',
    ];
  if (isOfKinds && Reflect.get(keyedBy, 'refresh_token') && tokens.getByRefreshToken === undefined)
    return ['storage.tokens.getByRefreshToken: expected a method: keyedBy names refresh tokens'];
  if (keyedBy === 'digest' || !isIssuing(tokens)) return [];
  return ['storage.tokens.keyedBy: expected digest, because the server issues tokens (storage.tokens.issue)'];
}

function groupProblems(storage: Storage, needs: StorageNeeds) {
  return ([name, group]: readonly [StorageGroup, Group]): readonly string[] => {
    const { repository, methods, serves } = group;
    const owner: unknown = storage[repository];
    if (owner !== undefined && !isJsonObject(owner))
      return [`storage.${repository}: expected an object or nothing`];
    const absent = absentIn(storage, group);
    if (absent.length === 0) return takesOnce(owner) ? onceProblems(owner, repository, methods) : [];
    const reason = needs[name];
    if (reason !== undefined) return [listed(repository, absent, `because ${reason}`, owner === undefined)];
    const hasSome = repository in REQUIRED ? absent.length < methods.length : owner !== undefined;
    // A host may have some methods of registration for itself.
    if (!hasSome || name === 'registration') return [];
    return [
      listed(repository, absent, `or none of ${methods.join(', ')}, which together serve ${serves}`, false),
    ];
  };
}

function listed(repository: string, methods: readonly string[], reason: string, isAbsent: boolean): string {
  if (isAbsent) return `storage.${repository}: expected an object with ${methods.join(', ')}, ${reason}`;
  const names = methods.map((method) => `storage.${repository}.${method}`).join(', ');
  return `${names}: expected ${methods.length === 1 ? 'a method' : 'methods'}, ${reason}`;
}

function absentIn(storage: Storage, { repository, methods }: Group): readonly string[] {
  const owner: unknown = storage[repository];
  return methods.filter((method) => !isJsonObject(owner) || typeof Reflect.get(owner, method) !== 'function');
}

/** The methods that take `once`, and how many parameters they have with it. */
const TAKING: Readonly<Record<string, number>> = { rotate: 4, issueFrom: 3, redeem: 3 };

function takesOnce(owner: unknown): owner is object {
  return isJsonObject(owner) && Reflect.get(owner, 'takesOnce') === true;
}

/**
 * Finds methods that drop `once`, such as one that replaces a method of another store. Identifiers would then never be
 * taken. A method without declared parameters, such as a proxy's, passes.
 */
function onceProblems(owner: object, repository: string, methods: readonly string[]): readonly string[] {
  return methods.flatMap((method) => {
    const { length = 0 }: { readonly length?: number } = Reflect.get(owner, method) ?? {};
    const parameters = TAKING[method] ?? 0;
    const isDropped = length > 0 && length < parameters;
    return isDropped
      ? [`storage.${repository}.${method}: expected the parameter once, because takesOnce is set`]
      : [];
  });
}

/** An operation of the server whose group of storage methods is missing. */
export class MissingGroup extends Error {
  override readonly name = 'MissingGroup';
  readonly group: StorageGroup;

  constructor(group: StorageGroup, operation: string) {
    const { repository, methods, serves } = STORAGE_GROUPS[group];
    const names = methods.map((method) => `storage.${repository}.${method}`).join(', ');
    super(`${operation} needs the group ${group} of the storage, which serves ${serves}: ${names}`);
    this.group = group;
  }
}
