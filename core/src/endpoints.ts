// The table of all endpoints, and their paths.
import { pushedAuthorizationRequest } from './authorization/pushed_authorization_request.ts';
import type { Context } from './context.ts';
import { jwks, metadata } from './discovery/metadata.ts';
import { bearerChallenges, clientChallenges } from './http/bearer.ts';
import type { OAuthError } from './http/errors.ts';
import { introspection } from './introspection/introspection.ts';
import { clientConfiguration, registration } from './registration/registration.ts';
import { revocation } from './revocation/revocation.ts';
import { ANY_SEGMENT, type Endpoint, type Route, type Routes, routeTo } from './serve.ts';
import { token } from './token/token.ts';
import { userInfo } from './userinfo/userinfo.ts';

const clientChallenge = (context: Pick<Context, 'issuer'>, error: OAuthError) =>
  error.status === 401 ? clientChallenges(context.issuer) : [];
const bearerChallenge = (_context: unknown, error: OAuthError) =>
  error.status === 401 ? bearerChallenges(error) : [];
const noChallenge = () => [];

/** Adding an endpoint takes an entry here and a path in `routesOf`. */
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
    challenges: (_context: unknown, error: OAuthError) => bearerChallenges(error),
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

/** Returns the endpoints by path. The authorization endpoint is missing, because it is the host's own page. */
export function routesOf(context: Context): Routes {
  const { issuer, paths, oidc, storage, registration: registrationOptions } = context;
  const base = new URL(issuer).pathname.replace(/\/$/, '');
  const routes = new Map<string, Route>();
  const add = (path: string, endpoint: Endpoint): void => {
    routes.set(path, routeTo(endpoint, context));
  };
  add(base + paths.introspection, ENDPOINTS.introspection);
  add(base + paths.revocation, ENDPOINTS.revocation);
  add(base + paths.token, ENDPOINTS.token);
  add(base + paths.jwks, ENDPOINTS.jwks);
  // The issuer's path goes behind the well-known path in RFC 8414 §3.1, before it in OpenID Discovery §4.1.
  add(`/.well-known/oauth-authorization-server${base}`, ENDPOINTS.metadata);
  if (registrationOptions !== undefined) {
    add(base + paths.registration, ENDPOINTS.registration);
    add(`${base}${paths.registration}/${ANY_SEGMENT}`, ENDPOINTS.clientConfiguration);
  }
  if (storage.pushedRequests !== undefined)
    add(base + paths.pushedAuthorizationRequest, ENDPOINTS.pushedAuthorizationRequest);
  if (oidc !== undefined) {
    add(base + paths.userInfo, ENDPOINTS.userInfo);
    add(`${base}/.well-known/openid-configuration`, ENDPOINTS.metadata);
  }
  return routes;
}
