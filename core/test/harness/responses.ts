import type { TestResponse } from './transports/transport.ts';
import { ISSUER } from './world.ts';

/** The headers of every JSON response. */
export const JSON_HEADERS = { 'content-type': 'application/json', 'cache-control': 'no-store' };

/** The same for endpoints with CORS for registered origins. */
export const OPEN_JSON_HEADERS = { ...JSON_HEADERS, vary: 'Origin' };

/** The same for endpoints with CORS for all origins. */
export const PUBLIC_JSON_HEADERS = { ...JSON_HEADERS, 'access-control-allow-origin': '*' };

export const CLIENT_CHALLENGE = `Basic realm="${ISSUER}", charset="UTF-8"`;

export const INACTIVE: TestResponse = { status: 200, headers: JSON_HEADERS, body: '{"active":false}' };

/** The only success response of the revocation endpoint. */
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

/** An error at an endpoint with CORS for all origins. */
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

/** The response to failed client authentication, at an endpoint with CORS for registered origins. */
export const CLIENT_REFUSED: TestResponse = errorOf(401, 'invalid_client', 'client authentication failed', {
  ...OPEN_JSON_HEADERS,
  'www-authenticate': CLIENT_CHALLENGE,
});

export const REFRESH_REFUSED: TestResponse = errorOf(
  400,
  'invalid_grant',
  'the refresh token is not valid',
  OPEN_JSON_HEADERS,
);

export const OUTAGE_DESCRIPTION = 'the server cannot answer at the moment';

/** Storage was not available. */
export const OUTAGE: TestResponse = errorOf(503, 'temporarily_unavailable', OUTAGE_DESCRIPTION, {
  ...JSON_HEADERS,
  'retry-after': '1',
});

/** The response with CORS headers for this origin. */
export function opened(response: TestResponse, origin: string): TestResponse {
  const headers = {
    ...response.headers,
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'WWW-Authenticate, DPoP-Nonce',
  };
  return { ...response, headers };
}
