// The API and the client of the measured servers. They are those of `grantd serve --demo`.

export const AUDIENCE = 'http://localhost:4003';

/** At oidc-provider, tokens for this resource can be introspected. */
export const OPAQUE_AUDIENCE = 'http://localhost:4003/opaque';

export const API = { clientId: 'demo-api', clientSecret: 'demo-api-secret' };

/** Gets tokens for itself, and revokes them. */
export const MACHINE = { clientId: 'demo-machine', clientSecret: 'demo-machine-secret' };
