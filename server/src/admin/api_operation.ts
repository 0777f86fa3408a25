// An operation of the admin API, and what all operations share.

import type { NewClient } from '@grantd/core';
import type { Person } from '../data/people.ts';
import { ADMIN_SCOPES, type AdminScope, isAdminScope } from '../instance/admin_access.ts';
import type { SentTest } from '../operations/mails.ts';
import { InvalidInput, type OperationParts } from '../operations/operation.ts';
import type { State } from '../operations/people.ts';
import type { ImportFormat } from '../people/import_formats.ts';
import { Problem, type ProblemDetails } from './problems.ts';
import type { Schema } from './schemas.ts';

/** What an operation needs besides the parts that all operations need. */
export interface ApiParts extends OperationParts {
  /** Whether the server can answer requests. */
  readonly isReady: () => Promise<boolean>;
  /** A server whose changes are recorded with the caller as actor. */
  readonly ownServer: OperationParts['server'];
  /** Who is recorded with changes. */
  readonly actor: string;
  /** Sends a test email. @throws {InvalidInput} the address is none, or the server has no SMTP server */
  readonly testMail: (address: string) => Promise<SentTest>;
}

/** A request that has passed all checks of form and of access. */
export interface ApiCall {
  readonly parts: ApiParts;
  /** Parameters of the path. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: Query;
  /** Fits the schema of the body. */
  readonly body: unknown;
  /** The client that sends the request. */
  readonly clientId: string;
  /** The user whose token it is; `undefined` for clients that act for themselves. */
  readonly callerSubject: string | undefined;
  /**
   * Requires that the version in If-Match is this one.
   * @param details what to do if it is not. Default: to read it again
   * @throws {Problem}
   */
  requireVersion(version: object, details?: ProblemDetails): void;
  /** Whether the token of the caller also has these scopes. */
  hasScopes(scopes: readonly AdminScope[]): boolean;
  /** Requires that the token of the caller also has these scopes. @throws {Problem} */
  requireScopes(scopes: readonly AdminScope[]): void;
}

interface Query {
  readonly limit: number;
  /** Where the page begins; checked. */
  readonly cursor?: string | number;
  readonly search?: string;
  readonly group?: string;
  readonly state?: State;
  readonly username?: string;
  readonly type?: string;
  readonly target?: string;
  readonly actor?: string;
  readonly subject?: string;
  readonly client_id?: string;
  readonly address?: string;
  readonly request_id?: string;
  readonly since?: string;
  readonly until?: string;
  readonly unused_since?: string;
  readonly api?: string;
  readonly failed?: 'true' | 'false';
  readonly dry_run?: 'true' | 'false';
  readonly update?: 'true' | 'false';
  readonly create_groups?: 'true' | 'false';
  readonly with_password_hashes?: 'true' | 'false';
  readonly format?: ImportFormat;
  readonly first_line?: number;
}

/** The response of an operation. */
export interface ApiAnswer {
  readonly body?: object;
  /** What the ETag is made of. */
  readonly version?: object;
  /** Path of a new thing, below the API. */
  readonly location?: string;
}

export interface Parameter {
  readonly schema: Schema;
  readonly about: string;
}

export interface ApiOperation {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the API, with parameters in braces. */
  readonly path: string;
  readonly scope: AdminScope;
  /** Scopes that also admit a request, if the operation checks which ones its body needs. */
  readonly otherScopes?: readonly AdminScope[];
  readonly summary: string;
  /** Parameters of the query. */
  readonly query?: Readonly<Record<string, Parameter>>;
  readonly body?: Schema;
  /** Maximum bytes of the body. Default: `MAX_BODY_BYTES` */
  readonly maxBodyBytes?: number;
  /** Whether the body may be missing. */
  readonly isBodyOptional?: true;
  readonly status: 200 | 201 | 204;
  readonly response?: Schema;
  /** Whether the response has an ETag. */
  readonly hasVersion?: true;
  /** Whether the request needs If-Match. */
  readonly needsVersion?: true;
  perform(call: ApiCall): Promise<ApiAnswer>;
}

/** An operation whose response has a JSON object per line, written as they come. */
export interface ApiStream extends Omit<ApiOperation, 'perform' | 'response' | 'body' | 'status'> {
  readonly status: 200;
  /** The form of a line of the response. */
  readonly line: Schema;
  /** The form of a line of the body, if the operation reads one. */
  readonly bodyLine?: Schema;
  /**
   * @param lines of the body, at most `MAX_LINES`
   * @param write resolves when the caller can take more
   * @throws what it throws before the first line is a problem. Later, it ends the connection.
   */
  stream(call: ApiCall, lines: AsyncIterable<string>, write: (line: object) => Promise<void>): Promise<void>;
}

/** Maximum lines of a body. */
export const MAX_LINES = 10_000;

/** Maximum characters of a line that is kept. */
export const MAX_LINE_LENGTH = 64 * 1024;

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;

/** Maximum events that one request reads. */
export const MAX_EVENTS_READ = 20_000;

const LIMIT: Parameter = {
  schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
  about: `Maximum number of items in the response, at most ${MAX_LIMIT}. Default: ${DEFAULT_LIMIT}.`,
};
const CURSOR: Parameter = {
  schema: { type: 'string', minLength: 1, maxLength: 500 },
  about:
    'To get the next page of a list: next_cursor of the response with the previous page. Default: the first page.',
};
export const PAGING = { limit: LIMIT, cursor: CURSOR };
export const SEARCH: Parameter = {
  schema: { type: 'string', minLength: 1, maxLength: 200 },
  about: 'Only users whose username, email address, name or phone number contains this text.',
};
export const API: Parameter = {
  schema: { type: 'string', minLength: 1, maxLength: 200 },
  about:
    'For a scope that an API declares: the client ID of the API. Omit it for the scopes of this server, such as email.',
};

// ── Paging ────────────────────────────────────────────────────────────────────────────────────────────────

function cursorOf(value: string | number): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** @returns `undefined` if it is no cursor of this server */
export function readCursor(cursor: string): string | number | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    const isPlace = typeof value === 'string' || Number.isSafeInteger(value);
    return isPlace && cursorOf(value as string | number) === cursor ? (value as string | number) : undefined;
  } catch {
    return undefined;
  }
}

/** One page of a list that is read as a whole, sorted by a key. */
export function pageOf<T>(
  all: readonly T[],
  { limit, cursor }: Query,
  keyOf: (one: T) => string,
  show: (one: T) => object,
): ApiAnswer {
  const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);
  const after = cursor === undefined ? undefined : String(cursor);
  const sorted = all.toSorted((one, other) => compare(keyOf(one), keyOf(other)));
  const rest = after === undefined ? sorted : sorted.filter((one) => keyOf(one) > after);
  const items = rest.slice(0, limit);
  const last = items.at(-1);
  return paged(items.map(show), rest.length > limit && last ? keyOf(last) : undefined);
}

export function paged(items: readonly object[], next: string | number | undefined): ApiAnswer {
  return { body: { items, ...(next !== undefined && { next_cursor: cursorOf(next) }) } };
}

// ── Checks ────────────────────────────────────────────────────────────────────────────────────────────────

/** The token must have every scope. */
export function requireEveryScope({ requireScopes }: ApiCall): void {
  requireScopes(Object.keys(ADMIN_SCOPES) as readonly AdminScope[]);
}

/** A caller who can change an administrator can act as one, so the caller must have every scope. */
export function requireIfAdministrator(call: ApiCall, groups: readonly string[] = []): void {
  const { adminGroup } = call.parts.configuration.settings;
  if (adminGroup !== undefined && groups.includes(adminGroup)) requireEveryScope(call);
}

/**
 * Users change how they sign in, and what that protects, on the pages of their account, which ask for every factor. A
 * token does not tell what its user has shown since.
 */
export function requireAnother({ callerSubject }: ApiCall, { subject }: Pick<Person, 'subject'>): void {
  if (subject === callerSubject)
    throw new Problem('insufficient_scope', {
      detail:
        'a token does not change how its own user signs in. Use the page /account/security, or the token of another operator',
    });
}

/** A caller who can change a client can act as it, so the caller must have the client’s scopes of this API. */
export function requireScopesOf({ requireScopes }: ApiCall, { scopes }: Pick<NewClient, 'scopes'>): void {
  requireScopes(scopes.filter(isAdminScope));
}

type Members = Readonly<Record<string, unknown>>;

/** Applications see a stored claim `groups` instead of the memberships, so it would forge them. */
export function requireNoGroups(claims: Members): void {
  if (Object.hasOwn(claims, 'groups'))
    throw new InvalidInput(
      'claims.groups',
      'applications would see it instead of the user’s groups: add the user to groups with PUT /groups/{group}/members/{sub}',
    );
}
