import {
  authenticationMethodsOf,
  type ClientRecord,
  type ClientSecretRecord,
  documentOf,
  isConfidential,
  isLiveSecret,
} from '@grantd/core';
import { labelled, type Output, printOne, timeOf } from './output.ts';

/** A client as it may be shown: without the digests of what it holds. */
export function described(client: ClientRecord) {
  const {
    secrets,
    registrationTokenDigest,
    generation: _,
    revision: __,
    registrationRevision: ___,
    disabledAtMs,
    ...rest
  } = client;
  const disabledAt = timeOf(disabledAtMs);
  return {
    ...rest,
    type: isConfidential(client) ? 'confidential' : 'public',
    ...(secrets !== undefined && { secrets: secrets.map(describedSecret) }),
    ...(registrationTokenDigest !== undefined && { registeredItself: true }),
    ...(disabledAt !== undefined && { disabledAt }),
  };
}

/** A secret as it may be shown: without its hash. */
function describedSecret({ serverSecret, createdAtMs, expiresAt, lastUsedAtMs }: ClientSecretRecord) {
  return {
    ...(createdAtMs !== undefined && { createdAt: timeOf(createdAtMs) }),
    ...(expiresAt !== undefined && { endsAt: timeOf(expiresAt * 1000) }),
    ...(lastUsedAtMs !== undefined && { lastUsedAt: timeOf(lastUsedAtMs) }),
    ...(serverSecret !== undefined && { serverSecret }),
  };
}

/** `made 2026-…, last used 2026-…, ends 2026-…` */
function secretInWords(secret: ClientSecretRecord): string {
  const { createdAt, endsAt, lastUsedAt } = describedSecret(secret);
  const isOver = !isLiveSecret(secret, Date.now());
  return [
    createdAt === undefined ? 'made at an unknown time' : `made ${createdAt}`,
    lastUsedAt === undefined ? 'no use recorded' : `last used ${lastUsedAt}`,
    endsAt === undefined ? 'no end' : `${isOver ? 'ended' : 'ends'} ${endsAt}`,
  ].join(', ');
}

export function showClient(output: Output, client: ClientRecord): void {
  const { id, type, registeredItself, disabledAt } = described(client);
  const {
    redirect_uris: redirectUris,
    grant_types: grants,
    client_name: name,
    ...others
  } = documentOf(client);
  const { response_types: _, scope, resource, ...settings } = others;
  const rows = Object.entries(settings).map(([setting, value]) => [
    setting.replaceAll('_', ' ').replace(/ uri(s?)$/, ' URI$1'),
    setting === 'jwks' ? client.metadata?.jwks?.keys.map(keyInWords).join(', ') : textOf(value),
  ]);
  printOne(
    output,
    described(client),
    labelled({
      id,
      name,
      type,
      grants: grants?.join(' '),
      scopes: scope ?? '',
      'redirect URIs': redirectUris?.join(' ') || undefined,
      resource,
      // What nobody said is no setting.
      'token endpoint auth method': authenticationMethodsOf(client).join(', '),
      ...Object.fromEntries(
        (client.secrets ?? []).map((one, index) => [
          index === 0 ? 'secret' : `secret ${index + 1}`,
          secretInWords(one),
        ]),
      ),
      ...Object.fromEntries(rows),
      registered: registeredItself && 'by itself',
      disabled: disabledAt,
    }),
  );
}

interface Shown {
  readonly kty?: string | undefined;
  readonly alg?: string | undefined;
  readonly kid?: string | undefined;
}

/** `ES256 first`; `--json` tells the rest. */
function keyInWords({ kty, alg, kid }: Shown): string {
  return [alg ?? kty, kid].filter((word) => word !== undefined).join(' ');
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(' ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
