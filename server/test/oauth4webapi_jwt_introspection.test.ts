import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as oauth from 'oauth4webapi';
import { newSigningKey } from './harness/client_key.ts';
import { addClient } from './harness/clients.ts';
import { grantdPrints } from './harness/commands.ts';
import { type RunningServer, Workbench } from './harness/program.ts';

const INSECURE = { [oauth.allowInsecureRequests]: true } as const;

const workbench = new Workbench();
after(() => workbench.clear());

describe('introspection as a JWT by oauth4webapi (RFC 9701)', () => {
  let server: RunningServer;
  before(async () => {
    server = await workbench.start(workbench.folder(), ['--demo']);
  });

  for (const algorithm of ['RS256', 'PS256', 'ES256', 'EdDSA'] as const) {
    test(`an API gets responses signed with ${algorithm}, also for a dead token`, async () => {
      const { privateKey, publicKey } = await newSigningKey('ES256');
      const api = { client_id: `careful-api-${algorithm}`, introspection_signed_response_alg: algorithm };
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

      const token = await grantdPrints(server.folder, ['token', 'issue', '--client=demo-machine']);
      const alive = await introspect(token);
      assert.equal(alive.active, true);
      assert.equal(alive.client_id, 'demo-machine');
      await grantdPrints(server.folder, ['token', 'revoke', token]);
      assert.deepEqual({ ...(await introspect(token)) }, { active: false });
    });
  }
});
