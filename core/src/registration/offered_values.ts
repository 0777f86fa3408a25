// Leaves out what a client asked to register and this server does not offer it. § refers to RFC 7591.
import { acceptedAlgorithms } from '../clients/authentication.ts';
import { formatScope, parseScope } from '../http/form.ts';
import {
  type ClientDocument,
  isMemberName,
  isServerAlgorithm,
  MEMBER_NAMES,
  type MemberName,
  memberOf,
  withoutTag,
} from '../protocol/client_members.ts';
import { type GrantType, REGISTERED_METHOD, requirementsOf } from '../protocol/client_metadata.ts';
import { memberRulesOf, stricterProfile } from '../protocol/profile.ts';
import { ClientMetadataError } from './client_document.ts';
import {
  isPublic,
  isSetByOperator,
  type RegistrationPolicy,
  returnUriCheck,
  urlProblem,
} from './metadata_rules.ts';

/**
 * Returns the metadata of a client without values that this server does not offer, and without those that are unfit and
 * dispensable (§3.2.1). Clients send all that they can do, so one value must not refuse the rest. The response says what
 * was registered. What protects the client, such as encryption or certificate-bound tokens, is not left out: the rules
 * refuse it. The same holds for what a profile decides (ADR 135, ADR 166).
 * @throws {ClientMetadataError} nothing workable is left
 */
export function offeredValues(sent: ClientDocument, policy: RegistrationPolicy): ClientDocument {
  const document: { -readonly [Name in keyof ClientDocument]: ClientDocument[Name] } = { ...sent };
  const { signingAlgorithms, authenticationMethods, requestObjectAlgorithms } = policy;
  const profile = stricterProfile(policy.profile, sent.profile);
  const profiled = profile === undefined ? [] : memberRulesOf(profile).map(([name]) => name);
  const keepIf = (name: MemberName, isOffered: boolean) => {
    if (document[name] !== undefined && !isOffered && !profiled.includes(name)) delete document[name];
  };

  const { token_endpoint_auth_method: method = REGISTERED_METHOD } = sent;
  keepIf('token_endpoint_auth_method', authenticationMethods.includes(method));
  const { token_endpoint_auth_signing_alg: assertionAlgorithm } = sent;
  const assertionAlgorithms = acceptedAlgorithms(
    document.token_endpoint_auth_method ?? REGISTERED_METHOD,
    policy.clientAssertionAlgorithms,
  );
  keepIf(
    'token_endpoint_auth_signing_alg',
    assertionAlgorithms?.some((algorithm) => algorithm === assertionAlgorithm) ?? false,
  );
  keepIf(
    'request_object_signing_alg',
    requestObjectAlgorithms.some((algorithm) => algorithm === sent.request_object_signing_alg),
  );
  for (const name of MEMBER_NAMES.filter(isServerAlgorithm))
    keepIf(
      name,
      signingAlgorithms.some((algorithm) => algorithm === sent[name]),
    );
  keepIf('subject_type', sent.subject_type !== 'pairwise' || policy.hasPairwiseSubjects);
  for (const name of ['request_uris', 'backchannel_logout_uri'] as const) keepIf(name, policy.canFetch);

  for (const [name, value] of Object.entries(document)) {
    const fit = fitValue(name, value, document, policy);
    if (fit === undefined) delete document[name as MemberName];
    else Object.assign(document, { [name]: fit });
  }

  if (sent.grant_types !== undefined)
    document.grant_types = offeredGrants(sent.grant_types, isPublic(document), policy);
  const { scope, authorization_details_types: types } = sent;
  if (scope !== undefined && policy.scopes !== undefined) {
    const offered = parseScope(scope).filter((item) => policy.scopes?.includes(item));
    // Without any, the client gets the default, as if it had not sent the member (§2).
    if (offered.length > 0) document.scope = formatScope(offered);
    else delete document.scope;
  }
  if (types !== undefined && policy.authorizationDetailsTypes !== undefined)
    document.authorization_details_types = types.filter((type) =>
      policy.authorizationDetailsTypes?.includes(type),
    );
  return document;
}

/** A value without what the rules would refuse and the client does not need. @returns `undefined` if nothing is left */
function fitValue(
  name: string,
  value: unknown,
  document: ClientDocument,
  policy: RegistrationPolicy,
): unknown {
  const [base] = withoutTag(name);
  if (!isMemberName(base) || !memberOf(base).isDispensable || isSetByOperator(document, name)) return value;
  const { needsKeys } = memberOf(base);
  if (needsKeys && document.jwks === undefined && document.jwks_uri === undefined) return undefined;
  const isReturnUri = returnUriCheck(document, policy);
  const isFit = (item: unknown) =>
    base === 'post_logout_redirect_uris'
      ? isReturnUri(String(item))
      : urlProblem(base, item, policy) === undefined;
  if (!Array.isArray(value)) return isFit(value) ? value : undefined;
  const fit = value.filter(isFit);
  return fit.length > 0 || value.length === 0 ? fit : undefined;
}

/** Returns the grants that the client may use, without those that need another one or a confidential client (§2.1). */
function offeredGrants(
  sent: readonly GrantType[],
  isPublicClient: boolean,
  { grantTypes }: RegistrationPolicy,
): readonly GrantType[] {
  const allowed = sent.filter(
    (grant) =>
      grantTypes.includes(grant) && !(isPublicClient && requirementsOf(grant).isForConfidentialClients),
  );
  const offered = allowed.filter((grant) => {
    const { needs } = requirementsOf(grant);
    return needs === undefined || allowed.some((other) => needs.includes(other));
  });
  if (sent.length > 0 && offered.length === 0)
    throw new ClientMetadataError(
      'grant_types',
      `none of them is open to this client; expected ${grantTypes.join(', ')}`,
    );
  return offered;
}
