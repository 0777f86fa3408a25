import { createHash } from 'node:crypto';
import type { Claims } from '@grantd/core';
import { isName, nameAsKept, nameProblem } from '../data/names.ts';
import { claimsAsKept } from '../data/people.ts';
import type { NewIdentity } from '../data/upstream_identities.ts';
import { claimsOfTypes } from './claim_forms.ts';
import { type Fields, isObject } from './fields.ts';
import { ImportFault, type ImportFaultSaid } from './import_faults.ts';
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
  readonly warnings: readonly ImportFault[];
}

/** Why a line cannot be imported. */
export interface LineProblem {
  readonly username?: string;
  /** Everything that is wrong with it. At least one. */
  readonly reasons: readonly ImportFault[];
  /** Whether it is no user. */
  readonly isSkipped?: boolean;
}

const MEMBERS = [
  ...['username', 'subject', 'claims', 'groups', 'disabled', 'password_hash', 'directory_id', 'links'],
  ...['created_at', 'totp_secret', 'invite'],
];

const MAX_CLAIMS_LENGTH = 16 * 1024;
const MAX_GROUPS = 100;
const MAX_LINKS = 20;
const MAX_TEXT = 255;

/** Faults of a line that a report names. */
const MAX_FAULTS = 20;

/** Base32 without padding of 16 to 64 bytes: shorter secrets can be guessed. */
const TOTP_SECRET = /^[A-Z2-7]{26,103}$/;

/** OpenID Connect Core §2: at most 255 ASCII characters. A command would read a leading `-` as a flag. */
const SUBJECT = /^[\x21-\x2C\x2E-\x7E][\x21-\x7E]{0,254}$/;

/** As in the file of the providers. */
export const PROVIDER_NAME = /^[a-z0-9][a-z0-9_-]{0,31}$/;

/** Reads what a line says. @param found what a converter has left out */
export function readImportLine(value: unknown, found: readonly ImportFault[] = []): ImportLine | LineProblem {
  if (!isObject(value)) return { reasons: [new ImportFault('no_object')] };
  const { username, subject, claims = {}, groups, disabled, password_hash: givenHash } = value;
  const { directory_id: directoryId, links, created_at: createdAt, totp_secret: totpSecret } = value;
  const passwordHash = typeof givenHash === 'string' ? storedHashForm(givenHash) : givenHash;
  const known = typeof username === 'string' ? { username } : {};
  const faults = faultsOf({
    ...{ ...value, claims },
    ...(passwordHash !== undefined && { password_hash: passwordHash }),
  });
  if (faults.length > 0) return { ...known, reasons: faults.slice(0, MAX_FAULTS) };
  const warnings = [...found];
  const name = nameAsKept(String(username));
  const unusual = nameProblem(name);
  if (unusual !== undefined) warnings.push(new ImportFault('unusual_name', unusual));
  const kept = claimsAsKept(
    claimsOfTypes(claims as Claims, name, (claim, expected) => {
      warnings.push(
        expected === undefined
          ? new ImportFault('own_claim', claim)
          : new ImportFault('claim_left_out', claim, expected),
      );
    }),
  );
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

function faultsOf(value: Fields): readonly ImportFault[] {
  const { username, subject, claims, groups, disabled, password_hash: passwordHash, links, invite } = value;
  const { directory_id: directoryId, created_at: createdAt, totp_secret: totpSecret } = value;
  const known = `${MEMBERS.slice(0, -1).join(', ')} or ${MEMBERS.at(-1)}`;
  const others = Object.keys(value).filter((name) => !MEMBERS.includes(name));
  const faults = others.map((name) => new ImportFault('unknown_member', name, known));
  const unless = (isFit: boolean, ...said: ImportFaultSaid) => {
    if (!isFit) faults.push(new ImportFault(...said));
  };
  const given = (member: unknown, isFit: (value: unknown) => boolean, ...said: ImportFaultSaid) =>
    unless(member === undefined || isFit(member), ...said);
  unless(!hasPrototypeMember(value), 'prototype');
  if (typeof username !== 'string') unless(false, 'no_username');
  else unless(isName(username), 'username', nameProblem(username) ?? '');
  given(subject, (sub) => typeof sub === 'string' && SUBJECT.test(sub), 'subject');
  if (!isObject(claims)) unless(false, 'claims');
  else {
    unless(JSON.stringify(claims).length <= MAX_CLAIMS_LENGTH, 'long_claims', String(MAX_CLAIMS_LENGTH));
    unless(!Object.hasOwn(claims, 'sub'), 'claim_sub');
  }
  given(groups, isListOfNames, 'groups', String(MAX_GROUPS));
  given(disabled, isFlag, 'flag', 'disabled');
  given(invite, isFlag, 'flag', 'invite');
  given(links, isListOfLinks, 'links', String(MAX_LINKS));
  given(directoryId, isText, 'directory_id', String(MAX_TEXT));
  given(createdAt, isTime, 'created_at');
  given(totpSecret, isTotpSecret, 'totp_secret');
  if (passwordHash === undefined) return faults;
  unless(directoryId === undefined, 'hash_beside_directory');
  unless(invite !== true, 'hash_beside_invitation');
  const hash = typeof passwordHash === 'string' ? readPasswordHash(passwordHash) : { problem: 'a text' };
  if ('problem' in hash) faults.push(new ImportFault('password_hash', hash.problem));
  return faults;
}

function isFlag(value: unknown): boolean {
  return typeof value === 'boolean';
}

function isListOfNames(value: unknown): boolean {
  return (
    Array.isArray(value) && value.length <= MAX_GROUPS && value.every((group) => typeof group === 'string')
  );
}

function isListOfLinks(value: unknown): boolean {
  return Array.isArray(value) && value.length <= MAX_LINKS && value.every(isLink);
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

function invitedWith({ email }: Claims, warnings: ImportFault[]): { readonly invite?: true } {
  if (typeof email === 'string' && isAddress(email)) return { invite: true };
  warnings.push(new ImportFault('not_invited'));
  return {};
}

/** Whether a new group can have this name: options separate names by commas. Groups of earlier versions may have one. */
export function hasNoComma(name: string): boolean {
  return !name.includes(',');
}
