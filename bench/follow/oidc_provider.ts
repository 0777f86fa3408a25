// oidc-provider with its defaults, in memory. It introspects opaque tokens only, so an API that verifies tokens itself gets
// JWTs here, for another resource.
//
//     node oidc_provider.ts PORT
import { type Configuration, Provider } from 'oidc-provider';
import { API, AUDIENCE, MACHINE, OPAQUE_AUDIENCE } from './parties.ts';

const [port = ''] = process.argv.slice(2);
const noBrowser = { redirect_uris: [], response_types: [] };

const configuration: Configuration = {
  clients: [
    { client_id: API.clientId, client_secret: API.clientSecret, grant_types: [], ...noBrowser },
    {
      client_id: MACHINE.clientId,
      client_secret: MACHINE.clientSecret,
      grant_types: ['client_credentials'],
      ...noBrowser,
    },
  ],
  features: {
    introspection: { enabled: true },
    revocation: { enabled: true },
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_context, audience) =>
        audience === OPAQUE_AUDIENCE
          ? { scope: 'api:read', audience, accessTokenFormat: 'opaque' }
          : {
              scope: 'api:read',
              audience: AUDIENCE,
              accessTokenFormat: 'jwt',
              jwt: { sign: { alg: 'RS256' } },
            },
    },
  },
  routes: { introspection: '/token/introspect', revocation: '/token/revoke' },
  ttl: { ClientCredentials: 3600 },
  cookies: { keys: ['no browser comes here'] },
};

new Provider(`http://localhost:${port}`, configuration).listen(Number(port), () =>
  console.error('listening on'),
);
