// The grant of token exchange. § refers to RFC 8693.
import { hmacSha256 } from '#crypto';
import { accessFor, audienceOf, MAX_RESOURCES } from '../clients/access.ts';
import type { ClientContext, ForeignSubject } from '../clients/client.ts';
import { isUnchecked } from '../clients/client.ts';
import { confirmationOfAccessToken, type Proofs } from '../confirmation/confirmation.ts';
import { ConfigurationError, invalidRequest, OAuthError } from '../http/errors.ts';
import { type Form, requireParameter, selectScopes, valuesIn } from '../http/form.ts';
import { isJsonObject } from '../http/http.ts';
import { secondsOf } from '../platform/environment.ts';
import { ENDING_KEYS, type EndingConcern, endingKey, endingText } from '../protocol/claims.ts';
import { EXCHANGE_GRANT, type FurtherGrants } from '../protocol/client_metadata.ts';
import { functionOf, type KindsOf, requireKinds, wholeNumber } from '../protocol/option_kinds.ts';
import { recordOnlyClaims } from '../protocol/record_rules.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { Awaitable } from '../storage/contract.ts';
import { guardedCall } from '../storage/faults.ts';
import type { Grant, IssuedTokens } from '../token/grant.ts';
import type { FoundToken, Person } from '../tokens/context.ts';
import { grantClaimsOf, mintAccessToken } from '../tokens/mint.ts';
import { actingWith, refusedIssuance } from '../tokens/state.ts';
import { ID_JAG, issueIdentityAssertion } from './identity_assertion.ts';
import {
  ancestorsOf,
  endOf,
  JWT,
  notAllowed,
  personFor,
  presented,
  refusedActor,
  refusedSubject,
  requireExchangeable,
  requireProof,
  TOKEN_TYPE,
  unsupported,
  withinSignIn,
} from './subject_token.ts';

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

const ISSUED: readonly string[] = [`${TOKEN_TYPE}access_token`, JWT];

function grantWith(mostHops: number, hasConsented: NonNullable<TokenExchangeOptions['hasConsented']>): Grant {
  return {
    async issue(context, client, form, call, proofs): Promise<IssuedTokens> {
      if (isUnchecked(client))
        throw new OAuthError('unauthorized_client', 'a client that registered itself exchanges no tokens', {
          reason: 'exchange_not_allowed',
        });

      const requireConsent = async (
        subject: string,
        scopes: readonly string[],
        resources: readonly string[],
      ) => {
        if (client.metadata?.exchange_consent_required !== true) return;
        if ((await hasConsented({ client, subject, scopes, resources })) !== true)
          throw invalidRequest('the user has not consented to the client', 'exchange_consent_missing');
      };

      // §2.1 read the request
      const wantedType = form.get('requested_token_type') ?? `${TOKEN_TYPE}access_token`;
      if (wantedType === ID_JAG) return issueIdentityAssertion(context, client, form, proofs, requireConsent);
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

      if (person) await requireConsent(person.subject, access.scopes, resources ?? []);

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

/** The scopes of the subject token, and those that the operator lets the client add. No refresh token comes of an exchange. */
function scopesFor({ scopes, metadata }: ClientRecord, { record }: FoundToken): readonly string[] {
  const all = new Set([...record.scopes, ...(metadata?.exchange_scopes ?? [])]);
  return [...all].filter((scope) => scope !== 'offline_access' && scopes.includes(scope));
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
