// The table of all endpoints, and their paths.
import { pushedAuthorizationRequest } from '../authorization/pushed_authorization_request.ts';
import { proofAlgorithms } from '../confirmation/dpop_proof.ts';
import { jwks, metadata } from '../discovery/metadata.ts';
import {
  bearerChallenges,
  type Challenge,
  clientChallenges,
  dpopChallenges,
  schemeOf,
} from '../http/bearer.ts';
import type { OAuthError } from '../http/errors.ts';
import { type HttpRequest, headerValue } from '../http/http.ts';
import { introspection } from '../introspection/introspection.ts';
import { clientConfiguration, registration } from '../registration/registration.ts';
import type { Context } from '../request/context.ts';
import {
  ANY_SEGMENT,
  type ChallengeContext,
  type Endpoint,
  isOffered,
  type Route,
  type Routes,
  routeTo,
} from '../request/serve.ts';
import { revocation } from '../revocation/revocation.ts';
import { token } from '../token/token.ts';
import { userInfo } from '../userinfo/userinfo.ts';

const clientChallenge = (context: ChallengeContext, error: OAuthError) =>
  error.status === 401 ? clientChallenges(context.issuer) : [];
const bearerChallenge = (_context: unknown, error: OAuthError) =>
  error.status === 401 ? bearerChallenges(error) : [];

/** Every error has the Bearer challenge. DPoP joins if the request used it, should have, or had no token (RFC 9449 §7.1). */
function accessTokenChallenge(
  { dpopAlgorithms }: ChallengeContext,
  error: OAuthError,
  request: HttpRequest,
): readonly Challenge[] {
  const used = schemeOf(headerValue(request, 'authorization')) ?? 'Bearer';
  const { reason } = error;
  const concernsDpop = used === 'DPoP' || reason === 'token_bound' || reason === 'access_token_missing';
  if (dpopAlgorithms.length === 0 || !concernsDpop) return bearerChallenges(error);
  return dpopChallenges(error, used, proofAlgorithms(dpopAlgorithms));
}

/** Clients authenticate there, and web pages of clients may read the responses. */
const OF_CLIENTS = { methods: ['POST'], crossOrigin: 'clients', challenges: clientChallenge } as const;

const OF_REGISTRATION = {
  needs: ['registration'],
  crossOrigin: 'anyone',
  challenges: bearerChallenge,
} as const;

/** Anyone may read it. */
const PUBLISHED = {
  needs: ['issuing'],
  methods: ['GET', 'HEAD'],
  crossOrigin: 'anyone',
  challenges: () => [],
} as const;

/** Adding an endpoint takes an entry here and a path in `routesOf`. */
export const ENDPOINTS = {
  introspection: {
    operation: 'introspection',
    needs: [],
    ...OF_CLIENTS,
    crossOrigin: 'off',
    answer: introspection,
  },
  revocation: {
    operation: 'revocation',
    needs: [],
    ...OF_CLIENTS,
    answer: revocation,
  },
  userInfo: {
    operation: 'userinfo',
    needs: [],
    methods: ['GET', 'HEAD', 'POST'],
    crossOrigin: 'clients',
    challenges: accessTokenChallenge,
    acceptsDpop: true,
    answer: userInfo,
  },
  token: {
    operation: 'token',
    needs: ['issuing'],
    ...OF_CLIENTS,
    acceptsDpop: true,
    answer: token,
  },
  pushedAuthorizationRequest: {
    operation: 'pushed_authorization_request',
    needs: ['pending', 'oneTimeIdentifiers', 'authorizationCodes'],
    ...OF_CLIENTS,
    acceptsDpop: true,
    answer: pushedAuthorizationRequest,
  },
  registration: {
    operation: 'registration',
    ...OF_REGISTRATION,
    methods: ['POST'],
    answer: registration,
  },
  clientConfiguration: {
    operation: 'client_configuration',
    ...OF_REGISTRATION,
    methods: ['GET', 'HEAD', 'PUT', 'DELETE'],
    answer: clientConfiguration,
  },
  metadata: {
    operation: 'metadata',
    ...PUBLISHED,
    answer: metadata,
  },
  jwks: {
    operation: 'jwks',
    ...PUBLISHED,
    answer: jwks,
  },
} as const satisfies Record<string, Endpoint>;

/** The table of one server. */
export type Endpoints = Readonly<Record<keyof typeof ENDPOINTS, Endpoint>> & {
  readonly deviceAuthorization?: Endpoint;
};

/**
 * Returns the endpoints by path, as far as the storage serves them. The authorization endpoint is missing, because it is
 * the host's own page.
 */
export function routesOf(context: Context, endpoints: Endpoints): Routes {
  const { issuer, paths, oidc, registration: registrationOptions } = context;
  const base = new URL(issuer).pathname.replace(/\/$/, '');
  const routes = new Map<string, Route>();
  const add = (path: string, endpoint: Endpoint): void => {
    if (isOffered(endpoint, context)) routes.set(path, routeTo(endpoint, context));
  };
  add(base + paths.introspection, endpoints.introspection);
  add(base + paths.revocation, endpoints.revocation);
  add(base + paths.token, endpoints.token);
  add(base + paths.jwks, endpoints.jwks);
  // The issuer's path goes behind the well-known path in RFC 8414 §3.1, before it in OpenID Discovery §4.1. Clients of
  // each try the name of the other too.
  const addMetadata = (name: string) => {
    add(`/.well-known/${name}${base}`, endpoints.metadata);
    add(`${base}/.well-known/${name}`, endpoints.metadata);
  };
  addMetadata('oauth-authorization-server');
  add(base + paths.pushedAuthorizationRequest, endpoints.pushedAuthorizationRequest);
  if (endpoints.deviceAuthorization) add(base + paths.deviceAuthorization, endpoints.deviceAuthorization);
  if (registrationOptions !== undefined) {
    add(base + paths.registration, endpoints.registration);
    add(`${base}${paths.registration}/${ANY_SEGMENT}`, endpoints.clientConfiguration);
  }
  if (oidc !== undefined) {
    add(base + paths.userInfo, endpoints.userInfo);
    addMetadata('openid-configuration');
  }
  return routes;
}
