// The device authorization endpoint, and the grant of devices. § refers to RFC 8628.
import { readRequestedAccess } from '../authorization/parameters.ts';
import { boundTo } from '../authorization/pushed_authorization_request.ts';
import { type AuthorizationContext, keptParameters } from '../authorization/target.ts';
import { reportAudience } from '../clients/access.ts';
import { authenticateClient } from '../clients/authentication.ts';
import { noteUse } from '../clients/client.ts';
import { checkProofAt, proofOfRequest } from '../confirmation/dpop.ts';
import { ConfigurationError, invalidRequest, OAuthError } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import { type Form, readForm, requireParameter, requireShortParameters } from '../http/form.ts';
import { type HttpRequest, type HttpResponse, jsonResponse } from '../http/http.ts';
import { secondsOf } from '../platform/environment.ts';
import { DEVICE_GRANT } from '../protocol/client_metadata.ts';
import { type KindsOf, requireKinds, seconds } from '../protocol/option_kinds.ts';
import { PENDING_KINDS } from '../protocol/pending.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { endpointUrl } from '../protocol/redirect_uri.ts';
import type { Context } from '../request/context.ts';
import type { Endpoint } from '../request/serve.ts';
import { redeem, requireUnused } from '../token/authorization_code.ts';
import type { Grant } from '../token/grant.ts';
import { tokenWith } from '../token/token.ts';
import {
  addRequest,
  type DeviceRow,
  expired,
  findByDeviceCode,
  mayUseGrant,
  poll,
  unknown,
} from './device_requests.ts';
import { DeviceOperations } from './verification.ts';

export interface DeviceAuthorizationOptions {
  /** Seconds until both codes expire. Default: 600 */
  readonly lifetime?: number;
  /** Seconds between two polls of a device. Default: 5 */
  readonly interval?: number;
}

const OPTIONS: KindsOf<DeviceAuthorizationOptions> = {
  // Rows stay an hour longer.
  lifetime: seconds(60, PENDING_KINDS.device_request.mostSeconds / 24),
  interval: seconds(1, 60),
};

/** What the option `deviceAuthorization` takes, as `deviceAuthorization()` returns it. */
export interface DeviceAuthorization {
  /**
   * @returns the operations for the host's page, and the endpoints
   * @throws {ConfigurationError} an option or a group of storage methods is missing
   */
  open(context: Context): {
    readonly operations: DeviceOperations;
    endpoints<E extends DeviceEndpoints>(endpoints: E): E & { readonly deviceAuthorization: Endpoint };
  };
}

/** The endpoints that devices use. */
interface DeviceEndpoints {
  readonly token: Endpoint;
  readonly pushedAuthorizationRequest: Endpoint;
}

/**
 * Lets devices without a browser sign users in, such as command lines and television sets: they show a short code, which
 * the user enters on another device (RFC 8628). Clients also need the grant type
 * `urn:ietf:params:oauth:grant-type:device_code`.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * new AuthorizationServer({ ...options, deviceAuthorization: deviceAuthorization() });
 */
export function deviceAuthorization(options: DeviceAuthorizationOptions = {}): DeviceAuthorization {
  requireKinds(options, OPTIONS, 'deviceAuthorization');
  const { lifetime = 600, interval = 5 } = options;
  return {
    open(context) {
      for (const group of ['pending', 'authorizationCodes'] as const)
        if (!context.storage.groups.has(group))
          throw new ConfigurationError('storage', `the methods of the group ${group}, because ${IS_SET}`);
      return {
        operations: new DeviceOperations(context),
        endpoints: (endpoints) => ({
          ...endpoints,
          token: { ...endpoints.token, answer: tokenWith(deviceCode) },
          deviceAuthorization: {
            ...endpoints.pushedAuthorizationRequest,
            operation: 'device_authorization',
            needs: ['pending', 'authorizationCodes'],
            answer: (...given) => answer({ lifetime, interval }, ...given),
          },
        }),
      };
    },
  };
}

const IS_SET = 'the option deviceAuthorization is set';

const ENDPOINT = 'deviceAuthorization';
const checkProof = checkProofAt(ENDPOINT);

/** `POST /device_authorization` (§3.1). */
async function answer(
  { lifetime, interval }: Required<DeviceAuthorizationOptions>,
  context: AuthorizationContext,
  request: HttpRequest,
  call: Call,
): Promise<HttpResponse> {
  // §3.1 authenticate the client
  const form = readForm(request);
  const client = await authenticateClient(context, request, form, call, checkProof);
  reportAudience(context, form, call);
  if ((form.get('client_id') ?? client.id) !== client.id)
    throw invalidRequest('the client_id is not the authenticated client', 'parameter_invalid');
  requireGrant(client);

  // The request gets the same validation as at the authorization endpoint.
  const proof = await proofOfRequest(context, request, client, ENDPOINT);
  await proof?.useUp();
  const parameters = boundTo(proof?.jkt, requestPartOf(form));
  requireShortParameters(parameters);
  const access = await readRequestedAccess(context, client, parameters);
  const kept = keptParameters(parameters, { ...access, redirectUri: '', redirectUriGiven: true });
  await noteUse(context, client, secondsOf(context.clock()) + lifetime);

  // §3.2
  const { deviceCode, userCode } = await addRequest(context, client.id, {
    parameters: Object.fromEntries(kept),
    codesExpireAt: secondsOf(context.clock()) + lifetime,
    interval,
    ...(request.place !== undefined && { place: request.place }),
  });
  const page = endpointUrl(context.issuer, context.paths.device);
  return jsonResponse({
    device_code: deviceCode,
    user_code: userCode,
    verification_uri: page,
    verification_uri_complete: `${page}?${new URLSearchParams({ user_code: userCode })}`,
    expires_in: lifetime,
    interval,
  });
}

function requireGrant(client: ClientRecord): void {
  if (mayUseGrant(client)) return;
  throw new OAuthError('unauthorized_client', 'the client may not use the grant of devices', {
    reason: 'grant_not_allowed',
    value: DEVICE_GRANT,
  });
}

/** What a request may say. Other parameters are ignored (§3.1): a device can neither choose the pages nor the user. */
const PARAMETERS: readonly string[] = [
  ...['scope', 'resource', 'authorization_details', 'dpop_jkt'],
  ...['acr_values', 'max_age', 'claims', 'ui_locales'],
];

function requestPartOf(form: Form): Form {
  return new Map([...form].filter(([name]) => PARAMETERS.includes(name)));
}

/** Redeems a device code (§3.4). It has an authorization code, which only the server knows (ADR 171). */
const deviceCode: Grant<DeviceRow | undefined> = {
  lookUp: async (context, form) => findByDeviceCode(context, requireParameter(form, 'device_code')),
  async issue(context, client, form, call, proofs, row) {
    if (row === undefined) throw unknown();
    if (row.clientId !== client.id) throw unknown('device_code_foreign');
    requireGrant(client);
    const record = await context.storage.authorizationCodes.get(await poll(context, row));
    if (record === undefined) throw unknown();
    await requireUnused(context, record, call, proofs);
    if (record.expiresAt <= secondsOf(context.clock())) throw expired();
    return redeem(context, client, form, call, proofs, record);
  },
};
