// The grant of token exchange. § refers to RFC 8693.
import { hmacSha256, sha256 } from '#crypto';
import { accessFor, audienceOf, MAX_RESOURCES, mayUse } from '../clients/access.ts';
import type { ClientContext, ForeignSubject } from '../clients/client.ts';
import { isUnchecked } from '../clients/client.ts';
import { confirmationOfAccessToken, type Proofs } from '../confirmation/confirmation.ts';
import { ConfigurationError, invalidRequest, OAuthError, type ReasonCode } from '../http/errors.ts';
import { type Form, requireParameter, selectScopes, valuesIn } from '../http/form.ts';
import { isJsonObject } from '../http/http.ts';
import { equalInConstantTime, secondsOf } from '../platform/environment.ts';
import { ENDING_KEYS, type EndingConcern, endingKey, endingText, isProven } from '../protocol/claims.ts';
import { EXCHANGE_GRANT, type FurtherGrants, hasResource } from '../protocol/client_metadata.ts';
import { functionOf, type KindsOf, requireKinds, wholeNumber } from '../protocol/option_kinds.ts';
import { applicationOf, PERSONAL, recordOnlyClaims } from '../protocol/record_rules.ts';
import type { Ancestor, ClientRecord, TokenKind } from '../protocol/records.ts';
import type { Awaitable } from '../storage/contract.ts';
import { guardedCall } from '../storage/faults.ts';
import type { Grant, IssuedTokens } from '../token/grant.ts';
import type { FoundToken, Person } from '../tokens/context.ts';
import { ACCESS_TOKEN_ID, grantClaimsOf, ID_TOKEN_DIGEST, mintAccessToken } from '../tokens/mint.ts';
import { actingWith, confirmationOf, findToken, lifeOf, personOf, refusedIssuance } from '../tokens/state.ts';
import { subjectIdentifier } from '../tokens/subject_identifier.ts';

export interface TokenExchangeOptions {
  /** How many tokens may lie before an exchanged one: those that it was obtained from, one after the other. Default: 5 */
  readonly mostHops?: number;
  /**
   * Whether a user has consented that a client obtains such a token for them. Asked for clients with the metadata
   * `exchange_consent_required`. Default: no user has
   */
  readonly hasConsented?: (exchange: ExchangeForUser) => Awaitable<boolean>;
}

/** What a client is about to obtain for a user. */
export interface ExchangeForUser {
  readonly client: ClientRecord;
  /** The server's own identifier of the user. */
  readonly subject: string;
  readonly scopes: readonly string[];
  /** Of the APIs that the token is for. */
  readonly resources: readonly string[];
}

const OPTIONS: KindsOf<TokenExchangeOptions> = {
  mostHops: wholeNumber(1, 10),
  hasConsented: functionOf<NonNullable<TokenExchangeOptions['hasConsented']>>(),
};

/** What the option `tokenExchange` takes, as `tokenExchange()` returns it. */
export interface TokenExchange {
  /**
   * @returns the grant
   * @throws {ConfigurationError} the storage keeps no ancestors of tokens
   */
  open(context: { readonly storage: { readonly keepsAncestors: boolean } }): FurtherGrants;
}

/**
 * Lets services exchange the token of a caller for one with which they call the next service (RFC 8693). Clients also need
 * the grant type `urn:ietf:params:oauth:grant-type:token-exchange`, which only operators give. A token lives no longer than
 * those that it was obtained from, whatever ends them.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * new AuthorizationServer({ ...options, tokenExchange: tokenExchange() });
 */
export function tokenExchange(options: TokenExchangeOptions = {}): TokenExchange {
  requireKinds(options, OPTIONS, 'tokenExchange');
  const { mostHops = 5, hasConsented = () => false } = options;
  return {
    open({ storage: { keepsAncestors } }) {
      if (keepsAncestors)
        return { [EXCHANGE_GRANT]: grantWith(mostHops, guardedCall(hasConsented, 'hasConsented')) };
      throw new ConfigurationError(
        'storage',
        'tokens.keepsAncestors, because the option tokenExchange is set',
      );
    },
  };
}

/**
 * Types of tokens (§3). The values are kinds of this server's tokens; a JWT is an access token here. An ID token stands
 * for the access token that was issued with it.
 */
const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:';
const ID_TOKEN = `${TOKEN_TYPE}id_token`;
const JWT = `${TOKEN_TYPE}jwt`;
const KINDS: Readonly<Record<string, TokenKind>> = {
  [ID_TOKEN]: 'access_token',
  [`${TOKEN_TYPE}access_token`]: 'access_token',
  [JWT]: 'access_token',
  [`${TOKEN_TYPE}refresh_token`]: 'refresh_token',
};
const ISSUED: readonly string[] = [`${TOKEN_TYPE}access_token`, JWT];

function grantWith(mostHops: number, hasConsented: NonNullable<TokenExchangeOptions['hasConsented']>): Grant {
  return {
    async issue(context, client, form, call, proofs): Promise<IssuedTokens> {
      if (isUnchecked(client))
        throw new OAuthError('unauthorized_client', 'a client that registered itself exchanges no tokens', {
          reason: 'exchange_not_allowed',
        });

      // §2.1 read the request
      const wantedType = form.get('requested_token_type') ?? `${TOKEN_TYPE}access_token`;
      const isOpaque = (client.accessTokenFormat ?? context.accessTokenFormat) === 'opaque';
      if (!ISSUED.includes(wantedType) || (isOpaque && wantedType === JWT)) throw unsupported();
      const [token, type] = [
        requireParameter(form, 'subject_token'),
        requireParameter(form, 'subject_token_type'),
      ];
      const foreign = type === JWT ? await foreignSubject(context, client, token, proofs) : undefined;
      const subject = foreign ?? (await presented(context, client, token, type, refusedSubject));
      const actorToken = form.get('actor_token');
      const actor =
        actorToken === undefined
          ? undefined
          : await presented(
              context,
              client,
              actorToken,
              requireParameter(form, 'actor_token_type'),
              refusedActor,
            );
      if (actor === undefined && form.has('actor_token_type'))
        throw invalidRequest('actor_token_type needs an actor_token', 'parameter_missing');

      // Who may exchange what
      requireExchangeable(client, subject);
      const tokens = actor ? [subject, actor] : [subject];
      requireProof(client, subject, refusedSubject, proofs);
      if (actor) requireProof(client, actor, refusedActor, proofs);
      const act = actOf(context, client, subject, actor, foreign !== undefined);
      if ((subject.record.ancestors?.length ?? 0) >= mostHops) throw refusedSubject('exchange_too_deep');
      const person = await personFor(context, client, subject);
      if (actor) await personFor(context, client, actor);

      // For what: never beyond the subject token, the client and the API
      const scopes = withinSignIn(context, client, subject, scopesFor(client, subject), form.get('scope'));
      const { resources, ...access } = await accessFor(context, client, {
        scopes: selectScopes(form.get('scope'), scopes),
        mustFit: form.has('scope'),
        ...(foreign?.resources && { resources: foreign.resources }),
        ...(await targetsIn(context, form)),
      });

      if (person !== undefined && client.metadata?.exchange_consent_required === true) {
        const wanted = { client, subject: person.subject, scopes: access.scopes, resources: resources ?? [] };
        if ((await hasConsented(wanted)) !== true)
          throw invalidRequest('the user has not consented to the client', 'exchange_consent_missing');
      }

      const audience = audienceOf(context, resources);
      foreign?.requireFor(audience);

      // §2.2.1 issue the token
      if (foreign) await asSubject(() => foreign.keep());
      const endingKeys = await endingKeysOf(context, client, person, tokens);
      const nowMs = context.clock();
      const minted = await mintAccessToken(
        { ...context, clock: () => nowMs },
        {
          ...{ client, person, scopes: access.scopes, audience },
          ancestors: [foreign?.ancestor ?? ancestorsOf(subject), actor ? ancestorsOf(actor) : []].flat(),
          ...{ grantId: subject.record.grantId, sessionId: subject.record.sessionId },
          confirmation: proofs.proven && confirmationOfAccessToken(client, proofs.proven),
          claims: {
            ...grantClaimsOf(client, subject.claims),
            // A client that acts for itself has no user, and stays the subject.
            ...(person === undefined && { sub: subject.claims.sub }),
            ...(act !== undefined && { act }),
            [ENDING_KEYS]: endingKeys,
          },
          lifetime: Math.min(context.lifetimes.accessToken, endOf(tokens) - secondsOf(nowMs)),
        },
      );
      const basis = { clientGeneration: client.generation ?? 0 };
      const record = { ...minted.record, ...(resources && { resources }) };
      if ((await context.storage.tokens.issue([record], basis)) !== 'issued')
        throw await refusedIssuance(context, client, record);
      // An end meanwhile finds tokens by their grant. What a JWT gives has none.
      if (foreign) await personFor(context, client, subject);
      call.acting = actingWith(minted.record);
      return { access: minted, type: wantedType };
    },
  };
}

/**
 * Finds a live token of this server that the form presents.
 * @throws {OAuthError} `invalid_request` (§2.2.2): it is none, or of another type than the form says
 */
async function presented(
  context: ClientContext,
  client: ClientRecord,
  token: string,
  type: string,
  refusal: Refusal,
): Promise<FoundToken> {
  const kind = KINDS[type];
  if (kind === undefined) throw unsupported();
  const found = await (type === ID_TOKEN ? findIdToken(context, client, token) : findToken(context, token));
  if ('reason' in found) throw refusal(found.reason);
  if (found.record.kind !== kind) throw refusal('wrong_type');
  const life = await lifeOf(context, found.record, found.claims);
  if (!life.alive) throw refusal(life.reason);
  return found;
}

/** Reads a JWT of a trusted issuer. @returns `undefined` if it is of none */
function foreignSubject(
  context: ClientContext,
  client: ClientRecord,
  token: string,
  { proven }: Proofs,
): Promise<ForeignSubject | undefined> {
  return asSubject(async () => context.trustedIssuers?.subjectOf(context, client, token, proven));
}

/** @throws {OAuthError} `invalid_request` (§2.2.2) where `work` refuses the JWT as a grant */
async function asSubject<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof OAuthError && error.code === 'invalid_grant')) throw error;
    const { reason, value, cause } = error;
    throw new OAuthError('invalid_request', 'the subject_token is not valid', { reason, value, cause });
  }
}

/** Finds the access token with which an ID token was issued to the client. An ID token has no scopes (ADR 186). */
async function findIdToken(
  context: ClientContext,
  client: ClientRecord,
  token: string,
): Promise<FoundToken | { readonly reason: ReasonCode }> {
  const jwt = await context.jwt.verify(token);
  const id = jwt.verified ? jwt.claims[ACCESS_TOKEN_ID] : undefined;
  if (!jwt.verified || typeof id !== 'string') return { reason: 'wrong_type' };
  const record = await context.storage.tokens.getByAccessToken(id);
  const issued = record && recordOnlyClaims(record)[ID_TOKEN_DIGEST];
  if (typeof issued !== 'string') return { reason: 'no_record' };
  if (!equalInConstantTime(issued, await sha256(token))) return { reason: 'differs_from_issued' };
  const isForClient = record?.clientId === client.id && jwt.claims.aud === client.id;
  if (!isForClient || record.sessionId === undefined) return { reason: 'exchange_not_allowed' };
  return { record: { ...record, scopes: [] }, claims: jwt.claims };
}

/**
 * A client exchanges its own tokens, access tokens for the API that it is, except personal ones, and those of clients that
 * an operator named. A refresh token is for its client alone. Others get the same response as for a dead one, which tells nothing about it.
 */
function requireExchangeable(client: ClientRecord, { record, claims }: FoundToken): void {
  const isOwn = record.clientId === client.id;
  const isFor = client.resource && !claims[PERSONAL] && hasResource([claims.aud].flat(), client.resource);
  const isNamed = client.metadata?.exchange_tokens_of?.includes(record.clientId) === true;
  if (isOwn || (record.kind === 'access_token' && (isFor || isNamed))) return;
  throw refusedSubject('exchange_not_allowed');
}

/** A bound token needs the proof of its key or certificate, unless an operator allows its exchange without. */
function requireProof(client: ClientRecord, token: FoundToken, refusal: Refusal, { proven }: Proofs): void {
  const bound = confirmationOf(token);
  if (bound === undefined || client.metadata?.exchange_without_proof === true) return;
  if (!isProven(bound, proven)) throw refusal('subject_token_bound');
}

/**
 * Returns who acts for the subject (§4.1): the actor of the request or else its client, and around whom. A client that
 * exchanges a token of its own adds no actor, nor does one that an operator lets impersonate. An actor token is one with
 * which this client began: it acts for itself, or an operator lets it name users as actors.
 * @throws {OAuthError} the subject token names another actor (§4.4), or the actor token may not name one
 */
function actOf(
  { issuer }: ClientContext,
  client: ClientRecord,
  subject: FoundToken,
  actor: FoundToken | undefined,
  isForeign: boolean,
): unknown {
  const { act: previous, may_act: permitted } = { ...recordOnlyClaims(subject.record), ...subject.claims };
  if (actor !== undefined && !isActorOf(client, actor)) throw refusedActor('exchange_not_allowed');
  const sub = actor?.record.subject === undefined ? client.id : actor.claims.sub;
  const isPermitted =
    permitted === undefined ||
    (isJsonObject(permitted) && permitted.sub === sub && (permitted.iss ?? issuer) === issuer);
  if (!isPermitted) throw notAllowed('the subject_token permits another actor');
  const isOwn = subject.record.clientId === client.id && !isForeign;
  const isAlone = isOwn || client.metadata?.exchange_impersonates === true;
  if (actor === undefined && isAlone) return previous;
  return { sub, ...(previous !== undefined && { act: previous }) };
}

function isActorOf({ id, metadata }: ClientRecord, { record, claims }: FoundToken): boolean {
  const isOwn = record.clientId === id && record.ancestors === undefined && claims.act === undefined;
  return isOwn && (record.subject === undefined || metadata?.exchange_user_actors === true);
}

/** When the first of the tokens ends, in seconds. A host's JWT can end before its record. */
function endOf(tokens: readonly FoundToken[]): number {
  return Math.min(
    ...tokens.map(({ record, claims }) =>
      Math.floor(Math.min(record.expiresAt, Number(claims.exp ?? Infinity))),
    ),
  );
}

function ancestorsOf({ record: { ancestors = [], kind, id, clientId } }: FoundToken): readonly Ancestor[] {
  return [...ancestors, { kind, id, ...(applicationOf(ancestors) === undefined && { clientId }) }];
}

/** The user whom the token is about, as the client knows them. */
async function personFor(
  context: ClientContext,
  client: ClientRecord,
  token: FoundToken,
): Promise<Person | undefined> {
  const subject = personOf(token)?.subject;
  if (subject === undefined) return undefined;
  if (!(await mayUse(context, client, subject))) throw notAllowed('the user may not use the client');
  return { subject, sub: await subjectIdentifier(context, client, subject) };
}

/** The scopes of the subject token, and those that the operator lets the client add. No refresh token comes of an exchange. */
function scopesFor({ scopes, metadata }: ClientRecord, { record }: FoundToken): readonly string[] {
  const all = new Set([...record.scopes, ...(metadata?.exchange_scopes ?? [])]);
  return [...all].filter((scope) => scope !== 'offline_access' && scopes.includes(scope));
}

/**
 * Leaves out scopes for which the sign-in of the user is not enough.
 * @throws {OAuthError} `insufficient_user_authentication`: the request names one. What is needed is as in a challenge (RFC
 *   9470 §3), so that a service can challenge its caller
 */
function withinSignIn(
  { clock }: ClientContext,
  { metadata = {} }: ClientRecord,
  { claims: { acr, auth_time: signedInAt } }: FoundToken,
  scopes: readonly string[],
  asked = '',
): readonly string[] {
  const {
    exchange_step_up_scopes: guarded = [],
    default_acr_values: acrValues,
    default_max_age: maxAge,
  } = metadata;
  const isOfClass = acrValues?.some((accepted) => accepted === acr) ?? true;
  const isRecent =
    maxAge === undefined || (typeof signedInAt === 'number' && secondsOf(clock()) - signedInAt <= maxAge);
  if (isOfClass && isRecent) return scopes;
  if (asked.split(' ').some((scope) => guarded.includes(scope) && scopes.includes(scope)))
    throw new OAuthError('insufficient_user_authentication', 'a scope needs another sign-in of the user', {
      ...{ status: 400, reason: isOfClass ? 'sign_in_too_old' : 'acr_unmet', acrValues, maxAge },
    });
  return scopes.filter((scope) => !guarded.includes(scope));
}

/**
 * Reads `resource` and `audience` (§2.1). An audience is the identifier of a client that is an API, or the API's URI.
 * @throws {OAuthError} `invalid_target`: an audience is no API
 */
async function targetsIn(
  context: ClientContext,
  form: Form,
): Promise<{ readonly resources?: readonly string[] }> {
  const resources = valuesIn(form, 'resource') ?? [];
  const named = valuesIn(form, 'audience') ?? [];
  if (named.length > MAX_RESOURCES)
    throw new OAuthError('invalid_target', 'the request names more than ten audiences', {
      reason: 'parameter_invalid',
    });
  const audiences = named.map(async (name) => {
    const api = await context.storage.clients.get(name);
    return api?.disabledAtMs === undefined ? (api?.resource ?? name) : name;
  });
  const all = [...resources, ...(await Promise.all(audiences))];
  return all.length === 0 ? {} : { resources: [...new Set(all)] };
}

/**
 * Followers of endings know a token by its own client and user. These are the keys of those from which it was obtained
 * (docs/follow.md), and the one of its own revocation if it has no user: events name clients that act for themselves. They
 * are made with a secret, so that no API can find out by trial who is behind them.
 */
async function endingKeysOf(
  { secret }: ClientContext,
  client: ClientRecord,
  person: Person | undefined,
  tokens: readonly FoundToken[],
): Promise<readonly string[]> {
  const earlier = tokens.flatMap(({ claims }) => [claims[ENDING_KEYS] ?? []].flat().map(String));
  const concerns = tokens.flatMap(({ record: { clientId, subject }, claims: { sub } }): EndingConcern[] => [
    ['client', clientId],
    ['grant', clientId, subject === undefined ? clientId : String(sub)],
    // Of an actor. The own subject is known.
    ...(subject === undefined || subject === person?.subject ? [] : [['subject', String(sub)] as const]),
  ]);
  if (person === undefined) concerns.push(['grant', client.id, client.id]);
  const key = await secret.key('ending_key');
  const digests = await Promise.all(concerns.map((concern) => hmacSha256(key, endingText(concern))));
  return [...new Set([...earlier, ...digests.map(endingKey)])];
}

type Refusal = (reason: ReasonCode) => OAuthError;

function refusedSubject(reason: ReasonCode): OAuthError {
  return new OAuthError('invalid_request', 'the subject_token is not valid', { reason });
}

function refusedActor(reason: ReasonCode): OAuthError {
  return new OAuthError('invalid_request', 'the actor_token is not valid', { reason });
}

function unsupported(): OAuthError {
  return new OAuthError('invalid_request', 'the token type is not supported', {
    reason: 'token_type_unsupported',
  });
}

/** §2.2.2: also of a token that policy does not accept. */
function notAllowed(description: string): OAuthError {
  return invalidRequest(description, 'exchange_not_allowed');
}
