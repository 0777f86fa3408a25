// The grant of JWTs that trusted issuers have signed. § refers to RFC 7523.
import { sha256 } from '#crypto';
import { accessFor, audienceOf, refusedUse } from '../clients/access.ts';
import {
  type ClientContext,
  type ForeignSubject,
  isUnchecked,
  takeOnce,
  type UnfitJwt,
} from '../clients/client.ts';
import { confirmationOfAccessToken } from '../confirmation/confirmation.ts';
import { grantEnded, invalidGrant, loggable, OAuthError, type ReasonCode } from '../http/errors.ts';
import { requireParameter, selectScopes, valuesIn } from '../http/form.ts';
import { isJsonObject } from '../http/http.ts';
import { CLIENT_CLOCK_AHEAD, secondsOf } from '../platform/environment.ts';
import { type Claims, type Confirmation, isProven } from '../protocol/claims.ts';
import { hasResource } from '../protocol/client_metadata.ts';
import { ASSERTED_SESSION, NO_TOKEN } from '../protocol/record_rules.ts';
import type { ClientRecord, NewToken } from '../protocol/records.ts';
import type { Awaitable } from '../storage/contract.ts';
import type { Grant, IssuedTokens } from '../token/grant.ts';
import type { Person } from '../tokens/context.ts';
import { mintAccessToken } from '../tokens/mint.ts';
import { assertionLife, subjectLife } from '../tokens/state.ts';
import { subjectIdentifier } from '../tokens/subject_identifier.ts';
import type { UnmatchedClaim } from './claim_patterns.ts';

/** For whom and for which clients the JWTs of an issuer are grants. */
export interface GrantRule {
  readonly clients: readonly string[];
  /** `undefined`: the issuer's `findSubject` tells. */
  readonly subject: string | undefined;
  readonly scopes: readonly string[] | undefined;
  readonly apis: readonly string[] | undefined;
  readonly lifetime: number;
  /** Whether it is for identity assertions (ID-JAG), and for nothing else. */
  readonly isForIdentityAssertions: boolean;
  readonly unmatched: UnmatchedClaim;
}

/** A JWT whose signature and times have verified. */
export interface VerifiedJwt {
  readonly issuer: {
    readonly issuer: string;
    readonly reuse: 'allowed' | 'once';
    readonly maxLifetime: number;
    readonly grants: readonly GrantRule[];
    readonly findSubject: ((sub: string) => Awaitable<string | undefined>) | undefined;
  };
  readonly claims: Claims;
  /** Whether its `typ` is that of an identity assertion (ID-JAG). */
  readonly isIdentityAssertion: boolean;
  /** Seconds. */
  readonly exp: number;
  readonly signedAtMs: number;
}

/** @returns why a JWT is refused, or the JWT */
export type Verifies = (context: ClientContext, assertion: string) => Promise<VerifiedJwt | UnfitJwt>;

/** What an operator lets a client obtain with a JWT. */
interface Accepted extends ForeignSubject {
  readonly person: Person;
}

/**
 * Reads a JWT that a client presents, as policy accepts it. It leaves a row, with which ends what is obtained from it
 * (ADR 184).
 * @throws {OAuthError} `invalid_grant`
 */
export async function acceptedJwt(
  verify: Verifies,
  context: ClientContext,
  client: ClientRecord,
  assertion: string,
  proven: Confirmation | undefined,
): Promise<Accepted> {
  // §3 verify the JWT
  const verified = await verify(context, assertion);
  if ('reason' in verified) throw refused(verified.reason, verified.named, verified.cause);
  const { issuer, claims, exp, isIdentityAssertion } = verified;
  const named = namedBy(issuer, claims);
  const rules = rulesFor(verified).filter(({ clients }) => clients.includes(client.id));
  const rule = rules.find(({ unmatched }) => unmatched(claims) === undefined);
  if (rule === undefined) throw refused('assertion_claims_unmatched', unmatchedBy(rules, issuer, claims));
  if (isIdentityAssertion) requireOwn(client, claims, named);
  // RFC 7800: a bound assertion needs the proof of its key or certificate.
  if (claims.cnf !== undefined && !isProven(claims.cnf, proven)) throw refused('assertion_bound', named);
  const person = await personFor(context, client, verified, rule, named);
  const asserted = isIdentityAssertion ? limitsIn(claims, named) : {};
  const row = await rowOf(context, client.id, verified, assertion, person);
  const scopes = [rule.scopes, asserted.scopes];
  return {
    person,
    record: {
      ...row,
      scopes: client.scopes.filter((scope) => scopes.every((list) => list?.includes(scope) ?? true)),
      expiresAt: Math.floor(Math.min(exp, secondsOf(context.clock()) + rule.lifetime)),
    },
    ancestor: { kind: row.kind, id: row.id, clientId: client.id, issuer: issuer.issuer },
    claims: { sub: person.sub, ...actorsIn(claims, issuer.issuer) },
    resources: asserted.resources ?? rule.apis,
    requireFor(audience) {
      for (const apis of [rule.apis, asserted.resources])
        if (apis && ![audience].flat().every((api) => hasResource(apis, api)))
          throw new OAuthError('invalid_target', 'the assertion is not for this resource', {
            reason: 'resource_not_allowed',
          });
    },
    keep: () => store(context, client, verified, row, named),
  };
}

/** Issues an access token for the user whom a JWT names (§2.1). There is no refresh token: the client sends another JWT. */
export function jwtBearer(verify: Verifies): Grant {
  return {
    async issue(context, client, form, _call, proofs): Promise<IssuedTokens> {
      if (isUnchecked(client))
        throw new OAuthError(
          'unauthorized_client',
          'a client that registered itself may not use this grant',
          { reason: 'grant_not_allowed' },
        );
      const assertion = requireParameter(form, 'assertion');
      const { person, record, ...jwt } = await acceptedJwt(verify, context, client, assertion, proofs.proven);

      // RFC 6749 §3.3, RFC 8707 §2: never beyond the rule, the client and the API
      const wanted = valuesIn(form, 'resource') ?? jwt.resources;
      const { scopes, resources } = await accessFor(context, client, {
        scopes: selectScopes(
          form.get('scope'),
          record.scopes.filter((scope) => scope !== 'offline_access'),
        ),
        mustFit: form.has('scope'),
        ...(wanted && { resources: wanted }),
      });
      const audience = audienceOf(context, resources);
      jwt.requireFor(audience);

      await jwt.keep();
      const nowMs = context.clock();
      const lifetime = Math.min(context.lifetimes.accessToken, record.expiresAt - secondsOf(nowMs));
      const access = await mintAccessToken(
        { ...context, clock: () => nowMs },
        {
          ...{ client, person, scopes, audience, lifetime, sessionId: record.sessionId },
          ancestors: [jwt.ancestor],
          confirmation: proofs.proven && confirmationOfAccessToken(client, proofs.proven),
        },
      );
      const basis = { clientGeneration: client.generation ?? 0 };
      const token = { ...access.record, ...(resources && { resources }) };
      if ((await context.storage.tokens.issue([token], basis)) !== 'issued') throw grantEnded();
      // Who ended the access meanwhile may not have seen the token.
      if (await refusedUse(context, client, person.subject)) throw refused('person_not_allowed');
      return { access };
    },
  };
}

/**
 * The row that a JWT would leave at its first use, for an operator who ends it before.
 * @returns why no client can use it, or the row
 */
export async function unusedRow(
  verify: Verifies,
  context: ClientContext,
  assertion: string,
): Promise<NewToken | UnfitJwt> {
  const verified = await verify(context, assertion);
  if ('reason' in verified) return verified;
  const rules = rulesFor(verified);
  const fitting = rules.filter(({ unmatched }) => unmatched(verified.claims) === undefined);
  for (const id of fitting.flatMap(({ clients }) => clients)) {
    const client = await context.storage.clients.get(id);
    if (client && client.disabledAtMs === undefined) return rowOf(context, id, verified, assertion);
  }
  return {
    reason: 'assertion_claims_unmatched',
    named: unmatchedBy(fitting.length > 0 ? [] : rules, verified.issuer, verified.claims),
  };
}

/** The rules for JWTs of this kind, whatever their claims are. */
function rulesFor({ issuer, isIdentityAssertion }: VerifiedJwt): readonly GrantRule[] {
  return issuer.grants.filter(
    ({ isForIdentityAssertions }) => isForIdentityAssertions === isIdentityAssertion,
  );
}

/** The user of the JWT, as the client knows them. */
async function personFor(
  context: ClientContext,
  client: ClientRecord,
  { issuer, claims }: VerifiedJwt,
  rule: GrantRule,
  named: string,
) {
  const subject = rule.subject ?? (await issuer.findSubject?.(String(claims.sub)));
  const isUnknown = subject === undefined || (context.oidc && !(await context.oidc.getUserClaims(subject)));
  if (isUnknown) throw refused('assertion_subject_unknown', named);
  const life = await subjectLife(context, subject);
  if (!life.alive) throw refused(life.reason, named);
  if (await refusedUse(context, client, subject)) throw refused('person_not_allowed', named);
  return { subject, sub: await subjectIdentifier(context, client, subject) };
}

/**
 * An identity assertion is of its client (Identity Assertion JWT Authorization Grant, draft 04), and may be presented
 * again.
 */
function requireOwn(client: ClientRecord, claims: Claims, named: string): void {
  if (claims.client_id !== client.id) throw refused('assertion_of_other_client', named);
  if (typeof claims.jti !== 'string' || claims.jti === '')
    throw refused('assertion_identifier_missing', named);
  if (claims.iat === undefined) throw refused('assertion_malformed', named);
  if (claims.authorization_details !== undefined) throw refused('authorization_details_not_allowed', named);
}

/** Who acts, and who may act (RFC 8693 §4). Its issuer names them by its own identifiers, unless it says otherwise. */
function actorsIn({ act, may_act }: Claims, issuer: string): Claims {
  const named = (actor: unknown) => (isJsonObject(actor) ? { iss: issuer, ...actor } : actor);
  return {
    ...(act !== undefined && { act: named(act) }),
    ...(may_act !== undefined && { may_act: named(may_act) }),
  };
}

/** What an identity assertion allows: its `scope` and `resource`. */
function limitsIn({ scope, resource }: Claims, named: string) {
  const resources: readonly unknown[] = [resource ?? []].flat();
  const isText = (item: unknown): item is string => typeof item === 'string';
  if (!(scope === undefined || isText(scope)) || !resources.every(isText))
    throw refused('assertion_malformed', named);
  return {
    ...(scope !== undefined && { scopes: scope.split(' ') }),
    ...(resource !== undefined && { resources }),
  };
}

/**
 * The row of a JWT. No presented token has its identifier, which is the digest of a text with line breaks. All rows of a
 * subject have one session, with which an operator or the issuer ends them.
 */
async function rowOf(
  { clock }: ClientContext,
  clientId: string,
  { issuer, claims, exp, signedAtMs }: VerifiedJwt,
  assertion: string,
  person?: Person,
) {
  const expiresAt = Math.floor(exp);
  return {
    kind: 'access_token',
    id: await identifierOf(issuer.issuer, claims, assertion),
    digest: await sha256(assertion),
    clientId,
    ...(person && { subject: person.subject }),
    sessionId: await assertedSession(issuer.issuer, String(claims.sub)),
    scopes: [],
    tokenType: NO_TOKEN,
    claims: { sub: person?.sub, issuer: issuer.issuer, issuer_sub: claims.sub },
    // An end must also reach JWTs from before it that are used for the first time afterwards.
    issuedAtMs: Math.min(clock(), signedAtMs),
    expiresAt,
    // An end of the session must be known as long as JWTs live that were signed before it.
    keepUntil: expiresAt + issuer.maxLifetime + CLIENT_CLOCK_AHEAD,
  } as const satisfies NewToken;
}

/** Issuer and subject, for logs. */
export function namedBy({ issuer }: { readonly issuer: string }, { sub }: Claims): string {
  return loggable(`${issuer} ${sub}`);
}

/**
 * As `namedBy`, after the names of claims that rules do not accept, without their values, which are of a stranger.
 */
export function unmatchedBy(
  rules: readonly { readonly unmatched: UnmatchedClaim }[],
  issuer: { readonly issuer: string },
  claims: Claims,
): string {
  const names = [...new Set(rules.map(({ unmatched }) => unmatched(claims) ?? ''))].filter(Boolean);
  const listed = names.slice(0, MAX_NAMED).join(', ');
  return listed === ''
    ? namedBy(issuer, claims)
    : loggable(`claim ${listed} of ${issuer.issuer} ${claims.sub}`);
}

/** More rules have usually been written for other claims. */
const MAX_NAMED = 3;

/** The identifier of the row of a JWT. Its signature is not part of it, because some can be changed (ECDSA). */
export async function identifierOf(issuer: string, { sub, jti }: Claims, assertion: string): Promise<string> {
  const own =
    typeof jti === 'string' && jti !== '' ? `jti\n${jti}` : `jwt\n${assertion.replace(/\.[^.]*$/, '')}`;
  return sha256(`assertion\n${JSON.stringify(issuer)}\n${JSON.stringify(sub)}\n${own}`);
}

/** The session of everything that is obtained by the JWTs about a subject of an issuer. */
export async function assertedSession(issuer: string, sub: string): Promise<string> {
  return ASSERTED_SESSION + (await sha256(`${JSON.stringify(issuer)}\n${JSON.stringify(sub)}`));
}

/**
 * Stores the row at the first use. Later ones need it to be alive, and of the same client.
 * @throws {OAuthError} `invalid_grant`
 */
async function store(
  context: ClientContext,
  client: ClientRecord,
  verified: VerifiedJwt,
  row: NewToken,
  named: string,
): Promise<void> {
  const { tokens } = context.storage;
  const known = await tokens.getByAccessToken(row.id);
  const isFirst = known === undefined && (await isStored(context, client, row));
  const stored = known ?? (await tokens.getByAccessToken(row.id));
  if (stored === undefined) throw grantEnded();
  const life = await assertionLife(context, stored);
  if (!life.alive) throw refused(life.reason, named);
  if (!isFirst && stored.clientId !== client.id) throw refused('assertion_of_other_client', named);
  if (verified.issuer.reuse === 'allowed' || verified.isIdentityAssertion) return;
  // A sweep by a clock that is ahead could have deleted the row of an earlier use (ADR 117).
  if (!isFirst || !(await takeOnce(context, row.id, row.expiresAt + CLIENT_CLOCK_AHEAD)))
    throw refused('assertion_replayed', named);
}

/** @returns `false` if another request stored it first */
async function isStored({ storage: { tokens } }: ClientContext, client: ClientRecord, row: NewToken) {
  try {
    const outcome = await tokens.issue([row], { clientGeneration: client.generation ?? 0 });
    if (outcome !== 'issued') throw grantEnded();
    return true;
  } catch (error) {
    // Of requests at the same time, one stores the row.
    if (error instanceof OAuthError || (await tokens.getByAccessToken(row.id)) === undefined) throw error;
    return false;
  }
}

/** §3.1. One description, which tells nothing about issuers, users and other clients. */
function refused(reason: ReasonCode, value?: string, cause?: unknown): OAuthError {
  if (cause === undefined) return invalidGrant('the assertion is not valid', reason, value);
  return new OAuthError('invalid_grant', 'the assertion is not valid', { reason, value, cause });
}
