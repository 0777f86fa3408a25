// The document that tells clients how to get tokens for an API. § refers to RFC 9728.
import { ConfigurationError } from '@grantd/core/internal/http/errors';
import { type HttpRequest, pathOf } from '@grantd/core/internal/http/http';
import type { AccessTokens } from './verified_access_token.ts';

/** §3: the path at the root of the host, to which the path of the resource is appended. */
const WELL_KNOWN = '/.well-known/oauth-protected-resource';

const CACHED_SECONDS = 3600;

interface Described {
  readonly tokens: AccessTokens;
  readonly scopes: readonly string[];
  /** Name of the API, if it has one. */
  readonly name: string | undefined;
  /** `alg` values of DPoP proofs; empty if tokens are never bound to a key. */
  readonly proofAlgorithms: readonly string[];
}

/** A response about metadata. */
interface MetadataAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Serves the metadata of an API, in the form with its path and at the root, where some clients look first. */
export class ResourceMetadata {
  /** URL of the document, for challenges (§5.1). */
  readonly url: string;
  readonly #documents: ReadonlyMap<string, string>;

  /** @throws {ConfigurationError} `tokens` does not say which issuer and audience it accepts, or no audience is a URL */
  constructor({ tokens, scopes, name, proofAlgorithms }: Described) {
    const { issuer, audience = [] } = tokens.accepts ?? {};
    const resources = audience.filter((one) => /^https?:\/\//i.test(one) && URL.canParse(one));
    const [first] = resources;
    if (issuer === undefined || first === undefined)
      throw new ConfigurationError(
        'resourceMetadata',
        'a URL, because the option tokens has no audience that is one, or no issuer',
      );
    const documentOf = (resource: string) =>
      JSON.stringify({
        resource,
        authorization_servers: [issuer],
        ...(scopes.length > 0 && { scopes_supported: scopes }),
        bearer_methods_supported: ['header'],
        ...(name !== undefined && { resource_name: name }),
        ...(proofAlgorithms.length > 0 && { dpop_signing_alg_values_supported: proofAlgorithms }),
      });
    this.url = urlOf(first);
    this.#documents = new Map([
      [WELL_KNOWN, documentOf(first)],
      ...resources.map((resource) => [new URL(urlOf(resource)).pathname, documentOf(resource)] as const),
    ]);
  }

  /** @returns `undefined` if the request is not for the metadata */
  answer({ method, url }: Pick<HttpRequest, 'method' | 'url'>): MetadataAnswer | undefined {
    const document = this.#documents.get(pathOf({ url }));
    if (document === undefined) return undefined;
    if (method === 'OPTIONS') return { status: 204, headers: PREFLIGHT, body: '' };
    if (method !== 'GET' && method !== 'HEAD')
      return { status: 405, headers: { ...ANY_ORIGIN, allow: METHODS }, body: '' };
    return { status: 200, headers: { ...DOCUMENT }, body: method === 'HEAD' ? '' : document };
  }
}

const METHODS = 'GET, HEAD, OPTIONS';

const ANY_ORIGIN = { 'access-control-allow-origin': '*' };

const DOCUMENT = {
  ...ANY_ORIGIN,
  'content-type': 'application/json',
  'cache-control': `public, max-age=${CACHED_SECONDS}`,
};

/** MCP clients in browsers send a header of their own, so the browser asks first. */
const PREFLIGHT = {
  ...ANY_ORIGIN,
  'access-control-allow-methods': METHODS,
  'access-control-allow-headers': '*',
  'access-control-max-age': String(CACHED_SECONDS),
};

/** §3.1: the well-known path comes before the path of the resource. */
function urlOf(resource: string): string {
  const { origin, pathname, search } = new URL(resource);
  return `${origin}${WELL_KNOWN}${pathname === '/' ? '' : pathname}${search}`;
}
