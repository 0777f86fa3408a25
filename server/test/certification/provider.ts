import assert from 'node:assert/strict';
import { isObject, type JsonObject, type PublishedKey } from './jws.ts';

/** A provider, by its discovery document. */
export interface Provider {
  readonly issuer: string;
  readonly metadata: JsonObject;
  /** URL of an endpoint in the document. */
  at(name: string): string;
  /** A list of strings in the document. */
  list(name: string): readonly string[];
  /** Its current keys. */
  keys(): Promise<readonly PublishedKey[]>;
}

/** Reads the discovery document of an issuer (OpenID Connect Discovery §4). */
export async function discovered(issuer: string): Promise<Provider> {
  const metadata = await jsonAt(`${issuer}/.well-known/openid-configuration`);
  assert.equal(metadata.issuer, issuer);
  const at = (name: string) => {
    const url = metadata[name];
    assert.ok(typeof url === 'string', `${name} is announced`);
    return url;
  };
  return {
    issuer,
    metadata,
    at,
    list(name) {
      const values = metadata[name];
      assert.ok(isTexts(values), `${name} is a list of texts`);
      return values;
    },
    async keys() {
      const { keys } = await jsonAt(at('jwks_uri'));
      assert.ok(Array.isArray(keys) && keys.every(isObject), 'keys is a list of objects');
      return keys;
    },
  };
}

async function jsonAt(url: string): Promise<JsonObject> {
  const response = await fetch(url);
  assert.equal(response.status, 200, url);
  return jsonOf(response);
}

/** The JSON object in a response. */
export async function jsonOf(response: Response): Promise<JsonObject> {
  assert.match(response.headers.get('content-type') ?? '', /^application\/(json|jwk-set\+json)(;|$)/);
  const value: unknown = await response.json();
  assert.ok(isObject(value), 'the body is an object');
  return value;
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}
