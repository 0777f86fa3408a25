// What a user's next sign-in would be like, and what the last ones were. The administrator does not become the user (ADR 190).
import { SIGN_IN_POLICIES } from '@grantd/core';
import { factorsNow, missingStep, NO_ACR, reachableLevel, strictestOf } from '../access/acr.ts';
import { type Level, MULTI_FACTOR, PASSWORD, PHISHING_RESISTANT, type SignInPolicy } from '../config/acr.ts';
import { admits } from '../data/groups.ts';
import type { Person } from '../data/people.ts';
import type { RecordedSignIn } from '../data/sessions.ts';
import { askStorage } from '../data/tables.ts';
import { NO_PASSWORD } from '../data/ways_to_sign_in.ts';
import { areCodesFor, codePolicy } from '../people/email_codes.ts';
import { verifiedAddressOf } from '../people/mailing.ts';
import { OwnPasswords, providerOfAddress } from '../people/own_passwords.ts';
import { waysOf } from '../people/ways_to_sign_in.ts';
import { EN, reasonIn } from '../texts/texts.ts';
import { firstOf } from './audit.ts';
import { requireClient } from './client_rules.ts';
import { LOCK, type LockView, lockInWords, locksIn, lockView } from './factors.ts';
import { requireSubject } from './groups.ts';
import { type AdminParts, MAX_EVENTS_READ, operation } from './operation.ts';
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
  texts,
  time,
  timeOf,
  type ValueOf,
} from './schema.ts';

// ── Schemas ───────────────────────────────────────────────────────────────────────────────────────────────

const POLICIES = ['password', ...SIGN_IN_POLICIES] as const;

const OBSTACLES = [
  'disabled',
  'locked',
  'no_way',
  'client_disabled',
  'not_in_groups',
  'factor_needed',
] as const;
export type Obstacle = (typeof OBSTACLES)[number];

const THEN = ['nothing', 'second_factor', 'new_factor', 'refused'] as const;

const WAY = object({
  way: oneOf(
    ['password', 'email_code', 'directory', 'passkey', 'provider'],
    'How the user begins to sign in.',
  ),
  'name?': text('The name of the identity provider in the file of the providers.'),
  'label?': text('The user’s name or address at the identity provider.'),
  open: flag('Whether the server accepts this way from the user.'),
  'closed_by?': oneOf(
    ['no_password', 'no_verified_address', 'address_of_provider', 'not_configured', 'not_linked'],
    'Why not: the user has no password, the user has no verified email address for codes, the username is an address whose users sign in at a provider, the configuration of the server does not have the way, or the user has no account at the provider yet.',
  ),
  'followed_by?': oneOf(
    THEN,
    'What the server asks for afterwards: nothing, a factor that the user has, or a factor that the user must add first. It refuses the sign-in if no factor of the user can meet the policy now.',
  ),
});
export type WayView = ValueOf<typeof WAY>;

const ATTEMPT = object({
  at: time('When.'),
  outcome: oneOf(['signed_in', 'refused'], 'Whether the user got in.'),
  step: oneOf(
    ['password', 'email_code', 'directory', 'passkey', 'security_key', 'code', 'provider', 'other'],
    'The step, as far as it is known.',
  ),
  'reason?': text('Why the server refused it, as a reason code (grantd help reason-codes).'),
  'explanation?': text('The reason in a sentence.'),
  methods: texts('How the user signed in (amr).'),
  user_agent: text('The browser, as its header User-Agent names it.'),
  'network?': text('The network of the browser, such as 203.0.113.0/24.'),
  'address?': text('The IP address. Present for refused attempts that the audit trail still has.'),
  'client_id?': text('The client for which the user signed in. Present as the address is.'),
  'request_id?': text('The ID of the request. Present as the address is.'),
});
export type AttemptView = ValueOf<typeof ATTEMPT>;

const EXPLANATION = named(
  'SignInExplanation',
  object({
    sub: text('The subject identifier of the user.'),
    username: text('The username.'),
    can_sign_in: flag('Whether the user can sign in now, from a place that is not locked.'),
    obstacles: list(
      oneOf(OBSTACLES, 'What keeps the user out.'),
      'What keeps the user out: the user is disabled, locked somewhere after too many attempts, or has no way to sign in that is open. The client is disabled, or for groups of which the user is no member. Or the user must first add a factor, which the server offers during the sign-in.',
    ),
    'disabled_at?': time('When the user was disabled.'),
    locks: list(LOCK, 'What is refused after too many attempts, and until when.'),
    ways: list(
      WAY,
      'The ways to sign in that the user has, and the password in any case. A security key is none: it follows another way.',
    ),
    factors: object({
      passkeys: count('Number of passkeys.'),
      security_keys: count('Number of security keys.'),
      authenticator_app: flag('Whether the user has an authenticator app.'),
      recovery_codes: count('Number of unused recovery codes.'),
      'count_from?': time('When changes of these factors count that the user made with a recovery code.'),
    }),
    policy: oneOf(POLICIES, 'The strictest policy, which the next sign-in must meet.'),
    policies: list(
      object({
        of: oneOf(['server', 'group', 'client'], 'What has the policy.'),
        'name?': text('The name of the group, or the client ID.'),
        policy: oneOf(POLICIES, 'The policy.'),
      }),
      'The policies that apply. The server’s comes first.',
    ),
    'email?': text('The email address in the user’s claims.'),
    email_verified: flag('Whether this address is verified.'),
    'client?': object({
      client_id: text('The client ID.'),
      allowed_groups: texts('Groups whose members may use the client. Empty if everyone may.'),
      may_use: flag('Whether the user may use the client.'),
    }),
    attempts: list(ATTEMPT, 'The last sign-ins and refused attempts, the newest first.'),
  }),
);
export type SignInExplanation = ValueOf<typeof EXPLANATION>;

// ── Rules ─────────────────────────────────────────────────────────────────────────────────────────────────

/** Attempts in an explanation. */
const MAX_ATTEMPTS = 20;

type Parts = AdminParts;

/** Whether the sign-in page offers a code by email to this user, once they have a verified address. */
async function getsCodes(parts: Parts, person: Person, clientId: string | undefined): Promise<boolean> {
  const { settings } = parts.configuration;
  const { providers } = parts.openWays();
  const passwords = new OwnPasswords({ providers, identities: parts.upstreamIdentities });
  const policy = codePolicy(settings, passwords);
  const isForClient = settings.emailCodeClients?.includes(clientId ?? '') !== false;
  return policy !== undefined && isForClient && areCodesFor(person, policy);
}

/** What the ways of a user depend on. */
async function waysView(
  parts: Parts,
  person: Person,
  clientId: string | undefined,
  thenOf: (level: Level) => NonNullable<WayView['followed_by']>,
): Promise<readonly WayView[]> {
  const { factors, upstreamIdentities, clock } = parts;
  const opened = parts.openWays();
  const [keys, links, counted] = await Promise.all([
    factors.passkeysOf(person.subject),
    upstreamIdentities.ofSubject(person.subject),
    waysOf(opened, upstreamIdentities, person),
  ]);
  const passkeys = keys.filter(({ isSecurityKey }) => !isSecurityKey);
  const passkeyCounts = passkeys.some(({ countsFromMs }) => countsFromMs <= clock());
  const ofAddress = providerOfAddress(opened.providers, person.name);
  const way = (
    name: WayView['way'],
    closedBy: WayView['closed_by'] | undefined,
    level: Level,
    others: Partial<WayView> = {},
  ): WayView => ({
    ...{ way: name, ...others, open: closedBy === undefined },
    ...(closedBy === undefined ? { followed_by: thenOf(level) } : { closed_by: closedBy }),
  });
  const isOfDirectory = person.directoryId !== undefined && person.passwordHash === NO_PASSWORD;
  const notConfigured = (isConfigured: boolean) => (isConfigured ? undefined : ('not_configured' as const));
  const elsewhere = counted.hasPasswords ? undefined : ('address_of_provider' as const);
  const isLinked = links.some(({ provider }) => provider === ofAddress?.id);
  const codes = await getsCodes(parts, person, clientId);
  const hasAddress = verifiedAddressOf(person) !== undefined;
  return [
    isOfDirectory
      ? way('directory', elsewhere ?? notConfigured(counted.hasDirectory), PASSWORD)
      : way(
          'password',
          elsewhere ?? (person.passwordHash === NO_PASSWORD ? 'no_password' : undefined),
          PASSWORD,
        ),
    ...(codes ? [way('email_code', hasAddress ? undefined : 'no_verified_address', PASSWORD)] : []),
    ...(passkeys.length === 0
      ? []
      : [
          way(
            'passkey',
            notConfigured(counted.hasPasskeys),
            passkeyCounts ? PHISHING_RESISTANT : MULTI_FACTOR,
          ),
        ]),
    ...links.map(({ id, provider, label }) =>
      way('provider', notConfigured(counted.links.includes(id)), PASSWORD, { name: provider, label }),
    ),
    ...(ofAddress === undefined || isLinked
      ? []
      : [way('provider', 'not_linked', PASSWORD, { name: ofAddress.id })]),
  ];
}

/** The step at which a sign-in was refused. */
function stepOf(reason: string): AttemptView['step'] {
  if (reason.startsWith('passkey')) return 'passkey';
  if (reason.startsWith('security_key')) return 'security_key';
  if (reason.startsWith('email_code')) return 'email_code';
  if (reason.startsWith('provider')) return 'provider';
  if (reason.startsWith('directory') || reason === 'password_expired') return 'directory';
  if (/(?:^|_)codes?(?:_|$)/.test(reason)) return 'code';
  return /^(?:password|person|too_many)/.test(reason) ? 'password' : 'other';
}

/** The last step of a successful sign-in. */
function stepWith(methods: readonly string[]): AttemptView['step'] {
  if (methods.includes('pop')) return methods.includes('user') ? 'passkey' : 'security_key';
  if (methods.includes('otp')) return 'code';
  if (methods.includes('email')) return 'email_code';
  if (methods.includes('pwd')) return 'password';
  return methods.includes('fed') ? 'provider' : 'other';
}

/** Milliseconds between a row of the history and the event that the same transaction has written. */
const SAME_MS = 2000;

/**
 * The history of the user, with what the audit trail says about refused attempts. The trail also has those that were
 * refused for a limit, of which the history has none.
 */
async function attemptsView(parts: Parts, subject: string): Promise<readonly AttemptView[]> {
  const { sessions, clock, caller } = parts;
  const [history, trail] = await Promise.all([
    sessions.signInsOf(subject, clock()),
    caller.has(['grantd:events:read'])
      ? firstOf(
          parts.auditTrail.before(undefined, { type: 'sign_in_failed', subject }, MAX_EVENTS_READ),
          MAX_ATTEMPTS,
        )
      : { events: [] },
  ]);
  const left = [...trail.events];
  return history.slice(0, MAX_ATTEMPTS).map((one) => {
    const index = left.findIndex(
      ({ atMs, reason }) => one.reason === reason && Math.abs(atMs - one.atMs) <= SAME_MS,
    );
    const [event] = index < 0 ? [] : left.splice(index, 1);
    return {
      ...attemptView(one),
      ...optional('address', event?.address),
      ...optional('client_id', event?.clientId),
      ...optional('request_id', event?.requestId),
    };
  });
}

function attemptView({ atMs, userAgent, network, session, reason }: RecordedSignIn): AttemptView {
  const methods = session?.amr ?? [];
  return {
    ...{ at: timeOf(atMs), outcome: reason === undefined ? 'signed_in' : 'refused', methods },
    step: reason === undefined ? stepWith(methods) : stepOf(reason),
    ...optional('reason', reason),
    ...optional('explanation', reason && reasonIn(EN, reason)),
    user_agent: userAgent,
    ...optional('network', network),
  };
}

async function policiesView(
  { configuration, groups }: Parts,
  person: Person,
  client: { readonly id: string; readonly policy: SignInPolicy | undefined } | undefined,
): Promise<SignInExplanation['policies']> {
  const ofGroups = await Promise.all((person.groups ?? []).map((name) => groups.byName(name)));
  return [
    { of: 'server', policy: configuration.settings.signInPolicy },
    ...ofGroups.flatMap((group) =>
      group?.signInPolicy === undefined
        ? []
        : [{ of: 'group' as const, name: group.name, policy: group.signInPolicy }],
    ),
    ...(client?.policy === undefined
      ? []
      : [{ of: 'client' as const, name: client.id, policy: client.policy }]),
  ];
}

async function explanationOf(
  parts: Parts,
  subject: string,
  clientId: string | undefined,
): Promise<SignInExplanation> {
  const { storage, factors, clock } = parts;
  const person = await requireSubject(parts, subject);
  const client = clientId === undefined ? undefined : await requireClient(parts, clientId);
  const policy = client?.metadata?.sign_in_policy;
  const [state, has, keys, locks, policies, attempts] = await Promise.all([
    askStorage(() => storage.getPrincipalState('subject', subject)),
    factors.of(subject),
    factors.passkeysOf(subject),
    locksIn(parts).then((locks) => locks.of(person)),
    policiesView(parts, person, client && { id: client.id, policy }),
    attemptsView(parts, subject),
  ]);
  const { hasPasskeys } = parts.openWays();
  const now = factorsNow(has, hasPasskeys, clock());
  const isWaiting = now.passkeys > 0 && !now.passkeyCounts;
  const strictest = strictestOf(...policies.map((one) => one.policy));
  const thenOf = (level: Level) => {
    const highest = !hasPasskeys || isWaiting ? MULTI_FACTOR : PHISHING_RESISTANT;
    const missing = missingStep(strictest, NO_ACR, { level, reachable: reachableLevel(now), highest });
    if (missing === undefined) return 'nothing';
    return ({ second: 'second_factor', enrol: 'new_factor', unmet: 'refused' } as const)[missing.step];
  };
  const ways = await waysView(parts, person, clientId, thenOf);
  const open = ways.filter((way) => way.open);
  const mayUse = client === undefined || admits(client, person.groups);
  const disabledAtMs = state?.disabledAtMs;
  const keptOut: readonly Obstacle[] = [
    ...(disabledAtMs === undefined ? [] : (['disabled'] as const)),
    ...(open.some((way) => way.followed_by !== 'refused') ? [] : (['no_way'] as const)),
    ...(client?.disabledAtMs === undefined ? [] : (['client_disabled'] as const)),
    ...(mayUse ? [] : (['not_in_groups'] as const)),
  ];
  const { email } = person.claims;
  const securityKeys = keys.filter(({ isSecurityKey }) => isSecurityKey).length;
  const countFromMs = Math.max(has.held.untilMs, has.passkeysCountFromMs ?? 0, has.totpCountsFromMs ?? 0);
  return {
    ...{ sub: subject, username: person.name, can_sign_in: keptOut.length === 0 },
    obstacles: [
      ...keptOut,
      ...(locks.length === 0 ? [] : (['locked'] as const)),
      ...(open.length > 0 && open.every((way) => way.followed_by === 'new_factor')
        ? (['factor_needed'] as const)
        : []),
    ],
    ...optionalTime('disabled_at', disabledAtMs),
    locks: locks.map((lock): LockView => lockView(lock)),
    ways,
    factors: {
      ...{ passkeys: keys.length - securityKeys, security_keys: securityKeys },
      ...{ authenticator_app: has.hasTotp, recovery_codes: has.recoveryCodes },
      ...optionalTime('count_from', countFromMs > clock() ? countFromMs : undefined),
    },
    ...{ policy: strictest, policies },
    ...optional('email', typeof email === 'string' ? email : undefined),
    email_verified: verifiedAddressOf(person) !== undefined,
    ...(client !== undefined && {
      client: {
        client_id: client.id,
        allowed_groups: client.metadata?.allowed_groups ?? [],
        may_use: mayUse,
      },
    }),
    attempts,
  };
}

// ── Operations ────────────────────────────────────────────────────────────────────────────────────────────

/** What an obstacle means, and the command that helps. `locked` has a line for each lock instead. */
function obstacleLines(said: SignInExplanation): readonly string[] {
  const { username, obstacles, locks, ways, client } = said;
  const inWords: Readonly<Record<Obstacle, readonly string[]>> = {
    disabled: [`the user is disabled (grantd user enable ${username})`],
    locked: locks.map((lock) => lockInWords(lock, username)),
    no_way: [
      ways.some((way) => way.closed_by === 'no_password')
        ? `the user has no way to sign in (grantd user set-password ${username}, or a mailed link)`
        : 'the user has no way to sign in',
    ],
    client_disabled: [`the client is disabled (grantd client enable ${client?.client_id})`],
    not_in_groups: [
      `the client is only for members of ${client?.allowed_groups.join(' or ')} (grantd group add-member GROUP ${username})`,
    ],
    factor_needed: ['the user must first add a factor, which the server offers during the sign-in'],
  };
  return obstacles.flatMap((one) => inWords[one].map((line) => `  ${line}`));
}

function headline({ username, can_sign_in: can, locks, client }: SignInExplanation): string {
  const to = client === undefined ? '' : ` to ${client.client_id}`;
  if (!can) return `${username} cannot sign in${to}`;
  if (locks.length > 0) return `${username} is locked, and can sign in${to} only from other places`;
  return client === undefined
    ? `${username} can sign in (with --client ID: whether this application lets them in)`
    : `${username} can sign in${to}`;
}

const THEN_IN_WORDS: Readonly<Record<NonNullable<WayView['followed_by']>, string>> = {
  nothing: 'then signed in',
  second_factor: 'then a second factor',
  new_factor: 'then a factor that the user must add',
  refused: 'then refused: no factor of the user meets the policy',
};

const CLOSED_IN_WORDS: Readonly<Record<NonNullable<WayView['closed_by']>, string>> = {
  no_password: 'none is set',
  no_verified_address: 'the user has no verified email address',
  address_of_provider: 'not asked for, because the username is an address of a provider',
  not_configured: 'not in the configuration of this server',
  not_linked: 'no account is connected yet',
};

function wayLine({ way, name, label, followed_by: next, closed_by: closedBy }: WayView): string {
  const which = [way, ...(name === undefined ? [] : [name]), ...(label === undefined ? [] : [label])].join(
    ' ',
  );
  return `  ${which}: ${closedBy === undefined ? THEN_IN_WORDS[next ?? 'nothing'] : CLOSED_IN_WORDS[closedBy]}`;
}

function factorLine({ passkeys, security_keys: keys, ...has }: SignInExplanation['factors']): string[] {
  const counted = (count: number, name: string) =>
    count === 0 ? [] : [`${count} ${name}${count === 1 ? '' : 's'}`];
  const factors = [
    ...counted(passkeys, 'passkey'),
    ...counted(keys, 'security key'),
    ...(has.authenticator_app ? ['an authenticator app'] : []),
    ...counted(has.recovery_codes, 'recovery code'),
  ];
  return factors.length === 0 ? [] : [`second factors: ${factors.join(', ')}`];
}

function attemptLine(one: AttemptView): string {
  const place = one.address ?? one.network;
  const from = `${place === undefined ? '' : ` from ${place}`}${one.client_id === undefined ? '' : ` for ${one.client_id}`}`;
  return one.reason === undefined
    ? `  ${one.at}${from}: signed in (${one.methods.join(' ')})`
    : `  ${one.at}${from}: ${one.reason}${one.explanation === undefined ? '' : `. ${one.explanation}`}`;
}

function lines(said: SignInExplanation): readonly string[] {
  const { ways, policies, policy, attempts, email } = said;
  return [
    headline(said),
    ...obstacleLines(said),
    'ways to sign in',
    ...ways.map(wayLine),
    ...factorLine(said.factors),
    `policy: ${policy}`,
    ...policies.slice(1).map(({ of, name, policy: one }) => `  ${of} ${name}: ${one}`),
    ...(email === undefined ? [] : [`email: ${email}, ${said.email_verified ? 'verified' : 'not verified'}`]),
    ...(attempts.length === 0 ? [] : ['last sign-ins', ...attempts.map(attemptLine)]),
  ];
}

export const SIGN_IN_OPERATIONS = {
  explainUser: operation({
    method: 'GET',
    path: '/users/{sub}/sign-in',
    scope: 'grantd:users:read',
    summary:
      'Explain how a user can sign in now, what keeps them out, and why their last attempts were refused',
    query: {
      client_id: {
        schema: text(undefined, { minLength: 1, maxLength: 300 }),
        about: 'The client that the user wants to use. Its policy and its groups then count too.',
      },
    },
    status: 200,
    output: EXPLANATION,
    command: {
      line: 'user explain <sub>',
      about:
        'explain how a user can sign in now, what keeps them out, and why their last attempts were refused',
      flags: {
        client_id: { flag: 'client', about: 'the client that the user wants to use', placeholder: 'ID' },
      },
      notes: `Run it with the config file or the GRANTD_ variables of the server: its options decide which ways to sign in are
open. The command has no flags for them. If the server was started with flags, ask it with --url.

  grantd user explain bob --client shop`,
      lines,
    },
    perform: async (parts, { sub, client_id: clientId }) => ({
      document: await explanationOf(parts, sub, clientId),
    }),
  }),
};
