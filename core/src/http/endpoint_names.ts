// The endpoints of the server: their names in events, and their paths.

/** What a request is for, in events. */
export type Operation =
  | 'introspection'
  | 'revocation'
  | 'userinfo'
  | 'token'
  | 'client_authentication'
  | 'authorization'
  | 'logout'
  | 'pushed_authorization_request'
  | 'device_authorization'
  | 'registration'
  | 'client_configuration'
  | 'metadata'
  | 'jwks';

/** Paths below the issuer, unless the host chooses others. */
export const DEFAULT_PATHS = {
  token: '/token',
  introspection: '/token/introspect',
  revocation: '/token/revoke',
  userInfo: '/userinfo',
  authorization: '/authorize',
  endSession: '/logout',
  pushedAuthorizationRequest: '/par',
  deviceAuthorization: '/device_authorization',
  /** The page on which users enter the codes of devices. */
  device: '/device',
  jwks: '/jwks',
  /** The registration endpoint. Each client's own URL is below it. */
  registration: '/register',
};

export type EndpointPaths = Readonly<Record<keyof typeof DEFAULT_PATHS, string>>;
