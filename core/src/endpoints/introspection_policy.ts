import type { IntrospectionPolicy } from './context.ts';

/**
 * RFC 7662 §4 leaves open who may ask; by default every authenticated client may, about any token. A client that
 * registered itself knows its own tokens alone, until the operator makes it an API by giving it a `resource`: a stranger
 * must not learn from a token that fell into its hands whose it is and what it is good for.
 */
export const anyClientPolicy: IntrospectionPolicy = (caller, { record }) =>
  caller?.registrationTokenDigest === undefined ||
  caller.resource !== undefined ||
  caller.id === record.clientId;

/** Only the client that the token was issued to, and the resource servers that it is meant for (`aud`). */
export const audiencePolicy: IntrospectionPolicy = (caller, { record, claims }) => {
  if (caller === undefined) return false;
  if (caller.id === record.clientId) return true;
  const { aud } = claims;
  return (
    caller.resource !== undefined &&
    (Array.isArray(aud) ? aud.includes(caller.resource) : aud === caller.resource)
  );
};
