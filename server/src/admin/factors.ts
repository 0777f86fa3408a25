// How users sign in besides the password (factors, links to providers), and what too many attempts have locked.
import type { FactorKind, Passkey } from '../data/factors.ts';
import type { Person } from '../data/people.ts';
import type { UpstreamIdentity } from '../data/upstream_identities.ts';
import { LOCKED_STEPS, type Lock, Locks } from '../people/locks.ts';
import { requireSubject } from './groups.ts';
import { change, type OperationParts, operation } from './operation.ts';
import { OperationRefused } from './operation_refused.ts';
import {
  count,
  flag,
  list,
  named,
  object,
  oneOf,
  optional,
  optionalTime,
  text,
  time,
  timeOf,
  type ValueOf,
  whole,
} from './schema.ts';
import { endedSessions, sessionsInWords } from './sessions.ts';
import {
  asPermitted,
  changeable,
  confirmFactors,
  type FactorOfPerson,
  removeFactor,
  resetFactors,
  unlinkPerson,
} from './user_rules.ts';

// ── Schemas ───────────────────────────────────────────────────────────────────────────────────────────────

const FACTORS = named(
  'Factors',
  object({
    passkeys: list(
      object({
        id: text('The ID of the passkey. DELETE /users/{sub}/factors/{factor} takes it.'),
        name: text('The name that the user chose.'),
        added_at: time('When the user added the passkey.'),
        'last_used_at?': time('When the user last signed in with it.'),
        backed_up: flag('Whether the passkey is backed up, for example by a password manager.'),
      }),
      'The passkeys of the user.',
    ),
    security_keys: list(
      object({
        id: text('The ID of the security key. DELETE /users/{sub}/factors/{factor} takes it.'),
        name: text('The name that the user chose.'),
        added_at: time('When the user added the security key.'),
        'last_used_at?': time('When the user last signed in with it.'),
      }),
      'The security keys of the user, which only follow a password.',
    ),
    'authenticator_app_added_at?': time('When the user set up an authenticator app.'),
    recovery_codes: count('Number of unused recovery codes.'),
    'count_from?': time(
      'When all changes of these factors count, if the user has made some with a recovery code. `POST /users/{sub}/factors/confirm` lets them count at once.',
    ),
  }),
);
export type FactorsView = ValueOf<typeof FACTORS>;

const CONFIRMED_FACTORS = named(
  'ConfirmedFactors',
  object({ factors_confirmed: flag('Whether the user had factors that did not count yet.') }),
);

const RESET_FACTORS = named(
  'ResetFactors',
  object({ factors_removed: flag('Whether the user had any factors.'), sessions_ended: endedSessions }),
);

const REMOVED_FACTOR = named(
  'RemovedFactor',
  object({
    kind: oneOf(
      [
        'passkey',
        'security_key',
        'authenticator_app',
        'recovery_codes',
      ] as const satisfies readonly FactorKind[],
      'What was removed.',
    ),
    'name?': text('The user’s name for the passkey or security key.'),
    sessions_ended: endedSessions,
  }),
);

const KINDS_IN_WORDS: Readonly<Record<FactorKind, string>> = {
  passkey: 'passkey',
  security_key: 'security key',
  authenticator_app: 'authenticator app',
  recovery_codes: 'recovery codes',
};

const link = {
  id: text('The ID of the link. DELETE /users/{sub}/links/{link} takes it.'),
  provider: text('The identity provider.'),
  issuer: text('The issuer of the identity provider.'),
  upstream_sub: text('The user’s identifier at the provider.'),
  label: text('The user’s name or address at the provider.'),
  linked_at: time('When the link was added.'),
};
const LINK = object(link);
export type LinkView = ValueOf<typeof LINK>;
const LINKS = whole('Links', LINK, 'The user’s links to accounts at identity providers.');
const REMOVED_LINK = named(
  'RemovedLink',
  object({ provider: link.provider, label: link.label, sessions_ended: endedSessions }),
);

export const LOCK = object({
  step: oneOf(
    LOCKED_STEPS,
    'The step that is refused: the password, a code (of an authenticator app, or a recovery code), or a mailed link that is opened in another browser.',
  ),
  places: count('Number of IP addresses, /64 networks and known browsers from which it is refused.'),
  ends_at: time('When the last of them is let in again.'),
});
export type LockView = ValueOf<typeof LOCK>;

const STEPS_IN_WORDS: Readonly<Record<LockView['step'], string>> = {
  password: 'the password',
  code: 'codes',
  mailed_link: 'mailed links',
};

/** A lock in the output of commands. */
export function lockInWords({ step, places, ends_at: endsAt }: LockView, username: string): string {
  const where = places === 1 ? '1 place' : `${places} places`;
  return `too many attempts for ${STEPS_IN_WORDS[step]} from ${where}, until ${endsAt} (grantd user unlock ${username})`;
}

const LOCKS = whole('Locks', LOCK, 'What is refused after too many attempts. Empty if nothing is.');

// ── Documents ─────────────────────────────────────────────────────────────────────────────────────────────

async function factorsView(
  { factors, clock }: Pick<OperationParts, 'factors' | 'clock'>,
  { subject }: Pick<Person, 'subject'>,
): Promise<FactorsView> {
  const [passkeys, totp, { recoveryCodes, held }] = await Promise.all([
    factors.passkeysOf(subject),
    factors.totpOf(subject),
    factors.of(subject),
  ]);
  const times = [held.untilMs, totp?.countsFromMs ?? 0, ...passkeys.map(({ countsFromMs }) => countsFromMs)];
  const countFromMs = Math.max(...times);
  return {
    passkeys: passkeys.flatMap((item) =>
      item.isSecurityKey ? [] : [{ ...keyView(item), backed_up: item.isBackedUp }],
    ),
    security_keys: passkeys.filter(({ isSecurityKey }) => isSecurityKey).map(keyView),
    ...optionalTime('authenticator_app_added_at', totp?.createdAtMs),
    recovery_codes: recoveryCodes,
    ...optionalTime('count_from', countFromMs > clock() ? countFromMs : undefined),
  };
}

function keyView({ id, name, createdAtMs, lastUsedAtMs }: Passkey) {
  return { id, name, added_at: timeOf(createdAtMs), ...optionalTime('last_used_at', lastUsedAtMs) };
}

function linkView({ upstreamIssuer, upstreamSub, linkedAtMs, ...identity }: UpstreamIdentity): LinkView {
  return {
    ...{ id: identity.id, provider: identity.provider, issuer: upstreamIssuer, upstream_sub: upstreamSub },
    ...{ label: identity.label, linked_at: timeOf(linkedAtMs) },
  };
}

export function lockView({ step, places, endsAtMs }: Lock): LockView {
  return { step, places, ends_at: timeOf(endsAtMs) };
}

/** The factor with this ID, if the user has it. */
async function factorOf(
  { factors }: Pick<OperationParts, 'factors'>,
  { subject }: Pick<Person, 'subject'>,
  id: string,
): Promise<FactorOfPerson | undefined> {
  if (id === 'authenticator_app' || id === 'recovery_codes') {
    const { hasTotp, recoveryCodes } = await factors.of(subject);
    const isThere = id === 'authenticator_app' ? hasTotp : recoveryCodes > 0;
    return isThere ? { id, kind: id } : undefined;
  }
  const key = (await factors.passkeysOf(subject)).find((one) => one.id === id);
  return key && { id, kind: key.isSecurityKey ? 'security_key' : 'passkey', name: key.name };
}

function noFactor({ name }: Pick<Person, 'name'>, id: string): OperationRefused {
  return new OperationRefused(
    'not_found',
    ['no_factor', name, id],
    `grantd user show ${name} shows all factors`,
  );
}

// ── Operations ────────────────────────────────────────────────────────────────────────────────────────────

/** @throws {Refused} the secret, with which the servers count attempts, is not set, or another one is */
export async function locksIn({
  attempts,
  secret,
  requireSecretOfServers,
}: Pick<OperationParts, 'attempts' | 'secret' | 'requireSecretOfServers'>): Promise<Locks> {
  await requireSecretOfServers();
  return new Locks(attempts, secret());
}

export const FACTOR_OPERATIONS = {
  getFactors: operation({
    method: 'GET',
    path: '/users/{sub}/factors',
    scope: 'grantd:users:read',
    summary: 'Show the factors of a user: passkeys, security keys, authenticator app and recovery codes',
    status: 200,
    output: FACTORS,
    perform: async (parts, { sub }) => ({
      document: await factorsView(parts, await requireSubject(parts, sub)),
    }),
  }),
  resetFactors: change({
    method: 'DELETE',
    path: '/users/{sub}/factors',
    scope: 'grantd:users:write',
    summary:
      'Remove a user’s factors (passkeys, security keys, authenticator app and recovery codes), end their sessions and revoke all their tokens',
    status: 200,
    output: RESET_FACTORS,
    command: {
      line: 'user reset-factors <sub>',
      about:
        'remove a user’s passkeys, security keys, authenticator app and recovery codes, end their sessions and revoke all their tokens. Afterwards, the user needs only the password to sign in and to add new factors',
      notes: '  grantd user reset-factors bob   # bob has lost his phone and his recovery codes',
      lines: ({ factors_removed: wereThere, sessions_ended: ended }, { username }) =>
        `${wereThere ? 'removed the passkeys, security keys, authenticator app and recovery codes' : 'found no factors'} of ${username}, ended ${sessionsInWords(ended)} and revoked all their tokens`,
    },
    prepare: changeable,
    async write(parts, person) {
      const { wereThere, ended } = await resetFactors(parts, person);
      return { document: { factors_removed: wereThere, sessions_ended: ended } };
    },
  }),
  confirmFactors: change({
    method: 'POST',
    path: '/users/{sub}/factors/confirm',
    scope: 'grantd:users:write',
    summary:
      'Let the factors of a user count at once that the user has added or removed with a recovery code',
    status: 200,
    output: CONFIRMED_FACTORS,
    command: {
      line: 'user confirm-factors <sub>',
      about:
        'let the factors of a user count at once that the user has added or removed with a recovery code. Make sure first that it was the user',
      lines: ({ factors_confirmed: isConfirmed }, { username }) =>
        isConfirmed ? `the factors of ${username} count now` : `${username} has no factors that wait`,
    },
    prepare: changeable,
    write: async (parts, person) => ({
      document: { factors_confirmed: await confirmFactors(parts, person) },
    }),
  }),
  // After the operations whose paths have a word at this place.
  removeFactor: change({
    method: 'DELETE',
    path: '/users/{sub}/factors/{factor}',
    scope: 'grantd:users:write',
    summary:
      'Remove one factor of a user: a passkey or security key by its ID, `authenticator_app` or `recovery_codes`. Ends the user’s sessions and revokes all their tokens. Recovery codes are also removed with the last other factor',
    status: 200,
    output: REMOVED_FACTOR,
    command: {
      line: 'user remove-factor <sub> <factor>',
      about:
        'remove one factor of a user, end their sessions and revoke all their tokens. Recovery codes are also removed with the last other factor',
      notes: `FACTOR is the identifier of a passkey or security key, which grantd user show prints, authenticator_app or recovery_codes.

  grantd user remove-factor bob authenticator_app   # bob has sold his phone`,
      lines: ({ kind, name, sessions_ended: ended }, { username }) =>
        `removed the ${KINDS_IN_WORDS[kind]}${name === undefined ? '' : ` ${JSON.stringify(name)}`} of ${username}, ended ${sessionsInWords(ended)} and revoked all their tokens`,
    },
    async prepare(parts, { sub, factor: id }) {
      const person = await changeable(parts, { sub });
      const factor = await factorOf(parts, person, id);
      if (factor === undefined) throw noFactor(person, id);
      return { person, factor };
    },
    async write(parts, { person, factor }) {
      const ended = await removeFactor(parts, person, factor);
      if (ended === undefined) throw noFactor(person, factor.id);
      const { kind, name } = factor;
      return { document: { kind, ...optional('name', name), sessions_ended: ended } };
    },
  }),
  listLinks: operation({
    method: 'GET',
    path: '/users/{sub}/links',
    scope: 'grantd:users:read',
    summary: 'List the links of a user: accounts at identity providers with which the user can sign in',
    status: 200,
    output: LINKS,
    async perform(parts, { sub }) {
      const { subject } = await requireSubject(parts, sub);
      return { document: { items: (await parts.upstreamIdentities.ofSubject(subject)).map(linkView) } };
    },
  }),
  removeLink: change({
    method: 'DELETE',
    path: '/users/{sub}/links/{link}',
    scope: 'grantd:users:write',
    summary:
      'Remove a user’s link to an account at an identity provider, and end the sessions in which the user signed in with this account',
    status: 200,
    output: REMOVED_LINK,
    command: {
      line: 'user unlink <sub> <link>',
      about: 'remove a user’s link to an identity provider, and end the sessions that came through it',
      notes: `LINK is the identifier of the link, which grantd user show prints.

  grantd user unlink alice xT2kq0…`,
      lines: ({ provider, label, sessions_ended: ended }, { username }) =>
        `removed the link of ${username} to ${label} at ${provider}, and ended ${sessionsInWords(ended)}`,
    },
    prepare: changeable,
    async write(parts, person, { link: id }) {
      const { provider, label, ended } = await unlinkPerson(parts, person, id);
      return { document: { provider, label, sessions_ended: ended } };
    },
  }),
  listLocks: operation({
    method: 'GET',
    path: '/users/{sub}/locks',
    scope: 'grantd:users:read',
    summary:
      'Show which steps of a sign-in the server refuses to a user after too many attempts, and until when',
    status: 200,
    output: LOCKS,
    async perform(parts, { sub }) {
      const person = await requireSubject(parts, sub);
      return { document: { items: (await (await locksIn(parts)).of(person)).map(lockView) } };
    },
  }),
  unlockUser: change({
    method: 'DELETE',
    path: '/users/{sub}/locks',
    scope: 'grantd:users:write',
    summary:
      'Let a user sign in again after too many attempts. The counts of wrong passwords and codes start again everywhere. The response has what was refused',
    status: 200,
    output: LOCKS,
    command: {
      line: 'user unlock <sub>',
      about:
        'let a user sign in again after too many attempts. The counts of wrong passwords and codes start again everywhere',
      lines: ({ items }, { username }) =>
        items.length === 0 ? `${username} was not locked` : `unlocked ${username}`,
    },
    async prepare(parts, { sub }) {
      const person = await requireSubject(parts, sub);
      parts.caller.requirePerson(person);
      return { person, before: await (await locksIn(parts)).of(person) };
    },
    async write(parts, { person, before }) {
      await asPermitted(parts, person, async () => (await locksIn(parts)).unlock(person));
      return { document: { items: before.map(lockView) } };
    },
  }),
};
