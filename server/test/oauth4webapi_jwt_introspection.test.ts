import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import * as oauth from 'oauth4webapi';
import { newSigningKey } from './harness/client_key.ts';
import { addClient } from './harness/clients.ts';
import { grantdPrints, Workbench } from './harness/program.ts';

const INSECURE = { [oauth.allowInsecureRequests]: true } as const;

const workbench = new Workbench();
after(() => workbench.clear());

describe('introspection as a JWT by oauth4webapi (RFC 9701)', () => {
  for (const algorithm of ['RS256', 'PS256', 'ES256', 'EdDSA'] as const) {
    test(`an API gets its answers signed with ${algorithm}, also that a token is dead`, async () => {
      const server = await workbench.start(workbench.folder(), ['--demo']);
      const { privateKey, publicKey } = await newSigningKey('ES256');
      const api = { client_id: 'careful-api', introspection_signed_response_alg: algorithm };
      await addClient(server, {
        id: api.client_id,
        grantTypes: [],
        scopes: [],
        redirectUris: [],
        resource: 'https://api.example.com',
        metadata: {
          jwks: { keys: [publicKey] },
          token_endpoint_auth_method: 'private_key_jwt',
          introspection_signed_response_alg: algorithm,
        },
      });
      const issuer = new URL(server.url);
      const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, INSECURE));
      const authentication = oauth.PrivateKeyJwt({ key: privateKey, kid: publicKey.kid });
      async function introspect(token: string): Promise<oauth.IntrospectionResponse> {
        const options = { ...INSECURE, requestJwtResponse: true };
        const response = await oauth.introspectionRequest(as, api, authentication, token, options);
        assert.equal(response.headers.get('content-type'), 'application/token-introspection+jwt');
        const answer = await oauth.processIntrospectionResponse(as, api, response);
        await oauth.validateApplicationLevelSignature(as, response, INSECURE);
        return answer;
      }

      const issued = await grantdPrints(server.folder, ['token', 'issue', '--client=demo-machine', '--json']);
      const token: string = JSON.parse(issued).access_token;
      const alive = await introspect(token);
      assert.equal(alive.active, true);
      assert.equal(alive.client_id, 'demo-machine');
      await grantdPrints(server.folder, ['token', 'revoke', token]);
      assert.deepEqual({ ...(await introspect(token)) }, { active: false });
    });
  }
});
