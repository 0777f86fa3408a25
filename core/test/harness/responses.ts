import type { TestResponse } from './transports/transport.ts';
import { ISSUER } from './world.ts';

/** What every JSON answer carries. */
export const JSON_HEADERS = { 'content-type': 'application/json', 'cache-control': 'no-store' };

/** The same at the endpoints that pages of other origins may use. */
export const OPEN_JSON_HEADERS = { ...JSON_HEADERS, vary: 'Origin' };

/** The same at the endpoints that pages of all origins may use. */
export const PUBLIC_JSON_HEADERS = { ...JSON_HEADERS, 'access-control-allow-origin': '*' };

export const CLIENT_CHALLENGE = `Basic realm="${ISSUER}", charset="UTF-8"`;

export const INACTIVE: TestResponse = { status: 200, headers: JSON_HEADERS, body: '{"active":false}' };

/** The one answer of the revocation endpoint. */
export const REVOKED: TestResponse = {
  status: 200,
  headers: { 'cache-control': 'no-store', vary: 'Origin' },
  body: '',
};

/** An error with exactly these headers. */
export function errorOf(
  status: number,
  error: string,
  description: string,
  headers: Readonly<Record<string, string>> = JSON_HEADERS,
): TestResponse {
  return { status, headers, body: JSON.stringify({ error, error_description: description }) };
}

/** An error at an endpoint that pages of all origins may use. */
export function publicErrorOf(
  status: number,
  error: string,
  description: string,
  headers: Readonly<Record<string, string>> = PUBLIC_JSON_HEADERS,
): TestResponse {
  return errorOf(status, error, description, headers);
}

/** An error of UserInfo with its challenge. */
export function bearerError(
  status: number,
  error: string,
  description: string,
  headers: Readonly<Record<string, string>> = {},
): TestResponse {
  const challenge = `Bearer error="${error}", error_description="${description}"`;
  return errorOf(status, error, description, {
    ...OPEN_JSON_HEADERS,
    'www-authenticate': challenge,
    ...headers,
  });
}

/** The answer to a client that did not authenticate, at an endpoint that pages of other origins may use. */
export const CLIENT_REFUSED: TestResponse = errorOf(401, 'invalid_client', 'client authentication failed', {
  ...OPEN_JSON_HEADERS,
  'www-authenticate': CLIENT_CHALLENGE,
});

export const OUTAGE_DESCRIPTION = 'the server cannot answer at the moment';

/** Storage could not be asked. */
export const OUTAGE: TestResponse = errorOf(503, 'temporarily_unavailable', OUTAGE_DESCRIPTION, {
  ...JSON_HEADERS,
  'retry-after': '1',
});

/** The keys behind the `jwks_uri` of a client could not be fetched. */
export const DOCUMENT_OUTAGE: TestResponse = errorOf(
  503,
  'temporarily_unavailable',
  'a document of the client cannot be fetched at the moment',
  { ...JSON_HEADERS, 'retry-after': '10' },
);

/** The answer, for a page of this origin to read. */
export function opened(response: TestResponse, origin: string): TestResponse {
  const headers = {
    ...response.headers,
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'WWW-Authenticate',
  };
  return { ...response, headers };
}
