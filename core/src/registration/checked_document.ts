import type { Context, ResolvedRegistration } from '../context.ts';
import { OAuthError } from '../http/errors.ts';
import type { JsonObject } from '../http/http.ts';
import { type ClientDocument, isMemberName, memberOf, withoutTag } from '../protocol/client_members.ts';
import { GRANT_TYPES } from '../protocol/client_metadata.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { isExposedRedirectUri } from '../protocol/redirect_uri.ts';
import { ClientMetadataError, documentOf, readDocument } from './client_document.ts';
import type { RegistrationPolicy } from './metadata_rules.ts';
import { requireRules, requireSameSector, requireSectorMembership, withDefaults } from './metadata_rules.ts';

/**
 * What an operator wrote of a client, complete.
 * @param registered the client, when it is registered already: its URLs stay as they are
 * @throws {ClientMetadataError} it cannot be so
 */
export async function documentByOperator(
  context: Context,
  written: JsonObject,
  registered?: ClientRecord,
): Promise<ClientDocument> {
  const abilities = abilitiesOf(context);
  const kept = new Set(registered && Object.values(documentOf(registered)).flat());
  const policy: RegistrationPolicy = {
    ...abilities,
    refusalOf: (url) => (kept.has(url) ? undefined : abilities.refusalOf(url)),
    registrant: 'operator',
    scopes: undefined,
    grantTypes: GRANT_TYPES,
    allowInsecureUris: true,
    assertionAudience: 'issuer',
    insecureAllowMissingPkce: false,
  };
  return complete(context, readDocument(written, 'operator'), policy);
}

/**
 * What a client wrote of itself, complete. What the operator set stays.
 * @param registered the client, where it is there already
 * @throws {OAuthError} `invalid_client_metadata`, `invalid_redirect_uri`, `unapproved_software_statement`
 *   (RFC 7591 §3.2.2)
 */
export async function documentByClient(
  context: Context,
  {
    scopes,
    apis,
    grantTypes,
    allowInsecureUris,
    assertionAudience,
    insecureAllowMissingPkce,
  }: ResolvedRegistration,
  written: JsonObject,
  registered?: ClientRecord,
): Promise<ClientDocument> {
  const policy: RegistrationPolicy = {
    ...abilitiesOf(context),
    registrant: 'client',
    scopes: [...new Set([...scopes, ...(registered?.scopes ?? [])])],
    grantTypes: [...new Set([...grantTypes, ...(registered?.grantTypes ?? [])])],
    allowInsecureUris,
    assertionAudience,
    insecureAllowMissingPkce,
  };
  const given = apis.length > 0 ? { apis } : {};
  try {
    const described = readDocument(written, 'client');
    const document =
      registered === undefined ? { ...described, ...given } : withOperatorsMembers(described, registered);
    const whole = await complete(context, document, policy, registered?.metadata?.set_by_operator);
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

/** A refusal in the words of RFC 7591 §3.2.2. */
export function asRefusal({ code, message, cause }: ClientMetadataError): OAuthError {
  return new OAuthError(code, message, {
    reason: code === 'invalid_redirect_uri' ? 'redirect_uri_unfit' : 'client_metadata_unfit',
    value: message, // not the member's own value: a JWK may be private
    cause,
  });
}

async function complete(
  { fetchDocument }: Context,
  document: ClientDocument,
  policy: RegistrationPolicy,
  setByOperator: readonly string[] = [],
): Promise<ClientDocument> {
  // The defaults would bring back what the operator left out.
  const isLeftOut = (name: string) => setByOperator.includes(name) && !Object.hasOwn(document, name);
  const members = Object.entries(withDefaults(document, policy)).filter(([name]) => !isLeftOut(name));
  const whole = readDocument(Object.fromEntries(members), 'operator');
  requireRules(whole, policy);
  await requireSectorMembership(whole, fetchDocument);
  return whole;
}

function abilitiesOf({ jwt, canFetch, fetchDocument, pairwiseSecret }: Context) {
  return {
    signingAlgorithms: jwt.algorithms,
    canFetch,
    refusalOf: (url: string) => fetchDocument.refusalOf?.(url),
    hasPairwiseSubjects: pairwiseSecret !== undefined,
  };
}

/**
 * What a client says of itself, with the members that are the operator's alone and those that the operator has set, in
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
