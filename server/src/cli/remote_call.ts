// Requests to the admin API of a server.
import { createPrivateKey, type KeyObject, type webcrypto } from 'node:crypto';
import * as openid from 'openid-client';
import type { AdminCalls, StreamInput, StreamLine, Versioned } from '../admin/in_process.ts';
import { MAX_LINES } from '../admin/operation.ts';
import { InvalidInput, memberOf, OperationRefused, type ValueProblem } from '../admin/operation_refused.ts';
import {
  type AnyOperation,
  type AnyStream,
  type Document,
  type Input,
  OPERATIONS,
  type OperationId,
  STREAMS,
  type StreamId,
} from '../admin/table.ts';
import { bodyIn, pathNames } from '../admin/validation.ts';
import { ADMIN_VARIABLES, typedPath } from '../config/configuration.ts';
import { isLoopback } from '../config/networks.ts';
import { readPrivateText } from '../config/private_file.ts';
import { Refused } from '../config/refused.ts';
import { adminAudience } from '../instance/admin_access.ts';
import { BadUsage } from './exit.ts';

/** Seconds for a token. */
const TOKEN_TIMEOUT = 30;

/** Seconds for an operation. Imports take long. */
const OPERATION_TIMEOUT = 600;

interface Problem {
  readonly code?: string;
  readonly title?: string;
  readonly detail?: string;
  readonly advice?: string;
  readonly errors?: readonly ValueProblem[];
}

/** Sends a request with the access token. */
type Send = (url: URL, method: string, headers: Headers, body: string | undefined) => Promise<Response>;

export class AdminClient implements AdminCalls {
  readonly maxLines = MAX_LINES;
  readonly #base: string;
  readonly #send: Send;

  private constructor(base: string, send: Send) {
    this.#base = base;
    this.#send = send;
  }

  /**
   * @param url the issuer
   * @throws {BadUsage} the URL is no issuer, or no variable gives access
   * @throws {Refused} the server does not give a token
   */
  static async open(url: string, environment: NodeJS.ProcessEnv): Promise<AdminClient> {
    requireIssuer(url);
    const base = adminAudience(url);
    return new AdminClient(base, await senderOf(url, base, environment));
  }

  async versioned<Id extends OperationId>(
    id: Id,
    input: Input<Id>,
    version = '*',
  ): Promise<Versioned<Document<Id>>> {
    const operation: AnyOperation = OPERATIONS[id];
    const body = bodyIn(operation, input);
    const text = body && { type: 'application/json', text: JSON.stringify(body) };
    const response = await this.#response(operation, input, text, version);
    const answered = await response.text();
    return {
      // The server’s answers fit the schemas of its operations.
      document: (answered === '' ? undefined : JSON.parse(answered)) as Document<Id>,
      version: response.headers.get('etag') ?? '',
    };
  }

  /** @throws {Refused} the response has no end */
  async *lines<Id extends StreamId>(
    id: Id,
    input: StreamInput<Id>,
    lines: AsyncIterable<string> | Iterable<string> = [],
  ): AsyncGenerator<StreamLine<Id>> {
    const operation: AnyStream = STREAMS[id];
    const sent: string[] = [];
    for await (const line of lines) sent.push(line);
    const text = operation.bodyLine && { type: 'application/x-ndjson', text: sent.join('\n') };
    const { body } = await this.#response(operation, input, text);
    const decoder = new TextDecoder();
    let rest = '';
    try {
      for await (const chunk of body ?? []) {
        const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
        rest = parts.pop() ?? '';
        for (const part of parts) yield JSON.parse(part);
      }
    } catch (error) {
      throw this.#unreachable(error);
    }
  }

  async #response(
    operation: AnyOperation | AnyStream,
    input: object,
    body: { readonly type: string; readonly text: string } | undefined,
    version = '*',
  ): Promise<Response> {
    const members: Readonly<Record<string, unknown>> = { ...input };
    const filled = pathNames(operation).reduce(
      (path, name) => path.replace(`{${name}}`, () => pathPart(String(members[name]))),
      operation.path,
    );
    const url = new URL(`${this.#base}${filled}`);
    for (const name of Object.keys(operation.query ?? {}))
      if (members[name] !== undefined) url.searchParams.set(name, String(members[name]));
    const headers = new Headers();
    if (operation.needsVersion) headers.set('if-match', version);
    if (body !== undefined) headers.set('content-type', body.type);
    let response: Response;
    try {
      response = await this.#send(url, operation.method, headers, body?.text);
    } catch (error) {
      throw error instanceof openid.WWWAuthenticateChallengeError
        ? this.#refusal(error.status, await problemIn(error.response), operation)
        : this.#unreachable(error);
    }
    if (response.ok) return response;
    throw this.#refusal(response.status, await problemIn(response), operation);
  }

  #unreachable(error: unknown): Error {
    if (error instanceof Refused) return error;
    return new Refused(`${this.#base} does not answer (${reasonOf(error)}).`);
  }

  /** The error that the operation throws on the server’s machine. */
  #refusal(
    status: number,
    { code, title, detail, advice, errors = [] }: Problem,
    { scope }: Pick<AnyOperation, 'scope'>,
  ): Error {
    if ((code === 'invalid_input' || code === 'invalid_request') && errors.length > 0)
      return InvalidInput.of(errors);
    const problem = (detail ?? title ?? `status ${status}`).replace(/\.$/, '');
    if (code === 'version_mismatch') return new OperationRefused('outdated', { english: problem }, advice);
    if (code === 'not_found' || code === 'conflict') {
      const each = errors.map(
        (one) => new OperationRefused(code, { english: one.detail }, one.advice, memberOf(one.in)),
      );
      return each.length > 1
        ? OperationRefused.together(each)
        : new OperationRefused(code, { english: problem }, advice);
    }
    const sentences = [title?.replace(/\.$/, ''), detail && problem].filter(Boolean).join(': ');
    const needed = status === 403 ? ` The command needs a token with ${scope}.` : '';
    return new Refused(`${this.#base} refused the request with ${status}. ${sentences || problem}.${needed}`);
  }
}

/**
 * A name in a path. URLs take `.` and `..` as steps in the path even if they are encoded (URL Standard), so such a name
 * would lead to another operation.
 * @throws {BadUsage} no URL can contain the name
 */
function pathPart(name: string): string {
  if (/^\.{1,2}$/.test(name))
    throw new BadUsage(
      `--url: omit it and run the command on the server’s machine, because no URL can contain the name ${name}`,
    );
  return encodeURIComponent(name);
}

async function problemIn(response: Response): Promise<Problem> {
  const text = await response.text();
  const type = response.headers.get('content-type') ?? '';
  // Without the admin API, its paths are those of a page.
  return type.startsWith('application/problem+json')
    ? JSON.parse(text)
    : { detail: 'it has no admin API: start the server with --admin-api, and see --admin-from' };
}

function requireIssuer(url: string): void {
  const { protocol, hostname } = URL.canParse(url) ? new URL(url) : { protocol: '', hostname: '' };
  if (protocol !== 'https:' && !(protocol === 'http:' && isLoopback(hostname)))
    throw new BadUsage(
      `--url: expected the issuer of a server, such as https://login.example.com, got ${JSON.stringify(url)}`,
    );
}

/** @throws {BadUsage} no variable gives access */
async function senderOf(url: string, audience: string, environment: NodeJS.ProcessEnv): Promise<Send> {
  const read = (variable: string) => {
    const path = environment[variable];
    return path ? readPrivateText(typedPath(environment, path), variable) : undefined;
  };
  const token = read(ADMIN_VARIABLES.token);
  if (token !== undefined)
    return (to, method, headers, body) => {
      headers.set('authorization', `Bearer ${token.trim()}`);
      return fetch(to, {
        ...{ method, headers, redirect: 'error' as const },
        signal: AbortSignal.timeout(OPERATION_TIMEOUT * 1000),
        ...(body !== undefined && { body }),
      });
    };
  const clientId = environment[ADMIN_VARIABLES.clientId];
  const key = read(ADMIN_VARIABLES.key);
  const secret = read(ADMIN_VARIABLES.secret);
  if (!clientId || (key === undefined) === (secret === undefined))
    throw new BadUsage(
      `--url: set ${ADMIN_VARIABLES.token}, or ${ADMIN_VARIABLES.clientId} with ${ADMIN_VARIABLES.key} or ${ADMIN_VARIABLES.secret}`,
    );
  const authentication =
    key === undefined ? openid.ClientSecretBasic(secret) : openid.PrivateKeyJwt(privateKeyOf(key));
  try {
    const isPlain = url.startsWith('http:');
    const configuration = await openid.discovery(new URL(url), clientId, undefined, authentication, {
      timeout: TOKEN_TIMEOUT,
      ...(isPlain && { execute: [openid.allowInsecureRequests] }),
    });
    // A stolen token is useless: its key exists only during the command.
    const DPoP = openid.getDPoPHandle(configuration, await openid.randomDPoPKeyPair('ES256'));
    const granted = await openid.clientCredentialsGrant(configuration, { resource: audience }, { DPoP });
    configuration.timeout = OPERATION_TIMEOUT;
    return (to, method, headers, body) =>
      openid.fetchProtectedResource(configuration, granted.access_token, to, method, body, headers, {
        DPoP,
      });
  } catch (error) {
    // The error of `fetch` has the one of the connection as its cause.
    if (error instanceof TypeError && error.cause instanceof Error)
      throw new Refused(`${url} does not answer (${reasonOf(error)}).`);
    throw new Refused(`${url} gave no token to the client ${clientId} (${reasonOf(error)}).`);
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof openid.WWWAuthenticateChallengeError) return 'it does not accept its key or secret';
  if (error instanceof openid.ResponseBodyError)
    return [error.error, error.error_description].filter(Boolean).join(': ');
  const { message, cause } = error instanceof Error ? error : { message: String(error), cause: undefined };
  return cause instanceof Error ? cause.message : message;
}

/** @throws {BadUsage} the text is no private key in PEM that the server accepts */
function privateKeyOf(pem: string): openid.CryptoKey {
  const expected = new BadUsage(
    `${ADMIN_VARIABLES.key}: expected a private key as PEM: RSA, EC with P-256, or Ed25519`,
  );
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    // The error of Node could quote the key.
    throw expected;
  }
  const algorithms: Readonly<Record<string, webcrypto.AlgorithmIdentifier>> = {
    ed25519: { name: 'Ed25519' },
    ec: { name: 'ECDSA', namedCurve: 'P-256' } as webcrypto.EcKeyImportParams,
    rsa: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' } as webcrypto.RsaHashedImportParams,
  };
  const algorithm = algorithms[key.asymmetricKeyType ?? ''];
  const isOtherCurve = (key.asymmetricKeyDetails?.namedCurve ?? 'prime256v1') !== 'prime256v1';
  if (algorithm === undefined || isOtherCurve) throw expected;
  return key.toCryptoKey(algorithm, false, ['sign']) as openid.CryptoKey;
}
