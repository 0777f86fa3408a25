// Checks client records that hosts hand to a store.

import { ConfigurationError } from '../http/errors.ts';
import { isScopeToken } from '../http/form.ts';
import { isJsonObject } from '../http/http.ts';
import {
  type ClientMetadata,
  isMemberName,
  LANGUAGE_TAG,
  MEMBER_NAMES,
  type MetadataKind,
  memberOf,
  withoutTag,
} from '../protocol/client_members.ts';
import {
  GRANT_TYPES,
  isResourceUri,
  SIGNING_ALGORITHMS,
  TOKEN_FORMATS,
} from '../protocol/client_metadata.ts';
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
import type { ClientRecord } from '../protocol/records.ts';
import { isExposedRedirectUri, isRegistrableRedirectUri } from '../protocol/redirect_uri.ts';
import type { NewClient } from './contract.ts';

const notEmpty: Kind<string> = text('TEXT', 'a non-empty string', (value) => value !== '');
const algorithm = oneOf(...SIGNING_ALGORITHMS);

function isSecretList(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((one) => isJsonObject(one) && typeof one.hash === 'string' && one.hash !== '')
  );
}

/** The members that stores accept of a client. They count generations and revisions themselves. */
const MEMBERS: KindsOf<ClientRecord> = {
  id: notEmpty,
  name: anyText,
  secrets: hostValue('a list of secrets, each with its hash', isSecretList),
  grantTypes: listOf(GRANT_TYPES),
  scopes: textList('SCOPES', 'a list of scopes', isScopeToken),
  redirectUris: textList(
    'URIS',
    'a list of absolute URIs without fragment and wildcard',
    isRegistrableRedirectUri,
  ),
  resource: text('URI', 'an absolute URI without fragment', isResourceUri),
  rotateRefreshTokens: trueOrFalse,
  accessTokenFormat: oneOf(...TOKEN_FORMATS),
  accessTokenAlgorithm: algorithm,
  idTokenAlgorithm: algorithm,
  metadata: hostValue('an object', isJsonObject),
  registrationTokenDigest: notEmpty,
  registeredAt: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  documentValidAt: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  usedUntil: anyValue,
  generation: anyValue,
  revision: anyValue,
  registrationRevision: anyValue,
  disabledAtMs: anyValue,
};

/** Stores accept values exactly as registration writes them. Hosts may store longer lists than registration allows. */
function storedKind({ each, ...kind }: MetadataKind<unknown>): Kind<unknown> {
  if (each === undefined)
    return { ...kind, read: (value) => (kind.read(value) === value ? value : undefined) };
  return textList(
    kind.placeholder,
    `a list of values, each ${each.expected}`,
    (one) => each.read(one) === one,
  );
}

/** Client metadata without a field of its own. */
const METADATA: Readonly<Record<string, Kind<unknown>>> = Object.fromEntries(
  MEMBER_NAMES.map((name) => [name, memberOf(name)] as const)
    .filter(([, { field, isDerived }]) => field === undefined && !isDerived)
    .map(([name, { kind }]) => [name, storedKind(kind)]),
);

const LOCALIZED = MEMBER_NAMES.filter((name) => memberOf(name).isLocalizable);

/**
 * Checks names and types. A misspelt `require_signed_request_object` would have no effect, and a string in `apis` would
 * allow every URI that it contains. Rules about several members apply only to registration.
 * @throws {ConfigurationError} names the member, such as `client.metadata.jwks`
 */
function requireMetadata(metadata: ClientMetadata): void {
  const localized = Object.keys(metadata).filter((name) => name.includes('#'));
  const kinds: Record<string, Kind<unknown>> = { ...METADATA };
  for (const name of localized) {
    const [base, tag = ''] = withoutTag(name);
    if (!isMemberName(base) || !LOCALIZED.includes(base) || !LANGUAGE_TAG.test(tag))
      throw new ConfigurationError(
        `client.metadata.${name}`,
        `a language tag, on one of ${LOCALIZED.join(', ')}`,
      );
    kinds[name] = storedKind(memberOf(base).kind);
  }
  requireKinds(metadata, kinds, 'client.metadata', 'member');
}

/**
 * Checks a client before it is stored. A misspelt `secrets`, for example, would make the client public.
 * @throws {ConfigurationError} names the member, such as `client.redirectUris`
 */
export function requireClientRecord(client: NewClient): void {
  requireKinds(client, MEMBERS, 'client', 'member');
  for (const name of ['id', 'grantTypes', 'scopes', 'redirectUris'] as const) {
    if (client[name] === undefined) throw new ConfigurationError(`client.${name}`, MEMBERS[name].expected);
  }
  if (client.metadata !== undefined) requireMetadata(client.metadata);
  if (client.metadata?.insecure_redirect_uris !== true && client.redirectUris.some(isExposedRedirectUri))
    throw new ConfigurationError(
      'client.redirectUris',
      'https, or http on loopback; metadata.insecure_redirect_uris allows http elsewhere, for development only',
    );
}
