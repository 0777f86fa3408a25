// The admin API: the table of operations over HTTP, for clients with tokens of this server.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AuthorizationServer, pathOf } from '@grantd/core';
import { type NodeRequest, RequestRate, senderOf } from '@grantd/core/node';
import type { PresentedCertificate } from '@grantd/protect/node';
import { type Handler, Hono, type MiddlewareHandler } from 'hono';
import type { Caller } from '../admin/caller.ts';
import { requireAdminGroup } from '../admin/groups.ts';
import { etagOf } from '../admin/in_process.ts';
import type { OperationParts, SentTest } from '../admin/operation.ts';
import { ALL_OPERATIONS, type AnyOperation, type AnyStream } from '../admin/table.ts';
import { examined } from '../admin/validation.ts';
import { type admissionByAddress, clientAddress } from '../config/client_address.ts';
import type { Configuration } from '../config/configuration.ts';
import { adminAudience } from '../instance/admin_access.ts';
import type { Instance } from '../instance/instance.ts';
import { GuessLimit } from '../limits/guesses.ts';
import type { RequestLog } from '../log/log.ts';
import { Admission } from './admission.ts';
import { headerOf, inputOf, streamInputOf } from './input.ts';
import { CallerLeft, CallerTooSlow, SLOW_READER_MS, writeLines } from './lines.ts';
import { openApiDocument } from './openapi.ts';
import { PROBLEMS, Problem } from './problems.ts';
import { problemOf, scopeChallenge } from './refusals.ts';
import { RepeatedRequests, type StoredAnswer } from './repeated_requests.ts';

interface Surroundings {
  readonly configuration: Configuration;
  readonly server: AuthorizationServer;
  readonly requestLog: RequestLog;
  readonly isReady: () => Promise<boolean>;
  /** Whether a request comes from an address in `adminFrom`. */
  readonly isAdmitted: ReturnType<typeof admissionByAddress>;
  readonly testMail: (parts: OperationParts, address: string) => Promise<SentTest>;
  /** Milliseconds for which a response waits for its reader. Default: 30 s. */
  readonly slowReaderMs?: number;
  /** Returns the certificate of a request’s client. */
  readonly clientCertificate: ((request: NodeRequest) => PresentedCertificate | undefined) | undefined;
}

/** Answers requests to the admin API. Resolves with whether the request is one. */
export type AdminListener = (
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
) => Promise<boolean>;

/** A request to an operation. */
interface Environment {
  Bindings: {
    readonly incoming: IncomingMessage;
    readonly outgoing: ServerResponse;
    readonly requestId: string;
    /** Whose guesses count together. */
    readonly sender: string;
  };
  Variables: { caller: Caller };
}

/**
 * Creates the listener over one database (ADR 94).
 * @throws {Refused} the group of administrators does not exist
 */
export async function openAdminApi(
  instance: Instance,
  { requestLog, isAdmitted, slowReaderMs = SLOW_READER_MS, ...surroundings }: Surroundings,
): Promise<AdminListener> {
  const { configuration } = surroundings;
  const { settings } = configuration;
  const { issuer, apiRequests } = instance;
  await requireAdminGroup(instance, configuration);
  const base = adminAudience(issuer);
  const basePath = new URL(base).pathname;
  const addressOf = clientAddress(settings.trustedProxies ?? []);
  const admission = new Admission(instance, surroundings);
  const { adminRequestLimit } = settings;
  const rate = new RequestRate(adminRequestLimit);
  const guesses = new GuessLimit(adminRequestLimit);
  const requireNoWait = (secondsToWait: number) => {
    if (secondsToWait > 0)
      throw new Problem('too_many_requests', {
        detail: `expected at most ${adminRequestLimit} requests in a minute`,
        headers: { 'retry-after': String(secondsToWait) },
      });
  };
  const repeated = new RepeatedRequests({
    apiRequests,
    secret: instance.secret(),
    clock: instance.sharedTime.now,
  });
  const description = JSON.stringify(openApiDocument(issuer));

  // Uses the path exactly as in the request, like the library.
  const app = new Hono<Environment>({
    getPath: (_, { env }: { env?: Environment['Bindings'] } = {}) =>
      pathOf({ url: env?.incoming.url ?? '' }).slice(basePath.length),
  });

  const about = (requestId: string, more: object = {}) =>
    requestLog.about({ requestId, operation: 'admin', ...more });

  /** Admits the caller to an operation, and counts its requests. */
  const admitted =
    (operation: AnyOperation | AnyStream): MiddlewareHandler<Environment> =>
    async (c, next) => {
      const { incoming, outgoing, requestId } = c.env;
      const caller = await admission.admit(operation, incoming, outgoing);
      const { clientId } = caller;
      about(requestId, { ...(clientId !== undefined && { clientId }) });
      // What has been right is no guess, whatever others at the same address send (ADR 177).
      guesses.remember(undefined, tokenIn(incoming));
      requireNoWait(rate.take(clientId ?? ''));
      c.set('caller', caller);
      await next();
    };

  /** Performs an operation, or repeats the response to an earlier request with the same Idempotency-Key. */
  const performed =
    (operation: AnyOperation): Handler<Environment> =>
    async (c) => {
      const { incoming, requestId } = c.env;
      const caller = c.get('caller');
      const own = () => admission.partsFor(operation, incoming, caller);
      const { input, body } = await inputOf(operation, incoming, c.req.param(), async (given, found) =>
        found.length === 0 ? found : examined(operation, own(), given, found),
      );
      const parts = own();
      const perform = async (): Promise<StoredAnswer> => {
        const { document, version, location } = await operation.perform(parts, input);
        return {
          status: operation.status,
          headers: {
            ...(document !== undefined && { 'content-type': 'application/json' }),
            ...(version !== undefined && { etag: etagOf(version) }),
            ...(location !== undefined && { location: `${base}${location}` }),
          },
          body: document === undefined ? '' : JSON.stringify(document),
        };
      };
      const key = operation.method === 'POST' ? headerOf(incoming, 'idempotency-key') : undefined;
      if (key === undefined) return answer(await perform());
      const target = `${operation.method} ${incoming.url}`;
      const onFailure = (error: unknown) => requestLog.failure(requestId, 'storage_unavailable', error);
      const order = { caller: caller.identity, target, body, key, onFailure };
      const { answer: stored, isRepeated } = await repeated.once(order, perform);
      const replayed: Record<string, string> = isRepeated ? { 'idempotency-replayed': 'true' } : {};
      return answer({ ...stored, headers: { ...stored.headers, ...replayed } });
    };

  const streamed =
    (operation: AnyStream): Handler<Environment> =>
    async (c) => {
      const { incoming, outgoing } = c.env;
      const input = streamInputOf(operation, incoming, c.req.param());
      const parts = admission.partsFor(operation, incoming, c.get('caller'));
      await writeLines(operation, parts, input, incoming, outgoing, slowReaderMs);
      return new Response();
    };

  app.use(async ({ env }, next) => {
    about(env.requestId);
    requireNoWait(guesses.secondsToWait(env.sender, tokenIn(env.incoming)));
    await next();
  });
  app.get('/openapi.json', () =>
    answer({ status: 200, headers: { 'content-type': 'application/json' }, body: description }),
  );
  app.all('/openapi.json', refuseMethod(['GET']));
  const byPath = Map.groupBy(
    ALL_OPERATIONS.map(([, operation]) => operation),
    ({ path }) => path.replaceAll(/\{(\w+)\}/g, ':$1'),
  );
  for (const [path, operations] of byPath) {
    for (const operation of operations)
      app.on(
        operation.method,
        path,
        admitted(operation),
        'stream' in operation ? streamed(operation) : performed(operation),
      );
    app.all(path, refuseMethod(operations.map(({ method }) => method)));
  }
  app.notFound(() => {
    throw new Problem('not_found', { detail: 'there is no such path: openapi.json lists all of them' });
  });
  app.onError((error, { env: { incoming, outgoing, requestId, sender } }) => {
    // The caller disconnected during its request.
    if ((incoming.destroyed && !incoming.complete) || error instanceof CallerLeft) return new Response();
    if (error instanceof CallerTooSlow) {
      about(requestId, { reason: 'slow_reader' });
      outgoing.destroy();
      return new Response();
    }
    const problem = problemOf(error);
    const { code } = problem;
    about(requestId, { reason: code });
    if (code === 'internal') requestLog.failure(requestId, 'unexpected', error);
    if (code === 'unavailable') requestLog.failure(requestId, 'storage_unavailable', error);
    if (code === 'invalid_token') {
      guesses.count(sender, tokenIn(incoming));
      // Nothing depends on which limits are near.
      guesses.calm();
    }
    // The caller sees that the response has no end.
    if (outgoing.headersSent) outgoing.destroy();
    return answer({
      status: PROBLEMS[code].status,
      headers: {
        ...(code === 'insufficient_scope' && { 'www-authenticate': scopeChallenge(incoming) }),
        ...problem.headers,
        'content-type': 'application/problem+json',
      },
      body: JSON.stringify(problem.body(base)),
    });
  });

  return async (incoming, outgoing, requestId) => {
    if (!pathOf({ url: incoming.url ?? '' }).startsWith(`${basePath}/`)) return false;
    if (!isAdmitted(incoming)) return false;
    const sender = senderOf(addressOf(incoming));
    // A method that no request of Fetch can have has no operation, like OPTIONS.
    const method = incoming.method === 'TRACE' ? 'OPTIONS' : (incoming.method ?? 'GET');
    const request = new Request(base, { method });
    const response = await app.fetch(request, { incoming, outgoing, requestId, sender });
    if (!outgoing.headersSent && !outgoing.destroyed) await write(outgoing, response);
    return true;
  };
}

/** The token that a request presents; empty if it has none. */
function tokenIn(request: IncomingMessage): string {
  return headerOf(request, 'authorization')?.replace(/^\S* +/, '') ?? '';
}

function refuseMethod(methods: readonly string[]): Handler {
  const allowed = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return () => {
    throw new Problem('method_not_allowed', { headers: { allow: [...new Set(allowed)].join(', ') } });
  };
}

function answer({ status, headers, body }: StoredAnswer): Response {
  return new Response(status === 204 ? null : body, {
    status,
    headers: {
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...headers,
      ...(status !== 204 && { 'content-length': String(Buffer.byteLength(body)) }),
    },
  });
}

async function write(outgoing: ServerResponse, response: Response): Promise<void> {
  const body = await response.text();
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.end(body);
}
