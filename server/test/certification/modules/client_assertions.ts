import assert from 'node:assert/strict';
import { clientOf } from '../client.ts';
import type { Modules } from './module.ts';

/** Allowed audiences of an assertion besides the token endpoint (OpenID Connect Core §9). */
export const CLIENT_ASSERTIONS: Modules = {
  'oidcc-ensure-client-assertion-with-iss-aud-succeeds': async (party) => {
    assert.equal(party.variant.authentication, 'private_key_jwt');
    await party.codeFlow({ ...(await clientOf(party)), assertionAudience: 'issuer' });
  },
};
