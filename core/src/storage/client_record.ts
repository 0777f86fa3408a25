import { isJsonObject } from '../protocol/json.ts';
import { ConfigurationError } from '../protocol/oauth_error.ts';
import {
  anyText,
  anyValue,
  hostValue,
  type Kind,
  type KindsOf,
  listOf,
  oneOf,
  requireKinds,
  text,
  textList,
  trueOrFalse,
  wholeNumber,
} from '../protocol/option_kinds.ts';
import type { ClientRecord, GrantType } from '../protocol/records.ts';
import { isExposedRedirectUri, isRegistrableRedirectUri } from '../protocol/redirect_uri.ts';
import { isResourceUri } from '../protocol/resource_uri.ts';
import { isScopeToken } from '../protocol/scope.ts';
import { SIGNING_ALGORITHMS } from '../protocol/signing_algorithm.ts';
import type { NewClient } from './contract.ts';

const GRANTS: Readonly<Record<GrantType, true>> = {
  authorization_code: true,
  client_credentials: true,
  refresh_token: true,
};

const notEmpty: Kind<string> = text('TEXT', 'a text that is not empty', (value) => value !== '');
const algorithm = oneOf(...SIGNING_ALGORITHMS);

function isSecretList(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((one) => isJsonObject(one) && typeof one.hash === 'string' && one.hash !== '')
  );
}

/** What stores accept of a client. They count generations and revisions themselves. */
const MEMBERS: KindsOf<ClientRecord> = {
  id: notEmpty,
  name: anyText,
  secrets: hostValue('ClientSecretRecord[]', 'a list of secrets, each with its hash', isSecretList),
  grantTypes: listOf<GrantType>('GrantType', Object.keys(GRANTS) as GrantType[]),
  scopes: textList('SCOPES', 'a list of scopes', isScopeToken),
  redirectUris: textList(
    'URIS',
    'a list of absolute URIs without fragment and wildcard',
    isRegistrableRedirectUri,
  ),
  resource: text('URI', 'an absolute URI without fragment', isResourceUri),
  rotateRefreshTokens: trueOrFalse,
  accessTokenFormat: oneOf('jwt', 'opaque'),
  accessTokenAlgorithm: algorithm,
  idTokenAlgorithm: algorithm,
  metadata: hostValue('ClientMetadata', 'an object', isJsonObject),
  registrationTokenDigest: notEmpty,
  registeredAt: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  generation: anyValue,
  revision: anyValue,
  registrationRevision: anyValue,
  disabledAtMs: anyValue,
};

/**
 * Checks a client before a store keeps it: a misspelt `secrets` would make a public client.
 * @throws {ConfigurationError} names the member, such as `client.redirectUris`
 */
export function requireClientRecord(client: NewClient): void {
  requireKinds(client, MEMBERS, 'client', 'member');
  for (const name of ['id', 'grantTypes', 'scopes', 'redirectUris'] as const) {
    if (client[name] === undefined) throw new ConfigurationError(`client.${name}`, MEMBERS[name].expected);
  }
  if (client.metadata?.insecure_redirect_uris !== true && client.redirectUris.some(isExposedRedirectUri))
    throw new ConfigurationError(
      'client.redirectUris',
      'https, or http on loopback; metadata.insecure_redirect_uris allows http elsewhere, for development only',
    );
}
