import type { JsonObject } from '../../protocol/json.ts';
import { OAuthError } from '../../protocol/oauth_error.ts';
import type { ClientRecord } from '../../protocol/records.ts';
import { isExposedRedirectUri } from '../../protocol/redirect_uri.ts';
import type { Context } from '../context.ts';
import { GRANT_TYPES } from '../grants/grants.ts';
import { type ClientDocument, documentOf } from './client_document.ts';
import { ClientMetadataError } from './client_metadata_error.ts';
import { withDefaults } from './metadata_defaults.ts';
import { METADATA_MEMBERS } from './metadata_members.ts';
import { requireRules } from './metadata_rules.ts';
import { isMemberName, readDocument } from './read_document.ts';
import type { RegistrationPolicy } from './registration_policy.ts';
import type { ResolvedRegistration } from './registration_settings.ts';
import { requireSameSector, requireSectorMembership } from './sector_identifier.ts';

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
 * What a client wrote of itself, complete. What an operator gave it, it keeps.
 * @param registered the client, where it is there already
 * @throws {OAuthError} `invalid_client_metadata`, `invalid_redirect_uri`, `unapproved_software_statement`
 *   (RFC 7591 §3.2.2)
 */
export async function documentByClient(
  context: Context,
  {
    scopes,
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
  try {
    const document = { ...readDocument(written, 'client'), ...givenByOperator(registered) };
    const whole = await complete(context, document, policy);
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
    cause,
  });
}

async function complete(
  { fetchDocument }: Context,
  document: ClientDocument,
  policy: RegistrationPolicy,
): Promise<ClientDocument> {
  const whole = withDefaults(document, policy);
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

/** Members of a client that only an operator can have set. */
function givenByOperator(client: ClientRecord | undefined): ClientDocument {
  const members = client === undefined ? [] : Object.entries(documentOf(client));
  const given = members.filter(([name]) => isMemberName(name) && METADATA_MEMBERS[name].setBy === 'operator');
  return readDocument(Object.fromEntries(given), 'operator');
}
