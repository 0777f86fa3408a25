// Hashes as other programs write them. An import stores each in the one form of its algorithm (ADR 195).

import { MAX_HASH_LENGTH } from './password_formats.ts';

interface Spelling {
  readonly form: RegExp;
  /** @returns `undefined` if it is not a hash of this program after all */
  stored(fields: Readonly<Record<string, string>>): string | undefined;
}

const DIGEST = '(?<digest>sha1|sha224|sha256|sha384|sha512)';
const BASE64_TAG = '(?<tag>[A-Za-z0-9+/]+=*)';
const HEX_TAG = '(?<tag>(?:[0-9a-f]{2})+)';

/** Django and Werkzeug use the characters of a salt as bytes. */
const base64 = (text: string | undefined, encoding: 'utf8' | 'hex' = 'utf8') =>
  Buffer.from(text ?? '', encoding).toString('base64');

const SPELLINGS: readonly Spelling[] = [
  // Django
  {
    form: new RegExp(String.raw`^pbkdf2_${DIGEST}\$(?<i>\d+)\$(?<salt>[^$]+)\$${BASE64_TAG}$`),
    stored: ({ digest, i, salt, tag }) => `$pbkdf2-${digest}$i=${i}$${base64(salt)}$${tag}`,
  },
  {
    form: new RegExp(String.raw`^scrypt\$(?<n>\d+)\$(?<salt>[^$]+)\$(?<r>\d+)\$(?<p>\d+)\$${BASE64_TAG}$`),
    stored: scrypt,
  },
  // Its `bcrypt$` has a separator of its own before the hash.
  { form: /^(?:argon2(?=\$argon2)|bcrypt\$)(?<hash>\$.+)$/, stored: ({ hash }) => hash },
  // Werkzeug, as in Flask
  {
    form: new RegExp(String.raw`^pbkdf2:${DIGEST}:(?<i>\d+)\$(?<salt>[^$]+)\$${HEX_TAG}$`),
    stored: ({ digest, i, salt, tag }) => `$pbkdf2-${digest}$i=${i}$${base64(salt)}$${base64(tag, 'hex')}`,
  },
  {
    form: new RegExp(String.raw`^scrypt:(?<n>\d+):(?<r>\d+):(?<p>\d+)\$(?<salt>[^$]+)\$${HEX_TAG}$`),
    stored: ({ tag, ...fields }) => scrypt({ ...fields, tag: base64(tag, 'hex') }),
  },
  // Nextcloud
  { form: /^[123]\|(?<hash>\$.+)$/, stored: ({ hash }) => hash },
  // OpenLDAP
  { form: /^\{(?:CRYPT|ARGON2|BCRYPT)\}(?<hash>\$.+)$/i, stored: ({ hash }) => hash },
  {
    form: /^\{PBKDF2(?:-SHA(?<bits>1|256|512))?\}(?<rest>\d+\$.+)$/,
    stored: ({ bits = '1', rest }) => `$pbkdf2-sha${bits}$${rest}`,
  },
  { form: /^\{(?<scheme>ssha(?:256|384|512)?)\}(?<rest>.+)$/i, stored: saltedDigest },
  // ASP.NET Identity
  { form: /^(?<base64>A[A-Z][A-Za-z0-9+/]{60,}={0,2})$/, stored: ({ base64: text }) => aspNet(text) },
];

/** The form in which a hash is stored. @returns the same text if it is no other spelling */
export function storedHashForm(text: string): string {
  if (text.length > MAX_HASH_LENGTH) return text;
  for (const { form, stored } of SPELLINGS) {
    const fields = form.exec(text)?.groups;
    const result = fields === undefined ? undefined : stored(fields);
    if (result !== undefined) return result;
  }
  return text;
}

/** LDAP servers compare schemes in any case. */
function saltedDigest({ scheme = '', rest = '' }: Readonly<Record<string, string>>): string {
  return `{${scheme.toUpperCase()}}${rest}`;
}

function scrypt({ n, r, p, salt, tag }: Readonly<Record<string, string>>): string {
  // A number that is no power of two has no exponent, and is refused as N.
  const exponent = Math.log2(Number(n));
  return `$scrypt$ln=${Number.isInteger(exponent) ? exponent : n},r=${r},p=${p}$${base64(salt)}$${tag}`;
}

const ASP_NET_DIGESTS = ['sha1', 'sha256', 'sha512'];

/** Version 2: a zero, 16 bytes of salt and 32 of hash. Version 3 begins with a one, and says what it uses. */
function aspNet(text: string | undefined): string | undefined {
  const bytes = Buffer.from(text ?? '', 'base64');
  const [version] = bytes;
  if (version === 0 && bytes.length === 49)
    return pbkdf2('sha1', 1000, bytes.subarray(1, 17), bytes.subarray(17));
  if (version !== 1 || bytes.length < 13) return undefined;
  const digest = ASP_NET_DIGESTS[bytes.readUInt32BE(1)];
  const saltEnd = 13 + bytes.readUInt32BE(9);
  if (digest === undefined || saltEnd >= bytes.length) return undefined;
  return pbkdf2(digest, bytes.readUInt32BE(5), bytes.subarray(13, saltEnd), bytes.subarray(saltEnd));
}

function pbkdf2(digest: string, iterations: number, salt: Buffer, tag: Buffer): string {
  return `$pbkdf2-${digest}$i=${iterations}$${salt.toString('base64')}$${tag.toString('base64')}`;
}

/** Parameters of algorithms for which Gitea’s column has a name alone. */
const GITEA_DEFAULTS: ReadonlyMap<string, string> = new Map([
  ['', 'pbkdf2$10000$50'],
  ['pbkdf2', 'pbkdf2$10000$50'],
  ['argon2', 'argon2$2$65536$8$50'],
  ['scrypt', 'scrypt$65536$16$2$50'],
]);

/** Gitea and Forgejo: a column each for the algorithm with its parameters, the salt, and the hash in hexadecimal. */
export function giteaHash(algorithm: string, salt: string, passwd: string): string {
  const [name, ...numbers] = (GITEA_DEFAULTS.get(algorithm) ?? algorithm).split('$');
  // Salts of ten characters are from before 1.17, and are used as they are.
  const saltBytes = salt.length === 10 ? Buffer.from(salt) : Buffer.from(salt, 'hex');
  const end = `${saltBytes.toString('base64')}$${base64(passwd, 'hex')}`;
  if (name === 'bcrypt') return passwd;
  if (name === 'pbkdf2') return `$pbkdf2-sha256$i=${numbers[0]}$${end}`;
  const [first, second, third] = numbers;
  if (name === 'argon2') return `$argon2id$v=19$m=${second},t=${first},p=${third}$${end}`;
  if (name === 'scrypt') return `$scrypt$ln=${Math.log2(Number(first))},r=${second},p=${third}$${end}`;
  return `${algorithm}$`;
}
