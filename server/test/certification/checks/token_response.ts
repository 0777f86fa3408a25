import assert from 'node:assert/strict';
import type { JsonObject } from '../jws.ts';
import { jsonOf } from '../provider.ts';
import { present } from '../verdict.ts';
import { checkIsHardToGuess } from './entropy.ts';

export interface Tokens {
  readonly accessToken: string;
  readonly idToken: string;
  readonly refreshToken?: string;
}

/** VSCHAR (RFC 6749 appendix A.12, A.17). */
const TOKEN_TEXT = /^[\x20-\x7E]+$/;

/** A response with tokens (RFC 6749 §5.1, OpenID Connect Core §3.1.3.3). */
export async function checkTokens(response: Response, type: 'Bearer' | 'DPoP' = 'Bearer'): Promise<Tokens> {
  const answer = await checkJson(response, 200);
  assert.equal(answer.error, undefined);
  assert.equal(String(answer.token_type).toLowerCase(), type.toLowerCase());
  const { expires_in: expiresIn } = answer;
  assert.ok(typeof expiresIn === 'number' && Number.isInteger(expiresIn) && expiresIn > 0, 'expires_in');
  const refreshToken = answer.refresh_token === undefined ? undefined : tokenIn(answer, 'refresh_token');
  return {
    accessToken: tokenIn(answer, 'access_token'),
    idToken: tokenIn(answer, 'id_token'),
    ...(refreshToken !== undefined && { refreshToken }),
  };
}

/**
 * An error of the token endpoint (RFC 6749 §5.2).
 * @returns its code
 */
export async function checkRefusal(response: Response): Promise<string> {
  const answer = await checkJson(response, response.status === 401 ? 401 : 400);
  const { error, error_description: description, error_uri: uri } = answer;
  assert.match(
    present(typeof error === 'string' ? error : undefined, 'error'),
    /^[\x20-\x21\x23-\x5B\x5D-\x7E]+$/,
  );
  assert.match(String(description ?? ''), /^[\x20-\x21\x23-\x5B\x5D-\x7E]*$/);
  assert.ok(uri === undefined || URL.canParse(String(uri)), 'error_uri is a URI');
  return String(error);
}

async function checkJson(response: Response, status: number): Promise<JsonObject> {
  const answer = await jsonOf(response);
  assert.equal(response.status, status, JSON.stringify(answer));
  const caching = (response.headers.get('cache-control') ?? '').split(',').map((part) => part.trim());
  assert.ok(caching.includes('no-store'), 'Cache-Control has no-store');
  return answer;
}

function tokenIn(answer: JsonObject, name: string): string {
  const token = answer[name];
  assert.ok(typeof token === 'string', `${name} is a text`);
  assert.match(token, TOKEN_TEXT);
  checkIsHardToGuess(token);
  return token;
}
