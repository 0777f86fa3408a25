// Personal access tokens of users: what there is, and the end of those that fit a description (ADR 194).
import { hasResource } from '@grantd/core';
import { type TokenPolicy, tokenPolicy } from '../config/personal_token_options.ts';
import type { Person } from '../data/people.ts';
import type { PersonalToken } from '../data/personal_tokens.ts';
import { endTokens, liveOf, offeredBy, tokensOf } from '../people/personal_tokens.ts';
import { requireSubject } from './groups.ts';
import {
  change,
  DEFAULT_LIMIT,
  type OperationParts,
  operation,
  PAGING,
  paged,
  placeOf,
  timeIn,
} from './operation.ts';
import { InvalidInput } from './operation_refused.ts';
import {
  count,
  flag,
  list,
  named,
  object,
  optional,
  optionalTime,
  text,
  texts,
  time,
  timeOf,
  type ValueOf,
  whole,
} from './schema.ts';

const TOKEN = object({
  id: text('The ID of the token: of its grant. POST /tokens/revoke-all takes it.'),
  sub: text('The subject identifier of the user.'),
  name: text('The user’s name for the token.'),
  resource: text('URI of the API that the token is for.'),
  scopes: texts('The scopes of the token.'),
  bound: flag('Whether the token is bound to a key or certificate.'),
  created_at: time('When the user made the token.'),
  expires_at: time('When the token expires.'),
  'last_used_at?': time(
    'The beginning of the hour in which the token was last used. Missing before the first use.',
  ),
});
export type PersonalTokenView = ValueOf<typeof TOKEN>;

const TOKENS = whole(
  'UserPersonalTokens',
  TOKEN,
  'The live personal access tokens of the user, the oldest first.',
);
const TOKEN_PAGE = named(
  'PersonalTokens',
  object({
    items: list(
      TOKEN,
      'Live personal access tokens, the oldest first. A page can have fewer than the limit.',
    ),
    'next_cursor?': text('To get the next page. Missing on the last page.'),
  }),
);

const filters = {
  'sub?': text('Only tokens of this user.'),
  'resource?': text('Only tokens for the API with this URI.'),
  'issued_before?': time('Only tokens that were made before this time.', { maxLength: 40 }),
  'unused_since?': time('Only tokens that were not used since this time.', { maxLength: 40 }),
  'beyond_policy?': flag(
    'Only tokens that the options of the server would not allow now: of users outside of the groups, for other APIs, with other scopes, that live for longer, or that are not bound.',
  ),
};
/** What the console asks for. */
export const TOKEN_FILTERS = object(filters);
const END = named(
  'PersonalTokensEnd',
  object({
    ...filters,
    'dry_run?': flag('Whether to end nothing, and only show the tokens. Default: false.'),
  }),
);
/** Tokens that the outcome names. */
const MAX_SHOWN = 50;

const ENDED = named(
  'EndedPersonalTokens',
  object({
    tokens: count('Number of the tokens.'),
    users: count('Number of their users.'),
    'items?': list(
      TOKEN,
      `The tokens, the oldest first, at most ${MAX_SHOWN}. Missing without the scope grantd:tokens:read.`,
    ),
  }),
);

function view(token: PersonalToken): PersonalTokenView {
  const { id, subject: sub, name, resource, scopes, binding, createdAtMs, expiresAtMs, lastUsedMs } = token;
  return {
    ...{ id, sub, name, resource, scopes, bound: binding !== undefined },
    ...{ created_at: timeOf(createdAtMs), expires_at: timeOf(expiresAtMs) },
    ...optionalTime('last_used_at', lastUsedMs),
  };
}

type Parts = OperationParts;
type Filters = Pick<ValueOf<typeof END>, 'resource' | 'issued_before' | 'unused_since' | 'beyond_policy'> & {
  readonly subject?: string | undefined;
};

const PAGE = 200;

/** The live tokens that fit, in pages. */
async function* tokensIn(
  parts: Parts,
  { subject, ...wanted }: Filters,
): AsyncGenerator<readonly PersonalToken[]> {
  const fits = await conditionOf(parts, wanted);
  const choose = async (known: readonly PersonalToken[]) => {
    const live = await liveOf(parts, known);
    const chosen = await Promise.all(known.map(async (token) => live.has(token.id) && (await fits(token))));
    return known.filter((_, index) => chosen[index]);
  };
  if (subject !== undefined) {
    yield await choose(await parts.personalTokens.ofSubject(subject, parts.clock()));
    return;
  }
  for (let after: string | undefined = ''; after !== undefined; ) {
    const known = await parts.personalTokens.list(after, PAGE, parts.clock());
    yield await choose(known);
    after = known.length < PAGE ? undefined : known.at(-1)?.id;
  }
}

/** @throws {InvalidInput} a time is none, or there is no policy */
async function conditionOf(
  parts: Parts,
  { resource, issued_before: before, unused_since: since, beyond_policy: isBeyond }: Omit<Filters, 'subject'>,
): Promise<(token: PersonalToken) => Promise<boolean>> {
  const beforeMs = before === undefined ? Number.POSITIVE_INFINITY : timeIn('issued_before', before);
  const sinceMs = since === undefined ? Number.POSITIVE_INFINITY : timeIn('unused_since', since);
  const isBeyondPolicy = isBeyond === true ? await beyondPolicy(parts) : undefined;
  return async (token) =>
    (resource === undefined || hasResource([token.resource], resource)) &&
    token.createdAtMs < beforeMs &&
    (token.lastUsedMs ?? token.createdAtMs) < sinceMs &&
    (isBeyondPolicy === undefined || isBeyondPolicy(token));
}

/** @throws {InvalidInput} the configuration of this program has no policy */
async function beyondPolicy(
  parts: Pick<Parts, 'configuration' | 'storage' | 'issuer' | 'people'>,
): Promise<(token: PersonalToken) => Promise<boolean>> {
  const policy = tokenPolicy(parts.configuration.settings);
  if (policy === undefined) throw new InvalidInput('beyond_policy', ['no_policy']);
  const offered = await offeredBy(policy, parts);
  return async (token) => {
    const api = offered.find(({ resource }) => hasResource([resource], token.resource));
    const isOffered = api !== undefined && token.scopes.every((scope) => api.scopes.includes(scope));
    return !isOffered || isBeyondOptions(parts, policy, token);
  };
}

/** Whether the options would not allow a token, whichever APIs are registered. */
async function isBeyondOptions(
  { people }: Pick<Parts, 'people'>,
  policy: TokenPolicy,
  token: PersonalToken,
): Promise<boolean> {
  const { apis, scopes, lifetime, binding } = policy;
  const isOffered =
    hasResource(apis, token.resource) &&
    (scopes === undefined || token.scopes.every((scope) => scopes.includes(scope)));
  const isShort = token.expiresAtMs - token.createdAtMs <= (lifetime + 1) * 1000;
  if (!isOffered || !isShort || (binding !== 'none' && token.binding === undefined)) return true;
  return !isAdmitted(policy, await people.bySubject(token.subject));
}

/** The reason of the events about tokens that the options no longer allow. */
const BEYOND_POLICY = 'beyond_policy';

/**
 * Ends the live tokens that the options do not allow, at a start (ADR 194). An API that is disabled for a while is no reason.
 * @returns how many have ended; `undefined` without personal access tokens: then it ends none
 */
export async function endBeyondOptions(
  parts: Pick<Parts, 'configuration' | 'storage' | 'people' | 'personalTokens' | 'clock'>,
  signal: AbortSignal,
): Promise<number | undefined> {
  const policy = tokenPolicy(parts.configuration.settings);
  if (policy === undefined) return undefined;
  let ended = 0;
  for (let after: string | undefined = ''; after !== undefined && !signal.aborted; ) {
    const known: readonly PersonalToken[] = await parts.personalTokens.list(after, PAGE, parts.clock());
    const live = await liveOf(parts, known);
    const beyond: PersonalToken[] = [];
    for (const token of known)
      if (live.has(token.id) && (await isBeyondOptions(parts, policy, token))) beyond.push(token);
    await endTokens(parts, beyond, BEYOND_POLICY);
    ended += beyond.length;
    after = known.length < PAGE ? undefined : known.at(-1)?.id;
  }
  return ended;
}

/** Pages that are read at a start. */
const MAX_PAGES_AT_START = 5;

/** Live tokens of a server without personal access tokens, for the log of a start, among the oldest 1,000. */
export async function countLive(parts: Pick<Parts, 'storage' | 'personalTokens' | 'clock'>): Promise<number> {
  let found = 0;
  let after: string | undefined = '';
  for (let page = 0; page < MAX_PAGES_AT_START && after !== undefined; page++) {
    const known: readonly PersonalToken[] = await parts.personalTokens.list(after, PAGE, parts.clock());
    found += (await liveOf(parts, known)).size;
    after = known.length < PAGE ? undefined : known.at(-1)?.id;
  }
  return found;
}

function isAdmitted({ groups }: TokenPolicy, person: Person | undefined): boolean {
  return groups === undefined || (person?.groups ?? []).some((group) => groups.includes(group));
}

export const PERSONAL_TOKEN_OPERATIONS = {
  listUserTokens: operation({
    method: 'GET',
    path: '/users/{sub}/personal-tokens',
    scope: 'grantd:users:read',
    summary: 'List the live personal access tokens of a user, the oldest first',
    status: 200,
    output: TOKENS,
    async perform(parts, { sub }) {
      const { subject } = await requireSubject(parts, sub);
      return { document: { items: (await tokensOf(parts, subject)).map(view) } };
    },
  }),
  listPersonalTokens: operation({
    method: 'GET',
    path: '/personal-tokens',
    scope: 'grantd:tokens:read',
    summary: 'List the live personal access tokens of all users, the oldest first',
    query: PAGING,
    status: 200,
    output: TOKEN_PAGE,
    command: {
      line: 'personal-token list',
      about: 'list the live personal access tokens of all users, the oldest first',
      pages: {},
      columns: {
        ID: ({ id }) => id,
        SUBJECT: ({ sub }) => sub,
        NAME: ({ name }) => name,
        API: ({ resource }) => resource,
        SCOPES: ({ scopes }) => scopes.join(' '),
        EXPIRES: ({ expires_at: at }) => at,
        'LAST USED': ({ last_used_at: at = 'never' }) => at,
      },
    },
    async perform(parts, { limit = DEFAULT_LIMIT, cursor }) {
      const after = placeOf({ ...optional('cursor', cursor) }) ?? '';
      const known = await parts.personalTokens.list(String(after), limit, parts.clock());
      const live = await liveOf(parts, known);
      const items = known.filter(({ id }) => live.has(id)).map(view);
      return paged(items, known.length < limit ? undefined : known.at(-1)?.id);
    },
  }),
  endPersonalTokens: change({
    method: 'POST',
    path: '/personal-tokens/end',
    scope: 'grantd:tokens:write',
    summary:
      'End the personal access tokens that fit all members of the request, at least one. With dry_run, the server only shows them',
    body: END,
    status: 200,
    output: ENDED,
    command: {
      line: 'personal-token end',
      about: 'end the personal access tokens that fit all of the flags',
      flags: {
        sub: { flag: 'user', about: 'only tokens of this user', placeholder: 'NAME' },
        resource: { flag: 'api', about: 'only tokens for the API with this URI', placeholder: 'URI' },
        issued_before: { about: 'only tokens that were made before this time', placeholder: 'TIME' },
        unused_since: { about: 'only tokens that were not used since this time', placeholder: 'TIME' },
        beyond_policy: {
          about:
            'only tokens that the options of the server would not allow now. The command needs these options, too',
        },
        dry_run: { about: 'end nothing, and only print the tokens' },
      },
      options: [
        'personalTokens',
        'personalTokenApis',
        'personalTokenScopes',
        'personalTokenGroups',
        'personalTokenLifetime',
        'personalTokenBinding',
      ],
      notes: `To end one token, run grantd token revoke --grant-id ID.

  grantd personal-token end --unused-since 2026-06-01 --dry-run
  grantd personal-token end --api https://docs.example.com --issued-before 2026-01-31`,
      lines({ tokens, users, items = [] }, { dry_run: isDryRun = false }) {
        const of = users === 0 ? '' : ` of ${users} ${users === 1 ? 'user' : 'users'}`;
        const outcome = `${isDryRun ? 'would end' : 'ended'} ${tokens} ${tokens === 1 ? 'token' : 'tokens'}${of}`;
        if (!isDryRun) return outcome;
        const left = tokens - items.length;
        return [
          ...items.map(
            ({ id, sub, name, resource }) => `${id}: ${JSON.stringify(name)} of ${sub} for ${resource}`,
          ),
          ...(left === 0 ? [] : [`and ${left} more`]),
          outcome,
        ];
      },
    },
    checks: ({ dry_run: _, ...wanted }) => [
      () => {
        if (Object.values(wanted).every((value) => value === undefined || value === false))
          throw new InvalidInput('issued_before', ['no_condition']);
      },
    ],
    async prepare(parts, { sub, dry_run: _, ...wanted }) {
      const subject = sub === undefined ? undefined : (await requireSubject(parts, sub)).subject;
      const found: PersonalToken[] = [];
      for await (const page of tokensIn(parts, { ...wanted, subject })) found.push(...page);
      return found;
    },
    async write(parts, tokens, { dry_run: isDryRun = false }) {
      if (!isDryRun) await endTokens(parts, tokens);
      const users = new Set(tokens.map(({ subject }) => subject)).size;
      return {
        document: {
          ...{ tokens: tokens.length, users },
          ...(parts.caller.has(['grantd:tokens:read']) && { items: tokens.slice(0, MAX_SHOWN).map(view) }),
        },
      };
    },
  }),
};
