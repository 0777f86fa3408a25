import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIP } from 'node:net';
import {
  type AdministrableStorage,
  type AuthorizationServer,
  type ClientRepository,
  type HttpRequest,
  type HttpResponse,
  MAX_BODY_BYTES,
} from '@grantd/core';
import { plainAddress, toHttpRequest } from '@grantd/core/node';
import type { HttpBindings } from '@hono/node-server';
import type { Context, MiddlewareHandler } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { parseNetwork } from '../config/options.ts';
import type { Picture } from '../config/picture.ts';
import type { Consents, ScopeTexts } from '../data/consents.ts';
import type { Sessions } from '../data/sessions.ts';
import type { RequestLog } from '../log/request_log.ts';
import type { ConsentWithdrawal } from '../people/consents.ts';
import type { NotifyClients, SessionEnding } from '../people/sessions.ts';
import type { SignInParts } from '../people/sign_in.ts';
import type { Brand } from './brand.ts';
import type { BrowserSessions } from './browser_sessions.ts';
import type { FormTokens, KnownBrowsers, PendingRequests, SealedValues } from './browser_state.ts';
import type { Logos } from './logos.ts';

/** What every page works with. */
export interface PageParts {
  readonly server: AuthorizationServer;
  readonly clients: Pick<ClientRepository, 'get'>;
  readonly grants: Pick<AdministrableStorage, 'grantsOf'>;
  readonly browserSessions: BrowserSessions;
  readonly sessions: Sessions;
  readonly sessionEnding: SessionEnding;
  readonly consents: Consents;
  readonly scopeTexts: Pick<ScopeTexts, 'list'>;
  readonly withdrawal: ConsentWithdrawal;
  readonly formTokens: FormTokens;
  readonly knownBrowsers: KnownBrowsers;
  readonly pendingRequests: PendingRequests;
  /** What a page says of what was done on the way to it. */
  readonly notices: SealedValues;
  readonly signInParts: SignInParts;
  readonly clientAddress: ClientAddress;
  readonly requestLog: RequestLog;
  readonly notifyClients: NotifyClients;
  /** Who runs this server. */
  readonly operator: Brand;
  readonly operatorLogo: Picture | undefined;
  readonly logos: Logos;
  /** Path of the issuer, without a slash at its end. */
  readonly basePath: string;
  /** Milliseconds. */
  readonly clock: () => number;
}

export interface PageEnvironment {
  Bindings: HttpBindings & { incoming: { id?: string } };
  Variables: {
    /** The request as the library wants it, its body read. */
    plain: HttpRequest;
  };
}

export type PageContext = Context<PageEnvironment>;

export function requestIdOf(c: PageContext): string {
  return c.env.incoming.id ?? '';
}

/**
 * Reads each request as the library wants it, by the library's own adapter, which reads no further than just past the
 * limit.
 * @param refuse answers a request whose body is too long
 */
export function readRequest(
  refuse: (c: PageContext) => Promise<Response>,
): MiddlewareHandler<PageEnvironment> {
  return async (c, next) => {
    const { incoming } = c.env;
    try {
      c.set('plain', await toHttpRequest(incoming));
    } catch (error) {
      // The browser went away in the middle of its request: nobody is left to answer.
      if (incoming.destroyed) return c.body(null);
      throw error;
    }
    if (Buffer.byteLength(bodyOf(c)) <= MAX_BODY_BYTES) return next();
    // A body that was not read to its end cannot be followed by another request.
    c.header('connection', 'close');
    return refuse(c);
  };
}

/** The body of the request; empty where it has none. */
export function bodyOf(c: PageContext): string {
  const { body } = c.get('plain');
  return typeof body === 'string' ? body : '';
}

/** A response of the library, with the cookies that were set on the way. */
export function toResponse(c: PageContext, { status, headers, body }: HttpResponse): Response {
  for (const [name, value] of Object.entries(headers)) {
    for (const line of typeof value === 'string' ? [value] : value) c.header(name, line, { append: true });
  }
  return c.body(body, status as ContentfulStatusCode);
}

/** Where a request comes from, as an IP address. */
type ClientAddress = (request: {
  readonly socket: { readonly remoteAddress?: string | undefined };
  readonly headers: IncomingHttpHeaders;
}) => string;

/**
 * The address of whoever asked: of the connection, or, as long as that is a proxy to be trusted, of whom the proxy says
 * it speaks for. Each proxy adds to the end of `X-Forwarded-For`; what stands before is anyone's claim.
 */
export function clientAddress(trustedProxies: readonly string[]): ClientAddress {
  const trusted = new BlockList();
  for (const proxy of trustedProxies) {
    const network = parseNetwork(proxy);
    if (network === undefined) throw new TypeError(`${proxy} is no network`);
    trusted.addSubnet(network.address, network.prefixBits, network.family);
  }
  const isTrusted = (address: string) => trusted.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');

  return ({ socket, headers }) => {
    let address = plainAddress(socket.remoteAddress ?? '') ?? '';
    for (const told of forwardedFor(headers).reverse()) {
      if (!isTrusted(address)) return address;
      const next = plainAddress(told);
      if (next === undefined) return address;
      address = next;
    }
    return address;
  };
}

function forwardedFor(headers: IncomingHttpHeaders): string[] {
  const lines = headers['x-forwarded-for'] ?? [];
  return [lines].flat().flatMap((line) => line.split(','));
}
