import { EXCHANGE_GRANT } from '@grantd/core';
import { basic } from '../../server/test/harness/protocol.ts';
import type { Answer, Connection } from './connection.ts';
import { CLIENTS, secretOf } from './registrations.ts';

/** The result of a read; `unknown` if storage or the server was away. */
type Seen = 'active' | 'inactive' | 'unknown';

/** `unknown`: it may have happened, or may still happen. */
export type Done = 'done' | 'unknown';

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken?: string;
}

/** A response that no specification allows. */
class UnexpectedAnswer extends Error {
  override readonly name = 'UnexpectedAnswer';

  constructor(what: string, { status, headers, body }: Answer) {
    super(`${what}: ${status} ${JSON.stringify(headers)} ${withoutTokens(body)}`);
  }
}

export async function introspect(connection: Connection, token: string): Promise<Seen> {
  const answer = unlessAway(await post(connection, '/token/introspect', { token }, CLIENTS.api.id));
  if (answer === 'unknown') return answer;
  if (answer.status === 200) {
    if (answer.body === '{"active":false}') return 'inactive';
    if (answer.body.startsWith('{"active":true,')) return 'active';
  }
  throw new UnexpectedAnswer('introspection', answer);
}

export async function userInfo(connection: Connection, accessToken: string): Promise<Seen> {
  const headers = { authorization: `Bearer ${accessToken}` };
  const answer = unlessAway(await connection.send({ method: 'GET', path: '/userinfo', headers }));
  if (answer === 'unknown') return answer;
  if (answer.status === 200) return 'active';
  if (answer.status === 401) return 'inactive';
  throw new UnexpectedAnswer('UserInfo', answer);
}

export async function revoke(connection: Connection, token: string, clientId: string): Promise<Done> {
  const answer = unlessAway(await post(connection, '/token/revoke', { token }, clientId));
  if (answer === 'unknown') return answer;
  if (answer.status === 200 && answer.body === '') return 'done';
  throw new UnexpectedAnswer('revocation', answer);
}

export function refresh(
  connection: Connection,
  refreshToken: string,
): Promise<Tokens | 'refused' | 'unknown'> {
  const form = { grant_type: 'refresh_token', refresh_token: refreshToken };
  return requestTokens(connection, form, CLIENTS.web.id);
}

/** Exchanges an access token. @returns `refused` if the token is dead */
export async function exchange(
  connection: Connection,
  token: string,
  clientId: string,
): Promise<Tokens | 'refused' | 'unknown'> {
  const type = 'urn:ietf:params:oauth:token-type:access_token';
  const form = { grant_type: EXCHANGE_GRANT, subject_token: token, subject_token_type: type };
  return requestTokens(connection, form, clientId);
}

const REFUSALS = [
  '{"error":"invalid_grant"',
  '{"error":"invalid_request","error_description":"the subject_token is',
];

/** @returns `refused` if the client or the grant does not allow tokens */
export async function requestTokens(
  connection: Connection,
  form: Readonly<Record<string, string>>,
  clientId: string,
): Promise<Tokens | 'refused' | 'unknown'> {
  const answer = unlessAway(await post(connection, '/token', form, clientId));
  if (answer === 'unknown') return answer;
  if (answer.status === 400 && REFUSALS.some((start) => answer.body.startsWith(start))) return 'refused';
  if (answer.status !== 200) throw new UnexpectedAnswer('token', answer);
  const { access_token, refresh_token } = JSON.parse(answer.body) as TokenResponse;
  return { accessToken: access_token, ...(refresh_token !== undefined && { refreshToken: refresh_token }) };
}

interface TokenResponse {
  readonly access_token: string;
  readonly refresh_token?: string;
}

/** Sends a form as a client. */
export function post(
  connection: Connection,
  path: string,
  form: Readonly<Record<string, string>>,
  clientId: string,
): Promise<Answer | 'lost'> {
  const headers = {
    authorization: basic(clientId, secretOf(clientId)),
    'content-type': 'application/x-www-form-urlencoded',
  };
  return connection.send({ method: 'POST', path, headers, body: new URLSearchParams(form).toString() });
}

/** A 503 must have Retry-After. Otherwise it is a wrong response. A server that was suspended may answer with 408. */
function unlessAway(answer: Answer | 'lost'): Answer | 'unknown' {
  if (answer === 'lost' || answer.status === 408) return 'unknown';
  return answer.status === 503 && answer.headers['retry-after'] !== undefined ? 'unknown' : answer;
}

function withoutTokens(body: string): string {
  return body.replaceAll(/(_token":")[^"]*/g, '$1…');
}
