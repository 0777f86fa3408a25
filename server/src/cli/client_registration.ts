import {
  GRANT_TYPES,
  type GrantType,
  isRegistrableRedirectUri,
  isScopeToken,
  type NewClient,
} from '@grantd/core';
import type { GivenFlags } from '../config/configuration.ts';
import { BadUsage } from './exit.ts';

export interface ClientAddFlags extends GivenFlags {
  readonly secretStdin?: true;
  readonly public?: true;
  readonly name?: string;
  readonly grant?: readonly string[];
  readonly scope?: readonly string[];
  readonly redirectUri?: readonly string[];
  readonly resource?: string;
}

/**
 * A registration as the flags describe it, without its secret.
 * @throws {BadUsage} it would not work, or would not be safe
 */
export function registrationOf(id: string, flags: ClientAddFlags): NewClient {
  if (!/^[\x21-\x7E]{1,200}$/.test(id))
    throw new BadUsage('ID: expected visible ASCII characters, at most 200');
  if (flags.public && flags.secretStdin) throw new BadUsage('a --public client has no secret');
  const redirectUris = flags.redirectUri ?? [];
  const scopes = [...new Set(flags.scope?.flatMap((scope) => scope.split(' ')) ?? [])];
  const { name, resource } = flags;

  if (name !== undefined && !/^[^\p{C}]{1,200}$/u.test(name))
    throw new BadUsage('--name: expected visible characters, at most 200');
  if (!scopes.every(isScopeToken)) throw new BadUsage('--scope: expected a scope (RFC 6749 §3.3)');
  if (!redirectUris.every(isRegistrableRedirectUri))
    throw new BadUsage('--redirect-uri: expected an absolute URI without fragment');
  if (resource !== undefined && !isResource(resource))
    throw new BadUsage('--resource: expected an absolute URI without fragment (RFC 8707 §2)');

  const grantTypes = flags.grant?.map(grantType) ?? usualGrants(flags);
  requireWorkableGrants(grantTypes, redirectUris, flags.public === true);
  return {
    id,
    ...(name !== undefined && { name }),
    grantTypes: [...new Set(grantTypes)],
    scopes,
    redirectUris: [...new Set(redirectUris)],
    ...(resource !== undefined && { resource }),
  };
}

/** What is meant where nobody said it: an application of people, an API, or a machine. */
function usualGrants({ redirectUri, resource, public: isPublic }: ClientAddFlags): readonly GrantType[] {
  if (redirectUri !== undefined) return ['authorization_code', 'refresh_token'];
  return resource !== undefined || isPublic ? [] : ['client_credentials'];
}

function requireWorkableGrants(
  grants: readonly GrantType[],
  redirectUris: readonly string[],
  isPublic: boolean,
): void {
  if (grants.includes('authorization_code') && redirectUris.length === 0)
    throw new BadUsage('--grant authorization_code needs a --redirect-uri');
  if (grants.includes('refresh_token') && !grants.includes('authorization_code'))
    throw new BadUsage('--grant refresh_token needs --grant authorization_code');
  if (grants.includes('client_credentials') && isPublic)
    throw new BadUsage('--grant client_credentials needs a confidential client (RFC 6749 §4.4)');
}

function grantType(text: string): GrantType {
  const found = GRANT_TYPES.find((grant) => grant === text);
  if (found === undefined) throw new BadUsage(`--grant: expected one of ${GRANT_TYPES.join(', ')}`);
  return found;
}

function isResource(uri: string): boolean {
  return URL.canParse(uri) && !/[#\s]/.test(uri);
}
