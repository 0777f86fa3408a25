import type { Claims, GrantRecord } from '@grantd/core';
import type { Consent } from '../data/consents.ts';
import type { FactorKind } from '../data/factors.ts';
import type { Notice } from '../data/mails.ts';
import { nameProblem } from '../data/names.ts';
import { claimsAsKept, isOwnClaim, type ListedPerson, type Person } from '../data/people.ts';
import { type PeopleFilter, placeOfPerson } from '../data/people_list.ts';
import { askStorage } from '../data/tables.ts';
import type { UpstreamIdentity } from '../data/upstream_identities.ts';
import { ANY_WAY, type WaysToSignIn } from '../data/ways_to_sign_in.ts';
import { claimTypeOf, isOfClaimType, unmetFormOf } from '../people/claim_forms.ts';
import { counts } from '../people/consents.ts';
import { setDisabled } from '../people/enabling.ts';
import { hasPrototypeMember } from '../people/import_lines.ts';
import { type FactorChange, type MailParameters, MailQueue } from '../people/mailing.ts';
import { isPasswordHash } from '../people/password_hasher.ts';
import { PersonRemoval } from '../people/removal.ts';
import { type EndingReason, SessionEnding } from '../people/sessions.ts';
import { languageFor } from '../texts/texts.ts';
import { requireSubject, takingWays } from './groups.ts';
import type { AdminParts, OperationParts } from './operation.ts';
import { InvalidInput, OperationRefused, requireEach, type Said } from './operation_refused.ts';

const MIN_PASSWORD_CHARACTERS = 8;

/** The longest JSON of a user’s claims, as with an import. */
export const MAX_CLAIMS_LENGTH = 16 * 1024;

/** @throws {InvalidInput} the text is not allowed as a new username */
export function requireUsername(name: string): void {
  const expected = nameProblem(name);
  if (expected !== undefined)
    throw new InvalidInput('username', ['name_form', JSON.stringify(name), expected]);
}

/** @throws {InvalidInput} the password is not allowed */
export function requirePassword(password: string): void {
  if (isPasswordHash(password)) throw new InvalidInput('password', ['password_hash']);
  if (password.length < MIN_PASSWORD_CHARACTERS)
    throw new InvalidInput('password', ['password_short', String(MIN_PASSWORD_CHARACTERS)]);
}

/** @throws {InvalidInput} claims cannot be set, or clients expect another type */
export function requireClaims(claims: Claims): void {
  if (JSON.stringify(claims).length > MAX_CLAIMS_LENGTH)
    throw new InvalidInput('claims', ['claims_long', String(MAX_CLAIMS_LENGTH)]);
  if (hasPrototypeMember(claims)) throw new InvalidInput('claims', ['claims_prototype']);
  requireEach(
    Object.entries(claims).map(([name, value]) => () => {
      const said = claimProblem(name, value);
      if (said !== undefined) throw new InvalidInput(`claims.${name}`, said);
    }),
  );
}

/** Why a user cannot have a claim. */
function claimProblem(name: string, value: unknown): Said | undefined {
  if (name === 'sub') return ['claim_sub'];
  if (isOwnClaim(name)) return [name === 'preferred_username' ? 'claim_of_username' : 'claim_of_server'];
  const kind = claimTypeOf(name);
  if (kind !== undefined && !isOfClaimType(value, kind.type))
    return ['claim_form', JSON.stringify(value), kind.expected];
  const unmet = unmetFormOf(name, value);
  return unmet && [unmet.code, JSON.stringify(value)];
}

/** Applications see a stored claim `groups` instead of the memberships, so it would forge them. */
export function requireNoGroups(claims: Claims): void {
  if (Object.hasOwn(claims, 'groups')) throw new InvalidInput('claims.groups', ['claim_groups']);
}

/** Claims with the claim that says whether they are verified. */
const VERIFIED_BY = { email: 'email_verified', phone_number: 'phone_number_verified' };

/** New values of claims, and names of claims to remove. */
export interface ClaimsChange {
  readonly claims: Claims;
  readonly removed: readonly string[];
}

/** Applies a change to claims. A new e-mail address or phone number is unverified. */
export function claimsAfter(before: Claims, { claims: typed, removed }: ClaimsChange): Claims {
  const claims = claimsAsKept(typed);
  const changed = Object.entries(VERIFIED_BY).filter(
    ([name]) => claims[name] !== undefined && claims[name] !== before[name],
  );
  const outdated = changed.map(([, verified]) => verified);
  const kept = Object.entries(before).filter(([name]) => !removed.includes(name) && !outdated.includes(name));
  return { ...Object.fromEntries(kept), ...claims };
}

/** @throws {OperationRefused} the user does not exist */
export async function requirePerson(
  { people }: Pick<OperationParts, 'people'>,
  name: string,
): Promise<Person> {
  const person = await people.byName(name);
  if (person === undefined)
    throw new OperationRefused('not_found', ['no_user', name], 'grantd user list shows all users.');
  return person;
}

/**
 * A user whose sign-in the caller may change.
 * @throws {OperationRefused} there is none, or the caller may not
 */
export async function changeable(
  parts: AdminParts,
  { sub: subject }: { readonly sub: string },
): Promise<Person> {
  const person = await requireSubject(parts, subject);
  parts.caller.requirePerson(person);
  parts.caller.requireAnother(person);
  return person;
}

export function nameTaken(name: string): OperationRefused {
  return new OperationRefused('conflict', ['user_exists', name], 'choose another name.', 'username');
}

/** Parts of a change to a user. Without a caller, everything is permitted. */
type ChangeParts = Pick<OperationParts, 'issuer'> & Partial<Pick<AdminParts, 'caller'>>;

/**
 * Makes a change to a user as long as the caller may. What follows from the change needs no further right.
 * @param takesAccess whether the user cannot sign in afterwards
 */
export function asPermitted<T>(
  { issuer, caller }: ChangeParts,
  person: Pick<Person, 'subject'>,
  work: () => Promise<T>,
  takesAccess = false,
): Promise<T> {
  return caller === undefined ? work() : caller.changePerson(issuer, person, work, takesAccess);
}

/** Disabling also revokes all tokens of the user and ends their sessions. */
export async function setPersonDisabled(
  parts: Pick<OperationParts, 'sessions' | 'storage' | 'mailedLinks'> & ChangeParts,
  person: Pick<Person, 'subject'>,
  disabled: boolean,
): Promise<void> {
  await asPermitted(parts, person, () => setDisabled(parts, person.subject, disabled), disabled);
  if (disabled) await endSessionsOf(parts, person, 'person_disabled');
}

/**
 * Ends all sessions of a user, and revokes the tokens that depend on them. A running server notifies the applications.
 * @returns the number of sessions
 */
export async function endSessionsOf(
  { sessions, storage }: Pick<OperationParts, 'sessions' | 'storage'>,
  { subject }: Pick<Person, 'subject'>,
  reason: EndingReason,
): Promise<number> {
  return (await new SessionEnding({ sessions, storage }).end({ subject }, reason)).length;
}

/** The end of a user’s sessions. */
export interface EndedSessions {
  /** The number of sessions. */
  readonly ended: number;
  /** The grants that no session ends, such as those with `offline_access`, with their live tokens. */
  readonly remaining: readonly Pick<GrantRecord, 'id' | 'clientId'>[];
}

/** Ends all sessions of a user, and finds the access that stays. */
export async function endSessions(
  parts: Pick<OperationParts, 'sessions' | 'storage'> & ChangeParts,
  person: Pick<Person, 'subject'>,
): Promise<EndedSessions> {
  const { subject } = person;
  const begin = <T>(work: () => Promise<T>) => asPermitted(parts, person, work);
  const ended = (await new SessionEnding({ ...parts, begin }).end({ subject })).length;
  const grants = await askStorage(() => parts.storage.grantsOf(person.subject));
  return { ended, remaining: grants.map(({ id, clientId }) => ({ id, clientId })) };
}

/** Ends one session of a user, with the tokens that depend on it. @returns `false` if it had ended */
export async function endSession(
  parts: Pick<OperationParts, 'sessions' | 'storage'> & ChangeParts,
  person: Pick<Person, 'subject'>,
  id: string,
): Promise<boolean> {
  const begin = <T>(work: () => Promise<T>) => asPermitted(parts, person, work);
  const ended = await new SessionEnding({ ...parts, begin }).end({ subject: person.subject, id });
  return ended.length > 0;
}

/** The end of all access of a user. */
interface EndedAccess {
  /** The number of sessions. */
  readonly ended: number;
  /** Whether the store has recorded a new end of all tokens. */
  readonly revoked: boolean;
}

/**
 * Ends all access of a user: all sessions, and every token and code, including those with `offline_access`. The user can
 * sign in again.
 * @param reason the other change from which it follows. Default: none
 * @param begin makes the writes that need a right. Default: none does
 */
export async function endAccess(
  { sessions, storage }: Pick<OperationParts, 'sessions' | 'storage'>,
  { subject }: Pick<Person, 'subject'>,
  reason?: EndingReason,
  begin?: <T>(work: () => Promise<T>) => Promise<T>,
): Promise<EndedAccess> {
  const ending = new SessionEnding({ sessions, storage, ...(begin !== undefined && { begin }) });
  const { ends, revoked } = await ending.endAccess(subject, reason);
  return { ended: ends.length, revoked };
}

/**
 * Removes a link to an identity provider, and ends the sessions that came through it. Unlike users, operators can remove
 * the only way to sign in, except that of the last administrator.
 * @returns the link, with the number of sessions
 * @throws {OperationRefused} the user has no such link, or is the last administrator
 */
export async function unlinkPerson(
  parts: OperationParts & ChangeParts,
  person: Person,
  id: string,
): Promise<UpstreamIdentity & { readonly ended: number }> {
  const { upstreamIdentities, sessions, storage } = parts;
  const { subject, name } = person;
  const through = await upstreamIdentities.sessionsOf({ id });
  const linked = (await upstreamIdentities.ofSubject(subject)).find((link) => link.id === id);
  const change = linked && ({ change: 'provider_unlinked', name: linked.provider } as const);
  const notice = change && (await noticeTo(parts, person, 'factor_changed', change));
  const unlink = () =>
    asPermitted(parts, person, () => upstreamIdentities.unlink(id, subject, ANY_WAY, notice));
  const others = (ways: WaysToSignIn) => ({ ...ways, links: ways.links.filter((link) => link !== id) });
  const unlinked = await takingWays(parts, person, others, unlink);
  if (unlinked === undefined)
    throw new OperationRefused(
      'not_found',
      ['no_link', name, id],
      `grantd user show ${name} shows all links`,
    );
  const ending = new SessionEnding({ sessions, storage });
  for (const session of through) await ending.end(session, 'provider_unlinked');
  return { ...unlinked, ended: through.length };
}

/**
 * Sets a password, ends the user’s sessions and revokes all their tokens.
 * @returns the number of sessions
 * @throws {OperationRefused} the user was removed in the meantime
 */
export async function setPassword(
  parts: OperationParts & ChangeParts,
  person: Person,
  passwordHash: string,
): Promise<number> {
  const notice = await noticeTo(parts, person, 'password_changed', {});
  const set = () => parts.people.setPasswordHash(person.subject, passwordHash, undefined, notice);
  if (!(await asPermitted(parts, person, set)))
    throw new OperationRefused('not_found', ['user_gone', person.name]);
  // After the change, no session can start with the old password. Someone with it may have granted access that outlives
  // sessions.
  return (await endAccess(parts, person, 'password_set')).ended;
}

/**
 * Removes the passkeys, the app and the recovery codes of a user, ends their sessions and revokes all their tokens.
 * @throws {OperationRefused} the user is the last administrator, and signs in only with passkeys
 */
export async function resetFactors(
  parts: OperationParts & ChangeParts,
  person: Person,
): Promise<{ readonly wereThere: boolean; readonly ended: number }> {
  const notice = await noticeTo(parts, person, 'factor_changed', { change: 'factors_reset' });
  const reset = () => asPermitted(parts, person, () => parts.factors.reset(person.subject, notice));
  const withoutPasskeys = (ways: WaysToSignIn) => ({ ...ways, hasPasskeys: false });
  const wereThere = await takingWays(parts, person, withoutPasskeys, reset);
  // After the reset, no session can start with the old factors. A thief may have used them.
  const { ended } = await endAccess(parts, person, 'factors_reset');
  return { wereThere, ended };
}

/** A factor of a user. An app and the codes have their kind as ID. */
export interface FactorOfPerson {
  readonly id: string;
  readonly kind: FactorKind;
  /** The user’s name for a passkey or security key. */
  readonly name?: string;
}

const REMOVALS = {
  passkey: 'passkey_removed',
  security_key: 'security_key_removed',
  authenticator_app: 'totp_removed',
  recovery_codes: 'recovery_codes_removed',
} as const satisfies Record<FactorKind, FactorChange>;

/**
 * Removes one factor of a user, ends their sessions and revokes all their tokens. Recovery codes end with the last other
 * factor. Unlike users, operators can remove the only way to sign in, except that of the last administrator.
 * @returns the number of sessions; `undefined` if the factor is gone
 * @throws {OperationRefused} the user is the last administrator, and signs in only with this passkey
 */
export async function removeFactor(
  parts: OperationParts & ChangeParts,
  person: Person,
  { id, kind, name }: FactorOfPerson,
): Promise<number | undefined> {
  const { factors } = parts;
  const { subject } = person;
  const change = { change: REMOVALS[kind], ...(name !== undefined && { name }) };
  const notice = await noticeTo(parts, person, 'factor_changed', change);
  const remove = () => {
    if (kind === 'authenticator_app') return factors.removeTotp(subject, notice);
    if (kind === 'recovery_codes') return factors.removeRecoveryCodes(subject, notice);
    return factors.removePasskey(subject, id, ANY_WAY, notice);
  };
  const withoutIt = (ways: WaysToSignIn) => ({ ...ways, without: id });
  const isRemoved = await takingWays(parts, person, withoutIt, () => asPermitted(parts, person, remove));
  // After the removal, no session can start with the factor. A thief may have used it.
  return isRemoved ? (await endAccess(parts, person, 'factor_removed')).ended : undefined;
}

/** Lets the factors of a user count that they have added with a recovery code. @returns whether any had to wait */
export function confirmFactors(
  parts: OperationParts & ChangeParts,
  person: Pick<Person, 'subject'>,
): Promise<boolean> {
  return asPermitted(parts, person, () => parts.factors.confirm(person.subject, parts.clock()));
}

/** The language of an email to a user with this claim `locale`. */
export function languageOf(locale: unknown): string {
  return languageFor(typeof locale === 'string' ? [locale] : [], undefined);
}

/** The email about an operator’s change. @returns `undefined` if no server sends emails, or the user gets none */
async function noticeTo<T extends 'password_changed' | 'factor_changed'>(
  { mails, secret, configuration }: OperationParts,
  person: Person,
  template: T,
  parameters: MailParameters[T],
): Promise<Notice | undefined> {
  const { smtpUrl, demo } = configuration.settings;
  if (smtpUrl === undefined && !demo) return undefined;
  const language = languageOf(person.claims.locale);
  const queue = new MailQueue({ mails, secret: secret() });
  return queue.notice(person, { template, language, parameters });
}

/**
 * Deletes a user’s data, revokes all their tokens and ends their sessions.
 * @param begin makes the write that needs a right. Default: none does
 * @returns the number of sessions
 */
export function removePerson(
  parts: Pick<OperationParts, 'people' | 'consents' | 'storage' | 'sessions'>,
  { subject }: Pick<Person, 'subject'>,
  begin?: <T>(work: () => Promise<T>) => Promise<T>,
): Promise<number> {
  const { people, consents, storage, sessions } = parts;
  const ending = new SessionEnding({ sessions, storage });
  return new PersonRemoval({ people, consents, ending, storage }).remove(subject, begin);
}

/** A user with their state. */
export type Listed = ListedPerson & { readonly disabledAtMs?: number };

/** Adds the state to a user. */
export async function withState(
  { storage }: Pick<OperationParts, 'storage'>,
  person: Person,
): Promise<Listed> {
  const state = await askStorage(() => storage.getPrincipalState('subject', person.subject));
  const { disabledAtMs } = state ?? {};
  return { ...person, ...(disabledAtMs !== undefined && { disabledAtMs }) };
}

/** The valid consents of a user. */
export async function consentsOf(
  { consents, storage }: Pick<OperationParts, 'consents' | 'storage'>,
  subject: string,
): Promise<readonly Consent[]> {
  const given = await consents.ofSubject(subject);
  const clients = await Promise.all(given.map(({ clientId }) => storage.clients.get(clientId)));
  return given.filter((consent, index) => counts(consent, clients[index]));
}

/** Users per read. Their states are one more read. */
const USERS_PER_PAGE = 2000;

/** Yields the users of a list page by page. */
export async function* pagesOf(
  parts: Pick<OperationParts, 'people' | 'storage'>,
  filter: PeopleFilter,
): AsyncGenerator<readonly Listed[]> {
  for (let { after } = filter; ; ) {
    const page = await parts.people.list({
      ...filter,
      ...(after !== undefined && { after }),
      limit: USERS_PER_PAGE,
    });
    yield await withStates(parts, page);
    const last = page.at(-1);
    if (last === undefined || page.length < USERS_PER_PAGE) return;
    after = placeOfPerson(last, filter.sort);
  }
}

/** Adds the states to users, with one read. */
export async function withStates(
  { storage }: Pick<OperationParts, 'storage'>,
  people: readonly ListedPerson[],
): Promise<readonly Listed[]> {
  const disabled = await askStorage(() => storage.disabledSubjects(people.map(({ subject }) => subject)));
  return people.map((person) => {
    const disabledAtMs = disabled.get(person.subject);
    return { ...person, ...(disabledAtMs !== undefined && { disabledAtMs }) };
  });
}
