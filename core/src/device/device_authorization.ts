// The device authorization endpoint, the grant of devices, and what the host's page needs. § refers to RFC 8628.
import { sha256 } from '#crypto';
import { type Approval, issueApproved, overtaken, refusalOf, revokeCode } from '../authorization/approval.ts';
import type { AccessRequest } from '../authorization/authorization_request.ts';
import type { Refusal } from '../authorization/authorization_response.ts';
import { readRequestedAccess } from '../authorization/parameters.ts';
import { boundTo } from '../authorization/pushed_authorization_request.ts';
import { type AuthorizationContext, keptParameters } from '../authorization/target.ts';
import { reportAudience } from '../clients/access.ts';
import { authenticateClient } from '../clients/authentication.ts';
import { noteUse, requireNamedClient, untrusted, withoutSecrets } from '../clients/client.ts';
import { checkProofAt, proofOfRequest } from '../confirmation/dpop.ts';
import { ConfigurationError, invalidRequest, OAuthError } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import { type Form, readForm, requireParameter, requireShortParameters } from '../http/form.ts';
import { type HttpRequest, type HttpResponse, jsonResponse } from '../http/http.ts';
import { secondsOf } from '../platform/environment.ts';
import { DEVICE_GRANT, type FurtherGrants } from '../protocol/client_metadata.ts';
import { type KindsOf, requireKinds, seconds } from '../protocol/option_kinds.ts';
import { PENDING_KINDS } from '../protocol/pending.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { endpointUrl } from '../protocol/redirect_uri.ts';
import type { Context } from '../request/context.ts';
import { callOf, type Endpoint, perform, report, reported } from '../request/serve.ts';
import { redeem, requireUnused } from '../token/authorization_code.ts';
import type { Grant } from '../token/grant.ts';
import { newOpaqueBody } from '../tokens/opaque_token.ts';
import {
  addRequest,
  type DeviceRow,
  decide,
  expired,
  find,
  findByDeviceCode,
  findByUserCode,
  isWaiting,
  mayUseGrant,
  poll,
  unknown,
} from './device_requests.ts';

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
   * @param similar an endpoint of the server
   * @returns the operations of the host, the endpoint and the grant of devices
   * @throws {ConfigurationError} a group of storage methods is missing
   */
  open(
    context: Context,
    similar: Endpoint,
  ): {
    readonly operations: DeviceOperations;
    readonly endpoint: Endpoint;
    readonly grants: FurtherGrants;
  };
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
    open(context, similar) {
      for (const group of ['pending', 'authorizationCodes'] as const)
        if (!context.storage.groups.has(group))
          throw new ConfigurationError('storage', `the methods of the group ${group}, because ${IS_SET}`);
      const endpoint: Endpoint = {
        ...similar,
        operation: 'device_authorization',
        needs: ['pending', 'authorizationCodes'],
        answer: (...given) => answer({ lifetime, interval }, ...given),
      };
      return {
        operations: new DeviceOperations(context, endpoint),
        endpoint,
        grants: { [DEVICE_GRANT]: deviceCode },
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

// ── The page on which users enter codes (§3.3) ─────────────────────────────────────────────────────────────

/** A request of a device that waits for a user. */
export interface DeviceRequest extends AccessRequest {
  /** Show it to the user, who has to recognize their own request (RFC 10027 §6.1). */
  readonly device: {
    readonly requestedAtMs: number;
    /** Where the request came from, if the host passes `place`: an IPv4 address, or the /64 of an IPv6 address. */
    readonly place?: string;
    /** Seconds since 1970 until which the user can decide. */
    readonly expiresAt: number;
  };
}

/** The parameter that names the row of a request. */
const REQUEST = 'device_request';

/**
 * The page on which users enter the codes of devices (§3.3). The host owns the page: it limits how often codes are tried,
 * finds the request, signs the user in and asks for consent, always. Then it approves or denies the request.
 *
 * @example
 * const request = await server.device?.find(form.get('user_code') ?? '');
 * // … sign the user in, show the client, what it requests, when and where from, and ask for consent …
 * if (request) await server.device?.approve(request, { subject: user.id });
 */
export class DeviceOperations {
  readonly #context: Context;
  readonly #endpoint: Endpoint;

  constructor(context: Context, endpoint: Endpoint) {
    this.#context = context;
    this.#endpoint = endpoint;
  }

  /** `POST /device_authorization` (§3.1). */
  authorize(request: HttpRequest): Promise<HttpResponse> {
    return perform(this.#endpoint, this.#context, request);
  }

  /**
   * Finds the request that waits with a user code. Limit the attempts for each user and address: there are 2^34 codes.
   * @param typed as the user typed it. Case, spaces and dashes do not matter (§6.1).
   * @param requestId the host's identifier of the HTTP request, for events
   * @returns `undefined` if there is none: the code is wrong, has expired, or its request was decided
   * @throws {OAuthError} the client may no longer make the request
   */
  find(typed: string, requestId?: string): Promise<DeviceRequest | undefined> {
    return this.#reported(requestId, undefined, async () => {
      const row = await findByUserCode(this.#context, typed);
      return row && this.#requestOf(row);
    });
  }

  /**
   * Rebuilds a request from its `parameters` on a later page of the host. Checks the client and the parameters again.
   * @param parameters `DeviceRequest.parameters`, from a place where users cannot change them
   * @param requestId the host's identifier of the HTTP request, for events
   * @throws {OAuthError} it was decided, has expired, or the client may no longer make it
   */
  resume(parameters: Readonly<Record<string, string>>, requestId?: string): Promise<DeviceRequest> {
    return this.#reported(requestId, undefined, async () => {
      const row = await find(this.#context, parameters[REQUEST] ?? '');
      if (row === undefined || !isWaiting(this.#context, row)) throw over();
      return this.#requestOf(row);
    });
  }

  /** Whether parameters are those of a request of a device. */
  isOfDevice(parameters: Readonly<Record<string, string>>): boolean {
    return Object.hasOwn(parameters, REQUEST);
  }

  /**
   * Approves a request. The device gets its tokens at its next poll.
   * @param requestId the host's identifier of the HTTP request, for events
   * @throws {OAuthError} as `authorization.complete`, without `redirectTo`: the user or the client has been disabled, the
   *   sign-in does not fit, or the request was decided before
   */
  approve(request: DeviceRequest, approval: Approval, requestId?: string): Promise<void> {
    const context = this.#context;
    const clientId = request.client.id;
    return this.#reported(requestId, clientId, async () => {
      const impossible = await refusalOf(context, request, approval);
      if (impossible !== undefined) throw asError(impossible, clientId);
      // Of a value that is not kept, so that only the row leads to the code.
      const id = await sha256(newOpaqueBody(context.random));
      const { expiresAt } = request.device;
      const code = { id, redirectUri: DEVICE_GRANT, redirectUriGiven: false, expiresAt };
      if (!(await issueApproved(context, request, approval, code))) throw asError(overtaken(), clientId);
      // Comes last: until then, a device cannot redeem the code.
      if (await decide(context, idOf(request), { decision: 'approved', codeId: id })) return;
      await revokeCode(context, id);
      throw over(clientId);
    });
  }

  /**
   * Denies a request. The device gets `access_denied` at its next poll.
   * @param requestId the host's identifier of the HTTP request, for events
   * @throws {OAuthError} it was decided before, or has expired
   */
  deny(request: DeviceRequest, requestId?: string): Promise<void> {
    const clientId = request.client.id;
    return this.#reported(requestId, clientId, async () => {
      if (!(await decide(this.#context, idOf(request), { decision: 'denied' }))) throw over(clientId);
      const denied = { code: 'access_denied', description: 'the user denied access' } as const;
      report(this.#context, asError({ ...denied, reason: 'consent_denied' }, clientId), callFor(requestId));
    });
  }

  async #requestOf(row: DeviceRow): Promise<DeviceRequest> {
    const { id, clientId, data } = row;
    const client = await requireNamedClient(this.#context, clientId);
    if (!mayUseGrant(client))
      throw untrusted('the client may not use the grant of devices', 'grant_not_allowed', { clientId });
    const access = await readRequestedAccess(this.#context, client, new Map(Object.entries(data.parameters)));
    const { requestedAtMs, place, codesExpireAt } = data;
    return {
      ...access,
      client: withoutSecrets(client),
      parameters: { [REQUEST]: id },
      device: { requestedAtMs, expiresAt: codesExpireAt, ...(place !== undefined && { place }) },
    };
  }

  #reported<T>(
    requestId: string | undefined,
    clientId: string | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    const call = { ...callFor(requestId), ...(clientId !== undefined && { clientId }) };
    return reported(this.#context, call, work);
  }
}

function callFor(requestId: string | undefined) {
  return callOf('device_authorization', { id: requestId });
}

function idOf({ parameters }: DeviceRequest): string {
  return parameters[REQUEST] ?? '';
}

/** The refusal of a request that is not there any more. */
function over(clientId?: string): OAuthError {
  return untrusted('no device waits for this answer', 'user_code_unknown', {
    ...(clientId !== undefined && { clientId }),
  });
}

function asError({ code, description, reason, value, cause }: Refusal, clientId: string): OAuthError {
  return new OAuthError(code, description, { reason, value, cause, clientId });
}
