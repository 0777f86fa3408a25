// Clients whose identifier is the URL of a document with their metadata.
// § refers to draft-ietf-oauth-client-id-metadata-document-03.
import { hmacSha256 } from '#crypto';
import { type AuthorizationClient, withoutSecrets } from '../clients/client.ts';
import { ConfigurationError, OAuthError, retryAfter } from '../http/errors.ts';
import {
  DOCUMENT_LIMITS,
  DocumentError,
  type FetchedDocument,
  outcomeOfStatus,
  siteOf,
} from '../http/fetch_document.ts';
import { isScopeToken } from '../http/form.ts';
import { isJsonObject, type JsonObject, parseJson } from '../http/http.ts';
import { RecentlyUsed, RequestRate } from '../platform/cache.ts';
import { secondsOf } from '../platform/environment.ts';
import type { GrantType } from '../protocol/client_metadata.ts';
import { isResourceUri } from '../protocol/client_metadata.ts';
import {
  anyFunction,
  anyValue,
  type KindsOf,
  requireKinds,
  textList,
  trueOrFalse,
  wholeNumber,
} from '../protocol/option_kinds.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { isRegistrableRedirectUri } from '../protocol/redirect_uri.ts';
import type {
  Context,
  DocumentClients,
  DocumentEndpoints,
  DocumentUse,
  ResolvedRegistration,
} from '../request/context.ts';
import type { Awaitable, NewClient } from '../storage/contract.ts';
import { type ClientPolicy, documentByClient } from './checked_document.ts';
import {
  type DocumentPlace,
  documentOf,
  documentPlace,
  hostOf,
  recordOf,
  signingAlgorithmsOf,
} from './client_document.ts';

/** Which clients may use a document, and what they may get. */
export interface ClientDocumentOptions {
  /**
   * Hosts whose documents are accepted, such as `claude.ai`; `*.example.com` also accepts every name below it. Default:
   * all hosts.
   */
  readonly hosts?: readonly string[];
  /** Hosts whose documents are not accepted, in the same form. Default: none. */
  readonly deniedHosts?: readonly string[];
  /** What is denied besides, and can change while the server runs. Default: nothing. */
  readonly denials?: DocumentDenials;
  /** Scopes that these clients may obtain, in addition to those of OpenID Connect. Default: none. */
  readonly scopes?: readonly string[];
  /** Scopes that these clients may not obtain, such as `offline_access`. Default: none. */
  readonly closedScopes?: readonly string[];
  /** Redirect URIs that these clients may also have, such as those with a private-use scheme without a period. Default: none. */
  readonly redirectUris?: readonly string[];
  /** Resource URIs of the APIs that these clients may request. Default: none. */
  readonly apis?: readonly string[];
  /** Types of authorization details that these clients may request. Default: none. */
  readonly authorizationDetailsTypes?: readonly string[];
  /**
   * Maximum documents that are fetched from one site (the last two labels of a host) for the first time in a minute, so
   * that requests with invented URLs do not become a load there. 0 sets no limit. Default: 30.
   */
  readonly mostNewPerSite?: number;
  /**
   * Returns where the current request came from, such as its IP address. One place can use up only a third of
   * `mostNewPerSite`. Default: no place is known.
   */
  readonly placeOf?: () => string | undefined;
  /** For development only: accepts documents at `http:` URLs of this machine. Default: `false`. */
  readonly allowInsecureUris?: boolean;
}

/** Documents that are denied, as a host stores them. Rejections are outages. */
export interface DocumentDenials {
  /** Asked at each request of such a client. */
  isDenied(document: DocumentPlace): Awaitable<boolean>;
  /**
   * Runs `write`, which makes one change of the store, under the condition that the document is not denied in the
   * transaction of that change.
   * @returns `false` if it is denied, and nothing was changed
   */
  unlessDenied(document: DocumentPlace, write: () => Promise<void>): Promise<boolean>;
}

const HOST = /^(?:\*\.)?[a-z0-9.-]+$|^\[[0-9a-f:.]+\]$/;
const hosts = textList('HOSTS', 'a list of hosts in lower case, such as claude.ai or *.example.com', (host) =>
  HOST.test(host),
);
const scopeList = textList('SCOPES', 'a list of scopes', isScopeToken);

const OPTIONS: KindsOf<ClientDocumentOptions> = {
  redirectUris: textList(
    'URIS',
    'a list of absolute URIs without fragment and wildcard',
    isRegistrableRedirectUri,
  ),
  hosts,
  deniedHosts: hosts,
  scopes: scopeList,
  closedScopes: scopeList,
  apis: textList('URIS', 'a list of absolute URIs without fragment (RFC 8707 section 2)', isResourceUri),
  authorizationDetailsTypes: textList('TYPES', 'a list of types, none empty', (type) => type !== ''),
  mostNewPerSite: wholeNumber(0, 1_000_000),
  placeOf: anyFunction,
  denials: anyValue,
  allowInsecureUris: trueOrFalse,
};

/** What the option `clientDocuments` takes, as `clientDocuments()` returns it. */
export interface ClientDocuments {
  /**
   * @param context of the server, whose clients are those of the store alone
   * @throws {ConfigurationError} an option or a group of storage methods is missing
   */
  open(context: Context, registrable: Registrable): DocumentClients;
}

/**
 * Accepts clients that identify themselves by the `https:` URL of a document with their metadata (Client ID Metadata
 * Documents). They need no registration. The server fetches the document when such a client begins something, and at
 * every later step once the document is no longer fresh.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * new AuthorizationServer({
 *   ...options,
 *   fetchDocument: documentFetcher(),
 *   clientDocuments: clientDocuments({ hosts: ['claude.ai', '*.example.com'], scopes: ['mcp:use'] }),
 * });
 */
export function clientDocuments(options: ClientDocumentOptions = {}): ClientDocuments {
  requireKinds(options, OPTIONS, 'clientDocuments');
  return {
    open(context, registrable) {
      if (!context.canFetch) throw new ConfigurationError('fetchDocument', `a function, because ${IS_SET}`);
      for (const group of ['authorizationCodes', 'registration', 'oneTimeIdentifiers'] as const)
        if (!context.storage.groups.has(group))
          throw new ConfigurationError('storage', `the methods of the group ${group}, because ${IS_SET}`);
      const { authorizationDetailsTypes: types = [] } = options;
      if (!types.every((type) => context.authorizationDetails?.names.includes(type)))
        throw new ConfigurationError(
          'clientDocuments.authorizationDetailsTypes',
          'types of authorizationDetails',
        );
      return new OpenDocuments(context, { ...options }, registrable);
    },
  };
}

const IS_SET = 'the option clientDocuments is set';

/** The grants of these clients. Others that a document names are left out. */
const GRANTS: readonly GrantType[] = ['authorization_code', 'refresh_token'];

/** A larger document is refused (§8.7). */
const MAX_BYTES = 5 * 1024;

/** Seconds for which a document is fresh if its response does not say it, and the limits of what it may say. */
const FRESH_SECONDS = { usual: 5 * 60, least: 5, most: 60 * 60 };

/** Seconds after which a document that was valid is not used any more while it cannot be fetched. */
const LONGEST_USE_SECONDS = 24 * 60 * 60;

/** Seconds between two writes that say that an unchanged document is still valid. */
const NOTE_SECONDS = 60 * 60;

/** About 5 KiB each. */
const MAX_DOCUMENTS = 1000;

/** Default. Documents that are known already do not count. */
const MAX_NEW_PER_SITE = 30;

/** Fetches of new documents at the same time: from all sites, and from one. Slow sites of a stranger fill few places. */
const MAX_NEW_AT_ONCE = { all: 48, perSite: 4 };

/** With the default `--address-request-limit`, one address cannot keep all places occupied. */
const NEW_TIMEOUT_MS = 2500;

/** How many clients one user can add. Those that are not used any more are removed. */
const MAX_CLIENTS_OF_USER = 200;

type Clients = Context['storage']['clients'];

type Registrable = ResolvedRegistration['clients'];

/** A valid document. */
interface Known {
  readonly written: JsonObject;
  /** Milliseconds since 1970. */
  readonly validAtMs: number;
  readonly freshUntilMs: number;
  readonly etag: string | undefined;
  /** What the document describes, for a store that does not have the client yet. */
  readonly client: NewClient;
}

class OpenDocuments implements DocumentClients {
  readonly #context: Context;
  readonly #registrable: Registrable;
  readonly #options: ClientDocumentOptions;
  readonly #clients: Clients;
  readonly #known = new RecentlyUsed<Known>(MAX_DOCUMENTS);
  /** Refusals of documents of clients that are stored: what counts while such a document cannot be fetched. */
  readonly #refused = new RecentlyUsed<OAuthError>(MAX_DOCUMENTS);
  readonly #fetching = new Map<string, Promise<NewClient>>();
  /** Fetches of new documents that are running, by site. */
  readonly #running = new Map<string, number>();
  readonly #newFetches: RequestRate;
  readonly #newOfPlaces: RequestRate;

  constructor(context: Context, options: ClientDocumentOptions, registrable: Registrable) {
    this.#context = context;
    this.#options = options;
    this.#clients = context.storage.clients;
    this.#registrable = registrable;
    const { mostNewPerSite = MAX_NEW_PER_SITE } = options;
    const rateOf = (most: number) => new RequestRate(most, context.clock, context.random);
    this.#newFetches = rateOf(mostNewPerSite);
    this.#newOfPlaces = rateOf(Math.ceil(mostNewPerSite / 3));
  }

  forgetCached(): void {
    this.#known.clear();
    this.#refused.clear();
  }

  contextFor(use: DocumentUse): Context {
    const { storage } = this.#context;
    const clients: Clients = {
      ...this.#clients,
      get: async (id) => this.#find(id, await this.#clients.get(id), use),
    };
    return { ...this.#context, documents: this, storage: { ...storage, clients } };
  }

  endpoints<E extends DocumentEndpoints>(endpoints: E): E {
    const finding = (endpoint: E['token'], use: DocumentUse): E['token'] => {
      const context = this.contextFor(use);
      return { ...endpoint, answer: (_, request, call) => endpoint.answer(context, request, call) };
    };
    const { token, pushedAuthorizationRequest } = endpoints;
    return {
      ...endpoints,
      token: finding(token, 'grant'),
      pushedAuthorizationRequest: finding(pushedAuthorizationRequest, 'client'),
    };
  }

  async keep(client: AuthorizationClient, subject: string): Promise<AuthorizationClient> {
    if (client.documentValidAt === undefined) return client;
    const { secret, issuer, signingKeys } = this.#context;
    if (!(await this.#clients.get(client.id))) {
      // What the user has seen, also if the document changes meanwhile.
      const {
        generation: _,
        revision: __,
        registrationRevision: ___,
        disabledAtMs: ____,
        ...approved
      } = client;
      await signingKeys?.publish(signingAlgorithmsOf(approved));
      const place = await hmacSha256(await secret.key('registration_place'), `${issuer} user ${subject}`);
      const from = { place, most: MAX_CLIENTS_OF_USER };
      await this.#unlessDenied(client.id, async () => {
        await this.#registrable.add(approved, { mostRegistered: Number.MAX_SAFE_INTEGER, from });
      });
    }
    const stored = await this.#clients.get(client.id);
    if (stored) return withoutSecrets(stored);
    throw new OAuthError(
      'temporarily_unavailable',
      'no more clients can be added for this user at the moment',
      { status: 429, reason: 'too_many_registered', clientId: client.id },
    );
  }

  async #find(
    id: string,
    stored: ClientRecord | undefined,
    use: DocumentUse,
  ): Promise<ClientRecord | undefined> {
    // A client that an operator has added keeps what the operator wrote.
    if (stored !== undefined && (stored.documentValidAt === undefined || stored.disabledAtMs !== undefined))
      return stored;
    const place = this.#acceptedPlace(id);
    if (place === undefined) return undefined;
    if (await this.#options.denials?.isDenied(place)) {
      const refusal = denied(id);
      throw use === 'browser' ? asPage(refusal) : refusal;
    }
    // Without a row, there is no grant.
    if (stored === undefined && use === 'grant') return undefined;
    const known = this.#known.get(id);
    const nowMs = this.#context.clock();
    if (known && known.validAtMs <= nowMs && nowMs < known.freshUntilMs) return stored ?? known.client;
    try {
      const client = await this.#shared(id, stored, known);
      return stored === undefined ? client : ((await this.#clients.get(id)) ?? client);
    } catch (error) {
      return this.#afterFailure(error, id, stored, use);
    }
  }

  #acceptedPlace(id: string): DocumentPlace | undefined {
    const { hosts = ['*'], deniedHosts = [], allowInsecureUris = false } = this.#options;
    const place = documentPlace(id, allowInsecureUris);
    if (place === undefined) return undefined;
    const isOf = (pattern: string) => isOfHost(pattern, place.host);
    return hosts.some(isOf) && !deniedHosts.some(isOf) ? place : undefined;
  }

  /** @throws {OAuthError} the document was denied meanwhile */
  async #unlessDenied(id: string, write: () => Promise<void>): Promise<void> {
    const { denials } = this.#options;
    const place = this.#acceptedPlace(id);
    if (denials === undefined || place === undefined) return write();
    if (!(await denials.unlessDenied(place, write))) throw denied(id);
  }

  /** Concurrent requests share one fetch. */
  #shared(id: string, stored: ClientRecord | undefined, known: Known | undefined): Promise<NewClient> {
    const running = this.#fetching.get(id);
    if (running !== undefined) return running;
    const fetching = this.#current(id, stored, known).finally(() => this.#fetching.delete(id));
    this.#fetching.set(id, fetching);
    return fetching;
  }

  /**
   * Fetches a document, and keeps the store's client in step with it.
   * @throws {DocumentError} it cannot be fetched
   * @throws {OAuthError} it is not valid
   */
  async #current(id: string, stored: ClientRecord | undefined, known: Known | undefined): Promise<NewClient> {
    const { clock } = this.#context;
    const isNew = stored === undefined && known === undefined;
    const fetched = await (isNew ? this.#fetchNew(id) : this.#fetch(id, known?.etag));
    const isUnchanged = fetched.status === 304 && known !== undefined;
    const written = isUnchanged ? known.written : writtenIn(fetched, id);
    const validAtMs = clock();
    const client = await this.#described(id, written, secondsOf(validAtMs), stored);
    // A document that the store's client cannot follow is not valid, so it is not kept.
    if (stored !== undefined) await this.#keepInStep(stored, client);
    this.#refused.delete(id);
    this.#known.set(id, {
      written,
      validAtMs,
      freshUntilMs: validAtMs + freshSeconds(fetched.caching) * 1000,
      etag: fetched.caching?.etag ?? (isUnchanged ? known.etag : undefined),
      client,
    });
    return client;
  }

  #fetch(id: string, etag?: string, timeoutMs: number = DOCUMENT_LIMITS.timeoutMs): Promise<FetchedDocument> {
    return this.#context.fetchDocument(id, {
      timeoutMs,
      headers: { accept: 'application/json', ...(etag !== undefined && { 'if-none-match': etag }) },
      maxBytes: MAX_BYTES,
      maxRedirects: 0,
    });
  }

  /** New documents leave a part of what can be fetched at the same time to known ones. */
  async #fetchNew(id: string): Promise<FetchedDocument> {
    const site = siteOf(hostOf(new URL(id)));
    const running = this.#running.get(site) ?? 0;
    const all = [...this.#running.values()].reduce((sum, count) => sum + count, 0);
    if (all >= MAX_NEW_AT_ONCE.all || running >= MAX_NEW_AT_ONCE.perSite)
      throw new DocumentError('failed', 'too many new documents are asked for');
    this.#countNew(site, id);
    this.#running.set(site, running + 1);
    try {
      return await this.#fetch(id, undefined, NEW_TIMEOUT_MS);
    } finally {
      const left = (this.#running.get(site) ?? 1) - 1;
      if (left > 0) this.#running.set(site, left);
      else this.#running.delete(site);
    }
  }

  /** @throws {OAuthError} the document describes no client that this server can serve */
  async #described(
    id: string,
    written: JsonObject,
    documentValidAt: number,
    stored: ClientRecord | undefined,
  ): Promise<NewClient> {
    const { oidc } = this.#context;
    const {
      scopes = [],
      closedScopes = [],
      apis = [],
      redirectUris = [],
      authorizationDetailsTypes = [],
      allowInsecureUris = false,
    } = this.#options;
    const personal = oidc === undefined ? [] : [...Object.keys(oidc.claimsByScope), 'offline_access'];
    const policy: ClientPolicy = {
      scopes: [...new Set([...personal, ...scopes])].filter((scope) => !closedScopes.includes(scope)),
      apis,
      redirectUris,
      authorizationDetailsTypes,
      grantTypes: GRANTS,
      allowInsecureUris,
      assertionAudience: 'issuer',
      insecureAllowMissingPkce: false,
    };
    try {
      // What the policy allowed earlier counts only if an operator has set it for this client.
      const isScopeSet = stored?.metadata?.set_by_operator?.includes('scope') === true;
      const before = stored && { ...stored, scopes: isScopeSet ? stored.scopes : [] };
      const whole = { token_endpoint_auth_method: 'none', ...written };
      const document = await documentByClient(this.#context, policy, whole, before);
      const registeredAt = stored?.registeredAt ?? documentValidAt;
      return recordOf({ id, registeredAt, documentValidAt }, document);
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      // Another document that the client names is not there at the moment.
      if (error.cause instanceof DocumentError && error.cause.outcome === 'failed') throw error.cause;
      throw invalid(id, error.value ?? error.description, error);
    }
  }

  /**
   * Writes a changed document, or now and then that it is still valid.
   * @throws {OAuthError} the client no longer has a key: what was issued to it must not become usable without one
   */
  async #keepInStep(stored: ClientRecord, client: NewClient): Promise<void> {
    const { signingKeys } = this.#context;
    const { id, documentValidAt = 0 } = stored;
    const validAt = client.documentValidAt ?? 0;
    if (describesTheSame(stored, client)) {
      if (validAt - documentValidAt >= NOTE_SECONDS) await this.#registrable.noteDocument?.(id, validAt);
      return;
    }
    if (methodOf(stored) !== 'none' && methodOf(client) === 'none')
      throw invalid(id, 'token_endpoint_auth_method: expected private_key_jwt, as before; remove the client');
    await signingKeys?.publish(signingAlgorithmsOf(client));
    // If nothing was replaced, another process was faster, or an operator has changed the client.
    await this.#unlessDenied(id, async () => {
      await this.#registrable.replace(client, stored);
    });
  }

  /** @throws {OAuthError} status 429: too many new documents of the site, from one place or from all */
  #countNew(site: string, clientId: string): void {
    const place = this.#options.placeOf?.();
    const ofPlace = place === undefined ? 0 : this.#newOfPlaces.take(`${place} ${site}`);
    const wait = ofPlace || this.#newFetches.take(site);
    if (wait === 0) return;
    throw new OAuthError('temporarily_unavailable', 'too many new clients of this site at the moment', {
      status: 429,
      reason: 'too_many_client_documents',
      clientId,
      headers: retryAfter(wait),
    });
  }

  /**
   * What counts while the document cannot be had: for a client that has been granted something, its last valid copy.
   * @throws {OAuthError} `invalid_request` for browsers, otherwise `invalid_client`
   * @throws {DocumentError} the document cannot be fetched at the moment
   */
  #afterFailure(
    error: unknown,
    id: string,
    stored: ClientRecord | undefined,
    use: DocumentUse,
  ): ClientRecord {
    const isUnreachable = error instanceof DocumentError && error.outcome !== 'refused';
    const refusal = isUnreachable
      ? this.#refused.get(id)
      : error instanceof DocumentError
        ? invalid(id, error.message, error)
        : error;
    if (refusal !== undefined) {
      if (stored !== undefined && refusal instanceof OAuthError) this.#refused.set(id, refusal);
      // The copy that was valid before is not that of the client any more.
      if (refusal instanceof OAuthError) this.#known.delete(id);
      throw use === 'browser' ? asPage(refusal) : refusal;
    }
    if (!(error instanceof DocumentError)) throw error;
    if (use === 'browser')
      throw new OAuthError('invalid_request', 'the metadata document of the client cannot be fetched', {
        reason: 'client_document_unreachable',
        clientId: id,
        cause: error,
      });
    const validAtMs = this.#known.get(id)?.validAtMs ?? (stored?.documentValidAt ?? 0) * 1000;
    const isUsable = this.#context.clock() - validAtMs < LONGEST_USE_SECONDS * 1000;
    if (stored !== undefined && isUsable) return stored;
    throw error.ofClient(id);
  }
}

function isOfHost(pattern: string, host: string): boolean {
  if (pattern === '*') return true;
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern;
}

/**
 * Reads a document (§4).
 * @throws {DocumentError} the response has no document
 * @throws {OAuthError} the document is not that of a client
 */
function writtenIn({ status, contentType, body }: FetchedDocument, id: string): JsonObject {
  const outcome = outcomeOfStatus(status);
  if (outcome !== 'fetched') throw new DocumentError(outcome, 'the response status is not 200');
  const type = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type !== 'application/json' && !/^application\/[\w.-]+\+json$/.test(type))
    throw new DocumentError('refused', 'the response is not JSON');
  const written = parseJson(body);
  if (!isJsonObject(written)) throw new DocumentError('refused', 'the response is not a JSON object');
  if (written.client_id !== id) throw invalid(id, 'client_id: expected the URL of the document');
  for (const name of ['client_secret', 'client_secret_expires_at'])
    if (name in written) throw invalid(id, `${name}: expected no secret in a document`);
  const { token_endpoint_auth_method: method = 'none' } = written;
  if (method !== 'none' && method !== 'private_key_jwt')
    throw invalid(id, 'token_endpoint_auth_method: expected none or private_key_jwt');
  return written;
}

/** Reads for how long a response is fresh (RFC 9111 §4.2.1), within limits of this server (§5.2). */
function freshSeconds(caching: FetchedDocument['caching'] = {}): number {
  const control = (caching['cache-control'] ?? '').toLowerCase();
  const { usual, least, most } = FRESH_SECONDS;
  if (/(?:^|[\s,])(?:no-store|no-cache|private)(?:[\s,=]|$)/.test(control)) return least;
  const [, maxAge] = /(?:^|[\s,])max-age=(\d{1,10})/.exec(control) ?? [];
  if (maxAge === undefined) return usual;
  const age = /^\d{1,10}$/.test(caching.age ?? '') ? Number(caching.age) : 0;
  return Math.min(Math.max(Number(maxAge) - age, least), most);
}

function describesTheSame(stored: ClientRecord, client: NewClient): boolean {
  return canonical(documentOf(stored)) === canonical(documentOf(client));
}

function canonical(document: object): string {
  return JSON.stringify(Object.entries(document).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function methodOf({ metadata }: Pick<ClientRecord, 'metadata'>): string | undefined {
  return metadata?.token_endpoint_auth_method;
}

/** @param problem names members and literals only */
function invalid(id: string, problem: string, cause?: unknown): OAuthError {
  return new OAuthError('invalid_client', 'the metadata document of the client is not valid', {
    status: 401,
    reason: 'client_document_invalid',
    clientId: id,
    value: problem,
    cause,
  });
}

function denied(id: string): OAuthError {
  return new OAuthError('invalid_client', 'the server does not accept the metadata document of the client', {
    status: 401,
    reason: 'client_document_denied',
    clientId: id,
  });
}

/** The same refusal for a browser, which is not redirected. */
function asPage(error: unknown): unknown {
  if (!(error instanceof OAuthError) || error.code === 'temporarily_unavailable') return error;
  const { description, reason, clientId, value, cause } = error;
  return new OAuthError('invalid_request', description, { reason, clientId, value, cause });
}
