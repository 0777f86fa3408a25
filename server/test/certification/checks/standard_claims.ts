// § refers to OpenID Connect Core.
import assert from 'node:assert/strict';
import { isObject, type JsonObject } from '../jws.ts';

type Kind = (value: unknown) => boolean;

const text: Kind = (value) => typeof value === 'string' && value !== '';
const flag: Kind = (value) => typeof value === 'boolean';
const time: Kind = (value) => typeof value === 'number' && Number.isInteger(value) && value < 1e11;

/** The claims of OpenID Connect Core §5.1, with their types. */
const STANDARD_CLAIMS: Readonly<Record<string, Kind>> = {
  sub: (value) => text(value) && String(value).length <= 255,
  name: text,
  given_name: text,
  family_name: text,
  middle_name: text,
  nickname: text,
  preferred_username: text,
  profile: isUrl,
  picture: isUrl,
  website: isUrl,
  email: (value) => text(value) && /^[^@\s]+@[^@\s]+$/.test(String(value)),
  email_verified: flag,
  gender: text,
  birthdate: (value) => /^(\d{4}(-\d\d-\d\d)?)$/.test(String(value)),
  zoneinfo: text,
  locale: text,
  phone_number: text,
  phone_number_verified: flag,
  address: isAddress,
  updated_at: time,
};

/** §5.1.1. */
const ADDRESS_MEMBERS: ReadonlySet<string> = new Set([
  ...['formatted', 'street_address', 'locality', 'region', 'postal_code', 'country'],
]);

/** The claims of each scope (§5.4). */
export const CLAIMS_OF: Readonly<Record<string, readonly string[]>> = {
  openid: ['sub'],
  profile: [
    ...['name', 'family_name', 'given_name', 'middle_name', 'nickname', 'preferred_username', 'profile'],
    ...['picture', 'website', 'gender', 'birthdate', 'zoneinfo', 'locale', 'updated_at'],
  ],
  email: ['email', 'email_verified'],
  address: ['address'],
  phone: ['phone_number', 'phone_number_verified'],
  offline_access: [],
};

/** Every standard claim has its type, and `sub` is present (§5.3.2). */
export function checkStandardClaims(claims: JsonObject): void {
  assert.ok(typeof claims.sub === 'string', 'sub is a text');
  for (const [name, value] of Object.entries(claims)) {
    const isRight = STANDARD_CLAIMS[name] ?? (() => true);
    assert.ok(isRight(value), `${name} has its type`);
  }
}

/** Only the standard claims. */
export function standardClaimsIn(claims: JsonObject): readonly string[] {
  return Object.keys(claims).filter((name) => Object.hasOwn(STANDARD_CLAIMS, name));
}

function isUrl(value: unknown): boolean {
  return typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value);
}

function isAddress(value: unknown): boolean {
  if (!isObject(value)) return false;
  return Object.entries(value).every(([name, part]) => ADDRESS_MEMBERS.has(name) && text(part));
}
