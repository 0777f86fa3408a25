import { randomBytes } from 'node:crypto';
import type { Filter as LdapFilter } from 'ldapts';
import { readCertificates } from '../config/certificates_file.ts';
import { type Configuration, typedPath } from '../config/configuration.ts';
import { isLoopback } from '../config/networks.ts';
import type { OptionName, Settings } from '../config/options.ts';
import { readPrivateText } from '../config/private_file.ts';
import { ConfigurationRefused } from '../config/refused.ts';
import {
  type DirectoryEntry,
  DirectoryFault,
  type DirectoryRefusal,
  type SearchableDirectory,
} from './contract.ts';
import type { LdapConnection, LdapEntry, LdapPool, LdapSettings, RefusedBind } from './ldap.ts';

/** Attributes of a directory. */
interface Attributes {
  readonly filter: string;
  readonly id: string;
  readonly username: string;
  readonly claims: Readonly<Record<string, string>>;
}

const CLAIMS = {
  name: 'cn',
  given_name: 'givenName',
  family_name: 'sn',
  email: 'mail',
  phone_number: 'telephoneNumber',
};

const DEFAULTS: Readonly<Record<Settings['ldapKind'], Attributes>> = {
  ldap: {
    filter: '(&(objectClass=person)(uid={username}))',
    id: 'entryUUID',
    username: 'uid',
    claims: CLAIMS,
  },
  active_directory: {
    filter: '(&(objectCategory=person)(objectClass=user)(sAMAccountName={username}))',
    id: 'objectGUID',
    username: 'sAMAccountName',
    claims: { ...CLAIMS, name: 'displayName' },
  },
};

/** Says whether an account of Active Directory is disabled, in one of its bits (ACCOUNTDISABLE). */
const ACCOUNT_CONTROL = 'userAccountControl';
const ACCOUNT_DISABLED = 0x2;

/** Says when an account of Active Directory expires, in units of 100 nanoseconds since 1601; 0 and the maximum: never. */
const ACCOUNT_EXPIRES = 'accountExpires';
const EPOCH_1601_MS = 11_644_473_600_000;

/** Longer values are left out. */
const MAX_VALUE = 1000;

/** Groups of a user that are read by a search. */
const MAX_GROUPS = 1000;

/**
 * Opens the directory of the options. Connects to it only when a user signs in, so that local users can sign in during
 * an outage.
 * @returns `undefined` if all users are local
 * @throws {ConfigurationRefused} an option is invalid, or a file cannot be used
 */
export async function openDirectory(
  configuration: Configuration,
  environment: NodeJS.ProcessEnv,
): Promise<SearchableDirectory | undefined> {
  const { settings, sourceOf } = configuration;
  const refuse = (option: OptionName, problem: string): never => {
    throw new ConfigurationRefused(`${sourceOf(option)}: ${problem}`);
  };
  const { ldapUrl: urls, ldapBase: base, ldapTls, ldapCa, ldapGroups = {} } = settings;
  if (urls === undefined) return undefined;
  if (base === undefined)
    return refuse('ldapUrl', `expected ${sourceOf('ldapBase')} with it, the entry under which the users are`);
  if (ldapTls === 'off') {
    const remote = urls.find((url) => !isLoopback(new URL(url).hostname));
    if (remote !== undefined)
      refuse(
        'ldapTls',
        `expected required, because ${remote} is not on loopback: passwords would cross the network in plain text`,
      );
    const secure = urls.find((url) => url.startsWith('ldaps:'));
    if (secure !== undefined) refuse('ldapTls', `expected required, because ${secure} uses TLS`);
    if (ldapCa !== undefined) refuse('ldapCa', `expected ${sourceOf('ldapTls')} required with it`);
  }
  const attributes = attributesOf(settings);
  const { AndFilter, EqualityFilter, Filter, FilterParser } = await import('ldapts');
  const filterOf = (option: 'ldapFilter' | 'ldapGroupFilter', filter: string) => {
    try {
      FilterParser.parseString(fill(filter, { dn: 'x', username: 'x' }, Filter.escape));
    } catch {
      refuse(option, `expected a valid filter in parentheses (RFC 4515), got ${JSON.stringify(filter)}`);
    }
    return (values: Readonly<Record<string, string>>) => fill(filter, values, Filter.escape);
  };
  /** An entry by its identifier, if the filter accepts it for any username. */
  const entryFilter = (id: string) => {
    const value = idValue(attributes.id, id);
    const accepts = fill(attributes.filter, { username: '*' }, (text) => text);
    return new AndFilter({
      filters: [new EqualityFilter({ attribute: attributes.id, value }), FilterParser.parseString(accepts)],
    });
  };
  const groups = new Map<string, string>();
  for (const [dn, group] of Object.entries(ldapGroups)) {
    const key = dnKey(dn);
    if (key === undefined)
      refuse(
        'ldapGroups',
        `expected distinguished names such as cn=staff,ou=groups,dc=example,dc=com, got ${JSON.stringify(dn)}`,
      );
    else groups.set(key, group);
  }
  if (settings.ldapGroupBase !== undefined && settings.ldapGroupFilter === undefined)
    refuse('ldapGroupBase', `expected ${sourceOf('ldapGroupFilter')} with it`);
  const { ldapGroupFilter } = settings;
  const { LdapPool } = await import('./ldap.ts');
  return new LdapDirectory(
    new LdapPool({
      urls,
      usesTls: ldapTls === 'required',
      ca:
        ldapCa === undefined
          ? undefined
          : readCertificates(typedPath(environment, ldapCa), sourceOf('ldapCa')),
      account: accountOf(configuration, environment, refuse),
      maxConnections: settings.ldapConnections,
      connectTimeoutMs: settings.ldapConnectTimeoutMs,
      timeoutMs: settings.ldapTimeoutMs,
    }),
    {
      ...{ base, attributes, groups },
      filter: filterOf('ldapFilter', attributes.filter),
      entryFilter,
      groupAttribute: settings.ldapGroupAttribute,
      groupSearch:
        ldapGroupFilter === undefined
          ? undefined
          : {
              base: settings.ldapGroupBase ?? base,
              filter: filterOf('ldapGroupFilter', ldapGroupFilter),
            },
      areEmailsVerified: settings.ldapEmailVerified,
      timeLimit: Math.max(1, Math.ceil(settings.ldapTimeoutMs / 1000)),
    },
  );
}

function attributesOf({ ldapKind, ...settings }: Settings): Attributes {
  const { ldapFilter, ldapIdAttribute, ldapUsernameAttribute, ldapClaims } = settings;
  const byDefault = DEFAULTS[ldapKind];
  return {
    filter: ldapFilter ?? byDefault.filter,
    id: ldapIdAttribute ?? byDefault.id,
    username: ldapUsernameAttribute ?? byDefault.username,
    claims: ldapClaims ?? byDefault.claims,
  };
}

function accountOf(
  { settings, sourceOf }: Configuration,
  environment: NodeJS.ProcessEnv,
  refuse: (option: OptionName, problem: string) => never,
): LdapSettings['account'] {
  const { ldapBindDn: dn, ldapBindPassword: value, ldapBindPasswordFile: file } = settings;
  if (file !== undefined && value !== undefined)
    refuse('ldapBindPasswordFile', `expected only one of it and ${sourceOf('ldapBindPassword')}`);
  const source = file === undefined ? 'ldapBindPassword' : 'ldapBindPasswordFile';
  const password =
    file === undefined ? value : readPrivateText(typedPath(environment, file), sourceOf(source));
  if (dn === undefined)
    return password === undefined ? undefined : refuse(source, `expected ${sourceOf('ldapBindDn')} with it`);
  // A bind with a name and an empty password is an anonymous one (RFC 4513 §5.1.2).
  if (password === undefined)
    return refuse(
      'ldapBindDn',
      'expected a password with it, in the file --ldap-bind-password-file or in GRANTD_LDAP_BIND_PASSWORD',
    );
  if (password === '') return refuse(source, `${file}: expected a password, got an empty file`);
  return { dn, password };
}

/** Puts escaped values into a filter. A value that contains a placeholder stays as it is. */
function fill(
  filter: string,
  values: Readonly<Record<string, string>>,
  escaped: (value: string) => string,
): string {
  return filter.replaceAll(/\{(dn|username)\}/g, (_, name: string) => escaped(values[name] ?? ''));
}

type Filled = (values: Readonly<Record<string, string>>) => string;

interface Mapping {
  readonly base: string;
  readonly filter: Filled;
  readonly entryFilter: (id: string) => LdapFilter;
  readonly attributes: Attributes;
  /** Groups of grantd by the key of a distinguished name. */
  readonly groups: ReadonlyMap<string, string>;
  readonly groupAttribute: string;
  readonly groupSearch: { readonly base: string; readonly filter: Filled } | undefined;
  readonly areEmailsVerified: boolean;
  /** Seconds for the directory, in addition to our own deadline. */
  readonly timeLimit: number;
}

/** Reads users from LDAP. */
class LdapDirectory implements SearchableDirectory {
  readonly groups: readonly string[];
  readonly claims: readonly string[];
  readonly areEmailsVerified: boolean;
  readonly #pool: LdapPool;
  readonly #mapping: Mapping;

  readonly #clock: () => number;

  constructor(pool: LdapPool, mapping: Mapping, clock: () => number = Date.now) {
    this.#clock = clock;
    this.#pool = pool;
    this.#mapping = mapping;
    this.groups = [...new Set(mapping.groups.values())];
    this.claims = Object.keys(mapping.attributes.claims);
    this.areEmailsVerified = mapping.areEmailsVerified;
  }

  async authenticate(
    username: string | undefined,
    password: string,
    admits: (entry: string) => Promise<boolean> = async () => true,
  ) {
    return this.#pool.use(async (connection) => {
      const { filter } = this.#mapping;
      const [entry, other] = await this.#search(connection, filter({ username: username ?? randomName() }));
      const isMeant = entry !== undefined && other === undefined;
      // An unknown name asks the directory as often as a known one, so that the time does not tell them apart.
      const target = isMeant ? entry : this.#decoy();
      const { size } = this.#mapping.groups;
      const groups = size === 0 ? [] : await this.#groupsOf(connection, target, username ?? '');
      const isAdmitted = await admits(this.#idOf(target) ?? dnKey(target.dn) ?? target.dn);
      const isSent = isMeant && isAdmitted && password !== '';
      const refusal = isSent
        ? await connection.refusalOf(target.dn, password)
        : await connection.refusalOf(this.#decoy().dn, randomName());
      if (entry === undefined) return { refused: 'person_unknown' } as const;
      if (!isMeant) return { refused: 'directory_entry_ambiguous' } as const;
      if (!isAdmitted) return { refused: 'directory_entry_limited' } as const;
      if (!isSent) return { refused: 'password_wrong' } as const;
      if (refusal !== undefined) return { refused: reasonOf(refusal) } as const;
      const user = this.#userOf(entry, groups);
      return user.isDisabled ? ({ refused: 'person_disabled' } as const) : { user };
    });
  }

  async find(username: string): Promise<readonly DirectoryEntry[]> {
    return this.#pool.use(async (connection) => {
      const users: DirectoryEntry[] = [];
      for (const entry of await this.#search(connection, this.#mapping.filter({ username })))
        users.push(this.#userOf(entry, await this.#groupsOf(connection, entry, username)));
      return users;
    });
  }

  async hasName(username: string): Promise<boolean> {
    return this.#pool.use(async (connection) => {
      const found = await this.#search(connection, this.#mapping.filter({ username }));
      return found.length > 0;
    });
  }

  async byId(id: string): Promise<DirectoryEntry | undefined> {
    return this.#pool.use(async (connection) => {
      const [entry, other] = await this.#search(connection, this.#mapping.entryFilter(id));
      if (entry === undefined || other !== undefined) return undefined;
      return this.#userOf(entry, await this.#groupsOf(connection, entry, ''));
    });
  }

  close(): void {
    this.#pool.close();
  }

  async #search(connection: LdapConnection, filter: string | LdapFilter): Promise<readonly LdapEntry[]> {
    const { base, attributes, groupAttribute, groupSearch, timeLimit } = this.#mapping;
    const { id, username: name, claims } = attributes;
    const wanted = [
      ...[id, name, ACCOUNT_CONTROL, ACCOUNT_EXPIRES, ...Object.values(claims)],
      ...(groupSearch === undefined ? [groupAttribute] : []),
    ];
    return connection.search(base, {
      filter,
      attributes: [...new Set(wanted)],
      explicitBufferAttributes: [id],
      // Two are enough to see that the filter is ambiguous.
      sizeLimit: 2,
      timeLimit,
    });
  }

  /** Distinguished names of the groups of an entry. */
  async #groupsOf(
    connection: LdapConnection,
    entry: LdapEntry,
    username: string,
  ): Promise<readonly string[]> {
    const { groupSearch, groupAttribute, attributes, timeLimit } = this.#mapping;
    if (groupSearch === undefined) return textsOf(entry, groupAttribute);
    const [name = username] = textsOf(entry, attributes.username);
    const found = await connection.search(groupSearch.base, {
      filter: groupSearch.filter({ dn: entry.dn, username: name }),
      // No attributes (RFC 4511 §4.5.1.8).
      attributes: ['1.1'],
      sizeLimit: MAX_GROUPS,
      timeLimit,
    });
    return found.map(({ dn }) => dn);
  }

  /** An entry that does not exist. */
  #decoy(): LdapEntry {
    return { dn: `cn=${randomName()},${this.#mapping.base}`, attributes: new Map() };
  }

  /** The identifier of the user; `undefined` if the account of the server cannot read it. */
  #idOf(entry: LdapEntry): string | undefined {
    const { id } = this.#mapping.attributes;
    const [value] = entry.attributes.get(id.toLowerCase()) ?? [];
    return value === undefined || value.length === 0 ? undefined : idText(id, Buffer.from(value));
  }

  /** @throws {Error} the account of the server cannot read what is needed of the entry */
  #userOf(entry: LdapEntry, directoryGroups: readonly string[]): DirectoryEntry {
    const { attributes, groups } = this.#mapping;
    const id = this.#idOf(entry);
    const [name, ...otherNames] = textsOf(entry, attributes.username);
    if (id === undefined) throw unreadable(entry, attributes.id);
    if (name === undefined) throw unreadable(entry, attributes.username);
    const claims = Object.entries(attributes.claims).flatMap(([claim, attribute]) => {
      const value = textsOf(entry, attribute).find((text) => text.length <= MAX_VALUE);
      return value === undefined ? [] : [[claim, value] as const];
    });
    const mapped = directoryGroups.flatMap((dn) => groups.get(dnKey(dn) ?? '') ?? []);
    const [control = '0'] = textsOf(entry, ACCOUNT_CONTROL);
    const [expires = '0'] = textsOf(entry, ACCOUNT_EXPIRES);
    const isExpired = Number(expires) > 0 && Number(expires) / 10_000 - EPOCH_1601_MS <= this.#clock();
    return {
      dn: entry.dn,
      id: id.toLowerCase(),
      names: [name, ...otherNames],
      claims: Object.fromEntries(claims),
      groups: [...new Set(mapped)].sort(),
      directoryGroups,
      isDisabled: isExpired || (Number(control) & ACCOUNT_DISABLED) !== 0,
    };
  }
}

function unreadable({ dn }: LdapEntry, attribute: string): DirectoryFault {
  return new DirectoryFault(
    `the entry ${dn} has no attribute ${attribute} that the server’s account may read: check the access rules of the directory, and the options of grantd`,
  );
}

/** Reasons of Active Directory, which it gives only with the right password, except for locked accounts (775). */
const REASONS: ReadonlyMap<string, DirectoryRefusal> = new Map([
  ['530', 'directory_sign_in_restricted'],
  ['531', 'directory_sign_in_restricted'],
  ['532', 'password_expired'],
  ['533', 'person_disabled'],
  ['701', 'person_disabled'],
  ['773', 'password_expired'],
  ['775', 'directory_account_locked'],
]);

function reasonOf({ message, reason }: RefusedBind): DirectoryRefusal {
  if (reason !== undefined) return reason;
  const [, detail = ''] = /AcceptSecurityContext error, data (\w+)/.exec(message) ?? [];
  return REASONS.get(detail) ?? 'password_wrong';
}

function randomName(): string {
  return randomBytes(16).toString('hex');
}

/** Attributes with bytes that can look like text by chance: of Active Directory and eDirectory. */
const BINARY_IDS: ReadonlySet<string> = new Set(['guid', 'objectsid', 'ms-ds-consistencyguid']);

/** Comes before the bytes of an identifier that is no text. */
const HEX = 'hex:';

/** An identifier as it is stored: text as it is, bytes in hexadecimal. */
function idText(attribute: string, bytes: Buffer): string {
  const name = attribute.toLowerCase();
  if (name === 'objectguid' && bytes.length === 16) return guidText(bytes);
  const text = bytes.toString();
  const isText = Buffer.from(text).equals(bytes) && !/\p{C}/u.test(text) && !text.startsWith(HEX);
  return isText && !BINARY_IDS.has(name) ? text : HEX + bytes.toString('hex');
}

/** The value of a stored identifier, for a filter. */
function idValue(attribute: string, text: string): string | Buffer {
  if (text.startsWith(HEX)) return Buffer.from(text.slice(HEX.length), 'hex');
  return attribute.toLowerCase() === 'objectguid' ? guidBytes(text) : text;
}

/** Text values of an attribute. A database cannot store a NUL. */
function textsOf({ attributes }: LdapEntry, name: string): readonly string[] {
  const values = attributes.get(name.toLowerCase()) ?? [];
  return values.filter(
    (value) => typeof value === 'string' && value !== '' && !value.includes('\0'),
  ) as string[];
}

/** An identifier of Active Directory, as its tools print it: the first three parts have their lowest byte first. */
function guidText(bytes: Buffer): string {
  const parts = [bytes.subarray(0, 4), bytes.subarray(4, 6), bytes.subarray(6, 8)];
  const first = parts.map((part) => Buffer.from(part).reverse().toString('hex'));
  return [...first, bytes.toString('hex', 8, 10), bytes.toString('hex', 10)].join('-');
}

/** The bytes of such an identifier. */
function guidBytes(text: string): Buffer {
  const [item = '', two = '', three = '', ...rest] = text.split('-');
  const first = [item, two, three].map((part) => Buffer.from(part, 'hex').reverse());
  return Buffer.concat([...first, Buffer.from(rest.join(''), 'hex')]);
}

/**
 * A key that spellings of one distinguished name share (RFC 4514): ignores case, spaces around names and values, the
 * order of the values of a relative name, and how characters are escaped.
 * @returns `undefined` if the text is no distinguished name
 */
export function dnKey(text: string): string | undefined {
  const parts = text.match(/(?:\\[\s\S]|[^\\,])+/g) ?? [];
  const keys = parts.map(relativeKey);
  return keys.length === 0 || keys.includes(undefined) ? undefined : keys.join(',');
}

/** The key of one part of a distinguished name, whose values are a set (RFC 4514 §2.2). */
function relativeKey(part: string): string | undefined {
  const keys = (part.match(/(?:\\[\s\S]|[^\\+])+/g) ?? []).map((item) => {
    const [, type = '', value = ''] = /^\s*([\w.-]+)\s*=\s*((?:\\[\s\S]|[^\\])*?)\s*$/.exec(item) ?? [];
    return type === '' || value === ''
      ? undefined
      : `${type}=${JSON.stringify(unescapeValue(value))}`.toLowerCase();
  });
  return keys.length === 0 || keys.includes(undefined) ? undefined : keys.sort().join('+');
}

/**
 * RFC 4514 §3: a backslash comes before a character, or before two hexadecimal digits of a byte. Directories compare
 * values in one Unicode form, without spaces around them (RFC 4518 §2.3, §2.6.1).
 */
function unescapeValue(value: string): string {
  return value
    .replaceAll(
      /(?:\\[0-9a-f]{2})+|\\([\s\S])/gi,
      (bytes, character?: string) => character ?? Buffer.from(bytes.replaceAll('\\', ''), 'hex').toString(),
    )
    .normalize('NFKC')
    .replaceAll(/ {2,}/g, ' ')
    .trim();
}
