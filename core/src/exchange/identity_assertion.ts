// Identity assertions for other authorization servers.
// § refers to draft-ietf-oauth-identity-assertion-authz-grant-04.
import { sha256 } from '#crypto';
import { refusedUse } from '../clients/access.ts';
import type { ClientContext } from '../clients/client.ts';
import { confirmationOfAccessToken, type Proofs } from '../confirmation/confirmation.ts';
import { invalidRequest, OAuthError } from '../http/errors.ts';
import { type Form, formatScope, requireParameter, selectScopes, valuesIn } from '../http/form.ts';
import { secondsOf } from '../platform/environment.ts';
import { locationsOf, parseAuthorizationDetails, refusedDetails } from '../protocol/authorization_details.ts';
import type { Claims } from '../protocol/claims.ts';
import type { IdentityAssertionPolicy } from '../protocol/client_members.ts';
import { hasResource, ID_JAG_TOKEN_TYPE, ID_JAG_TYPE } from '../protocol/client_metadata.ts';
import { NO_TOKEN } from '../protocol/record_rules.ts';
import type { ClientRecord, NewToken } from '../protocol/records.ts';
import type { IssuedTokens } from '../token/grant.ts';
import { newTimedIdentifier } from '../tokens/opaque_token.ts';
import { refusedIssuance } from '../tokens/state.ts';
import { subjectIdentifier } from '../tokens/subject_identifier.ts';
import {
  ancestorsOf,
  endOf,
  ID_TOKEN,
  notAllowed,
  personFor,
  presented,
  REFRESH_TOKEN,
  refusedSubject,
  requireExchangeable,
  requireProof,
  unsupported,
  withinSignIn,
} from './subject_token.ts';

/** `requested_token_type`. */
export const ID_JAG = ID_JAG_TOKEN_TYPE;

/** §4.3. An access token is for an API, which must not use it to sign its user in elsewhere. */
const SUBJECTS: readonly string[] = [ID_TOKEN, REFRESH_TOKEN];

/** Seconds. */
const USUAL_LIFETIME = 300;

/**
 * Issues an identity assertion, with which the client gets an access token of another server for the user. It leaves no row,
 * because only its time ends it (ADR 187).
 * @param requireConsent throws if the user has to consent to the client, and has not
 */
export async function issueIdentityAssertion(
  context: ClientContext,
  client: ClientRecord,
  form: Form,
  proofs: Proofs,
  requireConsent: (subject: string, scopes: readonly string[], resources: readonly string[]) => Promise<void>,
): Promise<IssuedTokens> {
  // §4.3 read the request
  const [audience, policy] = policyFor(context, client, valuesIn(form, 'audience'));
  if (form.has('actor_token') || form.has('actor_token_type'))
    throw invalidRequest('an identity assertion names no actor', 'parameter_invalid');
  const token = requireParameter(form, 'subject_token');
  const type = requireParameter(form, 'subject_token_type');
  if (!SUBJECTS.includes(type)) throw unsupported();

  // §4.3.3 whose it is
  const subject = await presented(context, client, token, type, refusedSubject);
  requireExchangeable(client, subject);
  if (type === REFRESH_TOKEN) requireSignIn(client, subject.record);
  requireProof(client, subject, refusedSubject, proofs);
  const person = await personFor(context, client, subject);
  if (person === undefined) throw refusedSubject('no_person');
  // To the client itself: this server has no page on which users could consent to scopes of another.
  await requireConsent(person.subject, [], []);
  const known = await knownAs(context, client, policy, person.subject, subject.claims);

  // §4.3.3 for what: never beyond policy
  const most = policy.scopes ?? [];
  const enough = withinSignIn(context, client, subject, most, form.get('scope'));
  // The other server takes an assertion without scopes for one that limits none.
  const allowed =
    enough.length > 0 ? enough : withinSignIn(context, client, subject, most, formatScope(most));
  const scopes = selectScopes(form.get('scope'), allowed);
  const resources = resourcesFor(policy, valuesIn(form, 'resource'));
  const details = detailsFor(policy, form.get('authorization_details'));

  // §3.1 sign it
  const issuedAtMs = context.clock();
  const iat = secondsOf(issuedAtMs);
  const exp = Math.min(iat + (policy.lifetime ?? USUAL_LIFETIME), endOf([subject]));
  const jti = newTimedIdentifier(context);
  const { auth_time, acr, amr } = subject.claims;
  const claims: Claims = {
    ...{ iss: context.issuer, sub: known.sub, aud: audience, client_id: policy.client_id },
    ...(resources.length > 0 && { resource: resources.length === 1 ? resources[0] : resources }),
    ...(scopes.length > 0 && { scope: formatScope(scopes) }),
    ...{ authorization_details: details, auth_time, acr, amr }, // JSON leaves out those that are undefined
    ...(policy.email === true && (await verifiedEmail(context, person.subject))),
    cnf: proofs.proven && confirmationOfAccessToken(client, proofs.proven),
    ...{ iat, exp, jti },
  };
  const { token: assertion } = await context.jwt.sign(claims, {
    ...{ type: ID_JAG_TYPE, algorithm: known.client.idTokenAlgorithm ?? context.idTokenAlgorithm },
  });

  // §4.3.4 issue it, if the session, grant, user and client have not ended meanwhile
  const record: NewToken = {
    kind: 'access_token',
    tokenType: NO_TOKEN,
    ...{ id: jti, digest: await sha256(assertion), ancestors: ancestorsOf(subject) },
    ...{ clientId: client.id, subject: person.subject, scopes, resources: [audience] },
    ...{ issuedAtMs, expiresAt: exp, keepUntil: exp },
  };
  const basis = { clientGeneration: client.generation ?? 0, leavesNoRow: true };
  if ((await context.storage.tokens.issue([record], basis)) !== 'issued')
    throw await refusedIssuance(context, client, record);
  return {
    access: { token: assertion, record, audience, authorizationDetails: details },
    type: ID_JAG,
  };
}

/** Exactly one server, in the spelling of the operator. */
function policyFor(
  { issuer }: ClientContext,
  { metadata }: ClientRecord,
  audiences: readonly string[] | undefined,
): readonly [audience: string, IdentityAssertionPolicy] {
  if (audiences === undefined) throw invalidRequest('audience is missing', 'parameter_missing');
  const [audience = '', ...others] = audiences;
  const policies = metadata?.identity_assertions ?? {};
  const policy = Object.hasOwn(policies, audience) ? policies[audience] : undefined;
  if (policy === undefined || others.length > 0 || audience === issuer) throw refusedTarget(audiences);
  return [audience, policy];
}

/** §5. The user as the other server knows them by single sign-on, if they may use it. */
async function knownAs(
  context: ClientContext,
  client: ClientRecord,
  { signs_in_as: id }: IdentityAssertionPolicy,
  subject: string,
  claims: Claims,
) {
  if (id === undefined) return { client, sub: await subjectIdentifier(context, client, subject) };
  const other = await context.storage.clients.get(id);
  if (other === undefined || other.disabledAtMs !== undefined) throw refusedTarget([id]);
  if (await refusedUse(context, other, subject, claims))
    throw notAllowed('the user may not use the other server');
  return { client: other, sub: await subjectIdentifier(context, other, subject) };
}

/** A refresh token stands for a sign-in if the client may refresh it and gets ID tokens with it. */
function requireSignIn({ grantTypes }: ClientRecord, { scopes }: Pick<NewToken, 'scopes'>): void {
  if (grantTypes.includes('refresh_token') && scopes.includes('openid')) return;
  throw notAllowed('the subject_token gives its client no ID tokens');
}

function resourcesFor({ resources = [] }: IdentityAssertionPolicy, asked: readonly string[] = resources) {
  const refused = asked.filter((resource) => !hasResource(resources, resource));
  if (refused.length > 0) throw refusedTarget(refused);
  return resources.filter((resource) => hasResource(asked, resource));
}

function detailsFor(
  { authorization_details_types: types = [], resources }: IdentityAssertionPolicy,
  asked?: string,
) {
  const details = asked === undefined ? undefined : parseAuthorizationDetails(asked);
  const elsewhere = locationsOf(details).filter(
    (location) => resources !== undefined && !hasResource(resources, location),
  );
  if (elsewhere.length > 0) throw refusedTarget(elsewhere);
  const refused = details?.map(({ type }) => type).filter((type) => !types.includes(type)) ?? [];
  if (refused.length === 0) return details;
  const description = 'the client may not have this type of authorization_details';
  throw refusedDetails(description, 'authorization_details_not_allowed', refused.join(' '));
}

async function verifiedEmail({ oidc }: ClientContext, subject: string): Promise<Claims> {
  const { email, email_verified } = { ...(await oidc?.getUserClaims(subject)) };
  return email_verified === true && typeof email === 'string' ? { email, email_verified } : {};
}

function refusedTarget(values: readonly string[]): OAuthError {
  return new OAuthError('invalid_target', 'the client may obtain no identity assertion for this', {
    ...{ reason: 'assertion_audience_not_allowed', value: values.join(' ') },
  });
}
