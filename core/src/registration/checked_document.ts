// Checks client metadata as a whole, whether an operator or the client itself wrote it, and leaves out what the server
// does not offer to the client.
import { acceptedAlgorithms, METHODS, supportedMethods } from '../clients/authentication.ts';
import { OAuthError } from '../http/errors.ts';
import { DocumentError, type FetchDocument, fetchBody } from '../http/fetch_document.ts';
import { formatScope, parseScope } from '../http/form.ts';
import { type JsonObject, parseJson } from '../http/http.ts';
import {
  type ClientDocument,
  isMemberName,
  isServerAlgorithm,
  MEMBER_NAMES,
  type MemberName,
  memberOf,
  withoutTag,
} from '../protocol/client_members.ts';
import {
  GRANT_TYPES,
  type GrantType,
  REGISTERED_METHOD,
  requirementsOf,
} from '../protocol/client_metadata.ts';
import { memberRulesOf, stricterProfile } from '../protocol/profile.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { isExposedRedirectUri } from '../protocol/redirect_uri.ts';
import type { Context, ResolvedRegistration } from '../request/context.ts';
import { ClientMetadataError, documentOf, Rejections, readDocument, reject } from './client_document.ts';
import {
  checkRules,
  isPublic,
  isSetByOperator,
  type RegistrationPolicy,
  requireSameSector,
  returnUriCheck,
  urlProblem,
  withDefaults,
} from './metadata_rules.ts';

/** What the check needs from the server: its abilities decide what clients may register. */
type CheckContext = Pick<
  Context,
  | 'issuer'
  | 'jwt'
  | 'storage'
  | 'profile'
  | 'pairwiseSecret'
  | 'requestObjectAlgorithms'
  | 'clientAssertionAlgorithms'
  | 'clientCertificates'
  | 'trustedIssuers'
  | 'fetchDocument'
  | 'canFetch'
>;

/**
 * Checks and completes client metadata from an operator.
 * @param registered the client, if it exists already. Its present URLs are not checked again.
 * @throws {ClientMetadataError} members are wrong; the message names the first
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
  const rejections = new Rejections();
  return completed(context, readDocument(written, 'operator', rejections), policy, rejections);
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
  const capabilities = capabilitiesOf(context);
  const policy: RegistrationPolicy = {
    ...capabilities,
    authenticationMethods: capabilities.authenticationMethods.filter((name) => !METHODS[name].isForOperators),
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
    const whole = await completed(
      context,
      document,
      policy,
      new Rejections(),
      registered?.metadata?.set_by_operator,
    );
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
  rejections: Rejections,
  setByOperator: readonly string[] = [],
): Promise<ClientDocument> {
  // Otherwise defaults would restore members that the operator has removed.
  const isLeftOut = (name: string) => setByOperator.includes(name) && !Object.hasOwn(document, name);
  const offered = policy.registrant === 'client' ? offeredValues(document, policy) : document;
  const members = Object.entries(withDefaults(offered, policy)).filter(([name]) => !isLeftOut(name));
  const whole = readDocument(Object.fromEntries(members), 'operator', rejections);
  checkRules(whole, policy, rejections);
  rejections.throwAny();
  await requireSectorMembership(whole, fetchDocument);
  return whole;
}

function capabilitiesOf(context: CheckContext) {
  const {
    issuer,
    jwt,
    profile,
    requestObjectAlgorithms,
    clientAssertionAlgorithms,
    canFetch,
    fetchDocument,
    pairwiseSecret,
  } = context;
  return {
    issuer,
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

/**
 * Returns the metadata of a client without values that this server does not offer, and without those that are unfit and
 * dispensable (RFC 7591 §3.2.1). Clients send all that they can do, so one value must not refuse the rest. The response says what
 * was registered. What protects the client, such as encryption or certificate-bound tokens, is not left out: the rules
 * refuse it. The same holds for what a profile decides (ADR 135, ADR 166).
 * @throws {ClientMetadataError} nothing workable is left
 */
function offeredValues(sent: ClientDocument, policy: RegistrationPolicy): ClientDocument {
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
    // Without any, the client gets the default, as if it had not sent the member (RFC 7591 §2).
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

/** Returns the grants that the client may use, without those that need another one or a confidential client (RFC 7591 §2.1). */
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
  if (sent.length > 0 && offered.length === 0) reject('grant_types', 'no_grant', grantTypes.join(', '));
  return offered;
}

const SECTOR = 'sector_identifier_uri';

/**
 * Checks that the document at `sector_identifier_uri` lists every redirect URI (OpenID Connect Dynamic Client
 * Registration §5; ADR 49).
 * @throws {ClientMetadataError} it does not, or cannot be fetched
 */
async function requireSectorMembership(
  { sector_identifier_uri: uri, redirect_uris: redirectUris = [] }: ClientDocument,
  fetchDocument: FetchDocument,
): Promise<void> {
  if (uri === undefined) return;
  const members = await fetchMembers(uri, fetchDocument);
  if (members === undefined || !redirectUris.every((redirectUri) => members.includes(redirectUri)))
    reject(SECTOR, 'sector_list');
}

/**
 * Follows no redirects: the sector is named after the host, so the host itself must answer.
 * @returns `undefined` if the document is not a JSON array
 */
async function fetchMembers(
  uri: string,
  fetchDocument: FetchDocument,
): Promise<readonly unknown[] | undefined> {
  try {
    const headers = { accept: 'application/json' };
    const body = await fetchBody(fetchDocument, uri, { headers, maxRedirects: 0 });
    const members = parseJson(body);
    return Array.isArray(members) ? members : undefined;
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    throw new ClientMetadataError(SECTOR, ['unfetched'], undefined, error);
  }
}
