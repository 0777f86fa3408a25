import { pushedAuthorizationRequest } from './authorization/pushed_authorization_request.ts';
import type { Context } from './context.ts';
import { jwks, metadata } from './discovery/metadata.ts';
import { bearerChallenges, clientChallenges } from './http/bearer.ts';
import type { OAuthError } from './http/errors.ts';
import { introspection } from './introspection/introspection.ts';
import { clientConfiguration, registration } from './registration/registration.ts';
import { revocation } from './revocation/revocation.ts';
import type { Endpoint } from './serve.ts';
import { token } from './token/token.ts';
import { userInfo } from './userinfo/userinfo.ts';

const clientChallenge = (context: Context, error: OAuthError) =>
  error.status === 401 ? clientChallenges(context.issuer) : [];
const bearerChallenge = (_context: Context, error: OAuthError) =>
  error.status === 401 ? bearerChallenges(error) : [];
const noChallenge = () => [];

/** The one table of what is served. */
export const ENDPOINTS = {
  introspection: {
    operation: 'introspection',
    methods: ['POST'],
    crossOrigin: 'off',
    challenges: clientChallenge,
    answer: introspection,
  },
  revocation: {
    operation: 'revocation',
    methods: ['POST'],
    crossOrigin: 'clients',
    challenges: clientChallenge,
    answer: revocation,
  },
  userInfo: {
    operation: 'userinfo',
    methods: ['GET', 'HEAD', 'POST'],
    crossOrigin: 'clients',
    challenges: (_context: Context, error: OAuthError) => bearerChallenges(error),
    answer: userInfo,
  },
  token: {
    operation: 'token',
    methods: ['POST'],
    crossOrigin: 'clients',
    challenges: clientChallenge,
    answer: token,
  },
  pushedAuthorizationRequest: {
    operation: 'pushed_authorization_request',
    methods: ['POST'],
    crossOrigin: 'clients',
    challenges: clientChallenge,
    answer: pushedAuthorizationRequest,
  },
  registration: {
    operation: 'registration',
    methods: ['POST'],
    crossOrigin: 'anyone',
    challenges: bearerChallenge,
    answer: registration,
  },
  clientConfiguration: {
    operation: 'client_configuration',
    methods: ['GET', 'HEAD', 'PUT', 'DELETE'],
    crossOrigin: 'anyone',
    challenges: bearerChallenge,
    answer: clientConfiguration,
  },
  metadata: {
    operation: 'metadata',
    methods: ['GET', 'HEAD'],
    crossOrigin: 'anyone',
    challenges: noChallenge,
    answer: metadata,
  },
  jwks: {
    operation: 'jwks',
    methods: ['GET', 'HEAD'],
    crossOrigin: 'anyone',
    challenges: noChallenge,
    answer: jwks,
  },
} as const satisfies Record<string, Endpoint>;

type EndpointName = keyof typeof ENDPOINTS;

/** Which endpoint answers at which path; the authorization endpoint is the host's own page. */
export type Routes = ReadonlyMap<string, EndpointName>;

/** Last segment of a route that stands for any. */
const ANY = '*';

/** The endpoint at a path; `undefined` where there is none. It is asked about every path that a stranger thinks of. */
export function routeOf(routes: Routes, path: string): EndpointName | undefined {
  const found = routes.get(path);
  if (found !== undefined || path.endsWith('/')) return found;
  return routes.get(path.slice(0, path.lastIndexOf('/') + 1) + ANY);
}

export function routesOf({
  issuer,
  paths,
  oidc,
  storage,
  registration: registrationOptions,
}: Pick<Context, 'issuer' | 'paths' | 'oidc' | 'storage' | 'registration'>): Routes {
  const base = new URL(issuer).pathname.replace(/\/$/, '');
  return new Map<string, EndpointName>([
    [base + paths.introspection, 'introspection'],
    [base + paths.revocation, 'revocation'],
    [base + paths.token, 'token'],
    [base + paths.jwks, 'jwks'],
    // RFC 8414 §3.1 puts the issuer's path behind the well-known one, OpenID Discovery §4.1 before it.
    [`/.well-known/oauth-authorization-server${base}`, 'metadata'],
    ...(registrationOptions !== undefined
      ? ([
          [base + paths.registration, 'registration'],
          [`${base}${paths.registration}/${ANY}`, 'clientConfiguration'],
        ] as const)
      : []),
    ...(storage.pushedRequests === undefined
      ? []
      : ([[base + paths.pushedAuthorizationRequest, 'pushedAuthorizationRequest']] as const)),
    ...(oidc !== undefined
      ? ([
          [base + paths.userInfo, 'userInfo'],
          [`${base}/.well-known/openid-configuration`, 'metadata'],
        ] as const)
      : []),
  ]);
}
