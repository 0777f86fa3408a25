// Types and forms of standard claims, which every way in checks alike.
import { type Claims, STANDARD_CLAIMS_BY_SCOPE } from '@grantd/core';
import { trimmed } from '../data/names.ts';
import { isOwnClaim } from '../data/people.ts';
import { objectOf } from './fields.ts';
import { isAddress } from './mailing.ts';

/** Standard claims that are not text (OpenID Connect Core §5.1). Clients would read the text `no` as true. */
export const CLAIM_TYPES: ReadonlyMap<string, { readonly type: string; readonly expected: string }> = new Map(
  [
    ['email_verified', { type: 'boolean', expected: 'true or false' }],
    ['phone_number_verified', { type: 'boolean', expected: 'true or false' }],
    ['updated_at', { type: 'number', expected: 'seconds since 1970, as a number' }],
    ['address', { type: 'object', expected: 'a JSON object such as {"locality": "Paris"}' }],
  ],
);

const STANDARD_CLAIMS = new Set(Object.values(STANDARD_CLAIMS_BY_SCOPE).flat());

/** The type that clients expect of a standard claim. @returns `undefined` if every value is allowed */
export function claimTypeOf(name: string): { readonly type: string; readonly expected: string } | undefined {
  return (
    CLAIM_TYPES.get(name) ?? (STANDARD_CLAIMS.has(name) ? { type: 'string', expected: 'a text' } : undefined)
  );
}

/** The form of a standard claim that is a text. */
interface ClaimForm {
  /** Of the refusal. */
  readonly code: `${'email' | 'phone' | 'date' | 'url' | 'zone' | 'locale' | 'number'}_form`;
  readonly expected: string;
  readonly fits: (text: string) => boolean;
}

/** Larger numbers have lost their last digits when they are read (RFC 8259 §6). */
const NUMBER_FORM: Pick<ClaimForm, 'code' | 'expected'> = {
  code: 'number_form',
  expected: `numbers up to ${Number.MAX_SAFE_INTEGER}, or text`,
};

/** Possibly with an extension, as in the example of OpenID Connect Core §5.1, or as directories have it. */
const PHONE_NUMBER = /^\+?[\d ()./-]{3,40}(?:(?:;ext=| ?ext\.? ?| ?x ?)\d{1,15})?$/i;

const URL_FORM: ClaimForm = {
  ...{ code: 'url_form', expected: 'a URL such as https://example.com/ada', fits: isWebUrl },
};

/** Claims whose form OpenID Connect Core §5.1 defines. */
const CLAIM_FORMS: ReadonlyMap<string, ClaimForm> = new Map([
  [
    'email',
    {
      ...{ code: 'email_form', expected: 'an address such as bob@example.com' },
      fits: (text) => isAddress(trimmed(text)),
    },
  ],
  [
    'phone_number',
    {
      ...{ code: 'phone_form', expected: 'a number such as +441865000000' },
      fits: (text) => PHONE_NUMBER.test(trimmed(text)),
    },
  ],
  ['profile', URL_FORM],
  ['picture', URL_FORM],
  ['website', URL_FORM],
  [
    'birthdate',
    {
      ...{ code: 'date_form', fits: isBirthdate },
      expected: 'a date such as 1990-01-31, a year such as 1990, or 0000-01-31 without the year',
    },
  ],
  ['zoneinfo', { code: 'zone_form', expected: 'a time zone such as Europe/Paris', fits: isTimeZone }],
  ['locale', { code: 'locale_form', expected: 'a language tag such as en-US', fits: isLocale }],
]);

/** The form that a value of a claim does not have. @returns `undefined` if the value is allowed */
export function unmetFormOf(name: string, value: unknown): Pick<ClaimForm, 'code' | 'expected'> | undefined {
  if (hasInexactNumber(value)) return NUMBER_FORM;
  const form = CLAIM_FORMS.get(name);
  return form === undefined || (typeof value === 'string' && form.fits(value)) ? undefined : form;
}

/** Without recursion, because the value can be deep. */
function hasInexactNumber(value: unknown): boolean {
  const rest = [value];
  while (rest.length > 0) {
    const one = rest.pop();
    if (typeof one === 'number' && Math.abs(one) > Number.MAX_SAFE_INTEGER) return true;
    if (typeof one === 'object' && one !== null) for (const item of Object.values(one)) rest.push(item);
  }
  return false;
}

function isWebUrl(text: string): boolean {
  return /^https?:\/\//i.test(text) && !/\s/.test(text) && URL.canParse(text);
}

/** ISO 8601-1: the year may be 0000, or be alone. */
function isBirthdate(text: string): boolean {
  if (/^\d{4}$/.test(text)) return true;
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

/** A name of the time zone database, and no offset such as `+01:00`, which `Intl` takes too. */
function isTimeZone(text: string): boolean {
  return /^[A-Za-z]/.test(text) && isKnown(() => new Intl.DateTimeFormat('en', { timeZone: text }));
}

/** A tag (BCP 47). Some servers write an underscore, as in `en_US`. */
function isLocale(text: string): boolean {
  return isKnown(() => new Intl.Locale(text.replaceAll('_', '-')));
}

/** Whether `Intl` takes a value. */
function isKnown(make: () => unknown): boolean {
  try {
    make();
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

export function isOfClaimType(value: unknown, type: string): boolean {
  return typeof value === type && value !== null && !Array.isArray(value);
}

/** What others say about a user, as `claimsOfTypes`. */
export function claimsInForm(claims: Claims): Claims {
  return claimsOfTypes(claims, '', () => {});
}

/**
 * Claims with the types and forms that clients expect. A value that cannot be converted is left out.
 * @param leaveOut receives the name of such a claim, and what was expected; `undefined` if the server sets it
 */
export function claimsOfTypes(
  claims: Claims,
  username: string,
  leaveOut: (name: string, expected: string | undefined) => void,
): Claims {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(claims)) {
    const kind = claimTypeOf(name);
    const converted = kind === undefined ? value : asClaimType(value, kind.type);
    if (name === 'preferred_username' && value === username) continue;
    const unmet = converted === undefined ? kind : unmetFormOf(name, converted);
    if (isOwnClaim(name)) leaveOut(name, undefined);
    else if (unmet !== undefined) leaveOut(name, unmet.expected);
    else if (converted !== undefined) kept[name] = converted;
  }
  return kept;
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

/** Later than any time in seconds. */
const MILLISECONDS_SINCE = 100_000_000_000;

/** A value of another type that says the same, such as a list of one text. @returns `undefined` if there is none */
function asClaimType(value: unknown, type: string): unknown {
  if (isOfClaimType(value, type)) return value;
  const single = Array.isArray(value) && value.length === 1 ? value[0] : value;
  if (isOfClaimType(single, type)) return single;
  const text = typeof single === 'number' || typeof single === 'boolean' ? String(single) : single;
  if (typeof text !== 'string') return undefined;
  if (type === 'string') return text;
  if (type === 'boolean') return BOOLEANS.get(text.trim().toLowerCase());
  if (type === 'number') return secondsIn(text);
  const parsed = objectOf(text);
  // OpenID Connect Core §5.1.1: the whole address, for display.
  return parsed ?? (text.trim() === '' ? undefined : { formatted: text });
}

function secondsIn(text: string): number | undefined {
  const time = /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : Date.parse(text) / 1000;
  if (!Number.isFinite(time)) return undefined;
  return Math.floor(time > MILLISECONDS_SINCE ? time / 1000 : time);
}
