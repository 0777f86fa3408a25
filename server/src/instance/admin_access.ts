// The scopes of the admin API, and the clients that may have them.
import {
  type AdministrableClients,
  type ApiRecord,
  hasResource,
  isUnchecked,
  type NewClient,
  unguarded,
} from '@grantd/core';

/** The scopes of the admin API, with what they allow. */
export const ADMIN_SCOPES = {
  'grantd:clients:read': 'List and show clients.',
  'grantd:clients:write': 'Add, change and remove clients, and rotate their secrets.',
  'grantd:users:read': 'List and show users, and their sessions.',
  'grantd:users:write': 'Add, change, disable and remove users, and end their sessions.',
  'grantd:groups:read': 'List and show groups.',
  'grantd:groups:write': 'Add, change and remove groups, and their members.',
  'grantd:scopes:read': 'List and show the texts of scopes.',
  'grantd:scopes:write': 'Add, change and remove the texts of scopes.',
  'grantd:keys:read': 'List signing keys, without their private parts.',
  'grantd:keys:write': 'Rotate signing keys.',
  'grantd:tokens:read': 'Explain tokens, and count live ones.',
  'grantd:tokens:write': 'Revoke tokens.',
  'grantd:mail:read': 'List emails that wait.',
  'grantd:mail:write': 'Retry emails, and send test emails.',
  'grantd:secrets:read': 'Show what depends on the secrets of the server, without the secrets.',
  'grantd:secrets:write': 'Rotate and drop secrets of the server.',
  'grantd:events:read': 'List events, and verify the audit trail.',
  'grantd:events:write': 'Begin a new chain of hashes of the audit trail.',
  'grantd:config:read': 'Show the configuration without secrets, and the health of the server.',
} as const;

export type AdminScope = keyof typeof ADMIN_SCOPES;

export function isAdminScope(scope: string): scope is AdminScope {
  return Object.hasOwn(ADMIN_SCOPES, scope);
}

/** The scopes that the pages explain with texts of their own. */
export const EXPLAINED_SCOPES: readonly string[] = [
  'openid',
  'profile',
  'email',
  'phone',
  'address',
  'offline_access',
];

/** The audience of tokens for the admin API. */
export function adminAudience(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/admin`;
}

/** The client ID of the admin API. No client can be registered with it. */
export const ADMIN_CLIENT_ID = 'grantd';

/** The admin API as clients request it. It is not stored, so that no client can be removed or changed in its place. */
function adminApi(issuer: string): ApiRecord {
  return { clientId: ADMIN_CLIENT_ID, resource: adminAudience(issuer), scopes: Object.keys(ADMIN_SCOPES) };
}

/** Adds the admin API to the APIs of the registered clients. */
export function withAdminApi(clients: AdministrableClients, issuer: string): AdministrableClients {
  const api = adminApi(issuer);
  const { findApis } = clients;
  return unguarded(
    {
      ...clients,
      async findApis(named) {
        const isNamed =
          hasResource(named.resources, api.resource) || named.scopes.some((scope) => isAdminScope(scope));
        const found = (await findApis?.(named)) ?? [];
        return isNamed ? [...found, api] : found;
      },
    },
    clients,
  );
}

/**
 * Whether a URI could be taken for another one. Unlike `isSameResource`, it ignores everything that a proxy, a library or
 * a person may change: the scheme, the query, slashes, case, and percent-encoding.
 */
function isLike(uri: string | undefined, other: string): boolean {
  return uri !== undefined && looseForm(uri) === looseForm(other);
}

function looseForm(uri: string): string {
  const { hostname = '', port = '', pathname = uri } = URL.parse(uri) ?? {};
  const path = pathname.replaceAll(/%([0-7][0-9a-f])/gi, (_, code) =>
    String.fromCharCode(parseInt(code, 16)),
  );
  return `${hostname.replace(/\.$/, '')}:${port}${path}`
    .toLowerCase()
    .replaceAll(/\/+/g, '/')
    .replace(/\/$/, '');
}

/**
 * Why a client cannot have what it is to be registered for. A client that no operator added could change itself, and users
 * must be in a group that the operator names.
 * @returns `undefined` if it can
 */
export function adminProblem(
  issuer: string,
  client: NewClient,
): { readonly member: string; readonly problem: string } | undefined {
  const { resource, scopes, grantTypes, metadata = {} } = client;
  const audience = adminAudience(issuer);
  if (isLike(resource, audience))
    return { member: 'resource', problem: `${audience} is the admin API of this server` };
  if (isLike(resource, issuer))
    return { member: 'resource', problem: `${issuer} is this server, whose own tokens have it as audience` };
  const declared = metadata.api_scopes?.find(isAdminScope);
  if (declared !== undefined)
    return { member: 'api_scopes', problem: `${declared} is a scope of this server’s admin API` };
  const isForAdmin = hasResource(metadata.apis ?? [], audience);
  if (!isForAdmin && !scopes.some(isAdminScope)) return undefined;
  const member = isForAdmin ? 'apis' : 'scope';
  if (isUnchecked(client))
    return { member, problem: 'only a client that an operator added can use the admin API' };
  const isForUsers = grantTypes.some((grant) => grant !== 'client_credentials');
  if (isForUsers && metadata.allowed_groups === undefined)
    return {
      member,
      problem:
        'a client for users can use the admin API only if it is for a group of administrators (allowed_groups)',
    };
  return undefined;
}
