import type { AuthorizationServer, HttpRequest } from '@grantd/core';
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { RequestLog } from '../log/request_log.ts';
import type { SignInParts } from '../people/sign_in.ts';
import type { Brand } from './brand.ts';
import type { BrowserSessions } from './browser_sessions.ts';
import type { ClientAddress } from './client_address.ts';
import type { FormTokens } from './form_tokens.ts';
import type { PendingRequests } from './pending_requests.ts';

/** What every page works with. */
export interface PageParts {
  readonly server: AuthorizationServer;
  readonly sessions: BrowserSessions;
  readonly formTokens: FormTokens;
  readonly pendingRequests: PendingRequests;
  readonly signInParts: SignInParts;
  readonly clientAddress: ClientAddress;
  readonly requestLog: RequestLog;
  /** Who runs this server. */
  readonly operator: Brand;
  /** Path of the issuer, without a slash at its end. */
  readonly basePath: string;
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
