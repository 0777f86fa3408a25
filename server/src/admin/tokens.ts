// Tokens: what they are, and their revocation.
import {
  type Ancestor,
  ASSERTED_SESSION,
  type AuthorizationCodeRecord,
  type EventType,
  type Explanation,
  type RevocationTarget,
  type TokenRecord,
} from '@grantd/core';
import type { AuditEvent } from '../data/audit_search.ts';
import { AUDIT_EVENT, auditEventView } from './audit.ts';
import { requireClient } from './client_rules.ts';
import { requireSubject } from './groups.ts';
import { type AdminParts, change, type OperationParts, operation, timeIn } from './operation.ts';
import { InvalidInput } from './operation_refused.ts';
import {
  anyObject,
  count,
  flag,
  HAS_MORE,
  list,
  named,
  object,
  oneOf,
  optional,
  optionalTime,
  type Schema,
  text,
  texts,
  time,
  type ValueOf,
} from './schema.ts';
import { asPermitted, endAccess } from './user_rules.ts';

// ── Schemas ───────────────────────────────────────────────────────────────────────────────────────────────

const token = text(
  'The token. The identifier of an access or refresh token also works: the ID that events and explanations have.',
  { minLength: 1, maxLength: 16_384 },
);

const TOKEN_QUESTION = named(
  'TokenQuestion',
  object({
    token,
    'find_end?': flag(
      'Whether to look for the event that has made the token inactive. This takes longer, because it reads the audit trail. The access token then also needs the scope grantd:events:read. Default: false.',
    ),
    'find_descendants?': flag(
      'Whether to look for the tokens that were obtained from the token. This takes longer, because it reads all exchanged tokens. Default: false.',
    ),
  }),
);
const STORED_TOKEN = object(
  {
    id: text('The jti of a JWT, or the digest of an opaque token.'),
    client_id: text('The ID of the client.'),
    'sub?': text('The subject identifier of the user.'),
    'username?': text('The username.'),
    scopes: texts('The scopes of the token.'),
    'resources?': texts('URIs of the APIs that the token is for.'),
    'cnf?': anyObject('The key or certificate to which the token is bound.'),
    'issued_at?': time('When the token was issued. Missing if it is not known.'),
    'expires_at?': time('When the token expires.'),
    'grant_id?': text('The ID of the grant that the token belongs to.'),
    'session_id?': text('The ID of the session in which the token was issued.'),
    'family_id?': text('The ID that a refresh token shares with all its successors and their access tokens.'),
    'pair_id?': text('The ID that a refresh token shares with the access tokens issued with it.'),
    'superseded_at?': time('When a successor replaced the refresh token.'),
    'successor_id?': text('The ID of the refresh token that replaced this one.'),
    'redeemed_at?': time('When the client redeemed the code.'),
    'revoked_at?': time('When the token was revoked.'),
  },
  { description: 'The stored data about the token.' },
);
const LIFE = {
  active: flag('Whether the token is active.'),
  'reason?': text('Why the token is inactive, as a reason code (grantd help reason-codes).'),
  'explanation?': text('The reason in a sentence.'),
  'since?': time('Since when the token has been inactive.'),
} as const;
const OF_ASSERTION = {
  'issuer?': text('The trusted issuer that signed the assertion.'),
  'issuer_sub?': text('The subject (sub) that the trusted issuer names in the assertion.'),
} as const;
const RELATED_TOKEN = object({
  kind: oneOf(['access_token', 'refresh_token', 'assertion'], 'The kind of token.'),
  ...OF_ASSERTION,
  id: text('The jti of a JWT, or the digest of an opaque token.'),
  'client_id?': text('The ID of the client. Missing if the token is no longer stored.'),
  ...LIFE,
});
const EXPLANATION = named(
  'Explanation',
  object({
    kind: oneOf(
      [
        'access_token',
        'refresh_token',
        'authorization_code',
        'id_token',
        'logout_token',
        'identity_assertion',
        'assertion',
        'unknown',
      ],
      'The kind of token. An assertion is a JWT of a trusted issuer with which clients obtain tokens. An identity assertion is one of this server for another server.',
    ),
    ...OF_ASSERTION,
    'unused_until?': time('Until when the assertion is accepted, if no client has used it yet.'),
    ...LIFE,
    'record?': STORED_TOKEN,
    'ancestors?': list(
      RELATED_TOKEN,
      'For exchanged tokens: the tokens that it was obtained from, the first one first.',
    ),
    'descendants?': list(
      RELATED_TOKEN,
      'The tokens that were obtained from the token and have not expired: at most 100, those of fewer exchanges first. Present if the request has find_descendants, and there are any.',
    ),
    'ended_by_ancestor?': text(
      'The ID of the ancestor that has made the token inactive. If several have ended, the one that ended first.',
    ),
    'claims?': anyObject('Claims of a JWT whose signature is valid.'),
    'user?': text(
      'The username of the user, as it is now. Present if the user exists, and the access token of the request has the scope grantd:users:read.',
    ),
    'ended_by?': AUDIT_EVENT,
  }),
);
export type ExplanationView = ValueOf<typeof EXPLANATION>;

const REVOCATION = named(
  'Revocation',
  object({
    token,
    'dry_run?': flag('Whether to revoke nothing, and only say whether the token is active. Default: false.'),
  }),
);
const REVOKED_TOKEN = named(
  'RevokedToken',
  object({
    revoked: flag('Whether the request revoked anything.'),
    was_active: flag('Whether the token was active before the request.'),
    'token_id?': text('The ID of the revoked token.'),
    'reason?': text('Why nothing was revoked, as a reason code (grantd help reason-codes).'),
  }),
);

const massRevocation = object({
  'sub?': text('Revokes all tokens of a user and ends their sessions.'),
  'client_id?': text(
    'Revokes all tokens of a client. Together with sub, revokes what this client has for this user, and what was obtained from it: its grants, and its tokens by exchange and by JWTs of trusted issuers. The sessions of the user continue.',
  ),
  'grant_id?': text('Revokes all tokens of a grant.'),
  'trusted_issuer?': text(
    'Revokes all tokens that were obtained with JWTs of this trusted issuer, about the subject trusted_sub, and ends those that were signed until now and not used yet.',
  ),
  'trusted_sub?': text('The subject (sub) of the trusted issuer. Required with trusted_issuer.'),
  'issued_before?': time(
    'Revokes all tokens that were issued before this time, which may not be in the future.',
    { maxLength: 40 },
  ),
  'dry_run?': flag(
    'Whether to revoke nothing, and only count the active tokens that a request without dry_run would revoke. Not possible with both sub and client_id. Default: false.',
  ),
  'count?': flag(
    'Whether to count the active tokens before revoking them. The count reads up to 500,000 rows, so it takes longer. Not possible with both sub and client_id. Default: false.',
  ),
});
const MASS_REVOCATION = named<Schema<ValueOf<typeof massRevocation>>>('MassRevocation', {
  ...massRevocation,
  description:
    'Set exactly one of sub, client_id, grant_id, trusted_issuer and issued_before, or both sub and client_id.',
  oneOf: [
    { required: ['sub'], not: { required: ['client_id'] } },
    { required: ['client_id'], not: { required: ['sub'] } },
    { required: ['sub', 'client_id'] },
    ...['grant_id', 'trusted_issuer', 'issued_before'].map((name) => ({ required: [name] })),
  ],
});
const REVOKED_TOKENS = named(
  'RevokedTokens',
  object({
    revoked: flag('Whether the request revoked anything.'),
    'active?': count(
      'Number of the tokens that were active before the request. Present if the request has count, dry_run or trusted_issuer.',
    ),
    'has_more?': flag(HAS_MORE),
  }),
);

// ── Documents ─────────────────────────────────────────────────────────────────────────────────────────────

function explanationView({ record, ancestors, unused, ...token }: Explanation): ExplanationView {
  return {
    kind: token.kind,
    ...lifeView({ ...token, ...optional('record', record) }),
    ...assertionView(record ?? unused),
    ...optionalTime('unused_until', unused && unused.expiresAt * 1000),
    ...optional('record', record && recordView(record)),
    ...optional('ancestors', ancestors?.map(relatedView)),
    ...optional('ended_by_ancestor', token.endedBy?.id),
    ...optional('claims', token.claims),
  };
}

const ENDED_ASSERTIONS =
  'Everything that clients obtained with JWTs of the trusted issuer about this subject was ended.';

function lifeView({ alive, reason, explanation, sinceMs, record }: Explanation) {
  const isOfAssertion = reason === 'session_revoked' && sessionOf(record).startsWith(ASSERTED_SESSION);
  return {
    active: alive,
    ...optional('reason', reason),
    ...optional('explanation', isOfAssertion ? ENDED_ASSERTIONS : explanation),
    ...optionalTime('since', sinceMs),
  };
}

function relatedView({ kind, id, record, ...token }: NonNullable<Explanation['endedBy']>) {
  const assertion = assertionView(record);
  return {
    kind: assertion === undefined ? kind : ('assertion' as const),
    id,
    ...optional('client_id', record?.clientId),
    ...assertion,
    ...lifeView({ kind, ...token, ...optional('record', record) }),
  };
}

function sessionOf(record: Partial<Pick<TokenRecord, 'sessionId'>> = {}): string {
  return record.sessionId ?? '';
}

/** Who signed the assertion whose row this is. @returns `undefined` if it is the record of a token or code */
function assertionView(record: Partial<Pick<TokenRecord, 'sessionId' | 'ancestors' | 'claims'>> = {}) {
  const { ancestors, claims = {} } = record;
  if (!sessionOf(record).startsWith(ASSERTED_SESSION) || ancestors !== undefined) return undefined;
  return { issuer: String(claims.issuer), issuer_sub: String(claims.issuer_sub) };
}

function recordView(stored: NonNullable<Explanation['record']>): ValueOf<typeof STORED_TOKEN> {
  const record: Partial<TokenRecord & Pick<AuthorizationCodeRecord, 'redeemedAtMs'>> = stored;
  const { expiresAt, claims, confirmation } = record;
  return {
    id: stored.id,
    client_id: stored.clientId,
    scopes: stored.scopes,
    ...optional('sub', record.subject),
    ...optional('username', typeof claims?.username === 'string' ? claims.username : undefined),
    ...optional('resources', record.resources),
    ...optional('cnf', confirmation && { ...confirmation }),
    ...optionalTime('issued_at', stored.issuedAtMs),
    ...optionalTime('expires_at', expiresAt === undefined ? undefined : expiresAt * 1000),
    ...optional('grant_id', record.grantId),
    ...optional('session_id', record.sessionId),
    ...optional('family_id', record.familyId),
    ...optional('pair_id', record.pairId),
    ...optionalTime('superseded_at', record.supersededAtMs),
    ...optional('successor_id', record.successorId),
    ...optionalTime('redeemed_at', record.redeemedAtMs),
    ...optionalTime('revoked_at', record.revokedAtMs),
  };
}

// ── Rules ─────────────────────────────────────────────────────────────────────────────────────────────────

function subjectOf({ record, claims }: Explanation): string | undefined {
  if (record !== undefined) return record.subject;
  return typeof claims?.sub === 'string' ? claims.sub : undefined;
}

/** @returns `undefined` if no token was found from which others can be obtained */
function tokenIn({ kind, record }: Explanation): Ancestor | undefined {
  if (record === undefined) return undefined;
  if (kind === 'assertion') return { kind: 'access_token', id: record.id };
  return kind === 'access_token' || kind === 'refresh_token' ? { kind, id: record.id } : undefined;
}

/** The events that can make a token inactive, by the reason that its explanation gives. */
const ENDINGS: Readonly<Partial<Record<NonNullable<Explanation['reason']>, readonly EventType[]>>> = {
  revoked: ['token_revoked', 'family_revoked', 'exchanges_revoked', 'code_revoked'],
  grant_revoked: ['grant_revoked', 'token_revoked', 'code_revoked'],
  session_revoked: ['session_revoked', 'session_ended'],
  subject_revoked: ['subject_revoked', 'subject_disabled'],
  subject_disabled: ['subject_disabled'],
  client_revoked: ['client_revoked', 'client_disabled'],
  client_disabled: ['client_disabled'],
  issued_before_cutoff: ['issued_before_revoked'],
};

/** Milliseconds by which the time of an event may differ from the time that is stored with the token. */
const SAME_MOMENT_MS = 1000;

/** About how many events to read for the end of a token. */
const MAX_EVENTS_READ = 20_000;

/**
 * Finds the event that has made a token inactive.
 * @returns `undefined` if it is not among the latest events, or if several could be it
 */
async function endOf(
  { auditTrail }: Pick<OperationParts, 'auditTrail'>,
  { reason, sinceMs, record }: Explanation,
): Promise<AuditEvent | undefined> {
  const types = reason && ENDINGS[reason];
  if (types === undefined || sinceMs === undefined || record === undefined) return undefined;
  // A cutoff can be earlier than the command that sets it.
  const untilMs = reason === 'issued_before_cutoff' ? undefined : sinceMs + SAME_MOMENT_MS;
  const found: AuditEvent[] = [];
  const times = { sinceMs: sinceMs - SAME_MOMENT_MS, untilMs };
  for await (const event of auditTrail.before(undefined, times, MAX_EVENTS_READ))
    if (types.includes(event.type)) found.push(event);
  const { id, pairId, familyId, grantId, sessionId, subject, clientId } = {
    ...{ pairId: undefined, familyId: undefined },
    ...record,
  };
  const targets = [id, pairId, familyId, grantId, sessionId, subject, clientId, String(sinceMs)];
  const named = found.find(
    (event) => targets.includes(event.target) && (event.subject ?? subject) === subject,
  );
  if (named !== undefined) return named;
  // The revocation of another token of the grant can have ended this one too.
  const distanceOf = ({ atMs }: AuditEvent) => Math.abs(atMs - sinceMs);
  const [closest, next] = found
    .filter((one) => one.clientId === clientId && one.subject === subject)
    .toSorted((one, other) => distanceOf(one) - distanceOf(other));
  const isClear = closest !== undefined && (next === undefined || distanceOf(closest) < distanceOf(next));
  return isClear ? closest : undefined;
}

// ── Operations ────────────────────────────────────────────────────────────────────────────────────────────

/**
 * The tokens that one revocation ends.
 * @throws {OperationRefused} there is no such user or client
 * @throws {InvalidInput} the time is in the future, and would also revoke tokens that are issued until then; the server
 *   trusts no issuer, or its subject is missing
 */
async function targetFrom(
  parts: OperationParts,
  {
    sub,
    client_id: clientId,
    grant_id: grantId,
    issued_before: before,
    trusted_issuer: issuer,
    trusted_sub: issuerSub,
  }: ValueOf<typeof massRevocation>,
): Promise<RevocationTarget> {
  if (sub !== undefined) return { principal: 'subject', id: (await requireSubject(parts, sub)).subject };
  if (clientId !== undefined) return { principal: 'client', id: (await requireClient(parts, clientId)).id };
  if (grantId !== undefined) return { principal: 'grant', id: grantId };
  if ((issuer === undefined) !== (issuerSub === undefined))
    throw new InvalidInput('trusted_sub', ['trusted_pair']);
  if (issuer !== undefined && issuerSub !== undefined) {
    const id = await (await parts.server()).operator.sessionOfAssertions(issuer, issuerSub);
    if (id !== undefined) return { principal: 'session', id };
    throw new InvalidInput('trusted_issuer', ['trusted_option']);
  }
  const issuedBeforeMs = timeIn('issued_before', before ?? '');
  if (issuedBeforeMs > parts.clock()) throw new InvalidInput('issued_before', ['future_time']);
  return { issuedBeforeMs };
}

/**
 * Revokes what a client has for a user, as the user can do on the page of their account. The user's consent stays.
 * @throws {OperationRefused} there is no such user or client, or the caller may not change the user
 * @throws {InvalidInput} the tokens of both cannot be counted
 */
async function grantsFrom(
  parts: AdminParts,
  sub: string,
  clientId: string,
  { dry_run: isDryRun, count: counts }: ValueOf<typeof massRevocation>,
) {
  if (isDryRun || counts) throw new InvalidInput(isDryRun ? 'dry_run' : 'count', ['counted_for_one']);
  const person = await requireSubject(parts, sub);
  parts.caller.requirePerson(person);
  await requireClient(parts, clientId);
  return { person, clientId };
}

/**
 * A token as people paste it: from a header, in quotes, or wrapped over lines. No token has such characters, so nothing
 * else changes.
 */
export function pastedToken(typed: string): string {
  const text = typed
    .trim()
    .replace(/^(["'`])(.*)\1$/s, '$2')
    .trim();
  return text.replace(/^(?:Authorization:\s*)?(?:Bearer|DPoP)\s+/i, '').replaceAll(/\s/g, '');
}

export const TOKEN_OPERATIONS = {
  explainToken: operation({
    method: 'POST',
    path: '/tokens/explain',
    scope: 'grantd:tokens:read',
    summary: 'Show what a token is, whether it is active, and if not, why and since when',
    body: TOKEN_QUESTION,
    status: 200,
    output: EXPLANATION,
    async perform(parts, { token: typed, find_end: findsEnd, find_descendants: findsDescendants }) {
      const { caller, people } = parts;
      const { operator } = await parts.server();
      if (findsEnd) caller.requireScopes(['grantd:events:read']);
      const explanation = await operator.explainToken(pastedToken(typed));
      const subject = subjectOf(explanation);
      const maySee = subject !== undefined && caller.has(['grantd:users:read']);
      const person = maySee ? await people.bySubject(subject) : undefined;
      const end = findsEnd ? await endOf(parts, explanation.endedBy ?? explanation) : undefined;
      const token = findsDescendants === true ? tokenIn(explanation) : undefined;
      const below = token ? await operator.explainDescendants(token) : [];
      return {
        document: {
          ...explanationView(explanation),
          ...optional('descendants', below.length === 0 ? undefined : below.map(relatedView)),
          ...optional('user', person?.name),
          ...optional('ended_by', end && auditEventView(end)),
        },
      };
    },
  }),
  revokeToken: change({
    method: 'POST',
    path: '/tokens/revoke',
    scope: 'grantd:tokens:write',
    summary:
      'Revoke a token, or a JWT of a trusted issuer with everything that was obtained with it. For an access token, the server also revokes the tokens that were issued with it, and the current refresh token that replaced theirs. For a refresh token, it also revokes all other tokens of the grant',
    body: REVOCATION,
    status: 200,
    output: REVOKED_TOKEN,
    async prepare(parts, { token: typed }) {
      const token = pastedToken(typed);
      return { token, before: await (await parts.server()).operator.explainToken(token) };
    },
    async write(parts, { token, before }, { dry_run: isDryRun = false }) {
      if (isDryRun) return { document: { revoked: false, was_active: before.alive } };
      const { id } = before.record ?? before.unused ?? {};
      if (id !== undefined && (before.kind === 'assertion' || id === token)) {
        const { clients, tokens } = parts.storage;
        if (before.unused) {
          const client = await clients.get(before.unused.clientId);
          await tokens.issue([before.unused], { clientGeneration: client?.generation ?? 0 });
        }
        const isRefresh = before.kind === 'refresh_token';
        const stored = await (isRefresh ? tokens.getByRefreshToken(id) : tokens.getByAccessToken(id));
        if (stored) await tokens.revoke(stored);
        return { document: { revoked: stored !== undefined, was_active: before.alive, token_id: id } };
      }
      // Only the hint finds a code. Other tokens are found without a hint.
      const order = before.kind === 'authorization_code' ? ({ hint: 'auth_code' } as const) : {};
      const result = await (await parts.server()).revokeToken(token, order);
      const { revoked, tokenId, reason } = { tokenId: undefined, reason: undefined, ...result };
      return {
        document: {
          ...{ revoked, was_active: before.alive },
          ...optional('token_id', tokenId),
          ...optional('reason', reason),
        },
      };
    },
  }),
  revokeAll: change({
    method: 'POST',
    path: '/tokens/revoke-all',
    scope: 'grantd:tokens:write',
    summary:
      'Revoke many tokens: all of a user, of a client, of a client for one user, of a grant or of a subject of a trusted issuer, or all that were issued before a given time. With dry_run, the server only counts them',
    body: MASS_REVOCATION,
    status: 200,
    output: REVOKED_TOKENS,
    async prepare(parts, input) {
      const { dry_run: isDryRun = false, count: counts = false, ...wanted } = input;
      const { sub, client_id: clientId } = wanted;
      if (sub !== undefined && clientId !== undefined) return grantsFrom(parts, sub, clientId, input);
      const target = await targetFrom(parts, wanted);
      // Any subject of an issuer can be ended. The number shows a wrong name.
      const isCounted = counts || isDryRun || wanted.trusted_issuer !== undefined;
      const alive = isCounted ? await parts.storage.countAlive(target) : undefined;
      return { target, active: alive && { active: alive.count, ...(alive.hasMore && { has_more: true }) } };
    },
    async write(parts, prepared, { sub, dry_run: isDryRun = false }) {
      if ('person' in prepared) {
        const { person, clientId } = prepared;
        const revoke = async () => parts.storage.revokeGrants(person.subject, clientId);
        return { document: { revoked: (await asPermitted(parts, person, revoke)) > 0 } };
      }
      const { target, active } = prepared;
      if (isDryRun) return { document: { revoked: false, ...active } };
      // The sessions of the user also end.
      const { revoked } =
        sub === undefined
          ? { revoked: await parts.storage.revokeAll(target) }
          : await endAccess(parts, { subject: sub });
      return { document: { revoked, ...active } };
    },
  }),
};
