import type { JWK } from 'jose';
import { isJsonObject } from '../../protocol/json.ts';
import { isRegistrableRedirectUri } from '../../protocol/redirect_uri.ts';
import { isResourceUri } from '../../protocol/resource_uri.ts';
import { isPersonalScope, isScopeToken, parseScope } from '../../protocol/scope.ts';
import { MOST_KEYS, readPublicKeys } from '../../tokens/public_keys.ts';

/** A kind of value that a client's metadata can have. */
export interface MetadataKind<T> {
  /** Ends the sentence "expected …". */
  readonly expected: string;
  /** Stands for the value in the help of a command line. */
  readonly placeholder: string;
  /** How it is written as JSON. */
  readonly form: 'text' | 'number' | 'boolean' | 'list' | 'object';
  /** The value where it fits, otherwise `undefined`. */
  read(value: unknown): T | undefined;
}

/** Characters of a URI; browsers and proxies take no longer ones for granted. */
const LONGEST_URI = 2000;

/** Values of a list, such as redirect URIs. */
const LONGEST_LIST = 50;

/** Seconds: a year. */
const LONGEST_AGE = 365 * 24 * 60 * 60;

export function text(most: number): MetadataKind<string> {
  return oneText('TEXT', `visible characters, at most ${most}`, (value) =>
    new RegExp(`^[^\\p{C}\\p{Z}](?:[^\\p{C}]{0,${most - 1}})$`, 'u').test(value),
  );
}

export function oneOf<T extends string>(...allowed: readonly T[]): MetadataKind<T> {
  return {
    expected: `one of ${allowed.join(', ')}`,
    placeholder: allowed.join('|'),
    form: 'text',
    read: (value) => allowed.find((one) => one === value),
  };
}

export const trueOrFalse: MetadataKind<boolean> = {
  expected: 'true or false',
  placeholder: 'true|false',
  form: 'boolean',
  read: (value) => (typeof value === 'boolean' ? value : undefined),
};

export const seconds: MetadataKind<number> = {
  expected: `whole seconds from 0 to ${LONGEST_AGE}`,
  placeholder: 'SECONDS',
  form: 'number',
  read: (value) =>
    typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= LONGEST_AGE
      ? value
      : undefined,
};

/** Something that is shown, linked or asked for: http as well, which rules may narrow. */
export const webUri = oneText(
  'URL',
  `a web URL without credentials, at most ${LONGEST_URI} characters`,
  isWebUri,
);

/** As `webUri`, for what no fragment may follow. */
export const webUriWithoutFragment = oneText(
  'URL',
  `a web URL without credentials and fragment, at most ${LONGEST_URI} characters`,
  (uri) => isWebUri(uri) && !uri.includes('#'),
);

/** Where a browser is sent back to, also by a private-use scheme. */
export const returnUri = oneText(
  'URI',
  `an absolute URI without fragment and wildcard, at most ${LONGEST_URI} characters`,
  (uri) => uri.length <= LONGEST_URI && isRegistrableRedirectUri(uri) && !hasCredentials(uri),
);

/** URI of an API (RFC 8707 §2). */
export const resourceUri = oneText('URI', 'an absolute URI without fragment (RFC 8707 section 2)', (uri) => {
  return uri.length <= LONGEST_URI && isResourceUri(uri);
});

export const color = oneText('#RRGGBB', 'a colour as #rrggbb', (value) => /^#[0-9a-f]{6}$/i.test(value));

export const scope = oneText('SCOPE', 'scopes parted by spaces (RFC 6749 section 3.3)', (value) => {
  if (value.length > LONGEST_URI) return false;
  try {
    return parseScope(value).length > 0;
  } catch {
    return false; // it asks nobody: the text is all that can be wrong
  }
});

/** A scope that an API can declare: one that this server gives no meaning of its own. */
export const apiScope = oneText(
  'SCOPE',
  'one scope (RFC 6749 section 3.3) that OpenID Connect does not define',
  (value) => value.length <= LONGEST_URI && isScopeToken(value) && !isPersonalScope(value),
);

export function listOf<T>(kind: MetadataKind<T>, most = LONGEST_LIST): MetadataKind<readonly T[]> {
  return {
    expected: `${kind.expected}, for each of at most ${most} values`,
    placeholder: kind.placeholder,
    form: 'list',
    read(value) {
      if (!Array.isArray(value) || value.length > most) return undefined;
      const values = value.map(kind.read).filter((one) => one !== undefined);
      return values.length === value.length ? [...new Set(values)] : undefined;
    },
  };
}

/** Public keys (RFC 7517 §5). Keys of kinds that this server cannot use are left out; secret ones are refused. */
export const keySet: MetadataKind<{ readonly keys: readonly JWK[] }> = {
  expected: `a JWK set of at most ${MOST_KEYS} public keys, one of RSA, EC or OKP among them`,
  placeholder: 'JWKS',
  form: 'object',
  read(value) {
    const keys = readPublicKeys(value, MOST_KEYS);
    if (keys === undefined || keys.length === 0 || !isJsonObject(value)) return undefined;
    const given: readonly unknown[] = Array.isArray(value.keys) ? value.keys : [];
    const isSecret = (jwk: unknown) => isJsonObject(jwk) && ('d' in jwk || 'k' in jwk);
    return given.length > MOST_KEYS || given.some(isSecret) ? undefined : { keys };
  },
};

function oneText(
  placeholder: string,
  expected: string,
  fits: (text: string) => boolean,
): MetadataKind<string> {
  return {
    expected,
    placeholder,
    form: 'text',
    read: (value) => (typeof value === 'string' && fits(value) ? value : undefined),
  };
}

function isWebUri(uri: string): boolean {
  return (
    uri.length <= LONGEST_URI &&
    /^https?:\/\/[\x21-\x7E]+$/i.test(uri) &&
    URL.canParse(uri) &&
    !hasCredentials(uri)
  );
}

function hasCredentials(uri: string): boolean {
  const url = URL.parse(uri);
  return url !== null && (url.username !== '' || url.password !== '');
}
