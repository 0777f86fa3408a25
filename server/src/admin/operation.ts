// An operation of administration, and what all operations share. HTTP, command line and console call the same ones.
import type { AuthorizationServer } from '@grantd/core';
import { type SignInPolicy, unreachablePolicy } from '../config/acr.ts';
import type { Configuration } from '../config/configuration.ts';
import type { AdminScope } from '../instance/admin_access.ts';
import type { Instance } from '../instance/instance.ts';
import type { Caller } from './caller.ts';
import type { AnyCommandForm, CommandForm } from './command_form.ts';
import { type Checks, InvalidInput, OperationRefused, type Said } from './operation_refused.ts';
import type { Flat, Schema, ValueOf } from './schema.ts';

/** What operations use: an instance whose changes are recorded with its actor, without what is for users themselves. */
export interface OperationParts
  extends Omit<Instance, 'ownPeople' | 'ownFactors' | 'fetchDocument' | 'server' | 'actingAs'> {
  readonly configuration: Configuration;
  server(): Promise<AuthorizationServer>;
}

/** The part of the server that validates metadata and builds client records. */
export interface ClientBuilder {
  readonly issuer: string;
  readonly operator: Pick<AuthorizationServer['operator'], 'clientFrom'>;
}

/** How a test email was sent. */
export interface SentTest {
  /** Host and port. */
  readonly server: string;
  readonly tls: string;
  readonly answer: string;
}

/** What an operation gets, on behalf of its caller. */
export interface AdminParts extends OperationParts {
  readonly caller: Caller;
  /** Whether the server can answer requests. */
  readonly isReady: () => Promise<boolean>;
  /** A server whose changes are recorded with the caller as actor. */
  readonly ownServer: OperationParts['server'];
  /**
   * Asks again whether the caller may still act, as everything does that takes longer than a request.
   * @throws if the caller may not
   */
  readonly requireCaller: () => Promise<void>;
  /** Builds and checks clients. */
  readonly clientBuilder: () => Promise<ClientBuilder>;
  /** Shows how far a long operation has come. */
  readonly progress?: (text: string) => void;
  /** Sends a test email. @throws {InvalidInput} the address is none, or the server has no SMTP server */
  readonly testMail: (address: string) => Promise<SentTest>;
  /**
   * Requires that the caller has seen this version of what the operation changes.
   * @throws {OperationRefused} it has seen another one
   */
  requireVersion(version: object, problem?: readonly [said: Said, advice?: string]): void;
}

export interface Parameter<T = unknown> {
  readonly schema: Schema<T>;
  readonly about: string;
}

type Parameters = Readonly<Record<string, Parameter>>;

/** What an operation has done. */
export interface Outcome<O> {
  readonly document: O;
  /** What the ETag is made of. */
  readonly version?: object;
  /** Path of a new thing, below the API. */
  readonly location?: string;
}

/** What the faces need to know about an operation besides what it does. */
interface Described {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the API, with parameters in braces. */
  readonly path: string;
  readonly scope: AdminScope;
  /** Scopes that also admit a caller, if the operation checks which ones its input needs. */
  readonly otherScopes?: readonly AdminScope[];
  readonly summary: string;
  /** Parameters of the query. */
  readonly query?: Parameters;
  /** Maximum bytes of the body. Default: `MAX_BODY_BYTES` */
  readonly maxBodyBytes?: number;
  /** Whether the outcome has a version. */
  readonly hasVersion?: true;
  /** Whether the caller must say which version the change is for. */
  readonly needsVersion?: true;
  /** Its command. Without it, the operation is part of other commands, or has none. */
  readonly command?: AnyCommandForm;
}

/** An operation: input and document are typed by its schemas. */
export interface Operation<I, O> extends Described {
  readonly body?: Schema;
  /** Whether the body may be missing. */
  readonly isBodyOptional?: true;
  readonly status: 200 | 201 | 204;
  readonly output?: Schema<O>;
  /**
   * The checks of what the schema cannot say. They do not depend on each other, and need no database.
   * @param input the members that fit the schema
   */
  readonly checks?: (input: Partial<I>) => Checks;
  /**
   * Finds what else `perform` refuses of an input of which something is wrong. Members may be of another type.
   * @throws {InvalidInput} values are invalid
   */
  readonly examine?: (parts: AdminParts, input: I) => Promise<void>;
  /** The first part of a change, which looks up and checks, and changes nothing. @throws as `perform` */
  readonly prepare?: (parts: AdminParts, input: I) => Promise<unknown>;
  readonly perform: (parts: AdminParts, input: I) => Promise<Outcome<O>>;
}

/** An operation whose response has a JSON object per line, written as they come. */
export interface StreamOperation<I, L> extends Described {
  readonly status: 200;
  /** The form of a line of the response. */
  readonly line: Schema<L>;
  /** The form of a line of the body, if the operation reads one. */
  readonly bodyLine?: Schema;
  /**
   * @param lines of the body, at most `MAX_LINES`
   * @param write resolves when the caller can take more
   * @throws what it throws before the first line is a problem. Later, it ends the connection.
   */
  readonly stream: (
    parts: AdminParts,
    input: I,
    lines: AsyncIterable<string> | Iterable<string>,
    write: (line: L) => Promise<void>,
  ) => Promise<void>;
}

type PathNames<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathNames<Rest>
  : never;

/** Parameters of path and query together with the members of the body. A name must not occur twice. */
type InputOf<P extends string, Q extends Parameters, B> = Flat<
  { readonly [Name in PathNames<P>]: string } & {
    readonly [Name in keyof Q]?: ValueOf<Q[Name]['schema']>;
  } & B
>;

/** An operation with the types of its input. Its schemas give them. */
type Typed<P extends string, Q extends Parameters, B, O> = Omit<
  Operation<never, O>,
  'path' | 'query' | 'body' | 'checks' | 'examine' | 'command' | 'prepare' | 'perform'
> & {
  readonly path: P;
  readonly query?: Q;
  readonly body?: Schema<B>;
  checks?(input: Partial<NoInfer<InputOf<P, Q, B>>>): Checks;
  examine?(parts: AdminParts, input: NoInfer<InputOf<P, Q, B>>): Promise<void>;
  readonly command?: CommandForm<NoInfer<InputOf<P, Q, B>>, NoInfer<O>>;
};

/** An operation that reads, or whose change does not depend on what it has read. `change` makes all others. */
export function operation<const P extends string, const Q extends Parameters, B, O>(
  defined: Typed<P, Q, B, O> & {
    perform(parts: AdminParts, input: InputOf<P, Q, B>): Promise<Outcome<O>>;
  },
): Operation<InputOf<P, Q, B>, O> {
  return withForm(defined);
}

/** Forgets the types of the command, which only what makes commands needs. */
function withForm<T extends { readonly command?: object }>(
  defined: T,
): Omit<T, 'command'> & Pick<Described, 'command'> {
  return defined as Omit<T, 'command'> & Pick<Described, 'command'>;
}

/** Attempts of a change that others may get in front of. */
const MAX_ATTEMPTS = 5;

/**
 * An operation that changes something in two parts.
 * @param defined `prepare` looks up, checks, hashes and fetches, and changes nothing. `write` gets its result, and awaits
 * nothing but the store. It returns `undefined` if others have changed what `prepare` has read. Then both run again
 * (ADR 94).
 */
export function change<const P extends string, const Q extends Parameters, B, O, R>({
  prepare,
  write,
  ...defined
}: Typed<P, Q, B, O> & {
  prepare(parts: AdminParts, input: InputOf<P, Q, B>): Promise<R>;
  write(parts: AdminParts, prepared: R, input: InputOf<P, Q, B>): Promise<Outcome<O> | undefined>;
}): Operation<InputOf<P, Q, B>, O> {
  const made = operation<P, Q, B, O>({
    ...defined,
    async perform(parts, input) {
      for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
        const outcome = await write(parts, await prepare(parts, input), input);
        if (outcome !== undefined) return outcome;
      }
      throw changedByOthers(nameOf(defined.path, input));
    },
  });
  return { ...made, prepare };
}

/** What an input is about: the parameters of the path. */
function nameOf(path: string, input: object): string {
  const given: Readonly<Record<string, unknown>> = { ...input };
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => String(given[name])).join(' ');
}

export function stream<const P extends string, const Q extends Parameters, L>(
  defined: Omit<StreamOperation<never, L>, 'path' | 'query' | 'stream' | 'command'> & {
    readonly path: P;
    readonly query?: Q;
    readonly command?: CommandForm<NoInfer<InputOf<P, Q, unknown>>, NoInfer<L>>;
    stream: StreamOperation<InputOf<P, Q, unknown>, L>['stream'];
  },
): StreamOperation<InputOf<P, Q, unknown>, L> {
  return withForm(defined);
}

/** Maximum lines of a body. */
export const MAX_LINES = 10_000;

/** Maximum characters of a line that is kept. */
export const MAX_LINE_LENGTH = 64 * 1024;

/** Maximum events that one request reads. */
export const MAX_EVENTS_READ = 20_000;

// ── Paging ────────────────────────────────────────────────────────────────────────────────────────────────

export const DEFAULT_LIMIT = 50;
export const MAX_LIMIT = 200;

const LIMIT: Parameter<number> = {
  schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
  about: `Maximum number of items in the response, at most ${MAX_LIMIT}. Default: ${DEFAULT_LIMIT}.`,
};
const CURSOR: Parameter<string> = {
  schema: { type: 'string', minLength: 1, maxLength: 500 },
  about:
    'To get another page of a list: next_cursor or previous_cursor of a response, with the same other parameters. Default: the first page.',
};
export const PAGING = { limit: LIMIT, cursor: CURSOR };

export const DESCENDING: Parameter<boolean> = {
  schema: { type: 'boolean' },
  about: 'Whether to sort in descending order. Default: false.',
};

interface Paging {
  readonly limit?: number;
  readonly cursor?: string;
  readonly descending?: boolean;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly next_cursor?: string;
  readonly previous_cursor?: string;
  readonly total?: number;
}

/** Where a page is: after this key or number, or before it. */
interface Place {
  readonly at: string | number;
  readonly isBefore: boolean;
}

/** The cursor of a page that begins after this key or number, or ends before it. */
export function cursorOf(value: string | number, isBefore = false): string {
  return Buffer.from(JSON.stringify(isBefore ? { before: value } : value)).toString('base64url');
}

/** @returns `undefined` if it is no cursor of this server */
export function readCursor(cursor: string): Place | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    const isBefore = typeof value === 'object' && value !== null && 'before' in value;
    const at: unknown = isBefore ? value.before : value;
    if (typeof at !== 'string' && !(typeof at === 'number' && Number.isSafeInteger(at))) return undefined;
    return cursorOf(at, isBefore) === cursor ? { at, isBefore } : undefined;
  } catch {
    return undefined;
  }
}

/** Where a page is. @throws {InvalidInput} the cursor is not one of this list */
export function pagePlace(
  { cursor }: Paging,
  isPlace: (at: string | number) => boolean = () => true,
): Place | undefined {
  if (cursor === undefined) return undefined;
  const place = readCursor(cursor);
  if (place === undefined || !isPlace(place.at)) throw new InvalidInput('cursor', ['cursor_form']);
  return place;
}

/** Where a page of a list begins that is read in one direction. @throws {InvalidInput} the cursor is not one of this list */
export function placeOf(paging: Paging): string | number | undefined {
  const place = pagePlace(paging);
  if (place?.isBefore) throw new InvalidInput('cursor', ['cursor_next']);
  return place?.at;
}

/** One page of a list that is read as a whole, sorted by a key. */
export function pageOf<T, D>(
  all: readonly T[],
  paging: Paging,
  keyOf: (one: T) => string,
  show: (one: T) => D,
): Outcome<Page<D>> {
  const { limit = DEFAULT_LIMIT, descending = false } = paging;
  const place = pagePlace(paging);
  const isReversed = descending !== (place?.isBefore ?? false);
  const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);
  const inOrder = (one: string, other: string) => compare(one, other) * (isReversed ? -1 : 1);
  const sorted = all.toSorted((one, other) => inOrder(keyOf(one), keyOf(other)));
  const rest = place ? sorted.filter((item) => inOrder(keyOf(item), String(place.at)) > 0) : sorted;
  const { document } = pageAt(rest.slice(0, limit + 1), { limit, place }, keyOf, show);
  return { document: { ...document, total: all.length } };
}

/**
 * One page of a list in any direction.
 * @param read from the place on, in the direction of the place: one item more than the page has, if there is one
 */
export function pageAt<T, D>(
  read: readonly T[],
  { limit, place, stoppedAt }: PageRead,
  keyOf: (item: T) => string | number,
  show: (item: T) => D,
): Outcome<Page<D>> {
  const isBefore = place?.isBefore === true;
  const hasMore = read.length > limit;
  const found = read.slice(0, limit);
  const last = found.at(-1);
  // Where the next read in this direction begins, and where one in the other direction does.
  const onward = stoppedAt ?? (hasMore && last !== undefined ? keyOf(last) : undefined);
  const back = place && found[0] && keyOf(found[0]);
  const [next, previous] = isBefore ? [back, onward] : [onward, back];
  return {
    document: {
      items: (isBefore ? found.toReversed() : found).map(show),
      ...(next !== undefined && { next_cursor: cursorOf(next) }),
      ...(previous !== undefined && { previous_cursor: cursorOf(previous, true) }),
    },
  };
}

interface PageRead {
  readonly limit: number;
  readonly place: Place | undefined;
  /** Where the search for items stopped, if it did before the page was full. */
  readonly stoppedAt?: string | number | undefined;
}

export function paged<T>(items: readonly T[], next: string | number | undefined): Outcome<Page<T>> {
  return { document: { items, ...(next !== undefined && { next_cursor: cursorOf(next) }) } };
}

// ── Checks ────────────────────────────────────────────────────────────────────────────────────────────────

/** Others changed the thing between each read and write. */
function changedByOthers(name: string): OperationRefused {
  return new OperationRefused('changed', ['changed_by_others', name], 'try again.');
}

/** @throws {InvalidInput} no sign-in at this server can meet the policy */
export function requireReachable(
  { configuration, issuer }: Pick<OperationParts, 'configuration' | 'issuer'>,
  policy: SignInPolicy | undefined,
): void {
  const problem = unreachablePolicy(policy, configuration, issuer);
  if (problem !== undefined) throw new InvalidInput('sign_in_policy', ['policy_unreachable', problem]);
}

/** @returns milliseconds since 1970 @throws {InvalidInput} it is no time */
export function timeIn(member: string, text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new InvalidInput(member, ['no_time']);
  return time;
}
