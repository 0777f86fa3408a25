// Around the host's page on which users enter the codes of devices. § refers to RFC 8628.
import { sha256 } from '#crypto';
import { type Approval, issueApproved, overtaken, refusalOf, revokeCode } from '../authorization/approval.ts';
import type { AccessRequest } from '../authorization/authorization_request.ts';
import type { Refusal } from '../authorization/authorization_response.ts';
import { readRequestedAccess } from '../authorization/parameters.ts';
import type { AuthorizationContext } from '../authorization/target.ts';
import { requireNamedClient, untrusted, withoutSecrets } from '../clients/client.ts';
import { OAuthError } from '../http/errors.ts';
import { DEVICE_GRANT } from '../protocol/client_metadata.ts';
import { callOf, report, reported } from '../request/serve.ts';
import { newOpaqueBody } from '../tokens/opaque_token.ts';
import { type DeviceRow, decide, find, findByUserCode, isWaiting, mayUseGrant } from './device_requests.ts';

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
  readonly #context: AuthorizationContext;

  constructor(context: AuthorizationContext) {
    this.#context = context;
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
