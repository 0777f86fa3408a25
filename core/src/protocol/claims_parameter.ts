import type { ClaimRequest, ClaimsRequest } from './claims_request.ts';
import { isJsonObject, parseJson } from './json.ts';
import { OAuthError } from './oauth_error.ts';

/** How deep a value may be that a claim is asked to have, and how many claims may be asked for. */
const DEEPEST_VALUE = 4;
const MOST_CLAIMS = 100;

/**
 * The `claims` parameter (OpenID Connect Core §5.5). Members that are not understood are ignored, at every level.
 * @throws {OAuthError} `invalid_request`: no JSON, or not of the form that §5.5 describes
 */
export function parseClaimsParameter(parameter: string): ClaimsRequest {
  const parsed = parseJson(parameter);
  if (!isJsonObject(parsed)) throw refused();
  const userinfo = requestsOf(parsed.userinfo);
  const idToken = requestsOf(parsed.id_token);
  return {
    ...(userinfo !== undefined && { userinfo }),
    ...(idToken !== undefined && { id_token: idToken }),
  };
}

function requestsOf(member: unknown): Readonly<Record<string, ClaimRequest>> | undefined {
  if (member === undefined || member === null) return undefined;
  if (!isJsonObject(member)) throw refused();
  const entries = Object.entries(member);
  if (entries.length > MOST_CLAIMS || !entries.every(([name]) => isStorable(name))) throw refused();
  return Object.fromEntries(entries.map(([name, request]) => [name, requestOf(request)]));
}

function requestOf(request: unknown): ClaimRequest {
  if (request === null) return null;
  if (!isJsonObject(request)) throw refused();
  const { essential, value, values } = request;
  if (essential !== undefined && typeof essential !== 'boolean') throw refused();
  if (values !== undefined && (!Array.isArray(values) || values.length === 0)) throw refused();
  if (![value, ...(values ?? [])].every((one) => isPlain(one))) throw refused();
  return {
    ...(essential !== undefined && { essential }),
    ...(value !== undefined && { value }),
    ...(values !== undefined && { values }),
  };
}

/** Requests are kept until the grant ends, and there are databases that keep neither NUL nor half a character. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

function isPlain(value: unknown, depth = DEEPEST_VALUE): boolean {
  if (typeof value === 'string') return isStorable(value);
  if (typeof value !== 'object' || value === null) return true;
  return (
    depth > 0 &&
    Object.entries(value).every(([name, member]) => isStorable(name) && isPlain(member, depth - 1))
  );
}

function refused(): OAuthError {
  return new OAuthError('invalid_request', 'the claims parameter is malformed', {
    reason: 'parameter_invalid',
  });
}
