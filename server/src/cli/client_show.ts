import { authenticationMethodsOf, type ClientRecord, documentOf, isConfidential } from '@grantd/core';
import { labelled, type Output, printOne, timeOf } from './output.ts';

/** A client as it may be shown: without the digests of what it holds. */
export function described(client: ClientRecord) {
  const {
    secretHash: _,
    registrationTokenDigest,
    generation: __,
    revision: ___,
    disabledAtMs,
    ...rest
  } = client;
  const disabledAt = timeOf(disabledAtMs);
  return {
    ...rest,
    type: isConfidential(client) ? 'confidential' : 'public',
    ...(registrationTokenDigest !== undefined && { registeredItself: true }),
    ...(disabledAt !== undefined && { disabledAt }),
  };
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
