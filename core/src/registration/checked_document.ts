// Checks a client's metadata as a whole, whether an operator or the client itself wrote it.
import { supportedMethods } from '../clients/authentication.ts';
import { OAuthError } from '../http/errors.ts';
import type { JsonObject } from '../http/http.ts';
import { type ClientDocument, isMemberName, memberOf, withoutTag } from '../protocol/client_members.ts';
import { GRANT_TYPES } from '../protocol/client_metadata.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { isExposedRedirectUri } from '../protocol/redirect_uri.ts';
import type { Context, ResolvedRegistration } from '../request/context.ts';
import { ClientMetadataError, documentOf, readDocument } from './client_document.ts';
import type { RegistrationPolicy } from './metadata_rules.ts';
import { requireRules, requireSameSector, requireSectorMembership, withDefaults } from './metadata_rules.ts';
import { offeredValues } from './offered_values.ts';

/** What the check needs from the server: its abilities decide what clients may register. */
type CheckContext = Pick<
  Context,
  | 'jwt'
  | 'storage'
  | 'profile'
  | 'pairwiseSecret'
  | 'requestObjectAlgorithms'
  | 'clientAssertionAlgorithms'
  | 'clientCertificates'
  | 'fetchDocument'
  | 'canFetch'
>;

/**
 * Checks and completes client metadata from an operator.
 * @param registered the client, if it exists already. Its present URLs are not checked again.
 * @throws {ClientMetadataError} a member is wrong; the message names it
 */
export async function documentByOperator(
  context: CheckContext,
  written: JsonObject,
  registered?: ClientRecord,
): Promise<ClientDocument> {
  const capabilities = capabilitiesOf(context);
  const kept = new Set(registered && Object.values(documentOf(registered)).flat());
  const policy: RegistrationPolicy = {
    ...capabilities,
    refusalOf: (url) => (kept.has(url) ? undefined : capabilities.refusalOf(url)),
    registrant: 'operator',
    registeredResource: registered?.resource,
    scopes: undefined,
    authorizationDetailsTypes: undefined,
    grantTypes: GRANT_TYPES,
    redirectUris: [],
    allowInsecureUris: true,
    assertionAudience: 'issuer',
    insecureAllowMissingPkce: false,
  };
  return completed(context, readDocument(written, 'operator'), policy);
}

/** What clients may say about themselves. */
export type ClientPolicy = Omit<
  ResolvedRegistration,
  'openTo' | 'mostClients' | 'mostClientsPerAddress' | 'clients'
>;

/**
 * Checks and completes metadata that a client sent about itself, without what this server does not offer. Members that
 * the operator has set stay as they are.
 * @param registered the client, if it exists already
 * @throws {OAuthError} `invalid_client_metadata`, `invalid_redirect_uri` (RFC 7591 §3.2.2)
 */
export async function documentByClient(
  context: CheckContext,
  {
    scopes,
    apis,
    authorizationDetailsTypes,
    grantTypes,
    redirectUris,
    allowInsecureUris,
    assertionAudience,
    insecureAllowMissingPkce,
  }: ClientPolicy,
  written: JsonObject,
  registered?: ClientRecord,
): Promise<ClientDocument> {
  const policy: RegistrationPolicy = {
    ...capabilitiesOf(context),
    registrant: 'client',
    registeredResource: registered?.resource,
    scopes: [...new Set([...scopes, ...(registered?.scopes ?? [])])],
    authorizationDetailsTypes: [
      ...authorizationDetailsTypes,
      ...(registered?.metadata?.authorization_details_types ?? []),
    ],
    grantTypes: [...new Set([...grantTypes, ...(registered?.grantTypes ?? [])])],
    redirectUris,
    allowInsecureUris,
    assertionAudience,
    insecureAllowMissingPkce,
  };
  const added = apis.length > 0 ? { apis } : {};
  try {
    const described = readDocument(written, 'client');
    const document =
      registered === undefined ? { ...described, ...added } : withOperatorsMembers(described, registered);
    const whole = await completed(context, document, policy, registered?.metadata?.set_by_operator);
    requireSameSector(whole, registered);
    const isExposed = [...(whole.redirect_uris ?? []), ...(whole.post_logout_redirect_uris ?? [])].some(
      isExposedRedirectUri,
    );
    return allowInsecureUris && isExposed ? { ...whole, insecure_redirect_uris: true } : whole;
  } catch (error) {
    if (error instanceof ClientMetadataError) throw asRefusal(error);
    throw error;
  }
}

/** Turns the error into a response by RFC 7591 §3.2.2. */
export function asRefusal({ code, message, cause }: ClientMetadataError): OAuthError {
  return new OAuthError(code, message, {
    reason: code === 'invalid_redirect_uri' ? 'redirect_uri_unfit' : 'client_metadata_unfit',
    value: message, // not the member's own value: a JWK may be private
    cause,
  });
}

async function completed(
  { fetchDocument }: CheckContext,
  document: ClientDocument,
  policy: RegistrationPolicy,
  setByOperator: readonly string[] = [],
): Promise<ClientDocument> {
  // Otherwise defaults would restore members that the operator has removed.
  const isLeftOut = (name: string) => setByOperator.includes(name) && !Object.hasOwn(document, name);
  const offered = policy.registrant === 'client' ? offeredValues(document, policy) : document;
  const members = Object.entries(withDefaults(offered, policy)).filter(([name]) => !isLeftOut(name));
  const whole = readDocument(Object.fromEntries(members), 'operator');
  requireRules(whole, policy);
  await requireSectorMembership(whole, fetchDocument);
  return whole;
}

function capabilitiesOf(context: CheckContext) {
  const {
    jwt,
    profile,
    requestObjectAlgorithms,
    clientAssertionAlgorithms,
    canFetch,
    fetchDocument,
    pairwiseSecret,
  } = context;
  return {
    profile,
    requestObjectAlgorithms,
    clientAssertionAlgorithms,
    authenticationMethods: supportedMethods(context),
    acceptsCertificates: context.clientCertificates !== false,
    signingAlgorithms: jwt.algorithms,
    canFetch,
    refusalOf: (url: string) => fetchDocument.refusalOf?.(url),
    hasPairwiseSubjects: pairwiseSecret !== undefined,
  };
}

/**
 * Adds what the client may not change: members that only operators can set, and those that an operator has set, in
 * every language.
 */
function withOperatorsMembers(described: ClientDocument, registered: ClientRecord): ClientDocument {
  const before = documentOf(registered);
  const isOperators = (name: string) => isMemberName(name) && memberOf(name).setBy === 'operator';
  const { set_by_operator: set = [] } = before;
  const kept = new Set([...set, ...(set.includes('grant_types') ? ['response_types'] : [])]);
  const isKept = ([name]: readonly [string, unknown]) =>
    isOperators(name) || kept.has(name) || kept.has(withoutTag(name)[0]);
  return readDocument(
    Object.fromEntries([
      ...Object.entries(described).filter((member) => !isKept(member)),
      ...Object.entries(before).filter(isKept),
    ]),
    'operator',
  );
}
