import type { OAuthError } from './oauth_error.ts';

/** One challenge of a `WWW-Authenticate` header (RFC 9110 §11.6.1). */
export interface Challenge {
  readonly scheme: string;
  readonly parameters: Readonly<Record<string, string | undefined>>;
}

/** A list, so that further schemes can join. */
export function formatChallenges(challenges: readonly Challenge[]): string {
  return challenges.map(formatChallenge).join(', ');
}

function formatChallenge({ scheme, parameters }: Challenge): string {
  const written = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${value.replaceAll(/["\\]/g, '\\$&')}"`],
  );
  return written.length === 0 ? scheme : `${scheme} ${written.join(', ')}`;
}

/** Challenges for a resource that takes bearer tokens (RFC 6750 §3). */
export function bearerChallenges(error: OAuthError, resource?: ChallengingResource): readonly Challenge[] {
  const { code, description, scope } = error;
  return [
    {
      scheme: 'Bearer',
      parameters: {
        realm: resource?.realm,
        error: code,
        error_description: description,
        scope,
        resource_metadata: resource?.resourceMetadata,
      },
    },
  ];
}

/** The challenge for a request without any credentials, which says nothing of an error (RFC 6750 §3.1). */
export function bareBearerChallenges({ realm, resourceMetadata }: ChallengingResource): readonly Challenge[] {
  return [{ scheme: 'Bearer', parameters: { realm, resource_metadata: resourceMetadata } }];
}

/** What a challenge says of the resource itself. */
export interface ChallengingResource {
  readonly realm: string;
  /** URL of the resource's own metadata (RFC 9728 §5.1). */
  readonly resourceMetadata?: string | undefined;
}

/** Challenges for an endpoint that authenticates clients (RFC 6749 §5.2). */
export function clientChallenges(realm: string): readonly Challenge[] {
  return [{ scheme: 'Basic', parameters: { realm, charset: 'UTF-8' } }];
}
