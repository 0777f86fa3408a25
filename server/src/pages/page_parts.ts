import type { AdministrableStorage, AuthorizationServer, ClientRepository, HttpRequest } from '@grantd/core';
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { Consents } from '../consents/consents.ts';
import type { ScopeTexts } from '../consents/scope_texts.ts';
import type { ConsentWithdrawal } from '../consents/withdrawal.ts';
import type { RequestLog } from '../log/request_log.ts';
import type { SignInParts } from '../people/sign_in.ts';
import type { SessionEnding, TellClients } from '../sessions/session_ending.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Brand } from './brand.ts';
import type { BrowserSessions } from './browser_sessions.ts';
import type { ClientAddress } from './client_address.ts';
import type { FormTokens } from './form_tokens.ts';
import type { KnownBrowsers } from './known_browsers.ts';
import type { Logos } from './logos.ts';
import type { PendingRequests } from './pending_requests.ts';
import type { Picture } from './picture.ts';
import type { SealedValues } from './sealed_values.ts';

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
  readonly tellClients: TellClients;
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
