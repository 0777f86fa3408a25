import { createHash } from 'node:crypto';
import { type Claims, STANDARD_CLAIMS_BY_SCOPE } from '@grantd/core';
import { isName, nameAsKept, nameProblem, trimmed } from '../data/names.ts';
import { claimsAsKept, isOwnClaim } from '../data/people.ts';
import type { NewIdentity } from '../data/upstream_identities.ts';
import { isAddress } from './mailing.ts';
import { readPasswordHash } from './password_formats.ts';
import { storedHashForm } from './password_spellings.ts';

/** A user as a line of an import says. What a line does not say stays as it is in an update. */
export interface ImportLine {
  readonly username: string;
  readonly subject?: string;
  readonly claims: Claims;
  readonly groups?: readonly string[];
  readonly disabled?: boolean;
  readonly passwordHash?: string;
  /** The user’s entry in the directory, which checks the password. */
  readonly directoryId?: string;
  readonly links?: readonly NewIdentity[];
  /** When a new user was added elsewhere. */
  readonly createdAtMs?: number;
  /** The secret of a new user’s authenticator app, in base32. */
  readonly totpSecret?: string;
  /** Whether a new user gets an email with a link to choose a password. */
  readonly invite?: true;
  /** Digest of all of it. */
  readonly digest: string;
  /** What the old server had and this one leaves out. */
  readonly warnings: readonly string[];
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

const MEMBERS = [
  ...['username', 'subject', 'claims', 'groups', 'disabled', 'password_hash', 'directory_id', 'links'],
  ...['created_at', 'totp_secret', 'invite'],
];

const MAX_CLAIMS_LENGTH = 16 * 1024;
const MAX_GROUPS = 100;
const MAX_LINKS = 20;
const MAX_TEXT = 255;

/** Base32 without padding of 16 to 64 bytes: shorter secrets can be guessed. */
const TOTP_SECRET = /^[A-Z2-7]{26,103}$/;

/** OpenID Connect Core §2: at most 255 ASCII characters. A command would read a leading `-` as a flag. */
const SUBJECT = /^[\x21-\x2C\x2E-\x7E][\x21-\x7E]{0,254}$/;

/** As in the file of the providers. */
export const PROVIDER_NAME = /^[a-z0-9][a-z0-9_-]{0,31}$/;

/** Reads what a line says. @param found what a converter has left out */
export function readImportLine(value: unknown, found: readonly string[] = []): ImportLine | LineProblem {
  if (!isObject(value)) return { reason: 'expected a JSON object such as {"username":"carol"}' };
  const { username, subject, claims = {}, groups, disabled, password_hash: givenHash } = value;
  const { directory_id: directoryId, links, created_at: createdAt, totp_secret: totpSecret } = value;
  const passwordHash = typeof givenHash === 'string' ? storedHashForm(givenHash) : givenHash;
  const known = typeof username === 'string' ? { username } : {};
  const reason = problemOf({
    ...{ ...value, claims },
    ...(passwordHash !== undefined && { password_hash: passwordHash }),
  });
  if (reason !== undefined) return { ...known, reason };
  const warnings = [...found];
  const name = nameAsKept(String(username));
  const unusual = nameProblem(name);
  if (unusual !== undefined) warnings.push(`username: nobody else can have such a name: expected ${unusual}`);
  const kept = claimsAsKept(claimsOfTypes(claims as Claims, name, warnings));
  const line = {
    username: name,
    ...(subject !== undefined && { subject: String(subject) }),
    claims: kept,
    ...(groups !== undefined && { groups: [...new Set(groups as readonly string[])].sort() }),
    ...(disabled !== undefined && { disabled: disabled === true }),
    ...(passwordHash !== undefined && { passwordHash: String(passwordHash) }),
    ...(directoryId !== undefined && { directoryId: String(directoryId) }),
    ...(links !== undefined && { links: (links as readonly Fields[]).map(linkFrom) }),
    ...(createdAt !== undefined && { createdAtMs: Date.parse(String(createdAt)) }),
    ...(totpSecret !== undefined && { totpSecret: String(totpSecret) }),
    ...(value.invite === true && invitedWith(kept, warnings)),
  };
  const digest = createHash('sha256').update(JSON.stringify(line)).digest('base64url');
  return { ...line, digest, warnings };
}

/** Whether JSON has a member `__proto__` at any depth, which becomes the prototype of an object that a reader assigns it to. */
export function hasPrototypeMember(json: object): boolean {
  return JSON.stringify(json).includes('"__proto__":');
}

function problemOf(value: Fields): string | undefined {
  const { username, subject, claims, groups, disabled, password_hash: passwordHash, links, invite } = value;
  const other = Object.keys(value).find((name) => !MEMBERS.includes(name));
  if (other !== undefined)
    return `${other}: unknown member: expected ${MEMBERS.slice(0, -1).join(', ')} or ${MEMBERS.at(-1)}`;
  if (hasPrototypeMember(value)) return '__proto__: expected no member of this name';
  if (typeof username !== 'string') return 'username: expected a text';
  if (!isName(username)) return `username: expected ${nameProblem(username)}`;
  if (subject !== undefined && !(typeof subject === 'string' && SUBJECT.test(subject)))
    return 'subject: expected 1 to 255 visible ASCII characters, not beginning with -';
  if (!isObject(claims)) return 'claims: expected an object such as {"name":"Carol"}';
  if (JSON.stringify(claims).length > MAX_CLAIMS_LENGTH)
    return `claims: expected at most ${MAX_CLAIMS_LENGTH} characters of JSON`;
  if (Object.hasOwn(claims, 'sub')) return 'claims: sub: expected it as subject';
  const areNames = Array.isArray(groups) && groups.every((group) => typeof group === 'string');
  if (groups !== undefined && !(areNames && groups.length <= MAX_GROUPS))
    return `groups: expected a list of at most ${MAX_GROUPS} names`;
  if (disabled !== undefined && typeof disabled !== 'boolean') return 'disabled: expected true or false';
  if (invite !== undefined && typeof invite !== 'boolean') return 'invite: expected true or false';
  if (links !== undefined && !(Array.isArray(links) && links.length <= MAX_LINKS && links.every(isLink)))
    return `links: expected a list of at most ${MAX_LINKS} objects such as {"provider":"google","issuer":"https://accounts.google.com","sub":"1234"}`;
  const { directory_id: directoryId } = value;
  if (directoryId !== undefined && !isText(directoryId))
    return `directory_id: expected the identifier of an entry, at most ${MAX_TEXT} characters`;
  const { created_at: createdAt, totp_secret: totpSecret } = value;
  if (createdAt !== undefined && !isTime(createdAt))
    return 'created_at: expected a time such as 2024-05-31T12:00:00Z';
  if (totpSecret !== undefined && !isTotpSecret(totpSecret))
    return 'totp_secret: expected 16 to 64 bytes in base32, without padding';
  if (passwordHash === undefined) return undefined;
  if (directoryId !== undefined)
    return 'directory_id: the directory has the password: expected no password_hash';
  if (invite === true) return 'invite: the user would choose a password: expected no password_hash';
  const hash = typeof passwordHash === 'string' ? readPasswordHash(passwordHash) : { problem: 'a text' };
  return 'problem' in hash ? `password_hash: expected ${hash.problem}` : undefined;
}

export function isTotpSecret(value: unknown): value is string {
  return typeof value === 'string' && TOTP_SECRET.test(value);
}

/** A date with a time and a zone, from 1970. */
function isTime(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/.test(value) &&
    Date.parse(value) >= 0
  );
}

function isLink(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { provider, issuer, sub, label = '', ...others } = value;
  return (
    typeof provider === 'string' &&
    PROVIDER_NAME.test(provider) &&
    isText(issuer) &&
    URL.canParse(issuer) &&
    isText(sub) &&
    typeof label === 'string' &&
    Object.keys(others).length === 0
  );
}

function linkFrom({ provider, issuer, sub, label }: Fields): NewIdentity {
  const shown = typeof label === 'string' && label !== '' ? label : String(sub);
  return {
    provider: String(provider),
    upstreamIssuer: String(issuer),
    upstreamSub: String(sub),
    label: shown.slice(0, MAX_TEXT),
  };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_TEXT && !/\p{C}/u.test(value);
}

function invitedWith({ email }: Claims, warnings: string[]): { readonly invite?: true } {
  if (typeof email === 'string' && isAddress(email)) return { invite: true };
  warnings.push('invite: there is no email address to send a link to: run grantd user set-password');
  return {};
}

/** What others say about a user, as `claimsOfTypes`. */
export function claimsInForm(claims: Claims): Claims {
  return claimsOfTypes(claims, '', []);
}

/** Claims with the types and forms that clients expect. A value that cannot be converted is left out. */
function claimsOfTypes(claims: Claims, username: string, warnings: string[]): Claims {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(claims)) {
    const kind = claimTypeOf(name);
    const converted = kind === undefined ? value : asClaimType(value, kind.type);
    if (name === 'preferred_username' && value === username) continue;
    const unmet = converted === undefined ? kind : unmetFormOf(name, converted);
    if (isOwnClaim(name)) warnings.push(`claims: ${name}: left out: it comes from the server`);
    else if (unmet !== undefined) warnings.push(`claims: ${name}: left out: expected ${unmet.expected}`);
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

/** Whether a new group can have this name: options separate names by commas. Groups of earlier versions may have one. */
export function hasNoComma(name: string): boolean {
  return !name.includes(',');
}

export type Fields = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object, or one that is stored as JSON. */
export function objectOf(json: unknown): Fields | undefined {
  try {
    const value: unknown = typeof json === 'string' ? JSON.parse(json) : json;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
