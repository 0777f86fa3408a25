// Guards what a host supplies to verify tokens: a refused token, a mistake of the host and an outage stay apart.

import { ConfigurationError, OAuthError, StorageFault } from '../http/errors.ts';
import { isJsonObject, type JsonObject } from '../http/http.ts';
import type { HostToken } from '../storage/contract.ts';
import { withoutTexts } from '../storage/faults.ts';
import { tokenRecord } from '../storage/host_records.ts';
import type { FoundToken, TokenContext } from './context.ts';
import { isCompactJws } from './jwt.ts';
import type { JwtService, JwtVerifier, VerifiedJwt } from './jwt_service.ts';
import { refusalOf } from './jwt_verifier.ts';
import { type AccessTokenVerifier, refused, requireAlive } from './state.ts';

/**
 * A host's service as endpoints use it. It only gets texts in the form of a JWT. A rejection with an error of jose about
 * the token means that the token is not verified, although the service should resolve. Every other rejection is an
 * outage. A service that only verifies has no algorithms to sign with.
 */
export function hostJwtService(service: JwtVerifier | JwtService): JwtService {
  const verify = async (token: string): Promise<VerifiedJwt> => {
    if (!isCompactJws(token)) return { verified: false, reason: 'malformed' };
    try {
      return checkedAnswer(await service.verify(token));
    } catch (error) {
      if (error instanceof ConfigurationError) throw error;
      if (isOutage(error)) throw outage(error, token);
      return { verified: false, reason: 'verifier_rejected', cause: error };
    }
  };
  if (!('sign' in service) || typeof service.sign !== 'function') return { ...SIGNS_NOTHING, verify };
  return {
    algorithms: service.algorithms,
    sign: (claims, signing) => service.sign(claims, signing),
    verify,
    publicKeys: () => service.publicKeys(),
  };
}

const UNAVAILABLE = 'verifier_unavailable' as const;

const SIGNS_NOTHING: Omit<JwtService, 'verify'> = {
  algorithms: [],
  sign: () => Promise.reject(new TypeError('the option jwtService only verifies JWTs')),
  publicKeys: async () => [],
};

/** @throws {StorageFault} the service does not say whether the token is verified */
function checkedAnswer(answer: unknown): VerifiedJwt {
  const { verified, reason, type, claims, keyId }: JsonObject = isJsonObject(answer) ? answer : {};
  if (verified === false && (reason === undefined || typeof reason === 'string'))
    return answer as VerifiedJwt;
  const hasType = type === undefined || type === null || typeof type === 'string';
  if (verified === true && isJsonObject(claims) && hasType)
    return {
      verified,
      claims,
      type: type ?? undefined,
      keyId: typeof keyId === 'string' ? keyId : undefined,
    };
  throw new StorageFault(
    new TypeError(
      'jwtService.verify must resolve to { verified: true, claims, type } or { verified: false }',
    ),
    UNAVAILABLE,
  );
}

/**
 * A host's verifier as UserInfo uses it. It accepts a token, but the record and the host's other answers decide whether the
 * token is alive, as for introspection (ADR 116).
 */
export function hostAccessTokens(verifier: AccessTokenVerifier, context: TokenContext): AccessTokenVerifier {
  return {
    async verify(token, scheme, certificate) {
      const found = await foundBy(verifier, context, [token, scheme, certificate]);
      await requireAlive(context, found, scheme, certificate);
      return found;
    },
  };
}

/** @throws {OAuthError} `invalid_token`: the verifier refuses the token */
async function foundBy(
  verifier: AccessTokenVerifier,
  context: TokenContext,
  args: Parameters<AccessTokenVerifier['verify']>,
): Promise<FoundToken> {
  try {
    return checkedToken(await verifier.verify(...args), context);
  } catch (error) {
    if (error instanceof OAuthError) throw withCleanDescription(error);
    if (isOutage(error)) throw outage(error, args[0]);
    throw refused('verifier_rejected', error);
  }
}

/** A host may put what it received into a description, which goes into a header (RFC 6750 §3). */
function withCleanDescription(error: OAuthError): OAuthError {
  const description = error.description.replace(/[^\x20-\x21\x23-\x5B\x5D-\x7E]/g, '');
  if (description === error.description) return error;
  return new OAuthError(error.code, description, { ...error, cause: error.cause });
}

function outage(error: unknown, token: string): StorageFault {
  const isOfStorage = error instanceof StorageFault;
  const [cause, reason] = isOfStorage ? [error.cause, error.reason] : [error, UNAVAILABLE];
  return new StorageFault(withoutTexts(cause, [token]), reason);
}

function isOutage(error: unknown): boolean {
  return error instanceof StorageFault || refusalOf(error) === undefined;
}

/** @throws {StorageFault} the verifier does not return a token */
function checkedToken(found: unknown, { storage }: TokenContext): FoundToken {
  const { record, claims }: JsonObject = isJsonObject(found) ? found : {};
  if (isJsonObject(record) && isJsonObject(claims)) {
    const own = record as unknown as HostToken;
    const id = typeof record.id === 'string' ? record.id : String(claims.jti ?? '');
    const read = storage.tokens.read?.(own, 'access_token', id) ?? tokenRecord(own, 'access_token', id);
    return { record: read, claims };
  }
  const expected = 'accessTokenVerifier.verify must resolve to { record, claims }';
  throw new StorageFault(new TypeError(expected), UNAVAILABLE);
}
