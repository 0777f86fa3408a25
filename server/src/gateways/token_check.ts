// `GET /token/check`: tells a gateway by the status whether a request may pass (ADR 176, docs/gateways.md).
import type { ServerResponse } from 'node:http';
import {
  type AdministrableStorage,
  type AuthorizationServer,
  type ClientRecord,
  type HttpRequest,
  hasResource,
  OAuthError,
} from '@grantd/core';
import { type NodeRequest, plainAddress } from '@grantd/core/node';
import {
  type AccessTokens,
  AuthorizationServerFault,
  EmbeddedAccessTokens,
  type EmbeddedAccessTokensOptions,
  type VerifiedAccessToken,
} from '@grantd/protect';
import type { NodeProtectionOptions } from '@grantd/protect/node';
import { networkCheck } from '../config/networks.ts';
import type { Settings } from '../config/options.ts';
import { requireApi } from '../follow/feed.ts';
import type { Guesses } from '../limits/guesses.ts';
import type { RequestLog } from '../log/log.ts';
import { actingWith } from '../people/acting.ts';
import { admitted, letPass, type Requirements, refuse, requirementsOf } from './exchange.ts';

/** Below the issuer. */
const CHECK_PATH = '/token/check';

/** Has the gateway's credentials, because `Authorization` has the token. */
const CLIENT_HEADER = 'x-grantd-client';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

interface CheckParts {
  readonly storage: AdministrableStorage;
  readonly server: AuthorizationServer;
  readonly requestLog: RequestLog;
  readonly guesses: Guesses;
  readonly settings: Pick<
    Settings,
    'tokenCheckFrom' | 'tokenCheckAudiences' | 'tokenCheckRequest' | 'tokenCheckHeaders'
  >;
  /** Of the gateway. */
  readonly clientCertificate?: ((request: NodeRequest) => HttpRequest['clientCertificate']) | undefined;
  /** Of the gateway’s client, as the gateway says. */
  readonly originalCertificate?: ((request: NodeRequest) => HttpRequest['clientCertificate']) | undefined;
}

/** The request that the gateway has received. */
interface OriginalRequest {
  readonly method: string;
  readonly origin: string;
  /** Path and query. */
  readonly target: string;
}

export class TokenCheck {
  readonly #parts: CheckParts;
  /** Of its requests. */
  readonly path: string;
  readonly #isTrustedAddress: (address: string) => boolean;

  constructor(parts: CheckParts) {
    this.#parts = parts;
    this.path = new URL(parts.server.issuer).pathname.replace(/\/$/, '') + CHECK_PATH;
    this.#isTrustedAddress = networkCheck(parts.settings.tokenCheckFrom ?? []);
  }

  async answer(request: NodeRequest, response: ServerResponse, requestId: string): Promise<void> {
    const { requestLog, guesses, settings } = this.#parts;
    const about = (more: object) => requestLog.about({ requestId, operation: 'token_check', ...more });
    about({});
    try {
      const requirements = requirementsOf(request);
      const gateway = await this.#gatewayOf(request, requestId);
      about({ clientId: gateway?.id });
      const token = await guesses.ofGateway(
        gateway?.id ?? connectionAddress(request),
        request.headers.authorization,
        requestId,
        () => this.#tokenOf(request, response, requirements, gateway),
      );
      letPass(request, response, token, {
        status: requirements.acceptance,
        claims: settings.tokenCheckHeaders,
      });
    } catch (thrown) {
      const error = thrown instanceof AuthorizationServerFault ? thrown.cause : thrown;
      about({ reason: error instanceof OAuthError ? error.reason : 'storage_unavailable' });
      const { status } = refuse(request, response, error);
      if (status >= 500)
        requestLog.failure(requestId, status === 503 ? 'storage_unavailable' : 'unexpected', error);
    }
  }

  /**
   * The client of a gateway. `undefined` for a trusted address.
   * @throws {OAuthError} 403, never 401, which the gateway would pass to its own client
   */
  async #gatewayOf(request: NodeRequest, id: string): Promise<ClientRecord | undefined> {
    const { server, guesses, clientCertificate } = this.#parts;
    const given = request.headers[CLIENT_HEADER];
    if (given === undefined) {
      if (this.#isTrustedAddress(connectionAddress(request))) return undefined;
      throw unknownGateway('credentials_missing');
    }
    const certificate = clientCertificate?.(request);
    const credentials = credentialsIn([given].flat().join(', '));
    try {
      const asClient = {
        ...{ id, method: 'POST', url: CHECK_PATH, ...credentials },
        ...(certificate !== undefined && { clientCertificate: certificate }),
      };
      const client = await guesses.authenticate('token_check', asClient, (it) =>
        server.authenticateClient(it),
      );
      requireApi(client);
      return client;
    } catch (error) {
      if (error instanceof OAuthError && error.status < 429)
        throw unknownGateway(error.reason, error.clientId);
      throw error;
    }
  }

  /** @throws {OAuthError} the token does not permit the request; with the challenge in its headers */
  async #tokenOf(
    request: NodeRequest,
    response: ServerResponse,
    { scopes, audience: wanted }: Requirements,
    gateway: ClientRecord | undefined,
  ): Promise<VerifiedAccessToken> {
    const { server, settings, storage, requestLog, originalCertificate } = this.#parts;
    let acting: ReturnType<typeof actingWith>;
    const noting = {
      accessTokens: {
        async verify(...presented: Parameters<typeof server.accessTokens.verify>) {
          const found = await server.accessTokens.verify(...presented);
          acting = actingWith(found.record);
          return found;
        },
      },
    };
    const tokens = audienceTokens(
      { issuer: server.issuer, ...noting },
      this.#audienceOf(wanted, gateway),
      wanted !== undefined,
    );
    const original = ORIGINALS[settings.tokenCheckRequest](request);
    const options: NodeProtectionOptions = {
      ...{ tokens, scopes },
      clientCertificate: () => originalCertificate?.(request),
      ...(original !== undefined && {
        dpop: {
          baseUrl: original.origin,
          takeOnce: (jti, keepUntil) => storage.oneTimeIdentifiers.take(`token_check ${jti}`, keepUntil),
        },
      }),
    };
    const { headers, rawHeaders } = request;
    const { method = 'GET', target: url = '/' } = original ?? {};
    const judged = { headers, rawHeaders, method, url };
    const token = await admitted(options, judged, response);
    // A refused token was not used.
    if (acting !== undefined) requestLog.used(acting);
    return token;
  }

  /** @throws {OAuthError} the gateway may not ask for this audience */
  #audienceOf(wanted: string | undefined, gateway: ClientRecord | undefined): string {
    const own = gateway?.resource;
    const audience = wanted ?? own;
    if (audience === undefined)
      throw new OAuthError('invalid_request', 'a gateway without a client needs the parameter audience', {
        reason: 'parameter_missing',
      });
    const allowed = [
      ...(this.#parts.settings.tokenCheckAudiences ?? []),
      ...(own === undefined ? [] : [own]),
    ];
    if (hasResource(allowed, audience)) return audience;
    throw new OAuthError('unauthorized_client', 'the gateway may not check tokens for this audience', {
      ...{ status: 403, reason: 'resource_not_allowed', value: audience },
      ...(gateway !== undefined && { clientId: gateway.id }),
    });
  }
}

/** A gateway reports the address of its own client in X-Forwarded-For. */
function connectionAddress({ socket }: NodeRequest): string {
  return plainAddress(socket.remoteAddress ?? '') ?? '';
}

/** HTTP Basic, or the identifier alone for a client that authenticates by its certificate. */
function credentialsIn(text: string): Pick<HttpRequest, 'headers' | 'body'> {
  if (/^basic\b/i.test(text)) return { headers: { ...FORM, authorization: text }, body: '' };
  return { headers: FORM, body: new URLSearchParams({ client_id: text }).toString() };
}

function unknownGateway(reason: OAuthError['reason'], clientId?: string): OAuthError {
  return new OAuthError('unauthorized_client', 'the gateway may not check tokens', {
    status: 403,
    ...(reason !== undefined && { reason }),
    ...(clientId !== undefined && { clientId }),
  });
}

/** @param isNamed whether the gateway has named the audience, as it names scopes */
function audienceTokens(
  server: EmbeddedAccessTokensOptions['server'],
  audience: string,
  isNamed: boolean,
): AccessTokens {
  const tokens = new EmbeddedAccessTokens({ server, audience });
  if (!isNamed) return tokens;
  return {
    async verify(...presented) {
      try {
        return await tokens.verify(...presented);
      } catch (error) {
        if (!(error instanceof OAuthError) || error.reason !== 'audience_wrong') throw error;
        throw new OAuthError('insufficient_scope', error.description, { reason: error.reason });
      }
    },
  };
}

/** Where a gateway puts the method and the URL of the request that it has received. */
const ORIGINALS: Readonly<
  Record<Settings['tokenCheckRequest'], (request: NodeRequest) => OriginalRequest | undefined>
> = {
  none: () => undefined,
  original: (request) => originalOf(textOf(request, 'x-original-method'), textOf(request, 'x-original-url')),
  forwarded: (request) => {
    const [proto, host, uri] = ['proto', 'host', 'uri'].map((name) => textOf(request, `x-forwarded-${name}`));
    return originalOf(textOf(request, 'x-forwarded-method'), `${proto}://${host}${uri}`);
  },
};

/** @throws {OAuthError} `invalid_request`: the gateway does not pass what it should */
function textOf({ headers }: NodeRequest, name: string): string {
  const value = headers[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new OAuthError('invalid_request', `the header ${name} is missing`, { reason: 'parameter_missing' });
}

function originalOf(method: string, url: string): OriginalRequest {
  const [, start = '', target = ''] = /^(https?:\/\/[^/?#@\s]+)([^#]*)$/i.exec(url) ?? [];
  const origin = URL.parse(start)?.origin;
  if (origin !== undefined) return { method, origin, target: target.startsWith('/') ? target : `/${target}` };
  throw new OAuthError('invalid_request', 'the gateway passes no URL of the original request', {
    reason: 'parameter_invalid',
  });
}
