import type { IntrospectionPolicy } from './context.ts';

/** RFC 7662 §4 leaves open who may ask; by default every authenticated client may. */
export const anyClientPolicy: IntrospectionPolicy = () => true;

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
